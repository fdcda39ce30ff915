"""Brings a database to this version's schema, and says how far it is from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict

from memsense.db import check_server, connect, database_errors, queries
from memsense.db.address import read_address
from memsense.db.security import find_standing, list_leaky
from memsense.errors import SchemaError

if TYPE_CHECKING:
    from alembic.config import Config

_PACKAGED = Path(__file__).parents[1] / "_alembic"
_SCRIPTS = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[2] / "alembic"


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The revision a database is at (None: no memsense schema) and the one this version needs."""

    current: str | None
    head: str

    @property
    def is_current(self) -> bool:
        """Whether memsense can work with the database as it is."""
        return self.current == self.head


def _config(url: str) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.set_main_option("sqlalchemy.url", _sqlalchemy_url(url).replace("%", "%%"))
    return config


def _sqlalchemy_url(url: str) -> str:
    """The same server for SQLAlchemy's psycopg dialect; accepts libpq key=value strings too."""
    from sqlalchemy import URL

    parts = {name: str(value) for name, value in conninfo_to_dict(read_address(url)).items()}
    return URL.create("postgresql+psycopg", query=parts).render_as_string(hide_password=False)


def head_revision() -> str:
    """The newest revision that this version of memsense ships."""
    return max(path.name[:4] for path in (_SCRIPTS / "versions").glob("[0-9]*_*.py"))


def schema_state(url: str) -> SchemaState:
    """Which revision the database is at; raises ConnectionFailedError when it can't be reached."""
    with connect(url) as connection:
        return read_state(connection)


def read_state(connection: psycopg.Connection[Any]) -> SchemaState:
    """As `schema_state`, over an open connection."""
    with database_errors():
        found = connection.execute("SELECT to_regclass('memsense.alembic_version')").fetchone()
        if found == (None,):
            return SchemaState(None, head_revision())
        row = connection.execute("SELECT version_num FROM memsense.alembic_version").fetchone()
    return SchemaState(row[0] if row else None, head_revision())


def require_current(connection: psycopg.Connection[Any]) -> None:
    """Raise SchemaError, naming the remedy, unless the database is at this version's revision."""
    state = read_state(connection)
    if state.current is None:
        raise SchemaError("the database has no memsense schema; run 'memsense init'")
    _refuse_newer(state)
    if not state.is_current:
        raise SchemaError(
            f"the schema is at {state.current}, this memsense needs {state.head};"
            " run 'memsense db upgrade'"
        )


def _refuse_newer(state: SchemaState) -> None:
    if state.current is not None and state.current > state.head:
        raise SchemaError(
            f"the schema is at {state.current}, newer than this memsense ({state.head});"
            " upgrade memsense"
        )


def lift_policies(bind: Any) -> None:
    """Exempt the tables' owner from the policies, over Alembic's connection, until `secure`."""
    run_text(bind, _security("lift_policies"))


def secure(bind: Any) -> None:
    """Put the policies on every table, and give the roles their rights where there are any."""
    run_text(bind, _securing())


def drop_policies(bind: Any) -> None:
    """Take the policies off every table, for a version that knows of none."""
    run_text(bind, _security("drop_policies"))


def _security(part: str, **holes: str) -> str:
    return queries.fill(part, "security.sql", **holes)


def _securing() -> str:
    """Policies on what there is, the functions that ask GIN indexes, and rights."""
    is_served = _security("is_served")
    return "\n".join(
        (
            _security("mark_leakproof"),
            _security("secure_tables", is_served=is_served),
            queries.fill_script("lookups.sql"),
            _security("grant_rights"),
            _security("secure_lookups", is_served=is_served),
        )
    )


def make_roles(url: str) -> None:
    """Make the roles `memsense_owner` and `memsense_app`; all in the schema is then the owner's.

    Where the user is no superuser, `memsense_index` too, by which GIN indexes serve beneath the
    policies. Safe to run again. Raises SchemaError where the user may not make roles.
    """
    with connect(url) as connection, database_errors():
        try:
            with connection.transaction():
                connection.execute(queries.as_sql(_security("create_roles")))
                connection.execute(queries.as_sql(_securing()))
        except pg.InsufficientPrivilege as error:
            raise SchemaError(
                f"the roles can't be made: {error.diag.message_primary}; run"
                " 'memsense init --roles' as a superuser, or as a user with CREATEROLE"
            ) from error


def list_unindexed(url: str) -> Sequence[str]:
    """The functions for which no index serves whom policies hold: no superuser marked them, and
    nothing looks them up as memsense_index."""
    with connect(url) as connection, database_errors():
        return [] if find_standing(connection).lookups else list_leaky(connection)


def upgrade(url: str, revision: str = "head") -> SchemaState:
    """Migrate to `revision` in one transaction, views included; safe to run twice and at once.

    Raises ServerTooOldError or ConnectionFailedError before anything is changed, and SchemaError,
    with what a superuser must run, where the user may not create the schema.
    """
    from alembic import command

    with connect(url) as connection:
        check_server(connection)
        _refuse_newer(read_state(connection))
    with database_errors():
        try:
            command.upgrade(_config(url), revision)
        except pg.InsufficientPrivilege as error:
            raise SchemaError(_explain_refusal(url, error)) from error
    return schema_state(url)


def _explain_refusal(url: str, error: pg.InsufficientPrivilege) -> str:
    """What the server refused, and what gives the right to it."""
    with connect(url) as connection:
        row = connection.execute(queries.query("list_missing_rights", "rights.sql")).fetchone()
    database, statements = row or ("", [])
    if not statements:
        return f"the schema can't be created: {error.diag.message_primary}"
    return (
        f"the schema can't be created: {error.diag.message_primary}; have a superuser run in"
        f" database {database}: {' '.join(statements)} Then run 'memsense init' again"
    )


def downgrade(url: str, revision: str) -> None:
    """Go back to an earlier revision; what its tables held is gone."""
    from alembic import command

    with database_errors():
        command.downgrade(_config(url), revision)


def run_file(bind: Any, path: Path) -> None:
    """Run a revision's SQL file as it is, over Alembic's connection."""
    run_text(bind, path.read_text(encoding="utf-8"))


def run_text(bind: Any, text: str) -> None:
    """Run several statements as they are, past SQLAlchemy's parameter handling."""
    driver: psycopg.Connection[Any] = bind.connection.driver_connection
    driver.execute(cast("LiteralString", text))


def load_views() -> str:
    """The views of this version, which every migration creates anew."""
    return queries.load_views()
