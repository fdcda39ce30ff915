"""Codex CLI rollouts: up to three layers that say the same, of which each message comes once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain

from memsense.ingest.content import TEXT_KINDS, joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import Stamp
from memsense.ingest.values import JsonObject, identifier, mapping, string
from memsense.types import Conversation, JsonValue, Role

_TYPES = frozenset(
    {"session_meta", "event_msg", "response_item", "turn_context", "compacted", "world_state"}
)
_SPOKEN_EVENTS: dict[str, Role] = {"user_message": "user", "agent_message": "assistant"}
_COMPLETED: dict[str, Role] = {"UserMessage": "user", "AgentMessage": "assistant"}
_WORDS = TEXT_KINDS | {"Text"}
_LAG = timedelta(seconds=30)
"""What two layers say of one message they say within this time."""

_IMAGE_TAG = re.compile(r"</?image(?: name=[^<>\n]{0,200})?>")
_INJECTED = re.compile(
    r"\s*(<((?:environment_context|user_instructions|permissions|turn_aborted|skill"
    r"|collaboration_mode|recommended_plugins|user_shell_command|subagent_notification"
    r"|INSTRUCTIONS)[^<>]*)>.*?</\2>|# AGENTS\.md instructions for .*)\s*",
    re.DOTALL,
)


@dataclass(slots=True)
class _Spoken:
    """One message, and the layers of the log that said it so far."""

    role: Role
    text: str
    external_id: str | None
    stamp: Stamp
    line: int
    layers: set[str]


@dataclass(slots=True)
class _Rollout:
    """One file's messages in turns, each begun by a user's message, and its first header."""

    header: JsonObject = field(default_factory=dict[str, JsonValue])
    turns: list[list[_Spoken]] = field(default_factory=lambda: [[]])

    def take(self, spoken: _Spoken) -> bool:
        """Add a message to its turn; False where another layer said the same just now."""
        (layer,) = spoken.layers
        for known in self.turns[-1]:
            if layer not in known.layers and _are_one(known, spoken):
                known.layers.add(layer)
                known.text = min(known.text, spoken.text, key=len)
                return False
        if spoken.role == "user":
            self.turns.append([])
        self.turns[-1].append(spoken)
        return True

    def roll_back(self, turns: int) -> int:
        """Drop the last turns; how many messages went."""
        kept = max(1, len(self.turns) - max(turns, 0))
        dropped = sum(len(turn) for turn in self.turns[kept:])
        del self.turns[kept:]
        return dropped


def _are_one(known: _Spoken, again: _Spoken) -> bool:
    """Whether two layers tell one message: in the same words, or with context added to them."""
    if known.role != again.role:
        return False
    apart = known.stamp.at and again.stamp.at and abs(again.stamp.at - known.stamp.at)
    if apart and apart > _LAG:
        return False
    one, other = known.text.split(), again.text.split()
    if one == other:
        return True
    short, long = sorted((known.text.strip(), again.text.strip()), key=len)
    return apart is not None and known.role == "user" and bool(short) and long.endswith(short)


def _sniff(head: Head) -> str | None:
    if head.find(_is_rollout_line):
        return "rollout lines of type session_meta, event_msg or response_item with a payload"
    if head.find(_is_old_header) and head.find(lambda record: record.get("type") == "message"):
        return "a header with id, timestamp and instructions before message items"
    return None


def _is_rollout_line(record: JsonObject) -> bool:
    return string(record.get("type")) in _TYPES and isinstance(record.get("payload"), dict)


def _is_old_header(record: JsonObject) -> bool:
    return "type" not in record and {"id", "timestamp", "instructions"} <= record.keys()


def _read(reading: Reading) -> Iterator[Conversation]:
    rollout = _Rollout()
    for record in reading.objects():
        _take(reading, rollout, record)
    builder = reading.conversation()
    if _is_of_subagent(rollout.header) and not reading.options.sidechains:
        reading.skip("sidechain", count=sum(map(len, rollout.turns)))
        rollout.turns.clear()
    for spoken in chain.from_iterable(rollout.turns):
        builder.add(
            spoken.role,
            spoken.text,
            external_id=spoken.external_id,
            stamp=spoken.stamp,
            line=spoken.line,
        )
    yield from builder.build(
        identifier(rollout.header.get("id")) or reading.source.session_id,
        started_at=reading.stamp(rollout.header.get("timestamp")).at,
    )


def _is_of_subagent(header: JsonObject) -> bool:
    return header.get("thread_source") == "subagent" or "subagent" in mapping(header.get("source"))


def _take(reading: Reading, rollout: _Rollout, record: ObjectRecord) -> None:
    value = record.value
    payload = mapping(value.get("payload"))
    kind = value.get("type")
    if kind == "session_meta" or ("id" in value and kind is None):
        rollout.header = rollout.header or payload or value
        reading.skip("not a message", record.line)
    elif kind == "event_msg":
        _take_event(reading, rollout, record, payload)
    elif (item := payload if kind == "response_item" else value).get("type") == "message":
        role = role_of(string(item.get("role")))
        _add(reading, rollout, record, (role, joined_text(item.get("content")), "item"), item)
    else:
        reading.skip("not a message", record.line)


def _take_event(
    reading: Reading, rollout: _Rollout, record: ObjectRecord, payload: JsonObject
) -> None:
    kind = string(payload.get("type"))
    item = mapping(payload.get("item"))
    if kind in _SPOKEN_EVENTS:
        said = (_SPOKEN_EVENTS[kind], string(payload.get("message")), "event")
        _add(reading, rollout, record, said, payload)
    elif kind == "item_completed" and string(item.get("type")) in _COMPLETED:
        role = _COMPLETED[string(item.get("type"))]
        said = (role, joined_text(item.get("content"), _WORDS), "completed")
        _add(reading, rollout, record, said, item)
    elif kind == "thread_rolled_back" and not reading.options.all_branches:
        turns = payload.get("num_turns")
        dropped = rollout.roll_back(turns if isinstance(turns, int) else 1)
        if dropped:
            reading.skip("rolled back", record.line, dropped)
        reading.skip("not a message", record.line)
    else:
        reading.skip("not a message", record.line)


def _add(
    reading: Reading,
    rollout: _Rollout,
    record: ObjectRecord,
    said: tuple[Role | None, str, str],
    item: JsonObject,
) -> None:
    role, text, layer = said
    if role not in ("user", "assistant"):
        reading.skip(f"{role or 'unknown'} message", record.line)
        return
    words = _peel(text) if role == "user" else text
    if text.strip() and not words.strip():
        reading.skip("injected context", record.line)
        return
    stamp = reading.stamp(record.value.get("timestamp"))
    spoken = _Spoken(role, words, identifier(item.get("id")), stamp, record.line, {layer})
    if not rollout.take(spoken):
        reading.skip("same words in the other layer", record.line)


def _peel(text: str) -> str:
    """The text without the blocks that the program puts before a person's words."""
    text = _IMAGE_TAG.sub("", text)
    start = 0
    while match := _INJECTED.match(text, start):
        start = match.end()
    return text[start:]


READER = Reader(name="codex", sniff=_sniff, read=_read)
