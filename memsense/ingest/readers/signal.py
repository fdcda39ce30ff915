"""Signal chat exports: `[2024-12-24, 12:23] Name: text`."""

from memsense.ingest.chat_lines import ChatHead, find_heads, read_chat
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader


def _sniff(head: Head) -> str | None:
    heads = find_heads([] if head.is_json else head.lines)
    if heads and all(map(_is_signal_head, heads)):
        return "lines begin with [year-month-day, hour:minute] and a name"
    return None


def _is_signal_head(head: ChatHead) -> bool:
    return head.bracketed and head.year_first and head.dashed and not head.has_seconds


READER = Reader(name="signal", sniff=_sniff, read=read_chat)
