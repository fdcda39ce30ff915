"""Custom gold sets: accepted and refused files, stored once."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from memsense.client.memory import MemSense
from memsense.errors import EvaluationError
from memsense.evaluation import (
    evaluate,
    gold_namespace,
    gold_set,
    ingest_gold,
    read_gold,
    summarise,
)
from memsense.evaluation.variants import BM25
from memsense.search.profiles import BALANCED


def turn(identity: str, role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"id": identity, "role": role, "content": content, **more}


def conversation(identity: str = "ada", **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "conversation_id": identity,
        "sessions": [
            {
                "session_id": "monday",
                "at": "2024-03-04T09:00:00+01:00",
                "turns": [
                    turn("m1", "user", "I moved to Lisbon last week."),
                    turn("m2", "assistant", "How do you like the city?"),
                    turn("m3", "user", "The trams are wonderful."),
                ],
            },
            {
                "session_id": "tuesday",
                "turns": [
                    turn("t1", "user", "My cello needs new strings.", at="2024-03-05T10:00:00"),
                    turn("t2", "assistant", "Steel or gut?", at="2024-03-05T10:01:00"),
                    turn("t3", "tool", "Searching shops"),
                ],
            },
        ],
        "questions": [
            {"question": "Where does Ada live?", "gold": ["m1"], "category": "place"},
            {"id": "music", "question": "Which instrument does she play?", "gold": ["t1", "t2"]},
            {"question": "What is her shoe size?", "gold": []},
        ],
    }
    return {**given, **changes}


def write(path: Path, *lines: object) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


@pytest.fixture
def gold_file(tmp_path: Path) -> Path:
    return write(tmp_path / "gold.jsonl", conversation(), "", conversation("bob"))


def test_questions_get_the_sessions_of_their_gold_turns(gold_file: Path) -> None:
    gold = gold_set(read_gold(gold_file)[:1], "gold")
    assert [item.question_id for item in gold.questions] == ["ada/0", "music"]
    assert gold.questions[0].category == "place"
    assert gold.questions[1].gold_messages == {"t1", "t2"}
    assert gold.questions[1].gold_sessions == {"tuesday"}


def test_questions_without_gold_are_counted_as_skipped(tmp_path: Path) -> None:
    questions: list[dict[str, Any]] = [
        {"question": "a", "gold": ["m1"], "split": "dev"},
        {"question": "b", "gold": [], "split": "test"},
        {"question": "c", "gold": []},
    ]
    path = write(tmp_path / "gold.jsonl", conversation(questions=questions))
    gold = gold_set(read_gold(path), "gold")
    assert gold.skipped == {"test": 1, "": 1}
    assert gold.splits == ("dev", "test")


def test_two_questions_with_one_id_are_refused(gold_file: Path) -> None:
    with pytest.raises(EvaluationError, match="question id 'music'"):
        gold_set(read_gold(gold_file), "gold")


def test_a_set_without_any_gold_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "gold.jsonl", conversation(questions=[]))
    with pytest.raises(EvaluationError, match="no question has gold"):
        gold_set(read_gold(path), "gold")


def test_numbers_are_taken_for_ids_and_a_byte_order_mark_for_nothing(tmp_path: Path) -> None:
    line = {
        "conversation_id": 7,
        "sessions": [{"session_id": 1, "turns": [{"id": 2, "role": "user", "content": "Hello"}]}],
        "questions": [{"question": "What?", "gold": [2]}],
    }
    path = write(tmp_path / "gold.jsonl", "\ufeff" + json.dumps(line))
    gold = gold_set(read_gold(path), "gold")
    assert gold.questions[0].gold_messages == {"2"}
    assert gold.questions[0].user_id == "7"


def sessions(*turns: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"session_id": "s", "turns": list(turns)}]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: "),
        ("[]", "line 2: "),
        ({"conversation_id": "x"}, "line 2: sessions: Field required"),
        (conversation("ada"), "line 2: conversation_id 'ada' was on line 1"),
        (conversation("x", conversation_id=" "), "line 2: conversation_id"),
        (conversation("x", sessions=sessions()), "no turn of a user"),
        (conversation("x", sessions=sessions(turn("a", "robot", "Hi"))), r"sessions\.0\.turns\.0"),
        (
            conversation("x", sessions=sessions(turn("a", "user", "1"), turn("a", "user", "2"))),
            "turn id 'a' is there more than once",
        ),
        (conversation("x", questions=[{"question": "?"}]), r"questions\.0\.gold: Field required"),
        (conversation("x", questions=[{"question": "?", "gold": ["zz"]}]), "gold that is no turn"),
        (conversation("x", questions=[{"question": "?", "gold": ["t3"]}]), "gold that is no turn"),
        (
            conversation("x", questions=[{"question": "?", "gold": ["m1"], "asked_at": "soon"}]),
            "asked_at",
        ),
    ],
)
def test_an_unusable_line_is_named_with_what_is_wrong(
    tmp_path: Path, line: object, message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        read_gold(write(tmp_path / "gold.jsonl", conversation(), line))


def test_an_empty_or_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="holds no conversation"):
        read_gold(write(tmp_path / "empty.jsonl", ""))
    with pytest.raises(EvaluationError, match="can't be read"):
        read_gold(tmp_path / "missing.jsonl")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(EvaluationError, match="can't be read"):
        read_gold(tmp_path / "binary.jsonl")


def test_another_content_or_embedder_has_another_namespace(tmp_path: Path) -> None:
    one = write(tmp_path / "my set (v2).jsonl", conversation())
    name = gold_namespace(one)
    assert name.startswith("eval-my-set-v2--")
    assert gold_namespace(one) == name
    assert gold_namespace(one, "openai") != name
    write(one, conversation("bob"))
    assert gold_namespace(one) != name
    with pytest.raises(EvaluationError, match="can't be read"):
        gold_namespace(tmp_path / "missing.jsonl")


@pytest.fixture
def memory(database_url: str) -> Generator[MemSense]:
    with MemSense.open(database_url, namespace="eval-test") as opened:
        yield opened


def test_what_is_shown_beside_a_hit_is_measured_apart(memory: MemSense, tmp_path: Path) -> None:
    asked = [turn("1", "user", "When does the ferry leave?"), turn("2", "assistant", "At noon.")]
    slept = [turn("3", "user", "I slept badly."), turn("4", "assistant", "I'm sorry.")]
    stored = [{"session_id": "monday", "turns": [*asked, *slept]}]
    questions = [{"question": "the ferry", "gold": ["3"]}]
    line = conversation("eve", sessions=stored, questions=questions)
    conversations = read_gold(write(tmp_path / "gold.jsonl", line))
    ingest_gold(memory, conversations)
    [result] = evaluate(memory, gold_set(conversations, "gold"), profile=BM25)
    # By words alone it is no hit, but it is shown beside one.
    assert (result.turn["recall@5"], result.turn["recall@20"]) == (0, 0)
    assert (result.turn["shown@5"], result.turn["shown@20"]) == (1, 1)


def test_a_gold_set_is_stored_exactly_once_and_measured(memory: MemSense, tmp_path: Path) -> None:
    people = conversation(
        "bob",
        sessions=sessions(
            turn("1", "other", "The ferry leaves at noon.", name="Bob"),
            turn("2", "other", "Then I will pack the tent.", name="Eve"),
        ),
        questions=[{"question": "What will Eve bring?", "gold": ["2"], "split": "people"}],
    )
    conversations = read_gold(write(tmp_path / "gold.jsonl", conversation(), people))
    told: list[int] = []
    assert ingest_gold(memory, conversations[:1]) == 3
    assert ingest_gold(memory, conversations, on_conversation=lambda: told.append(1)) == 1
    assert ingest_gold(memory, conversations) == 0
    assert len(told) == 2
    assert {found.user_id: found.turns for found in memory.stats()} == {"ada": 3, "bob": 1}

    gold = gold_set(conversations, "gold")
    results = evaluate(memory, gold, profile=BALANCED)
    assert [set(result.gold_sessions) for result in results] == [{"monday"}, {"tuesday"}, {"s"}]
    assert all(result.turn["recall@5"] == 1 for result in results)
    assert all(result.session["recall@3"] == 1 for result in results)
    summary = summarise(results, gold, "balanced")
    assert set(summary["splits"]) == {"all", "people"}
    assert summary["splits"]["all"]["questions"] == 3
    assert summary["splits"]["all"]["skipped"] == 1


def test_times_and_speakers_of_turns_are_stored(memory: MemSense, tmp_path: Path) -> None:
    ingest_gold(memory, read_gold(write(tmp_path / "gold.jsonl", conversation())))
    stored = {chunk.message_ids[0]: chunk for chunk in memory.recent(user_id="ada")}
    assert stored["m3"].occurred_at is not None
    assert stored["m3"].occurred_at.isoformat() == "2024-03-04T08:00:00+00:00"
    assert stored["t1"].occurred_at is not None
    assert not stored["t1"].occurred_zone_known
    assert list(stored["t1"].message_ids) == ["t1", "t2"]


def test_questions_and_gold_never_reach_the_store(memory: MemSense, tmp_path: Path) -> None:
    ingest_gold(memory, read_gold(write(tmp_path / "gold.jsonl", conversation())))
    texts = " ".join(chunk.content for chunk in memory.recent(user_id="ada", limit=50))
    assert "Lisbon" in texts
    assert "Where does Ada live" not in texts


def test_an_unstored_gold_set_cannot_be_measured(memory: MemSense, tmp_path: Path) -> None:
    gold = gold_set(read_gold(write(tmp_path / "gold.jsonl", conversation())), "gold")
    with pytest.raises(EvaluationError, match="nothing is stored for ada"):
        evaluate(memory, gold, profile=BALANCED)
