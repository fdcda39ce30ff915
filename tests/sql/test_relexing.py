"""Index entries of version 1 are made again by jobs, while both versions are searched."""

import re
from collections.abc import Callable, Generator
from itertools import pairwise
from typing import Any

import psycopg
import pytest
from counting import assert_counted

from memsense import MemSense
from memsense.db import run_transaction
from memsense.store import reindexing
from memsense.store.scopes import fetch_namespace, lock_scope

OpenMemory = Callable[..., MemSense]

TEXTS = {
    "Die Züge nach Köln fahren pünktlich.": "Züge",
    "My café serves crème brûlée.": "café",
    "The boats in the harbour were painted.": "painted boats",
    "我上个月在杭州买了一辆自行车。": "自行车",
    "新しいカメラを買いました。": "カメラ",
    "Вчера мы купили ёлку.": "ёлку",
}

INDEX = """
UPDATE memsense.chunks
SET language = NULL, tsv = setweight(to_tsvector('english', %s), 'A') WHERE user_text = %s
"""

FORMER = """
UPDATE memsense.chunks
SET user_length = (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(tsv));
DELETE FROM memsense.lexemes;
INSERT INTO memsense.lexemes
SELECT tenant_id, scope_id, granularity, lexeme, count(*)
FROM memsense.chunks CROSS JOIN unnest(tsvector_to_array(tsv)) AS lexeme GROUP BY 1, 2, 3, 4;
DELETE FROM memsense.scope_statistics;
INSERT INTO memsense.scope_statistics
    (tenant_id, scope_id, granularity, chunk_count, user_length, assistant_length, tag_length,
     context_length)
SELECT tenant_id, scope_id, granularity, count(*), sum(user_length), 0, 0, 0
FROM memsense.chunks GROUP BY 1, 2, 3;
UPDATE memsense.scopes SET lexemes_version = 1, languages = '{}';
INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id)
SELECT tenant_id, namespace_id, 'relex', scope_id FROM memsense.scopes;
"""


def cut(text: str) -> str:
    """Return the text with Chinese and Japanese cut into pairs, as version 1 cut them."""
    return re.sub(
        "[\u3041-\u9fff]+",
        lambda run: " ".join(first + second for first, second in pairwise(run[0])),
        text,
    )


def remember(memory: MemSense, text: str, user_id: str = "ada") -> int:
    message = {"role": "user", "content": text}
    return memory.add([message], user_id=user_id, session_id=text[:8], mode="turn")[0].chunk_id


@pytest.fixture
def former(memory: MemSense, database_url: str) -> Generator[psycopg.Connection[Any]]:
    """Store the texts as version 1 indexed them, in English; yield a connection."""
    for text in TEXTS:
        remember(memory, text)
    with psycopg.connect(database_url, autocommit=True) as connection:
        for text in TEXTS:
            connection.execute(INDEX, [cut(text), text])
        connection.execute(FORMER)
        yield connection


def state(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT lexemes_version, languages, (SELECT count(*) FROM memsense.jobs)"
        " FROM memsense.scopes ORDER BY scope_id"
    ).fetchall()


def find(memory: MemSense, question: str, **scope: Any) -> list[str]:
    scope = scope or {"user_id": "ada"}
    hits = memory.search(question, profile="lexical", **scope)
    return [hit.chunk.user_text for hit in hits]


def test_both_versions_are_found_until_the_job_is_done_and_texts_stay_as_they_are(
    open_memory: OpenMemory, former: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    remember(memory, "Die Züge halten in Berlin.", "bo")
    for text, question in TEXTS.items():
        assert text in find(memory, question)
    found = find(memory, "Züge", all_users=True)
    assert {*found} == {"Die Züge nach Köln fahren pünktlich.", "Die Züge halten in Berlin."}
    # A worker that ends after the second of several batches.
    monkeypatch.setattr(reindexing, "AT_ONCE", 2)
    namespace = run_transaction(memory._context.pool, lambda it: fetch_namespace(it, 1, "default"))  # pyright: ignore[reportPrivateUsage]
    for _ in range(2):
        run_transaction(
            memory._context.pool,  # pyright: ignore[reportPrivateUsage]
            lambda it: reindexing.relex_memory(it, lock_scope(it, namespace, "ada")),
        )
    assert state(former)[0][0] == 1
    named = "SELECT count(language), count(*) FROM memsense.chunks WHERE scope_id = 1"
    assert former.execute(named).fetchone() == (4, 6)
    assert_counted(former)
    for text, question in TEXTS.items():
        assert text in find(memory, question)
    memory.jobs.run()
    assert state(former)[0] == (2, {"de": 1, "en": 1, "fr": 1, "ja": 1, "ru": 1, "zh": 1}, 0)
    assert_counted(former)
    for text, question in TEXTS.items():
        assert find(memory, question)[0] == text
    stored = former.execute("SELECT user_text FROM memsense.chunks WHERE scope_id = 1 ORDER BY 1")
    assert [text for (text,) in stored] == sorted(TEXTS)
    # What only the new entries have: other spellings.
    assert find(memory, "zuege koeln")[0].startswith("Die Züge nach")
    assert find(memory, "creme brulee")[0].startswith("My café")


def test_what_is_written_to_a_memory_of_version_one_is_found_beside_its_other_texts(
    memory: MemSense, former: psycopg.Connection[Any]
) -> None:
    remember(memory, "Ein Zug nach München.")
    assert {*find(memory, "Züge nach München")} >= {
        "Ein Zug nach München.",
        "Die Züge nach Köln fahren pünktlich.",
    }
    assert_counted(former)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("version", [1, 2])
def test_erasing_a_text_removes_its_lexemes(
    memory: MemSense, former: psycopg.Connection[Any], text: str, version: int
) -> None:
    if version == 2:
        memory.jobs.run()
    memory.erase(user_id="ada", session_id=text[:8])
    assert text not in find(memory, TEXTS[text])
    assert_counted(former)
    lexemes = former.execute("SELECT lexeme FROM memsense.lexemes WHERE document_frequency <= 0")
    assert lexemes.fetchall() == []
