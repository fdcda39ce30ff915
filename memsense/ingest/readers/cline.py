"""Reader of Cline, Roo Code and Kilo Code: a task's `ui_messages.json`, says and asks in order."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

import pydantic_core

from memsense.ingest.content import format_file, join_texts
from memsense.ingest.head import Head
from memsense.ingest.injected import unwrap_query
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.values import first_string, mapping, sequence, string
from memsense.text.words import read_sections
from memsense.types import Conversation, JsonValue, Role

_USER = frozenset({"task", "user_feedback", "user_feedback_diff"})
_ASSISTANT = frozenset({"text", "completion_result"})
_QUESTIONS = frozenset({"followup", "plan_mode_respond", "completion_result"})
_NOTICE = "tool call, command or notice"
_OTHER_KINDS = _QUESTIONS | frozenset(read_sections("records")["cline"].split())
_REQUEST = "api_req_started"
_WORKSPACE = re.compile(r"# Current (?:Workspace|Working) Directory \(([^()\n\\]{1,500})\)")
_KINDS = frozenset({"say", "ask"})
_QUESTION_KEYS = ("question", "response")


def sniff(head: Head) -> str | None:
    """Return what shows that a log is of Cline or its kin."""
    for record in head.objects if head.is_list else ():
        kind = string(record.get("type"))
        if kind in _KINDS and "ts" in record and isinstance(record.get(kind), str):
            return "events of type say or ask with ts"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the one conversation of a task."""
    builder, folder = reading.conversation(), ""
    for record in reading.objects():
        value = record.value
        if value.get("partial") is True:
            reading.skip("unfinished message", record.line)
            continue
        text = string(value.get("text"))
        is_ask = value.get("type") == "ask"
        kind = string(value.get(string(value.get("type"))))
        # A request to the model repeats what the program told it of the workspace.
        if kind == _REQUEST and not folder and (match := _WORKSPACE.search(text)):
            folder = match[1]
        role: Role | None = None
        if is_ask:
            role = "assistant" if kind in _QUESTIONS and text.strip() else None
        # A task's first text is the person's, later texts are the agent's.
        elif kind in _USER or (kind == "text" and not builder.messages):
            role = "user"
        elif kind in _ASSISTANT:
            role = "assistant"
        if role is None:
            is_known = kind in _OTHER_KINDS
            reason = _NOTICE if is_known else reading.name_record(kind, _OTHER_KINDS)
            reading.skip(reason, record.line)
            continue
        # A question may be written as JSON, with answers to choose from.
        if is_ask and text.lstrip().startswith("{"):
            with suppress(ValueError):
                question = mapping(cast("JsonValue", pydantic_core.from_json(text)))
                text = first_string(question, _QUESTION_KEYS) or text
        words = unwrap_query(text) if role == "user" else text
        builder.add(
            role,
            join_texts(words, *map(format_file, sequence(value.get("files")))),
            stamp=reading.stamp(value.get("ts")),
            line=record.line,
        )
    yield from builder.build(reading.source.session_id, folder=folder)


READER = Reader(name="cline", sniff=sniff, read=read)
