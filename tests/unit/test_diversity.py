"""Choice of hits and its limits, compared with their definition in plain Python."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.search.explanation import Selection
from memsense.search.profiles import Profile
from memsense.search.question import Question
from memsense.search.rank.choose import Ranked, Ranking, rank_candidates
from memsense.search.recall.candidates import Candidate, Candidates, RouteHit

LIMITS = st.tuples(st.integers(0, 4), st.integers(0, 4))

# Unit vectors whose inner products are exact in floating point: multiples of a half.
DIRECTIONS = [np.array(signs, np.float32) / np.float32(2) for signs in product((-1, 1), repeat=4)]

PLAIN = Profile(name="plain", weights={"vec_full": 1.0})


def make_candidate(
    chunk_id: int, session_id: str, rank: int, vector: int | None = None, tags: Sequence[str] = ()
) -> Candidate:
    return Candidate(
        chunk_id=chunk_id,
        rrf_score=1 / (PLAIN.rrf_k + rank),
        routes=(RouteHit("vec_full", rank, 0.5),),
        scope_id=1,
        granularity="turn",
        session_id=session_id,
        ordinal=chunk_id,
        part=0,
        memory_score=0.5,
        tags=frozenset(tags),
        occurred_at=None,
        user_speaker=None,
        assistant_speaker=None,
        embedding=None if vector is None else DIRECTIONS[vector],
    )


@st.composite
def candidate_lists(draw: st.DrawFn) -> list[Candidate]:
    return [
        make_candidate(
            chunk_id,
            draw(st.sampled_from(["s0", "s1", "s2", "s3"])),
            draw(st.integers(1, 40)),
            draw(st.sampled_from([None, 0, 1, 2, 3, 4])),
            draw(st.lists(st.sampled_from("abc"), max_size=2)),
        )
        for chunk_id in range(1, draw(st.integers(0, 12)) + 1)
    ]


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    return PLAIN.override(
        mmr_lambda=draw(st.sampled_from([0.0, 0.5, 0.78, 1.0])),
        relevance=draw(st.sampled_from(["normalised", "raw"])),
        duplicate_threshold=draw(st.sampled_from([0.94, 0.5, 2.0])),
    )


def limited(profile: Profile, limits: tuple[int, int]) -> Profile:
    most, least = limits
    return profile.override(max_per_session=most, min_sessions=least)


def step_of(item: Ranked) -> Selection:
    assert item.selection is not None
    return item.selection


def sessions_of(found: Sequence[Ranked]) -> Counter[str]:
    return Counter(item.candidate.session_id for item in found)


def greedy(
    order: Sequence[Ranked], profile: Profile, top_k: int, least_score: float = -math.inf
) -> list[int]:
    """Compute greedy MMR over entries by score, with each limit as it is documented."""
    most, least = profile.max_per_session or top_k, profile.min_sessions
    scores = [item.final_score for item in order]
    spread = max(scores) - min(scores) if scores else 0.0
    chosen: list[Ranked] = []
    left = [item for item in order if item.final_score >= least_score]
    least = min(least, len({item.candidate.session_id for item in left}))

    def relevance(item: Ranked) -> float:
        if profile.relevance == "raw":
            return item.final_score
        return (item.final_score - min(scores)) / spread if spread > 0 else 1.0

    def redundancy(item: Ranked) -> float:
        return max((closeness(item.candidate, c.candidate, profile) for c in chosen), default=0.0)

    def value(item: Ranked) -> float:
        lam = profile.mmr_lambda
        return lam * relevance(item) - (1 - lam) * redundancy(item) if chosen else relevance(item)

    while len(chosen) < top_k:
        counts = sessions_of(chosen)
        open_to = [item for item in left if counts[item.candidate.session_id] < most]
        if len(counts) < least:
            open_to = [item for item in open_to if not counts[item.candidate.session_id]]
        if not open_to:
            break
        fresh = [item for item in open_to if redundancy(item) < profile.duplicate_threshold]
        chosen.append(max(fresh or open_to, key=value))
        left.remove(chosen[-1])
    return [item.candidate.chunk_id for item in chosen]


def closeness(one: Candidate, other: Candidate, profile: Profile) -> float:
    cosine = 0.0
    if one.embedding is not None and other.embedding is not None:
        cosine = float(one.embedding @ other.embedding)
    union = one.tags | other.tags
    overlap = len(one.tags & other.tags) / len(union) if union else 0.0
    return max(cosine, profile.tag_redundancy * overlap, 0.0)


@settings(max_examples=200, deadline=None)
@given(candidate_lists(), profiles(), LIMITS, st.integers(1, 12))
def test_the_choice_within_limits_equals_the_reference(
    candidates: list[Candidate], profile: Profile, limits: tuple[int, int], top_k: int
) -> None:
    chosen = limited(profile, limits)
    everything = rank(candidates, profile, 100).scored
    found = run(candidates, chosen, top_k, sessions=False)
    assert [item.candidate.chunk_id for item in found] == greedy(everything, chosen, top_k)


@settings(max_examples=300, deadline=None)
@given(candidate_lists(), profiles(), LIMITS, st.integers(1, 12), st.integers(0, 12))
def test_candidates_below_the_minimum_score_are_never_chosen(
    candidates: list[Candidate],
    profile: Profile,
    limits: tuple[int, int],
    top_k: int,
    place: int,
) -> None:
    chosen = limited(profile, limits)
    everything = rank(candidates, profile, 100).scored
    least_score = everything[place].final_score if place < len(everything) else 1.0
    ranking = rank(candidates, chosen, top_k, min_score=least_score)
    expected = greedy(everything, chosen, top_k, least_score)
    assert [item.candidate.chunk_id for item in ranking.chosen] == expected
    assert ranking.eligible == sum(item.final_score >= least_score for item in everything)
    free = rank(candidates, chosen, top_k)
    assert [item.final_score for item in ranking.scored] == [
        item.final_score for item in everything
    ]
    assert ranking.relevance.tolist() == free.relevance.tolist()
    enough = {item.candidate.chunk_id for item in everything[: ranking.eligible]}
    assert {step_of(item).passed_over for item in ranking.chosen} <= {None, *enough}
    if ranking.eligible == len(everything):
        assert [(i.candidate.chunk_id, i.selection) for i in ranking.chosen] == [
            (i.candidate.chunk_id, i.selection) for i in free.chosen
        ]


@settings(max_examples=100, deadline=None)
@given(candidate_lists(), st.integers(1, 12), st.integers(0, 12), st.booleans())
def test_by_score_alone_a_least_score_keeps_the_first_hits(
    candidates: list[Candidate], top_k: int, place: int, sessions: bool
) -> None:
    profile = PLAIN.override(mmr_lambda=1.0, duplicate_threshold=2.0)
    free = run(candidates, profile, top_k, sessions=sessions)
    least_score = free[place].final_score if place < len(free) else 1.0
    kept = rank(candidates, profile, top_k, sessions=sessions, min_score=least_score).chosen
    assert [(item.candidate.chunk_id, item.selection) for item in kept] == [
        (item.candidate.chunk_id, item.selection)
        for item in free
        if item.final_score >= least_score
    ]


def test_sessions_that_score_too_little_keep_no_place_free() -> None:
    candidates = [make_candidate(n, "near", n) for n in (1, 2)]
    candidates += [make_candidate(n, f"far{n}", 30 + n) for n in (3, 4)]
    spread = PLAIN.override(min_sessions=3, mmr_lambda=1.0)
    assert [item.candidate.chunk_id for item in run(candidates, spread, 3, sessions=False)] == [
        1, 3, 4,
    ]  # fmt: skip
    least_score = rank(candidates, spread, 3).scored[1].final_score
    found = rank(candidates, spread, 3, min_score=least_score).chosen
    assert [item.candidate.chunk_id for item in found] == [1, 2]


@settings(max_examples=200, deadline=None)
@given(candidate_lists(), profiles(), LIMITS, st.integers(1, 12), st.booleans())
def test_the_limits_hold_whenever_any_choice_can_hold_them(
    candidates: list[Candidate],
    profile: Profile,
    limits: tuple[int, int],
    top_k: int,
    sessions: bool,
) -> None:
    most, least = limits
    found = run(candidates, limited(profile, limits), top_k, sessions=sessions)
    every = rank(candidates, profile, 100, sessions=sessions).scored
    most = most or top_k
    assert max(sessions_of(found).values(), default=0) <= most
    assert len(sessions_of(found)) >= min(least, top_k, len(sessions_of(every)))
    room = sum(min(most, count) for count in sessions_of(every).values())
    assert len(found) == min(top_k, room)


@settings(max_examples=100, deadline=None)
@given(candidate_lists(), profiles(), st.integers(1, 12))
def test_limits_that_nothing_reaches_change_nothing(
    candidates: list[Candidate], profile: Profile, top_k: int
) -> None:
    free = run(candidates, profile, top_k, sessions=False)
    bound = run(candidates, limited(profile, (12, 1)), top_k, sessions=False)
    assert [(item.candidate.chunk_id, item.selection) for item in bound] == [
        (item.candidate.chunk_id, item.selection) for item in free
    ]


@settings(max_examples=100, deadline=None)
@given(candidate_lists(), profiles(), LIMITS, st.integers(1, 12))
def test_each_step_names_the_limit_that_kept_it_from_the_best(
    candidates: list[Candidate], profile: Profile, limits: tuple[int, int], top_k: int
) -> None:
    chosen = limited(profile, limits)
    ranking = rank(candidates, chosen, top_k)
    sessions = {item.candidate.chunk_id: item.candidate.session_id for item in ranking.scored}
    before: Counter[str] = Counter()
    for item in ranking.chosen:
        step = step_of(item)
        assert (step.limited_by is None) == (step.passed_over is None)
        if step.passed_over is not None:
            taken = before[sessions[step.passed_over]]
            if step.limited_by == "max_per_session":
                assert taken >= chosen.max_per_session > 0
            elif step.limited_by == "min_sessions":
                assert taken > 0
                assert item.candidate.session_id not in before
            else:
                assert not step.duplicate
        before[item.candidate.session_id] += 1


def rank(
    candidates: Sequence[Candidate],
    profile: Profile,
    top_k: int,
    *,
    sessions: bool = False,
    min_score: float | None = None,
) -> Ranking:
    return rank_candidates(
        Candidates.of(candidates),
        profile=profile,
        question=Question(text="tea", search_text="tea"),
        ceiling={},
        top_k=top_k,
        sessions=sessions,
        min_score=min_score,
    )


def run(
    candidates: Sequence[Candidate], profile: Profile, top_k: int, *, sessions: bool
) -> list[Ranked]:
    return rank(candidates, profile, top_k, sessions=sessions).chosen


def in_sessions(*session_ids: str) -> list[Candidate]:
    """Return candidates by score, with no similarity between them."""
    return [make_candidate(n, name, n) for n, name in enumerate(session_ids, start=1)]


def ids(found: Sequence[Ranked]) -> list[int]:
    return [item.candidate.chunk_id for item in found]


def test_a_full_session_gives_way_and_the_step_names_the_skipped_chunk() -> None:
    candidates = in_sessions("a", "a", "a", "b", "c")
    ranking = rank(candidates, PLAIN.override(max_per_session=1), 2)
    assert ids(ranking.chosen) == [1, 4]
    step = step_of(ranking.chosen[1])
    assert (step.limited_by, step.passed_over) == ("max_per_session", 2)
    assert ranking.barred.tolist() == [True, True, True, False, False]


def test_a_session_limit_returns_fewer_hits_rather_than_break() -> None:
    ranking = rank(in_sessions("a", "a", "b"), PLAIN.override(max_per_session=1), 3)
    assert ids(ranking.chosen) == [1, 3]
    assert ranking.barred.tolist() == [True, True, True]


def test_the_first_hits_are_of_different_sessions() -> None:
    candidates = in_sessions("a", "a", "a", "a", "b", "c")
    ranking = rank(candidates, PLAIN.override(min_sessions=3), 4)
    assert ids(ranking.chosen) == [1, 5, 6, 2]
    steps = [step_of(item) for item in ranking.chosen]
    assert [step.limited_by for step in steps] == [None, "min_sessions", "min_sessions", None]
    assert [step.passed_over for step in steps] == [None, 2, 2, None]


@settings(max_examples=200, deadline=None)
@given(candidate_lists(), profiles(), LIMITS, st.integers(1, 12), st.booleans())
def test_a_shorter_list_is_the_beginning_of_a_longer_one(
    candidates: list[Candidate],
    profile: Profile,
    limits: tuple[int, int],
    top_k: int,
    sessions: bool,
) -> None:
    chosen = limited(profile, limits)
    longest = run(candidates, chosen, 12, sessions=sessions)
    found = run(candidates, chosen, top_k, sessions=sessions)
    assert [(item.candidate.chunk_id, item.selection) for item in found] == [
        (item.candidate.chunk_id, item.selection) for item in longest[:top_k]
    ]


def test_more_sessions_than_there_are_is_no_error() -> None:
    found = run(in_sessions("a", "a"), PLAIN.override(min_sessions=9), 2, sessions=False)
    assert ids(found) == [1, 2]


def test_a_duplicate_that_is_passed_over_is_named() -> None:
    candidates = [
        make_candidate(1, "a", 1, vector=0),
        make_candidate(2, "a", 2, vector=0),
        make_candidate(3, "a", 40, vector=3),
    ]
    found = run(candidates, PLAIN.override(mmr_lambda=1.0), 3, sessions=False)
    steps = [step_of(item) for item in found]
    assert [(step.limited_by, step.passed_over) for step in steps] == [
        (None, None),
        ("duplicate_threshold", 2),
        (None, None),
    ]


def test_the_most_hits_that_limits_allow_are_returned() -> None:
    """The test tries every subset of a small pool."""
    candidates = in_sessions("a", "a", "b", "b", "b", "c")
    for most in (1, 2, 3):
        allowed = max(
            len(group)
            for size in range(7)
            for group in combinations(candidates, size)
            if max(Counter(item.session_id for item in group).values(), default=0) <= most
        )
        found = run(candidates, PLAIN.override(max_per_session=most), 6, sessions=False)
        assert len(found) == allowed


@pytest.mark.parametrize("top_k", [1, 3, 5])
def test_sessions_are_one_hit_each_whatever_the_limit(top_k: int) -> None:
    candidates = in_sessions("a", "a", "b", "c")
    free = run(candidates, PLAIN, top_k, sessions=True)
    bound = run(candidates, PLAIN.override(max_per_session=1), top_k, sessions=True)
    assert ids(bound) == ids(free)
