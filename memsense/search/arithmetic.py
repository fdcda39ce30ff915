"""The arithmetic of one hit as a table whose printed parts add up to its printed total."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from memsense.search.explanation import (
    Explanation,
    RouteContribution,
    Selection,
    SessionSupport,
    Term,
    WordMatch,
)
from memsense.text.tables import TextTable

DIGITS = 4
BAR_WIDTH = 12
MOST_MATCHES = 10
_KINDS = {"cosine": "cosine", "bm25f": "BM25F", "ts_rank": "ts_rank_cd"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One printed summand; `calculation` says how it came about."""

    name: str
    rank: str = ""
    raw: str = ""
    calculation: str = ""
    contribution: float

    def told(self) -> str:
        """All but what it adds, in words."""
        ranked = ", ".join(text for text in (self.rank and f"rank {self.rank}", self.raw) if text)
        facts = "; ".join(text for text in (ranked, self.calculation) if text)
        return f"{self.name}: {facts}"


def arithmetic_parts(explanation: Explanation) -> list[Part]:
    """The summands of the hit's score in the order of `Explanation.parts`."""
    parts = [_route_part(route, explanation.rrf_k) for route in explanation.routes]
    if explanation.session is not None:
        stands = explanation.routes == explanation.session.best_turn_routes
        parts.append(_support_part(explanation.session, stands=stands))
    return [*parts, *(_term_part(term) for term in explanation.terms)]


def score_text(score: float) -> str:
    """A score as it is shown everywhere."""
    return f"{score:.{DIGITS}f}"


def round_to_total(
    values: Sequence[float], total: float | None = None, *, digits: int = DIGITS
) -> list[float]:
    """The values rounded so that they add up to their rounded total (largest remainder).

    Each is less than one unit of the last digit away from its value. `total` is their sum, where
    it was added up elsewhere and may differ in its last bits.
    """
    unit = 10**digits
    scaled = [value * unit for value in values]
    floors = [math.floor(value) for value in scaled]
    wanted = round(math.fsum(values) if total is None else total, digits)
    missing = round(wanted * unit) - sum(floors)
    by_remainder = sorted(range(len(values)), key=lambda i: floors[i] - scaled[i])
    for index in by_remainder[:missing]:
        floors[index] += 1
    return [value / unit for value in floors]


def arithmetic_table(explanation: Explanation, hits: Mapping[int, int]) -> TextTable:
    """Routes, later terms and the total; below it the step that chose the hit.

    `hits` gives the rank of each hit by the chunk that stands for it. Where six columns don't fit,
    it is what each part adds, and beside it how.
    """
    wide = TextTable(
        ("part", "rank", "raw score", "how", "adds", ""), right=("rank", "raw score", "adds", "")
    )
    narrow = TextTable(("part", "adds"), right=("adds",))
    parts = arithmetic_parts(explanation)
    rounded = round_to_total([part.contribution for part in parts], explanation.final_score)
    largest = max((abs(value) for value in rounded), default=0.0) or 1.0
    for part, value in zip(parts, rounded, strict=True):
        adds = score_text(value)
        bar = value_bar(value / largest)
        wide.add_row(part.name, part.rank, part.raw, part.calculation, adds, bar)
        narrow.add_row(part.told(), adds)
    captions = [match_line(explanation.matches)] if explanation.matches else []
    if explanation.selection is not None:
        captions.append(selection_line(explanation.selection, hits))
    for made in (wide, narrow):
        made.add_section()
        made.caption = "\n".join(captions)
    note, total = _session_note(explanation), score_text(math.fsum(rounded))
    wide.add_row("score", "", "", note, total, "", style="bold")
    narrow.add_row(f"score: {note}", total, style="bold")
    wide.otherwise = narrow
    return wide


def match_line(matches: Sequence[WordMatch]) -> str:
    """The question's words with those of the memory that they met, what counted most first."""
    ordered = sorted(matches, key=lambda match: -match.share * match.similarity)
    told = [f"{item.asked} → {item.met} {item.similarity:.2f}" for item in ordered[:MOST_MATCHES]]
    return f"words that met: {', '.join(told)}"


def selection_line(step: Selection, hits: Mapping[int, int]) -> str:
    """The MMR step in words and numbers."""
    against = "no hit before it"
    if step.against is not None:
        rank = hits.get(step.against)
        against = f"hit {rank}" if rank else f"chunk {step.against}"
    told = (
        f"MMR, choice {step.selected_rank}: "
        f"{step.mmr_lambda:g} · relevance {step.relevance:.4f}"
        f" - {1 - step.mmr_lambda:.2g} · redundancy {step.max_redundancy:.4f} ({against})"
        f" = {step.mmr_score:.4f}"
    )
    if step.limited_by is not None:
        told += f"; {step.limited_by} kept chunk {step.passed_over} from this place"
    return f"{told}; a near-duplicate, nothing else was left" if step.duplicate else told


def _route_part(route: RouteContribution, rrf_k: float) -> Part:
    share = route.weight / (rrf_k + route.rank)
    factor = route.contribution / share if share else 1.0
    scale = "" if math.isclose(factor, 1.0) else f"{factor:g} · "
    return Part(
        name=route.route,
        rank=str(route.rank),
        raw=f"{_KINDS.get(route.score_kind, route.score_kind)} {route.score:.4f}",
        calculation=f"{scale}weight {route.weight:g} / ({rrf_k:g} + {route.rank})",
        contribution=route.contribution,
    )


def _term_part(term: Term) -> Part:
    return Part(
        name=term.name,
        raw=f"{term.value:.4f}",
        calculation=f"weight {term.weight:g} · {term.value:.4g}"
        + (f": {term.because}" if term.because else ""),
        contribution=term.contribution,
    )


def _support_part(session: SessionSupport, *, stands: bool) -> Part:
    """The turns' share of a session's score; `stands`: the best turn's routes are counted whole."""
    if session.best_turn is None:
        told = "no turn was found"
    elif stands:
        told = f"turn {session.best_turn} stands for the session"
    else:
        routes = ", ".join(f"{route.route} {route.rank}" for route in session.best_turn_routes)
        told = f"best turn {session.best_turn}: rrf {session.best_turn_rrf_score:.4f} ({routes})"
    return Part(
        name="turn_support",
        calculation=f"{told}; {session.supporting_turn_count} turns support it",
        contribution=session.turn_support,
    )


def _session_note(explanation: Explanation) -> str:
    rrf = f"rrf {explanation.rrf_score:.4f}"
    session, part = explanation.session, explanation.part
    if part is not None:
        rrf += f"; part {part.number} of {part.of} of its exchange"
    if session is None:
        return rrf
    return f"{rrf}; session chunk {session.session_rrf_score:.4f}"


def value_bar(share: float) -> Text:
    """A bar as long as the share of the largest value, red where it is taken away."""
    bar = Text("█" * round(abs(share) * BAR_WIDTH), style="red" if share < 0 else "cyan")
    bar.pad_right(BAR_WIDTH - len(bar))
    return bar
