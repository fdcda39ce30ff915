"""The choice of the reader for a log, by the log's content."""

from collections.abc import Sequence
from dataclasses import dataclass

from memsense.db.foreign import Database
from memsense.errors import IngestError
from memsense.ingest.databases import PROGRAMS
from memsense.ingest.head import Head, read_head
from memsense.ingest.mapping.proposal import Proposal, propose_mappings
from memsense.ingest.registry import readers
from memsense.ingest.source import UNREADABLE, Source

# Read in turn, until a reader knows the log. 64 kB are enough for nearly every log, but the first
# conversation of an export may be long: one of 18.4 MB has been seen.
HEAD_SIZES = (64 * 1024, 1 << 20, 8 << 20)
_INVISIBLE = "\x00\ufeff \t\r\n"


@dataclass(frozen=True, slots=True)
class Detection:
    """The format of a log, and the reason for it.

    `guessed` is true if the log only looks like a conversation: it has no program's marks.
    """

    format: str
    reason: str
    guessed: bool = False


class UnknownFormError(IngestError):
    """A log in a form that no reader knows; `proposals` are the mappings that read it best."""

    def __init__(self, label: str, fault: str, proposals: Sequence[Proposal]) -> None:
        self.proposals = proposals
        tries = (
            f"{one.description}; try: {one.command(label)} --preview, which reads {one.result}"
            for one in proposals
        )
        ending = (
            "; for a form of your own, write a mapping (the guide 'How to read a file of any form')"
        )
        if proposals:
            ending = f". It looks like {'. Or like '.join(tries)}; --try shows it"
        super().__init__(f"{label}: {fault}{ending}")


def detect(source: Source) -> Detection | None:
    """Return the format of a source, by the first reader that recognises its beginning.

    JSON that no reader knows is never read as prose; prose is read only with `format="text"`.

    Args:
        source: The log, from `expand_paths`.

    Returns:
        The format; None for a database in a folder that no reader knows, because programs keep
        many databases that hold no log.

    Raises:
        UnknownFormError: If the source is in no known format.
        IngestError: If it can't be opened or is empty.
    """
    if source.kind == "slack":
        return Detection("slack", "users.json or channels.json next to day files")
    if source.kind == "opencode":
        return Detection("opencode", "a storage of session, message and part files")
    if source.kind == "database" and (detection := _sniff_tables(source)):
        return detection
    try:
        head = _read_head(source, HEAD_SIZES[0])
    except IngestError as error:
        # Its tables have the names of a known program's, and other columns: it may be another's.
        nothing = Head(source.name, "", complete=True, records=(), is_json=False)
        is_other = source.kind == "database" and source.named and " column" in str(error)
        if is_other and (proposals := propose_mappings(nothing, source)):
            fault = str(error).removeprefix(f"{source.label}: ")
            raise UnknownFormError(source.label, fault, proposals) from error
        raise
    detection = _sniff(head)
    for size in HEAD_SIZES[1:]:
        if head.complete or detection:
            break
        head = _read_head(source, size)
        detection = _sniff(head)
    if detection:
        return detection
    for reader in readers().values():
        if reason := reader.guess(head):
            return Detection(reader.name, reason, guessed=True)
    if source.kind == "database" and not source.named:
        return None
    if source.kind == "database":
        fault = f"an SQLite database without conversations of a known program ({PROGRAMS})"
    elif not head.text.strip(_INVISIBLE):
        raise IngestError(f"{source.label}: the file is empty")
    elif head.is_json and not head.records:
        raise IngestError(f"{source.label}: JSON without any record, or one that is cut off")
    else:
        form = "JSON in a form that" if head.is_json else "text that"
        prose = "" if head.is_json else ", or --format text for any prose"
        # Not the names of all formats: a folder may hold a thousand such files.
        fault = (
            f"not a conversation that memsense knows ({form} no reader knows); if it is one, name"
            f" its format with --format NAME{prose} ('memsense formats' lists them)"
        )
    # A folder may hold a thousand such files: proposals for all of them would take minutes.
    raise UnknownFormError(
        source.label, fault, propose_mappings(head, source) if source.named else ()
    )


def _read_head(source: Source, size: int) -> Head:
    try:
        return read_head(source, size)
    except UNREADABLE as error:
        raise IngestError(f"{source.label}: can't be read ({error})") from error


def _sniff(head: Head) -> Detection | None:
    for reader in readers().values():
        if reason := reader.sniff(head):
            return Detection(reader.name, reason)
    return None


def _sniff_tables(source: Source) -> Detection | None:
    if source.path is None:
        return None
    columns = Database(source.path).peek()
    for reader in readers().values():
        if reason := reader.sniff_tables(columns):
            return Detection(reader.name, reason)
    return None
