"""The part of `MemSense` that changes settings and stored profiles while searches go on.

Every change is one transaction under a lock on the namespace's row, so that none is lost.
"""

import getpass
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memsense import store
from memsense.client.searcher import Searcher
from memsense.db import read, transaction
from memsense.errors import ConflictError, InvalidInputError
from memsense.search.profiles import PROFILES, Profile, read_profile
from memsense.search.settings import (
    Origin,
    SettingsInForce,
    default_profile,
    describe_settings,
    find_profile,
    plan_profile,
    plan_removal,
    plan_reset,
    plan_settings,
)
from memsense.store import settings as stored

Plan = Callable[[store.Namespace], Sequence[stored.Change]]
"""What is to be changed, given the namespace as it stands under the lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProfile:
    """A profile that a search may name: shipped with memsense, or stored in the namespace."""

    profile: Profile
    origin: Literal["shipped", "stored"]
    created_by: str | None = None
    created_at: datetime | None = None


class Tuner(Searcher):
    """Tunes searches."""

    def settings(self) -> SettingsInForce:
        """Every setting as the next search of this object uses it, and where it comes from."""
        with read(self._pool) as connection:
            namespace = self._reload_namespace(connection)
            rows = stored.fetch_settings(connection, namespace) if namespace else []
            name, origin = self._name_profile(namespace)
            return describe_settings(
                rows,
                version=namespace.settings_version if namespace else 0,
                profile=self._profile_in_force(namespace),
                name=name,
                origin=origin,
            )

    def _name_profile(self, namespace: store.Namespace | None) -> tuple[str, Origin]:
        if isinstance(self._profile, Profile):
            return self._profile.name, "argument"
        if self._profile is not None:
            return self._profile, "argument"
        if namespace is not None and "profile" in namespace.settings:
            return namespace.settings["profile"], "database"
        is_given = "profile" in self._settings.model_fields_set
        return self._settings.profile, "environment" if is_given else "default"

    def _profile_in_force(self, namespace: store.Namespace | None) -> Profile:
        if isinstance(self._profile, Profile):
            return self._profile
        if self._profile is not None:
            return find_profile(namespace, self._profile)
        if namespace is not None:
            return self._tune(namespace)
        return default_profile(None, self._settings.profile)

    def set_settings(
        self, *, by: str | None = None, expected_version: int | None = None, **changes: object
    ) -> SettingsInForce:
        """Set what the namespace's searches use from the next one on, in every process.

            memory.set_settings(profile="vector_heavy", lexical=1.5)

        `profile` is the name of a shipped or stored profile; a route's weight (0 to 5) or any
        constant of `Profile` applies on top of it; `embedder_failure` ("error" or "lexical")
        says what a search does whose question can't be embedded. `by` goes into the history
        (default: the user of the operating system). All or nothing. Raises ConfigurationError,
        or ConflictError if the settings are no longer those of `expected_version`.
        """
        self._change(lambda found: plan_settings(found, changes), by, expected_version)
        return self.settings()

    def reset_settings(
        self, *names: str, by: str | None = None, expected_version: int | None = None
    ) -> SettingsInForce:
        """Take back what was set, by name or, without names, all of it."""
        self._change(lambda found: plan_reset(found, names), by, expected_version)
        return self.settings()

    def settings_history(self, *, limit: int = 100) -> list[stored.RecordedChange]:
        """The latest changes of settings and stored profiles, newest first: who, when and what."""
        if limit < 1:
            raise InvalidInputError(f"limit must be at least 1, not {limit}")
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            return stored.fetch_changes(connection, namespace, limit) if namespace else []

    def profiles(self) -> list[KnownProfile]:
        """The profiles that a search may name: the shipped ones, then the namespace's own."""
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            rows = stored.fetch_profiles(connection, namespace) if namespace else []
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

    def profile(self, name: str | None = None) -> Profile:
        """The shipped or stored profile of that name, without a name the one in force.

        Raises NotFoundError.
        """
        with read(self._pool) as connection:
            namespace = self._reload_namespace(connection)
            if name is None:
                return self._profile_in_force(namespace)
            return find_profile(namespace, name)

    def create_profile(
        self,
        name: str,
        base: str | Profile = "balanced",
        *,
        by: str | None = None,
        **changes: object,
    ) -> Profile:
        """Store a profile under a name of its own: `base` with some weights and constants changed.

            memory.create_profile("mine", base="vector_heavy", lexical=1.5, mmr_lambda=1.0)

        All of its constants are kept, so that it ranks alike under a later release. Raises
        ConfigurationError, NotFoundError for an unknown base, or InvalidInputError for a name
        that is taken.
        """

        def plan(namespace: store.Namespace) -> Sequence[stored.Change]:
            found = find_profile(namespace, base) if isinstance(base, str) else base
            return plan_profile(namespace, found.vary(changes).override(name=name))

        self._change(plan, by)
        return self.profile(name)

    def delete_profile(self, name: str, *, by: str | None = None) -> None:
        """Delete a stored profile; raises InvalidInputError while the setting `profile` names it.

        NotFoundError for an unknown one.
        """
        self._change(lambda found: plan_removal(found, name), by)

    def _change(self, plan: Plan, by: str | None, expected_version: int | None = None) -> None:
        with transaction(self._pool) as connection:
            namespace = stored.lock_settings(connection, self._claim_namespace(connection))
            if expected_version not in (None, namespace.settings_version):
                raise ConflictError(
                    f"the settings are at version {namespace.settings_version}, not"
                    f" {expected_version}: somebody changed them; look at them again"
                )
            changes = plan(namespace)
            if changes:
                stored.write_changes(connection, namespace, changes, by or user_name())
        with read(self._pool) as connection:
            self._reload_namespace(connection)


def user_name() -> str:
    """Who runs this process, as the operating system says."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a number without a name, as containers have
        return "unknown"
