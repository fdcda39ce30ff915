"""The arithmetic of a hit: every term of its score, and the step that chose it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from memsense.search.profiles import Route
from memsense.search.score_kinds import describe_scores

Limit = Literal["max_per_session", "min_sessions", "duplicate_threshold"]
"""The constants of a profile that may keep MMR from its first choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteContribution:
    """What one route gave: `contribution` is weight / (rrf_k + rank).

    `score_kind` names one of `memsense.scores.SCORE_KINDS`.
    """

    route: Route
    rank: int
    score: float
    score_kind: str
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One signed term of a score: `contribution` is weight · value."""

    name: str
    value: float
    weight: float
    contribution: float
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordMatch:
    """A word of the question, and the word of the memory that came nearest to it.

    The `similarity` of each, weighted by `share`, add up to the value of the term `tokens`.
    """

    asked: str
    met: str
    similarity: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSupport:
    """How a session's score came from its session chunk and its turns.

    `support` (the original's formula): session_rrf_score + turn_support, where turn_support is
    min(cap, coefficient · the best turn's rrf_score). `best_turns`: the best turn's rrf_score
    counts whole, the second's and the session chunk's with the profile's weights.
    """

    session_rrf_score: float
    turn_support: float
    supporting_turn_count: int
    best_turn: int | None = None
    best_turn_rrf_score: float = 0.0
    best_turn_routes: Sequence[RouteContribution] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The MMR step that chose the hit: score = λ · relevance - (1 - λ) · max_redundancy.

    Where a limit kept the step from what had the largest score, `limited_by` names the limit and
    `passed_over` the chunk.
    """

    selected_rank: int
    relevance: float
    max_redundancy: float
    against: int | None
    mmr_lambda: float
    mmr_score: float
    duplicate: bool = False
    limited_by: Limit | None = None
    passed_over: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangePart:
    """Which part of a long exchange a hit is: the `number`-th, from 1, `of` so many."""

    number: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation:
    """Everything about one hit's score; `parts()` adds up to `final_score`.

    `matches` tell how the term `tokens` came about, where the exchange's tokens were compared.
    """

    chunk_id: int
    routes: Sequence[RouteContribution]
    rrf_score: float
    rrf_k: float
    terms: Sequence[Term]
    session: SessionSupport | None
    final_score: float
    selection: Selection | None = None
    question: Mapping[str, Any] = field(default_factory=dict[str, Any])
    profile: str = ""
    part: ExchangePart | None = None
    matches: Sequence[WordMatch] = ()

    @property
    def memory_score(self) -> float:
        """The memory score that was blended in."""
        return next((term.value for term in self.terms if term.name == "memory_score"), 0.0)

    def parts(self) -> list[tuple[str, float]]:
        """Labelled numbers whose sum is `final_score`."""
        found = [(item.route, item.contribution) for item in self.routes]
        if self.session is not None:
            found.append(("turn_support", self.session.turn_support))
        return [*found, *((term.name, term.contribution) for term in self.terms)]

    def table(self, *, width: int = 100) -> str:
        """The arithmetic as text of at most so many columns; what it prints adds up.

        print(hit.explain.table())
        """
        from memsense.search.arithmetic import arithmetic_table
        from memsense.text.tables import as_text

        return as_text(arithmetic_table(self, {}), width)

    def __repr__(self) -> str:
        """What adds up to the score, on one line; `table()` and `as_dict()` have the rest."""
        from memsense.search.arithmetic import round_to_total, score_text

        parts = self.parts()
        rounded = round_to_total([value for _, value in parts], self.final_score)
        told = " ".join(
            f"{value:+.4f} {name}" for (name, _), value in zip(parts, rounded, strict=True)
        )
        return f"<Explanation of chunk {self.chunk_id}: {score_text(self.final_score)} = {told}>"

    def score_kinds(self) -> frozenset[str]:
        """What kinds of score are in it: of the routes, of `rrf_score` and of `final_score`."""
        of_turn = self.session.best_turn_routes if self.session else ()
        return frozenset({"rrf", "final", *(item.score_kind for item in (*self.routes, *of_turn))})

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        return {
            **asdict(replace(self, matches=tuple(self.matches))),
            "memory_score": self.memory_score,
            "parts": dict(self.parts()),
            "score_kinds": describe_scores(self.score_kinds()),
        }
