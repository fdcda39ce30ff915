"""Decides by its content which reader a log is for."""

from dataclasses import dataclass

from memsense.errors import IngestError
from memsense.ingest.head import Head, read_head
from memsense.ingest.readers import READERS
from memsense.ingest.sources import UNREADABLE, Source

# Looked at in turn, until a reader knows the log: a first element may be very long.
HEAD_SIZES = (64 * 1024, 1 << 20, 8 << 20)
_INVISIBLE = "\x00\ufeff \t\r\n"


@dataclass(frozen=True, slots=True)
class Detection:
    """The reader that a log is for, and what in the log says so."""

    format: str
    reason: str


def detect(source: Source) -> Detection:
    """Ask the readers in their order whether they know the source's beginning.

    Raises `IngestError` for a source that can't be opened, is empty, or is nobody's. JSON that
    nobody knows is never taken for prose; prose is read only with `format="text"`.
    """
    if source.kind == "slack":
        return Detection("slack", "users.json or channels.json beside day files")
    reason = ""
    for size in HEAD_SIZES:
        head = _read_head(source, size)
        if found := _ask(head):
            return found
        reason = _explain(head)
        if head.complete:
            break
    raise IngestError(f"{source.label}: {reason}")


def _read_head(source: Source, size: int) -> Head:
    try:
        return read_head(source, size)
    except UNREADABLE as error:
        raise IngestError(f"{source.label}: can't be read ({error})") from error


def _ask(head: Head) -> Detection | None:
    for reader in READERS.values():
        if reason := reader.sniff(head):
            return Detection(reader.name, reason)
    return None


def _explain(head: Head) -> str:
    if not head.text.strip(_INVISIBLE):
        return "the file is empty"
    if head.is_json and not head.records:
        return "JSON without any record"
    known = ", ".join(READERS)
    if head.is_json:
        return f"JSON in a form that no reader knows; name it with --format (one of {known})"
    return f"no reader knows this text; use --format text to read it as prose (or one of {known})"
