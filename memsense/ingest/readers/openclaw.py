"""Reader of OpenClaw and pi: sessions of a header line, then a tree of entries."""

import json
import re
from collections.abc import Iterator

from memsense.ingest.content import content_text
from memsense.ingest.head import Head
from memsense.ingest.reading import EMPTY, ConversationBuilder, ObjectRecord, Reader, Reading
from memsense.ingest.values import JsonObject, identifier, mapping, objects, string
from memsense.text.words import read_sections
from memsense.types import Conversation, JsonValue

_GATEWAYS = frozenset({"gateway-injected", "delivery-mirror"})
_SENDER = re.compile(
    r"\s*(?:Sender|Conversation info)[^\n]*\(untrusted metadata\):\s*```(?:json)?\n(.*?)\n```\s*",
    re.DOTALL,
)
_LOCAL_TIME = re.compile(r"\[(?:\w{3} )?\d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,20}\] ?")
_REPLY_MARK = re.compile(r"\s*\[\[\s*reply_to[^\]\n]*\]\]\s*")
_NO_WORDS = frozenset({"NO_REPLY", "HEARTBEAT_OK"})
_OTHER_TYPES = frozenset(read_sections("records")["openclaw"].split())
_HEARTBEAT = "Read HEARTBEAT.md if it exists"


def sniff(head: Head) -> str | None:
    """Return what shows that a log is OpenClaw's or pi's."""
    # Headers of version 1 have no version, but a folder.
    headers = [record for record in head.objects if record.get("type") == "session"]
    if any("id" in one and ("cwd" in one or "version" in one) for one in headers):
        return "a header line of type session with id"
    entries = [record for record in head.objects if record.get("type") == "message"]
    if any("parentId" in one and isinstance(one.get("message"), dict) for one in entries):
        return "entries of type message with parentId and a message"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the one conversation of a session: the branch of its last entry."""
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
    for entry in reading.keep_current_branch(entries, "id", "parentId"):
        _add_entry(builder, entry)
    parent = identifier(header.get("parentSession"))
    metadata: dict[str, JsonValue] = {"parent_session": parent} if parent else {}
    yield from builder.build(
        identifier(header.get("id")) or reading.source.session_id,
        title=title,
        started_at=reading.stamp(header.get("timestamp")).at,
        folder=string(header.get("cwd")),
        metadata=metadata,
    )


def _add_entry(builder: ConversationBuilder, entry: ObjectRecord) -> None:
    reading = builder.reading
    message = mapping(entry.value.get("message"))
    text = content_text(message.get("content"))
    is_user = message.get("role") == "user"
    name: str | None = None
    kinds = {string(block.get("type")) for block in objects(message.get("content"))}
    reason = None
    kind = string(entry.value.get("type"))
    if kind != "message":
        reading.skip_record(kind, _OTHER_TYPES, entry.line)
        return
    if not message:
        reason = "message is not an object"
    elif message.get("role") in ("toolResult", "bashExecution"):
        reason = "tool result"
    elif message.get("role") not in ("user", "assistant"):
        reason = "not speech"
    elif message.get("provider") == "openclaw" or string(message.get("model")) in _GATEWAYS:
        # The gateway writes its notices as answers (openclaw#70870).
        reason = "notice of the gateway"
    elif not text and message.get("stopReason") in ("error", "aborted"):
        reason = "failed call"
    elif not text and "toolCall" in kinds:
        reason = "tool call"
    elif not text:
        reason = "thinking" if "thinking" in kinds else EMPTY
    elif is_user:
        text, name = _peel_sender(text)
        last = builder.messages[-1] if builder.messages else None
        if text.startswith(_HEARTBEAT):
            reason = "heartbeat prompt"
        elif last is not None and last.role == "user" and last.text == reading.clean(text):
            # After a failed call the same prompt is logged again, under a new id.
            reason = "repeated after a failed call"
    else:
        # The mark of what an answer replies to, and the words that stand for no answer.
        mark = _REPLY_MARK.match(text)
        text = text[mark.end() :] if mark else text
        text = "" if text.strip() in _NO_WORDS else text
    if reason:
        reading.skip(reason, entry.line)
        return
    stamp = reading.stamp(message.get("timestamp"))
    builder.add(
        "user" if is_user else "assistant",
        text,
        external_id=identifier(entry.value.get("id")),
        speaker=name,
        stamp=stamp if stamp.at else reading.stamp(entry.value.get("timestamp")),
        line=entry.line,
    )


def _peel_sender(text: str) -> tuple[str, str | None]:
    """Return the person's words without the channel's preamble, and the name that it gives."""
    name: str | None = None
    # Matched in place: cutting off one block after the other would copy the text for each.
    start = 0
    while match := _SENDER.match(text, start):
        try:
            sender: JsonValue = json.loads(match[1])
        except (ValueError, RecursionError):
            sender = None
        name = identifier(mapping(sender).get("name")) or name
        start = match.end()
    if match := _LOCAL_TIME.match(text, start):
        start = match.end()
    return text[start:], name


READER = Reader(name="openclaw", sniff=sniff, read=read)
