"""A server of one's own to break, and what to break it with: seeds printed, durations by variable.

MEMSENSE_FAULT_SECONDS is how long the soak takes (10), MEMSENSE_FAULT_KILLS how many single kills
there are (3), MEMSENSE_FAULT_SEED seeds what is random (1; `make test-faults` takes another one
each time).
"""

import os
import random
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memsense import MemSense
from memsense.config import Settings
from memsense.db.embedded import EmbeddedServer

# What these tests, and processes that they start, share with those of SQL.
sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "sql")]

pytest.register_assert_rewrite("counting", "invariants")

PATIENCE = 120

OpenMemory = Callable[..., MemSense]


@pytest.fixture(scope="session")
def soak_seconds() -> float:
    return float(os.environ.get("MEMSENSE_FAULT_SECONDS", "10"))


@pytest.fixture(scope="session")
def kills() -> int:
    return int(os.environ.get("MEMSENSE_FAULT_KILLS", "3"))


@pytest.fixture
def chance() -> random.Random:
    """The run's chance; its seed is printed when the test fails, or with -s."""
    seed = int(os.environ.get("MEMSENSE_FAULT_SEED", "1"))
    print(f"MEMSENSE_FAULT_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def data_dir(cluster_dir: Path) -> Generator[Path]:
    """The directory of an embedded server of this test, empty of memories."""
    yield cluster_dir
    with EmbeddedServer(cluster_dir) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS memsense CASCADE")
            connection.execute("ALTER SYSTEM RESET ALL")
    EmbeddedServer(cluster_dir).stop()


@pytest.fixture
def open_memory(data_dir: Path) -> Generator[OpenMemory]:
    """Opens memories over the test's embedded server; all are closed at the end."""
    from embedders import HashingEmbedder

    with ExitStack() as stack:

        def open_one(**settings: Any) -> MemSense:
            given = {"pool_timeout": PATIENCE, **settings, "data_dir": data_dir}
            chosen = Settings.model_validate({"database_url": None, **given})
            opened = partial(MemSense.open, settings=chosen, embedder=HashingEmbedder())
            return stack.enter_context(opened())

        yield open_one
