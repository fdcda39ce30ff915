"""Ranking of random candidates, compared with its definition in plain Python."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.search.profiles import PROFILES, ROUTES, Profile
from memsense.search.question import Question, analyse_question
from memsense.search.rank.choose import Ranked, rank_candidates
from memsense.search.recall.candidates import Candidate, Candidates, RouteHit
from memsense.types import Granularity

QUESTION = Question(text="tea", search_text="tea")

# Unit vectors whose inner products are exact in floating point: multiples of a half.
DIRECTIONS = [np.array(signs, dtype=np.float32) / 2 for signs in product((-1, 1), repeat=4)]

PLAIN = Profile(name="plain", weights={route: 0.25 * (n + 1) for n, route in enumerate(ROUTES)})


def make_candidate(
    chunk_id: int,
    *,
    granularity: Granularity = "turn",
    session_id: str = "s0",
    ranks: dict[int, int] | None = None,
    memory_score: float = 0.5,
    tags: Sequence[str] = (),
    embedding: np.ndarray | None = None,  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    profile: Profile = PLAIN,
) -> Candidate:
    hits = tuple(RouteHit(ROUTES[n], rank, 0.5) for n, rank in sorted((ranks or {0: 1}).items()))
    return Candidate(
        chunk_id=chunk_id,
        rrf_score=sum(profile.weights[hit.route] / (profile.rrf_k + hit.rank) for hit in hits),
        routes=hits,
        scope_id=1,
        granularity=granularity,
        session_id=session_id,
        ordinal=chunk_id,
        part=0,
        memory_score=memory_score,
        tags=frozenset(tags),
        occurred_at=datetime(2026, 5, 7, tzinfo=UTC),
        user_speaker=None,
        assistant_speaker=None,
        embedding=embedding,
    )


ROUTE_RANKS = st.dictionaries(
    st.integers(0, len(ROUTES) - 1), st.integers(1, 40), min_size=1, max_size=4
)


@st.composite
def candidate_lists(draw: st.DrawFn) -> list[Candidate]:
    return [
        make_candidate(
            chunk_id,
            granularity=draw(st.sampled_from(["turn", "turn", "session"])),
            session_id=draw(st.sampled_from(["s0", "s1", "s2"])),
            ranks=draw(ROUTE_RANKS),
            memory_score=draw(st.sampled_from([0.0, 0.35, 0.5, 0.65, 1.0])),
            tags=draw(st.lists(st.sampled_from("abc"), max_size=2)),
            embedding=draw(st.sampled_from([None, *DIRECTIONS[:5]])),
        )
        for chunk_id in draw(st.permutations(range(1, draw(st.integers(0, 10)) + 1)))
    ]


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    return PLAIN.override(
        mmr_lambda=draw(st.sampled_from([0.0, 0.5, 0.78, 1.0])),
        relevance=draw(st.sampled_from(["normalised", "raw"])),
        session_scoring=draw(st.sampled_from(["support", "best_turns"])),
        duplicate_threshold=draw(st.sampled_from([0.94, 0.5, 2.0])),
        second_turn_weight=draw(st.sampled_from([0.0, 0.5])),
        session_chunk_weight=draw(st.sampled_from([0.0, 0.25])),
        turn_support_cap=draw(st.sampled_from([0.12, 0.02])),
        memory_alpha=draw(st.sampled_from([0.1, 0.0, 1.0])),
    )


@dataclass(frozen=True)
class Expected:
    """Candidate that represents an entry, and the entry's score."""

    shown: Candidate
    score: float


def rrf(candidate: Candidate, profile: Profile) -> float:
    return sum(profile.weights[hit.route] / (profile.rrf_k + hit.rank) for hit in candidate.routes)


def best(candidates: Sequence[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda item: (-item.rrf_score, item.chunk_id))


def expected_session(members: Sequence[Candidate], profile: Profile) -> Expected:
    chunks = best([item for item in members if item.granularity == "session"])
    turns = best([item for item in members if item.granularity == "turn"])
    memory = profile.memory_alpha
    own = chunks[0].rrf_score if chunks else 0.0
    if profile.session_scoring == "support" or not turns:
        shown = (chunks or turns)[0]
        support = 0.0
        if turns and profile.session_scoring == "support":
            share = profile.turn_support_coefficient * turns[0].rrf_score
            support = min(profile.turn_support_cap, share)
        return Expected(shown, own + support + memory * shown.memory_score)
    blended = [(item.rrf_score + memory * item.memory_score, item) for item in turns]
    blended.sort(key=lambda pair: (-pair[0], pair[1].chunk_id))
    second = blended[1][1].rrf_score if len(blended) > 1 else 0.0
    share = profile.second_turn_weight * second + profile.session_chunk_weight * own
    return Expected(blended[0][1], blended[0][0] + share)


def expected_scores(
    candidates: Sequence[Candidate], profile: Profile, *, sessions: bool
) -> list[Expected]:
    if not sessions:
        return [
            Expected(item, rrf(item, profile) + profile.memory_alpha * item.memory_score)
            for item in candidates
        ]
    ids = {item.session_id for item in candidates}
    groups = [[item for item in candidates if item.session_id == key] for key in ids]
    return [expected_session(members, profile) for members in groups]


def redundancy(one: Candidate, other: Candidate, profile: Profile) -> float:
    cosine = 0.0
    if one.embedding is not None and other.embedding is not None:
        cosine = sum(
            float(a) * float(b) for a, b in zip(one.embedding, other.embedding, strict=True)
        )
    union = one.tags | other.tags
    overlap = len(one.tags & other.tags) / len(union) if union else 0.0
    return max(cosine, profile.tag_redundancy * overlap, 0.0)


def expected_choice(entries: Sequence[Expected], profile: Profile, top_k: int) -> list[int]:
    """Return the chunk ids that greedy MMR chooses, in order."""
    left = sorted(entries, key=lambda item: (-item.score, item.shown.chunk_id))
    scores = [item.score for item in left]
    spread = max(scores, default=0.0) - min(scores, default=0.0)
    chosen: list[Expected] = []

    def relevance(item: Expected) -> float:
        if profile.relevance == "raw":
            return item.score
        return (item.score - min(scores)) / spread if spread > 0 else 1.0

    def worst(item: Expected) -> float:
        return max((redundancy(item.shown, c.shown, profile) for c in chosen), default=0.0)

    while left and len(chosen) < top_k:
        fresh = [item for item in left if worst(item) < profile.duplicate_threshold] or left
        if not chosen:
            choice = fresh[0]
        else:
            lam = profile.mmr_lambda
            choice = max(fresh, key=lambda item: lam * relevance(item) - (1 - lam) * worst(item))
        chosen.append(choice)
        left.remove(choice)
    return [item.shown.chunk_id for item in chosen]


def run(
    candidates: Sequence[Candidate], profile: Profile, top_k: int, *, sessions: bool
) -> list[Ranked]:
    return rank_candidates(
        Candidates.of(candidates),
        profile=profile,
        question=QUESTION,
        ceiling={},
        top_k=top_k,
        sessions=sessions,
    ).chosen


@settings(max_examples=150, deadline=None)
@given(candidate_lists(), profiles(), st.booleans())
def test_scores_equal_the_reference(
    candidates: list[Candidate], profile: Profile, sessions: bool
) -> None:
    found = run(candidates, profile, 100, sessions=sessions)
    scores = {item.candidate.chunk_id: item.explanation.final_score for item in found}
    expected = expected_scores(candidates, profile, sessions=sessions)
    assert scores == pytest.approx({e.shown.chunk_id: e.score for e in expected}, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(candidate_lists(), profiles(), st.booleans(), st.integers(1, 12))
def test_the_chosen_hits_equal_the_reference(
    candidates: list[Candidate], profile: Profile, sessions: bool, top_k: int
) -> None:
    everything = run(candidates, profile, 100, sessions=sessions)
    # The very floats that rerank compared, so that rounding can't turn a tie.
    entries = [Expected(item.candidate, item.explanation.final_score) for item in everything]
    found = run(candidates, profile, top_k, sessions=sessions)
    ids = [item.candidate.chunk_id for item in found]
    assert ids == expected_choice(entries, profile, top_k)
    assert len(found) == min(top_k, len(entries))


@settings(max_examples=100, deadline=None)
@given(candidate_lists(), profiles(), st.booleans())
def test_each_explanation_adds_up_and_says_how_it_was_chosen(
    candidates: list[Candidate], profile: Profile, sessions: bool
) -> None:
    found = run(candidates, profile, 100, sessions=sessions)
    by_id = {item.candidate.chunk_id: item.candidate for item in found}
    for place, item in enumerate(found, start=1):
        explanation, step = item.explanation, item.explanation.selection
        assert sum(part for _, part in explanation.parts()) == pytest.approx(
            explanation.final_score, abs=1e-9
        )
        assert step is not None
        assert step.selected_rank == place
        lam = step.mmr_lambda
        assert step.mmr_score == pytest.approx(
            lam * step.relevance - (1 - lam) * step.max_redundancy, abs=1e-9
        )
        if step.against is not None:
            rival = by_id[step.against]
            assert step.max_redundancy == redundancy(item.candidate, rival, profile)
        assert step.duplicate == (step.max_redundancy >= profile.duplicate_threshold)


@settings(max_examples=60, deadline=None)
@given(candidate_lists(), st.sampled_from(list(PROFILES.values())), st.booleans())
def test_the_parts_add_up_in_every_shipped_profile(
    candidates: list[Candidate], profile: Profile, sessions: bool
) -> None:
    question = analyse_question("What happened to tea on 7 May 2026?")
    ceiling = {"turn": 12.0, "session": 9.0}
    found = rank_candidates(
        Candidates.of(candidates),
        profile=profile,
        question=question,
        ceiling=ceiling,
        top_k=100,
        sessions=sessions,
    ).chosen
    for item in found:
        parts = sum(part for _, part in item.explanation.parts())
        assert parts == pytest.approx(item.explanation.final_score, abs=1e-9)


@given(st.sampled_from([0.0, 0.7]), st.sampled_from([0.0, 1.3]))
def test_coverage_and_similarity_are_explained_even_if_they_are_no_terms(
    coverage_weight: float, similarity_weight: float
) -> None:
    profile = PLAIN.override(coverage_weight=coverage_weight, similarity_weight=similarity_weight)
    ranks = {ROUTES.index("vec_full"): 1, ROUTES.index("lexical"): 1}  # each scores 0.5
    [ranked] = rank_candidates(
        Candidates.of([make_candidate(1, ranks=ranks)]),
        profile=profile,
        question=QUESTION,
        ceiling={"turn": 2.0},
        top_k=1,
        sessions=False,
    ).chosen
    explanation = ranked.explanation
    assert (explanation.coverage, explanation.similarity) == (0.25, 0.25)
    weighted = {"coverage": coverage_weight, "similarity": similarity_weight}
    terms = {term.name for term in explanation.terms}
    assert terms == {"memory_score", *(name for name, weight in weighted.items() if weight)}


@settings(max_examples=60, deadline=None)
@given(candidate_lists(), profiles(), st.booleans(), st.randoms())
def test_the_order_of_the_candidates_does_not_matter(
    candidates: list[Candidate], profile: Profile, sessions: bool, random: st.DataObject
) -> None:
    shuffled = list(candidates)
    random.shuffle(shuffled)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    one, other = (run(items, profile, 5, sessions=sessions) for items in (candidates, shuffled))
    assert [item.candidate.chunk_id for item in one] == [item.candidate.chunk_id for item in other]


def test_equal_scores_go_to_the_lower_chunk_id() -> None:
    candidates = [make_candidate(chunk_id) for chunk_id in (3, 1, 2)]
    assert [r.candidate.chunk_id for r in run(candidates, PLAIN, 3, sessions=False)] == [1, 2, 3]


def test_a_duplicate_is_passed_over_while_others_remain() -> None:
    same = DIRECTIONS[0]
    candidates = [
        make_candidate(1, ranks={0: 1}, embedding=same),
        make_candidate(2, ranks={0: 2}, embedding=same),
        make_candidate(3, ranks={0: 40}, embedding=DIRECTIONS[3]),
    ]
    found = run(candidates, PLAIN.override(mmr_lambda=1.0), 3, sessions=False)
    assert [item.candidate.chunk_id for item in found] == [1, 3, 2]
    last = found[-1].explanation.selection
    assert last is not None
    assert (last.duplicate, last.against, last.max_redundancy) == (True, 1, 1.0)


def test_shared_tags_make_redundancy_without_vectors() -> None:
    candidates = [make_candidate(n, tags=["tea", "trip"][:n]) for n in (1, 2)]
    [_, second] = run(candidates, PLAIN, 2, sessions=False)
    assert second.explanation.selection is not None
    assert second.explanation.selection.max_redundancy == PLAIN.tag_redundancy / 2


def test_turn_support_is_capped() -> None:
    session = make_candidate(1, granularity="session", ranks={0: 3})
    strong = make_candidate(2, ranks=dict.fromkeys(range(len(ROUTES)), 1))
    [entry] = run([session, strong], PLAIN, 5, sessions=True)
    support = entry.explanation.session
    assert support is not None
    assert support.turn_support == PLAIN.turn_support_cap == 0.12
    assert support.session_rrf_score == session.rrf_score
    assert (support.best_turn, support.supporting_turn_count) == (2, 1)
    assert (entry.candidate.chunk_id, entry.shows) == (1, "session")


def test_a_session_that_only_its_turns_brought_in_scores_by_their_support() -> None:
    turns = [make_candidate(1, ranks={0: 30}), make_candidate(2, ranks={0: 20})]
    [entry] = run(turns, PLAIN.override(memory_alpha=0.0), 5, sessions=True)
    assert entry.explanation.final_score == pytest.approx(0.6 * turns[1].rrf_score, abs=1e-12)
    assert entry.candidate.chunk_id == 2


def test_nothing_gives_nothing() -> None:
    assert run([], PLAIN, 5, sessions=True) == []
