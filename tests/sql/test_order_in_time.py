"""Order in time: what came before or after something, the week after it, the last time."""

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.search.hits import SearchResult

ASKED_AT = datetime(2024, 6, 28, 12, tzinfo=UTC)
START = datetime(2024, 4, 1, 9, tzinfo=UTC)

DIARY = {
    "en": [
        "Planted tomatoes behind the shed",
        "Swam forty lengths at the pool",
        "Repaired the bicycle of my nephew",
        "The roof was damaged by the storm",
        "Called the insurance about the tiles",
        "Swam thirty lengths at the pool",
        "Baked bread with rye flour",
        "Swam twenty lengths at the pool",
        "Painted the garden gate green",
    ],
    "de": [
        "Tomaten hinter dem Schuppen gepflanzt",
        "Mit Jonas im Freibad geschwommen",
        "Das Fahrrad vom Neffen repariert",
        "Der Sturm hat das Dach beschädigt",
        "Wegen der Ziegel die Versicherung angerufen",
        "Brot mit Roggenmehl gebacken",
    ],
    "zh": [
        "种了番茄",
        "在泳池游泳",
        "修好了侄子的自行车",
        "暴风雨弄坏了屋顶",
        "给保险公司打了电话",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def diary(module_database_url: str) -> Generator[MemSense]:
    """Yield diaries in three languages, an entry every six days."""
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as memory:
        memory.add_many(
            [
                {
                    "user_id": user_id,
                    "session_id": f"day{number}",
                    "messages": [
                        {"role": "user", "content": text, "at": START + timedelta(days=6 * number)}
                    ],
                }
                for user_id, texts in DIARY.items()
                for number, text in enumerate(texts)
            ]
        )
        yield memory


def ask(memory: MemSense, question: str, user_id: str = "en", **options: object) -> SearchResult:
    given = {"user_id": user_id, "asked_at": ASKED_AT, **options}
    result = memory.search(question, **given)  # pyright: ignore[reportArgumentType]
    for hit in result:
        explain = hit.explain
        parts = [explain.rrf_score * 1.0, *[term.contribution for term in explain.terms]]
        assert explain.final_score == pytest.approx(sum(parts))
    return result


def texts(result: SearchResult) -> list[str]:
    return [hit.chunk.user_text or "" for hit in result]


def terms(result: SearchResult) -> list[dict[str, str]]:
    return [{term.name: term.because for term in hit.explain.terms} for hit in result]


@pytest.mark.parametrize(
    ("user_id", "question", "first"),
    [
        ("en", "What did I note right before the storm damaged the roof?", [2, 1, 0, 3]),
        ("en", "What came right after “The roof was damaged by the storm”?", [4, 5, 6, 3]),
        ("en", "What did I do right after I planted tomatoes?", [1, 2, 3, 0]),
        (
            "de",
            "Was habe ich notiert, bevor „Der Sturm hat das Dach beschädigt“ kam?",
            [2, 1, 0, 3],
        ),
        ("de", "Was kam direkt nach „Der Sturm hat das Dach beschädigt“?", [4, 5, 3]),
        ("zh", "“暴风雨弄坏了屋顶”之前我记了什么？", [2, 1, 0, 3]),
    ],
)
def test_the_neighbours_of_what_is_asked_about_come_first_and_then_itself(
    diary: MemSense, user_id: str, question: str, first: list[int]
) -> None:
    result = ask(diary, question, user_id)
    assert texts(result)[: len(first)] == [DIARY[user_id][number] for number in first]
    anchor = result.hits[len(first) - 1].chunk_id
    side = result.question["order"]["kind"]
    reasons = [it["beside"] for it in terms(result)[: len(first)]]
    expected = [f"{place} {side} chunk {anchor}" for place in range(1, len(first))]
    assert reasons == [*expected, "the question is about it"]
    assert not any("beside" in it for it in terms(result)[len(first) :])


def test_a_week_after_something_is_a_time(diary: MemSense) -> None:
    result = ask(diary, "What did I do the week after the storm damaged the roof?")
    assert texts(result)[0] == DIARY["en"][4]
    assert "time" in [part.route for part in result.hits[0].explain.routes]


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("When did I last swim lengths at the pool?", [7, 5, 1]),
        ("When was the first time that I swam lengths at the pool?", [1, 5, 7]),
    ],
)
def test_the_last_and_the_first_time_are_in_the_order_of_time(
    diary: MemSense, question: str, order: list[int]
) -> None:
    result = ask(diary, question)
    assert texts(result)[:3] == [DIARY["en"][number] for number in order]
    times = [hit.chunk.occurred_at for hit in result if "latest" in dict(terms(result)[0])]
    assert all(one is not None for one in times)
    ordered = [it for it in zip(result, terms(result), strict=True) if "latest" in it[1]]
    assert len(ordered) >= 3
    moments = [hit.chunk.occurred_at for hit, _ in ordered]
    is_last = order[0] > order[-1]
    assert all((a > b) is is_last for a, b in pairwise(moments) if a and b)


def test_a_time_in_the_question_bounds_the_last_time(diary: MemSense) -> None:
    question = "When did I last swim lengths at the pool in April 2024?"
    assert texts(ask(diary, question))[0] == DIARY["en"][1]


def test_nothing_later_than_the_question_is_a_neighbour(diary: MemSense) -> None:
    asked_at = START + timedelta(days=25)
    result = ask(diary, "What came right after the storm?", asked_at=asked_at)
    beside = [
        hit.chunk.user_text for hit, it in zip(result, terms(result), strict=True) if "beside" in it
    ]
    assert beside == [DIARY["en"][4], DIARY["en"][3]]


@pytest.mark.parametrize(
    "question",
    [
        "What came right before Oskar graduated?",  # nothing like it is stored
        "What came right before \u202e\u2066?",  # nothing that can be seen
        "What should I do before I leave?",
        "Who repaired the bicycle?",
    ],
)
def test_a_question_without_order_or_anchor_has_the_hits_that_it_had(
    diary: MemSense, question: str
) -> None:
    off = {"beside_weight": 0.0, "latest_weight": 0.0}
    with_order, without = ask(diary, question), ask(diary, question, overrides=off)
    assert [(it.chunk_id, it.score) for it in with_order] == [
        (it.chunk_id, it.score) for it in without
    ]


def test_two_memories_that_fit_alike_both_have_neighbours(diary: MemSense) -> None:
    twice = [("Met the mayor", 0), ("Bought a lamp", 9), ("Met the mayor", 20), ("Sold a boat", 30)]
    diary.add_many(
        [
            {
                "user_id": "twice",
                "session_id": f"s{days}",
                "messages": [{"role": "user", "content": text, "at": START + timedelta(days=days)}],
            }
            for text, days in twice
        ]
    )
    result = ask(diary, "What came right after I met the mayor?", "twice")
    assert set(texts(result)[:2]) == {"Bought a lamp", "Sold a boat"}
    [note] = [note for note in result.notes if note.kind == "time"]
    assert note.startswith("the question may be about chunk ")


def test_a_replay_finds_the_same_neighbours(diary: MemSense) -> None:
    result = ask(diary, "What did I note right before the storm damaged the roof?", trace=True)
    diary.traces.flush()
    assert result.trace_id is not None
    assert diary.traces.replay(result.trace_id).is_unchanged
