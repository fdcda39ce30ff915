"""Memory over an empty database, with a fast embedder."""

import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from memsense import MemSense

# The tests of this folder, and processes that they start, import the modules beside them.
sys.path.append(str(Path(__file__).parent))

pytest.register_assert_rewrite("counting")

OpenMemory = Callable[..., MemSense]


@pytest.fixture
def database_url(emptied_database_url: str) -> str:
    """Return the URL of a migrated, empty database. Tests may write: it is emptied afterwards."""
    return emptied_database_url


@pytest.fixture
def open_memory(database_url: str) -> Generator[OpenMemory]:
    """Yield a function that opens memories over the test's database; all are closed at the end."""
    from embedders import HashingEmbedder

    with ExitStack() as stack:

        def open_one(**options: object) -> MemSense:
            given = {"embedder": HashingEmbedder(), **options}
            return stack.enter_context(partial(MemSense.open, database_url)(**given))  # pyright: ignore[reportArgumentType]

        yield open_one


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    """Return a memory over the test's database."""
    return open_memory()
