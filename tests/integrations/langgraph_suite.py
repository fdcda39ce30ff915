"""Loads LangGraph's own tests of its stores, from beside the project, to run over memsense's."""

import importlib.util
import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from memsense import MemSense
from memsense.integrations.langgraph import MemSenseStore, StoreIndex

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", ROOT.parent / "shared"))
SUITES = SHARED / "suites/langgraph_store"

TTL_MINUTES = 6 / 60
"""What the suites' tests wait for."""

VIEW = """
CREATE TEMPORARY VIEW store AS
SELECT array_to_string(path, '.') AS prefix, key, value, expires_at, updated_at FROM memsense.items
"""
"""The items by the names that LangGraph's own table has: its tests look at it, and change times."""


class Cursors:
    """What the suites reach into a store for: cursors that see its table."""

    def __init__(self, url: str) -> None:
        self._url = url

    @contextmanager
    def __call__(self) -> Generator[psycopg.Cursor[dict[str, Any]]]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(VIEW)
            yield connection.cursor(row_factory=dict_row)


def load_suite(name: str) -> ModuleType:
    """A test module of LangGraph's, with its own stores and its conftest out of the way."""
    path = SUITES / name
    if not path.is_file():
        pytest.skip(f"{path} is not there", allow_module_level=True)
    embeddings = _load("langgraph_suite_embeddings", path.parent / "embed_test_utils.py")
    stand_ins = {
        "tests.embed_test_utils": embeddings,
        "tests.conftest": _module(
            DEFAULT_URI="",
            VECTOR_TYPES=["halfvec"],
            CharacterEmbeddings=embeddings.CharacterEmbeddings,
        ),
        "langgraph.store.postgres": _module(PostgresStore=None, AsyncPostgresStore=None),
        "langgraph.store.postgres.base": _module(
            _escape_like_literal=None, _namespace_match_pattern=None
        ),
        "langgraph.checkpoint.postgres": _module(_ainternal=None),
        "pytest_mock": _module(MockerFixture=None),
    }
    with _replaced(stand_ins):
        return _load(f"langgraph_suite_{path.parent.name}_{path.stem}", path)


def select_tests(suite: ModuleType, left_out: set[str]) -> dict[str, Callable[..., Any]]:
    """The suite's tests, but for those that are left out, each of which must be there."""
    found = {name: value for name, value in vars(suite).items() if name.startswith("test_")}
    assert left_out <= found.keys()
    return {name: value for name, value in found.items() if name not in left_out}


def make_index(
    embeddings: Any, distance_type: str | None = None, fields: list[str] | None = None
) -> StoreIndex:
    """An index as the suites configure it."""
    given: Any = {"dims": embeddings.dims, "embed": embeddings, "fields": fields}
    if distance_type:
        given["distance_type"] = distance_type
    return given


def in_memory_stand_in(memory: MemSense) -> Callable[..., MemSenseStore]:
    """Makes stores where the suites make LangGraph's in memory: each empty, as that is."""
    made: list[MemSenseStore] = []

    def make(index: Any = None) -> MemSenseStore:
        store = MemSenseStore(memory, index=index or False, collection=f"store{len(made)}")
        made.append(store)
        return store

    return make


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _module(**names: Any) -> ModuleType:
    module = ModuleType("stand_in")
    vars(module).update(names)
    return module


@contextmanager
def _replaced(modules: Mapping[str, ModuleType]) -> Generator[None]:
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
