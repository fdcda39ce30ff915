"""pg_dump and pg_restore carry a whole store to another server: roles, policies, HNSW indexes."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import psycopg
import pytest

from memsense import MemSense, load_settings
from memsense.db.embedded import EmbeddedServer
from memsense.db.migrate import make_roles, upgrade
from memsense.doctor.checkup import check_up

ASKED_AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
WORDS = ("lisbon", "cello", "garden", "train", "soup", "novel", "harbour", "violin")
QUESTIONS = ("the cello in the garden", "soup 3", "which train goes to the harbour?")
CHUNKS = 120


class Words:
    """The sum of the directions of a text's words; the same in every process."""

    model = "words"
    dimension = 32

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The unit vectors."""
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The unit vector."""
        rows = [
            np.random.default_rng(list(word.encode())).standard_normal(self.dimension)
            for word in re.findall(r"\w+", text.lower())
        ]
        total = np.sum(rows, axis=0)
        return (total / np.linalg.norm(total)).astype(np.float32)


def find_tool(server: EmbeddedServer, name: str) -> str:
    """PostgreSQL's program of that name, the embedded server's; skips where there is none."""
    psql = server.psql_command()
    found = shutil.which(name, path=Path(psql[0]).parent) if psql else None
    if found is None:
        pytest.skip(f"the embedded server's wheel brings no {name} here")
    return found


@pytest.fixture(scope="module")
def directory() -> Generator[Path]:
    """A place for two servers and a dump that the servers' user can reach."""
    path = Path(tempfile.mkdtemp(prefix="memsense-restore-"))
    path.chmod(0o711)
    yield path
    for name in ("here", "there"):
        EmbeddedServer(path / name).stop()
    shutil.rmtree(path)


def run(command: Sequence[str | Path]) -> tuple[int, str]:
    """The program's exit code, and what it complained of."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    return done.returncode, done.stderr


def fill(url: str) -> None:
    """Two tenants with the same names, ada's memory in HNSW indexes."""
    for tenant in ("default", "other"):
        settings = load_settings(database_url=url, tenant=tenant, index_threshold=CHUNKS)
        with MemSense.open(settings=settings, embedder=Words()) as memory:
            for session in range(CHUNKS // 8):
                said = [
                    {
                        "role": role,
                        "content": f"{role} has the {word} and the {WORDS[session % 8]} {session}",
                        "at": ASKED_AT.replace(hour=session % 12),
                    }
                    for word in WORDS
                    for role in ("user", "assistant")
                ]
                memory.add(said, user_id="ada", session_id=f"s{session}", mode="hybrid")
            memory.add(
                [{"role": "user", "content": "soup for grace"}], user_id="grace", session_id="s"
            )
            memory.indexes.make_sessions()
            assert [change.action for change in memory.indexes.optimise()]


def look(url: str, tenant: str = "default") -> list[Any]:
    """What searches find, with scores and the routes behind them."""
    with MemSense.open(url, embedder=Words(), tenant=tenant) as memory:
        return [
            (
                question,
                hit.chunk_id,
                hit.content,
                hit.score,
                [(route.route, route.rank, route.score) for route in hit.explain.routes],
            )
            for question in QUESTIONS
            for hit in memory.search(question, user_id="ada", asked_at=ASKED_AT, top_k=6)
        ]


def fetch(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement.encode()).fetchall()


ROLES = ("CREATE ROLE memsense_owner NOLOGIN", "CREATE ROLE memsense_app LOGIN")
HNSW = """
SELECT c.relname, pg_get_indexdef(c.oid), i.indisvalid
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE pg_get_indexdef(c.oid) LIKE '%USING hnsw%' ORDER BY 1
"""
SCANS = """
SELECT sum(s.idx_scan)::integer
FROM pg_stat_user_indexes AS s WHERE pg_get_indexdef(s.indexrelid) LIKE '%USING hnsw%'
"""
GUARDS = """
SELECT c.relname, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.relowner::regrole::text,
    c.relacl::text, c.reloptions,
    ARRAY(SELECT pg_get_expr(p.polqual, p.polrelid) FROM pg_policy AS p WHERE p.polrelid = c.oid)
FROM pg_class AS c
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p', 'v') ORDER BY 1
"""


def as_app(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"memsense_app@{parts.netloc.rpartition('@')[2]}"))


def complaints(url: str) -> list[str]:
    """What doctor warns of."""
    settings = load_settings(database_url=url, index_threshold=CHUNKS)
    report = check_up(url, settings=settings, embedder=Words())
    return [f"{item.severity}: {item.text}" for item in report.findings if item.severity != "info"]


def test_a_store_restored_on_another_server_is_searched_and_guarded_as_before(
    directory: Path,
) -> None:
    file = directory / "memsense.dump"
    with EmbeddedServer(directory / "here") as here, EmbeddedServer(directory / "there") as there:
        dump, restore = find_tool(here, "pg_dump"), find_tool(there, "pg_restore")
        upgrade(here.url)
        make_roles(here.url)
        fill(here.url)
        assert complaints(here.url) == []
        code, complaint = run([dump, "--file", file, as_app(here.url)])
        assert code == 1
        assert "pg_dump: error" in complaint
        assert run([dump, "--format=custom", "--file", file, here.url]) == (0, "")
        with psycopg.connect(there.url) as connection:
            for role in ROLES:
                connection.execute(role)
        loading = [restore, "--single-transaction", "--dbname", there.url, file]
        assert run(loading) == (0, "")
        assert ["leakproof" in text for text in complaints(there.url)] == [True]
        make_roles(there.url)
        assert complaints(there.url) == []
        for statement in (HNSW, GUARDS):
            assert fetch(there.url, statement) == fetch(here.url, statement) != []
        for tenant in ("default", "other"):
            assert look(there.url, tenant) == look(here.url, tenant) != []
        assert [scans > 0 for (scans,) in fetch(there.url, SCANS)] == [True]
        with psycopg.connect(as_app(there.url)) as app:
            assert app.execute("SELECT count(*) FROM memsense.chunks").fetchone() == (0,)
        with MemSense.open(there.url, embedder=Words()) as memory:
            said = [{"role": "user", "content": "a zither since the move"}]
            [added] = memory.add(said, user_id="ada", session_id="after")
            found = memory.search("zither", user_id="ada")
            assert found[0].chunk_id == added.chunk_id
        newest = "SELECT max(chunk_id) FROM memsense.chunks"
        assert [(added.chunk_id,)] == fetch(there.url, newest) > fetch(here.url, newest)
