"""`memory.projects`: projects that memories are about, and named pools of sessions."""

from collections.abc import Callable, Sequence
from typing import Annotated

from memsense.client.context import Resource
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.inputs import Ids, Name, about, printable_name
from memsense.store import projects
from memsense.store.projects import Project
from memsense.store.scopes import Namespace

LONGEST_NAME = 150
"""Characters of a name: an index holds it together with a session's id."""

_NewName = Annotated[Name, printable_name("project", LONGEST_NAME)]
_ProjectName = Annotated[Name, about("Name of the project.")]
_Change = Callable[[Connection, Namespace, str, Sequence[str]], Project]
_Sessions = Annotated[Ids, about("Ids of sessions; they needn't hold anything yet.")]


class ProjectsResource(Resource):
    """Projects of the namespace: those that memories are about, and pools of sessions.

    `search(project=name)` reaches the memories that are about it, and those of the sessions in the
    pool of that name.
    """

    @takes
    def create(self, name: _NewName, session_ids: _Sessions = ()) -> Project:
        """Create a pool of these sessions, which may be empty still.

            memory.projects.create("kitchen", ["monday", "friday"])
            memory.search("Which colour?", user_id="ada", project="kitchen")

        Args:
            name: Name of the project.
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
        return self._change(projects.add_sessions, name, session_ids)

    @takes
    def remove(self, name: _ProjectName, session_ids: _Sessions) -> Project:
        """Take sessions out of a project, and return the changed project.

        Args:
            name: Name of the project.
            session_ids: Ids of sessions; they needn't hold anything yet.

        Raises:
            NotFoundError: For an unknown project.
        """
        return self._change(projects.remove_sessions, name, session_ids)

    def _change(self, change: _Change, name: str, session_ids: Sequence[str]) -> Project:
        return run_transaction(
            self._context.pool,
            lambda it: change(it, self._context.require_namespace(it), name, session_ids),
        )

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
        return self._context.read_stored(projects.list_projects, [])

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
