"""A memory over an empty database, as in tests/sql."""

import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from memsense import MemSense

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "sql")]

OpenMemory = Callable[..., MemSense]


@pytest.fixture
def memory(database_url: str) -> Generator[MemSense]:
    """One memory over the test's database, with a quick embedder."""
    from embedders import HashingEmbedder

    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        yield memory


def pytest_configure(config: pytest.Config) -> None:
    """Run coroutines as tests, by pytest-asyncio, which the quick tests do without."""
    config.option.asyncio_mode = "auto"
