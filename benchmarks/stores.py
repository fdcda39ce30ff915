"""Fills databases with generated memories, through the product's own write path where it can."""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from benchmarks.corpus import Corpus, PreparedEmbedder, PreparedSession, generate_sessions
from memsense import migrate, store
from memsense.db import open_pool, transaction
from memsense.db.connection import Pool
from memsense.types import SessionWrite

NAMESPACE = "bench"
TENANT = "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What a bulk write took, vectors at hand: the exchanges stored and the seconds."""

    chunks: int
    seconds: float


@contextmanager
def new_database(server_url: str, name: str) -> Generator[str]:
    """The URL of an empty, migrated database, dropped at the end."""
    parts = urlsplit(server_url)
    identifier = sql.Identifier(name)
    with psycopg.connect(server_url, autocommit=True) as connection:
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(identifier)
        connection.execute(drop)
        connection.execute(sql.SQL("CREATE DATABASE {}").format(identifier))
        try:
            url = urlunsplit(parts._replace(path=f"/{name}"))
            migrate.upgrade(url)
            yield url
        finally:
            connection.execute(drop)


def fill_user(url: str, corpus: Corpus, user_id: str, chunks: int, *, seed: int = 0) -> Filling:
    """Store `chunks` exchanges as one user's memory: a transaction a session, as ingest does."""
    pool = open_pool(url, min_size=1, max_size=1, timeout=30)
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
    """Store one session whose vectors are known, in one transaction."""
    embedder = PreparedEmbedder(known=session.vectors)
    with transaction(pool) as connection:
        namespace = store.open_namespace(
            connection,
            tenant=TENANT,
            name=NAMESPACE,
            language="english",
            model=embedder.model,
            dimension=embedder.dimension,
        )
        scope = store.lock_scope(connection, namespace, session.draft.user_id)
        return store.write_session(connection, scope, session.draft, embedder.embed)


def settle(url: str) -> None:
    """Bring statistics and visibility up to date, as autovacuum does in time."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")
