"""Databases with generated memories, filled through the product's own write path if possible."""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from benchmarks.corpus import Corpus, PreparedEmbedder, PreparedSession, generate_sessions
from benchmarks.statements import statement
from memsense.db import Pool, migrate, transaction
from memsense.db.connection import Connection
from memsense.draft.vectors import BatchVectors, list_chunks
from memsense.store import scopes
from memsense.store.scopes import Namespace, lock_scope
from memsense.store.writes import write_sessions
from memsense.types import SessionWrite

NAMESPACE = "bench"
TENANT = "bench"
STRETCH = 10_000_000
"""Chunk ids kept apart for each copied user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Result of a bulk write with vectors prepared: the exchanges stored and the seconds."""

    chunks: int
    seconds: float


@contextmanager
def new_database(server_url: str, name: str, owner: str | None = None) -> Generator[str]:
    """Yield the URL of an empty, migrated database; drop it at the end.

    With an `owner`, the role migrates it, as where nobody is a superuser: it has CREATEROLE.
    """
    parts = urlsplit(server_url)
    identifier = sql.Identifier(name)
    with psycopg.connect(server_url, autocommit=True) as connection:
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(identifier)
        connection.execute(drop)
        connection.execute(sql.SQL("CREATE DATABASE {}").format(identifier))
        try:
            url = urlunsplit(parts._replace(path=f"/{name}"))
            if owner is None:
                migrate.upgrade(url)
            else:
                _grant_rights(url, owner)
                migrate.make_roles(acting_as(url, owner))
            yield url
        finally:
            connection.execute(drop)


def acting_as(url: str, role: str) -> str:
    """Return the URL whose connections act as a role from their beginning."""
    parts = urlsplit(url)
    query = urlencode([*parse_qsl(parts.query), ("options", f"-c role={role}")], quote_via=quote)
    return urlunsplit(parts._replace(query=query))


def _grant_rights(url: str, owner: str) -> None:
    """Make a role that is no superuser the owner of the database, and migrate it as this role."""
    name = urlsplit(url).path.removeprefix("/")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        grant = sql.SQL("ALTER DATABASE {} OWNER TO {}")
        connection.execute(grant.format(sql.Identifier(name), sql.Identifier(owner)))
    migrate.upgrade(acting_as(url, owner))


def fill_user(url: str, corpus: Corpus, user_id: str, chunks: int, *, seed: int = 0) -> Filling:
    """Store `chunks` exchanges as one user's memory: a transaction a session, as ingest does."""
    pool = Pool(url, min_size=1, max_size=1, timeout=30)
    try:
        seconds = sum(_write_all(pool, generate_sessions(corpus, user_id, chunks, seed=seed)))
    finally:
        pool.close()
    return Filling(chunks=chunks, seconds=seconds)


def _write_all(pool: Pool, sessions: Iterable[PreparedSession]) -> Iterator[float]:
    for session in sessions:
        started = time.perf_counter()
        write_prepared(pool, session)
        yield time.perf_counter() - started


def write_prepared(pool: Pool, session: PreparedSession) -> SessionWrite:
    """Store one session with prepared vectors, in one transaction."""
    vectors = BatchVectors(PreparedEmbedder(known=session.vectors))
    vectors.prepare(list_chunks([session.draft]))
    with transaction(pool) as connection:
        namespace = open_namespace(connection)
        scope = lock_scope(
            connection, namespace, session.draft.user_id, followers=(session.upkeep,)
        )
        return write_sessions(connection, scope, [session.draft], vectors)[0]


def open_namespace(connection: Connection) -> Namespace:
    """Return the benchmark's namespace; create it if it is new."""
    embedder = PreparedEmbedder()
    return scopes.open_namespace(
        connection,
        tenant=TENANT,
        name=NAMESPACE,
        language="english",
        model=embedder.model,
        dimension=embedder.dimension,
    )


def settle(url: str) -> None:
    """Bring statistics and visibility up to date, as autovacuum does in time."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        # Else a checkpoint that the filling has caused would fall into the measured searches.
        connection.execute("CHECKPOINT")


def sizes(url: str) -> dict[str, int]:
    """Return the bytes on disk by kind of table, indexes included."""
    with psycopg.connect(url) as connection:
        return dict(connection.execute(statement("stores.sql", "measure_sizes")).fetchall())


def index_size(url: str) -> int:
    """Return the bytes of the HNSW indexes of all scopes."""
    with psycopg.connect(url) as connection:
        return int(connection.execute(statement("stores.sql", "measure_indexes")).fetchall()[0][0])


def copy_user(url: str, user_id: str, copies: int) -> Filling:
    """Copy the texts and vectors of the only user to `copies` more, inside the database."""
    # Writing a million chunks one session at a time would take longer than the whole benchmark.
    started = time.perf_counter()
    with _writing_in_bulk(url) as connection:
        values = {"user_id": user_id, "copies": copies}
        for name in ("copy_users", "copy_statistics", "copy_lexemes"):
            connection.execute(statement("stores.sql", name), values)
        for stretch in _stretches(connection, copies):
            for name in ("copy_chunks", "copy_embeddings"):
                connection.execute(statement("stores.sql", name), values | stretch)
    return Filling(chunks=copies, seconds=time.perf_counter() - started)


def grow_user(url: str, user_id: str, times: int) -> Filling:
    """Make the memory of the only user so many times as large, inside the database.

    Each further share has the same texts in sessions of its own, and vectors between the first's.
    """
    started = time.perf_counter()
    values = {"user_id": user_id, "times": times, "stretch": STRETCH}
    with _writing_in_bulk(url) as connection:
        connection.execute(statement("stores.sql", "keep_base"), values)
        connection.execute(statement("stores.sql", "index_base"))
        connection.execute("ANALYZE base")
        for number in range(1, times):
            for name in ("grow_chunks", "grow_embeddings"):
                connection.execute(statement("stores.sql", name), values | {"number": number})
        for name in ("grow_statistics", "grow_lexemes"):
            connection.execute(statement("stores.sql", name), values)
    return Filling(chunks=times, seconds=time.perf_counter() - started)


@contextmanager
def _writing_in_bulk(url: str) -> Generator[psycopg.Connection[TupleRow]]:
    """Yield a connection that checks no foreign keys, which hold already; index texts last."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET maintenance_work_mem = '512MB'")
        # Building the text index at the end is faster than adding each row's words to it.
        index = connection.execute(statement("stores.sql", "describe_text_index")).fetchall()[0][0]
        connection.execute(statement("stores.sql", "drop_text_index"))
        yield connection
        connection.execute(index)


def _stretches(connection: psycopg.Connection[Any], copies: int) -> Iterator[dict[str, int]]:
    """Yield groups of scopes, so that no statement writes more than a hundred thousand chunks."""
    last = connection.execute("SELECT max(scope_id) FROM memsense.scopes").fetchall()[0][0]
    for first in range(last - copies, last + 1, 100):
        yield {"first": first, "last": min(first + 99, last), "stretch": STRETCH}
