"""Cost of row-level security for a search: the server's processor time with and without it.

    python -m benchmarks.security --database-url postgresql://postgres@... --chunks 1000 10000

Makes three databases with the same memory: `plain` as it was before there were policies;
`leakproof` with policies, made by a superuser, whose indexes serve beneath them; `lookups` with
policies, made by a user with CREATEROLE alone, whose indexes functions ask. Searches of the last
two run as memsense_app. All are asked the same questions in turns, block by block, first by exact
scans, which must find the same with the same scores, then by HNSW indexes. The server must run on
this machine, and the user be a superuser. Prints milliseconds of the backends' processor time per
search, and the ratio of each to the first.
"""

import argparse
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psutil
import psycopg
from psycopg import sql

from benchmarks.corpus import Corpus, load_corpus
from benchmarks.searching import open_memory
from benchmarks.stores import fill_user, new_database, settle
from memsense import MemSense, load_settings
from memsense.db.migrate import drop_policies, make_roles

USER = "u0"
BOSS = "memsense_bench_boss"
BLOCKS = 10
MOST_CHUNKS = 10**9


@dataclass(frozen=True, slots=True)
class Bind:
    """The part of Alembic's connection that `drop_policies` uses."""

    driver_connection: psycopg.Connection[Any]

    @property
    def connection(self) -> "Bind":
        """Return itself."""
        return self


def unguard(url: str) -> None:
    """Remove policies and roles' rights, as in a database before there were any."""
    with psycopg.connect(url, autocommit=True) as connection:
        drop_policies(Bind(connection))
        if connection.execute("SELECT to_regrole('memsense_app')").fetchone() != (None,):
            connection.execute("REVOKE ALL ON SCHEMA memsense FROM memsense_app")


def backend_seconds(url: str) -> float:
    """Return the processor time that the database's other backends have taken so far."""
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
    return sum(process_seconds(pid) for (pid,) in rows)


def process_seconds(pid: int) -> float:
    """Return the processor time of a process; 0 for one that has just ended."""
    try:
        return sum(psutil.Process(pid).cpu_times()[:2])
    except psutil.NoSuchProcess:
        return 0.0


def time_block(memory: MemSense, url: str, questions: Sequence[str]) -> float:
    """Return milliseconds of the server's processor time per search."""
    before = backend_seconds(url)
    for question in questions:
        memory.search(question, user_id=USER)
    return 1000 * (backend_seconds(url) - before) / len(questions)


def compare(urls: Mapping[str, str], corpus: Corpus, *, hnsw: bool) -> dict[str, float]:
    """Return each database's milliseconds per search, and their ratio to the first's."""
    settings = load_settings(index_threshold=1 if hnsw else MOST_CHUNKS)
    totals = dict.fromkeys(urls, 0.0)
    hits_by_way: list[list[list[tuple[int, float]]]] = []
    with ExitStack() as stack:
        memories = {
            way: stack.enter_context(open_memory(url, corpus, settings))
            for way, url in urls.items()
        }
        for way, memory in memories.items():
            memory.indexes.optimise()
            time_block(memory, urls[way], corpus.questions[:20])
            # HNSW indexes are built at random, so those of two databases find slightly other hits.
            if not hnsw:
                hits_by_way.append([look(memory, question) for question in corpus.questions])
        # A way that found other memories would be measured for another search.
        assert all(each == hits_by_way[0] for each in hits_by_way), (
            "the ways find different memories"
        )
        # By turns and in both orders, since a machine gets slower and faster within minutes.
        for block in range(BLOCKS):
            for way in list(urls)[:: 1 if block % 2 else -1]:
                totals[way] += time_block(memories[way], urls[way], corpus.questions)
    times = {way: total / BLOCKS for way, total in totals.items()}
    first = next(iter(times.values()))
    return {
        **{f"{way}_ms": round(milliseconds, 2) for way, milliseconds in times.items()},
        **{f"{way}_ratio": round(milliseconds / first, 3) for way, milliseconds in times.items()},
    }


def look(memory: MemSense, question: str) -> list[tuple[int, float]]:
    """Return the hits and their scores."""
    return [(hit.chunk_id, hit.score) for hit in memory.search(question, user_id=USER)]


@contextmanager
def without_superuser(server_url: str) -> Generator[str]:
    """Yield the name of a role that may make roles, and is no superuser."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {BOSS} NOSUPERUSER CREATEROLE")
        try:
            for role in ("memsense_owner", "memsense_app", "memsense_index"):
                if connection.execute("SELECT to_regrole(%s)", (role,)).fetchone() != (None,):
                    grant = sql.SQL("GRANT {} TO {} WITH ADMIN OPTION")
                    connection.execute(grant.format(sql.Identifier(role), sql.Identifier(BOSS)))
            yield BOSS
        finally:
            connection.execute(f"DROP OWNED BY {BOSS} CASCADE")
            connection.execute(f"DROP ROLE {BOSS}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1000, 10_000])
    options = parser.parse_args()
    corpus = load_corpus()
    for chunks in options.chunks:
        with ExitStack() as stack:
            urls = open_databases(stack, options.database_url)
            for url in urls.values():
                fill_user(url, corpus, USER, chunks)
                settle(url)
            for hnsw in (False, True):
                result = compare(urls, corpus, hnsw=hnsw)
                way = "hnsw" if hnsw else "exact"
                print(json.dumps({"chunks": chunks, "way": way, **result}), flush=True)


def open_databases(stack: ExitStack, server_url: str) -> dict[str, str]:
    """Yield the URLs of new databases, the one without policies first."""
    names = ("plain", "leakproof")
    urls = {
        name: stack.enter_context(new_database(server_url, f"memsense_bench_{name}"))
        for name in names
    }
    make_roles(urls["leakproof"])
    unguard(urls["plain"])
    boss = stack.enter_context(without_superuser(server_url))
    database = new_database(server_url, "memsense_bench_lookups", boss)
    return {**urls, "lookups": stack.enter_context(database)}


if __name__ == "__main__":
    main()
