"""Cline, Roo Code and Kilo Code: a task's `ui_messages.json`, what was said and asked in order."""

from collections.abc import Iterator
from typing import cast

import pydantic_core

from memsense.ingest.content import named_file
from memsense.ingest.head import Head
from memsense.ingest.injected import unwrap_query
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.values import JsonObject, mapping, sequence, string
from memsense.types import Conversation, JsonValue, Role

_USER = frozenset({"task", "user_feedback", "user_feedback_diff"})
_ASSISTANT = frozenset({"text", "completion_result"})
_ASKED = frozenset({"followup", "plan_mode_respond", "completion_result"})
_KINDS = frozenset({"say", "ask"})
_QUESTION_KEYS = ("question", "response")


def _sniff(head: Head) -> str | None:
    if head.is_list and head.find(_is_event):
        return "events of type say or ask with ts"
    return None


def _is_event(record: JsonObject) -> bool:
    kind = string(record.get("type"))
    return kind in _KINDS and "ts" in record and isinstance(record.get(kind), str)


def _read(reading: Reading) -> Iterator[Conversation]:
    builder = reading.conversation()
    for record in reading.objects():
        _add_event(builder, record)
    yield from builder.build(reading.source.session_id)


def _add_event(builder: ConversationBuilder, record: ObjectRecord) -> None:
    value = record.value
    if value.get("partial") is True:
        builder.reading.skip("unfinished message", record.line)
        return
    role = _role(builder, value)
    if role is None:
        builder.reading.skip("tool call, command or notice", record.line)
        return
    words = unwrap_query(_words(value)) if role == "user" else _words(value)
    files = (named_file(file) for file in sequence(value.get("files")))
    builder.add(
        role,
        "\n\n".join(text for text in (words, *files) if text),
        stamp=builder.reading.stamp(value.get("ts")),
        line=record.line,
    )


def _role(builder: ConversationBuilder, value: JsonObject) -> Role | None:
    """Who speaks: the task opens as a text of the person, later texts are the agent's."""
    kind = string(value.get(string(value.get("type"))))
    if value.get("type") == "ask":
        return "assistant" if kind in _ASKED and string(value.get("text")).strip() else None
    if kind in _USER or (kind == "text" and not builder.messages):
        return "user"
    return "assistant" if kind in _ASSISTANT else None


def _words(value: JsonObject) -> str:
    """The text; of a question that is told as JSON, the question."""
    text = string(value.get("text"))
    if value.get("type") != "ask" or not text.lstrip().startswith("{"):
        return text
    try:
        asked = mapping(cast("JsonValue", pydantic_core.from_json(text)))
    except ValueError:
        return text
    return next((string(asked[key]) for key in _QUESTION_KEYS if string(asked.get(key))), text)


READER = Reader(name="cline", sniff=_sniff, read=_read)
