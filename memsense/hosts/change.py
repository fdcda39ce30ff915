"""A change of a host's file: planned, shown, made with a backup, and taken back without a rest."""

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
"""Of the backup that stands beside a file while memsense is in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a file holds now and is to hold; None where there is no file.

    `is_first`: memsense is not in it now, whatever a backup says. `is_ours`: nobody else writes it,
    so that no backup is kept.
    """

    file: Path
    before: str | None
    after: str | None
    is_first: bool = False
    is_ours: bool = False

    @property
    def backup(self) -> Path:
        """Where the file is kept as it was before memsense was in it."""
        return self.file.with_name(self.file.name + SUFFIX)

    @property
    def is_none(self) -> bool:
        """Whether nothing is to be done."""
        return self.before == self.after

    def diff(self) -> str:
        """The change as a unified diff."""
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
        """Copy the file beside it, as it was before memsense was in it; None of no file or ours."""
        if self.before is None or self.is_ours:
            return None
        if self.is_first:
            shutil.copy2(self.file, self.backup)
        return self.backup if self.backup.exists() else None

    def drop_backup(self) -> None:
        """Delete the backup."""
        self.backup.unlink(missing_ok=True)

    def write(self) -> None:
        """Let the file hold what it is to hold, at once."""
        if self.after is None:
            self.file.unlink(missing_ok=True)
            _remove_empty(self.file.parent)
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "wb", dir=self.file.parent, prefix=f".{self.file.name}.", delete=False
        ) as made:
            made.write(self.after.encode())
        if self.before is not None:
            shutil.copymode(self.file, made.name)
        Path(made.name).replace(self.file)


def _remove_empty(folder: Path) -> None:
    """Remove the folder, and those above it below the person's home, while nothing is in them."""
    while Path.home() in folder.parents and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def plan_install(host: Host, server: Server) -> Change:
    """The change that puts the server in; raises ConfigurationError for a file that is broken."""
    editor, file = _editor(host), real_file(host.file())
    before = text_of(file)
    known = _entry(_read(editor, file, before or ""), host)
    change = Change(file=file, before=before, after=before, is_first=known is None)
    begun = plan_removal(host).after if change.backup.exists() else before
    return replace(change, after=_put(host, editor, file, begun or "", host.entry(server)))


def plan_removal(host: Host) -> Change:
    """The change that takes the server out.

    Where nothing else was changed since, the file is then the one of the backup, to the byte.
    """
    editor, file = _editor(host), real_file(host.file())
    before = text_of(file)
    entry = _entry(_read(editor, file, before or ""), host)
    if before is None or entry is None:
        return Change(file=file, before=before, after=before)
    original = text_of(file.with_name(file.name + SUFFIX))
    if _put(host, editor, file, original or "", entry) == before:
        return Change(file=file, before=before, after=original)
    after = editor.drop(before, host.path)
    holders = _read(editor, file, original or "")
    if host.path[0] not in holders and not _read(editor, file, after).get(host.path[0]):
        after = editor.drop(after, host.path[:1])
    _check(editor, file, after, _without(_read(editor, file, before), host, holders))
    return Change(file=file, before=before, after=after)


def _put(host: Host, editor: ModuleType, file: Path, text: str, entry: dict[str, Any]) -> str:
    try:
        after: str = editor.put(text, host.path, entry)
    except ValueError as error:
        raise broken(file, error) from error
    wanted = _read(editor, file, text)
    outer, name = host.path
    _check(editor, file, after, {**wanted, outer: {**wanted.get(outer, {}), name: entry}})
    return after


def _without(found: Mapping[str, Any], host: Host, original: Mapping[str, Any]) -> dict[str, Any]:
    outer, name = host.path
    kept = {key: value for key, value in found[outer].items() if key != name}
    rest = {key: value for key, value in found.items() if key != outer}
    return rest if outer not in original and not kept else {**rest, outer: kept}


def _check(editor: ModuleType, file: Path, after: str, wanted: Mapping[str, Any]) -> None:
    """An edit that would change anything else is none."""
    if _read(editor, file, after) != wanted:
        raise ConfigurationError(
            f"{file} can't be edited by memsense; docs/mcp.md says what to add"
        )


def _entry(found: Mapping[str, Any], host: Host) -> dict[str, Any] | None:
    outer, name = host.path
    holder = found.get(outer)
    return cast("Mapping[str, Any]", holder).get(name) if isinstance(holder, Mapping) else None


def _read(editor: ModuleType, file: Path, text: str) -> dict[str, Any]:
    try:
        return editor.read(text)
    except ValueError as error:
        raise broken(file, error) from error


def broken(file: Path, error: ValueError) -> ConfigurationError:
    """The error of a file that isn't what it should be."""
    return ConfigurationError(f"{file} can't be read: {error}; mend it first")


def _editor(host: Host) -> ModuleType:
    try:
        return import_module(
            "memsense.hosts.toml" if host.form == "toml" else "memsense.hosts.jsonc"
        )
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{host.title}'s file needs the package {error.name}: pip install 'memsense[mcp]'"
        ) from error


def real_file(file: Path) -> Path:
    """The file itself, where a person keeps it elsewhere behind a link."""
    return file.resolve() if file.is_symlink() else file


def text_of(file: Path) -> str | None:
    """The file to the byte, None if there is none."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} can't be read: {error}") from error
