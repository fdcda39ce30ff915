"""Reader of Antigravity: the transcript that its agent keeps, steps as JSON lines."""

from collections.abc import Iterator
from pathlib import PurePath, PurePosixPath

from memsense.ingest.head import Head
from memsense.ingest.injected import cut_tagged
from memsense.ingest.reading import EMPTY, Reader, Reading
from memsense.ingest.values import objects, string
from memsense.types import Conversation

_GENERATED = ".system_generated"


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Antigravity's."""
    for record in head.objects:
        has_source = all(isinstance(record.get(key), str) for key in ("source", "type"))
        if has_source and isinstance(record.get("step_index"), int):
            return "steps with step_index, source and type"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the one conversation of a transcript."""
    builder = reading.conversation()
    for record in reading.objects():
        step, line = record.value, record.line
        kind, text = string(step.get("type")), string(step.get("content"))
        stamp = reading.stamp(step.get("created_at"))
        if kind == "USER_INPUT":
            # Around the request the program adds the state of the editor and its settings.
            requests, _ = cut_tagged(text, "USER_REQUEST")
            builder.add("user", "\n\n".join(requests) or text, stamp=stamp, line=line)
        elif kind != "PLANNER_RESPONSE":
            reading.skip("tool result or notice", line)
        elif text.strip():
            builder.add("assistant", text, stamp=stamp, line=line)
        else:
            reading.skip("tool call" if objects(step.get("tool_calls")) else EMPTY, line)
    # The session is the conversation's folder, `brain/<id>`, above the generated one.
    source = reading.source
    paths = [PurePath(source.path.absolute())] if source.path else []
    ids = (
        path.parts[path.parts.index(_GENERATED) - 1]
        for path in (PurePosixPath(source.place), *paths)
        if _GENERATED in path.parts[1:]
    )
    yield from builder.build(next(ids, source.session_id))


READER = Reader(name="antigravity", sniff=sniff, read=read)
