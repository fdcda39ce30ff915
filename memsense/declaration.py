"""Declarations of public methods: one signature from which every face takes its parameters.

The Python signature of a public method, with types of `memsense.inputs` and the `Args:` section of
its docstring, is the only place where its parameters are written down. `takes` checks the
arguments by it; HTTP bodies, CLI options, MCP tools, the asynchronous class and the reference are
made from it, here at run time or by `make generate`.
"""

import inspect
import types
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import (
    Annotated,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from pydantic import Field
from pydantic.fields import FieldInfo

from memsense.errors import UnknownArgumentError
from memsense.inputs import AsList, Callback, Checker, Switch, about, number
from memsense.text.docstrings import read_arguments
from memsense.text.nearest import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

REQUIRED = inspect.Parameter.empty
"""Default of a parameter that has none."""

_UNCHECKED = (str, int, float)
_UNIONS = (Union, types.UnionType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a public method.

    Attributes:
        name: Its name in Python, the same in every face.
        type: Its type with the checks of `memsense.inputs`; pydantic validates with it.
        plain_type: The same type without checks, as `help()` shows it.
        default: Its default, or `REQUIRED`.
        text: Its line of the `Args:` section.
        is_keyword: Whether it must be passed by name.
    """

    name: str
    type: Any
    plain_type: Any
    default: Any
    text: str
    is_keyword: bool

    @property
    def is_required(self) -> bool:
        """Return whether a call must pass it."""
        return self.default is REQUIRED

    def field(self) -> tuple[Any, Any]:
        """Return its type and default as `pydantic.create_model` takes them."""
        default = ... if self.is_required else self.default
        return Annotated[self.type, Field(description=self.text)], default


@lru_cache(maxsize=512)
def parameters_of(method: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the parameters of a public method by name, in order, without `self`.

    `*args` and `**kwargs` are left out: faces other than Python have none.

    Args:
        method: A function, such as `MemSense.search`.
    """
    texts = read_arguments(method.__doc__ or "")
    declared = inspect.unwrap(method)
    parameters: dict[str, Parameter] = {}
    for name, item in inspect.signature(declared).parameters.items():
        if name in {"self", "cls"} or item.kind in {item.VAR_POSITIONAL, item.VAR_KEYWORD}:
            continue
        text, kind = split_text(item.annotation)
        parameters[name] = Parameter(
            name=name,
            type=kind,
            plain_type=plain_type(kind),
            default=item.default,
            text=text or texts.get(name, ""),
            is_keyword=item.kind is item.KEYWORD_ONLY,
        )
    return parameters


# Types -------------------------------------------------------------------------------------------


def split_text(annotation: Any) -> tuple[str, Any]:
    """Return the description anywhere in an annotation, and the type without it."""
    if get_origin(annotation) is Annotated:
        inner, *extras = get_args(annotation)
        notes = [it for it in extras if isinstance(it, FieldInfo) and it.description]
        checks = [it for it in extras if it not in notes]
        text, kind = split_text(inner)
        for check in checks:
            kind = Annotated[kind, check]
        return (notes[0].description or "" if notes else text), kind
    if get_origin(annotation) in _UNIONS:
        pairs = [split_text(item) for item in get_args(annotation)]
        text = next((text for text, _ in pairs if text), "")
        return text, Union[tuple(kind for _, kind in pairs)]  # noqa: UP007 (made at run time)
    return "", annotation


def plain_type(annotation: Any) -> Any:
    """Return an annotation without checks and texts: `int`, where `Annotated[int, ...]` stood."""
    origin, items = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return plain_type(items[0])
    if origin in _UNIONS:
        union = plain_type(items[0])
        for item in items[1:]:
            union = union | plain_type(item)
        return union
    if items and origin is not Literal:
        try:
            return origin[tuple(map(plain_type, items))]
        except TypeError:  # Callable's first item is a list
            return annotation
    return annotation


def _check_of(annotation: Any, name: str) -> Checker | None:
    """Return the check of an annotation, or None if it accepts anything.

    Raises TypeError for a plain `str`, `int` or `float`: a public method says what it accepts.
    """
    if isinstance(annotation, str) or annotation in (Any, object, REQUIRED):
        return None
    annotation = split_text(annotation)[1]
    if annotation is bool:
        return Checker(Switch, name)
    members = [it for it in get_args(annotation) if it is not type(None)]
    if get_origin(annotation) in _UNIONS and members == [bool]:
        return Checker(Switch | None, name)
    kinds = members if get_origin(annotation) in _UNIONS else [annotation]
    if any(kind in _UNCHECKED for kind in kinds) and len(kinds) == 1:
        raise TypeError(f"{name}: {annotation} checks nothing; use a type of memsense.inputs")
    if any(get_origin(kind) is Annotated or get_origin(kind) is Literal for kind in kinds):
        return Checker(annotation, name)
    if get_origin(annotation) is get_origin(Callback):
        return Checker(Callback, name)
    return None


Timeout = Annotated[
    float,
    number(0.001, 86_400),
    about("Seconds that the whole call may take: embedding, SQL and retries; default: any."),
]
TIMEOUT = "timeout"
"""Parameter of a verb that `takes` applies to the whole call."""

read_timeout = Checker(Timeout, TIMEOUT)

# Decorators --------------------------------------------------------------------------------------

COUNTED = {
    "Memory": "",
    "UserMemory": "",
    "HistoriesResource": "histories.",
    "ItemsResource": "items.",
}
"""Classes whose calls are counted where metering is on, with the prefix of their verbs."""


def counted(function: Callable[P, R]) -> Callable[P, R]:
    """Return a method that is counted by the meter of its object's context, if that has one.

    A method of a class that is not in COUNTED is returned as it is. A call counts for the user of a
    view, else for the one that it names.
    """
    owner, _, name = function.__qualname__.rpartition(".")
    if owner not in COUNTED:
        return function
    verb = COUNTED[owner] + name
    method = cast("Callable[..., R]", function)

    @wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> R:
        context = self._context
        meter = context.meter
        if meter is None:
            return method(self, *args, **kwargs)
        user_id = getattr(self, "user_id", None) or kwargs.get("user_id")
        return meter.count(context.settings, verb, user_id, method, (self, *args), kwargs)

    return cast("Callable[P, R]", call)


def unknown_argument(name: str, names: Iterable[str]) -> UnknownArgumentError:
    """Return the error for an argument that a method does not have, with the nearest name."""
    return UnknownArgumentError(f"{name} is unknown{did_you_mean(name, names)}")


def takes(function: Callable[P, R]) -> Callable[P, R]:
    """Check and clean a public method's arguments by the types of its signature.

        @takes
        def forget(self, chunk_id: ChunkId, *, reason: Reason | None = None) -> list[int]: ...

    A call raises InvalidInputError for the first bad argument, and UnknownArgumentError for an
    argument that the method does not have. `help()` shows the plain types.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters
    checks: dict[str, Checker] = {}
    for name, item in parameters.items():
        kind = item.annotation
        if item.kind is item.VAR_POSITIONAL and not isinstance(kind, str):
            kind = Annotated[Sequence[kind], AsList]
        if item.kind is not item.VAR_KEYWORD and (check := _check_of(kind, name)):
            checks[name] = check
    places = {place: checks[name] for place, name in enumerate(parameters) if name in checks}
    kinds = [item.kind for item in parameters.values()]
    rest = next((n for n in places if kinds[n] is inspect.Parameter.VAR_POSITIONAL), None)
    takes_any_name = inspect.Parameter.VAR_KEYWORD in kinds
    has_timeout = TIMEOUT in parameters
    unchecked: Callable[..., R] = function

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        # Signature.bind would cost a search more than all that is checked here.
        positional = [
            places[place](value) if place in places else value
            for place, value in enumerate(args[:rest])
        ]
        if rest is not None:
            positional += places[rest](args[rest:])
        named: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name in checks:
                named[name] = checks[name](value)
            elif name in parameters or takes_any_name:
                named[name] = value
            else:
                raise unknown_argument(name, parameters)
        if has_timeout and (seconds := named.pop(TIMEOUT, None)) is not None:
            from memsense.db.calls import run_in_time

            return run_in_time(lambda: unchecked(*positional, **named), seconds)
        return unchecked(*positional, **named)

    plain = [it.replace(annotation=plain_type(it.annotation)) for it in parameters.values()]
    cast("Any", checked).__signature__ = signature.replace(parameters=plain)
    return counted(checked)


# Asynchronous classes ----------------------------------------------------------------------------


class Runner(Protocol):
    """Runner of blocking calls that a task waits for, such as `Threads`."""

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the function's result."""
        ...


class Facade:
    """Base of asynchronous resources: the threads, and the blocking resource that they call."""

    def __init__(self, threads: Runner, sync: Any) -> None:
        """Store both. Use `AsyncMemSense`, which calls this."""
        self._threads = threads
        self._sync = sync


def awaited(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return the asynchronous form of a blocking method, with its signature and docstring.

        class AsyncJobsResource(Facade):
            count = awaited(JobsResource.count)

    It runs the method of that name in a thread; the blocking method checks the arguments.
    """
    name = method.__name__

    # `async`, not a function that returns a coroutine: frameworks ask `iscoroutinefunction` whether
    # to await a tool.
    @wraps(method)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._threads.run(getattr(self._sync, name), *args, **kwargs)

    return run
