"""LongMemEval: a history of sessions a question; question and answer stay unread."""

from collections.abc import Iterator, Sequence

from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.values import identifier, objects, sequence, string
from memsense.types import Conversation, JsonValue


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: "haystack_sessions" in record):
        return "questions with haystack_sessions"
    if head.find(lambda record: "haystack_session_ids" in record):
        return "questions with haystack_session_ids"
    return None


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects():
        if isinstance(record.value.get("haystack_sessions"), list):
            yield from _read_history(reading, record)
        else:
            reading.skip("question without a history", record.line)


def _read_history(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    """One conversation a session; ids repeat inside one history, then a number is added."""
    value = record.value
    known = identifier(value.get("question_id"))
    user_id = reading.clean(known or f"{reading.source.session_id}:{record.ordinal}")
    ids = sequence(value.get("haystack_session_ids"))
    dates = sequence(value.get("haystack_dates"))
    used: dict[str, int] = {}
    for position, turns in enumerate(sequence(value.get("haystack_sessions"))):
        session = identifier(_at(ids, position)) or str(position + 1)
        used[session] = used.get(session, 0) + 1
        suffix = f"#{used[session]}" if used[session] > 1 else ""
        yield from _read_session(
            reading, session + suffix, turns, (_at(dates, position), user_id, record.line)
        )


def _read_session(
    reading: Reading, session: str, turns: JsonValue, about: tuple[JsonValue, str, int]
) -> Iterator[Conversation]:
    date, user_id, line = about
    stamp = reading.stamp(date)
    builder = reading.conversation()
    for turn in objects(turns):
        role = role_of(string(turn.get("role")))
        if role not in ("user", "assistant"):
            reading.skip(f"{role or 'unknown'} message", line)
            continue
        builder.add(role, string(turn.get("content")), stamp=stamp, line=line)
    yield from builder.build(session, metadata={"user_id": user_id})


def _at(values: Sequence[JsonValue], position: int) -> JsonValue:
    return values[position] if position < len(values) else None


READER = Reader(name="longmemeval", sniff=_sniff, read=_read)
