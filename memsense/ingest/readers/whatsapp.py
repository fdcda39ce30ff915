"""WhatsApp chat exports, in the date and time spellings of all locales."""

from memsense.ingest.chat_lines import parse_head, read_chat
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader

_ENOUGH_HEADS = 3


def _sniff(head: Head) -> str | None:
    if head.is_json:
        return None
    lines = head.lines
    heads = [found for line in lines if (found := parse_head(line))]
    enough = len(heads) >= _ENOUGH_HEADS or 2 * len(heads) >= len(lines) > 0
    if enough and any(found.is_named for found in heads):
        return f"{len(heads)} of the first {len(lines)} lines begin with a date, a time and a name"
    return None


READER = Reader(name="whatsapp", sniff=_sniff, read=read_chat)
