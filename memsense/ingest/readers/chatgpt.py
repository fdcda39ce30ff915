"""Reader of ChatGPT's data export: trees of nodes, in which one path was shown."""

import re
from collections.abc import Iterator, Sequence

from memsense.ingest.branches import find_latest_leaf, find_other_branches, path_to_root
from memsense.ingest.content import role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import EMPTY, ObjectRecord, Reader, Reading
from memsense.ingest.timestamps import epoch_seconds
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
from memsense.types import Conversation

_ENVELOPE = "conversations"
# `code` is kept only of what is addressed to the reader: a call to a tool has another recipient.
_TEXT_TYPES = frozenset({"text", "multimodal_text", "code"})
_IMAGE = "[image]"
# Private-use groups (start, words, end) and bracketed sources that the interface shows as links.
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]|【\\d+†[^】\\n]{0,80}】")


def sniff(head: Head) -> str | None:
    """Return what shows that a log is of a ChatGPT export."""
    if head.find(_is_conversation):
        return "conversations with a mapping of nodes"
    if head.has_item(_ENVELOPE, _is_conversation):
        return "a list of conversations with a mapping of nodes"
    if head.has_item("chats", lambda chat: any("role" in m for m in objects(chat.get("messages")))):
        return "group chats with messages"
    return None


def _is_conversation(record: JsonObject) -> bool:
    nodes = mapping(record.get("mapping")).values()
    return any("parent" in mapping(node) or "children" in mapping(node) for node in nodes)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the shown path of each conversation; with `all_branches` the other branches too."""
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
    # The shown path ends at `current_node`, and where that is missing or dangling, at the latest
    # leaf. The first child of each node would lead to the answer that was abandoned when another
    # was generated (MemPalace#330).
    leaf = identifier(value.get("current_node"))
    if leaf is None or leaf not in nodes:
        create_times = {
            key: epoch_seconds(reach(node, "message", "create_time")) for key, node in nodes.items()
        }
        leaf = find_latest_leaf(parents, create_times) or ""
    main = path_to_root(leaf, parents)
    own_id = first_identifier(value, "conversation_id", "id")
    session = reading.name_session(own_id, record.ordinal)
    yield from _build(reading, session, value, [nodes[key] for key in main], record.line)
    if reading.options.all_branches:
        questions = (key for key in nodes if _author(nodes[key]) == "user")
        for end, path in find_other_branches(main, parents, questions):
            branch = [nodes[key] for key in path]
            yield from _build(reading, f"{session}/{end}", value, branch, record.line)
        return
    on_path = set(main)
    abandoned = sum(key not in on_path and bool(_author(node)) for key, node in nodes.items())
    if abandoned:
        reading.skip("abandoned branch", record.line, abandoned)


def _build(
    reading: Reading, session: str, conversation: JsonObject, path: Sequence[JsonObject], line: int
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for node in path:
        message = mapping(node.get("message"))
        content, metadata = mapping(message.get("content")), mapping(message.get("metadata"))
        role, reason = _author(node), None
        if not message:
            reason = "node without a message"
        elif role not in ("user", "assistant"):
            reason = f"{role if role in ('system', 'tool') else 'unknown'} message"
        # Nodes of weight 0 are not shown; custom instructions are the "user's" system message.
        elif (
            metadata.get("is_visually_hidden_from_conversation") is True
            or metadata.get("is_user_system_message") is True
            or message.get("weight") == 0
        ):
            reason = "hidden message"
        elif role == "assistant" and message.get("recipient") not in (None, "all"):
            reason = "tool call"
        elif (string(content.get("content_type")) or "text") not in _TEXT_TYPES:
            reason = "thinking, context or tool output"
        if reason:
            reading.skip(reason, line)
            continue
        # The words of code stand in `text`, all others in `parts`: strings, speech, images.
        texts: list[str] = []
        for part in sequence(content.get("parts")):
            block = mapping(part)
            kind = string(block.get("content_type"))
            if isinstance(part, str):
                texts.append(part)
            elif kind in ("", "text", "audio_transcription"):
                texts.append(string(block.get("text")))
            elif kind == "image_asset_pointer":
                texts.append(_IMAGE)
        builder.add(
            "user" if role == "user" else "assistant",
            _CITATION.sub("", "\n".join(filter(None, texts)) or string(content.get("text"))),
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
    session = reading.name_session(identifier(chat.get("id")), line)
    yield from builder.build(session, title=string(chat.get("name")))


READER = Reader(name="chatgpt", sniff=sniff, read=read)
