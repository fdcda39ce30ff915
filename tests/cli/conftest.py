"""The tests of this folder run the command line within their own process: tests/cli/command.py."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "sql")]


@pytest.fixture
def database_url(emptied_database_url: str) -> str:
    """Return the URL of a migrated, empty database. Tests may write: it is emptied afterwards."""
    return emptied_database_url
