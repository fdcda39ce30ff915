"""Turns the bytes of a log into text: byte order marks, mixed encodings, in bounded memory."""

import codecs
from collections.abc import Callable, Iterator
from typing import BinaryIO

CHUNK_BYTES = 256 * 1024

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_STRAY_BYTES = "memsense-stray-bytes"

BadLineCounter = Callable[[int], None]


def decode_chunks(stream: BinaryIO, on_bad_line: BadLineCounter) -> Iterator[str]:
    """The text of a stream in pieces of about 256 kB, cut between characters.

    A byte order mark decides between UTF-8, UTF-16 and UTF-32; it is not part of the text.
    Bytes that aren't UTF-8 are read as Windows-1252, and as U+FFFD where that has no
    character; `on_bad_line` gets the number of each line where that happened.
    """
    head = stream.read(CHUNK_BYTES)
    mark, encoding = find_mark(head)
    chunks = _chunks(head[len(mark) :], stream)
    on_bad_line = _once(on_bad_line)
    if encoding == "utf-8":
        yield from _decode_utf8(chunks, on_bad_line)
    else:
        yield from _decode_wide(chunks, encoding, on_bad_line)


def find_mark(head: bytes) -> tuple[bytes, str]:
    """The byte order mark at the start (may be empty) and the encoding it stands for."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return mark, encoding
    return b"", "utf-8"


def split_lines(chunks: Iterator[str]) -> Iterator[str]:
    r"""Lines with their end; only `\n` ends a line (U+2028 and U+0085 are text)."""
    pending: list[str] = []
    for chunk in chunks:
        first, newline, rest = chunk.partition("\n")
        pending.append(first)
        if not newline:
            continue
        yield "".join(pending) + "\n"
        *whole, last = rest.split("\n")
        yield from (line + "\n" for line in whole)
        pending = [last]
    if tail := "".join(pending):
        yield tail


def _once(on_bad_line: BadLineCounter) -> BadLineCounter:
    """The counter, called once for a line that lies in several chunks."""
    last = 0

    def count(line: int) -> None:
        nonlocal last
        if line != last:
            on_bad_line(line)
        last = line

    return count


def _chunks(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    while head:
        yield head
        head = stream.read(CHUNK_BYTES)


def _decode_utf8(chunks: Iterator[bytes], on_bad_line: BadLineCounter) -> Iterator[str]:
    line, carried = 1, b""
    for chunk in chunks:
        data = carried + chunk
        text, used = _decode_mixed(data, line, on_bad_line)
        yield text
        line += data.count(b"\n", 0, used)
        carried = data[used:]
    if carried:
        on_bad_line(line)
        yield carried.decode(errors=_STRAY_BYTES)


def _decode_mixed(data: bytes, first_line: int, on_bad_line: BadLineCounter) -> tuple[str, int]:
    """The text, and how many bytes it took: a character cut at the end waits for more."""
    try:
        return codecs.utf_8_decode(data, "strict", False)
    except UnicodeDecodeError:
        text, used = codecs.utf_8_decode(data, _STRAY_BYTES, False)
    for number, line in enumerate(data[:used].split(b"\n"), first_line):
        if not _is_utf8(line):
            on_bad_line(number)
    return text, used


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_stray_bytes(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: the bytes that aren't UTF-8, read as Windows-1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_STRAY_BYTES, _read_stray_bytes)


def _decode_wide(
    chunks: Iterator[bytes], encoding: str, on_bad_line: BadLineCounter
) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    line = 1
    for chunk in chunks:
        text = decoder.decode(chunk)
        line += text.count("\n")
        yield text
    if tail := decoder.decode(b"", final=True):
        on_bad_line(line)
        yield tail
