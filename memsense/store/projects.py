"""Projects: what exchanges are about, and named pools of a namespace's sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, find_one
from memsense.errors import InvalidInputError, NotFoundError
from memsense.store.scopes import Namespace
from memsense.text.nearest import did_you_mean

FILE = "settings.sql"

MOST_NAMES = 20
"""Names of projects that an error lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Subject of memories, a named pool of sessions, or both under one name.

    `sessions`, `exchanges` and `last_at` describe what a search in the project reaches.
    `session_ids` are those of the pool, in order; `created_at` is None if there is no pool.
    """

    name: str
    session_ids: Sequence[str]
    created_at: datetime | None
    sessions: int
    exchanges: int
    last_at: datetime | None


def _key(namespace: Namespace, name: str | None = None) -> dict[str, Any]:
    return {**namespace.key, "name": name}


def list_projects(
    connection: Connection, namespace: Namespace, *, user_id: str | None = None
) -> list[Project]:
    """Return the projects by name; of one user, those that the user's memory has sessions of."""
    return _fetch_projects(connection, namespace, None, user_id)


def fetch_project(
    connection: Connection, namespace: Namespace, name: str, *, user_id: str | None = None
) -> Project:
    """Return the project of that name, of all users or as far as it is one user's.

    Raises NotFoundError, which lists the existing names.
    """
    projects = _fetch_projects(connection, namespace, name, user_id)
    if not projects:
        raise _no_project(connection, namespace, name, user_id)
    return projects[0]


def check_project(
    connection: Connection, namespace: Namespace, name: str, *, user_id: str | None
) -> Project:
    """Return the project that a search of this memory named.

    A pool counts for every user, also if none of its sessions is in the memory. Raises
    NotFoundError if there is neither a pool of that name nor a memory about it.
    """
    for project in _fetch_projects(connection, namespace, name, None):
        if project.created_at is not None:
            return project
    return fetch_project(connection, namespace, name, user_id=user_id)


def _fetch_projects(
    connection: Connection, namespace: Namespace, name: str | None, user_id: str | None
) -> list[Project]:
    values = {**_key(namespace, name), "user_id": user_id}
    return fetch_all(connection, "list_projects", values, FILE, of=Project)


def _no_project(
    connection: Connection, namespace: Namespace, name: str, user_id: str | None = None
) -> NotFoundError:
    """Return the error for a name that no project has."""
    names = [project.name for project in list_projects(connection, namespace, user_id=user_id)]
    first = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
    existing = f"there are {first}" if names else "there are none"
    return NotFoundError(
        f"no project {name!r} in namespace {namespace.name!r}; {existing}"
        f"{did_you_mean(name, names)}"
    )


def insert_project(
    connection: Connection, namespace: Namespace, name: str, session_ids: Sequence[str]
) -> Project:
    """Create a project; raise InvalidInputError if there is one of that name."""
    if find_one(connection, "insert_project", _key(namespace, name), FILE) is None:
        raise InvalidInputError(f"there is a project {name!r} already")
    return add_sessions(connection, namespace, name, session_ids)


def delete_project(connection: Connection, namespace: Namespace, name: str) -> None:
    """Delete a project, not its sessions; raise NotFoundError if there is none."""
    if find_one(connection, "delete_project", _key(namespace, name), FILE) is None:
        raise _no_project(connection, namespace, name)


def add_sessions(
    connection: Connection, namespace: Namespace, name: str, session_ids: Sequence[str]
) -> Project:
    """Add sessions to a project, which keeps those it has; raise NotFoundError if there is none."""
    return _change_sessions(connection, "add_sessions", namespace, name, session_ids)


def remove_sessions(
    connection: Connection, namespace: Namespace, name: str, session_ids: Sequence[str]
) -> Project:
    """Remove sessions from a project, if they are in it; raise NotFoundError if there is none."""
    return _change_sessions(connection, "remove_sessions", namespace, name, session_ids)


def _change_sessions(
    connection: Connection,
    statement: str,
    namespace: Namespace,
    name: str,
    session_ids: Sequence[str],
) -> Project:
    key = _key(namespace, name)
    # Changes of one project wait for each other.
    if find_one(connection, "lock_project", key, FILE) is None:
        raise _no_project(connection, namespace, name)
    execute(connection, statement, {**key, "session_ids": list(session_ids)}, FILE)
    return fetch_project(connection, namespace, name)
