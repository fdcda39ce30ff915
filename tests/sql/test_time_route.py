"""The route `time` and the term `inside`, compared with a computation of their own."""

from collections.abc import Callable, Generator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.search.hits import Hit, SearchResult
from memsense.search.profiles import BALANCED, ROUTES, Profile
from memsense.search.question import Question, analyse_question
from memsense.search.recall import time as route
from memsense.search.recall.optional import ask_optional

OpenMemory = Callable[..., MemSense]

NEW_YORK = ZoneInfo("America/New_York")
ASKED_AT = datetime(2024, 4, 20, 12, tzinfo=NEW_YORK)
WORDS = "walk harbour park bridge market kayak tea violin door winter".split()
TIME_ALONE = BALANCED.override(
    name="time",
    **{**dict.fromkeys(ROUTES, 0.0), "time": 1.0, "vec_full": 0.001, "lexical": 0.001},
    rrf_weight=1.0,
    min_sessions=0,
    mmr_lambda=1.0,
    duplicate_threshold=2.0,
    **dict.fromkeys(("date_weight", "inside_weight", "inside_alone_weight"), 0.0),
    **dict.fromkeys(("tokens_weight", "tokens_speaker_weight", "tokens_around_weight"), 0.0),
    **dict.fromkeys(("tokens_session_weight", "tokens_whole_weight", "current_weight"), 0.0),
)
SHORT = TIME_ALONE.override(list_depth=1, candidate_factor=1, least_candidates=20,
                            least_route_limit=20)  # fmt: skip


def tell(memory: MemSense, user_id: str, moments: Sequence[datetime], **options: Any) -> None:
    """Store an exchange of a few words for each moment; a naive one has no known zone."""
    messages: list[dict[str, Any]] = []
    for number, at in enumerate(moments):
        said = " ".join(WORDS[(number * step + 1) % len(WORDS)] for step in (1, 3, 7))
        text = f"Entry {number}: {said}."
        messages.append({"role": "user", "content": text, "at": at.isoformat()})
        messages.append({"role": "assistant", "content": "Noted.", "at": at.isoformat()})
    memory.add(messages, user_id=user_id, **options)


def days_apart(count: int, first: datetime, step: timedelta) -> list[datetime]:
    return [first + number * step for number in range(count)]


@pytest.fixture(scope="module")
def diary(module_database_url: str) -> Generator[MemSense]:
    """Yield the diaries of two people from February to May, every third entry without a zone."""
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as memory:
        memory.settings.set(history="on")
        first = datetime(2024, 2, 20, 3, 30, tzinfo=UTC)
        for user_id, step in (("ada", timedelta(hours=37)), ("ben", timedelta(hours=91))):
            moments = [
                at if number % 3 else at.replace(tzinfo=None)
                for number, at in enumerate(days_apart(48, first, step))
            ]
            for part in range(0, 48, 6):
                options = {"session_id": f"s{part}", "tags": ["kept"] if part % 12 else []}
                tell(memory, user_id, moments[part : part + 6], **options)
        yield memory


def day_in_new_york(hit: Hit) -> date | None:
    chunk = hit.chunk
    if chunk.occurred_at is None:
        return None
    zone = NEW_YORK if chunk.occurred_zone_known else UTC
    return chunk.occurred_at.astimezone(zone).date()


def ranked(result: SearchResult) -> list[int]:
    """Return the chunks that the route found, by their ranks, which have no gaps."""
    found = {
        part.rank: hit.explain.chunk_id
        for hit in result
        for part in hit.explain.routes
        if part.route == "time"
    }
    assert sorted(found) == [*range(1, len(found) + 1)]
    return [found[rank] for rank in sorted(found)]


def ask(
    memory: MemSense, question: str, profile: Profile = TIME_ALONE, **options: Any
) -> SearchResult:
    given: dict[str, Any] = {
        "user_id": "ada",
        "asked_at": ASKED_AT,
        "timezone": str(NEW_YORK),
        "top_k": 50,
    }
    return memory.search(question, profile=profile, **{**given, **options})


MARCH = (date(2024, 3, 1), date(2024, 3, 31))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tags": ["kept"]},
        {"user_id": None, "all_users": True},
        {"since": datetime(2024, 3, 10, tzinfo=UTC)},
        {"as_of": True},
    ],
    ids=["plain", "tags", "all users", "since", "as of"],
)
def test_the_route_ranks_the_memories_of_a_month_by_meaning_and_words(
    diary: MemSense, options: dict[str, Any]
) -> None:
    if options.get("as_of"):
        options = {"as_of": datetime.now(UTC)}
    everything = ask(diary, "walk harbour", top_k=100, **options)
    inside = {
        hit.explain.chunk_id
        for hit in everything
        if (day := day_in_new_york(hit)) and MARCH[0] <= day <= MARCH[1]
    }
    assert 4 < len(inside) < len(everything)
    result = ask(diary, "Did I walk to the harbour in March 2024?", **options)
    found = ranked(result)
    assert set(found) == inside
    scores: dict[int, dict[str, float]] = {
        hit.explain.chunk_id: {part.route: part.score for part in hit.explain.routes}
        for hit in result
    }
    most = max(scores[key].get("lexical", 0.0) for key in found)
    expected = {
        key: (1 + max(own.get("vec_full", 0.0), 0.0) + own.get("lexical", 0.0) / most) / 3
        for key in found
        for own in [scores[key]]
    }
    assert {key: scores[key]["time"] for key in found} == pytest.approx(expected, abs=1e-6)
    assert found == sorted(found, key=lambda key: (-scores[key]["time"], key))
    for hit in result:
        parts = [part.contribution for part in (*hit.explain.routes, *hit.explain.terms)]
        assert sum(parts) == pytest.approx(hit.score, abs=1e-9)


def test_sessions_are_found_by_their_exchanges_of_the_time(diary: MemSense) -> None:
    result = ask(diary, "Did I walk to the harbour in March 2024?", granularity="session", top_k=8)
    first = [day_in_new_york(hit) for hit in result[:3]]
    assert all(day and day <= MARCH[1] for day in first)


def test_where_nothing_else_is_asked_memories_come_in_their_order(diary: MemSense) -> None:
    result = ask(diary, "What did I do in March 2024?")
    times = {hit.explain.chunk_id: hit.chunk.occurred_at for hit in result}
    found = [times[key] for key in ranked(result)]
    assert len(found) > 10
    assert found == sorted(found, key=lambda at: at or ASKED_AT)


def test_nothing_behind_the_time_of_asking_is_found(diary: MemSense) -> None:
    def found(question: str) -> set[date | None]:
        result = ask(diary, question)
        keys = set(ranked(result))
        return {day_in_new_york(hit) for hit in result if hit.explain.chunk_id in keys}

    april = found("Where did I walk in April 2024?")
    assert april
    assert max(filter(None, april)) <= ASKED_AT.date()
    assert max(filter(None, found("Where did I walk this year?"))) <= ASKED_AT.date()


def test_a_long_time_is_thinned_evenly_where_nothing_else_is_asked(diary: MemSense) -> None:
    options: dict[str, Any] = {"asked_at": datetime(2024, 12, 1, tzinfo=UTC), "user_id": "ben"}
    everything = ask(diary, "walk", **options)
    times = sorted(hit.chunk.occurred_at for hit in everything if hit.chunk.occurred_at)
    result = ask(diary, "What did I do in 2024?", SHORT, top_k=20, **options)
    own = {hit.explain.chunk_id: hit.chunk.occurred_at for hit in result}
    found = [own[key] for key in ranked(result)]
    # Of each two or three memories that follow one another, one is found.
    places = [times.index(at) for at in found if at]
    assert len(places) == 20
    steps = [after - before for before, after in pairwise(places)]
    assert set(steps) <= {2, 3}
    assert times[0] in found[:1] or places[0] <= 2
    assert places[-1] == len(times) - 1


def test_of_more_memories_than_are_read_those_with_its_words_are_found(
    diary: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route, "DEPTH", 4)
    result = ask(diary, "Did I kayak in March 2024?")
    in_march = [hit for hit in result if (day := day_in_new_york(hit)) and day.month == 3]
    in_march.sort(key=lambda hit: hit.chunk.occurred_at or ASKED_AT, reverse=True)
    newest = {hit.explain.chunk_id for hit in in_march[:4]}
    by_words = {
        hit.explain.chunk_id
        for hit in in_march
        if any(part.route == "lexical" for part in hit.explain.routes)
    }
    assert newest < newest | by_words < {hit.explain.chunk_id for hit in in_march}
    assert set(ranked(result)) == newest | by_words


def test_chunks_may_be_asked_for_by_their_ids(
    diary: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    [other, *_] = ask(diary, "tea", asked_at=datetime(2024, 2, 25, tzinfo=UTC))
    question = "Did I walk on 3 March 2024?"
    before = ranked(ask(diary, question))
    assert other.explain.chunk_id not in before
    plain = route.TimeRoute.ask

    def with_ids(self: route.TimeRoute, question: Question) -> Any:
        values = plain(self, question)
        return values and {**values, "time_chunk_ids": [other.explain.chunk_id]}

    monkeypatch.setattr(route.TimeRoute, "ask", with_ids)
    assert set(ranked(ask(diary, question))) == {*before, other.explain.chunk_id}


def test_a_question_without_a_time_has_the_same_hits_and_the_same_statement(
    diary: MemSense,
) -> None:
    for question in ("Where did I walk?", "May I have tea?", "What is CVE-2024-31337?"):
        assert not ask_optional(analyse_question(question, asked_at=ASKED_AT), BALANCED)
        answers = [
            [(hit.chunk_id, hit.score) for hit in ask(diary, question, BALANCED, overrides=changes)]
            for changes in ({}, {"time": 0, "inside_weight": 0, "inside_alone_weight": 0})
        ]
        assert answers[0] == answers[1] != []


@pytest.mark.parametrize(
    ("question", "weight", "reason"),
    [
        ("What did I do on 3 March 2024?", 0.3, "it lies in 3 March 2024"),
        ("What did I do in March 2024?", 0.3, "it lies in 1 to 31 March 2024"),
        ("Where did I walk in 2024?", 0.3, "it lies in 1 January to 20 April 2024"),
        ("Where did I walk in March 2024?", None, ""),
    ],
)
def test_memories_inside_a_time_rise_by_its_confidence(
    diary: MemSense, question: str, weight: float | None, reason: str
) -> None:
    terms = [
        [term for term in hit.explain.terms if term.name == "inside"]
        for hit in ask(diary, question, BALANCED)
    ]
    found = [term for each in terms for term in each]
    assert {(term.weight, term.value, term.because) for term in found} == (
        {(weight, 1.0, reason)} if weight else set()
    )


def test_a_time_without_memories_is_noted_with_the_days_beside_it(open_memory: OpenMemory) -> None:
    memory = open_memory()
    moments = [datetime(2024, 3, day, 12, tzinfo=UTC) for day in (1, 9)]
    tell(memory, "ada", moments)

    def notes(question: str, **options: Any) -> list[str]:
        given: dict[str, Any] = {"user_id": "ada", "asked_at": ASKED_AT, **options}
        return [note for note in memory.search(question, **given).notes if note.kind == "time"]

    assert notes("What did I do on 3 March 2024?") == [
        "nothing is stored of 3 March 2024;"
        " the nearest memories are of 1 March 2024 and 9 March 2024"
    ]
    assert notes("What happened in February 2024?") == [
        "nothing is stored of 1 to 29 February 2024; the nearest memory is of 1 March 2024"
    ]
    assert notes("What did I do on 3 March 2024?", asked_at=moments[1] - timedelta(days=1)) == [
        "nothing is stored of 3 March 2024; the nearest memory is of 1 March 2024"
    ]
    assert notes("What did I do on 3 March 2024?", tags=["tea"]) == [
        "nothing that passes the filters is stored of 3 March 2024"
    ]
    assert notes("What did I do on 9 March 2024?") == []
    assert notes("Where did I walk on 3 March 2024?") == []


def test_why_not_says_that_a_memory_lies_outside_the_time(open_memory: OpenMemory) -> None:
    memory = open_memory()
    first = datetime(2024, 4, 1, 9, tzinfo=UTC)
    tell(
        memory,
        "ada",
        [*days_apart(30, first, timedelta(days=1)), datetime(2024, 5, 12, tzinfo=UTC)],
    )
    last = memory.recent(user_id="ada", limit=1)[0]
    verdict = memory.why_not(
        "What did I do in April 2024?",
        last.chunk_id,
        user_id="ada",
        asked_at=datetime(2024, 6, 1, tzinfo=UTC),
        profile=SHORT.override(vec_full=0.01, lexical=0.0),
        top_k=1,
    )
    assert verdict.step == "pool"
    assert verdict.text.startswith("12 May 2024 lies outside 1 to 30 April 2024; it is below")


def test_the_answer_lists_the_times_as_they_were_understood(diary: MemSense) -> None:
    assert ask(diary, "Did I walk last week?").question["intervals"] == [
        {
            "text": "last week",
            "first": "2024-04-08",
            "last": "2024-04-14",
            "reading": "last calendar week",
            "confidence": 1.0,
        }
    ]
    assert "intervals" not in ask(diary, "Did I walk?").question
