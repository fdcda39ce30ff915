"""ShareGPT: lists of conversations whose turns have `from` and `value`, or kin keys."""

import re
from collections.abc import Iterator, Sequence

from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.values import JsonObject, identifier, objects, string
from memsense.types import Conversation, JsonValue

_TURN_LISTS = ("conversations", "conversation", "items")
_ROLE_KEYS = ("from", "role", "user")
_WORD_KEYS = ("value", "content", "text")
_PIECE = re.compile(r"(.+)_(\d+)")


def _sniff(head: Head) -> str | None:
    for key in _TURN_LISTS:
        if head.find(lambda record, key=key: any(map(_is_turn, objects(record.get(key))))):
            return f"{key} whose turns have a speaker and a value"
    return None


def _is_turn(turn: JsonObject) -> bool:
    spoken = any(role_of(string(turn.get(key))) for key in _ROLE_KEYS)
    worded = any(key in turn for key in _WORD_KEYS)
    return (spoken and worded) or ("human" in turn and "assistant" in turn)


def _read(reading: Reading) -> Iterator[Conversation]:
    used: dict[str, int] = {}
    for record in reading.objects():
        turns = _turns(record.value)
        if turns is None:
            reading.skip("not a conversation", record.line)
            continue
        builder = reading.conversation()
        for turn in turns:
            _add_turn(builder, turn, record.line)
        session = _session_id(reading, record)
        used[session] = used.get(session, 0) + 1
        suffix = f"#{used[session]}" if used[session] > 1 else ""
        yield from builder.build(session + suffix, metadata=_piece_of(session))


def _turns(record: JsonObject) -> Sequence[JsonObject] | None:
    lists = (record[key] for key in _TURN_LISTS if isinstance(record.get(key), list))
    return next((objects(turns) for turns in lists), None)


def _session_id(reading: Reading, record: ObjectRecord) -> str:
    known = identifier(record.value.get("id"))
    return known or f"{reading.source.session_id}:{record.ordinal}"


def _piece_of(session: str) -> dict[str, JsonValue]:
    """Long chats of the first crawl come in numbered pieces; the stem tells which belong."""
    match = _PIECE.fullmatch(session)
    return {"piece_of": match[1]} if match else {}


def _add_turn(builder: ConversationBuilder, turn: JsonObject, line: int) -> None:
    if "human" in turn and "assistant" in turn:
        builder.add("user", string(turn["human"]), line=line)
        builder.add("assistant", string(turn["assistant"]), line=line)
        return
    word = _first_string(turn, _ROLE_KEYS)
    role = role_of(word)
    if role not in ("user", "assistant"):
        builder.reading.skip(f"{role or 'unknown'} message", line)
        return
    stamp = builder.reading.stamp(turn.get("timestamp"))
    builder.add(role, _first_string(turn, _WORD_KEYS), stamp=stamp, line=line)


def _first_string(turn: JsonObject, keys: Sequence[str]) -> str:
    return next((text for key in keys if (text := string(turn.get(key)))), "")


READER = Reader(name="sharegpt", sniff=_sniff, read=_read)
