"""Reader of Cline, Roo Code and Kilo Code: a task's `ui_messages.json`, says and asks in order."""

from collections.abc import Iterator
from typing import cast

import pydantic_core

from memsense.ingest.content import format_file, join_texts
from memsense.ingest.head import Head
from memsense.ingest.injected import unwrap_query
from memsense.ingest.reader import Reader
from memsense.ingest.reading import Reading
from memsense.ingest.values import JsonObject, first_string, mapping, sequence, string
from memsense.types import Conversation, JsonValue, Role

_USER = frozenset({"task", "user_feedback", "user_feedback_diff"})
_ASSISTANT = frozenset({"text", "completion_result"})
_QUESTIONS = frozenset({"followup", "plan_mode_respond", "completion_result"})
_KINDS = frozenset({"say", "ask"})
_QUESTION_KEYS = ("question", "response")


def sniff(head: Head) -> str | None:
    """Return what shows that a log is of Cline or its kin."""
    is_task = head.is_list and head.find(_is_event)
    return "events of type say or ask with ts" if is_task else None


def _is_event(record: JsonObject) -> bool:
    kind = string(record.get("type"))
    return kind in _KINDS and "ts" in record and isinstance(record.get(kind), str)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the one conversation of a task."""
    builder = reading.conversation()
    for record in reading.objects():
        value = record.value
        if value.get("partial") is True:
            reading.skip("unfinished message", record.line)
            continue
        role = _find_role(value, is_first=not builder.messages)
        if role is None:
            reading.skip("tool call, command or notice", record.line)
            continue
        text = _event_text(value)
        words = unwrap_query(text) if role == "user" else text
        builder.add(
            role,
            join_texts(words, *map(format_file, sequence(value.get("files")))),
            stamp=reading.stamp(value.get("ts")),
            line=record.line,
        )
    yield from builder.build(reading.source.session_id)


def _find_role(value: JsonObject, *, is_first: bool) -> Role | None:
    """Return who speaks: a task's first text is the person's, later texts are the agent's."""
    kind = string(value.get(string(value.get("type"))))
    if value.get("type") == "ask":
        return "assistant" if kind in _QUESTIONS and string(value.get("text")).strip() else None
    if kind in _USER or (kind == "text" and is_first):
        return "user"
    return "assistant" if kind in _ASSISTANT else None


def _event_text(value: JsonObject) -> str:
    """Return the text of an event; of a question that is written as JSON, the question."""
    text = string(value.get("text"))
    if value.get("type") != "ask" or not text.lstrip().startswith("{"):
        return text
    try:
        question = mapping(cast("JsonValue", pydantic_core.from_json(text)))
    except ValueError:
        return text
    return first_string(question, _QUESTION_KEYS) or text


READER = Reader(name="cline", sniff=sniff, read=read)
