"""Decides by its content which reader a log is for."""

from dataclasses import dataclass

from memsense.errors import IngestError
from memsense.ingest.databases import PROGRAMS
from memsense.ingest.head import Head, read_head
from memsense.ingest.readers import READERS
from memsense.ingest.source import UNREADABLE, Source

# Looked at in turn, until a reader knows the log: a first element may be very long.
HEAD_SIZES = (64 * 1024, 1 << 20, 8 << 20)
_INVISIBLE = "\x00\ufeff \t\r\n"


@dataclass(frozen=True, slots=True)
class Detection:
    """The reader that a log is for, and what in the log says so.

    `guessed` tells that the log only looks like a conversation: no program's marks are in it.
    """

    format: str
    reason: str
    guessed: bool = False


def detect(source: Source) -> Detection | None:
    """Ask the readers in their order whether they know the source's beginning, then guess.

    None for a database in a folder, if no reader knows it: programs keep many that hold no log.

    Raises `IngestError` for a source that can't be opened, is empty, or is nobody's. JSON that
    nobody knows is never taken for prose; prose is read only with `format="text"`.
    """
    if source.kind == "slack":
        return Detection("slack", "users.json or channels.json beside day files")
    if source.kind == "opencode":
        return Detection("opencode", "a storage of session, message and part files")
    head = _read_head(source, HEAD_SIZES[0])
    for size in HEAD_SIZES[1:]:
        if head.complete or _ask(head):
            break
        head = _read_head(source, size)
    if found := _ask(head) or _guess(head):
        return found
    if source.kind == "database" and not source.named:
        return None
    raise IngestError(f"{source.label}: {_explain(head, source)}")


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


def _guess(head: Head) -> Detection | None:
    for reader in READERS.values():
        if reason := reader.guess(head):
            return Detection(reader.name, reason, guessed=True)
    return None


def _explain(head: Head, source: Source) -> str:
    if source.kind == "database":
        return f"an SQLite database without conversations that are known ({PROGRAMS}'s are)"
    if not head.text.strip(_INVISIBLE):
        return "the file is empty"
    if head.is_json and not head.records:
        return "JSON without any record"
    what = "JSON in a form that no reader knows" if head.is_json else "text that no reader knows"
    prose = "" if head.is_json else "--format text reads prose, "
    return (
        f"not a conversation that memsense knows ({what}); if it is one, {prose}--format NAME"
        f" insists: {', '.join(READERS)}"
    )
