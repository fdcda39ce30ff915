"""A change of a host's configuration file: planned, shown, written with a backup, and undone."""

import difflib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from memsense.errors import ConfigurationError
from memsense.hosts.places import Host, Server

SUFFIX = ".before-memsense"
"""Suffix of the backup next to a file while memsense is in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Text of a file before and after the change; None where there is no file.

    `is_first` is true if the file does not contain memsense yet: a backup that exists is then
    outdated. `is_ours` is true if only memsense writes the file: it gets no backup.
    """

    file: Path
    before: str | None
    after: str | None
    is_first: bool = False
    is_ours: bool = False

    @property
    def backup(self) -> Path:
        """The path of the backup."""
        return self.file.with_name(self.file.name + SUFFIX)

    @property
    def is_none(self) -> bool:
        """Return whether the change leaves the file as it is."""
        return self.before == self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before, after = self.before, self.after
        lines = difflib.unified_diff(
            (before or "").splitlines(),
            (after or "").splitlines(),
            "no file" if before is None else str(self.file),
            "no file" if after is None else str(self.file),
            lineterm="",
        )
        return "\n".join(lines)

    def keep_backup(self) -> Path | None:
        """Copy the file as it was without memsense; return the backup, None if there is none."""
        if self.before is None or self.is_ours:
            return None
        if self.is_first:
            shutil.copy2(self.file, self.backup)
        return self.backup if self.backup.exists() else None

    def drop_backup(self) -> None:
        """Delete the backup."""
        self.backup.unlink(missing_ok=True)

    def write(self) -> None:
        """Write the file atomically, or delete it if `after` is None."""
        if self.after is None:
            self.file.unlink(missing_ok=True)
            # Also remove the folders that are empty now, below the person's home.
            folder = self.file.parent
            while Path.home() in folder.parents and not any(folder.iterdir()):
                folder.rmdir()
                folder = folder.parent
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, because a file can only be replaced within its file system.
        with tempfile.NamedTemporaryFile(
            "wb", dir=self.file.parent, prefix=f".{self.file.name}.", delete=False
        ) as temporary:
            # Bytes: a text file would change the line ends of a file that was written elsewhere.
            temporary.write(self.after.encode())
        if self.before is not None:
            shutil.copymode(self.file, temporary.name)
        Path(temporary.name).replace(self.file)


def plan_install(host: Host, server: Server) -> Change:
    """Return the change that adds the server; raises ConfigurationError for a broken file."""
    editor, file = _editor(host), real_file(host.file())
    before = read_text(file)
    entry, added = _find_entry(_parse(editor, file, before or ""), host), host.entry(server)
    change = Change(file=file, before=before, after=before, is_first=entry is None)
    if entry == added:
        return change
    # A second installation starts from the text without memsense. Otherwise a later removal could
    # not bring back the original to the byte.
    start = before if entry is None else plan_removal(host).after
    try:
        after: str = editor.put(start, host.path, added)
    except ValueError as error:
        raise broken_file_error(file, error) from error
    document = _parse(editor, file, start or "")
    outer, name = host.path
    expected = {**document, outer: {**document.get(outer, {}), name: added}}
    _check_edit(editor, file, after, expected)
    return replace(change, after=after)


def plan_removal(host: Host) -> Change:
    """Return the change that removes the server.

    What the installation has added is recognised by its layout: a file that was not changed since
    becomes what it was to the byte, and a change elsewhere in the file stays.
    """
    editor, file = _editor(host), real_file(host.file())
    before = read_text(file)
    document = _parse(editor, file, before or "")
    if before is None or _find_entry(document, host) is None:
        return Change(file=file, before=before, after=before)
    after: str | None = editor.drop(before, host.path, read_original(file, editor.read))
    outer, name = host.path
    servers = {key: value for key, value in document[outer].items() if key != name}
    expected = {key: value for key, value in document.items() if key != outer}
    if servers or outer in _parse(editor, file, after or ""):
        expected[outer] = servers
    _check_edit(editor, file, after or "", expected)
    return Change(file=file, before=before, after=after)


def read_original(file: Path, read: Callable[[str], dict[str, Any]]) -> Mapping[str, Any] | None:
    """Return the settings of the backup, or None if there is none that says anything.

    They tell an object that the person had from one that the installation has created, where a
    program has written the file anew and the layout no longer shows it.
    """
    try:
        text = read_text(file.with_name(file.name + SUFFIX))
        return read(text) or None if text else None
    except (ConfigurationError, ValueError):
        return None


def _check_edit(editor: ModuleType, file: Path, after: str, expected: Mapping[str, Any]) -> None:
    """Raise ConfigurationError unless the edited text holds exactly the expected settings."""
    if _parse(editor, file, after) != expected:
        raise ConfigurationError(
            f"memsense can't edit {file} without changing other settings: add the lines of"
            " the guide 'How to give a model memory over MCP' by hand"
        )


def _find_entry(document: Mapping[str, Any], host: Host) -> dict[str, Any] | None:
    outer, name = host.path
    servers = document.get(outer)
    return cast("Mapping[str, Any]", servers).get(name) if isinstance(servers, Mapping) else None


def _parse(editor: ModuleType, file: Path, text: str) -> dict[str, Any]:
    try:
        return editor.read(text)
    except ValueError as error:
        raise broken_file_error(file, error) from error


def broken_file_error(file: Path, error: ValueError) -> ConfigurationError:
    """Return the error for a file that isn't valid JSON or TOML."""
    return ConfigurationError(f"{file} can't be read: {error}; fix the file first")


def _editor(host: Host) -> ModuleType:
    # Imported on demand: tomlkit comes with an extra that only Codex needs.
    try:
        return import_module(
            "memsense.hosts.toml" if host.form == "toml" else "memsense.hosts.jsonc"
        )
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{host.title}'s file needs the package {error.name}: pip install 'memsense[mcp]'"
        ) from error


def real_file(file: Path) -> Path:
    """Return the file that a symbolic link leads to: dotfiles are often kept elsewhere."""
    return file.resolve() if file.is_symlink() else file


def read_text(file: Path) -> str | None:
    """Return the text of a file with its own line ends, or None if there is no file."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} can't be read: {error}") from error
