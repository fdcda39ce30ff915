"""Reads the messages that callers of the Python API hand over."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf

from memsense.errors import InvalidInputError
from memsense.ingest import Stamp
from memsense.inputs import Gate, Id, Text, is_zoned, read_local_time, refused
from memsense.types import Conversation, Message, Role
from memsense.write.message_forms import read_form


def _read_stamp(value: object) -> Stamp:
    local = read_local_time(value)
    given = datetime.fromisoformat(value) if isinstance(value, str) else value
    return Stamp(local.astimezone(UTC), isinstance(given, datetime) and is_zoned(given))


class _GivenMessage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    content: Text
    id: Id | None = None
    at: Annotated[InstanceOf[Stamp], BeforeValidator(_read_stamp)] | None = None
    name: Text | None = None


def _read_items(value: object) -> object:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping):
        return list(cast("Iterable[object]", value))
    raise refused("must be a list of messages with role and content", cast("object", value))


_read_given = Gate(
    Annotated[
        list[Annotated[_GivenMessage, BeforeValidator(read_form)]], BeforeValidator(_read_items)
    ],
    "messages",
)


def read_messages(messages: Iterable[object], *, session_id: str, now: datetime) -> Conversation:
    """The messages as one conversation; those without a time happened `now`.

    Raises InvalidInputError naming the message that can't be used.
    """
    given: list[_GivenMessage] = _read_given(messages)
    kept = [_make_message(message, now) for message in given if message.content.strip()]
    if not kept:
        raise InvalidInputError("no message has any text")
    participants = dict.fromkeys(message.name for message in given if message.name)
    return Conversation(
        session_id=session_id,
        messages=kept,
        format="api",
        source="add",
        participants=tuple(participants),
    )


def _make_message(given: _GivenMessage, now: datetime) -> Message:
    return Message(
        role=given.role,
        text=given.content,
        external_id=given.id,
        speaker=given.name or None,
        at=given.at.at if given.at else now,
        at_zone_known=given.at.zone_known if given.at else True,
    )
