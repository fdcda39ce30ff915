"""Kimi CLI sessions: the events of `wire.jsonl`, or the context that the model was given."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.injected import cut_tagged
from memsense.ingest.reader import Reader
from memsense.ingest.reading import INJECTED, ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.source import Source
from memsense.ingest.timestamps import NO_TIME, Stamp
from memsense.ingest.values import JsonObject, mapping, reach, string
from memsense.types import Conversation, JsonValue, Role

_ASKED = frozenset({"TurnBegin", "SteerInput"})
_EVENTS = _ASKED | {"StepBegin", "ContentPart", "StatusUpdate", "TurnEnd", "ToolCall"}
_MARKS = frozenset({"_checkpoint", "_usage", "_system_prompt"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
_COMPACTED = "Previous context has been compacted"
_LEFT = {"tool": "tool result", "_system_prompt": "system message"}


@dataclass(slots=True)
class _Answer:
    """The texts of an answer that is told piece by piece, and when it began."""

    pieces: list[str] = field(default_factory=list[str])
    stamp: Stamp = NO_TIME
    line: int = 1


def _sniff(head: Head) -> str | None:
    if head.find(_is_event):
        return "events such as TurnBegin and ContentPart with a payload"
    if head.find(lambda record: string(record.get("role")) in _MARKS):
        return "a context with checkpoints or token counts"
    return None


def _is_event(record: JsonObject) -> bool:
    message = mapping(record.get("message"))
    return string(message.get("type")) in _EVENTS and isinstance(message.get("payload"), dict)


def _read(reading: Reading) -> Iterator[Conversation]:
    builder, answer = reading.conversation(), _Answer()
    for record in reading.objects():
        if "role" in record.value:
            _add_context(builder, record)
        else:
            answer = _take_event(builder, answer, record)
    _close(builder, answer)
    yield from builder.build(_session(reading.source))


def _session(source: Source) -> str:
    """The folder of the session, which is called by its id."""
    folder = PurePosixPath(source.session_id).parent.name
    return folder or source.session_id


def _take_event(builder: ConversationBuilder, answer: _Answer, record: ObjectRecord) -> _Answer:
    """The answer with the event's words, or a new one where it ends."""
    message = mapping(record.value.get("message"))
    kind, payload = string(message.get("type")), mapping(message.get("payload"))
    stamp = builder.reading.stamp(record.value.get("timestamp"))
    if kind == "ContentPart" and payload.get("type") == "text":
        if not answer.pieces:
            answer = _Answer(stamp=stamp, line=record.line)
        else:
            builder.reading.report.joined += 1
        answer.pieces.append(string(payload.get("text")))
        return answer
    _close(builder, answer)
    if kind in _ASKED:
        words = _text(payload.get("user_input"))
        builder.add("user", words, stamp=stamp, line=record.line)
    else:
        builder.reading.skip(_reason(kind, payload), record.line)
    return _Answer()


def _reason(kind: str, payload: JsonObject) -> str:
    if kind == "ContentPart":
        return "thinking" if payload.get("type") == "think" else "media without words"
    if kind == "SubagentEvent":
        return "sidechain"
    return "tool call" if kind == "ToolCall" else "not a message"


def _close(builder: ConversationBuilder, answer: _Answer) -> None:
    if answer.pieces:
        builder.add("assistant", "".join(answer.pieces), stamp=answer.stamp, line=answer.line)


def _text(content: JsonValue) -> str:
    return content if isinstance(content, str) else joined_text(content)


def _add_context(builder: ConversationBuilder, record: ObjectRecord) -> None:
    """A message of the context; what the program tells the model stands in <system>."""
    name = string(record.value.get("role"))
    role = _ROLES.get(name)
    text = _text(record.value.get("content"))
    if role is None:
        builder.reading.skip(_LEFT.get(name, "not a message"), record.line)
        return
    told, words = cut_tagged(text, "system") if role == "user" else ([], text)
    if any(_COMPACTED in one for one in told):
        builder.reading.skip("compaction summary", record.line)
        return
    if told and not words.strip():
        builder.reading.skip(INJECTED, record.line)
    elif not words.strip() and reach(record.value, "tool_calls") is not None:
        builder.reading.skip("tool call", record.line)
    else:
        builder.add(role, words.strip() if told else words, line=record.line)


READER = Reader(name="kimi", sniff=_sniff, read=_read)
