"""Reader of ShareGPT: conversations whose turns have `from` and `value`, or similar keys."""

import re
from collections.abc import Iterator

from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.values import JsonObject, first_string, identifier, objects, string
from memsense.types import Conversation, JsonValue

_TURN_LISTS = ("conversations", "conversation", "items")
_ROLE_KEYS = ("from", "role", "user")
_TEXT_KEYS = ("value", "content", "text")
_PIECE = re.compile(r"(.+)_(\d+)")


def sniff(head: Head) -> str | None:
    """Return what shows that a log has ShareGPT's form."""
    for key in _TURN_LISTS:
        if head.has_item(key, _is_turn):
            return f"{key} whose turns have a speaker and a value"
    return None


def _is_turn(turn: JsonObject) -> bool:
    has_role = any(role_of(string(turn.get(key))) for key in _ROLE_KEYS)
    has_text = any(key in turn for key in _TEXT_KEYS)
    return (has_role and has_text) or ("human" in turn and "assistant" in turn)


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
            _add_turn(builder, turn, record.line)
        session = reading.name_session(identifier(value.get("id")), record.ordinal)
        # Data sets repeat ids with other contents.
        counts[session] = counts.get(session, 0) + 1
        suffix = f"#{counts[session]}" if counts[session] > 1 else ""
        # Long chats of the first crawl come in numbered pieces, of which the stem is the chat.
        match = _PIECE.fullmatch(session)
        metadata: dict[str, JsonValue] = {"piece_of": match[1]} if match else {}
        yield from builder.build(session + suffix, metadata=metadata)


def _add_turn(builder: ConversationBuilder, turn: JsonObject, line: int) -> None:
    if "human" in turn and "assistant" in turn:
        builder.add("user", string(turn["human"]), line=line)
        builder.add("assistant", string(turn["assistant"]), line=line)
        return
    role = role_of(first_string(turn, _ROLE_KEYS))
    if role not in ("user", "assistant"):
        builder.reading.skip(f"{role or 'unknown'} message", line)
        return
    stamp = builder.reading.stamp(turn.get("timestamp"))
    builder.add(role, first_string(turn, _TEXT_KEYS), stamp=stamp, line=line)


READER = Reader(name="sharegpt", sniff=sniff, read=read)
