"""Text out of a log's bytes: byte order marks, mixed encodings, in bounded memory."""

import codecs
from collections.abc import Callable, Iterator
from itertools import chain
from typing import BinaryIO

CHUNK_BYTES = 256 * 1024

# UTF-32's mark begins with UTF-16's, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE, _LEAST_SAMPLE = 1024, 8
_STRAY_BYTES = "memsense-stray-bytes"

BadLineCounter = Callable[[int], None]


def decode_chunks(stream: BinaryIO, on_bad_line: BadLineCounter) -> Iterator[str]:
    """Yield the text of a stream in pieces of about 256 kB, cut between characters.

    A byte order mark decides between UTF-8, UTF-16 and UTF-32; it is not part of the text.
    Bytes that aren't UTF-8 are read as Windows-1252, and as U+FFFD where that has no
    character; `on_bad_line` gets the number of each line where that happened, once.
    """
    head = stream.read(CHUNK_BYTES)
    mark, encoding = find_mark(head)
    last = 0

    # A bad line may lie in several chunks, and is noted once.
    def count_once(line: int) -> None:
        nonlocal last
        if line != last:
            on_bad_line(line)
        last = line

    rest = iter(lambda: stream.read(CHUNK_BYTES), b"")
    chunks = filter(None, chain([head[len(mark) :]], rest))
    if encoding == "utf-8":
        yield from _decode_utf8(chunks, count_once)
    else:
        # PowerShell's `>` writes UTF-16, which read as UTF-8 would be text full of NULs.
        yield from _decode_wide(chunks, encoding, count_once)


def find_mark(head: bytes) -> tuple[bytes, str]:
    """Return the byte order mark at the start (may be empty) and the encoding it stands for."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return mark, encoding
    # UTF-16 without a mark: every second byte of most texts is 0.
    sample = head[: _SAMPLE - _SAMPLE % 2]
    zeros_at_even, zeros_at_odd = sample[::2].count(0), sample[1::2].count(0)
    if len(sample) >= _LEAST_SAMPLE and 4 * max(zeros_at_even, zeros_at_odd) > len(sample):
        if zeros_at_even == 0:
            return b"", "utf-16-le"
        if zeros_at_odd == 0:
            return b"", "utf-16-be"
    return b"", "utf-8"


def split_lines(chunks: Iterator[str]) -> Iterator[str]:
    r"""Yield lines with their ends.

    Only `\n` ends a line. `str.splitlines` also splits at U+2028, U+2029 and U+0085, which stand
    in the strings of real JSON lines.
    """
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


def _decode_utf8(chunks: Iterator[bytes], on_bad_line: BadLineCounter) -> Iterator[str]:
    line, rest = 1, b""
    for chunk in chunks:
        data = rest + chunk
        # A character that the chunk cuts in two waits for the next one: `end` is before it.
        try:
            text, end = codecs.utf_8_decode(data, "strict", False)
        except UnicodeDecodeError:
            text, end = codecs.utf_8_decode(data, _STRAY_BYTES, False)
            for number, bad in enumerate(data[:end].split(b"\n"), line):
                try:
                    bad.decode()
                except UnicodeDecodeError:
                    on_bad_line(number)
        yield text
        # `bytes.count` looks at each byte; `find` jumps, and lines of logs are long.
        newline = data.find(b"\n", 0, end)
        while newline >= 0:
            line += 1
            newline = data.find(b"\n", newline + 1, end)
        rest = data[end:]
    if rest:
        on_bad_line(line)
        yield rest.decode(errors=_STRAY_BYTES)


def _read_stray_bytes(error: UnicodeError) -> tuple[str, int]:
    """Read bytes that aren't UTF-8 as Windows-1252, as a codec's error handler."""
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
