"""Reader of GitHub Copilot: the events of its command line, and the chat sessions of VS Code."""

from collections.abc import Iterator

from memsense.ingest.content import content_text, format_file, join_texts
from memsense.ingest.head import Head
from memsense.ingest.reading import EMPTY, ObjectRecord, Reader, Reading
from memsense.ingest.source import find_workspace
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    reach,
    sequence,
    string,
)
from memsense.types import Conversation, JsonValue, Role

_SPEAKERS: dict[str, Role] = {"user.message": "user", "assistant.message": "assistant"}
_OTHER_FAMILIES = frozenset(
    "abort assistant hook permission session skill subagent system tool".split()
)
_SESSION_NAMES = ("requesterUsername", "responderUsername", "sessionId")
# VS Code keeps a session as a log of its changes (objectMutationLog.ts): the whole of it first,
# then values that are set at a path, or pushed to the list there.
_INITIAL, _SET, _PUSH = 0, 1, 2


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Copilot's."""
    kinds = {*_SPEAKERS, "session.start"}
    events = [record for record in head.objects if string(record.get("type")) in kinds]
    if any(isinstance(event.get("data"), dict) for event in events):
        return "events of type user.message, assistant.message or session.start with data"
    for record in head.objects:
        requests = objects(record.get("requests"))
        has_answer = any("message" in one and "response" in one for one in requests)
        is_session = has_answer and any(name in record for name in _SESSION_NAMES)
        is_initial = record.get("kind") == _INITIAL and "requests" in mapping(record.get("v"))
        if is_session or is_initial:
            return "a chat session of VS Code with requests"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield each session; a log of changes is the session that it became."""
    events = reading.conversation()
    session, folder, has_events = "", "", False
    state: JsonObject | None = None
    last: ObjectRecord | None = None
    for record in reading.objects():
        if isinstance(record.value.get("requests"), list):
            yield from _read_session(reading, record.value, record)
        elif "kind" in record.value:
            change = record.value
            path = [key for key in sequence(change.get("k")) if isinstance(key, str | int)]
            if change.get("kind") == _INITIAL:
                state = mapping(change.get("v"))
            elif state is not None and path and change.get("kind") in (_SET, _PUSH):
                state = mapping(_replace_at(dict(state), path, change))
            reading.skip("not a message", record.line)
            last = record
        else:
            has_events = True
            session = session or string(reach(record.value, "data", "sessionId"))
            folder = string(reach(record.value, "data", "context", "cwd")) or folder
            value, data = record.value, mapping(record.value.get("data"))
            role = _SPEAKERS.get(string(value.get("type")))
            attachments = objects(data.get("attachments"))
            names = (first_identifier(one, "displayName", "path") for one in attachments)
            text = join_texts(content_text(data.get("content")), *map(format_file, names))
            if role is None:
                kind = string(value.get("type"))
                # A type is a family and a name: `tool.execution_start`.
                is_known = kind.partition(".")[0] in _OTHER_FAMILIES
                reading.skip_record(kind, {kind} if is_known else (), record.line)
            elif identifier(value.get("agentId")) and not reading.options.sidechains:
                reading.skip("sidechain", record.line)
            elif not text:
                reading.skip("tool call" if data.get("toolRequests") else EMPTY, record.line)
            else:
                events.add(
                    role,
                    text,
                    external_id=identifier(value.get("id")),
                    stamp=reading.stamp(value.get("timestamp")),
                    folder=folder,
                    line=record.line,
                )
    if state is not None and last is not None:
        yield from _read_session(reading, state, last)
    if has_events:
        yield from events.build(session or reading.source.session_id)


def _replace_at(holder: JsonValue, path: list[str | int], entry: JsonObject) -> JsonValue:
    """Return a copy of the holder with the entry's value at the path."""
    if not path:
        if entry.get("kind") == _SET:
            return entry.get("v")
        # A push cuts the list at `i` first, where that is given.
        start = entry.get("i")
        items = list(sequence(holder))
        return [*items[: start if isinstance(start, int) else None], *sequence(entry.get("v"))]
    key, rest = path[0], path[1:]
    if isinstance(holder, dict) and isinstance(key, str):
        return {**holder, key: _replace_at(holder.get(key), rest, entry)}
    if isinstance(holder, list) and isinstance(key, int) and 0 <= key < len(holder):
        return [*holder[:key], _replace_at(holder[key], rest, entry), *holder[key + 1 :]]
    if holder is None and isinstance(key, str):
        return {key: _replace_at(None, rest, entry)}
    return holder


def _read_session(
    reading: Reading, session: JsonObject, record: ObjectRecord
) -> Iterator[Conversation]:
    builder = reading.conversation()
    line = record.line
    for request in objects(session.get("requests")):
        # A request that was taken out of the chat stays in the file.
        if request.get("isHidden") is True or request.get("shouldBeRemovedOnSend"):
            reading.skip("hidden message", line)
            continue
        request_id = identifier(request.get("requestId"))
        stamp = reading.stamp(request.get("timestamp"))
        question = string(request.get("message")) or string(reach(request, "message", "text"))
        variables = objects(reach(request, "variableData", "variables"))
        files = (format_file(one.get("name")) for one in variables if one.get("kind") == "file")
        text = join_texts(question, *files)
        builder.add("user", text, external_id=request_id, stamp=stamp, line=line)
        answer = "".join(map(_part_text, objects(request.get("response"))))
        answer_id = identifier(request.get("responseId"))
        if answer_id is None and request_id:
            answer_id = f"{request_id}:response"
        builder.add("assistant", answer, external_id=answer_id, stamp=stamp, line=line)
    own_id = identifier(session.get("sessionId"))
    yield from builder.build(
        reading.name_session(own_id, record.ordinal),
        title=string(session.get("customTitle")),
        started_at=reading.stamp(session.get("creationDate")).at,
        folder=find_workspace(reading.source),
    )


def _part_text(part: JsonObject) -> str:
    """Return the text of a part of an answer: Markdown, or the name of a file it refers to."""
    kind = part.get("kind")
    if kind is None:
        return string(part.get("value"))
    if kind == "markdownContent":
        return string(reach(part, "content", "value"))
    return string(part.get("name")) if kind == "inlineReference" else ""


READER = Reader(name="copilot", sniff=sniff, read=read)
