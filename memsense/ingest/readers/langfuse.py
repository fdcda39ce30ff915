"""Langfuse exports: traces, sessions of traces, observations with their trace's fields."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import pydantic_core

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import parse_timestamp
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    string,
)
from memsense.types import Conversation, JsonValue, Role

_SPOKEN = frozenset({"input", "output"})
_MARKS = frozenset(
    "observations observationIds bookmarked release projectId project_id htmlPath trace_name "
    "traceName environment parent_observation_id parentObservationId latency".split()
)
_TIMES = ("timestamp", "start_time", "startTime", "createdAt")
_WORDS = ("content", "text", "question", "query", "prompt", "input", "message", "answer")
_ANSWERS = ("content", "text", "answer", "response", "output", "completion", "message")


@dataclass(slots=True)
class _Trace:
    """What a run of a program was given and gave, and when; `rank` tells a better record of it."""

    value: JsonObject
    line: int
    rank: int


@dataclass(slots=True)
class _Session:
    traces: dict[str, _Trace] = field(default_factory=dict[str, _Trace])


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: any(map(_is_trace, _traces(record)))):
        return "traces or observations of input and output with Langfuse's fields"
    return None


def _is_trace(record: JsonObject) -> bool:
    dated = any(isinstance(record.get(key), str) for key in _TIMES)
    keys = record.keys()
    return dated and "id" in record and bool(keys & _SPOKEN) and bool(keys & _MARKS)


def _traces(record: JsonObject) -> list[JsonObject]:
    """The traces of a record: its own, those of a session, or one with its observations beside."""
    if isinstance(record.get("traces"), list):
        session = identifier(record.get("id"))
        return [{"sessionId": session, **trace} for trace in objects(record["traces"])]
    if isinstance(record.get("trace"), dict):
        return [mapping(record["trace"])]
    return [record]


def _read(reading: Reading) -> Iterator[Conversation]:
    sessions: dict[str, _Session] = {}
    for record in reading.objects():
        for trace in _traces(record.value):
            _take(reading, sessions, trace, record.line)
    for known, session in sessions.items():
        builder = reading.conversation()
        told = sorted(session.traces.values(), key=_seconds)
        for place, trace in enumerate(told):
            _add_trace(builder, trace, whole=place == 0)
        owner = next(filter(None, (_owner(trace.value) for trace in told)), None)
        metadata: dict[str, JsonValue] = {"user_id": owner} if owner else {}
        title = string(told[0].value.get("name"))
        yield from builder.build(known, title=title, metadata=metadata)


def _take(reading: Reading, sessions: dict[str, _Session], trace: JsonObject, line: int) -> None:
    """Keep the best record of a run: the trace, its outermost observation, its last answer."""
    if not _is_trace(trace):
        reading.skip("not a message", line)
        return
    run = first_identifier(trace, "trace_id", "traceId", "id") or ""
    known = first_identifier(trace, "sessionId", "session_id") or run
    session = sessions.setdefault(known, _Session())
    rank = _rank(trace)
    before = session.traces.get(run)
    if before is not None:
        reading.skip("inner step of a run", line)
    if before is None or rank >= before.rank:
        session.traces[run] = _Trace(trace, line, rank)


def _rank(trace: JsonObject) -> int:
    """How well a record tells what was said: both sides at the outermost place tell it best."""
    is_observation = first_identifier(trace, "trace_id", "traceId") is not None
    inner = first_identifier(trace, "parent_observation_id", "parentObservationId") is not None
    spoken = bool(_spoken(trace.get("output"), "assistant"))
    return (4 if spoken else 0) + (2 if not is_observation else 0) + (1 if not inner else 0)


def _seconds(trace: _Trace) -> float:
    """Runs are records of their own, and exports list the newest first: their times order them."""
    at = parse_timestamp(_time(trace.value)).at
    return at.timestamp() if at else 0.0


def _time(trace: JsonObject) -> JsonValue:
    return next((trace[key] for key in _TIMES if isinstance(trace.get(key), str)), None)


def _owner(trace: JsonObject) -> str | None:
    return first_identifier(trace, "userId", "user_id")


def _add_trace(builder: ConversationBuilder, trace: _Trace, *, whole: bool) -> None:
    """What was asked and answered; a later run's input repeats the session so far."""
    value, line = trace.value, trace.line
    asked = _spoken(value.get("input"), "user")
    if not whole:
        asked = [turn for turn in asked if turn[0] == "user"][-1:]
    answered = _spoken(value.get("output"), "assistant")[-1:]
    stamp = builder.reading.stamp(_time(value))
    known = first_identifier(value, "trace_id", "traceId", "id")
    if not asked and not answered:
        builder.reading.skip("run without words", line)
    for place, (role, text) in enumerate(asked):
        builder.add(role, text, external_id=f"{known}:{place - len(asked)}", stamp=stamp, line=line)
    for role, text in answered:
        builder.add(role, text, external_id=f"{known}:answer", stamp=stamp, line=line)


def _spoken(value: JsonValue, side: Role) -> list[tuple[Role, str]]:
    """The turns in what a run was given or gave: a text, messages, or an object that holds them."""
    value = _unpacked(value)
    if isinstance(value, str):
        return [(side, value)] if value.strip() else []
    if isinstance(value, list):
        return [turn for one in objects(value) for turn in _turns(one, side)]
    record = mapping(value)
    messages = record.get("messages")
    if isinstance(messages, list):
        return _spoken(messages, side)
    if "role" in record:
        return _turns(record, side)
    keys: Sequence[str] = _WORDS if side == "user" else _ANSWERS
    found = (record[key] for key in keys if record.get(key))
    inner = next(found, None)
    return _spoken(inner, side) if isinstance(inner, str | list) else _turns(mapping(inner), side)


def _turns(message: JsonObject, side: Role) -> list[tuple[Role, str]]:
    role = role_of(string(message.get("role")) or string(message.get("type")))
    text = joined_text(message.get("content")) or joined_text(message.get("parts"))
    if role not in ("user", "assistant") or not text.strip():
        return []
    return [(role, text)] if side in ("user", role) else []


def _unpacked(value: JsonValue) -> JsonValue:
    """The JSON that a text holds, as exports of tables write it."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[", '"')):
        return value
    try:
        return cast("JsonValue", pydantic_core.from_json(value))
    except ValueError:
        return value


READER = Reader(name="langfuse", sniff=_sniff, read=_read)
