"""Row-level security: the role that statements run as, and whether policies keep tenants apart."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all, fetch_one, fetch_values
from memsense.db.seals import pad_key
from memsense.db.session import GENERIC, TenantConnection, begun
from memsense.errors import ConfigurationError

FILE = "session.sql"

APP = "memsense_app"

REMEDY = "run 'memsense init --roles', or connect as memsense_app"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """The user who runs statements; `bypasses` is true if no policy holds for them."""

    name: str
    bypasses: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The role that a user's statements run as, and their way to the GIN indexes.

    `role` is memsense_app if the user may take it; None if there is no such role, or the user is
    that role. `lookups`: under the policies only functions reach the indexes (`sql/lookups.sql`).
    `is_sealed`: the policies ask for a signed token. `name` is the connecting user's.
    `search_path`: the path of a session that finds pgvector, and its own objects last.
    """

    role: str | None
    lookups: bool
    is_sealed: bool
    name: str
    search_path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """Something that memsense_app can leave behind for other sessions, and what ends it.

    `what` continues a sentence about memsense_app; `remedy` is SQL. `is_advice`: it ends with its
    session, so that tenants may be sealed all the same.
    """

    what: str
    remedy: str
    is_advice: bool


def list_lasting(connection: Connection) -> Sequence[Lasting]:
    """Return what memsense_app can leave behind that reaches the sessions of other tenants."""
    return fetch_all(connection, "list_lasting", file="security.sql", of=Lasting)


def find_standing(connection: Connection) -> Standing:
    """Return the standing of the connection's user, the same for all its connections."""
    return fetch_one(connection, "find_standing", file=FILE, of=Standing)


@contextmanager
def as_searching(
    connection: TenantConnection, tenant_id: int, standing: Standing
) -> Generator[None]:
    """Open a transaction whose statements run as a search of that tenant does."""
    original = connection.session
    connection.session = replace(
        original, tenant_id=tenant_id, role=standing.role, lookups=standing.lookups
    )
    try:
        with begun(connection, plans=GENERIC):
            yield
    finally:
        connection.session = original


def fetch_user(connection: Connection) -> User:
    """Return the user that the connection's statements run as now."""
    return fetch_one(connection, "fetch_user", file=FILE, of=User)


def list_unguarded(connection: Connection, role: str | None) -> Sequence[str]:
    """Return the tables with a tenant column that no policy guards for this role, or the user."""
    return fetch_values(connection, "list_unguarded", {"role": role}, FILE)


def list_leaky(connection: Connection) -> Sequence[str]:
    """Return the functions whose indexes can't serve a search under policies."""
    return fetch_values(connection, "list_leaky", file=FILE)


def check_seal(standing: Standing, seal_key: str | None) -> None:
    """Raise ConfigurationError unless this process and the database agree on sealed tenants."""
    if seal_key is not None:
        pad_key(seal_key)
    if standing.is_sealed and seal_key is None:
        raise ConfigurationError(
            "the tenants of this database are sealed: set MEMSENSE_SEAL_KEY to the key that"
            " 'memsense db seal' was given"
        )
    if seal_key is not None and not standing.is_sealed:
        raise ConfigurationError(
            "MEMSENSE_SEAL_KEY is set, but the tenants of this database are not sealed: run"
            " 'memsense db seal' as the owner"
        )
    if standing.is_sealed and standing.name != APP:
        raise ConfigurationError(
            f"tenants are sealed, but {standing.name} could take other rights than memsense_app's"
            " (RESET ROLE): connect as memsense_app"
        )


def require_policies(connection: Connection, role: str | None) -> None:
    """Raise ConfigurationError, naming the remedy, unless policies hold for every table."""
    user = fetch_user(connection)
    if role is None and user.bypasses:
        raise ConfigurationError(
            f"row-level security does not hold for the user {user.name}, but"
            f" MEMSENSE_REQUIRE_POLICIES is set; {REMEDY}"
        )
    if tables := list_unguarded(connection, role):
        raise ConfigurationError(
            f"row-level security does not hold for {role or user.name} on {', '.join(tables)}, but"
            f" MEMSENSE_REQUIRE_POLICIES is set; {REMEDY}"
        )
