"""The kinds of score: their ranges, and whether scores of two questions can be compared."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from memsense.search.recall.optional import OPTIONAL_ROUTES


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreKind:
    """A kind of score; higher is always better.

    Attributes:
        name: Name of the kind.
        low: Lower bound, None if none holds for every question.
        high: Upper bound, None if none holds for every question.
        comparable: Whether equal scores of two questions mean the same.
        meaning: Meaning in words.
    """

    name: str
    low: float | None = None
    high: float | None = None
    comparable: bool = False
    meaning: str


SCORE_KINDS: Mapping[str, ScoreKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            ScoreKind(
                name="cosine",
                low=-1.0,
                high=1.0,
                comparable=True,
                meaning="cosine of question and text, as one embedding model sees them",
            ),
            ScoreKind(
                name="bm25f",
                low=0.0,
                meaning="how many of the question's words, how rare, how dense; its largest value"
                " is the question's own, and coverage is the share of it",
            ),
            ScoreKind(
                name="ts_rank",
                low=0.0,
                meaning="how near to one another all of the question's words stand",
            ),
            *(
                ScoreKind(name=name, low=0.0, high=1.0, meaning=route.meaning)
                for name, route in OPTIONAL_ROUTES.items()
            ),
            ScoreKind(
                name="rrf",
                low=0.0,
                meaning="the sum of weight / (rrf_k + rank) over the routes: ranks alone, at most"
                " the sum of weight / (rrf_k + 1)",
            ),
            ScoreKind(
                name="final",
                meaning="the fused ranks and every term added to them, by the profile's weights;"
                " it orders the hits of one search",
            ),
        )
    }
)
"""Every kind of score that a hit shows, by name."""


def describe_scores(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the kinds of these names as plain values, in the order of SCORE_KINDS."""
    requested = set(names)
    return {name: dict(kind) for name, kind in _PLAIN_KINDS.items() if name in requested}


# Each hit of each answer describes its scores: made once, the fields cost a copy alone.
_PLAIN_KINDS: Mapping[str, Mapping[str, Any]] = {
    name: {key: value for key, value in asdict(kind).items() if key != "name"}
    for name, kind in SCORE_KINDS.items()
}


def score_below(score: float, bound: float) -> str:
    """Return a score that is less than `bound`, with as many decimals as it takes to see that."""
    texts = (f"{score:.{digits}f}" for digits in (4, 8, 12))
    return next((text for text in texts if float(text) < bound), repr(score))
