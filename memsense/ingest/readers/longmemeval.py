"""Reader of LongMemEval: a history of sessions for each question, without the questions."""

from collections.abc import Iterator
from itertools import chain, repeat

from memsense.ingest.content import role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.values import identifier, objects, sequence, string
from memsense.types import Conversation


def sniff(head: Head) -> str | None:
    """Return what shows that a log is LongMemEval."""
    if head.find(lambda record: "haystack_sessions" in record):
        return "questions with haystack_sessions"
    if head.find(lambda record: "haystack_session_ids" in record):
        return "questions with haystack_session_ids"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each session; the question is the user, whose memory it is."""
    for record in reading.objects():
        value, line = record.value, record.line
        if not isinstance(value.get("haystack_sessions"), list):
            reading.skip("question without a history", line)
            continue
        own_id = identifier(value.get("question_id"))
        user_id = reading.clean(reading.name_session(own_id, record.ordinal))
        # Three lists run in parallel; the ids and dates may be shorter than the sessions.
        ids = chain(sequence(value.get("haystack_session_ids")), repeat(None))
        dates = chain(sequence(value.get("haystack_dates")), repeat(None))
        sessions = sequence(value["haystack_sessions"])
        counts: dict[str, int] = {}
        for number, (session_id, date, turns) in enumerate(
            zip(ids, dates, sessions, strict=False), 1
        ):
            session = identifier(session_id) or str(number)
            # Ids repeat inside a history, with other dates: 13 histories of the S set have some.
            counts[session] = counts.get(session, 0) + 1
            suffix = f"#{counts[session]}" if counts[session] > 1 else ""
            stamp = reading.stamp(date)
            builder = reading.conversation()
            for turn in objects(turns):
                role = role_of(string(turn.get("role")))
                builder.add(role, string(turn.get("content")), stamp=stamp, line=line)
            yield from builder.build(session + suffix, metadata={"user_id": user_id})


READER = Reader(name="longmemeval", sniff=sniff, read=read)
