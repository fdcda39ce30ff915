"""Names messages so that reading a log again recognises them."""

import hashlib
import json

from memsense.types import Conversation, Message

LONGEST_KEY = 500
"""Bytes of an id that an index holds beside a session's id."""


def message_key(conversation: Conversation, index: int, message: Message) -> str:
    """The message's lasting name within (format, session): its own id where the log has one
    (a long one's SHA-256), else SHA-256 (hex) of session id, position, role and text."""
    if message.external_id is not None:
        is_short = len(message.external_id.encode()) <= LONGEST_KEY
        return message.external_id if is_short else _digest(message.external_id)
    return _digest(conversation.session_id, index, message.role, message.text)


def message_hash(message: Message) -> str:
    """SHA-256 (hex) of what a message says and who says it: other for an edited message."""
    return _digest(message.role, message.speaker, message.text)


def _digest(*parts: str | int | None) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
