"""Settings of a database or a role that others would break on are set right, or refused by name."""

import threading
from collections.abc import Generator
from typing import LiteralString, cast

import psycopg
import pytest
from embedders import HashingEmbedder
from psycopg import sql

from memsense import MemSense
from memsense.config import Settings
from memsense.db import Pool, connect, migrate, run_transaction
from memsense.db.connection import check_server
from memsense.doctor.checkup import check_up
from memsense.errors import (
    ConnectionFailedError,
    ReadOnlyServerError,
    SchemaError,
)

TEXT = r"Ada's cat 'Miso' \ naps — in Łódź."


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(cast("LiteralString", statement))


def set_for_all(url: str, name: str, value: str) -> None:
    """Set a default of the database."""
    with psycopg.connect(url) as connection:
        connection.read_only = False
        names = map(sql.Identifier, (connection.info.dbname, name))
        statement = sql.SQL("ALTER DATABASE {} SET {} TO ").format(*names) + sql.SQL(
            cast("LiteralString", value)
        )
        connection.execute(statement)


def use(url: str) -> None:
    """Open a memory, store and find a text, and examine the database."""
    settings = Settings(database_url=url)
    with MemSense.open(url, embedder=HashingEmbedder(), settings=settings) as memory:
        said = [{"role": "user", "content": TEXT, "at": "2026-05-04T10:00:00Z"}]
        [chunk] = memory.add(said, user_id="ada", session_id="monday")
        [hit] = memory.search("Where does the cat nap?", user_id="ada")
        assert (hit.chunk.user_text, hit.chunk.occurred_at) == (TEXT, chunk.occurred_at)
        assert memory.history(chunk.chunk_id)[0].kind == "added"
    report = check_up(url, settings=settings, embedder=HashingEmbedder())
    assert not [finding for finding in report.findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("search_path", "app"),
        ("search_path", "''"),
        ("search_path", '"$user", app'),
        ("DateStyle", "'SQL, DMY'"),
        ("DateStyle", "'German'"),
        ("standard_conforming_strings", "off"),
        ("client_encoding", "LATIN1"),
        ("default_transaction_isolation", "serializable"),
        ("IntervalStyle", "sql_standard"),
        ("TimeZone", "'Asia/Kathmandu'"),
        ("transaction_timeout", "'2h'"),
    ],
)
@pytest.mark.parametrize(
    "when", ["before init", pytest.param("after init", marks=pytest.mark.full)]
)
def test_a_default_of_the_database_changes_nothing(
    empty_database_url: str, name: str, value: str, when: str
) -> None:
    with psycopg.connect(empty_database_url) as connection:
        if name == "transaction_timeout" and connection.info.server_version < 170000:
            pytest.skip("transaction_timeout came with PostgreSQL 17")
    if when == "before init":
        set_for_all(empty_database_url, name, value)
    migrate.upgrade(empty_database_url)
    set_for_all(empty_database_url, name, value)
    use(empty_database_url)


def test_the_extension_may_lie_in_a_schema_of_its_own(empty_database_url: str) -> None:
    run(
        empty_database_url,
        "DROP EXTENSION IF EXISTS vector CASCADE",
        'CREATE SCHEMA "my ext"',
        'CREATE EXTENSION vector SCHEMA "my ext"',
    )
    migrate.upgrade(empty_database_url)
    use(empty_database_url)


@pytest.fixture
def other_encoding(empty_database_url: str, request: pytest.FixtureRequest) -> Generator[str]:
    """Yield the URL of a database with another encoding than UTF8."""
    name = f"memsense_test_{request.param.lower()}"
    run(empty_database_url, f"DROP DATABASE IF EXISTS {name}")
    run(
        empty_database_url,
        f"CREATE DATABASE {name} ENCODING '{request.param}' LC_COLLATE 'C' LC_CTYPE 'C'"
        " TEMPLATE template0",
    )
    with psycopg.connect(empty_database_url) as connection:
        yield empty_database_url.replace(connection.info.dbname, name, 1)
    run(empty_database_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("other_encoding", ["LATIN1", "SQL_ASCII"], indirect=True)
def test_a_database_that_cannot_hold_every_text_is_refused_by_name(other_encoding: str) -> None:
    with pytest.raises(SchemaError, match=r"has the encoding (LATIN1|SQL_ASCII).*ENCODING 'UTF8'"):
        migrate.upgrade(other_encoding)
    with connect(other_encoding) as connection, pytest.raises(SchemaError, match="encoding"):
        check_server(connection)


def test_a_read_only_database_answers_reads_and_refuses_writes_by_name(database_url: str) -> None:
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        said = [{"role": "user", "content": "I drink tea."}]
        [chunk] = memory.add(said, user_id="ada", session_id="monday")
    set_for_all(database_url, "default_transaction_read_only", "on")
    try:
        with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
            assert memory.search("tea", user_id="ada")[0].chunk.chunk_id == chunk.chunk_id
            assert memory.get(chunk.chunk_id).user_text == "I drink tea."
            assert memory.history(chunk.chunk_id)[0].kind == "added"
            assert memory.stats(user_id="ada")[0].turns == 1
            with pytest.raises(ReadOnlyServerError, match="default_transaction_read_only") as info:
                memory.add(said, user_id="ada", session_id="tuesday")
            assert info.value.committed is False
            # The administrator turns it off, or the address leads to the new primary: the
            # connections that the pool holds are replaced, and the write is done.
            set_for_all(database_url, "default_transaction_read_only", "off")
            memory.add(said, user_id="ada", session_id="wednesday")
    finally:
        set_for_all(database_url, "default_transaction_read_only", "off")


def test_an_upgrade_that_loses_its_connection_says_what_to_do(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url, "0026")
    with psycopg.connect(empty_database_url) as holder:
        holder.execute("LOCK TABLE memsense.chunks IN ACCESS SHARE MODE")
        ended = threading.Event()

        def end_waiting() -> None:
            with psycopg.connect(empty_database_url, autocommit=True) as other:
                while not ended.wait(0.05):
                    other.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
                    )

        thread = threading.Thread(target=end_waiting)
        thread.start()
        try:
            with pytest.raises(ConnectionFailedError, match="run 'memsense db upgrade' again"):
                migrate.upgrade(empty_database_url)
        finally:
            ended.set()
            thread.join()
    assert migrate.upgrade(empty_database_url).is_current


def test_a_lost_connection_is_known_by_its_state_whatever_the_driver_raises(
    database_url: str,
) -> None:
    attempts: list[int] = []

    def work(connection: psycopg.Connection[object]) -> str:
        attempts.append(connection.info.backend_pid)
        if len(attempts) == 1:
            run(database_url, f"SELECT pg_terminate_backend({connection.info.backend_pid}, 5000)")
            try:
                connection.execute("SELECT 1")
            except psycopg.OperationalError as error:
                # What psycopg has raised from the end of a pipeline.
                raise psycopg.DatabaseError("server closed the connection unexpectedly") from error
        return "done"

    with Pool(database_url, min_size=1, max_size=1, timeout=20) as pool:
        assert run_transaction(pool, work) == "done"
    assert len(set(attempts)) == 2
