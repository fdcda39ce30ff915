"""Bodies and parameters of requests, made from the signatures of the Python methods.

A body has the parameters of its method with their types, defaults, limits and texts, so that HTTP
and Python can't drift apart. A route's row names its body and gives an example, by `BodySpec`.
Written out here is what HTTP needs in addition: JSON's types in place of Python objects, limits of
lists, and bodies with fields or arguments of their own.
"""

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, ClassVar, LiteralString, Self, Union, cast, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    ModelWrapValidatorHandler,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import (
    CoreSchema,
    ErrorDetails,
    InitErrorDetails,
    PydanticCustomError,
    core_schema,
)

from memsense.client.cursors import read_cursor
from memsense.client.settings import SettingsResource
from memsense.client.verbs import Memory
from memsense.declaration import Parameter, parameters_of, read_arguments, unknown_argument
from memsense.draft.messages import list_messages
from memsense.errors import InvalidInputError
from memsense.inputs import VISIBLE, Check, ChunkId, Id, Name, wrong_value
from memsense.search.profiles import ROUTES, Profile
from memsense.search.settings import CHOICES, QUOTA, REDACT_KINDS, TIMEZONE
from memsense.server.problems import ProblemError

LARGEST_MESSAGE_COUNT = 10_000
LARGEST_LIST = 1_000
"""Items of a list in a request. Python has no such limit: there the caller pays for its lists."""

LARGEST_PAGE = 200
"""Items of a list in an answer."""

SET_BY_SERVER = frozenset({"key", "by", "connection", "tokenizer"})
"""Parameters that stand in a header, that the key says, or that only a program can pass."""


class Body(BaseModel):
    """A request's body, which refuses fields that it does not have.

    `beside` names fields that the answer needs and the Python method does not have.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    beside: ClassVar[Sequence[str]] = ()

    @model_validator(mode="wrap")
    @classmethod
    def name_unknown_fields(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Raise the error of Python for a field that the body lacks, with the nearest name."""
        try:
            return handler(values)
        except ValidationError as error:
            raise ValidationError.from_exception_data(
                cls.__name__, [_with_nearest(fault, cls.model_fields) for fault in error.errors()]
            ) from None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for the Python method."""
        return {name: getattr(self, name) for name in type(self).model_fields}


def _with_nearest(fault: ErrorDetails, names: Iterable[str]) -> InitErrorDetails:
    """Return a fault of pydantic, with the nearest field's name if it is an unknown field."""
    place, message = fault["loc"], fault["msg"]
    if fault["type"] == "extra_forbidden" and len(place) == 1:
        message = str(unknown_argument(str(place[0]), names)).partition(" ")[2]
        kind = "value_error"
    else:
        kind = fault["type"]
    # As a text of its own: the parameters of pydantic's own kinds can't all be given again.
    error = PydanticCustomError(cast("LiteralString", kind), "{text}", {"text": message})
    return InitErrorDetails(type=error, loc=place, input=fault["input"])


def is_of_python_alone(parameter: Parameter) -> bool:
    """Return whether requests can't have a parameter: a function, or what the server passes."""
    is_function = not parameter.is_required and callable(parameter.default)
    return parameter.name in SET_BY_SERVER or is_function


@dataclass(frozen=True, slots=True)
class BodySpec:
    """Properties of a body that the signature of its method does not have.

    Attributes:
        name: Name in OpenAPI; default: that of the operation.
        text: Description in OpenAPI.
        example: Example in OpenAPI.
        base: Class of the body.
        constants: Constants of profiles that are fields, too, as `**changes` has them in Python.
    """

    name: str = ""
    text: str | None = None
    example: Mapping[str, JsonValue] | None = None
    base: type[Body] = Body
    constants: Iterable[str] = ()


FROM_SIGNATURE = BodySpec()


def body_of(
    method: Callable[..., Any],
    spec: BodySpec = FROM_SIGNATURE,
    *,
    name: str = "Body",
    without: Iterable[str] = (),
) -> type[Body]:
    """Return a body with the parameters of a method.

    Args:
        method: The Python method.
        spec: Name, text and further properties of the body.
        name: Name in OpenAPI, unless the spec has one.
        without: Parameters that stand elsewhere in the request, or that HTTP does not have.
    """
    fields: dict[str, Any] = {}
    for field, parameter in parameters_of(method).items():
        if field in without or is_of_python_alone(parameter):
            continue
        kind = _as_json(JSON_TYPES.get(field, parameter.type))
        default = ... if parameter.is_required else parameter.default
        if field == "user_id":
            # A key of one user names the user already.
            kind, default = kind | None, None
        fields[field] = (Annotated[kind, Field(description=parameter.text)], default)
    for field in spec.constants:
        kind = Annotated[Constant | None, Field(description=TEXTS.get(field, ""))]
        fields.setdefault(field, (kind, None))
    config = {"json_schema_extra": {"examples": [spec.example]}} if spec.example else {}
    return create_model(
        spec.name or name, __base__=spec.base, __doc__=spec.text, __cls_kwargs__=config, **fields
    )


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


class _OneOrMany:
    """Annotation of a list of messages: the user's words, or one message, stand for a list."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(list_messages, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        many = handler(schema)
        words = {"type": "string", "minLength": 1, "maxLength": 1_000_000, "pattern": VISIBLE}
        return {"anyOf": [words, many["items"], many]}


Messages = Annotated[
    list[MessageIn], Field(min_length=1, max_length=LARGEST_MESSAGE_COUNT), _OneOrMany()
]


class Sides(Body):
    """New texts of an exchange's sides; a side that is left out stays."""

    user: Text | None = None
    assistant: Text | None = None


def _plain_messages(messages: Sequence[MessageIn]) -> list[dict[str, Any]]:
    return [
        {**message.model_dump(exclude_none=True), "content": message.content or ""}
        for message in messages
    ]


JSON_TYPES: dict[str, Any] = {
    "messages": Messages,
    "content": Union[Text, Sides, None],  # noqa: UP007 (aliases made at run time)
    "profile": Union[Name, None],  # noqa: UP007
    "base": Name,
    "before": Union[Name, None],  # noqa: UP007
    "after": Union[Name, None],  # noqa: UP007
    "job_ids": Annotated[Sequence[ChunkId] | None, Field(min_length=1, max_length=LARGEST_LIST)],
}
"""Types of the parameters that are Python objects, or have no limit, in the methods."""


class NewMemories(body_of(Memory.add)):
    """Messages of one session, to be stored as exchanges."""

    model_config = _example(
        {"user_id": "ada", "messages": "I like tea"},
        {
            "user_id": "ada",
            "session_id": "monday",
            "messages": [
                {"role": "user", "content": "I moved to Lisbon in March."},
                {"role": "assistant", "content": "How do you like it?"},
            ],
            "tags": ["home"],
        },
    )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `add`, with messages as plain dicts."""
        arguments = super().arguments()
        return arguments | {"messages": _plain_messages(arguments["messages"])}


class NewSession(body_of(Memory.add, without=("redact", "embed"))):
    """One session of several; its user may be named for all of them."""

    def arguments(self) -> dict[str, Any]:
        """Return the item for `add_many`, with what was sent alone."""
        arguments = {name: getattr(self, name) for name in self.model_fields_set}
        return arguments | {"messages": _plain_messages(arguments["messages"])}


JSON_TYPES["sessions"] = Annotated[list[NewSession], Field(min_length=1, max_length=LARGEST_LIST)]


class NewSessions(body_of(Memory.add_many)):
    """Several sessions, stored in one transaction."""

    model_config = _example({
        "user_id": "ada",
        "sessions": [
            {"session_id": "monday", "messages": [{"role": "user", "content": "I like tea."}]},
            {"session_id": "friday", "messages": [{"role": "user", "content": "Now I like mate."}]},
        ],
    })  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `add_many`, with sessions as plain dicts."""
        arguments = super().arguments()
        return arguments | {"sessions": [item.arguments() for item in arguments["sessions"]]}


class UpdateBody(body_of(Memory.update, without=("chunk_id",))):
    """Changes of a memory; what is left out stays."""

    model_config = _example({"content": {"assistant": "Noted: Porto since May."}, "ttl": "30d"})

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `update`, with the sides as a plain dict."""
        arguments = super().arguments()
        if isinstance(arguments["content"], Sides):
            arguments["content"] = arguments["content"].model_dump(exclude_none=True)
        return arguments


class WithMatches(Body):
    """Base of the bodies whose answers have word matches, but only if they are asked for."""

    beside: ClassVar[Sequence[str]] = ("matches",)

    matches: Annotated[
        bool,
        Field(
            description="Add `matches` to each hit's `explain`: which words of the question met"
            " which of the memory. They cost as much time as all else in the answer."
        ),
    ] = False


class ContextBody(body_of(Memory.context)):
    """A prompt, whose memory to use, filters, and how much to return."""

    model_config = _example({"prompt": "Where does Ada live?", "user_id": "ada"})

    beside: ClassVar[Sequence[str]] = ("explain",)

    explain: Annotated[
        bool, Field(description="Add the lines with their reasons, and why others are left out.")
    ] = False


# Bodies with names of constants ------------------------------------------------------------------

Constant = StrictInt | StrictFloat | StrictBool | StrictStr

TEXTS: Mapping[str, str] = {
    **read_arguments(Profile.__doc__ or ""),
    **{name: f"Weight of the route {name}, 0 to 5." for name in ROUTES},
    **{name: f"One of: {', '.join(values)}." for name, values in CHOICES.items()},
    "profile": "A shipped or stored profile.",
    QUOTA: "The most exchanges that each user may have; 0 for no limit.",
    REDACT_KINDS: "Kinds of secrets that are replaced: all, or with commas between, such as"
    " password,api-key; with a minus before each, such as -iban,-card, all others.",
    TIMEZONE: "IANA name of the time zone of those who ask, such as Europe/Lisbon.",
}
"""Texts of the constants and settings."""


class Changes(Body):
    """Base of the bodies that change only what was sent."""

    def arguments(self) -> dict[str, Any]:
        """Return what was sent."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class ResetBody(body_of(SettingsResource.reset)):
    """Settings to return to their defaults; without names, all of them."""

    model_config = _example({"names": ["lexical"]})

    names: Annotated[
        list[Name], Field(max_length=LARGEST_LIST, description="Names of settings.")
    ] = Field(default_factory=list[str])


# Cursors -----------------------------------------------------------------------------------------


def check_cursor(kind: str, cursor: str) -> None:
    """Raise ProblemError unless the cursor belongs to this kind of list."""
    try:
        read_cursor(kind, cursor)
    except InvalidInputError as error:
        raise ProblemError(400, str(error)) from error
