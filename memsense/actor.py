"""Actor of a change: the key, command, hook, job or program that writes, for the history.

An actor is a kind and a name: `key:1a2b`, `cli:ada`, `mcp:ada`, `hook:codex`, `job:expire`, or
`python:ada` for a program that says nothing. It belongs to the thread or the task that calls.
"""

import getpass
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Literal

Kind = Literal["key", "cli", "mcp", "hook", "job", "python"]

MAX_LENGTH = 200

_current: ContextVar[str | None] = ContextVar("actor", default=None)


def current_actor() -> str:
    """Return the actor of this thread or task; by default the program's own user."""
    return _current.get() or format_actor("python")


def act_as(actor: str) -> None:
    """Name the actor of all that this thread or task does from now on."""
    _current.set(actor)


@contextmanager
def acting_as(actor: str) -> Generator[None]:
    """Name the actor of what is written inside the block.

        with acting_as("python:nightly-import"):
            memory.add(messages, user_id="ada", session_id="monday")

    Args:
        actor: The name that the history shows; longer than 200 characters, it is cut.
    """
    token = _current.set(actor)
    try:
        yield
    finally:
        _current.reset(token)


def format_actor(kind: Kind, name: str | None = None) -> str:
    """Return an actor's text; without a name, with that of the operating system's user."""
    return f"{kind}:{name or user_name()}"[:MAX_LENGTH]


@cache
def user_name() -> str:
    """Return the operating system's name of the user that runs this process."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container's user may have a number without a name
        return "unknown"
