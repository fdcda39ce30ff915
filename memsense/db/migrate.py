"""Migration of a database to this version's schema, and the state of its schema."""

import random
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg
from psycopg import errors as pg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from memsense.db import check_server, citus, connect, database_errors, queries
from memsense.db.address import read_address
from memsense.db.connection import Connection
from memsense.db.seals import pad_key
from memsense.db.security import Lasting, find_standing, list_lasting, list_leaky
from memsense.errors import ConnectionFailedError, SchemaError

if TYPE_CHECKING:
    from alembic.config import Config

_PACKAGED = Path(__file__).parents[1] / "_alembic"
_SCRIPTS = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[2] / "alembic"


LOCK_KEY = 7_305_771_461
"""Advisory lock of a database for changes of its schema, roles and rights; any number will do."""

_ROLE_REPEATS = 5
_MEETINGS = (
    pg.DeadlockDetected, pg.SerializationFailure, pg.UniqueViolation, pg.DuplicateObject,
)  # fmt: skip
_CONCURRENTLY = "tuple concurrently updated"
"""Text of an internal error, which has no code of its own; PostgreSQL does not translate it."""


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The revision of a database (None: no memsense schema) and the one that this version needs.

    `made_by` is the version that made or upgraded it, None for versions up to 0.2.0.
    """

    current: str | None
    head: str
    made_by: str | None = None

    @property
    def is_current(self) -> bool:
        """True if memsense can work with the database as it is."""
        return self.current == self.head


def _config(url: str) -> "Config":
    from alembic.config import Config
    from sqlalchemy import URL

    parts = {name: str(value) for name, value in conninfo_to_dict(read_address(url)).items()}
    # All as options of the URL: so libpq's key=value strings are accepted too.
    address = URL.create("postgresql+psycopg", query=parts).render_as_string(hide_password=False)
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.set_main_option("sqlalchemy.url", address.replace("%", "%%"))  # % is Config's own sign
    return config


def head_revision() -> str:
    """Return the newest revision that this version of memsense has."""
    return max(path.name[:4] for path in (_SCRIPTS / "versions").glob("[0-9]*_*.py"))


def schema_state(url: str) -> SchemaState:
    """Return the revision of the database; raise ConnectionFailedError if it can't be reached."""
    with connect(url) as connection:
        return read_state(connection)


def read_state(connection: psycopg.Connection[Any]) -> SchemaState:
    """Return the revision of the database, over an open connection."""
    with database_errors():
        table = connection.execute("SELECT to_regclass('memsense.alembic_version')").fetchone()
        if table == (None,):
            citus.refuse_worker(connection)
            return SchemaState(None, head_revision())
        row = connection.execute(
            "SELECT version_num, obj_description('memsense.alembic_version'::regclass)"
            " FROM memsense.alembic_version"
        ).fetchone()
    current, made_by = row or (None, None)
    return SchemaState(current, head_revision(), made_by)


def require_current(connection: psycopg.Connection[Any]) -> SchemaState:
    """Return the schema's state; raise SchemaError, naming the remedy, unless it is current."""
    state = read_state(connection)
    if state.current is None:
        raise SchemaError("the database has no memsense schema; run 'memsense init'")
    _refuse_newer(state)
    if not state.is_current:
        raise SchemaError(
            f"the schema is at {state.current}, this memsense needs {state.head};"
            " run 'memsense db upgrade'"
        )
    return state


def _refuse_newer(state: SchemaState) -> None:
    if state.current is not None and state.current > state.head:
        maker = f", made by {state.made_by}," if state.made_by else ","
        raise SchemaError(
            f"the schema is at {state.current}{maker} newer than this memsense ({state.head});"
            " upgrade memsense"
        )


def note_maker(bind: Any) -> None:
    """Write this version as a comment on the table of revisions, which SchemaError quotes."""
    version = import_module("memsense").__version__
    text = sql.Literal(f"memsense {version}").as_string()
    run_text(bind, f"COMMENT ON TABLE memsense.alembic_version IS {text}")


def lift_policies(bind: Any) -> None:
    """Exempt the tables' owner from the policies, over Alembic's connection, until `secure`."""
    run_text(bind, _security("lift_policies"))


def secure(bind: Any) -> None:
    """Put the policies on every table, and grant the roles their rights if the roles exist."""
    run_text(bind, securing())


def drop_policies(bind: Any) -> None:
    """Remove the policies from every table, for a version without them."""
    run_text(bind, _security("drop_policies"))


def _security(part: str, **holes: str) -> str:
    return queries.fill(part, "security.sql", **holes)


def securing() -> str:
    """Return the statements for policies, for the functions of GIN indexes, and for rights."""
    is_served = _security("is_served")
    return "\n".join(
        (
            _security("mark_leakproof"),
            _security("create_token_functions"),
            _security("create_model_function"),
            _security("secure_tables", is_served=is_served),
            queries.fill_script("lookups.sql", own="memsense.find_own_tenant()"),
            _security("grant_rights"),
            _security("secure_lookups", is_served=is_served),
        )
    )


def set_up(url: str) -> None:
    """Create the schema and the roles of a new cluster, unless another process has done so."""
    with connect(url) as connection:
        state = read_state(connection)
        has_roles = connection.execute("SELECT to_regrole('memsense_app')").fetchone() != (None,)
    if state.current is None:
        upgrade(url)
    elif has_roles or not state.is_current:
        return
    make_roles(url)


def create_roles(url: str) -> None:
    """Create the roles without the schema, so that a restore can name them; raise SchemaError."""
    with connect(url) as connection, _creating_roles():
        citus.create_roles(connection)
        _run_alone(connection, _security("create_roles"))


def make_roles(url: str) -> None:
    """Create the roles `memsense_owner`, which then owns the schema, and `memsense_app`.

    If the user is no superuser, `memsense_index` too, through which GIN indexes serve under the
    policies. May be run again, and several times at once. Raises SchemaError if the user may not
    create roles.
    """
    with connect(url) as connection, _creating_roles():
        citus.create_roles(connection)
        parts = (_security("create_roles"), securing(), _security("reset_app"))
        _run_alone(connection, "\n".join(parts))


def _run_alone(connection: Connection, text: str) -> None:
    """Run statements on roles and rights in one transaction, after those of other processes."""
    for repeats_left in reversed(range(_ROLE_REPEATS)):
        try:
            with connection.transaction():
                lock_schema(connection)
                connection.execute(queries.as_sql(text))
        except psycopg.Error as error:
            # Roles belong to all databases of a server, and the lock to one: two may still meet.
            is_meeting = isinstance(error, _MEETINGS) or _CONCURRENTLY in str(error)
            if not is_meeting or not repeats_left:
                raise
            time.sleep(random.uniform(0.05, 0.4))  # noqa: S311
        else:
            return


def lock_schema(connection: psycopg.Connection[Any]) -> None:
    """Let the transaction wait until no other one changes the schema, its roles or its rights."""
    connection.execute("SELECT pg_advisory_xact_lock(%s::bigint)", [LOCK_KEY])


@contextmanager
def _creating_roles() -> Generator[None]:
    with database_errors():
        try:
            yield
        except pg.InsufficientPrivilege as error:
            raise SchemaError(
                f"the roles can't be made: {error.diag.message_primary}; run"
                " 'memsense init --roles' as a superuser, or as a user with CREATEROLE"
            ) from error


def seal(
    url: str, key: str, *, replaces: bool = False, is_strict: bool = False
) -> Sequence[Lasting]:
    """Seal the tenants: policies then ask for a token that a process has signed with this key.

    Another key may be added while processes still sign with the first one; with `replaces`, the
    others stop to count. Run by the owner.

    Args:
        url: Address of the database, of the tables' owner.
        key: The key that processes sign with, 32 to 64 bytes.
        replaces: Whether other keys stop to count.
        is_strict: Whether to refuse temporary objects too, instead of advising against them.

    Returns:
        What memsense_app may still leave in its own sessions.

    Raises:
        SchemaError: Without the roles, because a process that may take the owner's rights would not
            be held by any policy; or if memsense_app may leave anything behind that outlives its
            session, with the statements that end it.
    """
    inner_key, outer_key = pad_key(key)
    keys = {"inner_key": inner_key, "outer_key": outer_key}
    with connect(url) as connection, database_errors(), connection.transaction():
        check_server(connection)
        require_current(connection)
        lock_schema(connection)
        if connection.execute("SELECT to_regrole('memsense_app')").fetchone() == (None,):
            raise SchemaError("sealed tenants need the roles; run 'memsense init --roles'")
        if citus.is_spread(connection):
            raise SchemaError(
                "tenants of a Citus cluster can't be sealed: its nodes use no row-level security"
            )
        lasting = list_lasting(connection)
        if refused := [item for item in lasting if is_strict or not item.is_advice]:
            remedies = dict.fromkeys(item.remedy for item in refused)
            raise SchemaError(
                "tenants can't be sealed: SQL of one tenant could reach the sessions of others"
                f" through what memsense_app leaves behind: {'; '.join(it.what for it in refused)}."
                f" Run: {'; '.join(remedies)};"
            )
        for name in ("drop_other_seals", "drop_this_seal", "add_seal")[not replaces :]:
            connection.execute(queries.query(name, "security.sql"), keys)
        connection.execute(queries.as_sql(securing()))
        return lasting


def unseal(url: str) -> None:
    """Let policies compare with a plain setting again, which any statement may set."""
    with connect(url) as connection, database_errors(), connection.transaction():
        require_current(connection)
        lock_schema(connection)
        connection.execute(queries.query("drop_seals", "security.sql"))
        connection.execute(queries.as_sql(securing()))


def list_unindexed(url: str) -> Sequence[str]:
    """Return the functions whose indexes can't serve users under policies, for lack of roles."""
    with connect(url) as connection, database_errors():
        return [] if find_standing(connection).lookups else list_leaky(connection)


def upgrade(url: str, revision: str = "head") -> SchemaState:
    """Migrate to `revision` in one transaction, views included; may be run twice, and at once.

    Raises ServerTooOldError, ReadOnlyServerError or ConnectionFailedError before anything is
    changed, and SchemaError, with what a superuser must run, if the user may not create the schema.
    """
    from alembic import command

    with connect(url) as connection:
        check_server(connection)
        before = read_state(connection)
        _refuse_newer(before)
    with _migrating():
        try:
            command.upgrade(_config(url), revision)
        except pg.InsufficientPrivilege as error:
            if before.current is not None:
                raise SchemaError(
                    f"the schema can't be upgraded: {error.diag.message_primary}; connect as the"
                    " user who ran 'memsense init', or as a superuser"
                ) from error
            refusal = f"the schema can't be created: {error.diag.message_primary}"
            with connect(url) as connection:
                rights = queries.query("list_missing_rights", "rights.sql")
                row = connection.execute(rights).fetchone()
            database, statements = row or ("", [])
            if statements:
                refusal += (
                    f"; have a superuser run in database {database}: {' '.join(statements)} Then"
                    " run 'memsense init' again"
                )
            raise SchemaError(refusal) from error
    return schema_state(url)


def downgrade(url: str, revision: str) -> None:
    """Go back to an earlier revision; the content of tables that it lacks is lost."""
    from alembic import command

    with _migrating():
        command.downgrade(_config(url), revision)


@contextmanager
def _migrating() -> Generator[None]:
    """Turn errors of the driver and of SQLAlchemy inside the block into memsense's."""
    from sqlalchemy.exc import DBAPIError

    try:
        with database_errors():
            try:
                yield
            except DBAPIError as error:
                if isinstance(error.orig, psycopg.Error):
                    raise error.orig from error
                raise
    except ConnectionFailedError as error:
        raise ConnectionFailedError(
            f"{error}; run 'memsense db upgrade' again: a migration is one transaction, so the"
            " schema is as it was before, or whole"
        ) from error


def run_file(bind: Any, path: Path) -> None:
    """Run a revision's SQL file over Alembic's connection; on Citus, distribute its new tables."""
    text = path.read_text(encoding="utf-8")
    driver: psycopg.Connection[Any] = bind.connection.driver_connection
    if citus.is_spread(driver):
        citus.run_spread(driver, text)
    else:
        run_text(bind, text)


def run_text(bind: Any, text: str) -> None:
    """Run several statements as they are, without SQLAlchemy's parameter handling."""
    driver: psycopg.Connection[Any] = bind.connection.driver_connection
    driver.execute(cast("LiteralString", text))


def load_views() -> str:
    """Return the views of this version, which every migration creates anew."""
    return queries.load_views()
