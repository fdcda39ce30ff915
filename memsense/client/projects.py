"""`memory.projects`: projects that memories are about, and named pools of sessions."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator

from memsense.client.context import Context
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.inputs import Ids, Name, about, shorten
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
_ProjectName = Annotated[Name, about("Name of the project.")]
_Sessions = Annotated[Ids, about("Ids of sessions; they needn't hold anything yet.")]


class ProjectsResource:
    """Projects of the namespace: those that memories are about, and pools of sessions.

    A name has one meaning: `search(project=name)` reaches the memories that are about it, and those
    of the sessions in the pool of that name.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    @takes
    def create(
        self,
        name: Annotated[_NewName, about("Name of the new project.")],
        session_ids: _Sessions = (),
    ) -> Project:
        """Create a pool of these sessions, which may be empty still.

            memory.projects.create("kitchen", ["monday", "friday"])
            memory.search("Which colour?", user_id="ada", project="kitchen")

        Args:
            name: Name of the new project.
            session_ids: Ids of sessions; they needn't hold anything yet.

        Raises:
            InvalidInputError: If the name is taken.
        """

        def insert(connection: Connection) -> Project:
            namespace = self._context.claim_namespace(connection)
            return projects.insert_project(connection, namespace, name, session_ids)

        return run_transaction(self._context.pool, insert)

    @takes
    def add(self, name: _ProjectName, session_ids: _Sessions) -> Project:
        """Put sessions into a project, and return the changed project.

        Args:
            name: Name of the project.
            session_ids: Ids of sessions; they needn't hold anything yet.

        Raises:
            NotFoundError: For an unknown project.
        """

        def add(connection: Connection) -> Project:
            namespace = self._context.require_namespace(connection)
            return projects.add_sessions(connection, namespace, name, session_ids)

        return run_transaction(self._context.pool, add)

    @takes
    def remove(self, name: _ProjectName, session_ids: _Sessions) -> Project:
        """Take sessions out of a project, and return the changed project.

        Args:
            name: Name of the project.
            session_ids: Ids of sessions; they needn't hold anything yet.

        Raises:
            NotFoundError: For an unknown project.
        """

        def remove(connection: Connection) -> Project:
            namespace = self._context.require_namespace(connection)
            return projects.remove_sessions(connection, namespace, name, session_ids)

        return run_transaction(self._context.pool, remove)

    @takes
    def delete(self, name: _ProjectName) -> None:
        """Delete a project; its sessions stay.

        Args:
            name: Name of the project.

        Raises:
            NotFoundError: For an unknown project.
        """
        run_transaction(
            self._context.pool,
            lambda it: projects.delete_project(it, self._context.require_namespace(it), name),
        )

    def list(self) -> Sequence[Project]:
        """Return the projects of both kinds by name, with what a search in each reaches."""
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return []
        return run_read(self._context.pool, lambda it: projects.list_projects(it, namespace))

    @takes
    def get(self, name: _ProjectName) -> Project:
        """Return the project of that name.

        Args:
            name: Name of the project.

        Raises:
            NotFoundError: For an unknown project.
        """
        return run_read(
            self._context.pool,
            lambda it: projects.fetch_project(it, self._context.require_namespace(it), name),
        )


class AsyncProjectsResource(Facade):
    """ProjectsResource for asyncio, each method awaited."""

    create = awaited(ProjectsResource.create)
    add = awaited(ProjectsResource.add)
    remove = awaited(ProjectsResource.remove)
    delete = awaited(ProjectsResource.delete)
    list = awaited(ProjectsResource.list)
    get = awaited(ProjectsResource.get)
