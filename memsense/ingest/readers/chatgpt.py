"""ChatGPT data export: a tree of nodes a conversation, of which one path was shown."""

import re
from collections.abc import Iterator, Mapping, Sequence

from memsense.ingest.branches import find_latest_leaf, other_branches, path_to_root
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import parse_timestamp
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
from memsense.types import Conversation, JsonValue

_ENVELOPE = "conversations"
_KEPT_TYPES = frozenset({"text", "multimodal_text", "code"})
_IMAGE = "[image]"
# Private-use groups (start, words, end) and bracketed sources that the interface shows as links.
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]|【\\d+†[^】\\n]{0,80}】")


def _sniff(head: Head) -> str | None:
    if head.find(_is_conversation):
        return "conversations with a mapping of nodes"
    if head.find(lambda record: any(map(_is_conversation, objects(record.get(_ENVELOPE))))):
        return "a list of conversations with a mapping of nodes"
    if head.find(lambda record: any(map(_is_group_chat, objects(record.get("chats"))))):
        return "group chats with messages"
    return None


def _is_conversation(record: JsonObject) -> bool:
    nodes = mapping(record.get("mapping")).values()
    return any("parent" in mapping(node) or "children" in mapping(node) for node in nodes)


def _is_group_chat(chat: JsonObject) -> bool:
    return any("role" in message for message in objects(chat.get("messages")))


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects(envelope=_ENVELOPE):
        if isinstance(record.value.get("chats"), list):
            for chat in objects(record.value["chats"]):
                yield from _read_group_chat(reading, chat, record.line)
        else:
            yield from _read_conversation(reading, record)


def _read_conversation(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    value = record.value
    if value.get("is_do_not_remember") is True and not reading.options.keep_do_not_remember:
        reading.skip_conversation("marked as not to be remembered")
        return
    nodes = {key: mapping(node) for key, node in mapping(value.get("mapping")).items()}
    parents = {key: identifier(node.get("parent")) for key, node in nodes.items()}
    main = path_to_root(_find_leaf(value, nodes, parents), parents)
    session = first_identifier(value, "conversation_id", "id")
    session = session or f"{reading.source.session_id}:{record.ordinal}"
    yield from _build(reading, session, value, [nodes[key] for key in main], record.line)
    if not reading.options.all_branches:
        _skip_abandoned(reading, nodes, main, record.line)
    else:
        questions = (key for key in nodes if _author(nodes[key]) == "user")
        for leaf, path in other_branches(main, parents, questions):
            branch = [nodes[key] for key in path]
            yield from _build(reading, f"{session}/{leaf}", value, branch, record.line)


def _skip_abandoned(
    reading: Reading, nodes: Mapping[str, JsonObject], main: Sequence[str], line: int
) -> None:
    shown = set(main)
    abandoned = sum(key not in shown and bool(_author(node)) for key, node in nodes.items())
    if abandoned:
        reading.skip("abandoned branch", line, abandoned)


def _find_leaf(
    conversation: JsonObject, nodes: Mapping[str, JsonObject], parents: Mapping[str, str | None]
) -> str:
    """The end of the shown path: `current_node`, else the end of the latest path."""
    current = identifier(conversation.get("current_node"))
    if current is not None and current in nodes:
        return current
    times = {key: _created(node) for key, node in nodes.items()}
    return find_latest_leaf(parents, times) or ""


def _created(node: JsonObject) -> float:
    at = parse_timestamp(reach(node, "message", "create_time")).at
    return at.timestamp() if at else 0.0


def _build(
    reading: Reading,
    session: str,
    conversation: JsonObject,
    path: Sequence[JsonObject],
    line: int,
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for node in path:
        message = mapping(node.get("message"))
        if reason := _reason_to_skip(message):
            reading.skip(reason, line)
            continue
        builder.add(
            "user" if _author(node) == "user" else "assistant",
            _text(message),
            external_id=identifier(message.get("id")) or identifier(node.get("id")),
            stamp=reading.stamp(message.get("create_time")),
            line=line,
        )
    yield from builder.build(
        session,
        title=string(conversation.get("title")),
        started_at=reading.stamp(conversation.get("create_time")).at,
    )


def _author(node: JsonObject) -> str:
    return string(reach(node, "message", "author", "role"))


def _reason_to_skip(message: JsonObject) -> str | None:
    role = string(reach(message, "author", "role"))
    kind = string(reach(message, "content", "content_type")) or "text"
    if not message:
        return "node without a message"
    if role not in ("user", "assistant"):
        return f"{role if role in ('system', 'tool') else 'unknown'} message"
    if _is_hidden(message):
        return "hidden message"
    if role == "assistant" and message.get("recipient") not in (None, "all"):
        return "tool call"
    if kind not in _KEPT_TYPES:
        return "thinking, context or tool output"
    return None


def _is_hidden(message: JsonObject) -> bool:
    metadata = mapping(message.get("metadata"))
    return (
        metadata.get("is_visually_hidden_from_conversation") is True
        or metadata.get("is_user_system_message") is True
        or message.get("weight") == 0
    )


def _text(message: JsonObject) -> str:
    content = mapping(message.get("content"))
    parts = sequence(content.get("parts"))
    words = [text for part in parts if (text := _part_text(part))]
    return _CITATION.sub("", "\n".join(words) or string(content.get("text")))


def _part_text(part: JsonValue) -> str:
    if isinstance(part, str):
        return part
    block = mapping(part)
    kind = string(block.get("content_type"))
    if kind == "audio_transcription":
        return string(block.get("text"))
    return _IMAGE if kind == "image_asset_pointer" else ""


def _read_group_chat(reading: Reading, chat: JsonObject, line: int) -> Iterator[Conversation]:
    builder = reading.conversation()
    for message in objects(chat.get("messages")):
        role = role_of(string(message.get("role")))
        if role not in ("user", "assistant"):
            reading.skip(EMPTY if role is None else f"{role} message", line)
            continue
        builder.add(
            role,
            string(message.get("text")),
            external_id=identifier(message.get("id")),
            speaker=identifier(message.get("name")),
            stamp=reading.stamp(message.get("created_at")),
            line=line,
        )
    session = identifier(chat.get("id")) or f"{reading.source.session_id}:{line}"
    yield from builder.build(session, title=string(chat.get("name")))


READER = Reader(name="chatgpt", sniff=_sniff, read=_read)
