"""Tenants as things: an operator lists, measures, suspends, drops, copies and moves them.

Run over a connection of the tables' owner or a superuser, outside any tenant. A copy is a zip
archive: `manifest.json`, and a member for each table in PostgreSQL's text form of COPY. It holds
all that belongs to the tenant: memories, vectors, history, settings, keys, traces, jobs.
"""

import json
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from psycopg import sql
from psycopg.rows import dict_row

from memsense.actor import current_actor
from memsense.db import citus
from memsense.db.connection import Connection, connect
from memsense.db.dumping import new_file
from memsense.db.failures import database_errors
from memsense.db.migrate import require_current
from memsense.db.queries import query
from memsense.errors import ConfigurationError, ConflictError, InvalidInputError, NotFoundError

FILE = "tenants.sql"
FORMAT = 1
_EMPTY: Mapping[str, Any] = {"namespaces": 0, "users": 0, "chunks": 0}
MANIFEST = "manifest.json"

SHARED = {"tenants"}
"""Tables whose row of the tenant is made, not copied: it has another number in each database."""


_UNREADABLE = (
    BadZipFile, EOFError, KeyError, NotImplementedError, OSError, ValueError, zlib.error,
)  # fmt: skip
"""Errors by which zipfile tells that an archive is damaged, or that a file is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A tenant and what it holds; `chunks` are the active ones."""

    tenant_id: int
    name: str
    created_at: datetime
    suspended_at: datetime | None
    namespaces: int
    users: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSize:
    """Rows and bytes of a tenant by table, as they are stored, without indexes."""

    rows: Mapping[str, int]
    bytes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantReceipt:
    """Receipt of a tenant that was dropped or copied: its rows by table, when and by whom."""

    name: str
    action: str
    rows: Mapping[str, int]
    at: datetime
    by: str


class Column(NamedTuple):
    """A column of a table; an identity's numbers come from the table's own sequence."""

    name: str
    type: str
    is_identity: bool


def list_tenants(url: str) -> list[Tenant]:
    """Return all tenants by name."""
    with operating(url) as connection:
        return _fetch(connection, None)


def find_tenant(url: str, name: str) -> Tenant:
    """Return a tenant; raise NotFoundError if there is none of this name."""
    with operating(url) as connection:
        return require_tenant(connection, name)


def measure_tenant(url: str, name: str) -> TenantSize:
    """Return the rows and bytes of a tenant by table. Reads all of its rows."""
    with operating(url) as connection:
        tenant = require_tenant(connection, name)
        rows: dict[str, int] = {}
        sizes: dict[str, int] = {}
        for table in _list_tables(connection):
            statement = query("measure_table", FILE).format(table=sql.Identifier(table))
            row = connection.execute(statement, {"tenant_id": tenant.tenant_id}).fetchone()
            rows[table], sizes[table] = row or (0, 0)
    return TenantSize(rows=rows, bytes=sizes)


def suspend_tenant(url: str, name: str, *, resume: bool = False) -> Tenant:
    """Refuse all calls for a tenant within half a minute, or accept them again; its rows stay."""
    with operating(url) as connection:
        require_tenant(connection, name)
        now = None if resume else datetime.now(UTC)
        values = {"name": name, "suspended_at": now}
        connection.execute(query("set_suspended", FILE), values)
        return require_tenant(connection, name)


def drop_tenant(url: str, name: str) -> TenantReceipt:
    """Delete a suspended tenant with everything of it, in one transaction; raise ConflictError."""
    with operating(url) as connection:
        tenant = require_tenant(connection, name)
        if tenant.suspended_at is None:
            raise ConflictError(
                f"tenant {name!r} is in use; suspend it first: memsense tenant suspend {name}"
            )
        rows: dict[str, int] = {}
        for table in reversed(_list_tables(connection)):
            statement = query("delete_rows", FILE).format(table=sql.Identifier(table))
            rows[table] = connection.execute(statement, {"tenant_id": tenant.tenant_id}).rowcount
    return _make_receipt(name, "dropped", rows)


def back_up_tenant(url: str, name: str, path: Path) -> TenantReceipt:
    """Write a tenant's rows, as of one moment, to a new archive; raise ConflictError."""
    rows: dict[str, int] = {}
    with (
        new_file(path) as part,
        operating(url) as connection,
        ZipFile(part, "w", ZIP_DEFLATED) as archive,
    ):
        connection.execute(sql.SQL("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        tenant = require_tenant(connection, name)
        tables = [it for it in _list_tables(connection) if it not in SHARED]
        columns: dict[str, Sequence[Column]] = {}
        for table in tables:
            columns[table] = list_columns(connection, table)
            statement = query("copy_out", FILE).format(
                columns=_join([sql.Identifier(it.name) for it in columns[table]]),
                table=sql.Identifier(table),
                tenant_id=sql.Literal(tenant.tenant_id),
            )
            with archive.open(f"{table}.copy", "w", force_zip64=True) as file:
                cursor = connection.cursor()
                with cursor.copy(statement) as copy:
                    for block in copy:
                        file.write(block)
                rows[table] = cursor.rowcount
        models = connection.execute(query("list_used_models", FILE)).fetchall()
        state = require_current(connection)
        manifest = {
            "memsense_tenant": FORMAT,
            "name": name,
            "schema": state.head,
            "tables": {table: [it.name for it in columns[table]] for table in tables},
            "rows": rows,
            "models": models,
        }
        archive.writestr(MANIFEST, json.dumps(manifest))
    return _make_receipt(name, "backed up", rows)


def restore_tenant(url: str, path: Path, name: str | None = None) -> TenantReceipt:
    """Store an archive's tenant, under its own or another name; raise ConflictError if taken."""
    rows: dict[str, int] = {}
    with operating(url) as connection, _open_archive(path) as (archive, manifest):
        head = require_current(connection).head
        if manifest["schema"] != head:
            raise InvalidInputError(
                f"{path} was written at schema {manifest['schema']}, this database is at {head}:"
                " upgrade the older one"
            )
        name = name or cast("str", manifest["name"])
        if _fetch(connection, name):
            raise ConflictError(f"there is a tenant {name!r} already; give another --name")
        connection.execute(query("ensure_tenant"), {"name": name})
        tenant = require_tenant(connection, name)
        # For policies that hold for the tables' owner, too.
        announced = {"tenant": tenant.name, "tenant_id": str(tenant.tenant_id), "token": None}
        connection.execute(query("name_tenant", "session.sql"), announced)
        models = _map_models(connection, manifest["models"])
        tables = _list_tables(connection)
        if unknown := set(manifest["tables"]) - set(tables):
            raise InvalidInputError(f"{path} holds unknown tables: {', '.join(sorted(unknown))}")
        for table in tables:
            if table in manifest["tables"]:
                names: Sequence[str] = manifest["tables"][table]
                rows[table] = _bring_in(connection, archive, table, names, tenant, models)
        if rows != manifest["rows"]:
            raise InvalidInputError(f"{path} is damaged: it holds other rows than it says")
    return _make_receipt(name, "restored", rows)


def move_tenant(url: str, name: str, target: str, path: Path) -> TenantReceipt:
    """Move a tenant to another database; `path` is where its archive is written meanwhile.

    It is suspended here, copied, compared, and then dropped here. After an error it is still here,
    suspended, and whole.
    """
    suspend_tenant(url, name)
    copied = back_up_tenant(url, name, path)
    restore_tenant(target, path)
    drop_tenant(url, name)
    return _make_receipt(name, "moved", copied.rows)


@contextmanager
def operating(url: str) -> Generator[Connection]:
    """Open a connection with one transaction; raise ConfigurationError for a tenant's user."""
    with connect(url) as connection, database_errors():
        # Outside the transaction, which may begin with its isolation level.
        require_operator(connection)
        with connection.transaction():
            yield connection


def require_operator(connection: Connection) -> None:
    """Raise ConfigurationError for a user whom the policies hold: it would see no tenant."""
    row = connection.execute(query("find_held_user", FILE)).fetchone()
    if row:
        raise ConfigurationError(
            f"the database user {row[0]!r} sees one tenant at a time; connect as a superuser"
            " or the tables' owner: --database-url postgresql://OWNER@HOST/DATABASE"
        )


def require_tenant(connection: Connection, name: str) -> Tenant:
    """Return a tenant over an open connection; raise NotFoundError if there is none."""
    rows = _fetch(connection, name)
    if not rows:
        raise NotFoundError(f"no tenant {name!r}; see 'memsense tenant list'")
    return rows[0]


def list_columns(connection: Connection, table: str) -> list[Column]:
    """Return the columns of a table, without generated ones."""
    rows = connection.execute(query("list_columns", FILE), {"table": table}).fetchall()
    return [Column(*row) for row in rows]


def _fetch(connection: Connection, name: str | None) -> list[Tenant]:
    cursor = connection.cursor(row_factory=dict_row)
    rows = cursor.execute(query("list_tenants", FILE), {"name": name}).fetchall()
    if not rows:
        return []
    # Of one tenant without reading those of all others.
    values = {"tenant_id": None if name is None else rows[0]["tenant_id"]}
    counted = cursor.execute(query("count_tenants", FILE), values).fetchall()
    counts = {row["tenant_id"]: row for row in counted}
    return [Tenant(**{**_EMPTY, **counts.get(row["tenant_id"], {}), **row}) for row in rows]


def _list_tables(connection: Connection) -> list[str]:
    """Return the tables with a tenant's rows, each behind those it refers to."""
    rows = connection.execute(query("list_tenant_tables", FILE)).fetchall()
    references = connection.execute(query("list_references", citus.FILE)).fetchall()
    return citus.in_order([name for (name,) in rows], references)


def _bring_in(  # noqa: PLR0917 (one caller)
    connection: Connection,
    archive: ZipFile,
    table: str,
    names: Sequence[str],
    tenant: Tenant,
    models: Mapping[int, int],
) -> int:
    """Store a table's rows under the tenant's and the models' numbers here; return how many."""
    columns = {it.name: it for it in list_columns(connection, table)}
    fields = [columns[name] for name in names]
    incoming = _join(
        [sql.SQL("{} " + it.type).format(sql.Identifier(it.name)) for it in fields]  # pyright: ignore[reportArgumentType]
    )
    connection.execute(query("make_incoming", FILE).format(columns=incoming))
    with (
        connection.cursor().copy(query("copy_in", FILE)) as copy,
        archive.open(f"{table}.copy") as file,
    ):
        while block := file.read(1 << 20):
            copy.write(block)
    cases = _join([sql.SQL("({}, {})").format(old, new) for old, new in models.items()])
    values: list[sql.Composable] = []
    for name in names:
        if name == "tenant_id":
            values.append(sql.Literal(tenant.tenant_id))
        elif name == "model_id" and models:
            values.append(
                sql.SQL(
                    "(SELECT new FROM (VALUES {}) AS x (old, new) WHERE old = incoming.model_id)"
                ).format(cases)
            )
        else:
            values.append(sql.Identifier(name))
    statement = query("insert_incoming", FILE).format(
        table=sql.Identifier(table),
        columns=_join([sql.Identifier(name) for name in names]),
        values=_join(values),
    )
    count = connection.execute(statement).rowcount
    connection.execute(query("drop_incoming", FILE))
    for column in fields:
        if column.is_identity and count:
            find_last = query("find_last_number", FILE).format(
                table=sql.Identifier(table), column=sql.Identifier(column.name)
            )
            own = {"tenant_id": tenant.tenant_id}
            [last] = connection.execute(find_last, own).fetchone() or (None,)
            numbers = {"table": table, "column": column.name, "last": last}
            connection.execute(query("advance_identity", FILE), numbers)
    return count


def _map_models(connection: Connection, models: Sequence[Sequence[Any]]) -> dict[int, int]:
    """Return the number here of each model of an archive, which is added if it is new."""
    numbers: dict[int, int] = {}
    for model_id, name, dimension in models:
        values = {"name": name, "dimension": dimension}
        row = connection.execute(query("claim_model"), values).fetchone()
        assert row is not None
        numbers[model_id] = row[0]
    return numbers


@contextmanager
def _open_archive(path: Path) -> Generator[tuple[ZipFile, dict[str, Any]]]:
    """Open an archive with its manifest; raise InvalidInputError for any other file."""
    try:
        with ZipFile(path) as archive:
            manifest = cast("dict[str, Any]", json.loads(archive.read(MANIFEST)))
            if manifest.get("memsense_tenant") != FORMAT:
                raise InvalidInputError(f"{path} is no archive of a tenant, or of a later version")
            yield archive, manifest
    except _UNREADABLE as error:
        raise InvalidInputError(
            f"{path} can't be read as an archive of a tenant: {error}"
        ) from error


def _make_receipt(name: str, action: str, rows: Mapping[str, int]) -> TenantReceipt:
    at, by = datetime.now(UTC), current_actor()
    return TenantReceipt(name=name, action=action, rows=rows, at=at, by=by)


def _join(parts: Sequence[sql.Composable]) -> sql.Composed:
    return sql.SQL(", ").join(parts)
