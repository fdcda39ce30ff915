"""The embedded server's log: it holds no user's text, and it doesn't grow without end."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from memsense.db.embedded import EmbeddedServer

TEXT = "I am allergic to walnuts"
MEBIBYTE = 1024 * 1024
PATIENCE = 60


def logs(data_dir: Path) -> str:
    """All that the server has logged."""
    return "".join(
        path.read_text() for path in (data_dir / "cluster").glob("*log*") if path.is_file()
    )


def fail(url: str, statement: str, *values: object) -> str:
    """What the caller is told of a statement that fails."""
    with psycopg.connect(url, autocommit=True) as conn:
        with pytest.raises(psycopg.Error) as caught:
            conn.execute(statement.encode(), values or None)
    return str(caught.value)


def test_the_text_of_a_failing_statement_is_in_the_error_and_not_in_the_log(
    cluster_dir: Path,
) -> None:
    with EmbeddedServer(cluster_dir) as server:
        with psycopg.connect(server.url, autocommit=True) as conn:
            conn.execute("CREATE TABLE said (words text UNIQUE CHECK (words <> 'no'), at date)")
            conn.execute("INSERT INTO said VALUES (%s)", [TEXT])
        insert = "INSERT INTO said VALUES (%s, %s)"
        assert f"Key (words)=({TEXT}) already exists" in fail(server.url, insert, TEXT, None)
        assert TEXT in fail(server.url, "INSERT INTO said VALUES (NULL, %s)", TEXT)
        assert TEXT in fail(server.url, f"SELECT '{TEXT}'::int")
        assert TEXT in fail(server.url, f"SELECT '{TEXT}' frm said")
        assert TEXT in fail(server.url, f"DO $$ BEGIN RAISE EXCEPTION '{TEXT}'; END $$")
        fail(server.url, "INSERT INTO said VALUES ('no', NULL)")
        with psycopg.connect(server.url) as conn, suppress(psycopg.Error):
            conn.execute(f"DO $$ BEGIN RAISE WARNING '{TEXT}'; END $$".encode())
    assert "ready to accept connections" in logs(cluster_dir)
    assert TEXT not in logs(cluster_dir)


def test_a_crash_logs_no_text_of_the_statement_at_work(cluster_dir: Path) -> None:
    with EmbeddedServer(cluster_dir) as server:
        with psycopg.connect(server.url) as victim, ThreadPoolExecutor(1) as pool:
            work = pool.submit(victim.execute, f"SELECT '{TEXT}', pg_sleep(60)".encode())
            wait_until(lambda: TEXT in activity(server.url))
            os.kill(victim.info.backend_pid, signal.SIGKILL)
            with pytest.raises(psycopg.OperationalError):
                work.result()
        wait_until(
            lambda: logs(cluster_dir).rpartition("ready to accept")[0].count("signal 9") == 1
        )
    assert TEXT not in logs(cluster_dir)


def activity(url: str) -> str:
    with psycopg.connect(url) as conn:
        found = conn.execute("SELECT string_agg(query, ' ') FROM pg_stat_activity").fetchone()
    return str(found)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_large_log_begins_anew_and_its_end_is_kept(cluster_dir: Path) -> None:
    log = cluster_dir / "cluster" / "server.log"
    with EmbeddedServer(cluster_dir) as server:
        for number in range(2):
            with log.open("a") as file:
                file.write("x" * 3 * MEBIBYTE + f"the end of {number}\n")
            server.start()
            assert log.stat().st_size == 0
            assert log.with_name("server.log.1").stat().st_size == MEBIBYTE
        with suppress(psycopg.OperationalError):
            psycopg.connect(server.url.replace("/memsense?", "/nowhere?"))
        assert '"nowhere" does not exist' in log.read_text()
    assert "the end of 1" in logs(cluster_dir)
    assert "the end of 0" not in logs(cluster_dir)


def test_the_log_of_an_earlier_version_is_removed_with_the_texts_in_it(cluster_dir: Path) -> None:
    with EmbeddedServer(cluster_dir):
        pass
    (cluster_dir / "cluster" / "log").write_text(f"STATEMENT:  SELECT '{TEXT}'\n")
    with EmbeddedServer(cluster_dir):
        assert TEXT not in logs(cluster_dir)


def test_a_user_may_have_more_logged(cluster_dir: Path) -> None:
    with EmbeddedServer(cluster_dir) as server:
        with psycopg.connect(server.url, autocommit=True) as conn:
            conn.execute("ALTER SYSTEM SET log_min_messages = 'error'")
            conn.execute("SELECT pg_reload_conf()")
        wait_until(lambda: logged_after_failing(server.url, cluster_dir))


def logged_after_failing(url: str, data_dir: Path) -> bool:
    fail(url, "SELECT 1 / 0")
    return "division by zero" in logs(data_dir)
