"""The embedded server as its users meet it: real servers, real processes, real kills."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from memsense.db.embedded import EmbeddedServer
from memsense.errors import ConnectionFailedError

CLIENT = """
import sys
from pathlib import Path
from memsense.db.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
server.start(keep="keep" in sys.argv)
print(server.status().pid, flush=True)
sys.stdin.readline()
"""
PATIENCE = 90


class Client:
    """Another process that starts the server, then waits until it is told to leave."""

    def __init__(self, data_dir: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", CLIENT, str(data_dir), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )

    def server_pid(self) -> int:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate(timeout=PATIENCE)[1]
        return int(line)

    def leave(self) -> None:
        _, errors = self.process.communicate("go\n", timeout=PATIENCE)
        assert (self.process.returncode, errors) == (0, "")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture
def data_dir(cluster_dir: Path) -> Generator[Path]:
    yield cluster_dir
    EmbeddedServer(cluster_dir).stop()


@pytest.fixture
def new_dir() -> Generator[Path]:
    """A directory without a cluster, on a path with a space and a quote."""
    parent = Path(tempfile.mkdtemp(prefix="memsense-new-"))
    parent.chmod(0o711)
    path = parent / "Ada's data"
    yield path
    EmbeddedServer(path).stop()
    shutil.rmtree(parent)


def run_sql(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as conn:
        return conn.execute(statement.encode()).fetchall()


def run_busily(url: str) -> threading.Thread:
    """A long statement at work on the server; the thread ends when the server does."""
    started = threading.Event()

    def work() -> None:
        with psycopg.connect(url) as conn, suppress(psycopg.OperationalError):
            started.set()
            conn.execute("SELECT count(*) FROM generate_series(1, 4000000000)")

    thread = threading.Thread(target=work)
    thread.start()
    started.wait(PATIENCE)
    return thread


def test_a_started_server_answers_and_stops_with_its_only_user(data_dir: Path):
    with EmbeddedServer(data_dir) as server:
        assert run_sql(server.url, "SELECT current_database()") == [("memsense",)]
        assert server.status().running
    assert not server.status().running


def test_pgvector_is_there(data_dir: Path):
    with EmbeddedServer(data_dir) as server:
        names = run_sql(server.url, "SELECT name FROM pg_available_extensions")
    assert ("vector",) in names


def test_committed_data_is_durable_by_the_settings(data_dir: Path):
    with EmbeddedServer(data_dir) as server:
        settings = run_sql(
            server.url,
            "SELECT current_setting('fsync'), current_setting('full_page_writes'), "
            "current_setting('synchronous_commit'), current_setting('jit'), "
            "current_setting('max_connections'), current_setting('unix_socket_permissions')",
        )
    assert settings == [("on", "on", "on", "off", "100", "0700")]


def test_a_setting_made_by_the_user_survives_a_restart(data_dir: Path):
    with EmbeddedServer(data_dir) as server, psycopg.connect(server.url, autocommit=True) as conn:
        conn.execute("ALTER SYSTEM SET maintenance_work_mem = '77MB'")
    with EmbeddedServer(data_dir) as server:
        assert run_sql(server.url, "SELECT current_setting('maintenance_work_mem')") == [("77MB",)]


def test_two_processes_share_one_server_and_the_last_to_leave_stops_it(data_dir: Path):
    first, second = Client(data_dir), Client(data_dir)
    assert first.server_pid() == second.server_pid()
    first.leave()
    assert EmbeddedServer(data_dir).status().running
    second.leave()
    assert not EmbeddedServer(data_dir).status().running


def test_two_users_in_one_process_count_as_two(data_dir: Path):
    with EmbeddedServer(data_dir) as outer:
        with EmbeddedServer(data_dir) as inner:
            assert inner.url == outer.url
        assert outer.status().running
    assert not outer.status().running


def test_starting_twice_is_left_once(data_dir: Path):
    server = EmbeddedServer(data_dir)
    assert server.start() == server.start()
    server.release()
    assert not server.status().running
    server.release()


def test_a_kept_server_outlives_its_users_until_it_is_stopped(data_dir: Path):
    keeper = Client(data_dir, "keep")
    pid = keeper.server_pid()
    keeper.leave()
    with EmbeddedServer(data_dir) as server:
        assert server.status().pid == pid
    assert (server.status().running, server.status().is_kept) == (True, True)
    server.stop()
    assert (server.status().running, server.status().is_kept) == (False, False)


def test_a_killed_client_does_not_keep_the_server(data_dir: Path):
    victim, other = Client(data_dir), Client(data_dir)
    assert victim.server_pid() == other.server_pid()
    victim.kill()
    other.leave()
    assert not EmbeddedServer(data_dir).status().running
    assert list((data_dir / "clients").iterdir()) == []


class KilledOnce(EmbeddedServer):
    """A server that somebody kills between its start and the first look at its database."""

    killed = 0

    def _ensure_database(self) -> None:
        pid = self.status().pid
        if not self.killed and pid is not None:
            os.kill(pid, signal.SIGKILL)
            self.killed = pid
            with suppress(psycopg.OperationalError):
                while True:
                    psycopg.connect(self.url, connect_timeout=1).close()
        super()._ensure_database()


def test_a_server_killed_while_it_is_started_is_started_again(data_dir: Path):
    server = KilledOnce(data_dir)
    with psycopg.connect(server.start()) as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
    assert server.killed not in {0, server.status().pid}
    server.release()


def test_a_server_killed_at_work_starts_again_with_every_committed_row(data_dir: Path):
    server = EmbeddedServer(data_dir)
    url = server.start()
    with psycopg.connect(url) as conn:
        conn.execute("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    busy = run_busily(url)
    killed = server.status().pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    assert server.start() == url
    assert server.status().pid != killed
    assert run_sql(url, "SELECT count(*) FROM kept") == [(1000,)]
    busy.join(PATIENCE)
    server.release()
    assert not server.status().running


def test_a_stale_file_that_names_a_living_stranger_does_not_stop_a_start(data_dir: Path):
    with EmbeddedServer(data_dir) as server:
        stale = (data_dir / "cluster" / "postmaster.pid").read_text().splitlines()
    stale[0] = str(os.getpid())
    (data_dir / "cluster" / "postmaster.pid").write_text("\n".join(stale))
    assert not server.status().running
    with server:
        assert run_sql(server.url, "SELECT 1") == [(1,)]


def test_a_cut_off_process_file_does_not_stop_a_start(data_dir: Path):
    with EmbeddedServer(data_dir) as server:
        pass
    (data_dir / "cluster" / "postmaster.pid").write_text("1\n/somewhere\n")
    with server:
        assert run_sql(server.url, "SELECT 1") == [(1,)]


def test_processes_starting_at_the_same_instant_get_one_server(new_dir: Path):
    clients = [Client(new_dir) for _ in range(3)]
    assert len({client.server_pid() for client in clients}) == 1
    for client in clients:
        client.leave()
    assert not EmbeddedServer(new_dir).status().running


def test_a_half_made_cluster_is_made_again(new_dir: Path):
    draft = new_dir / "cluster.new"
    draft.mkdir(parents=True)
    (draft / "PG_VERSION").write_text("18\n")
    with EmbeddedServer(new_dir) as server:
        assert run_sql(server.url, "SELECT 1") == [(1,)]
    assert not draft.exists()


def test_a_path_too_long_for_a_socket_and_an_unknown_locale_still_start(new_dir: Path):
    data_dir = new_dir / ("long" * 40)
    client = Client(data_dir, env={"LC_ALL": "xx_YY.UTF-8"})
    client.server_pid()
    url = EmbeddedServer(data_dir).url
    assert "long" not in url
    words = run_sql(url, "SELECT to_tsvector('english', '“École”')::text")
    assert words == [("'école':1",)]
    client.leave()
    socket_dir = parse_qs(urlsplit(url).query)["host"][0]
    assert not Path(socket_dir).exists()


def test_a_directory_that_cannot_be_made_is_a_connection_error(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(ConnectionFailedError, match="MEMSENSE_DATA_DIR"):
        EmbeddedServer(tmp_path / "file" / "data").start()


def test_a_server_that_cannot_start_says_why(new_dir: Path):
    with EmbeddedServer(new_dir) as server:
        pass
    (new_dir / "cluster" / "global" / "pg_control").rename(new_dir / "pg_control")
    with pytest.raises(ConnectionFailedError, match=r"does not start: .*could not open .*; see "):
        server.start()


def test_nothing_runs_before_the_first_start(tmp_path: Path):
    server = EmbeddedServer(tmp_path / "data")
    status = server.status()
    assert (status.running, status.pid, status.url, status.version) == (False, None, None, None)
    with pytest.raises(ConnectionFailedError, match="memsense db start"):
        _ = server.url
    server.stop()
    assert not server.data_dir.exists()


def test_psql_runs_on_the_server(data_dir: Path):
    with EmbeddedServer(data_dir) as server:
        command = server.psql_command()
        assert command is not None
        query = [*command, "--no-psqlrc", "-Atc", "SELECT 6 * 7"]
        answer = subprocess.run(query, capture_output=True, text=True, check=True)
        assert answer.stdout == "42\n"
        version = server.status().version
        assert version is not None
        assert version.startswith("18.")
