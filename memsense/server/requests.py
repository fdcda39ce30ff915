"""Bodies and parameters of requests, made from the signatures of the Python methods.

A body has the parameters of its method with their types, defaults, limits and texts, so that HTTP
and Python can't drift apart. Only what HTTP needs besides stands here: JSON's types in place of
Python objects, limits of lists, and examples.
"""

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
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

from memsense.client.access_keys import AccessKeysResource
from memsense.client.cursors import read_cursor
from memsense.client.jobs import JobsResource
from memsense.client.profiles import ProfilesResource
from memsense.client.projects import ProjectsResource
from memsense.client.questions import QuestionsResource
from memsense.client.settings import SettingsResource
from memsense.client.traces import TracesResource
from memsense.client.ttl import TtlResource
from memsense.client.verbs import Memory
from memsense.declaration import Parameter, parameters_of, read_arguments, unknown_argument
from memsense.errors import InvalidInputError
from memsense.inputs import VISIBLE, Check, ChunkId, Id, Name, wrong_value
from memsense.search.profiles import ROUTES, TUNABLE, Profile
from memsense.search.settings import CHOICES, QUOTA, SETTING_NAMES
from memsense.server.problems import ProblemError
from memsense.write.messages import list_messages

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


def body_of(
    method: Callable[..., Any], *, without: Iterable[str] = (), base: type[Body] = Body
) -> type[Body]:
    """Return a body with the parameters of a method.

    Args:
        method: The Python method.
        without: Parameters that stand elsewhere in the request, or that HTTP does not have.
        base: Class of the body.
    """
    fields: dict[str, Any] = {}
    for name, parameter in parameters_of(method).items():
        if name in without or is_of_python_alone(parameter):
            continue
        kind = _as_json(JSON_TYPES.get(name, parameter.type))
        default = ... if parameter.is_required else parameter.default
        if name == "user_id":
            # A key of one user names the user already.
            kind, default = kind | None, None
        fields[name] = (Annotated[kind, Field(description=parameter.text)], default)
    return create_model(method.__name__, __base__=base, **fields)


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


class _WithMatches(Body):
    """Base of the bodies whose answers have word matches, but only if they are asked for."""

    beside: ClassVar[Sequence[str]] = ("matches",)

    matches: Annotated[
        bool,
        Field(
            description="Add `matches` to each hit's `explain`: which words of the question met"
            " which of the memory. They cost as much time as all else in the answer."
        ),
    ] = False


class SearchBody(body_of(Memory.search, base=_WithMatches)):
    """A question, whose memory to search, filters, and how to rank."""

    model_config = _example({"query": "Where does Ada live?", "user_id": "ada", "top_k": 4})


class RecordBody(body_of(Memory.search, without=("trace",), base=_WithMatches)):
    """A search that is recorded."""

    model_config = _example({"query": "Where does Ada live?", "user_id": "ada"})


class SearchesBody(body_of(Memory.search_many, base=_WithMatches)):
    """Several questions with the same filters."""

    model_config = _example({"queries": ["Where does Ada live?", "What tea?"], "user_id": "ada"})


class ContextBody(body_of(Memory.context)):
    """A prompt, whose memory to use, filters, and how much to return."""

    model_config = _example({"prompt": "Where does Ada live?", "user_id": "ada"})

    beside: ClassVar[Sequence[str]] = ("explain",)

    explain: Annotated[
        bool, Field(description="Add the lines with their reasons, and why others are left out.")
    ] = False


class WhyNotBody(body_of(Memory.why_not)):
    """A question, and the memory that it should have returned."""

    model_config = _example({"query": "Where does Ada live?", "user_id": "ada", "chunk_id": 42})


class ReplayBody(body_of(TracesResource.replay, without=("trace_id",))):
    """Constants with which to run a recorded search again; by default the recorded ones."""

    model_config = _example({"overrides": {"lexical": 1.5, "mmr_lambda": 1.0}})


class CompareBody(body_of(TracesResource.compare)):
    """Constants with which to run the latest recorded searches again."""

    model_config = _example({"count": 5, "profile": "lexical"})


class ReasonBody(body_of(Memory.forget, without=("chunk_id",))):
    """The reason of a change."""

    model_config = _example({"reason": "she has moved"})


class FeedbackBody(body_of(Memory.feedback, without=("chunk_id",))):
    """Feedback on a memory that a search returned."""

    model_config = _example({"helpful": True, "question": "Where does Ada live?"})


class EraseBody(body_of(Memory.erase)):
    """Selection to erase for good: all of a user's memory, a session, or a message."""

    model_config = _example({"user_id": "ada", "session_id": "monday"})


class JobsBody(body_of(JobsResource.retry)):
    """Jobs; without ids, all dead ones."""

    model_config = _example({"job_ids": [17]})


class KeyBody(body_of(AccessKeysResource.create)):
    """A new access key: what it allows, and whose memory it opens."""

    model_config = _example({"scopes": ["read", "write"], "name": "chat", "user_id": "ada"})


class ProjectBody(body_of(ProjectsResource.create)):
    """A new pool of sessions."""

    model_config = _example({"name": "kitchen", "session_ids": ["monday"]})


class SessionsOfProject(body_of(ProjectsResource.add, without=("name",))):
    """Sessions to put into a project, or to take out of it."""

    model_config = _example({"session_ids": ["friday"]})


class LabelBody(body_of(QuestionsResource.label)):
    """A label of a memory: whether it is right for a question."""

    model_config = _example({
        "question": "Where does Ada live?", "chunk_id": 42, "right": True, "user_id": "ada",
    })  # fmt: skip


class UnlabelBody(body_of(QuestionsResource.unlabel)):
    """A label to remove."""

    model_config = _example({"question": "Where does Ada live?", "chunk_id": 42, "user_id": "ada"})


class QuestionBody(body_of(QuestionsResource.remove)):
    """A question to remove from its set."""

    model_config = _example({"question": "Where does Ada live?", "user_id": "ada"})


class CompareSetBody(body_of(QuestionsResource.compare)):
    """Two rankings with which to ask all questions of a set."""

    model_config = _example({"set_name": "questions", "overrides": {"lexical": 1.5}})


class RuleBody(body_of(TtlResource.set)):
    """A rule of how long memories are stored."""

    model_config = _example({"ttl": "90d", "tag": "scratch"})


class RuleName(body_of(TtlResource.unset)):
    """A rule to delete."""

    model_config = _example({"tag": "scratch"})


# Bodies with names of constants ------------------------------------------------------------------

Constant = StrictInt | StrictFloat | StrictBool | StrictStr


def with_constants(body: type[Body], names: Iterable[str]) -> type[Body]:
    """Return a body that also has constants of profiles by name, as `**changes` has in Python."""
    fields: dict[str, Any] = {
        name: (Annotated[Constant | None, Field(description=TEXTS.get(name, ""))], None)
        for name in names
        if name not in body.model_fields
    }
    return create_model(body.__name__, __base__=body, **fields)


TEXTS: Mapping[str, str] = {
    **read_arguments(Profile.__doc__ or ""),
    **{name: f"Weight of the route {name}, 0 to 5." for name in ROUTES},
    **{name: f"One of: {', '.join(values)}." for name, values in CHOICES.items()},
    "profile": "A shipped or stored profile.",
    QUOTA: "The most exchanges that each user may have; 0 for no limit.",
}
"""Texts of the constants and settings."""


class _Changes(Body):
    """Base of the bodies that change only what was sent."""

    def arguments(self) -> dict[str, Any]:
        """Return what was sent."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class SettingsBody(with_constants(body_of(SettingsResource.set, base=_Changes), SETTING_NAMES)):
    """Settings to change, all of them or none; what is left out stays."""

    model_config = _example({"lexical": 1.5, "history": "on"})


class ProfileBody(with_constants(body_of(ProfilesResource.create, base=_Changes), TUNABLE)):
    """A new profile: another one with some constants changed."""

    model_config = _example({"name": "mine", "base": "vector_heavy", "lexical": 1.5})


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
