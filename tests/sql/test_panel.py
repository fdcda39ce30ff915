"""The panel's sets in a database: stored once, asked, and ranked plainly."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.panel_asking import OWN, Addition, Answer, Way, ask_all, check_stored, make_tasks
from benchmarks.panel_sets import PanelSet, find_sets
from benchmarks.panel_storing import store_set
from memsense import PROFILES, MemSense
from memsense.errors import EvaluationError

TEXTS = {
    "mon": ["My sister keeps bees on the roof.", "How many hives does she have?"],
    "tue": ["The new bicycle has a flat tyre.", "A patch costs two euros."],
    "wed": ["My sister sold all of her bees.", "That must have been hard."],
}
DAYS = {"mon": "2026-03-02", "tue": "2026-03-03", "wed": "2026-03-04"}


def session(name: str) -> dict[str, Any]:
    turns = [
        {"id": f"{name}:{number}", "role": role, "speaker": role, "text": text}
        for number, (role, text) in enumerate(zip(("user", "assistant"), TEXTS[name], strict=True))
    ]
    return {"id": name, "timestamp": f"{DAYS[name]}T09:00:00", "turns": turns}


def question(question_id: str, text: str, *gold: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": question_id,
        "text": text,
        "answerable": bool(gold),
        "gold_ok": bool(gold),
        "gold_turn_ids": gold,
        **changes,
    }


@pytest.fixture
def bees(tmp_path: Path) -> PanelSet:
    """Return a set of one memory of three sessions."""
    memory = {
        "conversation_id": "ines",
        "sessions": [session(name) for name in TEXTS],
        "questions": [
            question("roof", "Who keeps bees on the roof?", "mon:0"),
            question("tyre", "What happened to the bicycle?", "tue:1"),
            question("late", "Who sold the bees?", "wed:0"),
            question("early", "Who sold the bees?", "mon:0", before_session="wed"),
            question("silence", "Convert 72 Fahrenheit to Celsius.", want_silence=True),
        ],
    }
    (tmp_path / "bees.jsonl.gz").write_bytes(gzip.compress(json.dumps(memory).encode()))
    return find_sets(tmp_path, tmp_path / "none", tmp_path / "none")["bees"]


def ask(url: str, panel_set: PanelSet, **changes: Any) -> dict[str, Answer | Addition]:
    way = Way(url=url, prefix="test", profiles={OWN: PROFILES["balanced"].as_dict()}, **changes)
    sets = [(panel_set, panel_set.read())]
    check_stored(url, "test", sets)
    tasks = make_tasks(sets, "test")
    return {result.question_id: result for result in ask_all(way, tasks, 1, lambda: None)}


def best_ranks(results: dict[str, Answer | Addition], system: str) -> dict[str, int | None]:
    return {
        name: result.rankings[system].best
        for name, result in results.items()
        if isinstance(result, Answer)
    }


def test_a_set_is_stored_once_and_again_if_asked(database_url: str, bees: PanelSet) -> None:
    rows = [store_set(database_url, bees, prefix="test") for _ in range(2)]
    rows.append(store_set(database_url, bees, prefix="test", again=True))
    assert [(row.memories, row.chunks) for row in rows] == [(1, 3)] * 3
    assert [row.new_chunks for row in rows] == [3, 0, 3]
    assert rows[0].processor_s > 0
    with MemSense.open(database_url, namespace="test-bees") as memory:
        days = {
            chunk.session_id: chunk.occurred_at.date().isoformat()
            for chunk in memory.list(user_id="ines")
            if chunk.occurred_at
        }
    assert days == DAYS


def test_sessions_that_are_missing_are_stored(database_url: str, bees: PanelSet) -> None:
    store_set(database_url, bees, prefix="test")
    with MemSense.open(database_url, namespace="test-bees") as memory:
        memory.erase(user_id="ines", session_id="tue")
    assert store_set(database_url, bees, prefix="test").new_chunks == 1


def test_questions_find_their_gold_but_not_what_was_not_there_yet(
    database_url: str, bees: PanelSet
) -> None:
    store_set(database_url, bees, prefix="test")
    results = ask(database_url, bees, prompt_tokens=300)
    ranks = best_ranks(results, OWN)
    in_prompts = {"roof": 1, "tyre": 1, "late": 1, "early": 1}
    assert best_ranks(results, "prompt of 300") == in_prompts
    # The same question finds the last session where it is there.
    assert (ranks["tyre"], ranks["late"], ranks["early"]) == (1, 1, 1)
    silence = results["silence"]
    assert isinstance(silence, Addition)
    assert silence.characters == 0


def test_an_empty_memory_is_no_result(database_url: str, bees: PanelSet) -> None:
    with pytest.raises(EvaluationError, match="nothing is stored for ines in namespace test-bees"):
        ask(database_url, bees)


def test_plain_rankings_count_the_same_exchanges(database_url: str, bees: PanelSet) -> None:
    for name in ("bm25s", "Stemmer"):
        pytest.importorskip(name, reason="needs bm25s and PyStemmer: make bench-quick")
    store_set(database_url, bees, prefix="test")
    results = ask(database_url, bees, with_plain=True)
    for system in ("BM25", "cosine", "RRF60"):
        ranks = best_ranks(results, system)
        assert (ranks["roof"], ranks["late"], ranks["early"]) == (1, 1, 1)
    assert best_ranks(results, "cosine")["tyre"] == 1


def test_a_timed_search_has_its_processor_time(database_url: str, bees: PanelSet) -> None:
    store_set(database_url, bees, prefix="test")
    results = ask(database_url, bees, is_timed=True)
    for result in results.values():
        if isinstance(result, Answer):
            assert result.seconds[OWN] > 0


def test_a_log_is_stored_whole_and_again_if_asked(database_url: str, tmp_path: Path) -> None:
    sample = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ines",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "I bought nine hives."},
                {"speaker": "Ines", "dia_id": "D1:2", "text": "Where will they stand?"},
            ],
        },
        "qa": [{"question": "What did Ada buy?", "evidence": ["D1:1"], "category": 1}],
    }
    path = tmp_path / "locomo10.json"
    path.write_text(json.dumps([sample]))
    half = find_sets(tmp_path, path, tmp_path / "none")["locomo-0-4"]
    first, second = (store_set(database_url, half, prefix="test") for _ in range(2))
    again = store_set(database_url, half, prefix="test", again=True)
    assert first.set == "locomo"
    assert first.chunks == first.new_chunks > 0
    assert (second.chunks, second.new_chunks) == (first.chunks, 0)
    assert again.chunks == again.new_chunks == first.chunks
    assert best_ranks(ask(database_url, half), OWN) == {"conv-1/0": 1}
