"""Projects: named pools of a namespace's sessions."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A named pool of sessions, in the order of their ids."""

    name: str
    session_ids: Sequence[str]
    created_at: datetime


def _key(namespace: Namespace, name: str | None = None) -> dict[str, Any]:
    return {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "name": name,
    }


def list_projects(connection: Connection, namespace: Namespace) -> list[Project]:
    """Return the namespace's projects by name."""
    return _fetch_projects(connection, namespace, None)


def fetch_project(connection: Connection, namespace: Namespace, name: str) -> Project:
    """Return the project of that name; raise NotFoundError, which lists the existing names."""
    projects = _fetch_projects(connection, namespace, name)
    if not projects:
        raise _no_project(connection, namespace, name)
    return projects[0]


def list_projects_of(
    connection: Connection, namespace: Namespace, user_id: str, name: str | None = None
) -> list[Project]:
    """Return the projects that hold sessions of a user, each with those sessions alone."""
    values = {**_key(namespace, name), "user_id": user_id}
    return fetch_all(connection, "list_projects_of", values, FILE, of=Project)


def _fetch_projects(
    connection: Connection, namespace: Namespace, name: str | None
) -> list[Project]:
    return fetch_all(connection, "list_projects", _key(namespace, name), FILE, of=Project)


def _no_project(connection: Connection, namespace: Namespace, name: str) -> NotFoundError:
    """Return the error for a name that no project has."""
    names = [project.name for project in list_projects(connection, namespace)]
    existing = f"there are {', '.join(names)}" if names else "there are none"
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
