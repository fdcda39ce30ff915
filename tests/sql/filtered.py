"""Randomly filled memory, and random filters that some of its chunks pass."""

import random
from collections.abc import Collection, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args

import psycopg
from embedders import HashingEmbedder
from hypothesis import strategies as st
from psycopg.rows import dict_row
from traced import START, some_text

from memsense import MemSense, load_settings
from memsense.search.profiles import BALANCED, Profile
from memsense.search.request import Filters
from memsense.types import IngestMode, MemoryKind

EVERYTHING: Profile = BALANCED.override(
    least_candidates=10_000, least_route_limit=10_000, quoted="must"
)
PROJECT = ("s1", "s4")
SESSION_ONLY = "s5"
MODES: Mapping[int, IngestMode] = {4: "turn", 5: "session"}


@dataclass(frozen=True, repr=False)
class Store:
    """A memory that tests only read, and the contents of its chunks."""

    memory: MemSense
    chunks: Mapping[int, Mapping[str, Any]]
    message_ids: list[str]


@contextmanager
def open_store(
    database_url: str, seed: int, tenant: str = "default", *, index_threshold: int = 10_000
) -> Generator[Store]:
    """Fill a store. The user of `database_url` must be a superuser, to see all tenants."""
    with closing(
        MemSense.open(
            database_url,
            namespace=f"seed{seed}",
            tenant=tenant,
            embedder=HashingEmbedder(),
            settings=load_settings(index_threshold=index_threshold),
        )
    ) as memory:
        fill_at_random(memory, random.Random(seed))
        memory.indexes.optimise()
        with psycopg.connect(database_url) as conn:
            cursor = conn.cursor(row_factory=dict_row)
            cursor.execute(
                "SELECT c.*, s.user_id FROM memsense.chunks AS c"
                " JOIN memsense.scopes AS s USING (tenant_id, scope_id)"
                " JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)"
                " JOIN memsense.tenants AS t USING (tenant_id)"
                " WHERE n.name = %s AND t.name = %s ORDER BY c.chunk_id",
                [f"seed{seed}", tenant],
            )
            chunks = {row["chunk_id"]: row for row in cursor}
        ids: set[str] = {name for row in chunks.values() for name in row["message_ids"]}
        yield Store(memory, chunks, sorted(ids))


def fill_at_random(memory: MemSense, source: random.Random) -> None:
    for user_id in ("ada", "bob"):
        for session in range(6):
            for part in range(2):
                at = START + timedelta(days=session, hours=part)
                messages = [
                    {
                        "id": f"{role}{session}-{part}-{turn}",
                        "role": role,
                        "content": some_text(source) * source.choice([1, 1, 1, 1, 40]),
                        "at": at + timedelta(minutes=turn),
                    }
                    for turn in range(3)
                    for role in ("user", "assistant")
                ]
                memory.add(
                    messages,
                    user_id=user_id,
                    session_id=f"s{session}",
                    agent_id=source.choice([None, "sales", "tech"]),
                    mode=MODES.get(session, "hybrid"),
                    tags=source.choice([(), ("river",), ("winter", "tea")]),
                    memory_kind=source.choice([None, *get_args(MemoryKind)]),
                    metadata=source.choice([{}, {"colour": "green"}, {"colour": "red", "n": 1}]),
                )
    memory.indexes.make_sessions()
    memory.projects.create("kitchen", PROJECT)
    for chunk in memory.recent(user_id="ada", limit=3):
        memory.forget(chunk.chunk_id)


SEEDS = st.integers(0, 2**32)


def filters_at_random(
    store: Store, source: random.Random, names: Collection[str] | None = None
) -> Filters:
    """Return random filters, or the named ones, with values that some chunks match, others not."""

    def some(*values: Any) -> Any:
        return source.sample(values, source.randint(0, 3))

    def some_time() -> Any:
        return START + timedelta(minutes=source.randint(0, 6 * 24 * 60))

    values: dict[str, Any] = {
        "session_ids": some(*(f"s{n}" for n in range(7))),
        "project": "kitchen",
        "agent_id": source.choice(["sales", "tech", "nobody"]),
        "since": some_time(),
        "until": some_time(),
        "tags": some("river", "tea", "none"),
        "kinds": some(*get_args(MemoryKind)),
        "metadata": source.choice([{}, {"colour": "green"}, {"n": 1}, {"n": 2}]),
        "exclude": some(*store.chunks, *store.message_ids),
        "exclude_sessions": some(*(f"s{n}" for n in range(7))),
    }
    share = source.random()
    chosen = [name for name in values if source.random() < share] if names is None else names
    return Filters(**{name: values[name] for name in chosen})
