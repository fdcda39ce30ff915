"""Sets of questions: labels of memories, and what other constants do to all questions."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from traced import fill

from memsense import MemSense
from memsense.client.questions import Figures, LabelledQuestion
from memsense.errors import InvalidInputError, NotFoundError
from memsense.explain.replay import ListedHit

QUESTION = "apple and river tea"


@pytest.fixture
def filled(memory: MemSense) -> MemSense:
    """Add six sessions of ada's and two of bob's."""
    fill(memory, sessions=6, mode="turn")
    fill(memory, user_id="bob", sessions=2, mode="turn")
    return memory


def ids_of(memory: MemSense, user_id: str = "ada") -> list[int]:
    return [hit.chunk_id for hit in memory.search(QUESTION, user_id=user_id, top_k=10)]


def test_a_label_is_replaced_removed_and_belongs_to_its_question_user_and_set(
    filled: MemSense,
) -> None:
    questions, [one, other, *_] = filled.questions, ids_of(filled)
    assert questions.sets() == []
    assert questions.list() == []
    questions.label(QUESTION, one, right=False, user_id="ada")
    # Blanks do not make another question.
    questions.label(f"  {QUESTION.replace(' ', '  ')}", one, right=True, user_id="ada")
    questions.label(QUESTION, other, right=False, user_id="ada")
    questions.label(QUESTION, one, right=False)
    questions.label("tea?", one, right=True, user_id="ada", set_name="mine")
    assert questions.labels(QUESTION, user_id="ada") == {one: True, other: False}
    assert questions.labels(QUESTION) == {one: False}
    assert [item.as_dict() for item in questions.list("mine")] == [
        {"question": "tea?", "user_id": "ada", "labels": [{"chunk_id": one, "right": True}]}
    ]
    assert [(it.name, it.questions, it.labels) for it in questions.sets()] == [
        ("mine", 1, 1),
        ("questions", 2, 3),
    ]
    questions.unlabel(QUESTION, other, user_id="ada")
    assert questions.labels(QUESTION, user_id="ada") == {one: True}
    assert questions.remove(QUESTION, user_id="ada") == 1
    assert questions.remove(QUESTION, user_id="ada") == 0
    assert [item.user_id for item in questions.list()] == [None]


def test_a_memory_that_is_missing_or_another_user_s_gets_no_label(filled: MemSense) -> None:
    with pytest.raises(NotFoundError):
        filled.questions.label(QUESTION, 10**9, right=True)
    with pytest.raises(InvalidInputError, match="is not of user 'ada'"):
        filled.questions.label(QUESTION, ids_of(filled, "bob")[0], right=True, user_id="ada")
    with pytest.raises(InvalidInputError, match="up to 100 printable characters"):
        filled.questions.label(QUESTION, ids_of(filled)[0], right=True, set_name="x" * 101)
    assert filled.questions.sets() == []


def test_labels_are_erased_with_their_memory_s_session_and_user(filled: MemSense) -> None:
    first, last = ids_of(filled)[0], ids_of(filled)[-1]
    sessions = {it: filled.get(it).session_id for it in (first, last)}
    assert sessions[first] != sessions[last]
    for chunk_id in (first, last, ids_of(filled, "bob")[0]):
        filled.questions.label(QUESTION, chunk_id, right=True)
    filled.erase(user_id="ada", session_id=sessions[first])
    assert first not in filled.questions.labels(QUESTION)
    assert len(filled.questions.labels(QUESTION)) == 2
    filled.erase(user_id="ada")
    assert len(filled.questions.labels(QUESTION)) == 1


def test_a_set_is_asked_with_two_rankings_and_nothing_is_recorded(filled: MemSense) -> None:
    questions = {"ada": ["apple and river tea", "a garden by the river"], "bob": ["apple"]}
    overrides = {"lexical": 0.0, "vec_full": 5.0}
    labels: dict[tuple[str, str], int] = {}
    for user_id, own in questions.items():
        for question in own:
            labels[user_id, question] = ids_of(filled, user_id)[1]
            filled.questions.label(question, labels[user_id, question], right=True, user_id=user_id)
    result = filled.questions.compare(overrides=overrides, top_k=5)
    assert len(result.questions) == 3
    for item in result.questions:
        place = item.entry.user_id or "", item.entry.question
        for hits, changed in ((item.before, {}), (item.after, overrides)):
            expected = filled.search(
                item.entry.question, user_id=place[0], top_k=5, overrides=changed, trace=False
            )
            assert [hit.chunk_id for hit in hits] == [hit.chunk_id for hit in expected]
        ids = [hit.chunk_id for hit in item.before]
        right = labels[place]
        assert item.first_right[0] == (ids.index(right) + 1 if right in ids else None)
        assert {move.chunk_id for move in item.moves} == {
            hit.chunk_id for hit in (*item.before, *item.after)
        }
    assert filled.traces.list() == []
    with pytest.raises(NotFoundError):
        filled.questions.compare(after="balancd")


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 8), unique=True, max_size=8),
            st.dictionaries(st.integers(1, 8), st.booleans()),
        ),
        max_size=4,
    )
)
def test_the_figures_are_means_over_questions_with_a_right_memory(
    cases: list[tuple[list[int], dict[int, bool]]],
) -> None:
    k = 5
    rankings = [
        (
            LabelledQuestion(question=f"q{number}", user_id=None, labels=labels),
            [
                ListedHit(rank=rank, chunk_id=it, candidate_id=it, score=1 / rank, parts={})
                for rank, it in enumerate(ids, 1)
            ],
        )
        for number, (ids, labels) in enumerate(cases)
    ]
    figures = Figures.of(rankings, k)
    recalls: list[float] = []
    reciprocals: list[float] = []
    gains: list[float] = []
    for ids, labels in cases:
        right = [it for it, is_right in labels.items() if is_right]
        if not right:
            continue
        ranks = [ids.index(it) + 1 for it in right if it in ids]
        recalls.append(sum(rank <= k for rank in ranks) / len(right))
        reciprocals.append(1 / min(ranks) if ranks else 0)
        best = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(right), k) + 1))
        gains.append(sum(1 / math.log2(rank + 1) for rank in ranks if rank <= k) / best)
    for figure, values in (
        (figures.recall, recalls),
        (figures.reciprocal_rank, reciprocals),
        (figures.ndcg, gains),
    ):
        assert figure == pytest.approx(sum(values) / len(values) if values else 0)
