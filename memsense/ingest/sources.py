"""Finds the logs behind the paths a person gives: files, folders, globs, archives, stdin."""

import glob
import hashlib
import io
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal, cast

from memsense.errors import IngestError
from memsense.ingest.report import ReadReport
from memsense.inputs import shorten

STDIN = "-"
LINK = "symbolic link in a folder"
"""Why a log is left out that isn't where it seems to be."""

# What reading the bytes of a source may raise: the file system, and damaged archives.
UNREADABLE: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    RuntimeError,  # an encrypted member, and NotImplementedError for a compression
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
)

_LONGEST_PLACE = 200
_SUFFIXES = frozenset(".json .jsonl .ndjson .txt .md .csv .tsv .vtt .srt .zip".split())
_ZIP_MAGIC = b"PK\x03\x04"
_SPOOL_BYTES = 8 << 20

MOST_EXPANSION = 50
"""A log is at most so many times as large as in its archive: conversations shrink to a quarter or a
tenth, what is made to fill a memory to a thousandth."""

FREE_EXPANSION = 16 << 20
"""Bytes that a log, or all logs of an archive, may have however small they are in the archive."""

LARGEST_ARCHIVE = 16 << 30
"""Bytes that all logs of an archive may have."""

_STREAMED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Compressions of which a little can be unpacked at a time."""

_REMEDY = "unpack it and give the files, if they are meant"

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
_SIDE_FOLDERS = frozenset({"todos", "shell-snapshots", "file-history", "__MACOSX"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One log to read: a file, a member of an archive, stdin, or a whole Slack export.

    `label` names it for people and in `Conversation.source`. `named` tells that the caller
    gave it by name, so that a log nobody can read is the caller's error; a file found in a
    folder may simply be something else. `opener` gives the bytes from the beginning. `members`
    are the files of a Slack export. `place` is the path below the root that the caller gave,
    with at least one folder, so that `a/chat.txt` and `b/chat.txt` stay apart.
    """

    label: str
    name: str
    opener: Callable[[], AbstractContextManager[BinaryIO]] = field(repr=False, compare=False)
    kind: Literal["file", "member", "stdin", "slack"] = "file"
    path: Path | None = None
    size: int | None = None
    named: bool = True
    members: Sequence["Source"] = ()
    place: str = ""

    @property
    def session_id(self) -> str:
        """The session's id where a log has none of its own: its place, else its name."""
        return self.place or place_of(self.name)


def place_of(name: str) -> str:
    """A path without its suffix, as the id of a session; a long one by its hash and its end.

    Bytes of it that are no text stand as such: \\xff.
    """
    path = PurePosixPath(name)
    place = str(path.with_name(path.stem)) if path.stem else name
    place = place.encode(errors="surrogateescape").decode(errors="backslashreplace")
    if len(place) <= _LONGEST_PLACE:
        return place
    return f"{hashlib.sha256(place.encode()).hexdigest()[:16]}/{place[-100:]}"


def expand_paths(
    paths: Iterable[str | Path],
    report: ReadReport | None = None,
    *,
    roots: Iterable[str | Path] = (),
) -> list[Source]:
    """The logs behind files, folders, glob patterns, zip archives and `-` (stdin), in order.

    Folders are walked, oldest file first, so that a resumed session comes after the one it
    repeats; symbolic links and special files in them are left out, as are the side files of
    exports (counted in `report`). A folder or archive of a Slack export is one source. A link
    is followed only where the caller names it: not in a folder, nor where a pattern matches it.
    A log below one of the `roots` has its place there, as if that folder had been given.
    Raises `IngestError` for a path that does not exist or is no regular file or folder, and for an
    archive whose logs together are more than 50 times as large as it, or larger than 16 GiB; for
    one such log, and one that can't be unpacked piece by piece, its opener does.
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
        opener = partial(_open_file, path)
        if _starts_like_zip(path):
            yield from self._archive(str(path), path, self._place(path), named=named)
            return
        yield Source(
            label=str(path),
            name=path.name,
            opener=opener,
            path=path,
            size=path.stat().st_size,
            named=named,
            place=self._place(path),
        )

    def _folder(self, folder: Path) -> Iterator[Source]:
        if _is_slack_folder(folder):
            yield self._slack_folder(folder)
            return
        entries = [entry for entry in folder.iterdir() if not self._is_left_out(entry)]
        for entry in sorted(entries, key=_age_then_name):
            if entry.is_dir():
                yield from self._folder(entry)
            else:
                yield from self._file(entry, named=False)

    def _is_left_out(self, entry: Path) -> bool:
        if entry.is_symlink():
            reason = LINK
        elif entry.is_dir():
            return entry.name in _SIDE_FOLDERS
        elif not entry.is_file():
            reason = "not a regular file"
        elif _SIDE_FILES.fullmatch(entry.name):
            reason = "side file of an export"
        elif entry.suffix.lower() not in _SUFFIXES:
            reason = "file of another kind"
        else:
            return False
        self._leave_out(reason, entry)
        return True

    def _leave_out(self, reason: str, path: Path) -> None:
        self._report.skip(reason, str(path), unit="file")

    def _slack_folder(self, folder: Path) -> Source:
        members = [
            Source(
                label=str(path),
                name=path.relative_to(folder).as_posix(),
                opener=partial(_open_file, path),
                path=path,
                size=path.stat().st_size,
            )
            for path in sorted(self._json_files(folder))
        ]
        return _slack_source(str(folder), members)

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
        spool = cast("BinaryIO", _Spool(max_size=_SPOOL_BYTES))
        shutil.copyfileobj(sys.stdin.buffer, spool)
        size = spool.tell()
        spool.seek(0)
        if spool.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC:
            yield from self._archive("stdin", spool, "stdin", named=True)
            return
        opener = partial(_rewound, spool)
        yield Source(label="stdin", name="stdin", kind="stdin", opener=opener, size=size)

    def _archive(
        self, label: str, file: Path | BinaryIO, place: str, *, named: bool
    ) -> Iterator[Source]:
        try:
            archive = zipfile.ZipFile(file)
        except UNREADABLE as error:
            raise IngestError(f"{label}: the archive can't be read ({error})") from error
        logs = [info for info in archive.infolist() if _is_log(info)]
        _check_archive(label, _size_of(file), logs)
        members = [_member(label, archive, info, place) for info in logs]
        if _is_slack_listing([member.name for member in members]):
            yield _slack_source(label, members)
            return
        chosen = list(self._choose_members(members))
        if named and not chosen:
            raise IngestError(f"{label}: no conversation log in this archive")
        yield from chosen

    def _choose_members(self, members: Sequence[Source]) -> Iterator[Source]:
        """The bundle files of an account export where there are some, else every log."""
        bundles = [member for member in members if _BUNDLE.fullmatch(_base(member.name))]
        for member in bundles or members:
            if _SIDE_FILES.fullmatch(_base(member.name)):
                self._report.skip("side file of an export", member.label, unit="file")
            else:
                yield member


class _Spool(tempfile.SpooledTemporaryFile[bytes]):
    """What came through stdin, to be read more than once; gone with its last source."""

    def __del__(self) -> None:
        self.close()


@contextmanager
def _rewound(spool: BinaryIO) -> Generator[BinaryIO]:
    """The spooled stdin from its beginning; it stays open for the next reading."""
    spool.seek(0)
    yield spool


def _open_file(path: Path) -> BinaryIO:
    return path.open("rb")


def _open_member(
    label: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> AbstractContextManager[BinaryIO]:
    if info.compress_type not in _STREAMED:
        raise IngestError(f"{label}: compressed by method {info.compress_type}; {_REMEDY}")
    if _expands_too_much(info):
        raise IngestError(
            f"{label}: has {info.file_size:,} bytes, more than {MOST_EXPANSION} times the"
            f" {info.compress_size:,} in the archive; {_REMEDY}"
        )
    return cast("AbstractContextManager[BinaryIO]", archive.open(info))


def _expands_too_much(info: zipfile.ZipInfo) -> bool:
    return info.file_size > max(FREE_EXPANSION, MOST_EXPANSION * info.compress_size)


def _check_archive(label: str, size: int, logs: Sequence[zipfile.ZipInfo]) -> None:
    """Raise IngestError for logs that together are too large; some may share their bytes."""
    total = sum(info.file_size for info in logs if not _expands_too_much(info))
    if total > max(FREE_EXPANSION, MOST_EXPANSION * size):
        raise IngestError(
            f"{label}: its logs have {total:,} bytes, more than {MOST_EXPANSION} times the"
            f" archive's {size:,}; {_REMEDY}"
        )
    if total > LARGEST_ARCHIVE:
        raise IngestError(
            f"{label}: its logs have {total:,} bytes, more than {LARGEST_ARCHIVE:,}; {_REMEDY}"
        )


def _size_of(file: Path | BinaryIO) -> int:
    return file.stat().st_size if isinstance(file, Path) else file.seek(0, io.SEEK_END)


def _member(label: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: str) -> Source:
    label = f"{label}/{info.filename}"
    return Source(
        label=label,
        name=info.filename,
        kind="member",
        opener=partial(_open_member, label, archive, info),
        size=info.file_size,
        named=False,
        place=place_of(f"{place}/{info.filename}"),
    )


def _slack_source(label: str, members: Sequence[Source]) -> Source:
    return Source(
        label=label,
        name=Path(label).name,
        kind="slack",
        opener=io.BytesIO,
        size=sum(member.size or 0 for member in members),
        members=members,
    )


def _is_log(info: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(info.filename)
    is_hidden = path.name.startswith(".") or "__MACOSX" in path.parts
    return not info.is_dir() and not is_hidden and path.suffix.lower() in _SUFFIXES - {".zip"}


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


def _starts_like_zip(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC
    except OSError as error:
        raise IngestError(f"{path}: can't be read ({error.strerror})") from error


def _base(name: str) -> str:
    return PurePosixPath(name).name


def _age_then_name(path: Path) -> tuple[int, str]:
    return (0 if path.is_dir() else path.stat().st_mtime_ns, path.name)
