"""Counts of the write path, compared with a recount after random histories of writes."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from counting import assert_counted

from memsense import MemSense
from memsense.errors import NotFoundError

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
WORDS = [
    "apple",
    "river",
    "lantern",
    "Lisbon",
    "guitar",
    "winter",
    "saffron",
    "bicycle",
    "ledger",
    "harbour",
    "2026",
    "tea",
]


class Writer:
    """Random history: every operation that changes the store, in random order."""

    def __init__(self, memory: MemSense, folder: Path, seed: int) -> None:
        self.memory = memory
        self.random = random.Random(seed)
        self.chunk_ids: set[int] = set()
        self.log = folder / f"log{seed}.jsonl"
        self.lines: list[dict[str, str]] = []
        self.minutes = 0

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.choice([1, 5, 30, 700])))

    def add(self) -> None:
        self.minutes += 11
        roles = self.random.choice([("user",), ("user", "assistant"), ("assistant",)])
        at = START + timedelta(minutes=self.minutes)
        chunks = self.memory.add(
            [{"role": role, "content": self.text(), "at": at} for role in roles],
            user_id=self.random.choice(["ada", "ben"]),
            session_id=self.random.choice(["one", "two"]),
            mode=self.random.choice(["hybrid", "hybrid", "turn"]),
            tags=self.random.choice([(), ("travel",), ("river", "tea")]),
        )
        self.chunk_ids.update(chunk.chunk_id for chunk in chunks)

    def ingest(self) -> None:
        """Let the log grow, or edit one of its messages, and read it again."""
        if self.lines and self.random.random() < 0.5:
            self.random.choice(self.lines)["content"] = self.text()
        else:
            for role in ("user", "assistant"):
                number = str(len(self.lines))
                self.lines.append(
                    {"session_id": "log", "role": role, "content": self.text(), "id": number}
                )
        self.log.write_text("\n".join(json.dumps(line) for line in self.lines))
        self.memory.ingest(self.log, user_id="ada")
        self.chunk_ids.update(
            chunk.chunk_id
            for granularity in ("turn", "session")
            for chunk in self.memory.recent(limit=1000, user_id="ada", granularity=granularity)
        )

    def change(self) -> None:
        """Forget, archive or restore something that was once stored, if it is still there."""
        if self.chunk_ids:
            operation = self.random.choice(["forget", "restore", "restore", "archive", "promote"])
            with suppress(NotFoundError):
                getattr(self.memory, operation)(self.random.choice(sorted(self.chunk_ids)))

    def step(self) -> None:
        self.random.choices([self.add, self.ingest, self.change], weights=[2, 2, 3])[0]()


@pytest.mark.parametrize("seed", range(4))
def test_the_kept_statistics_equal_a_recount_after_any_history(
    open_memory: Callable[[], MemSense], database_url: str, tmp_path: Path, seed: int
) -> None:
    writer = Writer(open_memory(), tmp_path, seed)
    with psycopg.connect(database_url, autocommit=True) as conn:
        for _ in range(40):
            writer.step()
            assert_counted(conn)
