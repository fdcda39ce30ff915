"""Signal chat exports: `[2024-12-24, 12:23] Name: text`."""

from memsense.ingest.chat_lines import ChatHead, parse_head, read_chat
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader


def _sniff(head: Head) -> str | None:
    if head.is_json or not head.lines or parse_head(head.lines[0]) is None:
        return None
    heads = [found for line in head.lines if (found := parse_head(line))]
    if all(map(_is_signal_head, heads)) and any(found.is_named for found in heads):
        return "lines begin with [year-month-day, hour:minute] and a name"
    return None


def _is_signal_head(head: ChatHead) -> bool:
    return head.bracketed and head.year_first and head.dashed and not head.has_seconds


READER = Reader(name="signal", sniff=_sniff, read=read_chat)
