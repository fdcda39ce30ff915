"""Antigravity: the transcript of a conversation that its agent keeps, steps as JSON lines."""

from collections.abc import Iterator
from pathlib import PurePath, PurePosixPath

from memsense.ingest.head import Head
from memsense.ingest.injected import cut_tagged
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.source import Source
from memsense.ingest.values import JsonObject, objects, string
from memsense.types import Conversation

_GENERATED = ".system_generated"


def _sniff(head: Head) -> str | None:
    if head.find(_is_step):
        return "steps with step_index, source and type"
    return None


def _is_step(record: JsonObject) -> bool:
    told = all(isinstance(record.get(key), str) for key in ("source", "type"))
    return told and isinstance(record.get("step_index"), int)


def _read(reading: Reading) -> Iterator[Conversation]:
    builder = reading.conversation()
    for record in reading.objects():
        _add_step(builder, record)
    yield from builder.build(_session(reading.source))


def _session(source: Source) -> str:
    """The conversation's folder, `brain/<id>`, above the one that the program makes for itself."""
    paths = [PurePath(source.path.absolute())] if source.path else []
    for path in (PurePosixPath(source.place), *paths):
        if _GENERATED in path.parts[1:]:
            return path.parts[path.parts.index(_GENERATED) - 1]
    return source.session_id


def _add_step(builder: ConversationBuilder, record: ObjectRecord) -> None:
    step, line = record.value, record.line
    kind, text = string(step.get("type")), string(step.get("content"))
    stamp = builder.reading.stamp(step.get("created_at"))
    if kind == "USER_INPUT":
        asked, _ = cut_tagged(text, "USER_REQUEST")
        builder.add("user", "\n\n".join(asked) or text, stamp=stamp, line=line)
    elif kind != "PLANNER_RESPONSE":
        builder.reading.skip("tool result or notice", line)
    elif text.strip():
        builder.add("assistant", text, stamp=stamp, line=line)
    else:
        is_call = bool(objects(step.get("tool_calls")))
        builder.reading.skip("tool call" if is_call else EMPTY, line)


READER = Reader(name="antigravity", sniff=_sniff, read=_read)
