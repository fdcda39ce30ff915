"""`memory.projects`: named pools of sessions to search in."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator

from memsense.client.context import Context
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.inputs import Ids, Name, shorten, takes
from memsense.store import projects
from memsense.store.projects import Project

LONGEST_NAME = 150
"""Characters of a name: an index holds it together with a session's id."""


def _check_name(name: str) -> str:
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise ValueError(
            f"is no name for a project: use up to {LONGEST_NAME} printable characters, not"
            f" {shorten(name)}"
        )
    return name


_NewName = Annotated[Name, AfterValidator(_check_name)]


class ProjectsResource:
    """Pools sessions."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @takes(name=_NewName, session_ids=Ids)
    def create(self, name: str, session_ids: Sequence[str] = ()) -> Project:
        """A new project of these sessions, which needn't hold anything yet.

            memory.projects.create("kitchen", ["monday", "friday"])
            memory.search("Which colour?", user_id="ada", project="kitchen")

        Raises InvalidInputError if the name is taken.
        """

        def insert(connection: Connection) -> Project:
            namespace = self._context.claim_namespace(connection)
            return projects.insert_project(connection, namespace, name, session_ids)

        return run_transaction(self._context.pool, insert)

    @takes(name=Name, session_ids=Ids)
    def add(self, name: str, session_ids: Sequence[str]) -> Project:
        """Put sessions into a project; returns it as it is then. Raises NotFoundError."""

        def add(connection: Connection) -> Project:
            namespace = self._context.require_namespace(connection)
            return projects.add_sessions(connection, namespace, name, session_ids)

        return run_transaction(self._context.pool, add)

    @takes(name=Name, session_ids=Ids)
    def remove(self, name: str, session_ids: Sequence[str]) -> Project:
        """Take sessions out of a project; returns it as it is then. Raises NotFoundError."""

        def remove(connection: Connection) -> Project:
            namespace = self._context.require_namespace(connection)
            return projects.remove_sessions(connection, namespace, name, session_ids)

        return run_transaction(self._context.pool, remove)

    @takes(name=Name)
    def delete(self, name: str) -> None:
        """Dissolve a project; its sessions stay. Raises NotFoundError."""
        run_transaction(
            self._context.pool,
            lambda it: projects.delete_project(it, self._context.require_namespace(it), name),
        )

    def list(self) -> Sequence[Project]:
        """The namespace's projects, by name."""
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return []
        return run_read(self._context.pool, lambda it: projects.list_projects(it, namespace))

    @takes(name=Name)
    def get(self, name: str) -> Project:
        """The project of that name; raises NotFoundError."""
        return run_read(
            self._context.pool,
            lambda it: projects.fetch_project(it, self._context.require_namespace(it), name),
        )
