"""Servers that the tests run on: one PostgreSQL, or a Citus cluster."""

import uuid
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from memsense.db import citus
from memsense.db.migrate import make_roles, upgrade
from memsense.db.queries import query

SHARDS = 2
"""Shards of a test's tables: few, because each test copies all of them."""


def with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def with_user(url: str, user: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))


def with_port(url: str, host: str, port: int) -> str:
    parts = urlsplit(url)
    user = parts.netloc.rpartition("@")[0]
    return urlunsplit(parts._replace(netloc=f"{user}@{host}:{port}" if user else f"{host}:{port}"))


@dataclass(frozen=True)
class TestServer:
    """A server, or a cluster by its coordinator: `workers` are the URLs of its other nodes."""

    __test__ = False

    url: str
    workers: Sequence[str] = ()
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(6))
    """What creates and drops databases on all nodes at once: most of that is waiting."""

    @classmethod
    def of_cluster(cls, url: str) -> "TestServer":
        """Return the cluster of this coordinator, whose user may create databases on each node."""
        with psycopg.connect(url) as connection:
            nodes = connection.execute(
                "SELECT nodename, nodeport FROM pg_dist_node"
                " WHERE groupid > 0 AND noderole = 'primary' AND isactive ORDER BY groupid"
            ).fetchall()
        return cls(url, [with_port(url, host, port) for host, port in nodes])

    @property
    def is_cluster(self) -> bool:
        return bool(self.workers)

    @property
    def nodes(self) -> Sequence[str]:
        return [self.url, *self.workers]

    @contextmanager
    def new_database(self, template: str) -> Generator[str]:
        """Yield the URL of a new copy of the template database, and drop it at the end."""
        name = f"memsense_test_{uuid.uuid4().hex[:12]}"
        names = {"name": sql.Identifier(name), "template": sql.Identifier(template)}
        create = sql.SQL("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy").format(
            **names
        )
        for copying in [self.threads.submit(_execute, node, create) for node in self.nodes]:
            copying.result()
        if self.is_cluster and template != "template1":
            # A copy has no settings of its own database.
            with psycopg.connect(with_database(self.url, name), autocommit=True) as connection:
                connection.execute(query("set_on_every_node", citus.FILE))
        try:
            yield with_database(self.url, name)
        finally:
            drops = [self.threads.submit(_drop, node, name) for node in self.nodes]
            if not self.is_cluster:
                drops[0].result()

    @contextmanager
    def new_cluster_database(self) -> Generator[str]:
        """Yield the URL of a database without memsense that knows the cluster's nodes."""
        with self.new_database("template1") as url:
            name = urlsplit(url).path.removeprefix("/")
            for node in self.nodes:
                with psycopg.connect(with_database(node, name), autocommit=True) as connection:
                    connection.execute("CREATE EXTENSION citus")
                    connection.execute("CREATE EXTENSION vector")
            with psycopg.connect(url, autocommit=True) as connection:
                own = connection.info
                host = "SELECT citus_set_coordinator_host(%s, %s)"
                connection.execute(host, (own.host, own.port))
                for worker in self.workers:
                    parts = urlsplit(worker)
                    join = "SELECT citus_add_node(%s, %s)"
                    connection.execute(join, (parts.hostname, parts.port))
            yield url

    @contextmanager
    def migrated_database(self, template: str) -> Generator[str]:
        """Yield the URL of a database with the schema, spread over the nodes of a cluster."""
        if not self.is_cluster:
            with self.new_database(template) as url:
                upgrade(url)
                make_roles(url)
                yield url
            return
        with self.new_database(template) as url:
            upgrade(url)
            citus.spread(f"{url}?options=-c%20citus.shard_count%3D{SHARDS}")
            yield url

    def close_to_connections(self, name: str) -> None:
        """End every connection to a database, and allow no further one: only so it can be copied.

        Citus keeps a process of its own in every database, which starts again with a connection.
        """
        for node in self.nodes:
            with psycopg.connect(node, autocommit=True) as connection:
                close = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false")
                connection.execute(close.format(sql.Identifier(name)))
                connection.execute(END_CONNECTIONS, (name,))

    def close(self) -> None:
        """Wait until the last database is dropped."""
        self.threads.shutdown()


END_CONNECTIONS = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s"


def end_connections(url: str) -> int:
    """End every other connection to the database, as a restart does; return their number."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    assert row is not None
    return int(row[0])


UNNOTICED_PAGES = 10
"""Size that the planner takes a table to have at least, until it is analysed."""


def empty_database(conn: psycopg.Connection, *, is_cluster: bool) -> None:
    """Leave the database as a migration does: no rows, nothing analysed, sequences at their start.

    Deleting rows takes a hundredth of truncating tables, each with all its indexes. Tables are
    truncated where the remains of deleted rows, or statistics, could change a plan; all of them on
    a cluster, whose coordinator knows neither.
    """
    tables = conn.execute(
        "SELECT relname, %(is_cluster)s OR relpages > 0 OR reltuples >= 0"
        " OR pg_relation_size(oid) > %(unnoticed)s * current_setting('block_size')::int"
        " FROM pg_class WHERE relnamespace = 'memsense'::regnamespace"
        " AND relkind = ANY (%(kinds)s) AND NOT (relispartition AND %(is_cluster)s)"
        " AND (%(is_cluster)s OR reltuples >= 0 OR pg_relation_size(oid) > 0)"
        " AND relname <> 'alembic_version'",
        {
            "is_cluster": is_cluster,
            "unnoticed": UNNOTICED_PAGES,
            "kinds": ["r", "p"] if is_cluster else ["r"],
        },
    ).fetchall()
    statements: list[sql.Composable] = []
    # Without foreign keys' triggers, rows may be deleted in any order. On a cluster, TRUNCATE needs
    # triggers: one of them truncates the shards.
    if not is_cluster:
        statements.append(sql.SQL("SET session_replication_role = replica"))
    statements += [
        sql.SQL("DELETE FROM {}").format(sql.Identifier("memsense", name))
        for name, is_noticed in tables
        if not is_noticed
    ]
    if noticed := [sql.Identifier("memsense", name) for name, is_noticed in tables if is_noticed]:
        statements.append(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(noticed)))
    statements.append(
        sql.SQL(
            "SELECT setval(oid::regclass, 1, false) FROM pg_class"
            " WHERE relnamespace = 'memsense'::regnamespace AND relkind = 'S'"
        )
    )
    conn.execute(sql.SQL("; ").join(statements))
    conn.execute("DROP TABLE IF EXISTS orders")
    indexes = conn.execute(
        "SELECT c.relname FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam"
        " WHERE c.relnamespace = 'memsense'::regnamespace AND a.amname = 'hnsw'"
    ).fetchall()
    for (name,) in indexes:
        conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier("memsense", name)))


def _execute(node: str, statement: sql.Composed) -> None:
    with psycopg.connect(node, autocommit=True) as connection:
        connection.execute(statement)


def _drop(node: str, name: str) -> None:
    identifier = sql.Identifier(name)
    with psycopg.connect(node, autocommit=True) as connection:
        # Citus's own process in the database takes longer to end than FORCE waits for.
        connection.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(identifier))
        connection.execute(END_CONNECTIONS, (name,))
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))
