"""Revisions up, down, twice and at once; and what is said of a database at another one."""

import hashlib
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
import pytest
from alembic.script import ScriptDirectory
from former import COUNT_FORMER
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from servers import TestServer

import memsense
from memsense import MemSense, Settings
from memsense.db.migrate import (
    downgrade,
    head_revision,
    load_views,
    read_state,
    require_current,
    schema_state,
    upgrade,
)
from memsense.errors import ConnectionFailedError, SchemaError
from memsense.types import Chunk, ChunkDraft

VERSIONS = Path(__file__).parents[2] / "alembic" / "versions"
REVISIONS = sorted(path.name[:4] for path in VERSIONS.glob("[0-9]*.py"))

UPGRADE = "import sys; from memsense.db.migrate import upgrade; print(upgrade(sys.argv[1]).current)"

# Everything in the schema but the version itself, one line each.
CATALOG = """
SELECT format('%s %s', c.relkind, c.relname) FROM pg_class AS c
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
UNION ALL
SELECT format('column %s.%s %s %s %s %s', c.relname, a.attname,
    format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage,
    pg_get_expr(d.adbin, d.adrelid))
FROM pg_attribute AS a
JOIN pg_class AS c ON c.oid = a.attrelid
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p')
  AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT indexdef FROM pg_indexes WHERE schemaname = 'memsense'
UNION ALL
SELECT format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
WHERE connamespace = 'memsense'::regnamespace
UNION ALL
SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'memsense'::regnamespace
UNION ALL
SELECT pg_get_viewdef(oid) FROM pg_class
WHERE relnamespace = 'memsense'::regnamespace AND relkind = 'v'
UNION ALL
SELECT format('%s %s %s', objoid::regclass, attname, description) FROM pg_description
LEFT JOIN pg_attribute ON attrelid = objoid AND attnum = objsubid
WHERE classoid = 'pg_class'::regclass
  AND objoid IN (SELECT oid FROM pg_class WHERE relnamespace = 'memsense'::regnamespace)
  -- Names the version that upgraded last.
  AND objoid <> 'memsense.alembic_version'::regclass
"""


def catalog(url: str) -> list[str]:
    with psycopg.connect(url) as conn:
        return sorted(line for (line,) in conn.execute(CATALOG).fetchall())


def execute(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as conn:
        cursor = conn.execute(cast("LiteralString", statement))
        return cursor.fetchall() if cursor.description else []


def test_the_revisions_are_numbered_in_one_line() -> None:
    scripts = ScriptDirectory(str(VERSIONS.parent))
    walked = list(scripts.walk_revisions())[::-1]
    assert [script.revision for script in walked] == REVISIONS
    assert [script.down_revision for script in walked] == [None, *REVISIONS[:-1]]
    assert all(script.doc for script in walked)


def test_the_head_revision_is_alembics() -> None:
    assert head_revision() == ScriptDirectory(str(VERSIONS.parent)).get_current_head()


def test_an_empty_database_is_brought_to_the_head(empty_database_url: str) -> None:
    assert schema_state(empty_database_url).current is None
    state = upgrade(empty_database_url)
    assert state.current == state.head == REVISIONS[-1]
    assert state.is_current


def test_upgrading_twice_changes_nothing(empty_database_url: str) -> None:
    upgrade(empty_database_url)
    before = catalog(empty_database_url)
    upgrade(empty_database_url)
    assert catalog(empty_database_url) == before


def test_upgrading_at_once_upgrades_once(empty_database_url: str) -> None:
    command: Sequence[str] = [sys.executable, "-W", "error", "-c", UPGRADE, empty_database_url]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    results = [process.communicate(timeout=60) for process in processes]
    assert results == [(f"{REVISIONS[-1]}\n", "")] * 2


def test_every_revision_can_be_undone_and_done_again(empty_database_url: str) -> None:
    catalogs: dict[str, list[str]] = {}
    for revision in REVISIONS:
        upgrade(empty_database_url, revision)
        catalogs[revision] = catalog(empty_database_url)
    for revision in REVISIONS[-2::-1]:
        downgrade(empty_database_url, revision)
        assert catalog(empty_database_url) == catalogs[revision]
    downgrade(empty_database_url, "base")
    assert schema_state(empty_database_url).current is None
    left = [line for line in catalog(empty_database_url) if "alembic_version" not in line]
    assert left == []
    upgrade(empty_database_url)
    assert catalog(empty_database_url) == catalogs[REVISIONS[-1]]


def test_a_released_revision_is_never_edited() -> None:
    # To renew at a release: cd alembic/versions && sha256sum [0-9]* > ../../tests/migrations/...
    released = Path(__file__).with_name("released.sha256").read_text().splitlines()
    files = {name: digest for digest, name in (line.split() for line in released)}
    edited = [
        name
        for name, digest in files.items()
        if hashlib.sha256((VERSIONS / name).read_bytes()).hexdigest() != digest
    ]
    assert not edited


@pytest.mark.parametrize("revision", ["0001", "0010", "0019"])
def test_memories_of_an_older_schema_are_found_and_explained_after_an_upgrade(
    empty_database_url: str, revision: str
) -> None:
    upgrade(empty_database_url)
    with MemSense.open(empty_database_url) as memory:
        for text in ("I moved to Lisbon in March.", "My sister keeps bees."):
            memory.add(text, user_id="ada", session_id="monday")
    # The rows as that schema has them: what later revisions added is gone.
    downgrade(empty_database_url, revision)
    assert schema_state(empty_database_url).current == revision
    before = execute(empty_database_url, "SELECT user_text FROM memsense.chunks ORDER BY 1")
    upgrade(empty_database_url)
    assert execute(empty_database_url, "SELECT user_text FROM memsense.chunks ORDER BY 1") == before
    with MemSense.open(empty_database_url) as memory:
        hit = memory.search("Who keeps bees?", user_id="ada")[0]
        assert "bees" in hit.content
        assert sum(value for _, value in hit.explain.parts()) == pytest.approx(hit.score)
        [chunk] = memory.add("I like tea", user_id="ada", session_id="monday")
        assert chunk.chunk_id in {it.chunk_id for it in memory.list(user_id="ada")}


@pytest.mark.parametrize("revision", ["0019", "0034"])
def test_an_upgrade_leaves_long_exchanges_to_jobs_that_cut_them(
    empty_database_url: str,
    revision: str,
    older_lengths: Callable[[], AbstractContextManager[None]],
) -> None:
    topics = ("otters", "violins", "glaciers", "lanterns", "saffron")
    paragraphs = [f"On {topic}. " + f"Much can be said about {topic}. " * 18 for topic in topics]
    answer = "\n\n".join(paragraphs)
    upgrade(empty_database_url)
    with MemSense.open(empty_database_url) as memory, older_lengths():
        memory.add(
            [
                {"role": "user", "content": "Tell me something of everything."},
                {"role": "assistant", "content": answer},
            ],
            user_id="ada", session_id="long",
        )  # fmt: skip
        memory.add("My sister keeps bees.", user_id="ada", session_id="short")
        memory.add("My brother keeps ants.", user_id="bo", session_id="short")
    downgrade(empty_database_url, revision)
    upgrade(empty_database_url)
    waiting = "SELECT s.user_id FROM memsense.jobs AS j JOIN memsense.scopes AS s USING (scope_id)"
    assert execute(empty_database_url, f"{waiting} WHERE j.kind = 'recut'") == [("ada",)]
    with MemSense.open(empty_database_url) as memory:
        stored = memory.recent(user_id="ada", session_id="long")
        assert [part.part_count for part in stored] == [1]
        memory.jobs.run()
        parts = sorted(memory.recent(user_id="ada", session_id="long"), key=lambda it: it.part)
        assert "".join(part.assistant_text for part in parts) == answer
        assert parts[0].chunk_id == stored[0].chunk_id
        assert len(parts) > 3
        for topic in topics:
            assert topic in memory.search(f"Who plays with {topic}?", user_id="ada")[0].content
    assert execute(empty_database_url, f"{waiting} WHERE j.kind = 'recut'") == []


def test_an_upgrade_indexes_words_by_language_in_jobs_and_finds_them_meanwhile(
    empty_database_url: str,
) -> None:
    texts = {"ada": "Die Züge nach Köln fahren pünktlich.", "bo": "The boats were painted in May."}
    upgrade(empty_database_url)
    with MemSense.open(empty_database_url) as memory:
        for user_id, text in texts.items():
            memory.add(text, user_id=user_id, session_id="s")
    downgrade(empty_database_url, "0034")
    execute(
        empty_database_url,
        "UPDATE memsense.chunks SET tsv = setweight(to_tsvector('english', user_text), 'A')",
    )
    for statement in COUNT_FORMER:
        execute(empty_database_url, statement)
    upgrade(empty_database_url)
    waiting = "SELECT count(*) FROM memsense.jobs WHERE kind = 'relex'"
    assert execute(empty_database_url, waiting) == [(2,)]
    with MemSense.open(empty_database_url, profile="lexical") as memory:
        new = "Züge halten auch in Berlin."
        memory.add(new, user_id="eva", session_id="s")

        def find(question: str) -> set[str]:
            hits = memory.search(question, all_users=True, top_k=2)
            return {hit.chunk.user_text for hit in hits}

        for is_done in (False, True):
            if is_done:
                memory.jobs.run()
                assert find("zuege") == {texts["ada"], new}
            assert find("Züge") == {texts["ada"], new}
            assert texts["bo"] in find("painted boats")
    assert execute(empty_database_url, waiting) == [(0,)]
    versions = "SELECT DISTINCT lexemes_version FROM memsense.scopes"
    assert execute(empty_database_url, versions) == [(2,)]


def test_a_log_of_before_keys_of_contents_is_known_and_gets_them_when_it_is_read_again(
    empty_database_url: str, tmp_path: Path
) -> None:
    texts = ["Which boards are for the shed?", "Twelve of oak.", "When do they come?", "On Friday."]
    lines = [f"18.03.26, 19:{n:02} - {'NM'[n % 2]}: {text}" for n, text in enumerate(texts * 3)]
    chat, again = tmp_path / "chat.txt", tmp_path / "chat (1).txt"
    chat.write_text("\n".join(lines[:8]))
    upgrade(empty_database_url)
    with MemSense.open(empty_database_url) as memory:
        assert memory.ingest(chat, user_id="ada", embed="later").stored == 4
    downgrade(empty_database_url, REVISIONS[REVISIONS.index("0044") - 1])
    upgrade(empty_database_url)
    lacking = "SELECT count(*) FROM memsense.ingested_messages WHERE content_key IS NULL"
    assert execute(empty_database_url, lacking) == [(8,)]
    with MemSense.open(empty_database_url) as memory:
        chat.write_text("\n".join(lines[:10]))
        assert memory.ingest(chat, user_id="ada", embed="later").stored == 1
        assert execute(empty_database_url, lacking) == [(0,)]
        again.write_text("\n".join(lines))
        report = memory.ingest(again, user_id="ada", embed="later")
        assert (report.stored, report.repeated) == (1, 5)


def test_an_upgrade_keeps_what_is_stored(empty_database_url: str) -> None:
    upgrade(empty_database_url, REVISIONS[0])
    execute(empty_database_url, "INSERT INTO memsense.tenants (name) VALUES ('kept')")
    upgrade(empty_database_url)
    assert execute(empty_database_url, "SELECT name FROM memsense.tenants") == [("kept",)]


def test_an_indexed_scope_stays_so_up_and_down(empty_database_url: str) -> None:
    upgrade(empty_database_url, "0006")
    execute(
        empty_database_url,
        "INSERT INTO memsense.tenants (name) VALUES ('acme');"
        " INSERT INTO memsense.namespaces (tenant_id, name, language)"
        " VALUES (1, 'work', 'english');"
        " INSERT INTO memsense.scopes (tenant_id, namespace_id, user_id, promoted)"
        " VALUES (1, 1, 'ada', true), (1, 1, 'grace', false)",
    )
    state = "SELECT user_id, {} FROM memsense.scopes ORDER BY user_id"
    upgrade(empty_database_url, "0007")
    marked = [("ada", True), ("grace", False)]
    assert execute(empty_database_url, state.format("indexed")) == marked
    downgrade(empty_database_url, "0006")
    assert execute(empty_database_url, state.format("promoted")) == marked


def test_of_a_chunks_vectors_the_searched_models_survive_a_downgrade(
    empty_database_url: str,
) -> None:
    upgrade(empty_database_url, "0014")
    execute(
        empty_database_url,
        "INSERT INTO memsense.tenants (name) VALUES ('acme');"
        " INSERT INTO memsense.models (name, dimension) VALUES ('old', 2), ('new', 3);"
        " INSERT INTO memsense.namespaces (tenant_id, name, model_id) VALUES (1, 'work', 2);"
        " INSERT INTO memsense.scopes (tenant_id, namespace_id, user_id, indexed)"
        " VALUES (1, 1, 'ada', true);"
        " INSERT INTO memsense.chunks (tenant_id, scope_id, ordinal, last_ordinal, dedup_window,"
        " granularity, session_id, content_hash) VALUES (1, 1, 0, 0, 0, 'turn', 's', 'x');"
        " INSERT INTO memsense.embeddings (tenant_id, scope_id, chunk_id, model_id, embedding,"
        " granularity, route) VALUES (1, 1, 1, 1, '[1,0]', 'turn', 'full'),"
        " (1, 1, 1, 2, '[1,0,0]', 'turn', 'full');"
        " INSERT INTO memsense.token_vectors (tenant_id, scope_id, chunk_id, model_id,"
        r" user_pieces, pieces, signs) VALUES (1, 1, 1, 1, 0, '', ''), (1, 1, 1, 2, 0, '', '');"
        " CREATE INDEX embeddings_full_model_2_scope_1 ON memsense.embeddings_full USING hnsw"
        " ((embedding::halfvec(3)) halfvec_ip_ops) WHERE scope_id = 1 AND model_id = 2",
    )
    downgrade(empty_database_url, "0013")
    state = (
        "SELECT model_id FROM memsense.embeddings UNION ALL SELECT model_id"
        " FROM memsense.token_vectors UNION ALL SELECT count(*) FROM memsense.scopes WHERE indexed"
        " UNION ALL SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%hnsw%'"
    )
    assert execute(empty_database_url, state) == [(2,), (2,), (0,), (0,)]
    upgrade(empty_database_url, "0014")
    assert execute(empty_database_url, state) == [(2,), (2,), (0,), (0,)]


def test_no_key_of_one_user_opens_the_whole_tenant_after_a_downgrade(
    empty_database_url: str,
) -> None:
    upgrade(empty_database_url, "0025")
    execute(
        empty_database_url,
        "INSERT INTO memsense.tenants (name) VALUES ('acme');"
        " INSERT INTO memsense.access_keys (tenant_id, key_id, key_hash, name, scopes, user_id,"
        r" created_by) VALUES (1, 'a', '', 'whole', '{read}', NULL, 'me'),"
        r" (1, 'b', '', 'hers', '{read}', 'ada', 'me')",
    )
    downgrade(empty_database_url, "0024")
    assert execute(empty_database_url, "SELECT name FROM memsense.access_keys") == [("whole",)]


def test_keys_of_before_open_every_namespace_and_those_of_one_go_with_a_downgrade(
    empty_database_url: str,
) -> None:
    upgrade(empty_database_url, REVISIONS[REVISIONS.index("0048") - 1])
    execute(
        empty_database_url,
        "INSERT INTO memsense.tenants (name) VALUES ('acme');"
        " INSERT INTO memsense.access_keys (tenant_id, key_id, key_hash, name, scopes, created_by)"
        " VALUES (1, 'a', '', 'of before', '{read}', 'me')",
    )
    upgrade(empty_database_url, "0048")
    execute(
        empty_database_url,
        "INSERT INTO memsense.access_keys"
        " (tenant_id, key_id, key_hash, name, scopes, namespace, created_by)"
        " VALUES (1, 'b', '', 'of one', '{read}', 'second', 'me')",
    )
    keys = "SELECT name, namespace FROM memsense.access_keys ORDER BY name"
    assert execute(empty_database_url, keys) == [("of before", None), ("of one", "second")]
    downgrade(empty_database_url, REVISIONS[REVISIONS.index("0048") - 1])
    names = "SELECT name FROM memsense.access_keys"
    assert execute(empty_database_url, names) == [("of before",)]


def test_namespaces_of_before_go_on_storing_what_calls_bring_as_it_is(
    empty_database_url: str,
) -> None:
    upgrade(empty_database_url)
    downgrade(empty_database_url, REVISIONS[REVISIONS.index("0046") - 1])
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO memsense.tenants (name) VALUES ('default')")
        connection.execute(
            "INSERT INTO memsense.namespaces (tenant_id, name, language)"
            " SELECT tenant_id, 'old', 'en' FROM memsense.tenants"
        )
        upgrade(empty_database_url)
        stored = connection.execute("SELECT name, value FROM memsense.settings").fetchall()
    assert stored == [("redact", "logs")]


def test_a_store_of_before_gets_statistics_of_its_next_searches(empty_database_url: str) -> None:
    upgrade(empty_database_url)
    with MemSense.open(empty_database_url) as memory:
        memory.add("My sister keeps bees.", user_id="ada", session_id="s")
        memory.search("Who keeps bees?", user_id="ada")
    downgrade(empty_database_url, REVISIONS[REVISIONS.index("0047") - 1])
    upgrade(empty_database_url)
    with MemSense.open(empty_database_url) as memory:
        assert memory.statistics().total.searches == 0
        assert memory.search("Who keeps bees?", user_id="ada")
        assert memory.statistics().total.searches == 1


def test_a_migration_creates_the_views_anew(empty_database_url: str) -> None:
    upgrade(empty_database_url)
    before = catalog(empty_database_url)
    execute(empty_database_url, "DROP VIEW memsense.session_timeline")
    execute(empty_database_url, "DROP VIEW memsense.chunk_overview CASCADE")
    execute(empty_database_url, "CREATE VIEW memsense.chunk_overview AS SELECT 1 AS outdated")
    upgrade(empty_database_url)
    assert catalog(empty_database_url) == before
    assert load_views().count("CREATE VIEW") == sum(line.startswith("v ") for line in before)


def test_an_unmigrated_database_is_refused_with_the_remedy(empty_database_url: str) -> None:
    with pytest.raises(SchemaError, match="run 'memsense init'"):
        MemSense.open(empty_database_url)


def test_an_older_revision_is_refused_with_the_remedy(empty_database_url: str) -> None:
    upgrade(empty_database_url)
    execute(empty_database_url, "UPDATE memsense.alembic_version SET version_num = '0000'")
    with pytest.raises(SchemaError, match=r"at 0000, .* needs .*run 'memsense db upgrade'"):
        MemSense.open(empty_database_url)


def test_a_newer_revision_is_refused_with_the_remedy(empty_database_url: str) -> None:
    upgrade(empty_database_url)
    execute(empty_database_url, "UPDATE memsense.alembic_version SET version_num = '9999'")
    with psycopg.connect(empty_database_url) as conn:
        assert read_state(conn).current == "9999"
        made_by = f"at 9999, made by memsense {re.escape(memsense.__version__)}, newer than"
        with pytest.raises(SchemaError, match=made_by):
            require_current(conn)
        conn.execute("COMMENT ON TABLE memsense.alembic_version IS NULL")
        with pytest.raises(SchemaError, match=r"at 9999, newer than .*upgrade memsense"):
            require_current(conn)


def test_a_database_that_is_gone_is_said_to_be_unreachable() -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"
    settings = Settings(database_url=url, pool_timeout=0.1)

    def open_memory(_: str) -> None:
        MemSense.open(settings=settings)

    operations: list[Callable[[str], object]] = [upgrade, schema_state, open_memory]
    for operation in operations:
        with pytest.raises(ConnectionFailedError, match=r"cannot connect|connection failed"):
            operation(url)


@pytest.fixture
def stranger_url(empty_database_url: str) -> Generator[str]:
    """The same database for a user who may only connect to it."""
    name = f"stranger_{uuid.uuid4().hex[:12]}"
    execute(empty_database_url, f"CREATE ROLE {name} LOGIN PASSWORD '{name}'")
    parts = conninfo_to_dict(empty_database_url) | {"user": name, "password": name}
    yield make_conninfo(**cast("dict[str, Any]", parts))
    execute(empty_database_url, f"DROP OWNED BY {name}")
    execute(empty_database_url, f"DROP ROLE {name}")


def test_a_user_without_the_rights_is_told_what_a_superuser_must_run(
    server: TestServer, empty_database_url: str, stranger_url: str
) -> None:
    if server.is_cluster:
        pytest.skip("a cluster's databases have pgvector before memsense (tests/cluster)")
    with pytest.raises(
        SchemaError, match=r"have a superuser run in database memsense_test_"
    ) as told:
        upgrade(stranger_url)
    said = re.fullmatch(r".* database \w+: (.*;) Then run 'memsense init' again", str(told.value))
    assert said is not None
    extension, grant = said[1].removesuffix(";").split("; ")
    assert extension == "CREATE EXTENSION vector"
    execute(empty_database_url, grant)
    if not may_create_the_extension(stranger_url):
        with pytest.raises(
            SchemaError, match=r'extension "vector"; .*: CREATE EXTENSION vector; Then'
        ):
            upgrade(stranger_url)
    execute(empty_database_url, extension)
    assert upgrade(stranger_url).is_current


def may_create_the_extension(url: str) -> bool:
    """Some packagers mark pgvector as trusted: whoever may create in the database may add it."""
    trusted = "SELECT bool_or(trusted) FROM pg_available_extension_versions WHERE name = 'vector'"
    return bool(execute(url, trusted)[0][0])


def test_no_table_has_a_trigger_and_every_key_begins_with_the_tenant(
    conn: psycopg.Connection[Any],
) -> None:
    triggers = conn.execute(
        "SELECT tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
        " WHERE c.relnamespace = 'memsense'::regnamespace AND NOT t.tgisinternal"
    ).fetchall()
    assert triggers == []
    keys = conn.execute(
        "SELECT conrelid::regclass::text, a.attname FROM pg_constraint AS k"
        " JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]"
        " WHERE k.connamespace = 'memsense'::regnamespace AND k.contype IN ('p', 'u')"
    ).fetchall()
    shared = {"memsense.tenants", "memsense.models", "memsense.seals", "memsense.alembic_version"}
    # The coordinator of a cluster has a shard of each shared table: memsense.models_102008.
    tables = [(re.sub(r"_\d+$", "", table), column) for table, column in keys]
    assert {column for table, column in tables if table not in shared} == {"tenant_id"}


def test_a_chunk_in_python_has_the_tables_columns(conn: psycopg.Connection[Any]) -> None:
    rows = conn.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'memsense.chunks'::regclass"
        " AND attnum > 0 AND NOT attisdropped"
    ).fetchall()
    columns = {name for (name,) in rows}
    index = {"tsv", "user_length", "assistant_length", "tag_length", "context_length"}
    identity = {"tenant_id", "scope_id", "content_hash", "dedup_window"}
    jobs = {"unknown_to"}  # what no job is to embed
    chunk = {item.name for item in fields(Chunk)}
    assert chunk - {"namespace", "user_id"} == columns - index - identity - jobs
    assert {item.name for item in fields(ChunkDraft)} <= columns


def test_stored_chunks_are_about_no_project_until_somebody_says_so(
    empty_database_url: str,
) -> None:
    upgrade(empty_database_url, "0026")
    execute(
        empty_database_url,
        "INSERT INTO memsense.tenants (name) VALUES ('acme');"
        " INSERT INTO memsense.namespaces (tenant_id, name, language) VALUES (1, 'n', 'english');"
        " INSERT INTO memsense.scopes (tenant_id, namespace_id, user_id) VALUES (1, 1, 'ada');"
        " INSERT INTO memsense.chunks (tenant_id, scope_id, session_id, granularity, ordinal,"
        "     last_ordinal, user_text, content_hash, dedup_window, source)"
        " VALUES (1, 1, 's', 'turn', 0, 0, 'Tea.', 'h', 0,"
        "     'claude_code:/home/ada/.claude/projects/-home-ada-my-app/s.jsonl')",
    )
    text = "SELECT source, user_text, {} FROM memsense.chunks"
    source = "claude_code:/home/ada/.claude/projects/-home-ada-my-app/s.jsonl"
    upgrade(empty_database_url, "0027")
    # The folder's name is ambiguous, and a repository has another name than its folder.
    assert execute(empty_database_url, text.format("project")) == [(source, "Tea.", None)]
    downgrade(empty_database_url, "0026")
    assert execute(empty_database_url, text.format("status")) == [(source, "Tea.", "active")]


def test_stored_changes_are_found_ones_and_rejected_ones_leave_with_a_downgrade(
    empty_database_url: str,
) -> None:
    upgrade(empty_database_url, "0041")
    execute(
        empty_database_url,
        "INSERT INTO memsense.tenants (name) VALUES ('acme');"
        " INSERT INTO memsense.namespaces (tenant_id, name, language) VALUES (1, 'n', 'english');"
        " INSERT INTO memsense.scopes (tenant_id, namespace_id, user_id) VALUES (1, 1, 'ada');"
        " INSERT INTO memsense.chunks (tenant_id, scope_id, session_id, granularity, ordinal,"
        "     last_ordinal, user_text, content_hash, dedup_window)"
        " SELECT 1, 1, 's', 'turn', n, n, 'Tea.', n::text, n FROM generate_series(1, 3) AS n;"
        " INSERT INTO memsense.supersessions (tenant_id, scope_id, chunk_id, older_id, reason,"
        "     strength)"
        " SELECT 1, 1, max(chunk_id), min(chunk_id), 'now', 1 FROM memsense.chunks",
    )
    upgrade(empty_database_url)
    states = "SELECT state, reason, decided_by FROM memsense.supersessions"
    assert execute(empty_database_url, states) == [("found", "now", None)]
    execute(empty_database_url, "UPDATE memsense.supersessions SET state = 'rejected'")
    downgrade(empty_database_url, "0041")
    assert execute(empty_database_url, "SELECT reason FROM memsense.supersessions") == []
