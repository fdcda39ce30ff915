"""Reader of the messages that callers of the Python API pass, in the forms of many chat libraries.

OpenAI's Chat Completions and Responses, Anthropic's, LangChain's in all their shapes, and objects
of any library that have a role (or a type) and a content. As from logs, only words are stored: tool
calls, tool results and thinking are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from inspect import getattr_static
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf

from memsense.errors import InvalidInputError
from memsense.ingest import Stamp
from memsense.ingest.content import content_text, role_of
from memsense.ingest.injected import strip_injected
from memsense.ingest.langchain_shapes import message_fields, message_type, reason_to_skip
from memsense.ingest.timestamps import parse_timestamp
from memsense.inputs import Checker, Id, Text, has_zone, read_local_time, shorten, wrong_value
from memsense.types import Conversation, Message, Role

OWN: Final = ("role", "content", "id", "at", "name")
"""Keys of a message in memsense's own form."""

TIMES: Final = ("timestamp", "created_at")
"""Keys under which other libraries have the time."""

# Unknown keys are refused, since a typo such as "contents" would lose text silently. These keys are
# known from other libraries, and nothing of them is stored.
_IGNORED: Final = frozenset(
    """type kwargs data lc status phase refusal annotations audio tool_calls tool_call_id
    function_call invalid_tool_calls tool_call_chunks artifact additional_kwargs response_metadata
    usage_metadata example model stop_reason stop_sequence usage container reasoning
    reasoning_content""".split()
)

_CALLS: Final = ("tool_calls", "function_call", "invalid_tool_calls", "audio")
_WORDLESS: Final = frozenset(
    """function_call function_call_output reasoning custom_tool_call custom_tool_call_output
    computer_call computer_call_output local_shell_call local_shell_call_output web_search_call
    file_search_call code_interpreter_call image_generation_call mcp_call mcp_list_tools
    mcp_approval_request mcp_approval_response item_reference remove""".split()
)
"""Types of items without a role and without a person's words (OpenAI's Responses, LangGraph)."""

_PART: Final = ("type", "text", "value", "refusal", "thought")
_MISSING: Final = object()


def read_form(value: object) -> dict[str, object]:
    """Return any library's message as role, content, id, at and name; raise ValueError."""
    item = _as_mapping(value)
    if "role" not in item and item.get("type") in _WORDLESS:
        return {"role": "tool", "content": ""}
    # LangChain serialises a message inside an envelope: {"type": "human", "data": {...}}.
    fields = item
    if "content" not in item:
        fields = dict(cast("Mapping[str, object]", message_fields(cast("Any", item))))
    if unknown := [key for key in fields if key not in {*OWN, *TIMES} and key not in _IGNORED]:
        names = ", ".join(shorten(key) for key in unknown)
        raise ValueError(f"has unknown keys {names}; known are {', '.join((*OWN, *TIMES))}")

    message = {key: fields[key] for key in OWN if fields.get(key) is not None}
    # The role may be a library's own word: "human", "ai", "model". A word that is unknown stays as
    # it is, so that the error names it.
    role = fields.get("role")
    kind = message_type(cast("Any", item))
    word = kind if role is None and kind != "message" else role
    if isinstance(word, str):
        word = role_of(word) or word or None
    if word is not None:
        message["role"] = word
    if "content" in fields or any(fields.get(key) for key in (*_CALLS, "refusal")):
        message["content"] = _read_content(fields)
    if (at := _read_time(fields)) is not None:
        message["at"] = at

    role, text = message.get("role"), message.get("content")
    if role in {"user", "assistant"} and isinstance(text, str):
        # Frameworks replace old messages by a summary, which no speaker said; and what a memory or
        # a hook put before a question must not be stored with it, or it would be found and inserted
        # again.
        if reason_to_skip(cast("Any", fields), cast("str", role), text):
            message["content"] = ""
        else:
            stripped, count = strip_injected(text)
            message["content"] = stripped.strip() if count else text
    return message


def _as_mapping(value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    # LangChain takes (role, content) pairs for messages.
    match cast("Any", value):
        case (str() as role, str() as content) if isinstance(value, tuple):
            return {"role": role, "content": content}
        case _:
            pass
    names = (*OWN, *TIMES, "type", *_CALLS, "refusal", "additional_kwargs")
    fields = _read_attributes(value, names)
    if "content" not in fields or not {"role", "type"} & fields.keys():
        raise wrong_value("must be a mapping or an object with role and content", value)
    return fields


def _read_attributes(value: object, names: Sequence[str]) -> dict[str, object]:
    """Return the attributes of these names that an object has, by name."""
    # A class has annotations of the same names. A mock, or an object with __getattr__, would make
    # up any attribute, so only those that can be found statically count; methods don't.
    if isinstance(value, type):
        return {}
    fields: dict[str, object] = {}
    for name in names:
        attribute = getattr_static(value, name, _MISSING)
        if attribute is not _MISSING and not callable(attribute):
            fields[name] = getattr(value, name)
    return fields


def _read_content(fields: Mapping[str, object]) -> object:
    """Return the words of a content; a value that is no text and no list of parts is returned as
    it is, for the caller to refuse."""
    content = fields.get("content")
    # A message that only calls tools has no content. It stays a message, without words.
    if content is None and any(fields.get(key) for key in (*_CALLS, "refusal")):
        content = fields.get("refusal") or ""
    if not isinstance(content, list | tuple):
        return content
    parts: list[object] = []
    for place, part in enumerate(cast("Sequence[object]", content)):
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Mapping):
            parts.append(dict(cast("Mapping[str, object]", part)))
        else:
            attributes = _read_attributes(part, _PART)
            if "type" not in attributes:
                raise wrong_value(f"content.{place} must be a text or a part with a type", part)
            parts.append(attributes)
    return content_text(cast("Any", parts))


def _read_time(fields: Mapping[str, object]) -> object:
    """Return the time under another library's key; None if `at` has it."""
    if fields.get("at") is not None:
        return None
    for name in TIMES:
        value = fields.get(name)
        if value is None:
            continue
        if isinstance(value, datetime):
            read_local_time(value)
            return value
        # True is an int to Python, and no time.
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            stamp = parse_timestamp(value)
            if stamp.at is not None:
                return stamp.at if stamp.zone_known else stamp.at.replace(tzinfo=None)
        raise wrong_value(
            f"{name} must be a datetime, an ISO 8601 text or seconds since 1970", value
        )
    return None


def _read_stamp(value: object) -> Stamp:
    """Return the UTC time of a value, and whether its zone was given."""
    local = read_local_time(value)
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return Stamp(local.astimezone(UTC), isinstance(moment, datetime) and has_zone(moment))


class _MessageInput(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    content: Text
    id: Id | None = None
    at: Annotated[InstanceOf[Stamp], BeforeValidator(_read_stamp)] | None = None
    name: Text | None = None


def list_messages(value: object) -> list[object]:
    """Return the messages that a value stands for: the user's words, one message, or several."""
    if isinstance(value, str):
        if not value.strip():
            raise ValueError('is empty: pass what was said, such as "I like tea"')
        return [{"role": "user", "content": value}]
    # One message stands for a list of one. A message of pydantic's can be iterated over, too.
    if isinstance(value, Mapping) or _read_attributes(value, ("content",)):
        return [cast("object", value)]
    # Bytes can be iterated over, too, and would give an error for each of them.
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return list(cast("Iterable[object]", value))
    raise wrong_value(
        "must be a text, or a list of messages with role and content", cast("object", value)
    )


_read_inputs = Checker(
    Annotated[
        list[Annotated[_MessageInput, BeforeValidator(read_form)]], BeforeValidator(list_messages)
    ],
    "messages",
)


def read_messages(messages: object, *, session_id: str | None, now: datetime) -> Conversation:
    """Return the messages as one conversation; messages without a time get the time `now`.

    A text is one message of the user's. Without a `session_id`, the session is the day of the
    first message in UTC, such as "2026-05-04".

    Raises InvalidInputError, which names the first message that can't be used.
    """
    inputs: list[_MessageInput] = _read_inputs(messages)
    texts = [
        Message(
            role=item.role,
            text=item.content,
            external_id=item.id,
            speaker=item.name or None,
            at=item.at.at if item.at else now,
            at_zone_known=item.at.zone_known if item.at else True,
        )
        for item in inputs
        if item.content.strip()
    ]
    if not texts:
        raise InvalidInputError("no message has any text")
    # Every named speaker takes part, also one with a blank message.
    participants = dict.fromkeys(item.name for item in inputs if item.name)
    return Conversation(
        session_id=session_id or f"{texts[0].at or now:%Y-%m-%d}",
        messages=texts,
        format="api",
        source="add",
        participants=tuple(participants),
    )
