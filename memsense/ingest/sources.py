"""The logs behind the paths that a caller gives: files, folders, globs, archives, stdin."""

import glob
import io
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal, cast

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
    nested_archive,
    rewound,
    single_log,
)
from memsense.ingest.databases import DATABASE_SUFFIXES, SIGNATURE_BYTES, Sessions, is_database
from memsense.ingest.report import ReadReport
from memsense.ingest.source import UNREADABLE, Source, place_of
from memsense.inputs import shorten

STDIN = "-"
STDIN_LABEL = "stdin"
LINK = "symbolic link in a folder"
"""The reason why a link is left out: it may lead anywhere."""

_SIDE_FILE = "side file of an export"
_SUFFIXES = LOG_SUFFIXES | PACKED_SUFFIXES | DATABASE_SUFFIXES | {".zip", ".tar"}
_DAY_FILE = re.compile(r"\d{4}-\d\d-\d\d\.json")
_BUNDLE = re.compile(r"conversations(-\d+)?\.json|group_chats\.json")
# Files that exports and agents keep next to conversations, and copies of conversations.
_SIDE_FILES = re.compile(
    r"""
    (user|users|projects|channels|groups|dms|mpims|integration_logs|canvases|message_feedback
    |shared_conversations|model_comparisons|shopping|sora|sessions|memories)\.json
    | history\.jsonl | .*\.meta\.json | .*\.trajectory\.jsonl
    | (?> .*\.(reset|checkpoint|bak-|deleted) ) [.\w-]*
    """,
    re.VERBOSE,
)
# Files that repeat the contents of a better file, if it is next to them.
_BETTER = (
    (re.compile(r"api_conversation_history\.json"), "ui_messages.json"),  # Cline, Roo Code
    (re.compile(r"context(_\d{1,6})?\.jsonl"), "wire.jsonl"),  # Kimi CLI
    (re.compile(r"transcript\.jsonl"), "transcript_full.jsonl"),  # Antigravity
)
_DEEPEST = 2
"""Limit of archives inside of archives."""

_OPENCODE = ("session", "message", "part")
_SIDE_FOLDERS = frozenset({"todos", "shell-snapshots", "file-history", "__MACOSX"})


def expand_paths(
    paths: Iterable[str | Path],
    report: ReadReport | None = None,
    *,
    roots: Iterable[str | Path] = (),
    uploads: str | Path | None = None,
) -> list[Source]:
    """Return the logs behind files, folders, glob patterns, archives and `-` (stdin), in order.

    Folders are walked, oldest file first, so that a resumed session comes after the one it
    repeats; symbolic links, special files and the side files of exports are left out of them.
    A link is followed only if the caller names it: not in a folder, nor where a pattern matches it.
    Archives are zip, tar, tar.gz and tar.zst; a single log may be compressed with gzip or zstd. A
    folder or archive of a Slack export is one source, as is an SQLite database with its sessions.

    Args:
        paths: Files, folders, patterns and archives.
        report: Counts what is left out.
        roots: A log below one of these folders is named by its path there, as if that folder had
            been given.

    Raises:
        IngestError: If a path does not exist or is no regular file or folder; if an archive is
            broken, or its logs together are larger than 16 GiB or than 50 times the archive. A log
            of an archive that is too large for itself, and any that can't be unpacked in a folder,
            raises when its source is opened, so that the other logs can be read.
    """
    upload_roots = () if uploads is None else (uploads,)
    walk = _Walk(report or ReadReport(), [Path(it).resolve() for it in (*roots, *upload_roots)])
    walk.hidden = "" if uploads is None else f"{uploads}/"
    return [source for path in paths for source in walk.expand(str(path))]


class _Walk:
    """A walk over the paths of one call, with the root that was given for the current one."""

    def __init__(self, report: ReadReport, roots: Sequence[Path]) -> None:
        self._report = report
        self._roots = sorted(roots, key=lambda root: len(root.parts))
        self._root = Path()
        self.hidden = ""

    def expand(self, path_or_pattern: str) -> Iterator[Source]:
        """Return the logs behind one path, pattern or `-`."""
        if path_or_pattern == STDIN:
            return self._stdin()
        path = Path(path_or_pattern)
        self._root = path.absolute()
        try:
            if path.is_dir():
                return self._folder(path)
            if path.is_file():
                return self._file(path, named=True)
            if path.exists():
                # A pipe or a device: reading it might never end.
                raise IngestError(f"{path_or_pattern}: not a regular file or a folder")
        except OSError as error:  # such as a name that no file system holds
            raise IngestError(f"{shorten(path_or_pattern)}: {error.strerror}") from error
        return self._pattern(path_or_pattern)

    def _pattern(self, pattern: str) -> Iterator[Source]:
        has_magic = glob.has_magic(pattern)
        matches = sorted(glob.glob(pattern, recursive=True)) if has_magic else []  # noqa: PTH207
        if not matches:
            raise IngestError(f"{pattern}: no such file or folder")
        parts = Path(pattern).parts
        literal = next(index for index, part in enumerate(parts) if glob.has_magic(part))
        for match in map(Path, matches):
            # A link in the part of the path that the caller wrote out is meant; one that a wildcard
            # stands for is not.
            path_and_parents = [*match.parents[::-1], match]
            if any(path.is_symlink() for path in path_and_parents if len(path.parts) > literal):
                self._leave_out(LINK, str(match))
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
                has_tables = is_database(stream.read(SIGNATURE_BYTES))
        except OSError as error:
            raise IngestError(f"{path}: can't be read ({error.strerror})") from error
        size = path.stat().st_size
        # The place is the path below the root, with at least the folder that the file is in.
        absolute = path.absolute()
        root = next((root for root in self._roots if root in absolute.parents), self._root)
        parts = absolute.relative_to(root).parts if root in absolute.parents else (path.name,)
        folder = absolute.parent.name
        place = place_of("/".join(parts if len(parts) > 1 or not folder else (folder, *parts)))
        label = str(path).removeprefix(self.hidden)
        if kind is not None:
            packed = Packed(
                label=label, name=path.name, place=place, size=size, file=path, kind=kind
            )
            yield from self._archive(packed, named=named)
            return
        yield Source(
            label=label,
            name=path.name,
            kind="database" if has_tables else "file",
            opener=Sessions(path).open if has_tables else partial(_open_file, path),
            # Readers look around a log's path, and name the project by its folder.
            path=path if has_tables or not self.hidden else None,
            size=size,
            named=named,
            place=place,
        )

    def _folder(self, folder: Path) -> Iterator[Source]:
        has_names = any((folder / name).is_file() for name in ("users.json", "channels.json"))
        if has_names and any(_DAY_FILE.fullmatch(path.name) for path in folder.glob("*/*.json")):
            yield _bundle("slack", str(folder), self._members(folder))
            return
        if all((folder / name).is_dir() for name in _OPENCODE):
            members = [member for name in _OPENCODE for member in self._members(folder, name)]
            yield _bundle("opencode", str(folder), members)
            return
        entries = [entry for entry in folder.iterdir() if not self._is_left_out(entry)]
        # Folders first, then files from the oldest, by name where they are of the same age.
        entries.sort(key=lambda e: (0 if e.is_dir() else e.stat().st_mtime_ns, e.name))
        for entry in entries:
            if entry.is_dir():
                yield from self._folder(entry)
                continue
            try:
                yield from self._file(entry, named=False)
            except IngestError as error:
                # One broken archive must not stop the folder's other logs: opening it raises.
                opener = partial(_refuse, str(error))
                yield Source(label=str(entry), name=entry.name, opener=opener, path=entry)

    def _is_left_out(self, entry: Path) -> bool:
        """Return whether a folder's entry is no log; count it, unless it is a side folder."""
        # Of a compressed file the suffix below the compression's decides.
        suffix, suffixes = entry.suffix.lower(), _SUFFIXES
        if suffix in (".gz", ".zst", ".xz", ".bz2"):
            suffix, suffixes = Path(entry.stem).suffix.lower(), LOG_SUFFIXES | {".tar"}
        if entry.is_symlink():
            reason = LINK
        elif entry.is_dir():
            return entry.name in _SIDE_FOLDERS
        elif not entry.is_file():
            reason = "not a regular file"
        elif _SIDE_FILES.fullmatch(entry.name) or any(
            pattern.fullmatch(entry.name) and (entry.parent / better).is_file()
            for pattern, better in _BETTER
        ):
            reason = _SIDE_FILE
        elif suffix not in suffixes and not is_activity_page(entry.name):
            reason = "file of another kind"
        else:
            return False
        self._leave_out(reason, str(entry))
        return True

    def _leave_out(self, reason: str, label: str) -> None:
        self._report.skip(reason, label, unit="file")

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
        """Yield the JSON files at any depth; count links, wherever they lead."""
        for entry in folder.iterdir():
            if entry.is_symlink():
                self._leave_out(LINK, str(entry))
            elif entry.is_dir():
                yield from self._json_files(entry)
            elif entry.suffix == ".json" and entry.is_file():
                yield entry

    def _stdin(self) -> Iterator[Source]:
        # A stream can be read once only, and is read twice: to recognise it, then as its format.
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
            yield from self._archive(packed, named=True)
            return
        opener = partial(rewound, spool)
        yield Source(label=STDIN_LABEL, name=STDIN_LABEL, kind="stdin", opener=opener, size=size)

    def _unpack(self, member: Source, depth: int) -> Iterator[Source]:
        """Return the logs of a member that is an archive itself, else the member."""
        try:
            packed = nested_archive(member)
            if packed is None:
                yield member
            elif depth < _DEEPEST:
                yield from self._archive(packed, named=False, depth=depth + 1)
            else:
                self._leave_out("archive too deep inside of others", member.label)
        except (*UNREADABLE, IngestError) as error:
            yield replace(member, opener=partial(_refuse, f"{member.label}: {error}"))

    def _archive(self, packed: Packed, *, named: bool, depth: int = 0) -> Iterator[Source]:
        members = list_members(packed, self._report)
        if members is None:
            yield single_log(packed, named=named)
            return
        names = [PurePosixPath(member.name).name for member in members]
        has_names = "users.json" in names or "channels.json" in names
        if has_names and any(map(_DAY_FILE.fullmatch, names)):
            yield _bundle("slack", packed.label, members)
            return
        # An account's export has its conversations in bundles, with many other files.
        bundles = [m for m, name in zip(members, names, strict=True) if _BUNDLE.fullmatch(name)]
        if "header.json" in names and "start.json" in names:  # an evaluation of Inspect
            bundles = [member for member in members if member.name.startswith("samples/")]
            for member in members:
                if member not in bundles:
                    self._leave_out(_SIDE_FILE, member.label)
        logs: list[Source] = []
        for member in bundles or members:
            if _SIDE_FILES.fullmatch(PurePosixPath(member.name).name):
                self._leave_out(_SIDE_FILE, member.label)
            else:
                logs.extend(self._unpack(member, depth))
        if named and not logs:
            raise IngestError(f"{packed.label}: no conversation log in this archive")
        yield from logs


def _open_file(path: Path) -> BinaryIO:
    return path.open("rb")


def _refuse(reason: str) -> BinaryIO:
    raise IngestError(reason)


def _bundle(kind: Literal["slack", "opencode"], label: str, members: Sequence[Source]) -> Source:
    return Source(
        label=label,
        name=Path(label).name,
        kind=kind,
        opener=io.BytesIO,
        size=sum(member.size or 0 for member in members),
        members=members,
    )
