"""A client that is killed at work: run as a process, it tells in a file what it was acknowledged.

client.py talk DIR NAME SEED     adds and searches, exchanges and sessions, until it is ended
client.py import DIR USER LOG    ingests the log, forgets, makes session chunks, optimises, and ends
"""

import random
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from embedders import HashingEmbedder, Vectors

from memsense import MemSense
from memsense.config import Settings
from memsense.errors import EmbeddingError

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
FAILING = 0.05
ASKING_FOR_SESSIONS = 0.2
SESSION = 12


class FlakyEmbedder(HashingEmbedder):
    """Fails at times, and comes back."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance = chance

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors, or an EmbeddingError."""
        if self.chance.random() < FAILING:
            raise EmbeddingError("out for a moment")
        return super().embed(texts)


def open_memory(data_dir: str, embedder: HashingEmbedder) -> MemSense:
    values = {"database_url": None, "data_dir": data_dir, "pool_timeout": 120}
    settings = Settings.model_validate({**values, "index_threshold": 20})
    return MemSense.open(settings=settings, embedder=embedder)


def said_by(name: str, number: int) -> str:
    return f"Message {number} of {name} about tea."


def talk(data_dir: str, name: str, seed: str) -> None:
    """Go on behind the last acknowledged message; the one after it may be stored already."""
    chance = random.Random(seed)
    told = Path(data_dir) / f"{name}.acknowledged"
    number = len(told.read_text().splitlines()) if told.exists() else 0
    with open_memory(data_dir, FlakyEmbedder(chance)) as memory, told.open("a") as file:
        while True:
            said = said_by(name, number)
            message = {"role": "user", "content": said, "at": START + timedelta(hours=number)}
            try:
                session_id = f"{name}/{number // SESSION}"
                mode = "hybrid" if number // SESSION % 2 else "turn"
                memory.add([message], user_id="ada", session_id=session_id, mode=mode)
            except EmbeddingError:
                continue
            file.write(f"{said}\n")
            file.flush()
            if not memory.search(said, user_id="ada", top_k=3):
                raise AssertionError(f"{said} was not found")
            number += 1
            if chance.random() < ASKING_FOR_SESSIONS:
                with suppress(EmbeddingError):  # what is left marked is made by the next one
                    memory.search(said, user_id="ada", granularity="session", top_k=1)


def bring_in(data_dir: str, user_id: str, log: str) -> None:
    """Every step may be repeated: what is done already is left alone."""
    with open_memory(data_dir, HashingEmbedder()) as memory:
        memory.ingest(log, user_id=user_id, mode="hybrid")
        print("ingested", flush=True)
        for chunk in memory.recent(limit=1000, user_id=user_id):
            if "secret" in chunk.user_text:
                memory.forget(chunk.chunk_id)
        print("forgotten", flush=True)
        memory.indexes.make_sessions(user_id)
        print("sessions made", flush=True)
        memory.indexes.optimise()
    print("done", flush=True)


if __name__ == "__main__":
    {"talk": talk, "import": bring_in}[sys.argv[1]](*sys.argv[2:])
