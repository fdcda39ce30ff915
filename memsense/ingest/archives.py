"""Logs in archives (zip, tar, gzip and zstd), read one member at a time and within limits.

Nothing is written to the path that a member names: its bytes are read where they are, and a
compressed tar goes through a temporary file. A member that expands without end, or whose path leads
out of its archive, is refused, and the error names it. Before there were limits, an archive of
1.4 MB took 3.5 GB of memory.
"""

import bz2
import gzip
import io
import lzma
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

Kind = Literal["zip", "tar", "gzip", "zstd", "xz", "bzip2"]

LOG_SUFFIXES = frozenset(".json .jsonl .ndjson .txt .md .csv .tsv .vtt .srt".split())
PACKED_SUFFIXES = frozenset(".gz .tgz .zst .tzst .xz .txz .bz2 .tbz2".split())
ARCHIVE_SUFFIXES = PACKED_SUFFIXES | {".zip", ".tar"}
"""Suffixes of archives, and of logs that are compressed alone."""

SPOOL_BYTES = 8 << 20
LEADS_OUT = "path that leads out of its archive"
NO_FILE = "not a regular file"

_MAGIC: tuple[tuple[bytes, int, Kind], ...] = (
    (b"PK\x03\x04", 0, "zip"),
    (b"\x1f\x8b", 0, "gzip"),
    (b"\x28\xb5\x2f\xfd", 0, "zstd"),
    (b"\xfd7zXZ\x00", 0, "xz"),
    (b"BZh", 0, "bzip2"),
    (b"ustar", 257, "tar"),
)
_LOOK = 512
_ACTIVITY = re.compile(r"(?i:my ?activity( ?\(\d{1,3}\))?\.html)")
_DRIVE = re.compile(r"[A-Za-z]:")

MOST_EXPANSION = 50
"""Limit of a log's size as a multiple of its size in the archive. Conversations shrink to a quarter
or a tenth, archives that are made to fill a memory to a thousandth."""

FREE_EXPANSION = 16 << 20
"""Bytes that a log, or all logs of an archive, may always have."""

LARGEST_ARCHIVE = 16 << 30
"""Limit in bytes of all logs of an archive together."""

_STREAMED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Compressions that zipfile unpacks piece by piece. Of the others it decompresses all that a piece
of input expands to, however little is read."""

_REMEDY = "to read it anyway, unpack it and ingest the files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """An archive, or one compressed log: its names, its place, its bytes."""

    label: str
    name: str
    place: str
    size: int
    file: Path | BinaryIO
    kind: Kind

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the bytes as they are stored, from the beginning."""
        return _open_from_start(self.file)

    @contextmanager
    def unpack(self) -> Generator[BinaryIO]:
        """Open the decompressed bytes, as a stream that raises at the size limit."""
        with self.open() as file:
            yield cast("BinaryIO", _Bounded(self, file))


class Spool(tempfile.SpooledTemporaryFile[bytes]):
    """Bytes to be read more than once; deleted with the last source that needs them."""

    def __del__(self) -> None:
        self.close()


@contextmanager
def rewound(spool: BinaryIO) -> Generator[BinaryIO]:
    """Open a spool from its beginning; it stays open for the next reading."""
    spool.seek(0)
    yield spool


def kind_of(stream: BinaryIO) -> Kind | None:
    """Return which kind of archive a stream is, by its first bytes."""
    head = stream.read(_LOOK)
    return next((kind for magic, at, kind in _MAGIC if head.startswith(magic, at)), None)


def list_members(packed: Packed, report: ReadReport) -> list[Source] | None:
    """Return the logs of an archive; None if it is one compressed log, see `single_log`.

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
        # Members of a compressed tar can't be reached without decompressing all before them.
        spool = cast("BinaryIO", Spool(max_size=SPOOL_BYTES))
        with packed.unpack() as stream:
            shutil.copyfileobj(stream, spool)
        return list(_tar_members(packed, spool, report))
    except UNREADABLE as error:
        raise IngestError(f"{packed.label}: the archive can't be read ({error})") from error


def nested_archive(member: Source) -> Packed | None:
    """Return a member that is an archive itself, or a compressed log; None for any other.

    What it may expand to is measured by its own bytes, as for an archive in a folder; those are
    limited by the archive around it.
    """
    if PurePosixPath(member.name).suffix.lower() not in ARCHIVE_SUFFIXES:
        return None
    spool = cast("BinaryIO", Spool(max_size=SPOOL_BYTES))
    with member.opener() as stream:
        shutil.copyfileobj(stream, spool)
    size = spool.tell()
    spool.seek(0)
    kind = kind_of(spool)
    name = PurePosixPath(member.name).name
    place = f"{member.place}{PurePosixPath(member.name).suffix}"
    return kind and Packed(
        label=member.label, name=name, place=place, size=size, file=spool, kind=kind
    )


def single_log(packed: Packed, *, named: bool) -> Source:
    """Return the one log that a compressed file holds."""
    path = PurePosixPath(packed.name)
    name = path.stem if path.suffix.lower() in PACKED_SUFFIXES else packed.name
    place = PurePosixPath(packed.place)
    # `a/chat.json.gz` is the session `a/chat`, as `a/chat.json` is: packing a log must not make
    # another session of it.
    has_log_suffix = PurePosixPath(name).suffix.lower() in LOG_SUFFIXES and place.name == name
    return Source(
        label=packed.label,
        name=name,
        opener=packed.unpack,
        size=packed.size,
        named=named,
        path=packed.file if isinstance(packed.file, Path) else None,
        place=place_of(packed.place) if has_log_suffix else packed.place,
    )


class _Bounded:
    """A decompressed stream that raises IngestError once it exceeds its limit."""

    def __init__(self, packed: Packed, file: BinaryIO) -> None:
        self._label, self._size = packed.label, packed.size
        self._limit = min(LARGEST_ARCHIVE, max(FREE_EXPANSION, MOST_EXPANSION * packed.size))
        self._read = 0
        self._stream: BinaryIO
        self._damage: tuple[type[Exception], ...]
        if packed.kind == "gzip":
            self._stream = cast("BinaryIO", gzip.GzipFile(fileobj=file, mode="rb"))
            self._damage = (OSError, EOFError, zlib.error)
        elif packed.kind == "xz":
            self._stream = cast("BinaryIO", lzma.LZMAFile(file))  # noqa: SIM115
            self._damage = (OSError, EOFError, lzma.LZMAError)
        elif packed.kind == "bzip2":
            self._stream = cast("BinaryIO", bz2.BZ2File(file))
            self._damage = (OSError, EOFError, ValueError)
        else:
            from memsense.ingest.zstandard import zstd

            # It reads several frames, one after another: programs append to logs frame by frame.
            self._stream = cast("BinaryIO", zstd.ZstdFile(file))
            self._damage = (EOFError, zstd.ZstdError)

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes; raise IngestError at the limit and for damaged bytes."""
        # One byte more than is allowed, which tells a stream that is too long from one that ends.
        allowed = self._limit + 1 - self._read
        try:
            data = self._stream.read(allowed if size < 0 else min(size, allowed))
        except self._damage as error:
            raise IngestError(f"{self._label}: the archive can't be read ({error})") from error
        self._read += len(data)
        if self._read > self._limit:
            raise IngestError(
                f"{self._label}: has more than {self._limit:,} bytes, and {MOST_EXPANSION} times"
                f" the {self._size:,} in the archive; {_REMEDY}"
            )
        return data


def is_activity_page(name: str) -> bool:
    """Return whether a page is Google Takeout's My Activity, the one HTML page that is a log."""
    return _ACTIVITY.fullmatch(name) is not None


def _open_from_start(file: Path | BinaryIO) -> AbstractContextManager[BinaryIO]:
    return file.open("rb") if isinstance(file, Path) else rewound(file)


def _leads_out(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or _DRIVE.match(name) is not None


def _is_log(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    is_hidden = path.name.startswith(".") or "__MACOSX" in path.parts
    is_suffix = path.suffix.lower() in LOG_SUFFIXES | ARCHIVE_SUFFIXES
    has_suffix = is_suffix or is_activity_page(path.name)
    return not is_hidden and has_suffix


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


# Zip ---------------------------------------------------------------------------------------------


def _zip_members(packed: Packed, report: ReadReport) -> Iterator[Source]:
    archive = zipfile.ZipFile(packed.file)
    logs = [info for info in archive.infolist() if not info.is_dir() and _is_log(info.filename)]
    # Members may share their bytes in a zip, so that each is within its limit and all together
    # are not. One that is too large for itself is refused when it is opened, and not counted here.
    total = sum(info.file_size for info in logs if not _expands_too_much(info))
    if total > max(FREE_EXPANSION, MOST_EXPANSION * packed.size):
        raise IngestError(
            f"{packed.label}: its logs have {total:,} bytes, more than {MOST_EXPANSION} times the"
            f" archive's {packed.size:,}; {_REMEDY}"
        )
    if total > LARGEST_ARCHIVE:
        raise IngestError(
            f"{packed.label}: its logs have {total:,} bytes, more than {LARGEST_ARCHIVE:,};"
            f" {_REMEDY}"
        )
    for info in logs:
        label = f"{packed.label}/{info.filename}"
        if _leads_out(info.filename):
            report.skip(LEADS_OUT, label, unit="file")
            continue
        opener = partial(_open_zip_member, label, archive, info)
        yield _member(packed, info.filename, info.file_size, opener)


def _open_zip_member(
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


# Tar ---------------------------------------------------------------------------------------------


def _tar_members(packed: Packed, file: Path | BinaryIO, report: ReadReport) -> Iterator[Source]:
    with _open_from_start(file) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        members = archive.getmembers()
    for info in members:
        if info.isdir() or not _is_log(info.name):
            continue
        label = f"{packed.label}/{info.name}"
        if _leads_out(info.name):
            report.skip(LEADS_OUT, label, unit="file")
        elif not info.isreg() or info.issparse():
            # A link leads out of the archive; a sparse file has more bytes than it stores.
            report.skip(NO_FILE, label, unit="file")
        else:
            opener = partial(_open_part, file, info.offset_data, info.size)
            yield _member(packed, info.name.removeprefix("./"), info.size, opener)


@contextmanager
def _open_part(file: Path | BinaryIO, start: int, size: int) -> Generator[BinaryIO]:
    with _open_from_start(file) as stream:
        stream.seek(start)
        yield cast("BinaryIO", _Part(stream, size))


class _Part(io.RawIOBase):
    """A part of a file: the next so many bytes."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._rest = file, size

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, and none beyond the part's end."""
        data = self._file.read(self._rest if size < 0 else min(size, self._rest))
        self._rest -= len(data)
        return data
