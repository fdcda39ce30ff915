"""Reader of Kimi CLI: a session's events in `wire.jsonl`, or the context given to the model."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from memsense.ingest.content import content_text
from memsense.ingest.head import Head
from memsense.ingest.injected import cut_tagged
from memsense.ingest.reading import INJECTED, ConversationBuilder, ObjectRecord, Reader, Reading
from memsense.ingest.timestamps import NO_TIME, Stamp
from memsense.ingest.values import mapping, string
from memsense.text.words import read_sections
from memsense.types import Conversation, Role

_PROMPTS = frozenset({"TurnBegin", "SteerInput"})
_EVENTS = _PROMPTS | {"StepBegin", "ContentPart", "StatusUpdate", "TurnEnd", "ToolCall"}
_RECORDS = frozenset(
    {"turn.prompt", "turn.steer", "context.append_message", "context.append_loop_event"}
)
_OTHER_RECORDS = frozenset(read_sections("records")["kimi"].split())
_MARKS = frozenset({"_checkpoint", "_usage", "_system_prompt"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
_COMPACTED = "Previous context has been compacted"
_REASONS = {"tool": "tool result", "_system_prompt": "system message"}


@dataclass(slots=True)
class _Answer:
    """The texts of an answer that is logged piece by piece, and when it began."""

    pieces: list[str] = field(default_factory=list[str])
    stamp: Stamp = NO_TIME
    line: int = 1


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Kimi's."""
    messages = [mapping(record.get("message")) for record in head.objects]
    if any(
        string(m.get("type")) in _EVENTS and isinstance(m.get("payload"), dict) for m in messages
    ):
        return "events such as TurnBegin and ContentPart with a payload"
    if head.find(lambda record: string(record.get("type")) in _RECORDS):
        return "records such as turn.prompt and context.append_loop_event"
    if head.find(lambda record: string(record.get("role")) in _MARKS):
        return "a context with checkpoints or token counts"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the one conversation of a session."""
    builder, answer = reading.conversation(), _Answer()
    folder = ""
    for record in reading.objects():
        if isinstance(record.value.get("type"), str):
            folder = string(record.value.get("cwd")) or folder
            answer = _apply_record(builder, answer, record, folder)
            continue
        if "role" not in record.value:
            answer = _apply_event(builder, answer, record)
            continue
        # A message of the context.
        name, text = string(record.value["role"]), content_text(record.value.get("content"))
        role = _ROLES.get(name)
        # The program writes to the model inside of the user's messages, in <system> tags.
        notes, words = cut_tagged(text, "system") if role == "user" else ([], text)
        if role is None:
            reading.skip(_REASONS.get(name, "not a message"), record.line)
        elif any(_COMPACTED in note for note in notes):
            reading.skip("compaction summary", record.line)
        elif notes and not words.strip():
            reading.skip(INJECTED, record.line)
        elif not words.strip() and record.value.get("tool_calls") is not None:
            reading.skip("tool call", record.line)
        else:
            builder.add(role, words.strip() if notes else words, line=record.line)
    _add_answer(builder, answer)
    # The session's folder is called by its id; its files all have the same names.
    place = PurePosixPath(reading.source.session_id)
    session = place.parent.name or str(place)
    path = reading.source.path
    parents = [place.parent, *place.parents] if path is None else list(path.absolute().parents)
    if len(parents) > 2 and parents[1].name == "agents":  # noqa: PLR2004
        # Newer versions have a folder for each agent in the session's: session/agents/main.
        agent, session = parents[0].name, parents[2].name
        if agent != "main":
            session = f"{session}/{agent}"
            if not reading.options.sidechains:
                reading.skip("sidechain", count=len(builder.messages))
                builder = reading.conversation()
    yield from builder.build(session)


def _apply_event(builder: ConversationBuilder, answer: _Answer, record: ObjectRecord) -> _Answer:
    """Return the answer with the event's text, or a new one if the event ends it."""
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
    _add_answer(builder, answer)
    if kind in _PROMPTS:
        words = content_text(payload.get("user_input"))
        builder.add("user", words, stamp=stamp, line=record.line)
        return _Answer()
    if kind == "ContentPart":
        reason = "thinking" if payload.get("type") == "think" else "media without words"
    elif kind == "SubagentEvent":
        reason = "sidechain"
    else:
        reason = "tool call" if kind == "ToolCall" else "not a message"
    builder.reading.skip(reason, record.line)
    return _Answer()


def _apply_record(
    builder: ConversationBuilder, answer: _Answer, record: ObjectRecord, folder: str
) -> _Answer:
    """Return the answer after a record of the newer protocol, with its type next to its fields."""
    value, reading = record.value, builder.reading
    kind, event = string(value.get("type")), mapping(value.get("event"))
    stamp = reading.stamp(value.get("time", value.get("ts")))
    if kind == "context.append_loop_event":
        part = mapping(event.get("part"))
        if event.get("type") == "content.part" and part.get("type") == "text":
            if answer.pieces:
                reading.report.joined += 1
            else:
                answer = _Answer(stamp=stamp, line=record.line)
            answer.pieces.append(string(part.get("text")))
            return answer
        if event.get("type") == "content.part":
            reading.skip("thinking" if part.get("type") == "think" else "media", record.line)
            return answer
        _add_answer(builder, answer)
        name = string(event.get("type"))[:40]
        is_tool = name.startswith("tool.")
        reading.skip("tool call" if is_tool else f"not a message ({name})", record.line)
        return _Answer()
    _add_answer(builder, answer)
    message = mapping(value.get("message"))
    origin = value.get("origin", message.get("origin"))
    speaker = mapping(origin).get("kind", origin)
    if kind in ("turn.prompt", "turn.steer"):
        words = content_text(value.get("input", value.get("content")))
        role: Role = "user"
    elif kind == "context.append_message" and message.get("role") in _ROLES:
        role = _ROLES[string(message.get("role"))]
        words = content_text(message.get("content"))
        # The prompt of a turn is in the context as well.
        last = builder.messages[-1] if builder.messages else None
        if role == "user" and last is not None and last.role == role and last.text == words:
            reading.skip("same words in the other layer", record.line)
            return _Answer()
    elif kind == "context.append_message":
        reading.skip(_REASONS.get(string(message.get("role")), "not a message"), record.line)
        return _Answer()
    else:
        reading.skip(reading.name_record(kind, _OTHER_RECORDS | _RECORDS), record.line)
        return _Answer()
    if role == "user" and speaker not in (None, "user"):
        reading.skip(INJECTED, record.line)
    elif not words.strip() and message.get("toolCalls"):
        reading.skip("tool call", record.line)
    else:
        builder.add(role, words, stamp=stamp, folder=folder or None, line=record.line)
    return _Answer()


def _add_answer(builder: ConversationBuilder, answer: _Answer) -> None:
    if answer.pieces:
        builder.add("assistant", "".join(answer.pieces), stamp=answer.stamp, line=answer.line)


READER = Reader(name="kimi", sniff=sniff, read=read)
