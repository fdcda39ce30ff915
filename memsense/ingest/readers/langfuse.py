"""Reader of Langfuse's exports: traces, sessions of traces, observations with trace fields."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import pydantic_core

from memsense.ingest.content import content_text, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.timestamps import epoch_seconds
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    string,
)
from memsense.types import Conversation, JsonValue, Role

_SIDES = frozenset({"input", "output"})
_MARKS = frozenset(
    "observations observationIds bookmarked release projectId project_id htmlPath trace_name "
    "traceName environment parent_observation_id parentObservationId latency".split()
)
_TIMES = ("timestamp", "start_time", "startTime", "createdAt")
_INPUT_KEYS = ("content", "text", "question", "query", "prompt", "input", "message", "answer")
_OUTPUT_KEYS = ("content", "text", "answer", "response", "output", "completion", "message")


@dataclass(slots=True)
class _Trace:
    """A run of a program: its input, output and time; a higher `rank` is a better record of it."""

    value: JsonObject
    line: int
    rank: int


def sniff(head: Head) -> str | None:
    """Return what shows that a log is of Langfuse."""
    if head.find(lambda record: any(map(_is_trace, _traces(record)))):
        return "traces or observations of input and output with Langfuse's fields"
    return None


def _is_trace(record: JsonObject) -> bool:
    keys = record.keys()
    return (
        _time(record) is not None and "id" in record and bool(keys & _SIDES) and bool(keys & _MARKS)
    )


def _traces(record: JsonObject) -> list[JsonObject]:
    """Return a record's traces: its own, a session's, or the one next to its observations."""
    if isinstance(record.get("traces"), list):
        session = identifier(record.get("id"))
        return [{"sessionId": session, **trace} for trace in objects(record["traces"])]
    if isinstance(record.get("trace"), dict):
        return [mapping(record["trace"])]
    return [record]


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each session, made of the best record of each of its runs."""
    sessions: dict[str, dict[str, _Trace]] = {}
    for record in reading.objects():
        for trace in _traces(record.value):
            if not _is_trace(trace):
                reading.skip("not a message", record.line)
                continue
            run = first_identifier(trace, "trace_id", "traceId", "id") or ""
            session = first_identifier(trace, "sessionId", "session_id") or run
            runs = sessions.setdefault(session, {})
            # An answer counts most, then the trace itself, then the outermost observation.
            is_trace = first_identifier(trace, "trace_id", "traceId") is None
            parent = first_identifier(trace, "parent_observation_id", "parentObservationId")
            has_answer = bool(_find_turns(trace.get("output"), "assistant"))
            rank = 4 * has_answer + 2 * is_trace + (parent is None)
            before = runs.get(run)
            if before is not None:
                reading.skip("inner step of a run", record.line)
            if before is None or rank >= before.rank:
                runs[run] = _Trace(trace, record.line, rank)
    for session, runs in sessions.items():
        builder = reading.conversation()
        # Exports list the newest run first, or in no order at all: their times order them.
        traces = sorted(runs.values(), key=lambda trace: epoch_seconds(_time(trace.value)))
        for position, trace in enumerate(traces):
            value, line = trace.value, trace.line
            prompts = _find_turns(value.get("input"), "user")
            if position:
                # A later run's input repeats the session so far: only its last prompt is new.
                prompts = [turn for turn in prompts if turn[0] == "user"][-1:]
            answers = _find_turns(value.get("output"), "assistant")[-1:]
            stamp = reading.stamp(_time(value))
            run = first_identifier(value, "trace_id", "traceId", "id")
            if not prompts and not answers:
                reading.skip("run without words", line)
            # Numbered from the last: an id is the same with and without the repeated ones.
            for number, (role, text) in enumerate(prompts, -len(prompts)):
                builder.add(role, text, external_id=f"{run}:{number}", stamp=stamp, line=line)
            for role, text in answers:
                builder.add(role, text, external_id=f"{run}:answer", stamp=stamp, line=line)
        users = (first_identifier(trace.value, "userId", "user_id") for trace in traces)
        user = next(filter(None, users), None)
        metadata: dict[str, JsonValue] = {"user_id": user} if user else {}
        title = string(traces[0].value.get("name"))
        yield from builder.build(session, title=title, metadata=metadata)


def _time(trace: JsonObject) -> JsonValue:
    return next((trace[key] for key in _TIMES if isinstance(trace.get(key), str)), None)


def _find_turns(value: JsonValue, side: Role) -> list[tuple[Role, str]]:
    """Return the turns in a run's input or output: text, messages, or an object that has them."""
    # Exports of tables write JSON as text.
    if isinstance(value, str) and value.lstrip().startswith(("{", "[", '"')):
        with suppress(ValueError):
            value = cast("JsonValue", pydantic_core.from_json(value))
    if isinstance(value, str):
        return [(side, value)] if value.strip() else []
    if isinstance(value, list):
        return [turn for one in objects(value) for turn in _message_turns(one, side)]
    record = mapping(value)
    messages = record.get("messages")
    if isinstance(messages, list):
        return _find_turns(messages, side)
    if "role" in record:
        return _message_turns(record, side)
    keys: Sequence[str] = _INPUT_KEYS if side == "user" else _OUTPUT_KEYS
    inner = next((record[key] for key in keys if record.get(key)), None)
    if isinstance(inner, str | list):
        return _find_turns(inner, side)
    return _message_turns(mapping(inner), side)


def _message_turns(message: JsonObject, side: Role) -> list[tuple[Role, str]]:
    role = role_of(string(message.get("role")) or string(message.get("type")))
    text = content_text(message.get("content")) or content_text(message.get("parts"))
    if role not in ("user", "assistant") or not text.strip():
        return []
    # An input may hold turns of both sides, an output only answers.
    return [(role, text)] if side in ("user", role) else []


READER = Reader(name="langfuse", sniff=sniff, read=read)
