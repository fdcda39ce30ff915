"""Reader of Signal's chats: `[2024-12-24, 12:23] Name: text`."""

from memsense.ingest.chat_lines import find_heads, read_chat
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader


def sniff(head: Head) -> str | None:
    """Return what shows that a log is a Signal chat."""
    heads = find_heads([] if head.is_json else head.lines)
    # WhatsApp's heads have many forms; this one is Signal's alone.
    if heads and all(
        h.bracketed and h.year_first and h.dashed and not h.has_seconds for h in heads
    ):
        return "lines begin with [year-month-day, hour:minute] and a name"
    return None


READER = Reader(name="signal", sniff=sniff, read=read_chat)
