"""A standby of the coordinator answers reads, from the same worker nodes."""

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from embedders import HashingEmbedder
from standby import Standby

from memsense import MemSense
from memsense.config import Settings


@pytest.fixture
def standby(database_url: str) -> Generator[Standby]:
    with tempfile.TemporaryDirectory(prefix="memsense-standby-") as directory:
        Path(directory).chmod(0o755)
        standby = Standby.copy_of(database_url, Path(directory) / "coordinator")
        standby.start()
        try:
            yield standby
        finally:
            standby.stop()
            shutil.rmtree(standby.folder)


def test_a_standby_of_the_coordinator_answers_reads(standby: Standby, database_url: str) -> None:
    settings = Settings(database_url=database_url, replica_url=standby.url, replica_lag=0.5)
    with MemSense.open(settings=settings, embedder=HashingEmbedder()) as memory:
        for drink in ("tea", "milk"):
            memory.add(f"I drink {drink}.", user_id="ada")
            standby.catch_up(database_url)
            hits = memory.search("What do I drink?", user_id="ada")
            assert f"I drink {drink}." in {hit.chunk.user_text for hit in hits}
        replica = memory._context._place.replica  # pyright: ignore[reportPrivateUsage]
        assert replica is not None
        assert replica._state.mark is not None  # pyright: ignore[reportPrivateUsage]
        assert replica._state.mark.is_reached  # pyright: ignore[reportPrivateUsage]
