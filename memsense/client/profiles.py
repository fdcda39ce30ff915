"""`memory.profiles`: the named sets of constants that a search may rank by."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memsense import store
from memsense.client.context import Context
from memsense.client.settings import change_settings, profile_in_force
from memsense.db import run_read
from memsense.inputs import Name, takes
from memsense.search.profiles import PROFILES, GivenProfile, Profile, read_profile
from memsense.search.settings import find_profile, plan_profile, plan_removal
from memsense.store import settings as stored


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProfile:
    """A profile that a search may name: shipped with memsense, or stored in the namespace."""

    profile: Profile
    origin: Literal["shipped", "stored"]
    created_by: str | None = None
    created_at: datetime | None = None


class ProfilesResource:
    """Lists, shows, stores and deletes profiles."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def list(self) -> Sequence[KnownProfile]:
        """The profiles that a search may name: the shipped ones, then the namespace's own."""
        namespace = self._context.look_up_namespace()
        rows = (
            run_read(self._context.pool, lambda it: stored.fetch_profiles(it, namespace))
            if namespace
            else []
        )
        own = [
            KnownProfile(
                profile=read_profile(row.constants),
                origin="stored",
                created_by=row.created_by,
                created_at=row.created_at,
            )
            for row in rows
        ]
        return [*(KnownProfile(profile=p, origin="shipped") for p in PROFILES.values()), *own]

    @takes(name=Name | None)
    def get(self, name: str | None = None) -> Profile:
        """The shipped or stored profile of that name, without a name the one in force.

        Raises NotFoundError.
        """
        namespace = run_read(self._context.pool, self._context.reload_namespace)
        if name is None:
            return profile_in_force(self._context, namespace)
        return find_profile(namespace, name)

    @takes(name=Name, base=GivenProfile, by=Name | None)
    def create(
        self,
        name: str,
        base: str | Profile = "balanced",
        *,
        by: str | None = None,
        **changes: object,
    ) -> Profile:
        """Store a profile under a name of its own: `base` with some weights and constants changed.

            memory.profiles.create("mine", base="vector_heavy", lexical=1.5, mmr_lambda=1.0)

        All of its constants are kept, so that it ranks alike under a later release. Raises
        ConfigurationError, NotFoundError for an unknown base, or InvalidInputError for a name
        that is taken.
        """

        def plan(namespace: store.Namespace) -> Sequence[stored.Change]:
            found = find_profile(namespace, base) if isinstance(base, str) else base
            return plan_profile(namespace, found.vary(changes).override(name=name))

        change_settings(self._context, plan, by)
        return self.get(name)

    @takes(name=Name, by=Name | None)
    def delete(self, name: str, *, by: str | None = None) -> None:
        """Delete a stored profile; raises InvalidInputError while the setting `profile` names it.

        NotFoundError for an unknown one.
        """
        change_settings(self._context, lambda found: plan_removal(found, name), by)
