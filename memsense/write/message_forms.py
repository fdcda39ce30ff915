"""The messages of chat libraries as mappings of role, content, id, at and name.

OpenAI's chat and Responses, Anthropic's, LangChain's in all their shapes, and objects of any
library that have a role (or a type) and a content. What of them is kept is what `memsense.ingest`
keeps of their logs: words, but no calls of tools, results or thinking.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from inspect import getattr_static
from typing import Any, Final, cast

from memsense.ingest.content import joined_text
from memsense.ingest.injected import strip_injected
from memsense.ingest.langchain_shapes import message_fields, message_type, reason_to_skip
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import parse_timestamp
from memsense.inputs import read_local_time, refused, shorten

OWN: Final = ("role", "content", "id", "at", "name")
TIMES: Final = ("timestamp", "created_at")

_FOREIGN: Final = frozenset(
    """type kwargs data lc status phase refusal annotations audio tool_calls tool_call_id
    function_call invalid_tool_calls tool_call_chunks artifact additional_kwargs response_metadata
    usage_metadata example model stop_reason stop_sequence usage container reasoning
    reasoning_content""".split()
)
"""Keys that messages of these libraries have, and of which nothing is stored."""

_CALLS: Final = ("tool_calls", "function_call", "invalid_tool_calls", "audio")
_SILENT: Final = frozenset(
    """function_call function_call_output reasoning custom_tool_call custom_tool_call_output
    computer_call computer_call_output local_shell_call local_shell_call_output web_search_call
    file_search_call code_interpreter_call image_generation_call mcp_call mcp_list_tools
    mcp_approval_request mcp_approval_response item_reference remove""".split()
)
"""Types of items without a role, in which nobody says anything."""

_PART: Final = ("type", "text", "value", "refusal", "thought")
_MISSING: Final = object()


def read_form(value: object) -> dict[str, object]:
    """The message as a mapping of what a message of memsense's own has.

    Raises ValueError for what is none.
    """
    given = _as_mapping(value)
    if "role" not in given and given.get("type") in _SILENT:
        return {"role": "tool", "content": ""}
    fields = given if "content" in given else _unwrap(given)
    if unknown := [key for key in fields if key not in {*OWN, *TIMES} and key not in _FOREIGN]:
        told = ", ".join(shorten(key) for key in unknown)
        raise ValueError(f"has unknown keys {told}; known are {', '.join((*OWN, *TIMES))}")
    found = {key: fields[key] for key in OWN if fields.get(key) is not None}
    if (role := _role(given, fields)) is not None:
        found["role"] = role
    if "content" in fields or any(fields.get(key) for key in (*_CALLS, "refusal")):
        found["content"] = _words(fields)
    if (at := _time(fields)) is not None:
        found["at"] = at
    role = found.get("role")
    if role in {"user", "assistant"} and isinstance(text := found.get("content"), str):
        is_summary = reason_to_skip(cast("Any", fields), cast("str", role), text)
        found["content"] = "" if is_summary else _own_words(text)
    return found


def _unwrap(given: dict[str, object]) -> dict[str, object]:
    """The message out of LangChain's envelope, if it stands in one."""
    return dict(cast("Mapping[str, object]", message_fields(cast("Any", given))))


def _own_words(text: str) -> str:
    """The text without what a memory or a hook put into it."""
    stripped, count = strip_injected(text)
    return stripped.strip() if count else text


def _as_mapping(value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    match cast("Any", value):
        case (str() as role, str() as content) if isinstance(value, tuple):
            return {"role": role, "content": content}
        case _:
            pass
    names = (*OWN, *TIMES, "type", *_CALLS, "refusal", "additional_kwargs")
    found = _attributes(value, names)
    if "content" not in found or not {"role", "type"} & found.keys():
        raise refused("must be a mapping or an object with role and content", value)
    return found


def _attributes(value: object, names: Sequence[str]) -> dict[str, object]:
    """Those of the attributes that an object has; a class, or what makes any up, has none."""
    if isinstance(value, type):
        return {}
    has = (name for name in names if _has(value, name))
    return {name: getattr(value, name) for name in has}


def _has(value: object, name: str) -> bool:
    found = getattr_static(value, name, _MISSING)
    return found is not _MISSING and not callable(found)


def _role(given: Mapping[str, object], fields: Mapping[str, object]) -> object:
    """The role that a library's word stands for; else what is given, which may be none."""
    role = fields.get("role")
    kind = message_type(cast("Any", given))
    word = kind if role is None and kind != "message" else role
    return (role_of(word) or word or None) if isinstance(word, str) else word


def _words(fields: Mapping[str, object]) -> object:
    """What a content says; what is neither text nor parts is left to be refused."""
    content = fields.get("content")
    if content is None and any(fields.get(key) for key in (*_CALLS, "refusal")):
        content = fields.get("refusal") or ""
    if not isinstance(content, list | tuple):
        return content
    parts = [_part(part, place) for place, part in enumerate(cast("Sequence[object]", content))]
    return joined_text(cast("Any", parts))


def _part(part: object, place: int) -> object:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        return dict(cast("Mapping[str, object]", part))
    found = _attributes(part, _PART)
    if "type" not in found:
        raise refused(f"content.{place} must be a text or a part with a type", part)
    return found


def _time(fields: Mapping[str, object]) -> object:
    """The moment under one of the libraries' names, where `at` doesn't say it."""
    if fields.get("at") is not None:
        return None
    for name in TIMES:
        value = fields.get(name)
        if value is None:
            continue
        if isinstance(value, datetime):
            read_local_time(value)
            return value
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            stamp = parse_timestamp(value)
            if stamp.at is not None:
                return stamp.at if stamp.zone_known else stamp.at.replace(tzinfo=None)
        raise refused(f"{name} must be a datetime, an ISO 8601 text or seconds since 1970", value)
    return None
