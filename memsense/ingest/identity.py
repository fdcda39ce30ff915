"""Names messages so that reading a log again recognises them."""

import hashlib
import json

from memsense.types import Conversation, Message


def message_key(conversation: Conversation, index: int, message: Message) -> str:
    """The message's lasting name within (format, session): its own id where the log has one,
    else SHA-256 (hex) of session id, position, role and text."""
    if message.external_id is not None:
        return message.external_id
    return _digest(conversation.session_id, index, message.role, message.text)


def message_hash(message: Message) -> str:
    """SHA-256 (hex) of what a message says and who says it: other for an edited message."""
    return _digest(message.role, message.speaker, message.text)


def _digest(*parts: str | int | None) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
