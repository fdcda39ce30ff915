"""Finds out as whom statements run, and whether policies then keep tenants apart."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from memsense.db.connection import Connection
from memsense.db.rows import fetch_one, fetch_values
from memsense.db.session import GENERIC, TenantConnection, begun
from memsense.errors import ConfigurationError

FILE = "session.sql"

REMEDY = "run 'memsense init --roles', or connect as memsense_app"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who runs statements; `bypasses` says that no policy holds for them."""

    name: str
    bypasses: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """As whom a user's statements run, and how these reach the GIN indexes.

    `role`: memsense_app, where the user may take it; None where there is no such role, or the user
    is the one. `lookups`: beneath the policies, functions alone reach them (`sql/lookups.sql`).
    """

    role: str | None
    lookups: bool


def find_standing(connection: Connection) -> Standing:
    """The standing of the connection's user, the same for all its connections."""
    return fetch_one(connection, "find_standing", file=FILE, of=Standing)


@contextmanager
def as_searching(
    connection: TenantConnection, tenant_id: int, standing: Standing
) -> Generator[None]:
    """A transaction whose statements run as a search of that tenant's does."""
    given = connection.session
    connection.session = replace(
        given, tenant_id=tenant_id, role=standing.role, lookups=standing.lookups
    )
    try:
        with begun(connection, plans=GENERIC):
            yield
    finally:
        connection.session = given


def fetch_user(connection: Connection) -> User:
    """The user as whom the connection's statements run now."""
    return fetch_one(connection, "fetch_user", file=FILE, of=User)


def list_unguarded(connection: Connection, role: str | None) -> Sequence[str]:
    """The tables with a tenant whose policies are missing, or exempt who runs statements as their
    owner; without a `role`, the connection's user does."""
    return fetch_values(connection, "list_unguarded", {"role": role}, FILE)


def list_leaky(connection: Connection) -> Sequence[str]:
    """The functions for which no index serves a search that policies hold for."""
    return fetch_values(connection, "list_leaky", file=FILE)


def require_policies(connection: Connection, role: str | None) -> None:
    """Raise ConfigurationError, naming the remedy, unless policies hold for every table."""
    user = fetch_user(connection)
    if role is None and user.bypasses:
        raise ConfigurationError(
            f"row-level security does not hold for the user {user.name}, and"
            f" MEMSENSE_REQUIRE_POLICIES asks for it; {REMEDY}"
        )
    if bare := list_unguarded(connection, role):
        raise ConfigurationError(
            f"row-level security does not hold for {role or user.name} on {', '.join(bare)}, and"
            f" MEMSENSE_REQUIRE_POLICIES asks for it; {REMEDY}"
        )
