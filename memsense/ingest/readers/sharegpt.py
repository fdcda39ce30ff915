"""Reader of ShareGPT: conversations whose turns have `from` and `value`, or similar keys."""

import re
from collections.abc import Iterator

from memsense.ingest.content import content_text, role_of
from memsense.ingest.fields import find_answers, find_message_id, find_other_texts, find_time
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.values import first_string, identifier, objects, string
from memsense.types import Conversation, JsonValue

_TURN_LISTS = ("conversations", "conversation", "items")
_ROLE_KEYS = ("from", "role", "user")
_TEXT_KEYS = ("value", "content", "text")
_PIECE = re.compile(r"(.+)_(\d+)")


def sniff(head: Head) -> str | None:
    """Return what shows that a log has ShareGPT's form."""
    for key in _TURN_LISTS:
        for turn in (turn for record in head.objects for turn in objects(record.get(key))):
            has_role = any(role_of(string(turn.get(role))) for role in _ROLE_KEYS)
            has_text = any(text in turn for text in _TEXT_KEYS)
            if (has_role and has_text) or ("human" in turn and "assistant" in turn):
                return f"{key} whose turns have a speaker and a value"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield each conversation of the data set."""
    counts: dict[str, int] = {}
    for record in reading.objects():
        value = record.value
        turns = next((value[key] for key in _TURN_LISTS if isinstance(value.get(key), list)), None)
        if turns is None:
            reading.skip("not a conversation", record.line)
            continue
        builder = reading.conversation()
        for turn in objects(turns):
            if "human" in turn and "assistant" in turn:
                stamp = reading.stamp(find_time(turn))
                builder.add("user", string(turn["human"]), stamp=stamp, line=record.line)
                builder.add("assistant", string(turn["assistant"]), stamp=stamp, line=record.line)
                continue
            builder.add(
                role_of(first_string(turn, _ROLE_KEYS)),
                first_string(turn, _TEXT_KEYS),
                external_id=find_message_id(turn),
                stamp=reading.stamp(find_time(turn)),
                line=record.line,
            )
        for answer in find_answers(value, ()):
            text = content_text(answer.get("content"))
            if not builder.messages or builder.messages[-1].text != text:
                builder.add("assistant", text, line=record.line)
        for key in find_other_texts(value, frozenset(_TURN_LISTS)):
            reading.skip(f"text next to the messages ({key})", record.line)
        session = reading.name_session(identifier(value.get("id")), record.ordinal)
        # Data sets repeat ids with other contents.
        counts[session] = counts.get(session, 0) + 1
        suffix = f"#{counts[session]}" if counts[session] > 1 else ""
        # Long chats of the first crawl come in numbered pieces; the stem names the chat.
        match = _PIECE.fullmatch(session)
        metadata: dict[str, JsonValue] = {"piece_of": match[1]} if match else {}
        yield from builder.build(session + suffix, metadata=metadata)


READER = Reader(name="sharegpt", sniff=sniff, read=read)
