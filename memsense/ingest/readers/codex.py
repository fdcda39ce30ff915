"""Reader of Codex CLI's rollouts, whose up to three layers say each message once each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain

from memsense.ingest.content import TEXT_KINDS, content_text, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import INJECTED, ObjectRecord, Reader, Reading
from memsense.ingest.timestamps import Stamp
from memsense.ingest.values import JsonObject, identifier, mapping, string
from memsense.text.words import read_sections
from memsense.types import Conversation, JsonValue, Role

_TYPES = frozenset(
    {"session_meta", "event_msg", "response_item", "turn_context", "compacted", "world_state"}
)
_EVENTS: dict[str, Role] = {"user_message": "user", "agent_message": "assistant"}
_COMPLETED: dict[str, Role] = {"UserMessage": "user", "AgentMessage": "assistant"}
_COMPLETED_KINDS = TEXT_KINDS | {"Text"}
_OTHER_FAMILIES = tuple(
    "collab_ exec_ guardian_ hook_ mcp_ patch_ realtime_ session_ web_ image_".split()
)
_OTHER_TYPES = frozenset(read_sections("records")["codex"].split())
_LAG = timedelta(seconds=30)
"""Longest time between the lines in which two layers say one message."""

_IMAGE_TAG = re.compile(r"</?image(?: name=[^<>\n]{0,200})?>")
# Context that the program puts before a person's words, as messages of the user.
_INJECTED = re.compile(
    r"\s*(<((?:environment_context|user_instructions|permissions|turn_aborted|skill"
    r"|collaboration_mode|recommended_plugins|user_shell_command|subagent_notification"
    r"|INSTRUCTIONS)[^<>]*)>.*?</\2>|# AGENTS\.md instructions for .*)\s*",
    re.DOTALL,
)


@dataclass(slots=True)
class _Utterance:
    """One message, and the layers of the log that have said it so far."""

    role: Role
    text: str
    external_id: str | None
    stamp: Stamp
    line: int
    folder: str
    layers: set[str]

    def is_same(self, other: "_Utterance") -> bool:
        """Return whether another layer's message is this one, with or without context around it."""
        if self.role != other.role:
            return False
        apart = self.stamp.at and other.stamp.at and abs(other.stamp.at - self.stamp.at)
        if apart and apart > _LAG:
            return False
        if self.text.split() == other.text.split():
            return True
        # An item may hold the prompt behind context that the event leaves out. Without times, equal
        # endings prove nothing.
        short, long = sorted((self.text.strip(), other.text.strip()), key=len)
        return apart is not None and self.role == "user" and bool(short) and long.endswith(short)


@dataclass(slots=True)
class _Rollout:
    """One file's messages in turns, each begun by a user's message, and its first header.

    `folder` is where the session is by now.
    """

    header: JsonObject = field(default_factory=dict[str, JsonValue])
    folder: str = ""
    turns: list[list[_Utterance]] = field(default_factory=lambda: [[]])

    def add(self, utterance: _Utterance) -> bool:
        """Add a message to its turn; return False if another layer has just said the same."""
        (layer,) = utterance.layers
        for earlier in self.turns[-1]:
            # The same words in the same layer are said again.
            if layer not in earlier.layers and earlier.is_same(utterance):
                earlier.layers.add(layer)
                earlier.text = min(earlier.text, utterance.text, key=len)
                return False
        if utterance.role == "user":
            self.turns.append([])
        self.turns[-1].append(utterance)
        return True

    def roll_back(self, count: int) -> int:
        """Drop the last turns; return how many messages they had."""
        # turns[0] holds what was said before the first user's message, and is no turn.
        end = max(1, len(self.turns) - max(count, 0))
        dropped = sum(len(turn) for turn in self.turns[end:])
        del self.turns[end:]
        return dropped


def sniff(head: Head) -> str | None:
    """Return what shows that a log is a rollout."""
    lines = [record for record in head.objects if string(record.get("type")) in _TYPES]
    if any(isinstance(record.get("payload"), dict) for record in lines):
        return "rollout lines of type session_meta, event_msg or response_item with a payload"
    # Older rollouts have no envelopes: items behind a header without a type.
    untyped = [record for record in head.objects if "type" not in record]
    has_header = any({"id", "timestamp", "instructions"} <= one.keys() for one in untyped)
    if has_header and head.find(lambda record: record.get("type") == "message"):
        return "a header with id, timestamp and instructions before message items"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the one conversation of a rollout, each message once.

    The layers are events (`event_msg`), items (`response_item`) and completed items. Which of them
    a log has depends on the version, and a newer program may have resumed an older one's session:
    so no layer can be left out as a whole.
    """
    rollout = _Rollout()
    for record in reading.objects():
        value = record.value
        payload = mapping(value.get("payload"))
        kind, event = value.get("type"), string(payload.get("type"))
        completed = mapping(payload.get("item"))
        completed_type = string(completed.get("type"))
        item = payload if kind == "response_item" else value
        if kind == "session_meta" or ("id" in value and kind is None):
            rollout.header = rollout.header or payload or value
            rollout.folder = rollout.folder or string(rollout.header.get("cwd"))
            reading.skip("not a message", record.line)
        elif kind == "event_msg" and event in _EVENTS:
            role, text = _EVENTS[event], string(payload.get("message"))
            _add(reading, rollout, record, payload, role=role, text=text, layer="event")
        elif kind == "event_msg" and event == "item_completed" and completed_type in _COMPLETED:
            role = _COMPLETED[completed_type]
            text = content_text(completed.get("content"), _COMPLETED_KINDS)
            _add(reading, rollout, record, completed, role=role, text=text, layer="completed")
        elif kind != "event_msg" and (
            item.get("type") == "message" or ("type" not in item and "content" in item)
        ):
            role, text = role_of(string(item.get("role"))), content_text(item.get("content"))
            _add(reading, rollout, record, item, role=role, text=text, layer="item")
        else:
            if kind == "turn_context":
                rollout.folder = string(payload.get("cwd")) or rollout.folder
            is_rollback = kind == "event_msg" and event == "thread_rolled_back"
            if is_rollback and not reading.options.all_branches:
                count = payload.get("num_turns")
                dropped = rollout.roll_back(count if isinstance(count, int) else 1)
                if dropped:
                    reading.skip("rolled back", record.line, dropped)
            inner = event if kind == "event_msg" else string(item.get("type"))
            # Work of sub-agents and of tools has families of events.
            is_known = inner.startswith(_OTHER_FAMILIES)
            reading.skip_record(inner, {inner} if is_known else _OTHER_TYPES, record.line)
    header = rollout.header
    is_subagent = header.get("thread_source") == "subagent" or "subagent" in mapping(
        header.get("source")
    )
    if is_subagent and not reading.options.sidechains:
        reading.skip("sidechain", count=sum(map(len, rollout.turns)))
        rollout.turns.clear()
    builder = reading.conversation()
    for utterance in chain.from_iterable(rollout.turns):
        builder.add(
            utterance.role,
            utterance.text,
            external_id=utterance.external_id,
            stamp=utterance.stamp,
            folder=utterance.folder,
            line=utterance.line,
        )
    yield from builder.build(
        identifier(header.get("id")) or reading.source.session_id,
        started_at=reading.stamp(header.get("timestamp")).at,
    )


def _add(
    reading: Reading,
    rollout: _Rollout,
    record: ObjectRecord,
    item: JsonObject,
    *,
    role: Role | None,
    text: str,
    layer: str,
) -> None:
    if role not in ("user", "assistant"):
        reading.skip(f"{role or 'unknown'} message", record.line)
        return
    words = text
    if role == "user":
        words = _IMAGE_TAG.sub("", text)
        # Matched in place: cutting off one block after the other would copy the text for each.
        start = 0
        while match := _INJECTED.match(words, start):
            start = match.end()
        words = words[start:]
    if text.strip() and not words.strip():
        reading.skip(INJECTED, record.line)
        return
    stamp = reading.stamp(record.value.get("timestamp"))
    utterance = _Utterance(
        role=role,
        text=words,
        external_id=identifier(item.get("id")),
        stamp=stamp,
        line=record.line,
        folder=rollout.folder,
        layers={layer},
    )
    if not rollout.add(utterance):
        reading.skip("same words in the other layer", record.line)


READER = Reader(name="codex", sniff=sniff, read=read)
