"""Finds the logs behind the paths a person gives: files, folders, globs, archives, stdin."""

import glob
import io
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from memsense.errors import IngestError
from memsense.ingest.archives import (
    LOG_SUFFIXES,
    PACKED_SUFFIXES,
    SPOOL_BYTES,
    Packed,
    Spool,
    is_activity_page,
    kind_of,
    list_members,
    rewound,
    single_log,
)
from memsense.ingest.databases import (
    DATABASE_SUFFIXES,
    SIGNATURE_BYTES,
    Sessions,
    is_database,
)
from memsense.ingest.report import ReadReport
from memsense.ingest.source import Source, place_of
from memsense.inputs import shorten

STDIN = "-"
STDIN_LABEL = "stdin"
LINK = "symbolic link in a folder"
"""Why a log is left out that isn't where it seems to be."""

_SUFFIXES = LOG_SUFFIXES | PACKED_SUFFIXES | DATABASE_SUFFIXES | {".zip", ".tar"}
_DAY_FILE = re.compile(r"\d{4}-\d\d-\d\d\.json")
_BUNDLE = re.compile(r"conversations(-\d+)?\.json|group_chats\.json")
# Files that exports and agents keep beside conversations, and copies of conversations.
_SIDE_FILES = re.compile(
    r"""
    (user|users|projects|channels|groups|dms|mpims|integration_logs|canvases|message_feedback
    |shared_conversations|model_comparisons|shopping|sora|sessions|memories)\.json
    | history\.jsonl | .*\.meta\.json | .*\.trajectory\.jsonl
    | (?> .*\.(reset|checkpoint|bak-|deleted) ) [.\w-]*
    """,
    re.VERBOSE,
)
# Files that tell what another one tells better, where that stands beside them.
_BETTER = (
    (re.compile(r"api_conversation_history\.json"), "ui_messages.json"),  # Cline, Roo Code
    (re.compile(r"context(_\d{1,6})?\.jsonl"), "wire.jsonl"),  # Kimi CLI
    (re.compile(r"transcript\.jsonl"), "transcript_full.jsonl"),  # Antigravity
)
_OPENCODE = ("session", "message", "part")
_SIDE_FOLDERS = frozenset({"todos", "shell-snapshots", "file-history", "__MACOSX"})


def expand_paths(
    paths: Iterable[str | Path],
    report: ReadReport | None = None,
    *,
    roots: Iterable[str | Path] = (),
) -> list[Source]:
    """The logs behind files, folders, glob patterns, archives and `-` (stdin), in order.

    Folders are walked, oldest file first, so that a resumed session comes after the one it
    repeats; symbolic links and special files in them are left out, as are the side files of
    exports (counted in `report`). A folder or archive of a Slack export is one source. A link
    is followed only where the caller names it: not in a folder, nor where a pattern matches it.
    A log below one of the `roots` has its place there, as if that folder had been given.
    Raises `IngestError` for a path that does not exist or is no regular file or folder, and for an
    archive that is broken, or whose logs together are more than 50 times as large as it, or larger
    than 16 GiB; for one such log, one that can't be unpacked piece by piece, and all that a folder
    holds, its opener does. Archives are
    zip, tar, tar.gz and tar.zst; a log alone may be compressed with gzip or zstd. An SQLite
    database is one source, with all its sessions.
    """
    walk = _Walk(report or ReadReport(), [Path(root).resolve() for root in roots])
    return [source for path in paths for source in walk.expand(str(path))]


class _Walk:
    def __init__(self, report: ReadReport, roots: Sequence[Path]) -> None:
        self._report = report
        self._roots = sorted(roots, key=lambda root: len(root.parts))
        self._root = Path()

    def _place(self, path: Path) -> str:
        """The path below the root that was given, with at least the folder that it is in."""
        absolute = path.absolute()
        below = next((root for root in self._roots if root in absolute.parents), self._root)
        parts = absolute.relative_to(below).parts if below in absolute.parents else (path.name,)
        folder = absolute.parent.name
        return place_of("/".join(parts if len(parts) > 1 or not folder else (folder, *parts)))

    def expand(self, given: str) -> Iterator[Source]:
        if given == STDIN:
            return self._stdin()
        path = Path(given)
        self._root = path.absolute()
        try:
            if path.is_dir():
                return self._folder(path)
            if path.is_file():
                return self._file(path, named=True)
            if path.exists():
                raise IngestError(f"{given}: not a regular file or a folder")
        except OSError as error:  # such as a name that no file system holds
            raise IngestError(f"{shorten(given)}: {error.strerror}") from error
        return self._pattern(given)

    def _pattern(self, given: str) -> Iterator[Source]:
        matches = sorted(glob.glob(given, recursive=True)) if glob.has_magic(given) else []  # noqa: PTH207
        if not matches:
            raise IngestError(f"{given}: no such file or folder")
        for match in map(Path, matches):
            if _passes_link(match, Path(given)):
                self._leave_out(LINK, match)
            elif match.is_dir():
                self._root = match.absolute()
                yield from self._folder(match)
            elif match.is_file():
                yield from self._file(match, named=True)

    def _file(self, path: Path, *, named: bool) -> Iterator[Source]:
        try:
            with path.open("rb") as stream:
                kind = kind_of(stream)
                stream.seek(0)
                holds_tables = is_database(stream.read(SIGNATURE_BYTES))
        except OSError as error:
            raise IngestError(f"{path}: can't be read ({error.strerror})") from error
        size, place = path.stat().st_size, self._place(path)
        if kind is not None:
            packed = Packed(
                label=str(path), name=path.name, place=place, size=size, file=path, kind=kind
            )
            yield from self._packed(packed, named=named)
            return
        yield Source(
            label=str(path),
            name=path.name,
            kind="database" if holds_tables else "file",
            opener=Sessions(path).open if holds_tables else partial(_open_file, path),
            path=path,
            size=size,
            named=named,
            place=place,
        )

    def _folder(self, folder: Path) -> Iterator[Source]:
        if _is_slack_folder(folder):
            yield self._slack_folder(folder)
            return
        if all((folder / name).is_dir() for name in _OPENCODE):
            yield self._opencode_folder(folder)
            return
        entries = [entry for entry in folder.iterdir() if not self._is_left_out(entry)]
        for entry in sorted(entries, key=_age_then_name):
            if entry.is_dir():
                yield from self._folder(entry)
            else:
                yield from self._found(entry)

    def _found(self, path: Path) -> Iterator[Source]:
        """A folder's file: one that can't be unpacked stops no other, its opener tells."""
        try:
            yield from self._file(path, named=False)
        except IngestError as error:
            opener = partial(_refuse, str(error))
            yield Source(label=str(path), name=path.name, opener=opener, path=path)

    def _is_left_out(self, entry: Path) -> bool:
        if entry.is_symlink():
            reason = LINK
        elif entry.is_dir():
            return entry.name in _SIDE_FOLDERS
        elif not entry.is_file():
            reason = "not a regular file"
        elif _SIDE_FILES.fullmatch(entry.name) or _repeats_another(entry):
            reason = "side file of an export"
        elif not _can_be_log(entry):
            reason = "file of another kind"
        else:
            return False
        self._leave_out(reason, entry)
        return True

    def _leave_out(self, reason: str, path: Path) -> None:
        self._report.skip(reason, str(path), unit="file")

    def _slack_folder(self, folder: Path) -> Source:
        return _slack_source(str(folder), self._members(folder))

    def _opencode_folder(self, folder: Path) -> Source:
        members = [member for name in _OPENCODE for member in self._members(folder, name)]
        return replace(_slack_source(str(folder), members), kind="opencode")

    def _members(self, folder: Path, below: str = ".") -> list[Source]:
        return [
            Source(
                label=str(path),
                name=path.relative_to(folder).as_posix(),
                opener=partial(_open_file, path),
                path=path,
                size=path.stat().st_size,
            )
            for path in sorted(self._json_files(folder / below))
        ]

    def _json_files(self, folder: Path) -> Iterator[Path]:
        """The JSON files at any depth; links are counted, whatever they lead to."""
        for entry in folder.iterdir():
            if entry.is_symlink():
                self._leave_out(LINK, entry)
            elif entry.is_dir():
                yield from self._json_files(entry)
            elif entry.suffix == ".json" and entry.is_file():
                yield entry

    def _stdin(self) -> Iterator[Source]:
        spool = cast("BinaryIO", Spool(max_size=SPOOL_BYTES))
        shutil.copyfileobj(sys.stdin.buffer, spool)
        size = spool.tell()
        spool.seek(0)
        if kind := kind_of(spool):
            packed = Packed(
                label=STDIN_LABEL,
                name=STDIN_LABEL,
                place=STDIN_LABEL,
                size=size,
                file=spool,
                kind=kind,
            )
            yield from self._packed(packed, named=True)
            return
        opener = partial(rewound, spool)
        yield Source(label=STDIN_LABEL, name=STDIN_LABEL, kind="stdin", opener=opener, size=size)

    def _packed(self, packed: Packed, *, named: bool) -> Iterator[Source]:
        members = list_members(packed, self._report)
        if members is None:
            yield single_log(packed, named=named)
            return
        if _is_slack_listing([member.name for member in members]):
            yield _slack_source(packed.label, members)
            return
        chosen = list(self._choose_members(members))
        if named and not chosen:
            raise IngestError(f"{packed.label}: no conversation log in this archive")
        yield from chosen

    def _choose_members(self, members: Sequence[Source]) -> Iterator[Source]:
        """The bundle files of an account export where there are some, else every log."""
        bundles = [member for member in members if _BUNDLE.fullmatch(_base(member.name))]
        for member in bundles or members:
            if _SIDE_FILES.fullmatch(_base(member.name)):
                self._report.skip("side file of an export", member.label, unit="file")
            else:
                yield member


def _open_file(path: Path) -> BinaryIO:
    return path.open("rb")


def _refuse(reason: str) -> BinaryIO:
    raise IngestError(reason)


def _slack_source(label: str, members: Sequence[Source]) -> Source:
    return Source(
        label=label,
        name=Path(label).name,
        kind="slack",
        opener=io.BytesIO,
        size=sum(member.size or 0 for member in members),
        members=members,
    )


def _repeats_another(entry: Path) -> bool:
    """Whether it tells what another file beside it tells, in more words or fewer."""
    better = next((name for known, name in _BETTER if known.fullmatch(entry.name)), None)
    return better is not None and (entry.parent / better).is_file()


def _can_be_log(path: Path) -> bool:
    """Whether a file in a folder is looked at: by its suffix, and that below a compression's."""
    suffix = path.suffix.lower()
    if is_activity_page(path.name):
        return True
    if suffix in (".gz", ".zst"):
        return Path(path.stem).suffix.lower() in LOG_SUFFIXES | {".tar"}
    return suffix in _SUFFIXES


def _passes_link(match: Path, pattern: Path) -> bool:
    """Whether the match is reached through a link that a wildcard of the pattern stands for."""
    parts = pattern.parts
    literal = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    found = [*match.parents[::-1], match]
    return any(path.is_symlink() for path in found if len(path.parts) > literal)


def _is_slack_folder(folder: Path) -> bool:
    sides = any((folder / name).is_file() for name in ("users.json", "channels.json"))
    return sides and any(_DAY_FILE.fullmatch(path.name) for path in folder.glob("*/*.json"))


def _is_slack_listing(names: Sequence[str]) -> bool:
    bases = {_base(name) for name in names}
    return bool(bases & {"users.json", "channels.json"}) and any(
        _DAY_FILE.fullmatch(base) for base in bases
    )


def _base(name: str) -> str:
    return PurePosixPath(name).name


def _age_then_name(path: Path) -> tuple[int, str]:
    return (0 if path.is_dir() else path.stat().st_mtime_ns, path.name)
