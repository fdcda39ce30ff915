"""The PostgreSQL that the tests run on, a migrated database for each of them, and `pytest --all`.

The server is the first of: MEMSENSE_TEST_DATABASE_URL (whose user may create databases), a
container of pgvector when a Docker engine answers, the embedded server in a temporary directory.
Parallel workers share the server and have databases of their own.
"""

import gc
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from filelock import FileLock
from hypothesis import settings

from memsense.db.embedded import EmbeddedServer
from memsense.draft import chunking

sys.path.append(str(Path(__file__).parent))  # the modules beside this one

from servers import TestServer, empty_database, with_database
from statements import Recorder

IMAGE = "pgvector/pgvector:pg18"
RUN_DIR = "MEMSENSE_TEST_RUN_DIR"


class RunDirectory:
    """A directory for everything temporary of one run, and the process that removes it.

    That process reacts to the end of its input, so it also cleans up after a run that was
    killed: otherwise a server started by a fixture would outlive the run.
    """

    def __init__(self) -> None:
        # Kept outside: tests' own folders are there to be looked at after the run.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
        self.path = Path(tempfile.mkdtemp(prefix="memsense-tests-"))
        self.path.chmod(0o711)  # run by root, the server's user must pass through it
        os.environ |= {RUN_DIR: str(self.path), "TMPDIR": str(self.path)}
        # Tests see one model, whatever is installed; those of two models say so.
        os.environ["MEMSENSE_MULTILINGUAL"] = "off"
        tempfile.tempdir = None  # read TMPDIR again
        # A session of its own: `timeout` and Ctrl-C signal the whole group of the run.
        command = [sys.executable, str(Path(__file__).with_name("cleanup.py")), str(self.path)]
        self.cleaner = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def remove(self) -> None:
        """Stop what still runs in the directory, and delete it."""
        assert self.cleaner.stdin is not None
        self.cleaner.stdin.close()
        assert self.cleaner.wait() == 0


RUN_DIRECTORY = pytest.StashKey[RunDirectory]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", help="every shape, attack and fault, and random seeds"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Give all workers of one run one directory; fix the seeds unless `--all` was passed."""
    if not hasattr(config, "workerinput"):
        config.stash[RUN_DIRECTORY] = RunDirectory()
    if folder := os.environ.get("MEMSENSE_TEST_STATEMENTS"):
        Recorder(Path(folder)).watch()
    # No deadlines: on a busy machine they measure the machine.
    settings.register_profile("fixed", derandomize=True, deadline=None)
    settings.register_profile("random", deadline=None, print_blob=True)
    settings.load_profile("random" if config.getoption("--all") else "fixed")


@pytest.fixture
def is_long(pytestconfig: pytest.Config) -> bool:
    """Return whether the test runs in its long form, with `--all`."""
    return bool(pytestconfig.getoption("--all"))


def pytest_unconfigure(config: pytest.Config) -> None:
    if run_directory := config.stash.get(RUN_DIRECTORY, None):
        run_directory.remove()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked `full` unless `--all` was passed."""
    if config.getoption("--all"):
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    if left_out:
        items[:] = [item for item in items if not item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collections.

    They would look at it again and again: a quarter of a run's processor time.
    """
    gc.collect()
    gc.freeze()


def _refused(error: psycopg.Error) -> bool:
    """Return whether a cluster refused a statement of the test itself, and not one of memsense."""
    if not isinstance(error, psycopg.errors.FeatureNotSupported) and _REPARTITION not in str(error):
        return False
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    own = [file for file in files if f"{os.sep}site-packages{os.sep}" not in file]
    return "MEMSENSE_TEST_CITUS_URL" in os.environ and Path(own[-1]).is_relative_to(
        Path(__file__).parent
    )


_REPARTITION = "a join that requires repartitioning"


@contextmanager
def _skipping_refused() -> Generator[None]:
    # Many tests look at the store by statements that name no tenant. What memsense runs names one,
    # and is never let off.
    try:
        yield
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.InternalError_) as error:
        if _refused(error):
            pytest.skip(
                f"Citus refuses a statement of the test itself: {str(error).splitlines()[0]}"
            )
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    marker = item.get_closest_marker("one_server")
    if marker is not None and "MEMSENSE_TEST_CITUS_URL" in os.environ:
        pytest.skip(f"not on a Citus cluster: {marker.args[0]}")
    with _skipping_refused():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    with _skipping_refused():
        return (yield)


def docker_answers() -> bool:
    """Return whether there is a Docker engine, and not only its command."""
    try:
        version = subprocess.run(["docker", "version"], capture_output=True, timeout=5, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return version.returncode == 0


def container_url(run_dir: Path) -> str:
    """Return the URL of the run's container, which the first worker to come here starts."""
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


def without_fsync(url: str) -> str:
    """Return the URL again after a faster setting: the run's data need not survive a power cut."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("ALTER SYSTEM SET fsync = off")
        conn.execute("SELECT pg_reload_conf()")
    return url


@pytest.fixture(scope="module")
def cluster_dir() -> Generator[Path]:
    """Yield an empty directory for an embedded server of one module."""
    # Not pytest's own directory: run by root, the server's user couldn't pass through it.
    path = Path(tempfile.mkdtemp(prefix="memsense-server-"))
    yield path
    EmbeddedServer(path).stop()


@pytest.fixture(scope="session")
def server() -> Generator[TestServer]:
    """Yield the server that the run uses, which may be a cluster."""
    run_dir = Path(os.environ[RUN_DIR])
    with ExitStack() as stack:
        if url := os.environ.get("MEMSENSE_TEST_CITUS_URL"):
            server = TestServer.of_cluster(url)
        elif url := os.environ.get("MEMSENSE_TEST_DATABASE_URL"):
            server = TestServer(url)
        elif docker_answers():
            server = TestServer(without_fsync(container_url(run_dir)))
        else:
            embedded = stack.enter_context(EmbeddedServer(run_dir / "postgres"))
            server = TestServer(without_fsync(with_database(embedded.url, "postgres")))
        stack.callback(server.close)
        yield server


@pytest.fixture(scope="session")
def server_url(server: TestServer) -> str:
    """Return the URL of the database from which others are created. Don't write into it."""
    return server.url


@pytest.fixture(scope="session")
def empty_template(server: TestServer) -> Generator[str]:
    """Yield the template of empty databases and the locale of memsense in it."""
    if server.is_cluster:
        with server.new_cluster_database() as url:
            name = urlsplit(url).path.removeprefix("/")
            server.close_to_connections(name)
            yield name
        return
    embedded = (Path(os.environ[RUN_DIR]) / "postgres").exists()
    yield "memsense" if embedded else "template1"


@pytest.fixture(scope="session")
def template_database(server: TestServer, empty_template: str) -> Generator[str]:
    """Yield the name of a migrated database without connections."""
    with server.migrated_database(empty_template) as url:
        name = urlsplit(url).path.removeprefix("/")
        if server.is_cluster:
            server.close_to_connections(name)
        yield name


@pytest.fixture
def empty_database_url(server: TestServer, empty_template: str) -> Generator[str]:
    """Yield the URL of an empty database, without memsense, for one test."""
    with server.new_database(empty_template) as url:
        yield url


@pytest.fixture
def database_url(server: TestServer, template_database: str) -> Generator[str]:
    """Yield the URL of a migrated database for one test, which may commit."""
    with server.new_database(template_database) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(server: TestServer, template_database: str) -> Generator[str]:
    """Yield the URL of a migrated database for the tests of one module."""
    with server.new_database(template_database) as url:
        yield url


@pytest.fixture(scope="session")
def shared_database_url(server: TestServer, template_database: str) -> Generator[str]:
    """Yield the URL of a migrated database that stays empty: its tests roll back."""
    with server.new_database(template_database) as url:
        yield url


@pytest.fixture
def emptied_database_url(server: TestServer, shared_database_url: str) -> Generator[str]:
    """Yield the URL of a migrated, empty database, which is emptied after the test.

    It takes a fifth of the time of a database of the test's own.
    """
    yield shared_database_url
    with psycopg.connect(shared_database_url, autocommit=True) as conn:
        empty_database(conn, is_cluster=server.is_cluster)


@pytest.fixture
def conn(shared_database_url: str) -> Generator[psycopg.Connection]:
    """Yield a connection to a migrated database; the test's writes are rolled back."""
    with psycopg.connect(shared_database_url) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def older_lengths(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], AbstractContextManager[None]]:
    """Return a context in which exchanges are cut as version 0.2.0 cut them."""

    @contextmanager
    def patched() -> Generator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(chunking, "LARGEST_PART", 4000)
            patch.setattr(chunking, "LONGEST_OPENING", 600)
            patch.setattr(chunking.split_text, "__defaults__", (4000, None))
            yield

    return patched
