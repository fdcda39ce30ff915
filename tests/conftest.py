"""The PostgreSQL that the tests run on, and a migrated database for each of them.

The server is the first of: MEMSENSE_TEST_DATABASE_URL (whose user may create databases), a
container of pgvector when a Docker engine answers, the embedded server in a temporary directory.
Parallel workers share the server and have databases of their own.
"""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from filelock import FileLock
from psycopg import sql

from memsense.db.embedded import EmbeddedServer
from memsense.db.migrate import make_roles, upgrade

IMAGE = "pgvector/pgvector:pg18"
RUN_DIR = "MEMSENSE_TEST_RUN_DIR"


def pytest_configure(config: pytest.Config) -> None:
    """Give all workers of one run one directory, which holds what they share."""
    if not hasattr(config, "workerinput"):
        run_dir = Path(tempfile.mkdtemp(prefix="memsense-tests-"))
        run_dir.chmod(0o711)  # run by root, the server's user must pass through it
        os.environ[RUN_DIR] = str(run_dir)


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    run_dir = Path(os.environ.pop(RUN_DIR))
    if (run_dir / "container").exists():
        container = (run_dir / "container").read_text()
        subprocess.run(["docker", "rm", "--force", "--volumes", container], check=True)
    EmbeddedServer(run_dir / "postgres").stop()
    shutil.rmtree(run_dir)


def docker_answers() -> bool:
    """Whether there is a Docker engine, and not only its command."""
    try:
        version = subprocess.run(["docker", "version"], capture_output=True, timeout=5, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return version.returncode == 0


def container_url(run_dir: Path) -> str:
    """The URL of the run's container, which the first worker to come here starts."""
    # Imported late: a second of a run that may not need it.
    from testcontainers.community.postgres import PostgresContainer
    from testcontainers.core.config import testcontainers_config

    with FileLock(run_dir / "container.lock"):
        if not (run_dir / "container_url").exists():
            testcontainers_config.ryuk_disabled = True  # it would end with this worker
            container = PostgresContainer(IMAGE, driver=None).start()
            container_id = container.get_wrapped_container().id
            assert container_id is not None
            (run_dir / "container").write_text(container_id)
            (run_dir / "container_url").write_text(container.get_connection_url())
    return (run_dir / "container_url").read_text()


def with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def without_fsync(url: str) -> str:
    """The same URL, of a server of this run alone: its data need not survive a power cut."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("ALTER SYSTEM SET fsync = off")
        conn.execute("SELECT pg_reload_conf()")
    return url


@contextmanager
def new_database(server_url: str, template: str) -> Generator[str]:
    """The URL of a new copy of the template database, which is dropped at the end."""
    name = f"memsense_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_url, autocommit=True) as conn:
        names = {"name": sql.Identifier(name), "template": sql.Identifier(template)}
        conn.execute(sql.SQL("CREATE DATABASE {name} TEMPLATE {template}").format(**names))
        yield with_database(server_url, name)
        conn.execute(sql.SQL("DROP DATABASE {name} WITH (FORCE)").format(**names))


@pytest.fixture(scope="module")
def cluster_dir() -> Generator[Path]:
    """Where an embedded server of a module's own keeps its cluster: not made yet."""
    # Not pytest's own directory: run by root, the server's user couldn't pass through it.
    path = Path(tempfile.mkdtemp(prefix="memsense-server-"))
    yield path
    EmbeddedServer(path).stop()
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def server_url() -> Generator[str]:
    """A database to connect to when creating others; tests write nothing into it."""
    run_dir = Path(os.environ[RUN_DIR])
    if url := os.environ.get("MEMSENSE_TEST_DATABASE_URL"):
        yield url
    elif docker_answers():
        yield without_fsync(container_url(run_dir))
    else:
        with EmbeddedServer(run_dir / "postgres") as server:
            yield without_fsync(with_database(server.url, "postgres"))


@pytest.fixture(scope="session")
def empty_template(server_url: str) -> str:  # noqa: ARG001 (started first)
    """The database that an empty one is copied from, with the locale that memsense gets there."""
    embedded = (Path(os.environ[RUN_DIR]) / "postgres").exists()
    return "memsense" if embedded else "template1"


@pytest.fixture(scope="session")
def template_database(server_url: str, empty_template: str) -> Generator[str]:
    """The name of a migrated database that nobody is connected to."""
    with new_database(server_url, empty_template) as url:
        upgrade(url)
        make_roles(url)
        yield urlsplit(url).path.removeprefix("/")


@pytest.fixture
def empty_database_url(server_url: str, empty_template: str) -> Generator[str]:
    """The URL of a database without memsense in it, for this test alone."""
    with new_database(server_url, empty_template) as url:
        yield url


@pytest.fixture
def database_url(server_url: str, template_database: str) -> Generator[str]:
    """The URL of a migrated database for this test alone, which may commit."""
    with new_database(server_url, template_database) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(server_url: str, template_database: str) -> Generator[str]:
    """The URL of a migrated database for the tests of one module."""
    with new_database(server_url, template_database) as url:
        yield url


@pytest.fixture(scope="session")
def shared_database_url(server_url: str, template_database: str) -> Generator[str]:
    """The URL of a migrated database that stays empty: its tests roll back."""
    with new_database(server_url, template_database) as url:
        yield url


@pytest.fixture
def conn(shared_database_url: str) -> Generator[psycopg.Connection]:
    """A connection to a migrated database; what the test writes is rolled back."""
    with psycopg.connect(shared_database_url) as connection:
        yield connection
        connection.rollback()
