"""`memory.projects`: named pools of sessions to search in."""

from collections.abc import Sequence

from memsense.client.context import Context
from memsense.db import read, transaction
from memsense.errors import InvalidInputError
from memsense.inputs import clean_text
from memsense.store import projects
from memsense.store.projects import Project

LONGEST_NAME = 200


class ProjectsResource:
    """Pools sessions."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def create(self, name: str, session_ids: Sequence[str] = ()) -> Project:
        """A new project of these sessions, which needn't hold anything yet.

            memory.projects.create("kitchen", ["monday", "friday"])
            memory.search("Which colour?", project="kitchen")

        Raises InvalidInputError if the name is taken.
        """
        with transaction(self._context.pool) as connection:
            namespace = self._context.claim_namespace(connection)
            wanted = _check_sessions(session_ids)
            return projects.insert_project(connection, namespace, _check_name(name), wanted)

    def add(self, name: str, session_ids: Sequence[str]) -> Project:
        """Put sessions into a project; returns it as it is then. Raises NotFoundError."""
        with transaction(self._context.pool) as connection:
            namespace = self._context.require_namespace(connection)
            wanted = _check_sessions(session_ids)
            return projects.add_sessions(connection, namespace, name, wanted)

    def remove(self, name: str, session_ids: Sequence[str]) -> Project:
        """Take sessions out of a project; returns it as it is then. Raises NotFoundError."""
        with transaction(self._context.pool) as connection:
            namespace = self._context.require_namespace(connection)
            wanted = _check_sessions(session_ids)
            return projects.remove_sessions(connection, namespace, name, wanted)

    def delete(self, name: str) -> None:
        """Dissolve a project; its sessions stay. Raises NotFoundError."""
        with transaction(self._context.pool) as connection:
            projects.delete_project(connection, self._context.require_namespace(connection), name)

    def list(self) -> Sequence[Project]:
        """The namespace's projects, by name."""
        with read(self._context.pool) as connection:
            namespace = self._context.find_namespace(connection)
            return projects.list_projects(connection, namespace) if namespace else []

    def get(self, name: str) -> Project:
        """The project of that name; raises NotFoundError."""
        with read(self._context.pool) as connection:
            return projects.fetch_project(
                connection, self._context.require_namespace(connection), name
            )


def _check_name(name: str) -> str:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInputError(
            f"{name!r} is no name for a project: use up to {LONGEST_NAME} printable characters"
        )
    return clean_text(name)


def _check_sessions(session_ids: Sequence[str]) -> list[str]:
    if isinstance(session_ids, str):
        raise InvalidInputError("session_ids must be a list of texts, not one text")
    if any(not session_id.strip() for session_id in session_ids):
        raise InvalidInputError("a session id is empty")
    return [clean_text(session_id) for session_id in session_ids]
