"""Roles and rights are made several times at once, in one database and in two of one server.

`tests/faults/test_first_starts.py` does the same with processes, which also create the schema.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import psycopg
import pytest
from servers import TestServer

from memsense.db import migrate
from memsense.db.embedded import EmbeddedServer

AT_ONCE = 4


def start_together(urls: list[str]) -> None:
    """Make the roles of each address in a thread of its own, all at the same moment."""
    for url in set(urls):
        migrate.upgrade(url)
    barrier = Barrier(len(urls))

    def start(url: str) -> None:
        barrier.wait()
        migrate.make_roles(url)

    with ThreadPoolExecutor(len(urls)) as threads:
        for done in [threads.submit(start, url) for url in urls]:
            done.result()


def assert_set_up(url: str) -> None:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT DISTINCT relowner::regrole::text FROM pg_class"
            " WHERE relnamespace = 'memsense'::regnamespace AND relkind IN ('r', 'p', 'v')"
        ).fetchall()
        rights = connection.execute(
            "SELECT has_table_privilege('memsense_app', 'memsense.chunks', 'INSERT')"
        ).fetchone()
    assert (rows, rights) == ([("memsense_owner",)], (True,))


@pytest.mark.one_server("its nodes are set up by another command")
def test_the_roles_of_one_database_are_made_at_once(empty_database_url: str) -> None:
    start_together([empty_database_url] * AT_ONCE)
    assert_set_up(empty_database_url)


@pytest.mark.one_server("its nodes are set up by another command")
def test_the_roles_of_two_databases_are_made_at_once(
    server: TestServer, empty_template: str, empty_database_url: str
) -> None:
    """Roles are the server's, and the lock is a database's."""
    with server.new_database(empty_template) as other:
        start_together([empty_database_url, other] * (AT_ONCE // 2))
        for url in (empty_database_url, other):
            assert_set_up(url)


def test_the_first_process_sets_an_embedded_server_up_before_others_join_it(
    cluster_dir: Path,
) -> None:
    calls: list[str] = []

    def prepare(url: str) -> None:
        calls.append(url)
        migrate.set_up(url)

    servers = [EmbeddedServer(cluster_dir) for _ in range(2)]
    try:
        urls = [server.start(prepare=prepare) for server in servers]
        assert calls == urls
        assert_set_up(urls[0])
        # A set-up that ended before the roles were made is finished by the next start.
        with psycopg.connect(urls[0], autocommit=True) as owner:
            for role in ("memsense_app", "memsense_owner"):
                owner.execute(f"REASSIGN OWNED BY {role} TO postgres")
                owner.execute(f"DROP OWNED BY {role}")
                owner.execute(f"DROP ROLE {role}")
        servers[1].start(prepare=prepare)
        assert_set_up(urls[0])
    finally:
        for server in servers:
            server.release()
