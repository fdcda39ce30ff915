"""`db purge`: no file of an index, and with `--full` no file at all, has a word that was erased."""

from collections.abc import Generator

import psycopg
import pytest
from embedders import HashingEmbedder
from test_row_security import as_app
from waiting import wait_until

from memsense import MemSense, load_settings
from memsense.client.worker import Worker
from memsense.config import Settings
from memsense.db.purge import PurgeReport, PurgeStep, purge
from memsense.db.queries import query
from memsense.doctor.checkup import check_up
from memsense.doctor.findings import Finding
from memsense.errors import ConfigurationError

pytestmark = pytest.mark.one_server("its nodes are not purged by this command")

WORD = "quizzaciously"
NAME = "Zephyrine Quillfeather"
OTHER = "teapot"
PLANTED = (WORD, "quizzaci", NAME, "quillfeather", "Quillfeather")
"""The planted word and name, as they are written and as they are indexed."""


@pytest.fixture
def erased(module_database_url: str) -> Generator[MemSense]:
    """Yield a memory that has stored, found and erased the planted words, and keeps others."""
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as memory:
        plant(memory)
        yield memory


def plant(memory: MemSense) -> None:
    """Store the planted words in everything that holds words, and erase them again."""
    for session in ("s", "t"):
        memory.add(
            [
                {"role": "user", "content": f"I spoke {WORD} to {NAME} about tea."},
                {"role": "assistant", "content": f"{NAME} was told {WORD}."},
                {"role": "user", "content": f"{WORD} it was, and {NAME} laughed."},
            ],
            user_id="ada", session_id=session, tags=[WORD], mode="hybrid",
        )  # fmt: skip
    memory.add([{"role": "user", "content": f"My {OTHER} is blue."}], user_id="ada", session_id="u")
    memory.indexes.make_sessions()
    memory.search(f"who spoke {WORD}?", user_id="ada", trace=True)
    memory.traces.flush()
    for session in ("s", "t"):
        memory.erase(user_id="ada", session_id=session)


def files(connection: psycopg.Connection, *, indexes: bool) -> list[str]:
    """Return the files of the database's indexes, or all of its files and of the server's own."""
    if indexes:
        rows = connection.execute(
            "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relkind = 'i'"
            " AND relnamespace = 'memsense'::regnamespace"
        ).fetchall()
        return [path for (path,) in rows]
    found: list[str] = []
    row = connection.execute(
        "SELECT oid::text FROM pg_database WHERE datname = current_database()"
    ).fetchone()
    assert row
    folders = [f"base/{row[0]}", "global", "pg_stat", "pg_xact", "pg_subtrans", "pg_logical"]
    while folders:
        folder = folders.pop()
        rows = connection.execute(
            "SELECT %s || '/' || name, (pg_stat_file(%s || '/' || name, true)).isdir"
            " FROM pg_ls_dir(%s, true, false) AS name", [folder] * 3,
        ).fetchall()  # fmt: skip
        folders += [path for path, is_folder in rows if is_folder]
        found += [path for path, is_folder in rows if is_folder is False]
    return found


def planted(url: str, *, indexes: bool) -> list[str]:
    """Return the files on disk that have one of the planted words."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        return [
            path
            for path in files(connection, indexes=indexes)
            for (content,) in connection.execute(
                "SELECT pg_read_binary_file(%s, 0, 1 << 29, true)", [path]
            )
            if content and any(word.encode() in content for word in PLANTED)
        ]


def purge_all(url: str, *, is_full: bool = False) -> list[PurgeReport]:
    """Purge until no autovacuum of the moment stands in the way."""
    reports: list[PurgeReport] = []

    def is_done() -> bool:
        reports.append(purge(url, is_full=is_full))
        return reports[-1].waiting == 0

    wait_until(is_done, "a purge of every erasure")
    return reports


def test_after_a_purge_no_index_and_after_a_full_one_no_file_has_the_word(
    erased: MemSense, module_database_url: str
) -> None:
    url = module_database_url
    assert planted(url, indexes=True)
    assert [it.purged_at for it in erased.erasures.list()] == [None, None]
    assert sum(report.receipts for report in purge_all(url)) == 2
    assert planted(url, indexes=True) == []
    assert planted(url, indexes=False)
    receipts = erased.erasures.list()
    assert all(it.purged_at is not None and it.purged_full_at is None for it in receipts)
    assert sum(report.receipts for report in purge_all(url, is_full=True)) == 2
    assert planted(url, indexes=False) == []
    after = erased.erasures.list()
    assert [it.purged_at for it in after] == [it.purged_at for it in receipts]
    assert all(it.purged_full_at is not None for it in after)
    assert [it.content for it in erased.search(OTHER, user_id="ada")]


def test_an_erasure_that_somebody_can_still_see_is_not_said_to_be_purged(
    module_database_url: str, erased: MemSense
) -> None:
    url = module_database_url
    with psycopg.connect(url) as onlooker:
        onlooker.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        onlooker.execute("SELECT count(*) FROM memsense.tenants")
        chunk = erased.recent(user_id="ada")[0]
        receipt = erased.delete(chunk.chunk_id)
        # REINDEX CONCURRENTLY would wait for the onlooker: rows are marked by the same rule.
        with psycopg.connect(url, autocommit=True) as owner:
            horizon = owner.execute(query("fetch_horizon", "purge.sql")).fetchone()
            assert horizon
            marks = {"is_full": False, "horizon": horizon[0]}
            owner.execute(query("mark_purged", "purge.sql"), marks)
        assert erased.erasures.get(receipt.erasure_id).purged_at is None
    purge_all(url)
    assert erased.erasures.get(receipt.erasure_id).purged_at is not None


def test_what_a_broken_purge_left_is_dropped_and_each_step_is_told(
    module_database_url: str, erased: MemSense
) -> None:
    url, index = module_database_url, "memsense.chunks_scope_lexemes"
    steps: list[PurgeStep] = []
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(
            "CREATE INDEX chunks_scope_lexemes_ccnew ON memsense.chunks (chunk_id);"
            " UPDATE pg_index SET indisvalid = false"
            " WHERE indexrelid = 'memsense.chunks_scope_lexemes_ccnew'::regclass"
        )
        purge(url, on_step=steps.append)
        assert owner.execute("SELECT to_regclass(%s)", [f"{index}_ccnew"]).fetchone() == (None,)
    named = [(step.action, step.name) for step in steps]
    assert named.index(("drop", f"{index}_ccnew")) < named.index(("rebuild", index))
    assert ("vacuum", "memsense.chunks") in named
    assert all(step.locks_for is None for step in steps)
    purge(url, is_full=True, on_step=steps.append)
    locking = [step for step in steps if step.locks_for is not None]
    assert "memsense.chunks" in {step.name for step in locking}
    assert not any("embeddings" in step.name for step in locking)
    assert erased.recent(user_id="ada") is not None


def test_a_user_under_the_policies_can_not_purge(module_database_url: str) -> None:
    with pytest.raises(ConfigurationError, match="sees one tenant at a time"):
        purge(as_app(module_database_url))


def test_a_worker_of_the_owner_purges_old_erasures(module_database_url: str) -> None:
    settings = load_settings(purge_days=0)
    with MemSense.open(
        module_database_url, embedder=HashingEmbedder(), settings=settings
    ) as memory:
        chunk = memory.add("My kettle is red.", user_id="ada")[0]
        receipt = memory.delete(chunk.chunk_id)
        [finding] = unpurged(module_database_url, settings)
        assert finding.remedy == "run 'memsense db purge' as the tables' owner"

        def is_purged() -> bool:
            # Each worker looks at most once a minute.
            Worker(memory._context).run()  # pyright: ignore[reportPrivateUsage]
            memory.jobs.retry()
            return memory.erasures.get(receipt.erasure_id).purged_at is not None

        wait_until(is_purged, "a purge by a worker")
        assert [job.kind for job in memory.jobs.list()] == []
        assert unpurged(module_database_url, settings) == []


def test_a_worker_under_the_policies_leaves_a_purge_to_others(module_database_url: str) -> None:
    settings = load_settings(purge_days=0)
    with MemSense.open(
        as_app(module_database_url), embedder=HashingEmbedder(), settings=settings
    ) as memory:
        chunk = memory.add("My lamp is green.", user_id="ada")[0]
        receipt = memory.delete(chunk.chunk_id)
        assert memory.jobs.run().done == 0
        assert memory.erasures.get(receipt.erasure_id).purged_at is None


def unpurged(url: str, settings: Settings) -> list[Finding]:
    report = check_up(url, settings=settings, embedder=HashingEmbedder())
    return [finding for finding in report.findings if finding.check == "erasures"]
