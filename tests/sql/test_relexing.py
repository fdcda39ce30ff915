"""Index entries of version 1 are made again by jobs, while both versions are searched."""

from collections.abc import Callable, Generator
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from former import make_former

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
    "Ο αδελφός μου μένει στη Θεσσαλονίκη.": "Θεσσαλονίκη",
    "나는 부산에서 자전거를 샀다.": "자전거를",
    "เมื่อวานฉันซื้อจักรยานใหม่": "จักรยาน",
    "اشترى أخي دراجة زرقاء في القاهرة.": "القاهرة",
    "אחותי גרה בחיפה ליד הים.": "בחיפה",
    "मेरी बहन जयपुर में रहती है।": "जयपुर",
    "The 🔑 hangs behind my jacket.": "🔑 jacket",
}


def remember(memory: MemSense, text: str, user_id: str = "ada") -> int:
    message = {"role": "user", "content": text}
    return memory.add([message], user_id=user_id, session_id=text[:8], mode="turn")[0].chunk_id


@pytest.fixture
def former(memory: MemSense, database_url: str) -> Generator[psycopg.Connection[Any]]:
    """Store the texts as version 1 indexed them, in English; yield a connection."""
    for text in TEXTS:
        remember(memory, text)
    with psycopg.connect(database_url, autocommit=True) as connection:
        make_former(connection)
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
    assert former.execute(named).fetchone() == (4, len(TEXTS))
    assert_counted(former)
    for text, question in TEXTS.items():
        assert text in find(memory, question)
    memory.jobs.run()
    languages = {**dict.fromkeys("ar de el fr he hi ja ko ru th zh".split(), 1), "en": 2}
    assert state(former)[0] == (2, languages, 0)
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


@pytest.mark.parametrize("version", [1, 2])
def test_erasing_a_text_in_any_script_removes_its_lexemes(
    memory: MemSense, former: psycopg.Connection[Any], version: int
) -> None:
    if version == 2:
        memory.jobs.run()
    for text, question in TEXTS.items():
        assert text in find(memory, question)
        memory.erase(user_id="ada", session_id=text[:8])
        assert text not in find(memory, question)
        assert_counted(former)
    assert former.execute("SELECT * FROM memsense.lexemes").fetchall() == []


def test_words_of_past_texts_are_found_before_and_after_the_job(
    memory: MemSense, database_url: str
) -> None:
    memory.settings.set(history="on")
    stored = [remember(memory, text) for text in TEXTS]
    with psycopg.connect(database_url, autocommit=True) as connection:
        [then] = connection.execute("SELECT clock_timestamp()").fetchone() or [None]
        for number, chunk_id in enumerate(stored):
            memory.update(chunk_id, content=f"Replaced by number {number}.")
        make_former(connection)
        for is_done in (False, True):
            if is_done:
                memory.jobs.run()
                assert find(memory, "zuege koeln", user_id="ada", as_of=then)[0] == next(
                    iter(TEXTS)
                )
            for text, question in TEXTS.items():
                assert find(memory, question, user_id="ada", as_of=then)[0] == text
                assert text not in find(memory, question)
        assert_counted(connection)
        left = "SELECT chunk ->> 'user_text' FROM memsense.past_chunks WHERE chunk ->> 'tsv' <> ''"
        assert {text for (text,) in connection.execute(left)} >= {*TEXTS}
