"""Prose, only where it is asked for by name: a paragraph is a message of nobody."""

from collections.abc import Iterable, Iterator

from memsense.ingest.head import Head
from memsense.ingest.injected import strip_injected
from memsense.ingest.reader import Reader
from memsense.ingest.reading import Reading
from memsense.types import Conversation


def _sniff(head: Head) -> str | None:  # noqa: ARG001
    return None


def _read(reading: Reading) -> Iterator[Conversation]:
    builder = reading.conversation()
    text, injected = strip_injected("".join(reading.lines()), keep_lines=True)
    reading.report.injected_blocks += injected
    for line, paragraph in _paragraphs(text.split("\n")):
        reading.report.records += 1
        builder.add("other", paragraph, line=line)
    yield from builder.build(reading.source.session_id)


def _paragraphs(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Runs of lines between blank ones, with the number of their first line."""
    pending: list[str] = []
    start = 1
    for number, line in enumerate(lines, 1):
        if line.strip("\x00\ufeff").strip():
            start = start if pending else number
            pending.append(line.rstrip("\r\n\x00"))
        elif pending:
            yield start, "\n".join(pending)
            pending = []
    if pending:
        yield start, "\n".join(pending)


READER = Reader(name="text", sniff=_sniff, read=_read)
