"""The doctor finds 25 faults that are planted into a copy of a filled database, and none in it."""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from embedders import HashingEmbedder
from servers import TestServer
from traced import fill

from memsense import MemSense, load_settings
from memsense.db.migrate import seal
from memsense.db.partitions import partition
from memsense.doctor import server as doctor_server
from memsense.doctor.checkup import check_up
from memsense.doctor.findings import Finding
from memsense.doctor.server import examine_prepared

SAMPLE = Path(__file__).parents[2] / "memsense" / "data" / "sample_conversation.jsonl"
FIND_TURN = """
    SELECT scope_id, chunk_id, session_id, ordinal
    FROM memsense.chunks
    WHERE scope_id = (SELECT scope_id FROM memsense.scopes WHERE user_id = %s)
      AND granularity = 'turn' AND status = 'active' AND user_text <> ''
    ORDER BY chunk_id DESC OFFSET %s LIMIT 1
"""


@dataclass(frozen=True)
class Fault:
    """A fault: its statement, and the check and a part of the text of what the doctor says.

    It is planted into the turn of a user at that place, counted from the newest. `alone`: it
    would hide another one. `mended`: by `--repair`.
    """

    statement: str
    check: str
    text: str
    user: str = "ines"
    place: int = 0
    alone: bool = False
    mended: bool = False

    def plant(self, connection: psycopg.Connection) -> None:
        row = connection.execute(FIND_TURN, [self.user, self.place]).fetchone()
        assert row
        values = dict(zip(("scope_id", "chunk_id", "session_id", "ordinal"), row, strict=True))
        for statement in self.statement.split("; "):
            result = connection.execute(statement, values)  # pyright: ignore[reportArgumentType, reportCallIssue]
            assert result.rowcount != 0, statement


FAULTS = {
    # Found before there was a manifest, and before exchanges were examined.
    "an index is dropped": Fault(
        "DROP INDEX memsense.chunks_scope_tags", "objects", "chunks_scope_tags is missing",
    ),
    "an index is invalid": Fault(
        "UPDATE pg_index SET indisvalid = false"
        " WHERE indexrelid = 'memsense.mentions_chunk'::regclass",
        "indexes", "mentions_chunk of memsense.mentions is invalid",
    ),
    "vectors are missing": Fault(
        "DELETE FROM memsense.embeddings_full WHERE chunk_id = %(chunk_id)s",
        "embeddings", "1 chunks of default/default have no full vector", mended=True, user="ada",
    ),
    "vectors are of another model": Fault(
        "INSERT INTO memsense.models (name, dimension) VALUES ('other', 48); "
        "UPDATE memsense.embeddings_assistant SET model_id ="
        " (SELECT model_id FROM memsense.models WHERE name = 'other')"
        " WHERE chunk_id = %(chunk_id)s",
        "model", "are of other", user="ada", place=1,
    ),
    "frequencies of words are wrong": Fault(
        "UPDATE memsense.lexemes SET document_frequency = 99 WHERE scope_id = %(scope_id)s"
        " AND lexeme = 'leipzig'",
        "statistics", "'ines' are wrong", mended=True,
    ),
    "counts of chunks are wrong": Fault(
        "UPDATE memsense.scope_statistics SET user_length = 7 WHERE scope_id = %(scope_id)s",
        "statistics", "'ada' are wrong", mended=True, user="ada",
    ),
    "vectors of a retired chunk remain": Fault(
        "UPDATE memsense.chunks SET status = 'archived' WHERE chunk_id = %(chunk_id)s",
        "retired", "archived or deleted chunks of default/default can be hits",
        mended=True, place=19,
    ),
    "an active chunk is in no word index": Fault(
        "UPDATE memsense.chunks SET tsv = NULL WHERE chunk_id = %(chunk_id)s",
        "retired", "1 active chunks of default/default are in no word index", place=3,
    ),
    "words are indexed in another language": Fault(
        "UPDATE memsense.chunks SET language = 'de' WHERE chunk_id = %(chunk_id)s",
        "language", "are not indexed by the words of their language", place=5,
    ),
    "a job is dead": Fault(
        "INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id, dead_at)"
        " SELECT tenant_id, namespace_id, 'index', scope_id, now() FROM memsense.scopes"
        " WHERE scope_id = %(scope_id)s",
        "jobs", "1 jobs of default/default are dead", user="ada",
    ),
    "a table has no policy": Fault(
        "ALTER TABLE memsense.items DISABLE ROW LEVEL SECURITY",
        "security", "row-level security does not hold for memsense_app on items",
    ),
    "the schema is of another revision": Fault(
        "UPDATE memsense.alembic_version SET version_num = '0007'",
        "schema", "the schema is at 0007", alone=True,
    ),
    # Not found before.
    "rows of the ledger are lost": Fault(
        "DELETE FROM memsense.ingested_messages WHERE scope_id = %(scope_id)s"
        " AND session_id = %(session_id)s AND ordinal = %(ordinal)s",
        "exchanges", "the ledger lacks messages of them", place=7,
    ),
    "a row of the ledger has no exchange": Fault(
        "INSERT INTO memsense.ingested_messages"
        " (tenant_id, scope_id, session_id, format, message_key, content_hash, ordinal)"
        " SELECT tenant_id, scope_id, 'gone', 'openai', 'm1', 'h', 0 FROM memsense.scopes"
        " WHERE scope_id = %(scope_id)s",
        "exchanges", "1 messages in the ledger of default/default",
    ),
    "a vector is zero": Fault(
        "UPDATE memsense.embeddings_full SET embedding = array_fill(0, ARRAY[48])::halfvec"
        " WHERE chunk_id = %(chunk_id)s",
        "exchanges", "have vectors whose length is not 1", mended=True, place=17, alone=True,
    ),
    "a vector is unscaled": Fault(
        "UPDATE memsense.embeddings_user SET embedding = embedding + embedding"
        " WHERE chunk_id = %(chunk_id)s",
        "exchanges", "have vectors whose length is not 1", mended=True, place=9,
    ),
    "the event of an add is lost": Fault(
        "DELETE FROM memsense.events WHERE kind = 'added' AND chunk_id = %(chunk_id)s",
        "exchanges", "have no event of how they came", mended=True, place=11,
    ),
    "links to entities are lost": Fault(
        "DELETE FROM memsense.mentions WHERE chunk_id = (SELECT max(chunk_id)"
        " FROM memsense.mentions WHERE scope_id = %(scope_id)s)",
        "exchanges", "are not linked to the entities", mended=True,
    ),
    "a function is replaced": Fault(
        "CREATE OR REPLACE FUNCTION memsense.find_own_tenant() RETURNS integer"
        " LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp"
        " AS 'BEGIN RETURN 1;END'",
        "objects", "function find_own_tenant() is not as this version makes it",
    ),
    "a vector leads to the wrong exchange": Fault(
        "UPDATE memsense.embeddings_user SET previous_chunk_id = chunk_id"
        " WHERE chunk_id = %(chunk_id)s",
        "exchanges", "are not linked to the exchange before them", mended=True, place=13,
    ),
    "a hash is wrong": Fault(
        "UPDATE memsense.chunks SET content_hash = repeat('0', 64)"
        " WHERE chunk_id = %(chunk_id)s",
        "exchanges", "have another hash than their content", mended=True, place=15,
    ),
    "the role may change the revision": Fault(
        "GRANT UPDATE ON memsense.alembic_version TO memsense_app",
        "objects", "memsense_app has rights on table alembic_version: UPDATE",
    ),
    "the role may read the keys of seals": Fault(
        "GRANT SELECT ON memsense.seals TO memsense_app",
        "objects", "which holds the keys that seal the tenants: SELECT",
    ),
    "a view is dropped": Fault(
        "DROP VIEW memsense.recall_latency", "objects", "view recall_latency is missing",
    ),
    "a foreign key is dropped": Fault(
        "ALTER TABLE memsense.mentions DROP CONSTRAINT mentions_tenant_id_scope_id_entity_id_fkey",
        "objects", "constraint mentions FOREIGN KEY (tenant_id, scope_id, entity_id)",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def filled(server: TestServer, template_database: str) -> Generator[str]:
    """Yield the name of a database with every kind of exchange, to copy."""
    with server.new_database(template_database) as url:
        with MemSense.open(url, embedder=HashingEmbedder()) as memory:
            fill_all_kinds(memory)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ANALYZE")
        name = urlsplit(url).path.removeprefix("/")
        server.close_to_connections(name)
        yield name


def fill_all_kinds(memory: MemSense) -> None:
    """Store exchanges from calls and from logs, and update, complete, archive, erase some."""
    fill(memory, sessions=4)
    fill(memory, user_id="bob", sessions=2, mode="turn")
    long = "The harbour of Lisbon. " * 200
    memory.add(
        [{"role": "user", "content": long}, {"role": "assistant", "content": long}],
        user_id="bob", session_id="long",
    )  # fmt: skip
    memory.add([{"role": "user", "content": "Is it open?"}], user_id="bob", session_id="asked")
    memory.add([{"role": "assistant", "content": "Yes."}], user_id="bob", session_id="asked")
    memory.add(
        [{"role": "user", "content": "One."}, {"role": "user", "content": "Two.", "name": "Bo"}],
        user_id="bob", session_id="two",
    )  # fmt: skip
    memory.add([{"role": "other", "name": "Ann", "content": "Hi, Bo."}], user_id="people")
    turns = memory.list(user_id="bob", limit=50)
    memory.update(turns[3].chunk_id, content={"user": "Something else."})
    memory.archive(turns[4].chunk_id)
    memory.forget(turns[5].chunk_id)
    memory.delete(turns[6].chunk_id)
    memory.ingest(SAMPLE, user_id="ines", mode="hybrid")
    memory.indexes.make_sessions()


def examine(url: str, *, deep: bool = False, repair: bool = False) -> list[Finding]:
    report = check_up(
        url, settings=load_settings(), embedder=HashingEmbedder(), deep=deep, repair=repair
    )
    return list(report.findings)


def test_a_store_with_every_kind_of_exchange_is_clean(server: TestServer, filled: str) -> None:
    with server.new_database(filled) as url:
        for deep in (False, True):
            findings = examine(url, deep=deep)
            assert [it for it in findings if it.severity != "info"] == []
            assert [it for it in findings if it.check in {"exchanges", "objects"}] == []


@pytest.mark.one_server("its nodes use no policies, and it refuses statements of the faults")
def test_each_planted_fault_is_found(server: TestServer, filled: str, is_long: bool) -> None:
    assert len(FAULTS) == 25
    alone = [[name] for name, it in FAULTS.items() if is_long or it.alone]
    together = [name for name in FAULTS if [name] not in alone]
    missed: list[str] = []
    for names in [*alone, together] if together else alone:
        with server.new_database(filled) as url:
            with psycopg.connect(url, autocommit=True) as connection:
                for name in names:
                    FAULTS[name].plant(connection)
            findings = examine(url)
        for name in names:
            fault = FAULTS[name]
            found = [it for it in findings if it.check == fault.check and fault.text in it.text]
            if not found:
                missed.append(name)
            assert all(it.remedy for it in found if it.severity != "info")
            assert all(it.fix for it in found) or not fault.mended
    assert missed == []


@pytest.mark.one_server("it refuses statements of the faults")
def test_repair_mends_what_it_says(server: TestServer, filled: str) -> None:
    mended = [name for name, fault in FAULTS.items() if fault.mended]
    with server.new_database(filled) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            for name in mended:
                FAULTS[name].plant(connection)
        assert [it for it in examine(url) if it.fix]
        findings = examine(url, repair=True)
        assert [it for it in findings if it.severity != "info"] == []
        with MemSense.open(url, embedder=HashingEmbedder()) as memory:
            memory.jobs.run()
        assert [it for it in examine(url, deep=True) if it.severity != "info"] == []


@pytest.mark.one_server("tenants of a cluster can't be sealed")
def test_what_commands_make_and_what_an_operator_adds_is_no_fault(
    server: TestServer, filled: str
) -> None:
    with server.new_database(filled) as url:
        partition(url)
        with MemSense.open(
            url, embedder=HashingEmbedder(), settings=load_settings(index_threshold=1)
        ) as memory:
            assert memory.indexes.optimise()
        assert [it for it in examine(url) if it.check == "objects"] == []
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE memsense.mine (note text)")
            connection.execute("GRANT SELECT ON memsense.mine TO memsense_app")
            connection.execute("CREATE INDEX mine_too ON memsense.chunks (project)")
        seal(url, "0123456789abcdef" * 2)
        findings = [it for it in examine(url) if it.check == "objects"]
        assert [(it.severity, it.text) for it in findings] == [
            ("info", "index chunks mine_too is none of memsense's"),
            ("info", "table mine is none of memsense's"),
        ]


def test_a_forgotten_prepared_transaction_is_found(
    server: TestServer, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.new_database(filled) as url, psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SHOW max_prepared_transactions").fetchone() == ("0",):
            pytest.skip("the server has no prepared transactions")
        connection.execute("BEGIN")
        connection.execute("PREPARE TRANSACTION 'forgotten'")
        try:
            assert list(examine_prepared(connection)) == []
            monkeypatch.setattr(doctor_server, "LONGEST_PREPARED", 0)
            [finding] = examine_prepared(connection)
            assert "'forgotten'" in finding.text
        finally:
            connection.execute("ROLLBACK PREPARED 'forgotten'")
