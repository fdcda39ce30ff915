"""Reader of prose, only if the caller names it: a paragraph is a message without a speaker."""

from collections.abc import Iterator

from memsense.ingest.injected import strip_injected
from memsense.ingest.reading import Reader, Reading
from memsense.types import Conversation


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the text as one conversation, each run of lines between blank ones a message."""
    # Stripped as a whole: a block that a hook injected may span paragraphs.
    text, injected = strip_injected("".join(reading.lines()), keep_lines=True)
    reading.report.injected_blocks += injected
    builder = reading.conversation()
    paragraph: list[str] = []
    start = 1
    # The empty line at the end closes the last paragraph.
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip("\x00\ufeff").strip():
            start = start if paragraph else number
            paragraph.append(line.rstrip("\r\n\x00"))
        elif paragraph:
            reading.report.records += 1
            builder.add("other", "\n".join(paragraph), line=start)
            paragraph = []
    yield from builder.build(reading.source.session_id)


READER = Reader(name="text", sniff=lambda _head: None, read=read)
