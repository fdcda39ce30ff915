"""The tests of this folder run the blocks of the site, commands within their own process."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "cli")]


@pytest.fixture
def database_url(emptied_database_url: str) -> str:
    """Return the URL of a migrated, empty database. Pages may write: it is emptied afterwards."""
    return emptied_database_url
