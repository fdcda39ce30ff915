"""The embedded server stops, dies or can't start; a commit's answer never arrives."""

# pyright: reportPrivateUsage=false

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, LiteralString

import psutil
import psycopg
import pytest
from invariants import assert_whole

from memsense import MemSense
from memsense.db import Pool, run_transaction
from memsense.db.connection import Connection
from memsense.db.embedded import EmbeddedServer
from memsense.errors import ConnectionFailedError, OutcomeUnknownError

OpenMemory = Callable[..., MemSense]
PATIENCE = 120


def say(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def kill_server(data_dir: Path) -> None:
    pid = EmbeddedServer(data_dir).status().pid
    assert pid is not None
    backends = psutil.Process(pid).children()
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs(backends, timeout=10)  # until then some still answer


def stop_server(data_dir: Path) -> None:
    EmbeddedServer(data_dir).stop()


def connect(data_dir: Path) -> psycopg.Connection[Any]:
    return psycopg.connect(EmbeddedServer(data_dir).url, autocommit=True)


def slow_down_commits(connection: psycopg.Connection[Any], change: LiteralString) -> None:
    """Make the commit of each such change take a second, until `public.linger` is dropped."""
    connection.execute(
        "CREATE FUNCTION public.linger() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$;"
        f" CREATE CONSTRAINT TRIGGER at_commit AFTER {change}"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.linger()"
    )


@pytest.mark.parametrize("end", [stop_server, kill_server])
def test_a_call_that_finds_the_server_ended_starts_it_and_no_call_fails(
    open_memory: OpenMemory,
    data_dir: Path,
    caplog: pytest.LogCaptureFixture,
    end: Callable[[Path], None],
) -> None:
    memory = open_memory()
    memory.add(say("I drink tea."), user_id="ada", session_id="s")
    for call in (
        lambda: memory.search("tea", user_id="ada"),
        lambda: memory.add(say("I drink mate."), user_id="ada", session_id="s"),
    ):
        end(data_dir)
        with caplog.at_level(logging.WARNING, "memsense.server"):
            assert len(call()) == 1
        assert "had ended" in caplog.text
        caplog.clear()
    with connect(data_dir) as connection:
        assert_whole(connection, ["I drink tea.", "I drink mate."])


@pytest.mark.parametrize("end", [stop_server, kill_server])
def test_under_load_a_restart_costs_no_search_and_no_add(
    open_memory: OpenMemory, data_dir: Path, end: Callable[[Path], None]
) -> None:
    memory = open_memory()
    memory.add(say("I drink tea."), user_id="ada", session_id="s")
    at_work = threading.Semaphore(0)

    def work(number: int) -> str:
        said = f"Cup number {number} is mine."
        at_work.release()
        memory.add(say(said), user_id="ada", session_id=f"s{number % 3}", mode="turn")
        assert memory.search("tea cup", user_id="ada")
        at_work.release()
        return said

    with ThreadPoolExecutor(14) as calls:
        working = [calls.submit(work, number) for number in range(60)]
        for _ in range(2):
            for _ in range(20):
                assert at_work.acquire(timeout=PATIENCE)
            end(data_dir)
        said = [item.result(PATIENCE) for item in working]
    with connect(data_dir) as connection:
        assert_whole(connection, said)


def test_a_server_that_can_not_start_says_why(open_memory: OpenMemory, data_dir: Path) -> None:
    memory = open_memory()
    memory.add(say("I drink tea."), user_id="ada", session_id="s")
    stop_server(data_dir)
    main = data_dir / "cluster" / "postgresql.conf"
    settings = main.read_text()
    main.write_text(f"{settings}\nno_such_setting = 1\n")
    try:
        with pytest.raises(ConnectionFailedError, match="does not start: .*FATAL") as failed:
            memory.search("tea", user_id="ada")
    finally:
        main.write_text(settings)
    assert "MEMSENSE_POOL" not in str(failed.value)
    assert len(memory.search("tea", user_id="ada")) == 1


# A commit whose answer never arrives -------------------------------------------------------------


def wait_for_nobody(data_dir: Path) -> None:
    """Commits are written, and then wait for a standby that isn't there."""
    with connect(data_dir) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        connection.execute("SELECT pg_reload_conf()")


def wait_no_longer(data_dir: Path) -> None:
    with connect(data_dir) as connection:
        connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
        connection.execute("SELECT pg_reload_conf()")


def end_waiting_commit(data_dir: Path) -> None:
    """End the connection that waits in its COMMIT; what it wrote is committed by then."""
    with connect(data_dir) as connection:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'"
            ).fetchall()
            if found:
                return
            time.sleep(0.05)
    raise AssertionError("no commit waits")


def test_what_was_committed_unheard_is_neither_lost_nor_repeated(
    open_memory: OpenMemory, data_dir: Path
) -> None:
    memory = open_memory()
    memory.add(say("I drink tea."), user_id="ada", session_id="s", mode="turn")
    [chunk] = memory.recent(user_id="ada")
    wait_for_nobody(data_dir)
    with ThreadPoolExecutor(1) as calls:
        added = calls.submit(
            memory.add, say("I drink mate."), user_id="ada", session_id="s", mode="turn"
        )
        end_waiting_commit(data_dir)
        assert [item.user_text for item in added.result(PATIENCE)] == ["I drink mate."]
        promoted = calls.submit(memory.promote, chunk.chunk_id)
        end_waiting_commit(data_dir)
        score = promoted.result(PATIENCE)
    wait_no_longer(data_dir)
    assert memory.get(chunk.chunk_id).memory_score == pytest.approx(score)
    assert [event.kind for event in memory.history(chunk.chunk_id)] == ["added", "promoted"]
    with connect(data_dir) as connection:
        assert_whole(connection, ["I drink tea.", "I drink mate."])


def test_what_was_rolled_back_unheard_is_run_again(open_memory: OpenMemory, data_dir: Path) -> None:
    open_memory()
    with connect(data_dir) as connection:
        connection.execute(
            "CREATE TABLE public.witness (n int);"
            " CREATE SEQUENCE public.commits;"
            " CREATE FUNCTION public.end_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF nextval('public.commits') = 1 THEN"
            " PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); END IF;"
            " RETURN NULL; END $$;"
            " CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON public.witness"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.end_first()"
        )
    tries: list[None] = []

    def work(connection: Connection) -> str:
        tries.append(None)
        connection.execute("INSERT INTO public.witness VALUES (1)")
        return "done"

    url = EmbeddedServer(data_dir).url
    with Pool(url, min_size=1, max_size=2, timeout=PATIENCE) as pool:
        assert run_transaction(pool, work) == "done"
    with connect(data_dir) as connection:
        assert connection.execute("SELECT count(*) FROM public.witness").fetchone() == (1,)
        connection.execute(
            "DROP TABLE public.witness; DROP SEQUENCE public.commits;"
            " DROP FUNCTION public.end_first"
        )
    assert len(tries) == 2


@pytest.mark.parametrize("is_idempotent", [True, False])
def test_after_a_crash_nobody_trusts_the_number_of_a_transaction(
    open_memory: OpenMemory, data_dir: Path, *, is_idempotent: bool
) -> None:
    open_memory()
    with connect(data_dir) as connection:
        connection.execute("CREATE TABLE public.witness (n int)")
        slow_down_commits(connection, "INSERT ON public.witness")
    tries: list[int] = []

    def work(connection: Connection) -> str:
        tries.append(connection.info.backend_pid)
        connection.execute("INSERT INTO public.witness VALUES (1)")
        if len(tries) == 1:  # while it commits; the server then throws its memory away
            threading.Timer(0.5, os.kill, (tries[0], signal.SIGKILL)).start()
        return "done"

    url = EmbeddedServer(data_dir).url
    with Pool(url, min_size=1, max_size=2, timeout=PATIENCE) as pool:
        if is_idempotent:
            assert run_transaction(pool, work, is_idempotent=True) == "done"
        else:
            with pytest.raises(OutcomeUnknownError, match="the server crashed"):
                run_transaction(pool, work)
    with connect(data_dir) as connection:
        stored = connection.execute("SELECT count(*) FROM public.witness").fetchone()
        connection.execute("DROP TABLE public.witness; DROP FUNCTION public.linger")
    assert stored == (1 if is_idempotent else 0,)
    assert len(tries) == (2 if is_idempotent else 1)


@pytest.mark.parametrize("key", [None, "mine"])
def test_a_score_that_a_crash_met_while_it_was_committed_is_moved_once(
    open_memory: OpenMemory, data_dir: Path, key: str | None
) -> None:
    memory = open_memory()
    [chunk] = memory.add(say("I drink tea."), user_id="ada", session_id="s")
    with connect(data_dir) as connection:
        slow_down_commits(connection, "UPDATE ON memsense.chunks")
    threading.Timer(0.5, kill_server, (data_dir,)).start()
    assert memory.promote(chunk.chunk_id, key=key) == pytest.approx(0.65)
    if key is not None:
        assert memory.promote(chunk.chunk_id, key=key) == pytest.approx(0.65)
    assert [event.kind for event in memory.history(chunk.chunk_id)] == ["added", "promoted"]
    with connect(data_dir) as connection:
        connection.execute("DROP FUNCTION public.linger CASCADE")


def test_counts_of_calls_that_a_crash_met_while_they_were_committed_are_not_written_twice(
    open_memory: OpenMemory, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory(metering=True)
    memory.add(say("I drink tea."), user_id="ada", session_id="s")
    with connect(data_dir) as connection:
        slow_down_commits(connection, "INSERT ON memsense.calls")
    meter = memory._context.meter
    assert meter is not None
    threading.Timer(0.5, kill_server, (data_dir,)).start()
    meter.flush()
    assert "may be lost" in caplog.text
    memory.search("tea", user_id="ada")  # starts the server
    with connect(data_dir) as connection:
        connection.execute("DROP FUNCTION public.linger CASCADE")
    meter.flush()
    with connect(data_dir) as connection:
        counted = connection.execute("SELECT verb, calls FROM memsense.calls").fetchall()
    assert counted == [("search", 1)]
    assert meter.lost == 1


def test_an_outcome_that_nobody_can_tell_is_said(open_memory: OpenMemory, data_dir: Path) -> None:
    open_memory()
    tries: list[None] = []

    def work(connection: Connection) -> None:
        tries.append(None)
        connection.execute("CREATE TEMPORARY TABLE written (n int)")
        connection.execute("SELECT pg_current_xact_id()")

    url = EmbeddedServer(data_dir).url
    wait_for_nobody(data_dir)
    with Pool(url, min_size=1, max_size=2, timeout=2) as pool:  # which starts no server
        with ThreadPoolExecutor(1) as calls:
            written = calls.submit(run_transaction, pool, work)
            while not tries:
                time.sleep(0.01)
            time.sleep(0.5)
            kill_server(data_dir)
            end_processes(data_dir)
            with pytest.raises(OutcomeUnknownError, match="add or an ingest may be run"):
                written.result(PATIENCE)
    assert len(tries) == 1
    with EmbeddedServer(data_dir):
        wait_no_longer(data_dir)


def end_processes(data_dir: Path) -> None:
    """End what a killed server left at work, too."""
    import psutil

    for process in psutil.process_iter():
        try:
            if process.name().startswith("postgres") and process.cwd() == str(data_dir / "cluster"):
                process.kill()
        except psutil.Error:
            continue
