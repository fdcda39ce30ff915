"""A server over a database of its own, and clients that show keys of two tenants."""

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from memsense import load_settings
from memsense.client.tenants import Tenants
from memsense.server.app import create_app
from memsense.server.options import ServerOptions

if TYPE_CHECKING:
    from serving import Serve, Served

HERE = Path(__file__).parent
# The modules beside the tests, and the embedder of the database's.
sys.path += [str(HERE), str(HERE.parent / "sql")]


@pytest.fixture
def database_url(emptied_database_url: str) -> str:
    """Return the URL of a migrated, empty database. Tests may write: it is emptied afterwards."""
    return emptied_database_url


@pytest.fixture
def serve(database_url: str) -> Generator["Serve"]:
    """Makes servers over the test's database; each asks for keys unless told otherwise."""
    from embedders import HashingEmbedder
    from serving import Served

    settings = load_settings(database_url=database_url)
    with Tenants.open(settings, embedder=HashingEmbedder()) as tenants:

        def make(**options: object) -> "Served":
            given = {"needs_key": True, "rate": 1e6, "burst": 1_000_000, **options}
            app = create_app(tenants, ServerOptions(**given))  # pyright: ignore[reportArgumentType]
            return Served(app=app, tenants=tenants)

        yield make


@pytest.fixture
def served(serve: "Serve") -> "Served":
    return serve()


@pytest.fixture
def client(served: "Served") -> TestClient:
    """A client of the tenant acme with every scope."""
    return served.client()
