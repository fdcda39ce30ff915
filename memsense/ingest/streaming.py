"""Streams a source's conversations through the reader that fits it."""

from collections.abc import Iterator

from memsense.errors import IngestError
from memsense.ingest.detection import Detection, detect
from memsense.ingest.options import ReadOptions
from memsense.ingest.readers import READERS
from memsense.ingest.reading import Reading
from memsense.ingest.report import ReadReport
from memsense.ingest.source import UNREADABLE, Source
from memsense.types import Conversation

_NAMES_SHOWN = 8
NO_LOG = "database without a log"
GUESSED = "only looks like a conversation (--guessed reads it)"


def read_source(
    source: Source, options: ReadOptions | None = None, report: ReadReport | None = None
) -> Iterator[Conversation]:
    """The source's conversations, in its order, one at a time.

    Raises `IngestError`, on first use, for a log that can't be opened or that no reader knows,
    and at the end for one in which nothing at all could be read. A log with readable records
    but no message worth keeping yields nothing and is told in the report, as does one found in a
    folder or archive that is only guessed to be a conversation.
    """
    options = options or ReadOptions()
    report = report if report is not None else ReadReport()
    detection = _choose(source, options)
    if detection is None:
        report.skip(NO_LOG, source.label, unit="file")
        return
    if detection.guessed and not (source.named or options.guessed):
        report.skip(GUESSED, source.label, unit="file")
        return
    report.detected[source.label] = (detection.format, detection.reason)
    reading = Reading(format=detection.format, source=source, options=options, report=report)
    before = report.records
    try:
        yield from _note_users(reading, READERS[detection.format].read(reading))
    except UNREADABLE as error:
        raise IngestError(f"{source.label}: reading broke off ({error})") from error
    if report.records == before:
        raise IngestError(f"{source.label}: nothing in it could be read as {detection.format}")


def _note_users(reading: Reading, conversations: Iterator[Conversation]) -> Iterator[Conversation]:
    """The conversations; of people's, the report learns who is taken for the user."""
    chosen, label = reading.options.user_speaker, reading.source.label
    missed: dict[str, None] | None = {} if chosen else None
    for conversation in conversations:
        if any(message.role in ("user", "assistant") for message in conversation.messages):
            missed = None
        elif chosen is None and conversation.participants:
            reading.report.note_user(label, conversation.participants[0])
        elif chosen in conversation.participants:
            missed = None
        elif missed is not None:
            missed.update(dict.fromkeys(conversation.participants))
        yield conversation
    if missed:
        names = ", ".join(list(missed)[:_NAMES_SHOWN])
        reading.report.warnings.append(f"{label}: {chosen} says nothing in it; there speak {names}")


def _choose(source: Source, options: ReadOptions) -> Detection | None:
    if options.format is not None:
        if options.format not in READERS:
            known = ", ".join(READERS)
            raise IngestError(f"no format is called {options.format!r}; known are {known}")
        return Detection(options.format, "chosen by the caller")
    if options.columns:
        return Detection("rows", "columns were chosen by the caller")
    return detect(source)
