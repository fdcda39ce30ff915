"""Reader of Cursor: its database `state.vscdb`, its agent's transcripts, exported Markdown."""

import re
from collections.abc import Iterator

from memsense.ingest.content import content_text
from memsense.ingest.head import Head
from memsense.ingest.injected import unwrap_query
from memsense.ingest.reading import (
    EMPTY,
    INJECTED,
    ConversationBuilder,
    ObjectRecord,
    Reader,
    Reading,
)
from memsense.ingest.source import find_workspace
from memsense.ingest.values import JsonObject, identifier, objects, reach, string
from memsense.types import Conversation, Role

_EXPORTED = re.compile(r"_Exported on [^\n]{1,80} from Cursor \([^()\n]{1,20}\)_\s*")
_LABELS: dict[str, Role] = {"**User**": "user", "**Cursor**": "assistant"}
_RULE = "---"
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
_BUBBLES: dict[str, Role] = {"1": "user", "2": "assistant", "user": "user", "ai": "assistant"}


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Cursor's."""
    if head.find(_is_composer):
        return "chats with composerId and their bubbles"
    turns = [record for record in head.objects if string(record.get("role")) in _ROLES]
    if any("type" not in t and isinstance(reach(t, "message", "content"), list) for t in turns):
        return "lines of role and a message of content"
    if any(_EXPORTED.fullmatch(line) for line in head.lines):
        return "a line that says when it was exported from Cursor"
    return None


def _is_composer(record: JsonObject) -> bool:
    return "composerId" in record and isinstance(record.get("conversation"), list)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield each chat of the database, or the one conversation of a transcript or an export."""
    first = next((line for line in reading.lines() if line.strip("\ufeff\x00 \r\n\t")), "")
    if not first.lstrip("\ufeff\x00 \t").startswith("{"):
        yield from _read_markdown(reading)
        return
    builder = reading.conversation()
    has_turns = False
    for record in reading.objects():
        if _is_composer(record.value):
            yield from _read_composer(reading, record)
            continue
        has_turns = True
        value, line = record.value, record.line
        role = _ROLES.get(string(value.get("role")))
        content = reach(value, "message", "content")
        text = content_text(content)
        words = unwrap_query(text) if role == "user" else text
        if role is None:
            reading.skip("not a message", line)
        elif words.strip():
            message_id = identifier(value.get("id"))
            stamp = reading.stamp(value.get("timestamp"))
            builder.add(role, words, external_id=message_id, stamp=stamp, line=line)
        elif text.strip():
            reading.skip(INJECTED, line)
        else:
            is_call = any(block.get("type") == "tool_use" for block in objects(content))
            reading.skip("tool call" if is_call else EMPTY, line)
    if has_turns:
        yield from builder.build(reading.source.session_id)


def _read_composer(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    """Yield a chat as the database holds it."""
    chat, builder, line = record.value, reading.conversation(), record.line
    bubbles = objects(chat.get("conversation"))
    # Of several answers to one prompt, those that another was chosen over.
    if chat.get("isBestOfNSubcomposer") is True and not reading.options.sidechains:
        reading.skip("sidechain", line, len(bubbles))
        bubbles = []
    for bubble in bubbles:
        role = _BUBBLES.get(identifier(bubble.get("type")) or "")
        text = string(bubble.get("text"))
        if role is None:
            reading.skip("not a message", line)
        elif not text.strip() and "toolFormerData" in bubble:
            reading.skip("tool call", line)
        elif not text.strip() and "thinking" in bubble:
            reading.skip("thinking", line)
        else:
            builder.add(
                role,
                unwrap_query(text) if role == "user" else text,
                external_id=identifier(bubble.get("bubbleId")),
                stamp=reading.stamp(bubble.get("createdAt")),
                line=line,
            )
    own_id = identifier(chat.get("composerId"))
    yield from builder.build(
        reading.name_session(own_id, record.ordinal),
        title=string(chat.get("name")),
        started_at=reading.stamp(chat.get("createdAt")).at,
        folder=find_workspace(reading.source),
    )


def _read_markdown(reading: Reading) -> Iterator[Conversation]:
    """Yield the one conversation of an exported chat."""
    builder, title = reading.conversation(), ""
    role: Role | None = None
    texts, start, is_after_rule = list[str](), 1, False
    for number, raw in enumerate(reading.lines(), 1):
        line = raw.rstrip("\r\n")
        # A label heads a turn only behind a rule: rules and labels inside of texts stay there.
        if is_after_rule and line.strip() in _LABELS:
            _add_markdown_turn(builder, role, texts, start)
            role, texts, start = _LABELS[line.strip()], [], number
        elif role is None and line.startswith("# "):
            title = title or line[2:].strip()
        else:
            texts.append(line)
        is_after_rule = line.strip() == _RULE or (is_after_rule and not line.strip())
    _add_markdown_turn(builder, role, texts, start)
    yield from builder.build(reading.source.session_id, title=title)


def _add_markdown_turn(
    builder: ConversationBuilder, role: Role | None, texts: list[str], line: int
) -> None:
    if role is None:
        return
    text = "\n".join(texts).strip()
    builder.reading.report.records += 1
    builder.add(role, text.removesuffix(_RULE).rstrip(), line=line)


READER = Reader(name="cursor", sniff=sniff, read=read)
