"""Reader of Factory's Droid: session files, and the events of `droid exec` as JSON lines."""

from collections.abc import Iterator

from memsense.ingest.content import content_text, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import ObjectRecord, Reader, Reading, name_parts
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    string,
)
from memsense.types import Conversation

_TOOLS = {"tool_use": "tool call", "tool_result": "tool result", "thinking": "thinking"}
_OTHER_TYPES = frozenset(
    "session_start session_end system tool_call tool_result todo_state compaction_state".split()
)
_SUBAGENT_TITLE = "# Task Tool Invocation"


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Droid's."""
    if head.find(lambda record: record.get("type") == "session_start" and "id" in record):
        return "a line of type session_start with id"
    keys = {"role", "text", "session_id"}
    if head.find(_is_completion) or head.find(
        lambda record: record.get("type") == "message" and keys <= record.keys()
    ):
        return "events of type message with role, text and session_id"
    return None


def _is_completion(record: JsonObject) -> bool:
    return record.get("type") == "completion" and "finalText" in record


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the one conversation of a session or a run."""
    header: JsonObject = {}
    entries: list[ObjectRecord] = []
    session = None
    for record in reading.objects():
        session = session or first_identifier(record.value, "session_id", "sessionId")
        if record.value.get("type") == "session_start":
            header = header or record.value
            reading.skip("not a message", record.line)
        else:
            entries.append(record)
    # The session of a sub-agent is recognised by its title.
    title = string(header.get("title"))
    is_sidechain = title.startswith(_SUBAGENT_TITLE) and not reading.options.sidechains
    builder = reading.conversation()
    for entry in reading.keep_current_branch(entries, "id", "parentId"):
        value, line = entry.value, entry.line
        if is_sidechain:
            reading.skip("sidechain", line)
            continue
        if _is_completion(value):
            # The run's last words, which the message before may have said already.
            text = string(value.get("finalText"))
            last = builder.messages[-1] if builder.messages else None
            if last is not None and last.role == "assistant" and last.text == reading.clean(text):
                reading.skip("repeated message", line)
            else:
                stamp = reading.stamp(value.get("timestamp"))
                builder.add("assistant", text, stamp=stamp, line=line)
            continue
        if value.get("type") != "message":
            reading.skip_record(string(value.get("type")), _OTHER_TYPES, line)
            continue
        message = mapping(value.get("message")) or value
        builder.add(
            role_of(string(message.get("role"))),
            content_text(message.get("content")) or string(message.get("text")),
            external_id=identifier(value.get("id")),
            stamp=reading.stamp(value.get("timestamp")),
            line=line,
            empty=name_parts(objects(message.get("content")), _TOOLS),
        )
    own_id = identifier(header.get("id")) or session or reading.source.session_id
    yield from builder.build(own_id, title=title, folder=string(header.get("cwd")))


READER = Reader(name="droid", sniff=sniff, read=read)
