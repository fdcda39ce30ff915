"""Reader of WhatsApp's chat exports, in the date and time spellings of all locales."""

from memsense.ingest.chat_lines import find_heads, read_chat
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader


def sniff(head: Head) -> str | None:
    """Return what shows that a log is a WhatsApp chat."""
    lines = [] if head.is_json else head.lines
    if heads := find_heads(lines):
        return f"{len(heads)} of the first {len(lines)} lines begin with a date, a time and a name"
    return None


READER = Reader(name="whatsapp", sniff=sniff, read=read_chat)
