"""Operations of the API: each is a method of the Python API at an address.

The signature of the method gives the parameters, the body, their texts and the name; the table says
only its path, which scope it needs and what answers it. An answer leaves in one place, which
keeps memory from keys that may not read.
"""

import inspect
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any, cast, get_args, get_origin

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import AfterValidator, BeforeValidator, create_model
from pydantic_core import to_json

from memsense.client.access_keys import AccessKeysResource
from memsense.client.embedding_models import ModelsResource
from memsense.client.erasing import ErasuresResource
from memsense.client.indexes import IndexesResource
from memsense.client.jobs import JobsResource
from memsense.client.memory import MemSense
from memsense.client.profiles import ProfilesResource
from memsense.client.projects import ProjectsResource
from memsense.client.questions import QuestionsResource
from memsense.client.settings import SettingsResource
from memsense.client.traces import TracesResource
from memsense.client.ttl import TtlResource
from memsense.client.user_memory import UserEntities, UserMemory, UserProjects, UserTraces
from memsense.declaration import Parameter, parameters_of, plain_type
from memsense.graph.resource import Entities
from memsense.inputs import LARGEST_BIGINT, LONGEST_ID, VISIBLE, wrong_value
from memsense.server.answers import Answer, Tagged, Written, ids_in
from memsense.server.callers import Caller, require, state_of
from memsense.server.problems import ProblemError, problem_responses
from memsense.server.requests import (
    FROM_SIGNATURE,
    LARGEST_LIST,
    LARGEST_PAGE,
    Body,
    BodySpec,
    body_of,
    check_cursor,
    is_of_python_alone,
)
from memsense.store.access import KeyScope

JSON = "application/json"

SMALLEST_COMPRESSED = 1_000
COMPRESSION = 1
"""Bytes from which an answer is compressed, and zlib's level: higher ones save little more."""

GZIP = 31
"""Window bits by which zlib writes gzip's form."""

RESOURCES: Mapping[str, type] = {
    "": MemSense,
    "access_keys": AccessKeysResource,
    "entities": Entities,
    "erasures": ErasuresResource,
    "indexes": IndexesResource,
    "jobs": JobsResource,
    "models": ModelsResource,
    "profiles": ProfilesResource,
    "projects": ProjectsResource,
    "questions": QuestionsResource,
    "settings": SettingsResource,
    "traces": TracesResource,
    "ttl": TtlResource,
}
"""Classes of the resources that have routes, by the name of their attribute of MemSense."""

USER_RESOURCES: Mapping[str, type] = {
    "": UserMemory,
    "entities": UserEntities,
    "projects": UserProjects,
    "traces": UserTraces,
}
"""The same of one user's memory. A method that it lacks concerns the whole tenant."""

ROW_IDS = frozenset({"chunk_id", "trace_id"})
"""Parameters that name a row: in one user's memory, the rows of others do not exist."""

CURSORS: Mapping[str, str] = {
    "list": "newest",
    "sessions": "sessions",
    "users": "users",
    "changes": "changes",
    "traces.list": "traces",
}
"""Kind of the cursors of each list, by the verb."""


@dataclass(frozen=True)
class Operation:
    """A method of the Python API at an address.

    Attributes:
        method: Method of HTTP.
        path: Path below /v1; parameters of the method may stand in it.
        verb: Dotted name of the method in `MemSense`, such as "settings.set".
        scope: Scope that a key needs.
        answer: Form of the answer; None for an answer without a body.
        name: Name of the operation; default: that of the verb.
        status: Status of success.
        body: Name and example of the request's body, or the body, where JSON needs more than that.
        fixed: Arguments that the route itself passes.
        location: Address of the resource that was created, with fields of the answer.
        problems: Statuses of errors besides those that every route has.
        spread: Field of the body whose items the method takes by position.
        check: Called with the caller and the arguments before the method.
    """

    method: str
    path: str
    verb: str
    scope: KeyScope
    answer: type[Answer] | None
    _: KW_ONLY
    name: str = ""
    status: int = 200
    body: type[Body] | BodySpec = FROM_SIGNATURE
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    location: str = ""
    problems: Sequence[int] = ()
    spread: str = ""
    check: Callable[[Caller, Mapping[str, Any]], None] | None = None

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The method's function in its class."""
        resource, _, name = self.verb.rpartition(".")
        return getattr(RESOURCES[resource], name)

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The method's parameters by name."""
        return parameters_of(self.function)

    @cached_property
    def is_of_user(self) -> bool:
        """Return whether one user's memory has the method, too."""
        resource, _, name = self.verb.rpartition(".")
        return hasattr(USER_RESOURCES.get(resource), name)

    @cached_property
    def path_names(self) -> AbstractSet[str]:
        """Parameters that stand in the path."""
        parts = self.path.split("{")[1:]
        return {part.partition("}")[0].partition(":")[0] for part in parts}

    @cached_property
    def is_narrowed(self) -> bool:
        """Return whether `user_id` chooses the memory, rather than being passed on."""
        return self.is_of_user and (
            "user_id" not in self.parameters or bool(ROW_IDS & self.parameters.keys())
        )

    @cached_property
    def body_type(self) -> type[Body] | None:
        """The body: made of the parameters that stand nowhere else, None if there are none."""
        if self.method in {"GET", "DELETE"}:
            return None
        if not isinstance(self.body, BodySpec):
            return self.body
        without = {*self.path_names, *self.fixed}
        body = body_of(self.function, self.body, name=f"{self.class_name}Body", without=without)
        return body if body.model_fields else None

    def signature(self) -> inspect.Signature:
        """Return the signature from which FastAPI reads the request and writes OpenAPI."""
        items = [
            _keyword("request", Request, ...),
            _keyword("caller", Annotated[Caller, Depends(require(self.scope))], ...),
        ]
        has_body = self.body_type is not None
        for name, parameter in self.parameters.items():
            if name in self.path_names:
                items.append(_keyword(name, _as_path(parameter), ...))
            elif name == "key":
                items.append(_keyword("idempotency_key", IdempotencyKey, None))
            elif not has_body and not is_of_python_alone(parameter) and name not in self.fixed:
                items.append(_as_query(self, parameter))
        names = {item.name for item in items}
        in_body = has_body and "user_id" in (self.body_type or Body).model_fields
        if self.version_name:
            items.append(_keyword("if_match", IfMatch, None))
        if self.may_be_unchanged:
            items.append(_keyword("if_none_match", IfNoneMatch, None))
        if self.is_narrowed and "user_id" not in names and not in_body:
            items.append(_keyword("user_id", UserId, None))
        if (body := self.body_type) is not None:
            needs_body = any(item.is_required() for item in body.model_fields.values())
            kind, default = (body, ...) if needs_body else (body | None, None)
            items.append(_keyword("body", kind, default))
        return inspect.Signature(items)

    def run(self, caller: Caller, arguments: dict[str, Any]) -> Any:
        """Return what the method returns, called for the key's tenant or user."""
        if self.check is not None:
            self.check(caller, arguments)
        memory: Any = caller.blocking
        if not self.is_of_user:
            caller.whole()
        elif self.is_narrowed:
            user_id = arguments.pop("user_id", None)
            arguments |= caller.whose(user_id, all_users=arguments.pop("all_users", False))
            if user_id is not None or "user_id" not in self.parameters:
                arguments.pop("user_id", None)
            if user_id is not None and caller.user_id is None:
                memory = memory.for_user(user_id)
        else:
            arguments = caller.with_user(arguments)
            needs_user = self.parameters["user_id"].is_required
            if needs_user and arguments.get("user_id", "") is None:
                raise ProblemError(422, "user_id is missing: say whose memory it is")
        positional = arguments.pop(self.spread) if self.spread else ()
        return attrgetter(self.verb)(memory)(*positional, **arguments, **self.fixed)

    def respond(
        self,
        caller: Caller,
        value: Any,
        request: Mapping[str, Any],
        *,
        compressed: bool,
        etags: str = "",
    ) -> Response:
        """Return the response for a result, compressed if the client reads that.

        No answer that holds memory leaves for a key that may not read: it gets the ids alone. What
        has one of `etags` as its ETag is not sent again.
        """
        if self.answer is None:
            return Response(status_code=self.status)
        content: Any = self.answer.plain(value, request)
        headers: dict[str, str] = {}
        if self.location:
            headers["Location"] = f"/v1{self.location}".format(**content)
        if self.writes_memory:
            content = {**content, "chunk_ids": sorted(ids_in(content))}
        if not caller.may("read"):
            content = self.answer.close(content)
        elif issubclass(self.answer, Tagged):
            headers["ETag"] = etag = f'"{self.answer.tag(content)}"'
            if self.may_be_unchanged and (etags == "*" or etag in etags):
                return Response(status_code=304, headers=headers)
        body = to_json(content)
        if compressed and len(body) >= SMALLEST_COMPRESSED:
            body = zlib.compress(body, COMPRESSION, wbits=GZIP)
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        # A finished response: FastAPI would check the answer again and copy it item by item.
        return Response(body, status_code=self.status, headers=headers, media_type=JSON)

    def endpoint(self) -> Callable[..., Any]:
        """Return the function that FastAPI calls."""

        async def call(
            request: Request,
            *,
            caller: Caller,
            body: Body | None = None,
            idempotency_key: str | None = None,
            if_match: str | None = None,
            if_none_match: str | None = None,
            **arguments: Any,
        ) -> Response:
            if self.body_type is not None:
                arguments |= (body or self.body_type()).arguments()
            sent = dict(arguments)
            for name in self.body_type.beside if self.body_type is not None else ():
                del arguments[name]
            if "key" in self.parameters:
                arguments["key"] = idempotency_key
            if if_match is not None and if_match != "*":
                arguments[self.version_name] = _read_version(self.version_name, if_match)
            if "by" in self.parameters:
                arguments["by"] = caller.name
            compressed = "gzip" in request.headers.get("accept-encoding", "")

            def answer() -> Response:
                value = self.run(caller, arguments)
                etags = if_none_match or ""
                return self.respond(caller, value, sent, compressed=compressed, etags=etags)

            # The answer is written in the thread, too: the loop has every other client to serve.
            return await state_of(request).threads.run(answer)

        call.__name__ = self.operation_name
        call.__doc__ = (self.function.__doc__ or "").partition("\n")[0]
        call.__signature__ = self.signature()  # pyright: ignore[reportFunctionMemberAccess]
        return call

    @property
    def operation_name(self) -> str:
        """Name in OpenAPI, and so of the function in a generated client."""
        return self.name or self.verb.replace(".", "_")

    @property
    def class_name(self) -> str:
        """Name of the operation as classes have it: "IndexesRebuild"."""
        return self.operation_name.title().replace("_", "")

    @property
    def may_be_unchanged(self) -> bool:
        """Return whether it reads what the caller may have already."""
        return self.method == "GET" and self.answer is not None and issubclass(self.answer, Tagged)

    @property
    def version_name(self) -> str:
        """The parameter with the version that a change expects; empty if it has none."""
        return next((name for name in VERSIONS if name in self.parameters), "")

    @property
    def writes_memory(self) -> bool:
        """Return whether the answer holds memory, and a key that may not read may ask for it."""
        return self.scope != "read" and self.answer is not None and self.answer.holds_memory

    @property
    def is_safe_post(self) -> bool:
        """Return whether it is a POST that changes nothing."""
        return (self.method, self.scope, self.status) == ("POST", "read", 200)

    def add_to(self, router: APIRouter) -> None:
        """Add the route to a router."""
        answer: Any = self.answer
        if self.writes_memory:
            # One schema for both kinds of keys: of a union, typed clients could use neither part.
            answer = create_model(
                f"{self.class_name}Answer",
                __base__=(Written, answer),
                __doc__=f"{answer.__doc__} A key without the scope `read` gets the ids alone.",
                __cls_kwargs__={"json_schema_extra": {"required": ["chunk_ids"]}},
            )
        # A caller's time limit ends anything that still runs.
        problems = [*self.problems, *([504] if "timeout" in self.parameters else [])]
        problems += [412] if self.version_name else []
        router.add_api_route(
            self.path,
            self.endpoint(),
            methods=[self.method],
            status_code=self.status,
            response_model=answer,
            responses=problem_responses(*problems) | (UNCHANGED if self.may_be_unchanged else {}),
            name=self.operation_name,
            # Clients repeat it after a lost answer.
            openapi_extra={"x-memsense-safe": True} if self.is_safe_post else None,
        )


# Parameters --------------------------------------------------------------------------------------

UserId = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=LONGEST_ID,
        pattern=VISIBLE,
        description="Only this user's memory. A key of one user needs none.",
    ),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=LONGEST_ID,
        pattern=r"^[!-~]+$",
        description=parameters_of(MemSense.add)["key"].text,
    ),
]

IfMatch = Annotated[
    str | None,
    Header(
        pattern=r'^(\*|"[^"]*")$',
        description="ETag of what is to be changed: if that is another by now, nothing is done.",
    ),
]
IfNoneMatch = Annotated[
    str | None, Header(description="ETags of the answer as the caller has it already.")
]
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is as If-None-Match says"}}


VERSIONS = ("if_version", "expected_version")
"""Parameters with the version that a memory, or the settings, must still have."""


def _read_version(name: str, if_match: str) -> str | int:
    version = if_match.strip('"').partition("-")[0]
    if name == "if_version":
        return version
    if not version.isdecimal():
        raise ProblemError(412, f"{if_match} is no ETag of the settings; read them again")
    return int(version)


def _keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    value = inspect.Parameter.empty if default is ... else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=kind)


def _as_path(parameter: Parameter) -> Any:
    if plain_type(parameter.type) is int:
        return Annotated[int, Path(ge=1, le=LARGEST_BIGINT, description=parameter.text)]
    # A path always has a value, also where Python has a default.
    items = get_args(parameter.type)
    kind = items[0] if NoneType in items else parameter.type
    return Annotated[kind, Path(description=parameter.text)]


def _as_query(operation: Operation, parameter: Parameter) -> inspect.Parameter:
    """Return a parameter of the query: texts of numbers are numbers, and JSON is a text."""
    name, text = parameter.name, parameter.text
    default: Any = ... if parameter.is_required else parameter.default
    if name == "user_id":
        return _keyword(name, UserId, None)
    if name == "limit":
        size = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description=text)]
        return _keyword(name, size, min(default, LARGEST_PAGE))
    if name == "cursor":
        kind = CURSORS[operation.verb]

        def check(cursor: Annotated[str | None, Query(description=text)] = None) -> str | None:
            if cursor is not None:
                check_cursor(kind, cursor)
            return cursor

        return _keyword(name, Annotated[str | None, Depends(check)], None)
    members = [parameter.type, *get_args(parameter.type)]
    if any(get_origin(plain_type(member)) is Mapping for member in members):
        object_text = Annotated[str, AfterValidator(_read_object)]
        note = Query(description=f"{text} As the text of JSON.")
        return _keyword(name, Annotated[object_text | None, note], None)
    item = next((it for m in members if (it := _item_of(m)) is not None), None)
    if item is not None:
        if plain_type(item) is int:
            item = Annotated[item, BeforeValidator(_read_number)]
        listed = Annotated[list[item], Query(max_length=LARGEST_LIST, description=text)]
        optional = Annotated[list[item] | None, Query(max_length=LARGEST_LIST, description=text)]
        if default is None:
            return _keyword(name, optional, None)
        return _keyword(name, listed, default if default is ... else list(default))
    kinds = set(members) | {plain_type(member) for member in members}
    kind = parameter.type
    if kinds & {int, float}:
        kind = Annotated[kind, BeforeValidator(_read_number)]
    return _keyword(name, Annotated[kind, Query(description=text)], default)


def _item_of(kind: Any) -> Any:
    """Return the type of a list's items, None for a type that is no list."""
    if get_origin(kind) is Annotated:
        return _item_of(get_args(kind)[0])
    return get_args(kind)[0] if get_origin(kind) is Sequence else None


def _read_number(value: object) -> object:
    """Return the number that a text of the query holds; any other value as it is."""
    if isinstance(value, str):
        for read in (int, float):
            try:
                return read(value)
            except ValueError:
                continue
    return value


def _read_object(value: str) -> dict[str, Any]:
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise wrong_value("must be the text of a JSON object", value)
    return cast("dict[str, Any]", read)
