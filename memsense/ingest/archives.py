"""Looks into archives: zip, tar, gzip and zstd, one member at a time and within limits.

Nothing is unpacked to where a member says: its bytes are read where they are, and a compressed
tar goes through a temporary file. What would expand without end, or names a place outside of its
archive, is refused by name.
"""

import gzip
import io
import re
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal, cast

from memsense.errors import IngestError
from memsense.ingest.report import ReadReport
from memsense.ingest.source import UNREADABLE, Source, place_of

Kind = Literal["zip", "tar", "gzip", "zstd"]

LOG_SUFFIXES = frozenset(".json .jsonl .ndjson .txt .md .csv .tsv .vtt .srt".split())
PACKED_SUFFIXES = frozenset(".gz .tgz .zst .tzst".split())
SPOOL_BYTES = 8 << 20
LEADS_OUT = "path that leads out of its archive"
NO_FILE = "not a regular file"

_MAGIC: tuple[tuple[bytes, int, Kind], ...] = (
    (b"PK\x03\x04", 0, "zip"),
    (b"\x1f\x8b", 0, "gzip"),
    (b"\x28\xb5\x2f\xfd", 0, "zstd"),
    (b"ustar", 257, "tar"),
)
_LOOK = 512
_ACTIVITY = re.compile(r"(?i:my ?activity( ?\(\d{1,3}\))?\.html)")
_DRIVE = re.compile(r"[A-Za-z]:")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """An archive, or one compressed log: what it is called, where it stands, its bytes."""

    label: str
    name: str
    place: str
    size: int
    file: Path | BinaryIO
    kind: Kind

    def open(self) -> AbstractContextManager[BinaryIO]:
        """The bytes as they are stored, from the beginning."""
        return self.file.open("rb") if isinstance(self.file, Path) else rewound(self.file)

    @contextmanager
    def unpack(self) -> Generator[BinaryIO]:
        """What gzip or zstd have compressed, as a stream that ends with an error at the limit."""
        with self.open() as file:
            yield cast("BinaryIO", _Bounded(self, file))


class Spool(tempfile.SpooledTemporaryFile[bytes]):
    """Bytes to be read more than once; gone with the last source that needs them."""

    def __del__(self) -> None:
        self.close()


@contextmanager
def rewound(spool: BinaryIO) -> Generator[BinaryIO]:
    """A spool from its beginning; it stays open for the next reading."""
    spool.seek(0)
    yield spool


def kind_of(stream: BinaryIO) -> Kind | None:
    """What archive a stream is, by its first bytes."""
    head = stream.read(_LOOK)
    return next((kind for magic, at, kind in _MAGIC if head.startswith(magic, at)), None)


def list_members(packed: Packed, report: ReadReport) -> list[Source] | None:
    """The logs of an archive; None where it is one compressed log, see `single_log`.

    Raises IngestError for an archive that is damaged or whose logs are too large together.
    """
    try:
        if packed.kind == "zip":
            return list(_zip_members(packed, report))
        if packed.kind == "tar":
            return list(_tar_members(packed, packed.file, report))
        with packed.unpack() as stream:
            if kind_of(stream) != "tar":
                return None
        spool = cast("BinaryIO", Spool(max_size=SPOOL_BYTES))
        with packed.unpack() as stream:
            shutil.copyfileobj(stream, spool)
        return list(_tar_members(packed, spool, report))
    except UNREADABLE as error:
        raise IngestError(f"{packed.label}: the archive can't be read ({error})") from error


def single_log(packed: Packed, *, named: bool) -> Source:
    """The one log that a compressed file holds."""
    path = PurePosixPath(packed.name)
    name = path.stem if path.suffix.lower() in PACKED_SUFFIXES else packed.name
    place = PurePosixPath(packed.place)
    is_packed = PurePosixPath(name).suffix.lower() in LOG_SUFFIXES and place.name == name
    return Source(
        label=packed.label,
        name=name,
        opener=packed.unpack,
        size=packed.size,
        named=named,
        path=packed.file if isinstance(packed.file, Path) else None,
        place=place_of(packed.place) if is_packed else packed.place,
    )


class _Bounded:
    """A decompressed stream that gives no more than its limit."""

    def __init__(self, packed: Packed, file: BinaryIO) -> None:
        self._label, self._size = packed.label, packed.size
        self._limit = min(LARGEST_ARCHIVE, max(FREE_EXPANSION, MOST_EXPANSION * packed.size))
        self._given = 0
        self._stream, self._damage = _open_stream(packed.kind, file)

    def read(self, size: int = -1) -> bytes:
        """As a file's read; raises IngestError at the limit, and where the bytes are damaged."""
        wanted = self._limit + 1 - self._given
        try:
            data = self._stream.read(wanted if size < 0 else min(size, wanted))
        except self._damage as error:
            raise IngestError(f"{self._label}: the archive can't be read ({error})") from error
        self._given += len(data)
        if self._given > self._limit:
            raise IngestError(
                f"{self._label}: has more than {self._limit:,} bytes, and {MOST_EXPANSION} times"
                f" the {self._size:,} in the archive; {_REMEDY}"
            )
        return data


def _open_stream(kind: Kind, file: BinaryIO) -> tuple[BinaryIO, tuple[type[Exception], ...]]:
    if kind == "gzip":
        stream = gzip.GzipFile(fileobj=file, mode="rb")
        return cast("BinaryIO", stream), (OSError, EOFError, zlib.error)
    import zstandard

    reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return cast("BinaryIO", reader), (zstandard.ZstdError,)


def is_activity_page(name: str) -> bool:
    """Whether a page is Google Takeout's My Activity; other pages are looked at where named."""
    return _ACTIVITY.fullmatch(name) is not None


def _leads_out(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or _DRIVE.match(name) is not None


def _is_log(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    is_hidden = path.name.startswith(".") or "__MACOSX" in path.parts
    is_named = path.suffix.lower() in LOG_SUFFIXES or is_activity_page(path.name)
    return not is_hidden and is_named


def _member(
    packed: Packed, name: str, size: int, opener: Callable[[], AbstractContextManager[BinaryIO]]
) -> Source:
    return Source(
        label=f"{packed.label}/{name}",
        name=name,
        kind="member",
        opener=opener,
        size=size,
        named=False,
        place=place_of(f"{packed.place}/{name}"),
    )


def _refuse(packed: Packed, name: str, reason: str, report: ReadReport) -> None:
    report.skip(reason, f"{packed.label}/{name}", unit="file")


# Zip ---------------------------------------------------------------------------------------------


def _zip_members(packed: Packed, report: ReadReport) -> Iterator[Source]:
    archive = zipfile.ZipFile(packed.file)
    logs = [info for info in archive.infolist() if not info.is_dir() and _is_log(info.filename)]
    _check_archive(packed, logs)
    for info in logs:
        if _leads_out(info.filename):
            _refuse(packed, info.filename, LEADS_OUT, report)
            continue
        opener = partial(_open_member, f"{packed.label}/{info.filename}", archive, info)
        yield _member(packed, info.filename, info.file_size, opener)


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


def _check_archive(packed: Packed, logs: list[zipfile.ZipInfo]) -> None:
    """Raise IngestError for logs that together are too large; some may share their bytes."""
    label, size = packed.label, packed.size
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


# Tar ---------------------------------------------------------------------------------------------


def _tar_members(packed: Packed, file: Path | BinaryIO, report: ReadReport) -> Iterator[Source]:
    opened = file.open("rb") if isinstance(file, Path) else rewound(file)
    with opened as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        members = archive.getmembers()
    for info in members:
        if info.isdir() or not _is_log(info.name):
            continue
        if _leads_out(info.name):
            _refuse(packed, info.name, LEADS_OUT, report)
        elif not info.isreg() or info.issparse():
            _refuse(packed, info.name, NO_FILE, report)
        else:
            opener = partial(_open_part, file, info.offset_data, info.size)
            yield _member(packed, info.name.removeprefix("./"), info.size, opener)


@contextmanager
def _open_part(file: Path | BinaryIO, start: int, size: int) -> Generator[BinaryIO]:
    opened = file.open("rb") if isinstance(file, Path) else rewound(file)
    with opened as stream:
        stream.seek(start)
        yield cast("BinaryIO", _Part(stream, size))


class _Part(io.RawIOBase):
    """The next so many bytes of a file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1) -> bytes:
        """As a file's read, up to the part's end."""
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data
