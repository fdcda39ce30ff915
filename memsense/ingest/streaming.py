"""The stream of a source's conversations, through the reader that fits it."""

from collections.abc import Iterator

from memsense.errors import IngestError
from memsense.ingest.detection import Detection, detect
from memsense.ingest.options import ReadOptions
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.registry import choose_mapped, choose_reader, readers
from memsense.ingest.report import ReadReport
from memsense.ingest.source import UNREADABLE, Source
from memsense.types import Conversation

_NAMES_SHOWN = 8
NO_LOG = "database without a log"
GUESSED = "only looks like a conversation (--guessed reads it)"


def read_source(
    source: Source, options: ReadOptions | None = None, report: ReadReport | None = None
) -> Iterator[Conversation]:
    """Yield a source's conversations in its order, one at a time.

    A log with readable records but no message worth keeping yields nothing and is counted in the
    report, as is a log found in a folder or archive that is only guessed to be a conversation.

    Args:
        source: The log, from `expand_paths`.
        options: How to read it; the defaults detect the format.
        report: Counts of the whole run, to add to. Pass the same one for all logs of a run, so
            that a session resumed in a second file is recognised.

    Raises:
        IngestError: At the first conversation, if the log can't be opened or no reader knows it; at
            the end, if nothing in it could be read.
    """
    options = options or ReadOptions()
    report = report if report is not None else ReadReport()
    reader: Reader | None = None
    if options.map is not None:
        is_database = source.kind == "database"
        reader, options = choose_mapped(options.map, options, is_database=is_database)
        detection = Detection(reader.name, "mapped by the caller")
    elif options.format is not None:
        reader = choose_reader(options.format)
        detection = Detection(reader.name, "chosen by the caller")
    elif options.columns:
        detection = Detection("rows", "columns were chosen by the caller")
    else:
        detection = detect(source)
    if detection is None:
        report.skip(NO_LOG, source.label, unit="file")
        return
    if detection.guessed and not (source.named or options.guessed):
        report.skip(GUESSED, source.label, unit="file")
        return
    reader = reader or readers()[detection.format]
    report.detected[source.label] = (detection.format, detection.reason)
    reading = Reading(format=detection.format, source=source, options=options, report=report)
    before, messages_before = report.records, report.messages_kept
    try:
        yield from _note_users(reading, reader.read(reading))
    except UNREADABLE as error:
        raise IngestError(f"{source.label}: reading broke off ({error})") from error
    if report.messages_kept > messages_before:
        _warn_of_types(report, detection.format, source.label)
    # Silence would look like success: a log without a readable record is an error.
    if report.records == before:
        raise IngestError(f"{source.label}: nothing in it could be read as {detection.format}")


def _warn_of_types(report: ReadReport, form: str, label: str) -> None:
    """Warn once of each type of record that the reader does not know."""
    for name in report.unknown_types.get(form, ()):
        start = f"records of type {name!r} are new to the reader of {form}"
        if not any(warning.startswith(start) for warning in report.warnings):
            report.warnings.append(f"{start}: they may hold words that are not read ({label})")


def _note_users(reading: Reading, conversations: Iterator[Conversation]) -> Iterator[Conversation]:
    """Yield the conversations; note in the report whose side of a log of people is the user's."""
    user, label = reading.options.user_speaker, reading.source.label
    # The speakers met so far, for the warning; None once the user's name is among them, or an
    # assistant speaks.
    others: dict[str, None] | None = {} if user else None
    for conversation in conversations:
        if any(message.role in ("user", "assistant") for message in conversation.messages):
            others = None
        elif user is None and conversation.participants:
            reading.report.note_user(label, conversation.participants[0])
        elif user in conversation.participants:
            others = None
        elif others is not None:
            others.update(dict.fromkeys(conversation.participants))
        yield conversation
    if others:
        names = ", ".join(list(others)[:_NAMES_SHOWN])
        reading.report.warnings.append(f"{label}: {user} says nothing in it; the speakers: {names}")
