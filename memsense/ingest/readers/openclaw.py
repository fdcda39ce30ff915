"""OpenClaw and pi sessions: a header line, then a tree of entries."""

import json
import re
from collections.abc import Iterator

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.values import JsonObject, identifier, mapping, objects, string
from memsense.types import Conversation, JsonValue

_GATEWAYS = frozenset({"gateway-injected", "delivery-mirror"})
_SENDER = re.compile(
    r"\s*(?:Sender|Conversation info)[^\n]*\(untrusted metadata\):\s*```(?:json)?\n(.*?)\n```\s*",
    re.DOTALL,
)
_LOCAL_TIME = re.compile(r"\[(?:\w{3} )?\d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,20}\] ?")
_REPLY_MARK = re.compile(r"\s*\[\[\s*reply_to[^\]\n]*\]\]\s*")
_NO_WORDS = frozenset({"NO_REPLY", "HEARTBEAT_OK"})
_HEARTBEAT = "Read HEARTBEAT.md if it exists"


def _sniff(head: Head) -> str | None:
    if head.find(_is_header):
        return "a header line of type session with id"
    if head.find(lambda record: _is_entry(record) and "parentId" in record):
        return "entries of type message with parentId and a message"
    return None


def _is_header(record: JsonObject) -> bool:
    known = "cwd" in record or "version" in record
    return record.get("type") == "session" and "id" in record and known


def _is_entry(record: JsonObject) -> bool:
    return record.get("type") == "message" and isinstance(record.get("message"), dict)


def _read(reading: Reading) -> Iterator[Conversation]:
    header: JsonObject = {}
    title = ""
    entries: list[ObjectRecord] = []
    for record in reading.objects():
        kind = record.value.get("type")
        if kind == "session":
            header = header or record.value
            reading.skip("not a message", record.line)
            continue
        if kind == "session_info":
            title = string(record.value.get("name")) or title
        entries.append(record)
    builder = reading.conversation()
    for entry in reading.keep_living(entries, "id", "parentId"):
        _add_entry(builder, entry)
    yield from builder.build(
        identifier(header.get("id")) or reading.source.session_id,
        title=title,
        started_at=reading.stamp(header.get("timestamp")).at,
        metadata=_metadata(header),
    )


def _metadata(header: JsonObject) -> dict[str, JsonValue]:
    parent = identifier(header.get("parentSession"))
    return {"parent_session": parent} if parent else {}


def _add_entry(builder: ConversationBuilder, entry: ObjectRecord) -> None:
    message = mapping(entry.value.get("message"))
    text = joined_text(message.get("content"))
    reason = _reason_to_skip(entry.value, message) or _reason_by_words(builder, message, text)
    if reason:
        builder.reading.skip(reason, entry.line)
        return
    is_user = message.get("role") == "user"
    words, name = _peel_user(text) if is_user else (_peel_answer(text), None)
    stamp = builder.reading.stamp(message.get("timestamp"))
    builder.add(
        "user" if is_user else "assistant",
        words,
        external_id=identifier(entry.value.get("id")),
        speaker=name,
        stamp=stamp if stamp.at else builder.reading.stamp(entry.value.get("timestamp")),
        line=entry.line,
    )


def _reason_to_skip(entry: JsonObject, message: JsonObject) -> str | None:
    role = message.get("role")
    if entry.get("type") != "message":
        return "not a message"
    if not message:
        return "message is not an object"
    if role not in ("user", "assistant"):
        return "tool result" if role in ("toolResult", "bashExecution") else "not speech"
    if message.get("provider") == "openclaw" or string(message.get("model")) in _GATEWAYS:
        return "notice of the gateway"
    return None


def _reason_by_words(builder: ConversationBuilder, message: JsonObject, text: str) -> str | None:
    if not text:
        return _reason_without_text(message)
    if message.get("role") != "user":
        return None
    words, _ = _peel_user(text)
    if words.startswith(_HEARTBEAT):
        return "heartbeat prompt"
    last = builder.messages[-1] if builder.messages else None
    if last is not None and last.role == "user" and last.text == builder.reading.clean(words):
        return "repeated after a failed call"
    return None


def _reason_without_text(message: JsonObject) -> str:
    kinds = {string(block.get("type")) for block in objects(message.get("content"))}
    if message.get("stopReason") in ("error", "aborted"):
        return "failed call"
    if "toolCall" in kinds:
        return "tool call"
    return "thinking" if "thinking" in kinds else EMPTY


def _peel_user(text: str) -> tuple[str, str | None]:
    """The person's words without the channel's preamble, and the name that it gives."""
    name: str | None = None
    start = 0
    while match := _SENDER.match(text, start):
        name = _name_in(match[1]) or name
        start = match.end()
    if match := _LOCAL_TIME.match(text, start):
        start = match.end()
    return text[start:], name


def _peel_answer(text: str) -> str:
    """The answer without the mark of what it replies to; empty where it says "no answer"."""
    mark = _REPLY_MARK.match(text)
    words = text[mark.end() :] if mark else text
    return "" if words.strip() in _NO_WORDS else words


def _name_in(preamble: str) -> str | None:
    try:
        sender: JsonValue = json.loads(preamble)
    except (ValueError, RecursionError):
        return None
    return identifier(mapping(sender).get("name"))


READER = Reader(name="openclaw", sniff=_sniff, read=_read)
