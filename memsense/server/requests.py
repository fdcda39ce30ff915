"""Bodies and parameters of requests, made from the signatures of the Python methods.

A body has the parameters of its method with their types, defaults, limits and texts, so that HTTP
and Python can't drift apart. Only what HTTP needs besides stands here: JSON's types in place of
Python objects, limits of lists, and examples.
"""

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Union, cast, get_args, get_origin

from fastapi import Depends, Header, Path, Query
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    create_model,
    model_validator,
)

from memsense.client.cursors import read_cursor
from memsense.client.jobs import JobsResource
from memsense.client.traces import TracesResource
from memsense.client.verbs import Memory
from memsense.declaration import Parameter, parameters_of, unknown_argument
from memsense.errors import InvalidInputError
from memsense.inputs import (
    LARGEST_BIGINT,
    LONGEST_ID,
    VISIBLE,
    Check,
    ChunkId,
    Id,
    Name,
    wrong_value,
)
from memsense.server.problems import ProblemError

LARGEST_MESSAGE_COUNT = 10_000
LARGEST_LIST = 1_000
"""Items of a list in a request. Python has no such limit: there the caller pays for its lists."""


class Body(BaseModel):
    """A request's body, which refuses fields that it does not have."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def refuse_unknown_fields(cls, values: Any) -> Any:
        """Raise UnknownArgumentError for a field that the body does not have."""
        # Before pydantic would: so the error is the same as in Python, with the nearest name.
        names = cast("Mapping[str, Any]", values) if isinstance(values, Mapping) else ()
        for name in names:
            if name not in cls.model_fields:
                raise unknown_argument(name, cls.model_fields)
        return cast("Any", values)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for the Python method."""
        return {name: getattr(self, name) for name in type(self).model_fields}


def body_of(
    method: Callable[..., Any], *, without: Iterable[str] = (), **types_of_json: Any
) -> type[Body]:
    """Return a body with the parameters of a method.

    Args:
        method: The Python method.
        without: Parameters that stand elsewhere in the request, or that HTTP does not have.
        types_of_json: Types for parameters that are Python objects in the method.
    """
    fields: dict[str, Any] = {}
    for name, parameter in parameters_of(method).items():
        if name in without:
            continue
        kind = _as_json(types_of_json.get(name, parameter.type))
        default = ... if parameter.is_required else parameter.default
        if name == "user_id":
            # A key of one user names the user already.
            kind, default = kind | None, None
        fields[name] = (Annotated[kind, Field(description=parameter.text)], default)
    return create_model(method.__name__, __base__=Body, **fields)


def _as_json(kind: Any) -> Any:
    """Return a type as requests have it: texts are texts, and lists and texts have a limit.

    Python also accepts a whole number as an id, which OpenAPI says is a text.
    """
    origin, items = get_origin(kind), get_args(kind)
    if origin is Annotated:
        inner, *checks = items
        annotated = _as_json(inner)
        for check in checks:
            annotated = Annotated[annotated, check]
        if inner is str:
            schemas = [check.schema for check in checks if isinstance(check, Check)]
            largest = next((schema.get("maxLength") for schema in schemas if schema), None)
            annotated = Annotated[annotated, BeforeValidator(partial(_read_text, largest=largest))]
        return annotated
    if origin in (Union, types.UnionType):
        return Union[tuple(map(_as_json, items))]  # noqa: UP007 (made at run time)
    if origin is Sequence:
        return Annotated[Sequence[_as_json(items[0])], Field(max_length=LARGEST_LIST)]
    if origin is Mapping:
        return Mapping[items[0], _as_json(items[1])]
    return kind


def _read_text(value: object, largest: int | None) -> object:
    if not isinstance(value, str):
        raise wrong_value("must be a text", value)
    if largest is not None and len(value) > largest:
        raise ValueError(f"has {len(value):,} characters; at most {largest:,} are accepted")
    return value


def _example(*examples: dict[str, JsonValue]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples)})


# Bodies ------------------------------------------------------------------------------------------


Text = Annotated[str, Field(max_length=1_000_000)]


class MessageIn(BaseModel):
    """A message, in memsense's own form or as OpenAI and Anthropic send it."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(description="user, assistant, system or tool", examples=["user"])]
    content: Annotated[
        Text | list[dict[str, JsonValue]] | None,
        Field(description="The text, or a list of parts.", examples=["I moved to Lisbon."]),
    ] = None
    id: Annotated[Id | int | None, Field(description="The log's own id.")] = None
    at: Annotated[datetime | None, Field(description="When it was said.")] = None
    name: Annotated[str | None, Field(description="The speaker's name.")] = None


Messages = Annotated[list[MessageIn], Field(min_length=1, max_length=LARGEST_MESSAGE_COUNT)]


class NewMemories(body_of(Memory.add, without=("key", "connection"), messages=Messages)):
    """Messages of one session, to be stored as exchanges."""

    model_config = _example({
        "user_id": "ada",
        "session_id": "monday",
        "messages": [
            {"role": "user", "content": "I moved to Lisbon in March."},
            {"role": "assistant", "content": "How do you like it?"},
        ],
        "tags": ["home"],
    })  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `add`, with messages as plain dicts."""
        arguments = super().arguments()
        messages: list[MessageIn] = arguments["messages"]
        arguments["messages"] = [
            {**message.model_dump(exclude_none=True), "content": message.content or ""}
            for message in messages
        ]
        return arguments


class Sides(Body):
    """New texts of an exchange's sides; a side that is left out stays."""

    user: Text | None = None
    assistant: Text | None = None


class UpdateBody(body_of(Memory.update, without=("chunk_id", "key"), content=Text | Sides | None)):
    """Changes of a memory; what is left out stays."""

    model_config = _example({"content": {"assistant": "Noted: Porto since May."}, "ttl": "30d"})

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `update`, with the sides as a plain dict."""
        arguments = super().arguments()
        if isinstance(arguments["content"], Sides):
            arguments["content"] = arguments["content"].model_dump(exclude_none=True)
        return arguments


class SearchBody(body_of(Memory.search, profile=Name | None)):
    """A question, whose memory to search, filters, and how to rank."""

    model_config = _example({"query": "Where does Ada live?", "user_id": "ada", "top_k": 4})


class ContextBody(body_of(Memory.context, without=("tokenizer",), profile=Name | None)):
    """A prompt, whose memory to use, filters, and how much to return."""

    explain: Annotated[
        bool, Field(description="Add the lines with their reasons, and why others are left out.")
    ] = False

    model_config = _example({"prompt": "Where does Ada live?", "user_id": "ada"})


class WhyNotBody(body_of(Memory.why_not, profile=Name | None)):
    """A question, and the memory that it should have returned."""

    model_config = _example({"query": "Where does Ada live?", "user_id": "ada", "chunk_id": 42})


class ReplayBody(body_of(TracesResource.replay, without=("trace_id",), profile=Name | None)):
    """Constants with which to run a recorded search again; by default the recorded ones."""

    model_config = _example({"overrides": {"lexical": 1.5, "mmr_lambda": 1.0}})


class ReasonBody(body_of(Memory.forget, without=("chunk_id", "key"))):
    """The reason of a change."""

    model_config = _example({"reason": "she has moved"})


class FeedbackBody(body_of(Memory.feedback, without=("chunk_id", "key"))):
    """Feedback on a memory that a search returned."""

    model_config = _example({"helpful": True, "question": "Where does Ada live?"})


class EraseBody(body_of(Memory.erase, without=("user_id", "by"))):
    """The session or the message to erase; without an id, all of the user's memory."""

    model_config = _example({}, {"session_id": "monday"})


JobIds = Annotated[Sequence[ChunkId] | None, Field(min_length=1, max_length=LARGEST_LIST)]


class JobsBody(body_of(JobsResource.retry, job_ids=JobIds)):
    """Jobs; without ids, all dead ones."""

    model_config = _example({"job_ids": [17]})


# Parameters --------------------------------------------------------------------------------------

_LIST = parameters_of(Memory.list)


def text_of(name: str, parameters: Mapping[str, Parameter] = _LIST) -> str:
    """Return the text of a parameter, by default of `list`."""
    return parameters[name].text


MemoryPath = Annotated[
    int,
    Path(
        ge=1,
        le=LARGEST_BIGINT,
        description=text_of("chunk_id", parameters_of(Memory.get)),
    ),
]
UserId = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=LONGEST_ID,
        pattern=VISIBLE,
        description="Only this user's memory. A key of one user needs none.",
    ),
]
AllUsers = Annotated[bool, Query(description=text_of("all_users"))]
Limit = Annotated[int, Query(ge=1, le=200, description=text_of("limit"))]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=LONGEST_ID,
        pattern=r"^[!-~]+$",
        description=text_of("key", parameters_of(Memory.add)),
    ),
]


def _cursor_of(kind: str) -> Callable[[str | None], str | None]:
    """Return a dependency that reads the cursor, and refuses one of another kind of list."""

    def check(cursor: Annotated[str | None, Query(description=text_of("cursor"))] = None) -> Any:
        if cursor is not None:
            check_cursor(kind, cursor)
        return cursor

    return check


def check_cursor(kind: str, cursor: str) -> None:
    """Raise ProblemError unless the cursor belongs to this kind of list."""
    try:
        read_cursor(kind, cursor)
    except InvalidInputError as error:
        raise ProblemError(400, str(error)) from error


ChunkCursor = Annotated[str | None, Depends(_cursor_of("newest"))]
SessionCursor = Annotated[str | None, Depends(_cursor_of("sessions"))]
TraceCursor = Annotated[str | None, Depends(_cursor_of("traces"))]
UserCursor = Annotated[str | None, Depends(_cursor_of("users"))]
