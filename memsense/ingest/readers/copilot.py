"""GitHub Copilot: the events of its command line, and the chat sessions of VS Code."""

from collections.abc import Iterator

from memsense.ingest.content import joined_text, named_file
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, ObjectRecord, Reading
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
_INITIAL, _SET, _PUSH = 0, 1, 2


def _sniff(head: Head) -> str | None:
    if head.find(_is_event):
        return "events of type user.message, assistant.message or session.start with data"
    if head.find(_is_session) or head.find(_is_initial):
        return "a chat session of VS Code with requests"
    return None


def _is_event(record: JsonObject) -> bool:
    kind = string(record.get("type"))
    return isinstance(record.get("data"), dict) and (kind in _SPEAKERS or kind == "session.start")


def _is_session(record: JsonObject) -> bool:
    asked = objects(record.get("requests"))
    named = "requesterUsername" in record or "responderUsername" in record or "sessionId" in record
    return named and any("message" in one and "response" in one for one in asked)


def _is_initial(record: JsonObject) -> bool:
    """Whether it is the first line of a session that is kept as a log of its changes."""
    return record.get("kind") == _INITIAL and "requests" in mapping(record.get("v"))


def _read(reading: Reading) -> Iterator[Conversation]:
    events = reading.conversation()
    session, state, saw_events = "", None, False
    last: ObjectRecord | None = None
    for record in reading.objects():
        if isinstance(record.value.get("requests"), list):
            yield from _read_session(reading, record.value, record)
        elif "kind" in record.value:
            state = _change(state, record.value)
            reading.skip("not a message", record.line)
            last = record
        else:
            saw_events = True
            session = session or string(reach(record.value, "data", "sessionId"))
            _add_event(events, record)
    if state is not None and last is not None:
        yield from _read_session(reading, state, last)
    if saw_events:
        yield from events.build(session or reading.source.session_id)


# The command line's events ------------------------------------------------------------------------


def _add_event(builder: ConversationBuilder, record: ObjectRecord) -> None:
    value, data = record.value, mapping(record.value.get("data"))
    role = _SPEAKERS.get(string(value.get("type")))
    if role is None:
        builder.reading.skip("not a message", record.line)
        return
    if identifier(value.get("agentId")) and not builder.reading.options.sidechains:
        builder.reading.skip("sidechain", record.line)
        return
    text = joined_text(data.get("content"))
    files = [named_file(first_identifier(one, "displayName", "path")) for one in _attached(data)]
    if not text.strip() and not any(files):
        reason = "tool call" if data.get("toolRequests") else EMPTY
        builder.reading.skip(reason, record.line)
        return
    builder.add(
        role,
        "\n\n".join(part for part in (text, *files) if part),
        external_id=identifier(value.get("id")),
        stamp=builder.reading.stamp(value.get("timestamp")),
        line=record.line,
    )


def _attached(data: JsonObject) -> list[JsonObject]:
    return objects(data.get("attachments"))


# VS Code's sessions -------------------------------------------------------------------------------


def _change(state: JsonObject | None, entry: JsonObject) -> JsonObject | None:
    """The session after one change: all of it, a value at a path, or items added to a list."""
    if entry.get("kind") == _INITIAL:
        return mapping(entry.get("v"))
    path = [key for key in sequence(entry.get("k")) if isinstance(key, str | int)]
    if state is None or not path or entry.get("kind") not in (_SET, _PUSH):
        return state
    changed = _changed(dict(state), path, entry)
    return mapping(changed)


def _changed(holder: JsonValue, path: list[str | int], entry: JsonObject) -> JsonValue:
    """A copy of the holder in which the value at the path is another."""
    if not path:
        if entry.get("kind") == _SET:
            return entry.get("v")
        start = entry.get("i")
        kept = list(sequence(holder))
        return [*kept[: start if isinstance(start, int) else None], *sequence(entry.get("v"))]
    key, rest = path[0], path[1:]
    if isinstance(holder, dict) and isinstance(key, str):
        return {**holder, key: _changed(holder.get(key), rest, entry)}
    if isinstance(holder, list) and isinstance(key, int) and 0 <= key < len(holder):
        return [*holder[:key], _changed(holder[key], rest, entry), *holder[key + 1 :]]
    if holder is None and isinstance(key, str):
        return {key: _changed(None, rest, entry)}
    return holder


def _read_session(
    reading: Reading, session: JsonObject, record: ObjectRecord
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for asked in objects(session.get("requests")):
        _add_request(builder, asked, record.line)
    known = identifier(session.get("sessionId"))
    yield from builder.build(
        known or f"{reading.source.session_id}:{record.ordinal}",
        title=string(session.get("customTitle")),
        started_at=reading.stamp(session.get("creationDate")).at,
    )


def _add_request(builder: ConversationBuilder, asked: JsonObject, line: int) -> None:
    """A question and its answer; one that was taken out of the chat is hidden."""
    if asked.get("isHidden") is True or asked.get("shouldBeRemovedOnSend"):
        builder.reading.skip("hidden message", line)
        return
    known = identifier(asked.get("requestId"))
    stamp = builder.reading.stamp(asked.get("timestamp"))
    question = string(asked.get("message")) or string(reach(asked, "message", "text"))
    variables = objects(reach(asked, "variableData", "variables"))
    files = [named_file(one.get("name")) for one in variables if one.get("kind") == "file"]
    text = "\n\n".join(part for part in (question, *files) if part)
    builder.add("user", text, external_id=known, stamp=stamp, line=line)
    answer = "".join(map(_piece, objects(asked.get("response"))))
    answer_id = identifier(asked.get("responseId")) or (f"{known}:response" if known else None)
    builder.add("assistant", answer, external_id=answer_id, stamp=stamp, line=line)


def _piece(part: JsonObject) -> str:
    """The words of a part of an answer: Markdown, or the name of what it refers to."""
    kind = part.get("kind")
    if kind is None:
        return string(part.get("value"))
    if kind == "markdownContent":
        return string(reach(part, "content", "value"))
    return string(part.get("name")) if kind == "inlineReference" else ""


READER = Reader(name="copilot", sniff=_sniff, read=_read)
