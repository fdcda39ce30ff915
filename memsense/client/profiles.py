"""`memory.profiles`: named sets of constants by which searches rank."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memsense.client.context import Resource
from memsense.client.settings import change_settings, profile_in_force
from memsense.db import run_read
from memsense.declaration import Facade, awaited, takes
from memsense.inputs import Name
from memsense.parameters import Actor
from memsense.search.profiles import PROFILES, GivenProfile, Profile, read_profile
from memsense.search.settings import find_profile, plan_profile, plan_removal
from memsense.store import settings as stored
from memsense.store.scopes import Namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProfile:
    """A profile that a search may name: shipped with memsense, or stored in the namespace."""

    profile: Profile
    origin: Literal["shipped", "stored"]
    created_by: str | None = None
    created_at: datetime | None = None


class ProfilesResource(Resource):
    """Store of profiles: lists, shows, creates and deletes them."""

    def list(self) -> Sequence[KnownProfile]:
        """Return the profiles that a search may name: shipped ones, then the namespace's own."""
        own = [
            KnownProfile(
                profile=read_profile(row.constants),
                origin="stored",
                created_by=row.created_by,
                created_at=row.created_at,
            )
            for row in self._context.read_stored(stored.fetch_profiles, [])
        ]
        return [*(KnownProfile(profile=p, origin="shipped") for p in PROFILES.values()), *own]

    @takes
    def get(self, name: Name | None = None) -> Profile:
        """Return a profile, by default the one that searches use.

        Args:
            name: Name of a shipped or stored profile; default: in force.

        Raises:
            NotFoundError: For an unknown profile.
        """
        namespace = run_read(self._context.pool, self._context.reload_namespace)
        if name is None:
            return profile_in_force(self._context, namespace)
        return find_profile(namespace, name)

    @takes
    def create(
        self,
        name: Name,
        base: GivenProfile = "balanced",
        *,
        by: Actor | None = None,
        **changes: object,
    ) -> Profile:
        """Store a profile under a name: another profile with some constants changed.

            memory.profiles.create("mine", base="vector_heavy", lexical=1.5, mmr_lambda=1.0)

        All its constants are stored: it ranks the same under a later release.

        Args:
            name: Name of the new profile.
            base: Profile to start from.
            by: Who does it, for the receipt or history; default: the operating system's user.
            changes: Weights of routes (0 to 5) and constants of `Profile` by name.

        Raises:
            ConfigurationError: For an unknown constant, or a value out of its range.
            NotFoundError: For an unknown base.
            InvalidInputError: If the name is taken.
        """

        def plan(namespace: Namespace) -> Sequence[stored.Change]:
            start = find_profile(namespace, base) if isinstance(base, str) else base
            return plan_profile(namespace, start.vary(changes).override(name=name))

        change_settings(self._context, plan, by)
        return self.get(name)

    @takes
    def delete(self, name: Name, *, by: Actor | None = None) -> None:
        """Delete a stored profile.

        Args:
            name: Name of a stored profile.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Raises:
            InvalidInputError: While the setting `profile` names it.
            NotFoundError: For an unknown profile.
        """
        change_settings(self._context, lambda namespace: plan_removal(namespace, name), by)


class AsyncProfilesResource(Facade):
    """ProfilesResource for asyncio, each method awaited."""

    list = awaited(ProfilesResource.list)
    get = awaited(ProfilesResource.get)
    create = awaited(ProfilesResource.create)
    delete = awaited(ProfilesResource.delete)
