"""Reader of Claude.ai's data export: conversations with `chat_messages`, newer ones as trees."""

import re
from collections.abc import Iterator, Sequence

from memsense.ingest.branches import find_leaves, find_other_branches, path_to_root
from memsense.ingest.content import content_text, format_file, join_texts, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.timestamps import epoch_seconds
from memsense.ingest.values import JsonObject, first_identifier, identifier, objects, string
from memsense.types import Conversation, Role

# Other kinds appear without notice (osteele/claude-chat-viewer#5: a strict schema dropped 14 of 71
# chats), so unknown blocks are passed over.
_ENVELOPE = "conversations"
_KINDS = frozenset({"text", "voice_note"})
_THINKING = re.compile(r"<antThinking>(?:(?!<antThinking>).)*?</antThinking>\s*", re.DOTALL)
_PLACEHOLDER = re.compile(
    r"(```\s*)?This block is not supported on your current device yet\.?(\s*```)?\s*"
)


def sniff(head: Head) -> str | None:
    """Return what shows that a log is of a Claude.ai export."""
    if head.find(_is_conversation) or head.has_item(_ENVELOPE, _is_conversation):
        return "conversations with chat_messages"
    return None


def _is_conversation(record: JsonObject) -> bool:
    return isinstance(record.get("chat_messages"), list)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the shown branch of each conversation; with `all_branches` the others too."""
    for record in reading.objects(_ENVELOPE):
        value = record.value
        if not _is_conversation(value):
            reading.skip("not a conversation", record.line)
            continue
        session = reading.name_session(identifier(value.get("uuid")), record.ordinal)
        messages = objects(value["chat_messages"])
        for suffix, branch in _find_branches(reading, value, messages):
            builder = reading.conversation()
            for message in branch:
                role = _role(message)
                if role not in ("user", "assistant"):
                    reading.skip("message without a sender", record.line)
                    continue
                # `text` and `content` repeat each other: the blocks, else the plain text. Older
                # chats have their thinking inside of both.
                text = _THINKING.sub("", content_text(message.get("content"), _KINDS))
                if not text.strip():
                    plain = _THINKING.sub("", string(message.get("text")))
                    text = _PLACEHOLDER.sub("", plain)
                if not text.strip():
                    # Long pasted text becomes an attachment: then it is all that the person said.
                    texts: list[str] = []
                    for attachment in objects(message.get("attachments")):
                        content = string(attachment.get("extracted_content"))
                        texts.append(content if content.strip() else _file_text(attachment))
                    text = join_texts(*texts, *map(_file_text, objects(message.get("files"))))
                builder.add(
                    role,
                    text,
                    external_id=identifier(message.get("uuid")),
                    stamp=reading.stamp(message.get("created_at")),
                    line=record.line,
                )
            yield from builder.build(
                f"{session}{suffix}",
                title=string(value.get("name")),
                started_at=reading.stamp(value.get("created_at")).at,
            )


def _find_branches(
    reading: Reading, conversation: JsonObject, messages: Sequence[JsonObject]
) -> Iterator[tuple[str, Sequence[JsonObject]]]:
    """Yield (suffix, messages): the shown branch, with `all_branches` the others too."""
    ids = [identifier(message.get("uuid")) for message in messages]
    # Older exports have no parents; their messages are one branch in the order of the list.
    if None in ids or not any(identifier(m.get("parent_message_uuid")) for m in messages):
        yield "", messages
        return
    by_id = dict(zip((message_id or "" for message_id in ids), messages, strict=True))
    parents = {key: identifier(m.get("parent_message_uuid")) for key, m in by_id.items()}
    leaf = identifier(conversation.get("current_leaf_message_uuid"))
    if leaf is None or leaf not in by_id:
        leaves = reversed(find_leaves(parents))
        times = {key: epoch_seconds(message.get("created_at")) for key, message in by_id.items()}
        leaf = max(leaves, key=lambda key: times[key], default="")
    main = path_to_root(leaf, parents)
    yield "", [by_id[key] for key in main]
    questions = (key for key, message in by_id.items() if _role(message) == "user")
    others = find_other_branches(main, parents, questions)
    if reading.options.all_branches:
        for end, path in others:
            yield f"/{end}", [by_id[key] for key in path]
        return
    abandoned = {key for _, path in others for key in path} - set(main)
    if abandoned:
        reading.skip("abandoned branch", count=len(abandoned))


def _role(message: JsonObject) -> Role | None:
    return role_of(string(message.get("sender")) or string(message.get("role")))


def _file_text(file: JsonObject) -> str:
    return format_file(first_identifier(file, "file_name", "name"))


READER = Reader(name="claude_ai", sniff=sniff, read=read)
