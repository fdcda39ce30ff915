"""A change of a host's configuration file: planned, shown, written with a backup, and undone."""

import difflib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from memsense.errors import ConfigurationError
from memsense.hosts.places import Host, Server

SUFFIX = ".before-memsense"
"""Suffix of the backup that stands beside a file while memsense is in it."""


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
    entry = _find_entry(_parse(editor, file, before or ""), host)
    change = Change(file=file, before=before, after=before, is_first=entry is None)
    # A second installation starts from the text without memsense. Otherwise a later removal could
    # not bring back the original to the byte.
    start = plan_removal(host).after if change.backup.exists() else before
    return replace(change, after=_insert(host, editor, file, start or "", host.entry(server)))


def plan_removal(host: Host) -> Change:
    """Return the change that removes the server.

    If nothing else was changed since the installation, the file becomes the backup to the byte.
    """
    editor, file = _editor(host), real_file(host.file())
    before = read_text(file)
    entry = _find_entry(_parse(editor, file, before or ""), host)
    if before is None or entry is None:
        return Change(file=file, before=before, after=before)
    original = read_text(file.with_name(file.name + SUFFIX))
    if _insert(host, editor, file, original or "", entry) == before:
        return Change(file=file, before=before, after=original)
    after = editor.drop(before, host.path)
    # Also remove the object that held the servers, if the installation has created it.
    outer, name = host.path
    original_document = _parse(editor, file, original or "")
    if outer not in original_document and not _parse(editor, file, after).get(outer):
        after = editor.drop(after, host.path[:1])
    document = _parse(editor, file, before)
    servers = {key: value for key, value in document[outer].items() if key != name}
    expected = {key: value for key, value in document.items() if key != outer}
    if outer in original_document or servers:
        expected[outer] = servers
    _check_edit(editor, file, after, expected)
    return Change(file=file, before=before, after=after)


def _insert(host: Host, editor: ModuleType, file: Path, text: str, entry: dict[str, Any]) -> str:
    try:
        after: str = editor.put(text, host.path, entry)
    except ValueError as error:
        raise broken_file_error(file, error) from error
    document = _parse(editor, file, text)
    outer, name = host.path
    _check_edit(editor, file, after, {**document, outer: {**document.get(outer, {}), name: entry}})
    return after


def _check_edit(editor: ModuleType, file: Path, after: str, expected: Mapping[str, Any]) -> None:
    """Raise ConfigurationError unless the edited text holds exactly the expected settings."""
    if _parse(editor, file, after) != expected:
        raise ConfigurationError(
            f"memsense can't edit {file} without changing other settings: add the lines of"
            " docs/mcp.md by hand"
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
