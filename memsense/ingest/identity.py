"""Lasting names of messages, by which a log that is read again is recognised."""

import hashlib
import json

from memsense.types import Conversation, Message

LONGEST_KEY = 500
"""Bytes of an id that an index holds in addition to a session's id."""


def message_key(conversation: Conversation, index: int, message: Message) -> str:
    """Return the message's lasting name within its format and session.

    Args:
        conversation: The conversation that the message is in.
        index: The message's position there, from 0.
        message: The message.

    Returns:
        Its own id where the log has one (the SHA-256 of a long one), else the SHA-256 (hex) of
        session id, position, role and text.
    """
    if message.external_id is not None:
        is_short = len(message.external_id.encode()) <= LONGEST_KEY
        return message.external_id if is_short else _digest(message.external_id)
    return _digest(conversation.session_id, index, message.role, message.text)


def message_hash(message: Message) -> str:
    """Return the SHA-256 (hex) of a message's role, speaker and text; an edit changes it."""
    return _digest(message.role, message.speaker, message.text)


def _digest(*parts: str | int | None) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
