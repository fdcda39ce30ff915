"""Reads the messages that callers of the Python API hand over."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from memsense.errors import InvalidInputError
from memsense.inputs import clean_text, read_time
from memsense.types import Conversation, Message, Role

KNOWN_KEYS = frozenset({"role", "content", "id", "at", "name"})


def read_messages(
    messages: Sequence[Mapping[str, Any]], *, session_id: str, now: datetime
) -> Conversation:
    """The messages as one conversation; those without a time happened `now`.

    Raises InvalidInputError naming the message that can't be used.
    """
    if isinstance(messages, str | bytes | Mapping):
        raise InvalidInputError("messages must be a list of mappings with role and content")
    read = [_read_message(index, message, now) for index, message in enumerate(messages)]
    if not any(message.text.strip() for message in read):
        raise InvalidInputError("no message has any text")
    participants = dict.fromkeys(message.speaker for message in read if message.speaker)
    return Conversation(
        session_id=session_id,
        messages=[message for message in read if message.text.strip()],
        format="api",
        source="add",
        participants=tuple(participants),
    )


def _read_message(index: int, message: Mapping[str, Any], now: datetime) -> Message:
    if unknown := message.keys() - KNOWN_KEYS:
        raise InvalidInputError(
            f"message {index} has unknown keys {', '.join(sorted(unknown))};"
            f" known are {', '.join(sorted(KNOWN_KEYS))}"
        )
    content = message.get("content")
    if not isinstance(content, str):
        raise InvalidInputError(f"message {index} has no text in 'content'")
    identity, name = message.get("id"), message.get("name")
    return Message(
        role=_read_role(index, message.get("role")),
        text=clean_text(content),
        external_id=str(identity) if identity is not None else None,
        speaker=clean_text(str(name)) if name else None,
        at=read_time(message.get("at"), f"message {index}: at") or now,
        at_zone_known=_zone_known(message.get("at")),
    )


def _read_role(index: int, role: object) -> Role:
    known: tuple[Role, ...] = get_args(Role)
    for name in known:
        if role == name:
            return name
    raise InvalidInputError(f"message {index} has role {role!r}; use {', '.join(known)}")


def _zone_known(value: object) -> bool:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return not isinstance(value, datetime) or value.tzinfo is not None
