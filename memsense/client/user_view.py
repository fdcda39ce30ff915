"""Rules of the views of one user's memory, from which no id reaches another user's.

A view has the verbs of `RULES`, with a rule for each parameter that could name something of another
user, and for the result. A verb that is not in `RULES` is not in the view.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar
from uuid import UUID

from memsense.client.context import Context, no_chunk
from memsense.client.traces import TracesResource, no_trace
from memsense.client.verbs import Memory
from memsense.db import run_read
from memsense.declaration import TIMEOUT, counted, read_timeout, unknown_argument
from memsense.errors import InvalidInputError, NotFoundError
from memsense.graph.resource import Entities
from memsense.inputs import shorten
from memsense.search.hits import SearchResult
from memsense.search.prompt import Prompt
from memsense.store import projects
from memsense.store.traces import Trace
from memsense.text.nearest import did_you_mean
from memsense.types import Chunk

V = TypeVar("V", bound=type)

# Rules -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The user of a view, and the memory or resource that it is a view of."""

    user_id: str
    whole: Any
    context: Context


Named = Mapping[str, Any]
"""Arguments of a call that are passed by name."""

Rule = Callable[[Owner, Any, Named], Any]
"""Function of the owner and of an argument or the result. It returns the value that takes its
place, or raises the error of what does not exist."""


def view_user(owner: Owner, _value: object, _named: Named) -> str:
    """Return the user of the view."""
    return owner.user_id


def keep_value(_owner: Owner, value: object, _named: Named) -> object:
    """Return the value: the verb looks for it in the memory of the view's user alone."""
    return value


def own_chunk(owner: Owner, chunk_id: int, named: Named) -> int:
    """Return the id if the chunk is the user's; a chunk never changes its owner."""
    return show_own_chunk(owner, owner.whole.get(chunk_id), named).chunk_id


def own_or_deleted_chunk(owner: Owner, chunk_id: int, named: Named) -> int:
    """Return the id if the chunk is the user's, or was until a `delete` under this key."""
    try:
        return own_chunk(owner, chunk_id, named)
    except NotFoundError:
        from memsense.client.erasing import Erasing

        # A retry, whose first call has taken the chunk away: its receipt says whose it was.
        receipt = Erasing(owner.context).find_deleted(chunk_id, named.get("key"))
        if receipt is None or not receipt.is_of_user(owner.user_id):
            raise
        return chunk_id


def own_trace(owner: Owner, trace_id: UUID | str, named: Named) -> UUID:
    """Return the id if the recorded search is the user's."""
    return show_own_trace(owner, owner.whole.get(trace_id), named).trace_id


def own_project(owner: Owner, name: str | None, _named: Named) -> str | None:
    """Return the name if the project has sessions of the user."""
    if name is not None:
        find_projects(owner.context, owner.user_id, name)
    return name


def own_sessions(
    owner: Owner, sessions: Iterable[Mapping[str, object]], _named: Named
) -> Sequence[Mapping[str, object]]:
    """Return sessions for `add_many`, each owned by this user; others are refused."""
    own: list[Mapping[str, object]] = []
    for item in sessions:
        # A wrong item is refused by `add_many` itself, which names its number.
        is_session = isinstance(item, Mapping)  # pyright: ignore[reportUnnecessaryIsInstance]
        if is_session and item.get("user_id") not in (None, owner.user_id):
            refuse_argument(owner, "user_id")
        own.append({**item, "user_id": owner.user_id} if is_session else item)
    return own


def show_own_chunk(owner: Owner, chunk: Chunk, _named: Named) -> Chunk:
    """Return the chunk if it is the user's."""
    if chunk.user_id != owner.user_id:
        raise no_chunk(chunk.chunk_id)
    return chunk


def show_own_chunks(owner: Owner, chunks: Mapping[int, Chunk], _named: Named) -> dict[int, Chunk]:
    """Return the chunks that are the user's."""
    return {key: chunk for key, chunk in chunks.items() if chunk.user_id == owner.user_id}


def show_own_trace(owner: Owner, trace: Trace, _named: Named) -> Trace:
    """Return the recorded search if it is the user's, without other users' names."""
    if trace.user_id != owner.user_id:
        raise no_trace(trace.trace_id)
    return without_others(trace)


def hide_others(_owner: Owner, result: "_Noted", _named: Named) -> "_Noted":
    """Return the result without other users' names."""
    return without_others(result)


def hide_others_in_all(
    _owner: Owner, results: Sequence[SearchResult], _named: Named
) -> list[SearchResult]:
    """Return the results without other users' names."""
    return [without_others(result) for result in results]


_OF_USER: Mapping[str, Rule] = {"user_id": view_user}
# Only a filter must name a project of the user's: a new memory may be about a new one.
_FILTERED: Mapping[str, Rule] = {"user_id": view_user, "project": own_project}
_ABOUT: Mapping[str, Rule] = {"user_id": view_user, "project": keep_value}
_ONE_CHUNK: Mapping[str, Rule] = {"chunk_id": own_chunk}

RULES: Mapping[type, Mapping[str, Mapping[str, Rule]]] = {
    Memory: {
        "add": _ABOUT,
        "add_many": {"user_id": view_user, "sessions": own_sessions},
        "ingest": _OF_USER,
        "search": {**_FILTERED, "return": hide_others},
        "context": {**_ABOUT, "return": hide_others},
        "search_many": {**_FILTERED, "return": hide_others_in_all},
        "why_not": {**_FILTERED, "chunk_id": own_chunk},
        "export_to": _OF_USER,
        "recent": _OF_USER,
        "sessions": _FILTERED,
        "left_off": {**_ABOUT, "return": hide_others},
        "matching_words": {},  # it reads words that the caller passes, and no memory
        "get": {"chunk_id": keep_value, "return": show_own_chunk},
        "get_many": {"chunk_ids": keep_value, "return": show_own_chunks},
        "changes": _OF_USER,
        "decide_change": {"older": own_chunk, "newer": own_chunk},
        "superseded_facts": {"user_id": view_user, "chunk_ids": keep_value},
        "stats": _OF_USER,
        "life": _OF_USER,
        "forget": _ONE_CHUNK,
        "archive": _ONE_CHUNK,
        "erase": _OF_USER,
        "delete": {"chunk_id": own_or_deleted_chunk},
        "update": _ONE_CHUNK,
        "versions": _ONE_CHUNK,
        "restore": _ONE_CHUNK,
        "promote": _ONE_CHUNK,
        "demote": _ONE_CHUNK,
        "feedback": _ONE_CHUNK,
        "history": _ONE_CHUNK,
        "list": _FILTERED,
    },
    TracesResource: {
        "replay": {"trace_id": own_trace},
        "compare": _OF_USER,
        "list": _OF_USER,
        "statistics": _OF_USER,
        "get": {"trace_id": keep_value, "return": show_own_trace},
    },
    Entities: {"list": _OF_USER, "get": _OF_USER},
}
"""Rules by class, verb and parameter; that of the result is under "return"."""

WHOLE_NAMESPACE: Mapping[type, frozenset[str]] = {
    Memory: frozenset({"users", "growth", "statistics", "import_from"}),
    TracesResource: frozenset({"flush", "prune", "failures"}),
    Entities: frozenset({"rebuild"}),
}
"""Public names about all users together, which a view of one user does not have."""

HIDDEN = ("user_id", "all_users")
"""Parameters of the verbs that a view does not have."""

NEED_RULES = frozenset({"user_id", "chunk_id", "chunk_ids", "trace_id", "project", "sessions"})
"""Parameters that could name something of another user: a verb that has one has a rule for it."""


def has_verbs_of(whole: type) -> Callable[[V], V]:
    """Return a decorator that gives a view the verbs of a class that `RULES` lists."""

    def add_verbs(view: V) -> V:
        for verb, rules in RULES[whole].items():
            setattr(view, verb, _guard(view, verb, getattr(whole, verb), rules))
        return view

    return add_verbs


def refuse_argument(owner: Owner, name: str) -> None:
    """Raise InvalidInputError for an argument that would choose another user's memory."""
    if name in HIDDEN:
        raise InvalidInputError(
            f"this is the memory of {shorten(owner.user_id)} alone: leave {name} out"
        )


def _guard(
    view: type, verb: str, method: Callable[..., Any], rules: Mapping[str, Rule]
) -> Callable[..., Any]:
    """Return the view's form of a verb, which applies the rules around a call of the verb.

    Raises TypeError if a parameter has no rule and needs one, or a rule has no parameter.
    """
    whole = inspect.signature(method)
    parameters = {name: it for name, it in whole.parameters.items() if name not in HIDDEN}
    lacking = NEED_RULES & whole.parameters.keys() - rules.keys()
    unknown = rules.keys() - {"return", *whole.parameters}
    by_place = [it for it in whole.parameters.values() if it.kind is not it.KEYWORD_ONLY]
    if lacking or unknown or any(it.name in HIDDEN for it in by_place):
        raise TypeError(f"{method.__qualname__}: its rules are not those of its parameters")
    places = {it.name: place for place, it in enumerate(by_place, -1)}  # `self` is no argument
    of_arguments = {name: rule for name, rule in rules.items() if name != "return"}
    show = rules.get("return", keep_value)

    def guarded(self: OneUser, *args: Any, **kwargs: Any) -> Any:
        owner = self._owner  # pyright: ignore[reportPrivateUsage]
        for name in kwargs:
            if name not in parameters:
                refuse_argument(owner, name)
                raise unknown_argument(name, parameters)

        def call() -> Any:
            positional, named = [*args], {**kwargs}
            for name, rule in of_arguments.items():
                if name in HIDDEN:
                    named[name] = rule(owner, None, kwargs)
                elif name in named:
                    named[name] = rule(owner, named[name], kwargs)
                elif name in places and places[name] < len(positional):
                    positional[places[name]] = rule(owner, positional[places[name]], kwargs)
            return show(owner, getattr(owner.whole, verb)(*positional, **named), kwargs)

        # The time is that of the whole call, with what the rules read.
        if (seconds := kwargs.get(TIMEOUT)) is not None:
            from memsense.db.calls import run_in_time

            return run_in_time(call, read_timeout(seconds))
        return call()

    wraps(method)(guarded)
    guarded.__qualname__ = f"{view.__name__}.{verb}"
    guarded.__doc__ = _HIDDEN_ENTRY.sub("", method.__doc__ or "")
    described: Any = guarded
    del described.__wrapped__  # it has the parameters that are hidden here
    described.__signature__ = whole.replace(parameters=[*parameters.values()])
    return counted(guarded)


_HIDDEN_ENTRY = re.compile(
    rf"^(?P<indent> +)(?:{'|'.join(HIDDEN)}): .*\n(?:(?P=indent) +\S.*\n)*", re.MULTILINE
)
"""Entry of a hidden parameter in an `Args:` section."""

# Views -------------------------------------------------------------------------------------------


class OneUser:
    """Base of the views."""

    def __init__(self, owner: Owner) -> None:
        """Use `MemSense.for_user`, which calls this."""
        self.user_id = owner.user_id
        self._owner = owner
        self._context = owner.context


def find_projects(context: Context, user_id: str, name: str | None) -> Sequence[projects.Project]:
    """Return the projects with sessions of a user, or the named one.

    Raises NotFoundError for a name that no such project has.
    """
    namespace = context.look_up_namespace()
    rows: Sequence[projects.Project] = ()
    if namespace is not None:
        rows = run_read(
            context.pool, lambda it: projects.list_projects(it, namespace, user_id=user_id)
        )
    if name is None:
        return rows
    chosen = [row for row in rows if row.name == name]
    if not chosen:
        hint = did_you_mean(name, [row.name for row in rows])
        raise NotFoundError(f"no project {name!r} with sessions of {shorten(user_id)}{hint}")
    return chosen


_Noted = TypeVar("_Noted", SearchResult, Trace, Prompt)


def without_others(answer: _Noted) -> _Noted:
    """Return the answer without notes that suggest the names of other users."""
    notes = [note for note in answer.notes if note.kind != "unknown user"]
    if isinstance(answer, Prompt):
        answer.notes = notes
        return answer
    return replace(answer, notes=notes)
