"""Views of one user's memory: the verbs that user_view.py has rules for.

The signatures are in user_memory.pyi, which `make generate` writes from the verbs, because no type
can take `user_id` out of a signature.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from memsense.client.traces import TracesResource
from memsense.client.user_view import OneUser, find_projects, has_verbs_of
from memsense.client.verbs import Memory
from memsense.graph.resource import Entities
from memsense.store.projects import Project


class UserProjects(OneUser):
    """Projects that hold memories of one user, with those alone."""

    def list(self) -> Sequence[Project]:
        """Return the projects by name."""
        return find_projects(self._context, self.user_id, None)

    def get(self, name: str) -> Project:
        """Return the project of that name.

        Args:
            name: Name of the project.

        Raises:
            NotFoundError: If it holds no memory of the user.
        """
        return find_projects(self._context, self.user_id, name)[0]


@has_verbs_of(TracesResource)
class UserTraces(OneUser):
    """One user's recorded searches: show and replay."""


@has_verbs_of(Entities)
class UserEntities(OneUser):
    """People, places and things that one user's memory mentions."""


@has_verbs_of(Memory)
class UserMemory(OneUser):
    """One user's memory: another user's memories are not there.

        ada = memory.for_user("ada")
        ada.add([{"role": "user", "content": "I moved to Lisbon."}], session_id="monday")
        hits = ada.search("Where do I live?")

    A chunk or a trace of another user raises NotFoundError, as if it did not exist. The view is
    closed with its memory.
    """

    @cached_property
    def traces(self) -> UserTraces:
        """The user's recorded searches."""
        return UserTraces(replace(self._owner, whole=self._owner.whole.traces))

    @cached_property
    def entities(self) -> UserEntities:
        """People, places and things that the user's memory mentions."""
        return UserEntities(replace(self._owner, whole=self._owner.whole.entities))

    @cached_property
    def projects(self) -> UserProjects:
        """The namespace's projects, as far as they hold memories of the user."""
        return UserProjects(self._owner)
