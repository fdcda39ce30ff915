"""`memory.settings`: settings of searches, which can change while searches go on.

Every change is one transaction under a lock on the namespace's row, so that none is lost.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from memsense.actor import user_name
from memsense.client.context import Context, Resource
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.errors import VersionConflictError
from memsense.inputs import LARGEST_BIGINT, Name, about, whole_number
from memsense.parameters import Actor, PageSize
from memsense.search.profiles import Profile
from memsense.search.settings import (
    Origin,
    SettingsInForce,
    default_profile,
    describe_settings,
    find_profile,
    plan_reset,
    plan_settings,
)
from memsense.store import settings as stored
from memsense.store.scopes import Namespace

Plan = Callable[[Namespace], Sequence[stored.Change]]
"""Function that returns the changes to make to a namespace, which is locked meanwhile."""

_ExpectedVersion = Annotated[
    int,
    whole_number(0, LARGEST_BIGINT),
    about("Version that the settings must still have, as `show` reports it; default: any."),
]


class SettingsResource(Resource):
    """Store of the settings of the namespace's searches."""

    def show(self) -> SettingsInForce:
        """Return every setting as the next search uses it, and where it comes from."""

        def fetch(
            connection: Connection,
        ) -> tuple[Namespace | None, Sequence[stored.StoredSetting]]:
            namespace = self._context.reload_namespace(connection)
            return namespace, stored.fetch_settings(connection, namespace) if namespace else []

        namespace, rows = run_read(self._context.pool, fetch)
        name, origin = self._name_profile(namespace)
        return describe_settings(
            rows,
            version=namespace.settings_version if namespace else 0,
            profile=profile_in_force(self._context, namespace),
            name=name,
            origin=origin,
        )

    def _name_profile(self, namespace: Namespace | None) -> tuple[str, Origin]:
        if isinstance(self._context.profile, Profile):
            return self._context.profile.name, "argument"
        if self._context.profile is not None:
            return self._context.profile, "argument"
        if namespace is not None and "profile" in namespace.settings:
            return namespace.settings["profile"], "database"
        is_set = "profile" in self._context.settings.model_fields_set
        return self._context.settings.profile, "environment" if is_set else "default"

    @takes
    def set(
        self,
        *,
        by: Actor | None = None,
        expected_version: _ExpectedVersion | None = None,
        **changes: object,
    ) -> SettingsInForce:
        """Set what the namespace's searches use from the next one on, in every process.

            memory.settings.set(profile="vector_heavy", lexical=1.5)

        All or nothing.

        Args:
            by: Who does it, for the receipt or history; default: the operating system's user.
            expected_version: Version that the settings must still have, as `show` reports it;
                default: any.
            changes: Settings by name. `profile`: a shipped or stored profile. A route's weight (0
                to 5) or a constant of `Profile`: replaces the profile's. `embedder_failure`:
                "error" or "lexical", for questions that can't be embedded. `history`: "on" keeps
                what an update replaces. `on_expiry`: "erase" or "forget". `user_quota`: the most
                exchanges of each user, 0 for no limit. `on_quota`: "refuse" or "archive". `redact`:
                "all", "logs" or "off", where `MEMSENSE_REDACT` is not set. `redact_kinds`: "all",
                kinds of secrets with commas between, or "-iban,-card" for all others. `timezone`:
                IANA name of the zone of those who ask. `week_start`: "monday", "sunday" or
                "saturday". `hemisphere`: "north" or "south", for seasons. `date_order`: "dmy" or
                "mdy", for 03/04/2024, or "both".

        Raises:
            ConfigurationError: For an unknown setting, or a value that it can't have.
            VersionConflictError: If the settings are no longer those of `expected_version`.
        """
        change_settings(self._context, lambda it: plan_settings(it, changes), by, expected_version)
        return self.show()

    @takes
    def reset(
        self,
        *names: Name,
        by: Actor | None = None,
        expected_version: _ExpectedVersion | None = None,
    ) -> SettingsInForce:
        """Return settings to their defaults.

        Args:
            names: Names of settings; none for all of them.
            by: Who does it, for the receipt or history; default: the operating system's user.
            expected_version: Version that the settings must still have, as `show` reports it;
                default: any.
        """
        change_settings(self._context, lambda it: plan_reset(it, names), by, expected_version)
        return self.show()

    @takes
    def history(self, *, limit: PageSize = 100) -> Sequence[stored.RecordedChange]:
        """Return the latest changes of settings and stored profiles: who, when and what.

        Args:
            limit: Maximum number of items.
        """
        return self._context.read_stored(partial(stored.fetch_changes, limit=limit), [])


class AsyncSettingsResource(Facade):
    """SettingsResource for asyncio, each method awaited."""

    show = awaited(SettingsResource.show)
    set = awaited(SettingsResource.set)
    reset = awaited(SettingsResource.reset)
    history = awaited(SettingsResource.history)


def profile_in_force(context: Context, namespace: Namespace | None) -> Profile:
    """Return the profile of a search that names none: that of `open`, else of the settings."""
    if isinstance(context.profile, Profile):
        return context.profile
    if context.profile is not None:
        return find_profile(namespace, context.profile)
    if namespace is not None:
        return context.tune(namespace)
    return default_profile(None, context.settings.profile)


def change_settings(
    context: Context, plan: Plan, by: str | None, expected_version: int | None = None
) -> None:
    """Change settings or stored profiles and record it.

    Raise VersionConflictError for an old version.
    """

    def change(connection: Connection) -> None:
        namespace = stored.lock_settings(connection, context.claim_namespace(connection))
        if expected_version not in (None, namespace.settings_version):
            raise VersionConflictError(
                f"the settings are at version {namespace.settings_version}, not"
                f" {expected_version}: someone changed them; read them again, then retry"
            )
        changes = plan(namespace)
        if changes:
            stored.write_changes(connection, namespace, changes, by or user_name())

    run_transaction(context.pool, change)
    # Other processes notice the new version by themselves; this one uses it from the next call on.
    run_read(context.pool, context.reload_namespace)
