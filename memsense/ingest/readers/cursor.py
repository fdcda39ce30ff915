"""Cursor: its database `state.vscdb`, transcripts of its agent, chats exported as Markdown."""

import re
from collections.abc import Iterator

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.injected import unwrap_query
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, INJECTED, ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.values import JsonObject, identifier, mapping, objects, string
from memsense.types import Conversation, Role

_EXPORTED = re.compile(r"_Exported on [^\n]{1,80} from Cursor \([^()\n]{1,20}\)_\s*")
_LABELS: dict[str, Role] = {"**User**": "user", "**Cursor**": "assistant"}
_RULE = "---"
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
_BUBBLES: dict[str, Role] = {"1": "user", "2": "assistant", "user": "user", "ai": "assistant"}


def _sniff(head: Head) -> str | None:
    if head.find(_is_composer):
        return "chats with composerId and their bubbles"
    if head.find(_is_turn):
        return "lines of role and a message of content"
    if any(_EXPORTED.fullmatch(line) for line in head.lines):
        return "a line that says when it was exported from Cursor"
    return None


def _is_turn(record: JsonObject) -> bool:
    told = mapping(record.get("message"))
    spoken = string(record.get("role")) in _ROLES and isinstance(told.get("content"), list)
    return spoken and "type" not in record


def _is_composer(record: JsonObject) -> bool:
    return "composerId" in record and isinstance(record.get("conversation"), list)


def _read(reading: Reading) -> Iterator[Conversation]:
    first = next((line for line in reading.lines() if line.strip("\ufeff\x00 \r\n\t")), "")
    if first.lstrip("\ufeff\x00 \t").startswith("{"):
        builder = reading.conversation()
        saw_turns = False
        for record in reading.objects():
            if _is_composer(record.value):
                yield from _read_composer(reading, record)
            else:
                saw_turns = True
                _add_turn(builder, record)
        if saw_turns:
            yield from builder.build(reading.source.session_id)
    else:
        yield from _read_markdown(reading)


def _add_turn(builder: ConversationBuilder, record: ObjectRecord) -> None:
    value = record.value
    role = _ROLES.get(string(value.get("role")))
    if role is None:
        builder.reading.skip("not a message", record.line)
        return
    content = mapping(value.get("message")).get("content")
    text = joined_text(content)
    words = unwrap_query(text) if role == "user" else text
    if not words.strip():
        is_call = any(block.get("type") == "tool_use" for block in objects(content))
        reason = INJECTED if text.strip() else "tool call" if is_call else EMPTY
        builder.reading.skip(reason, record.line)
        return
    stamp = builder.reading.stamp(value.get("timestamp"))
    known = identifier(value.get("id"))
    builder.add(role, words, external_id=known, stamp=stamp, line=record.line)


def _read_composer(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    """A chat as the database holds it."""
    chat, builder = record.value, reading.conversation()
    bubbles = objects(chat.get("conversation"))
    if chat.get("isBestOfNSubcomposer") is True and not reading.options.sidechains:
        reading.skip("sidechain", record.line, len(bubbles))
        bubbles = []
    for bubble in bubbles:
        _add_bubble(builder, bubble, record.line)
    known = identifier(chat.get("composerId"))
    yield from builder.build(
        known or f"{reading.source.session_id}:{record.ordinal}",
        title=string(chat.get("name")),
        started_at=reading.stamp(chat.get("createdAt")).at,
    )


def _add_bubble(builder: ConversationBuilder, bubble: JsonObject, line: int) -> None:
    role = _BUBBLES.get(identifier(bubble.get("type")) or "")
    words = string(bubble.get("text"))
    if role is None:
        builder.reading.skip("not a message", line)
        return
    if not words.strip() and ("toolFormerData" in bubble or "thinking" in bubble):
        reason = "tool call" if "toolFormerData" in bubble else "thinking"
        builder.reading.skip(reason, line)
        return
    builder.add(
        role,
        unwrap_query(words) if role == "user" else words,
        external_id=identifier(bubble.get("bubbleId")),
        stamp=builder.reading.stamp(bubble.get("createdAt")),
        line=line,
    )


def _read_markdown(reading: Reading) -> Iterator[Conversation]:
    """Turns are headed by a label that follows a rule, so that rules and labels in them stay."""
    builder, title = reading.conversation(), ""
    role: Role | None = None
    texts, start, after_rule = list[str](), 1, False
    for number, raw in enumerate(reading.lines(), 1):
        line = raw.rstrip("\r\n")
        if after_rule and line.strip() in _LABELS:
            _close(builder, role, texts, start)
            role, texts, start = _LABELS[line.strip()], [], number
        elif role is None and line.startswith("# "):
            title = title or line[2:].strip()
        else:
            texts.append(line)
        after_rule = line.strip() == _RULE or (after_rule and not line.strip())
    _close(builder, role, texts, start)
    yield from builder.build(reading.source.session_id, title=title)


def _close(builder: ConversationBuilder, role: Role | None, texts: list[str], line: int) -> None:
    text = "\n".join(texts).strip()
    if role is None:
        return
    builder.reading.report.records += 1
    builder.add(role, text.removesuffix(_RULE).rstrip(), line=line)


READER = Reader(name="cursor", sniff=_sniff, read=_read)
