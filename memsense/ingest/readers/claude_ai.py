"""Claude.ai data export: conversations with `chat_messages`, newer ones with all branches."""

import re
from collections.abc import Iterator, Sequence

from memsense.ingest.branches import find_leaves, other_branches, path_to_root
from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import parse_timestamp
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    objects,
    string,
)
from memsense.types import Conversation, Role

_KINDS = frozenset({"text", "voice_note"})
_THINKING = re.compile(r"<antThinking>(?:(?!<antThinking>).)*?</antThinking>\s*", re.DOTALL)
_PLACEHOLDER = re.compile(
    r"(```\s*)?This block is not supported on your current device yet\.?(\s*```)?\s*"
)


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: isinstance(record.get("chat_messages"), list)):
        return "conversations with chat_messages"
    return None


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects():
        if isinstance(record.value.get("chat_messages"), list):
            yield from _read_conversation(reading, record)
        else:
            reading.skip("not a conversation", record.line)


def _read_conversation(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    value = record.value
    messages = objects(value.get("chat_messages"))
    session = identifier(value.get("uuid")) or f"{reading.source.session_id}:{record.ordinal}"
    for name, branch in _branches(reading, value, messages):
        yield from _build(reading, f"{session}{name}", value, branch, record.line)


def _branches(
    reading: Reading, conversation: JsonObject, messages: Sequence[JsonObject]
) -> Iterator[tuple[str, Sequence[JsonObject]]]:
    """The shown branch, then the others where they are asked for: (suffix, messages)."""
    ids = [identifier(message.get("uuid")) for message in messages]
    if None in ids or not any(identifier(m.get("parent_message_uuid")) for m in messages):
        yield "", messages
        return
    by_id = dict(zip((known or "" for known in ids), messages, strict=True))
    parents = {k: identifier(m.get("parent_message_uuid")) for k, m in by_id.items()}
    main = path_to_root(_find_leaf(conversation, by_id), parents)
    yield "", [by_id[key] for key in main]
    others = other_branches(main, parents, (k for k in by_id if _role(by_id[k]) == "user"))
    if not reading.options.all_branches:
        shown = {key for _, path in others for key in path} - set(main)
        if shown:
            reading.skip("abandoned branch", count=len(shown))
        return
    for leaf, path in others:
        yield f"/{leaf}", [by_id[key] for key in path]


def _find_leaf(conversation: JsonObject, messages: dict[str, JsonObject]) -> str:
    current = identifier(conversation.get("current_leaf_message_uuid"))
    if current is not None and current in messages:
        return current
    parents = {k: identifier(m.get("parent_message_uuid")) for k, m in messages.items()}
    leaves = reversed(find_leaves(parents))
    return max(leaves, key=lambda leaf: _created(messages[leaf]), default="")


def _created(message: JsonObject) -> float:
    at = parse_timestamp(message.get("created_at")).at
    return at.timestamp() if at else 0.0


def _build(
    reading: Reading,
    session: str,
    conversation: JsonObject,
    messages: Sequence[JsonObject],
    line: int,
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for message in messages:
        role = _role(message)
        if role not in ("user", "assistant"):
            reading.skip("message without a sender", line)
            continue
        builder.add(
            role,
            _text(message),
            external_id=identifier(message.get("uuid")),
            stamp=reading.stamp(message.get("created_at")),
            line=line,
        )
    yield from builder.build(
        session,
        title=string(conversation.get("name")),
        started_at=reading.stamp(conversation.get("created_at")).at,
    )


def _role(message: JsonObject) -> Role | None:
    return role_of(string(message.get("sender")) or string(message.get("role")))


def _text(message: JsonObject) -> str:
    """The text blocks, else the plain text, else what was attached; never two of them."""
    blocks = _THINKING.sub("", joined_text(message.get("content"), _KINDS))
    if blocks.strip():
        return blocks
    plain = _PLACEHOLDER.sub("", _THINKING.sub("", string(message.get("text"))))
    return plain if plain.strip() else _attached(message)


def _attached(message: JsonObject) -> str:
    texts: list[str] = []
    for attachment in objects(message.get("attachments")):
        text = string(attachment.get("extracted_content"))
        texts.append(text if text.strip() else _file_name(attachment))
    texts.extend(_file_name(file) for file in objects(message.get("files")))
    return "\n\n".join(text for text in texts if text)


def _file_name(file: JsonObject) -> str:
    name = first_identifier(file, "file_name", "name")
    return f"[file: {name}]" if name else ""


READER = Reader(name="claude_ai", sniff=_sniff, read=_read)
