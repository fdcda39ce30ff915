"""Tests of a Citus cluster, which MEMSENSE_TEST_CITUS_URL names; without one they are skipped."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from servers import TestServer

_TESTS = Path(__file__).parents[1]
sys.path += [str(Path(__file__).parent), str(_TESTS / "sql"), str(_TESTS / "faults")]

pytest.register_assert_rewrite("counting", "invariants")


@pytest.fixture(autouse=True)
def _needs_a_cluster(server: TestServer) -> None:
    if not server.is_cluster:
        pytest.skip("needs a Citus cluster: set MEMSENSE_TEST_CITUS_URL to its coordinator")


@pytest.fixture
def unspread_url(server: TestServer, empty_template: str) -> Generator[str]:
    """Yield the URL of an empty database that knows the cluster's nodes."""
    with server.new_database(empty_template) as url:
        yield url
