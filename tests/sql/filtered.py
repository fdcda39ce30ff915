"""A memory filled at random, and random filters of which some of its chunks pass."""

import random
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args

import psycopg
from embedders import HashingEmbedder
from hypothesis import strategies as st
from psycopg.rows import dict_row
from traced import START, some_text

from memsense import MemSense
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
    """A memory that nobody changes, and what its chunks hold."""

    memory: MemSense
    chunks: Mapping[int, Mapping[str, Any]]
    message_ids: list[str]


@contextmanager
def open_store(database_url: str, seed: int) -> Generator[Store]:
    with closing(
        MemSense.open(database_url, namespace=f"seed{seed}", embedder=HashingEmbedder())
    ) as memory:
        fill_at_random(memory, random.Random(seed))
        with psycopg.connect(database_url) as conn:
            cursor = conn.cursor(row_factory=dict_row)
            cursor.execute(
                "SELECT c.*, s.user_id FROM memsense.chunks AS c"
                " JOIN memsense.scopes AS s USING (tenant_id, scope_id)"
                " JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)"
                " WHERE n.name = %s ORDER BY c.chunk_id",
                [f"seed{seed}"],
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


def filters_at_random(store: Store, source: random.Random) -> Filters:
    """Each filter set or not, with values of which some chunks pass and some don't."""
    share = source.random()

    def maybe(value: Any) -> Any:
        return value if source.random() < share else None

    def some(*values: Any) -> Any:
        return maybe(source.sample(values, source.randint(0, 3)))

    def some_time() -> Any:
        return maybe(START + timedelta(minutes=source.randint(0, 6 * 24 * 60)))

    return Filters(
        session_ids=some(*(f"s{n}" for n in range(7))),
        project=maybe("kitchen"),
        agent_id=maybe(source.choice(["sales", "tech", "nobody"])),
        since=some_time(),
        until=some_time(),
        tags=some("river", "tea", "none"),
        kinds=some(*get_args(MemoryKind)),
        metadata=maybe(source.choice([{}, {"colour": "green"}, {"n": 1}, {"n": 2}])),
        exclude=some(*store.chunks, *store.message_ids) or None,
    )
