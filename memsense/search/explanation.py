"""The explanation of a hit: the terms of its score, the step that chose it, and their table."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from memsense.search.profiles import Route
from memsense.search.score_kinds import describe_scores
from memsense.text.words import OPENERS
from memsense.types import ENGLISH_MODEL

if TYPE_CHECKING:
    from rich.text import Text

    from memsense.text.tables import TextTable

DIGITS = 4
"""Decimals of a score in a table."""

BAR_WIDTH = 12
MOST_MATCHES = 10
_KINDS = {"cosine": "cosine", "bm25f": "BM25F", "ts_rank": "ts_rank_cd"}

Limit = Literal["max_per_session", "min_sessions", "duplicate_threshold"]
"""The constants of a profile that may make MMR pass over the candidate with the largest score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteContribution:
    """The contribution of one route to a score: weight / (rrf_k + rank).

    Attributes:
        route: Name of the route.
        rank: Rank of the chunk in the route's list, from 1.
        score: Raw score that the route gave the chunk.
        score_kind: Kind of the raw score, a name in `memsense.scores.SCORE_KINDS`.
        weight: Weight of the route in the profile.
        contribution: Share of the final score.
    """

    route: Route
    rank: int
    score: float
    score_kind: str
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One signed term of a score.

    Attributes:
        name: Name of the term, as in the page 'Terms of the score'.
        value: Value of the term before it is weighted.
        weight: Weight of the term in the profile.
        contribution: weight * value.
        because: Reason in words; empty if the name says it all.
    """

    name: str
    value: float
    weight: float
    contribution: float
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordMatch:
    """A word of the question with the nearest word of the memory.

    Attributes:
        asked: The word of the question.
        met: The word of the memory that came nearest to it; "" if that is one that the model
            doesn't know.
        similarity: Similarity of the two; weighted by `share`, they add up to that of tokens.
        share: Share of the question's weight that the word has.
    """

    asked: str
    met: str
    similarity: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SideValues:
    """Similarity of the question's tokens to those of each side of an exchange alone.

    Each is the sum of `share` * similarity over the question's words, as in the term `tokens`.

    Attributes:
        user: Value of the user's side; None if it has no tokens.
        assistant: Value of the assistant's side; None if it has no tokens.
    """

    user: float | None
    assistant: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSupport:
    """The contributions of a session's chunk and of its turns to the score of the session.

    With the profile's `session_scoring` "support" (the original's formula) the session scores
    session_rrf_score + turn_support, where turn_support is min(cap, coefficient * the best turn's
    rrf_score). With "best_turns" the best turn's rrf_score counts whole, and the second turn's and
    the session chunk's count with the profile's weights.

    Attributes:
        session_rrf_score: rrf_score of the session chunk, 0 if no route found one.
        turn_support: Share of the final score that the turns add.
        supporting_turn_count: Number of turns that support the session.
        best_turn: Chunk id of the best turn, None if no turn was found.
        best_turn_rrf_score: rrf_score of the best turn.
        best_turn_routes: Contributions to the rrf_score of the best turn.
    """

    session_rrf_score: float
    turn_support: float
    supporting_turn_count: int
    best_turn: int | None = None
    best_turn_rrf_score: float = 0.0
    best_turn_routes: Sequence[RouteContribution] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The step of maximal marginal relevance (MMR) that chose a hit.

    Attributes:
        selected_rank: Number of the step, from 1.
        relevance: Score as a share of the range of all candidates, or the score itself.
        max_redundancy: Largest similarity to a hit that was chosen before.
        against: Chunk id of that hit, None for the first hit.
        mmr_lambda: Weight of relevance against redundancy, 0 to 1.
        mmr_score: mmr_lambda * relevance - (1 - mmr_lambda) * max_redundancy.
        duplicate: Whether the hit is a near-duplicate of another; nothing else was left then.
        limited_by: Limit that made the step pass over the candidate with the largest score.
        passed_over: Chunk id of the candidate that was passed over.
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
    """The part of a long exchange that a hit is.

    Attributes:
        number: Number of the part, from 1.
        of: Number of parts of the exchange.
    """

    number: int
    of: int


class _MadeLater:
    """Base with the function that makes an explanation whose fields are not set yet."""

    __slots__ = ("_make",)
    _make: "Callable[[], Explanation] | None"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(_MadeLater):
    """The full computation of one hit's score; `parts()` adds up to `final_score`.

        print(hit.explain.table())

    Attributes:
        chunk_id: Chunk that was ranked; for a session the one that stands for it.
        routes: Contributions of the routes that found the chunk.
        rrf_score: Sum of these contributions.
        rrf_k: Constant of reciprocal rank fusion.
        terms: Terms that were added to the rrf_score.
        session: Support by other chunks of the session, None for an exchange.
        final_score: Score of the hit.
        selection: Step that chose the hit.
        question: Analysis of the question; empty in hits, which share `SearchResult.question`.
        profile: Name of the profile.
        part: Part of a long exchange, None for a whole one.
        matches: Word matches behind the term `tokens`; empty if tokens were not compared.
        sides: The similarity by side; None if tokens were not compared.
        coverage: Value of the term `coverage`, also where its weight is 0.
        similarity: Value of the term `similarity`, also where its weight is 0.
        model: Name of the model of whose vectors the cosines are.
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
    sides: SideValues | None = None
    coverage: float = 0.0
    similarity: float = 0.0
    model: str = ""

    if not TYPE_CHECKING:  # a checker would take any name for a field

        def __getattr__(self, name: str) -> Any:
            """Set all fields when one that is not set yet is looked at: see `explain_later`."""
            names = [item.name for item in fields(Explanation)]
            if name not in names:
                raise AttributeError(f"an explanation has no attribute {name!r}", name=name)
            # Another thread may have set them meanwhile.
            if (make := self._make) is not None:
                explanation = make()
                for field_name in names:
                    object.__setattr__(self, field_name, getattr(explanation, field_name))
                object.__setattr__(self, "_make", None)
            return object.__getattribute__(self, name)

    @property
    def memory_score(self) -> float:
        """Return the memory score of the chunk, which the score takes in as a term."""
        return next((term.value for term in self.terms if term.name == "memory_score"), 0.0)

    def parts(self) -> list[tuple[str, float]]:
        """Return labelled numbers whose sum is `final_score`."""
        parts = [(item.route, item.contribution) for item in self.routes]
        if self.session is not None:
            parts.append(("turn_support", self.session.turn_support))
        return [*parts, *((term.name, term.contribution) for term in self.terms)]

    def table(self, *, width: int = 100) -> str:
        """Return the computation as text; the printed numbers add up.

        Args:
            width: Maximum number of columns.
        """
        from memsense.text.tables import as_text

        return as_text(arithmetic_table(self, {}), width)

    def __repr__(self) -> str:
        """Return the parts of the score on one line; `table()` and `as_dict()` have the rest."""
        parts = self.parts()
        rounded = round_to_total([value for _, value in parts], self.final_score)
        summands = " ".join(
            f"{value:+.4f} {name}" for (name, _), value in zip(parts, rounded, strict=True)
        )
        score = score_text(self.final_score)
        return f"<Explanation of chunk {self.chunk_id}: {score} = {summands}>"

    def score_kinds(self) -> frozenset[str]:
        """Return the kinds of all scores in it: the routes', `rrf_score` and `final_score`."""
        of_turn = self.session.best_turn_routes if self.session else ()
        return frozenset({"rrf", "final", *(item.score_kind for item in (*self.routes, *of_turn))})

    def as_dict(self, *, matches: bool = True) -> dict[str, Any]:
        """Return the explanation as plain values, ready for JSON.

        Args:
            matches: Whether to add the word matches, which are computed only then.
        """
        plain = {
            **_as_plain(self),
            "memory_score": self.memory_score,
            "parts": dict(self.parts()),
            "score_kinds": describe_scores(self.score_kinds()),
        }
        if matches:
            # They may be lazy: as a tuple they are computed once.
            plain["matches"] = _as_plain(tuple(self.matches))
        else:
            del plain["matches"]
        return plain


def explain_later(make: Callable[[], Explanation]) -> Explanation:
    """Return an explanation that `make` computes when it is looked at, which most never are."""
    explanation = object.__new__(Explanation)
    object.__setattr__(explanation, "_make", make)
    return explanation


@cache
def _reader(kind: type) -> "_Reader | None":
    """Return how to read the fields of a dataclass; None for any other type."""
    if not is_dataclass(kind):
        return None
    hints = get_type_hints(kind)
    names = [item.name for item in fields(kind)]
    members = [it for name in names for it in (hints[name], *get_args(hints[name]))]
    return _Reader(
        names=names,
        read=attrgetter(*names),
        is_flat=not any(is_dataclass(it) or get_origin(it) in _CONTAINERS for it in members),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """The fields of a dataclass; in a flat one each is a number, a text or None."""

    names: Sequence[str]
    read: Callable[[Any], Sequence[Any]]
    is_flat: bool


def _as_plain(value: Any) -> Any:
    """Return dataclasses as dicts, at any depth, and everything else as it is.

    `dataclasses.asdict` copies each number and text, too, which takes longer than the rest of a
    search's answer over HTTP.
    """
    kind: Any = value.__class__
    if kind in _SCALARS:
        return value
    if reader := _reader(kind):
        items = zip(reader.names, reader.read(value), strict=True)
        return dict(items) if reader.is_flat else {name: _as_plain(item) for name, item in items}
    if kind is dict:
        return {key: _as_plain(item) for key, item in value.items()}
    if kind is tuple:
        return tuple([_as_plain(item) for item in value])
    if kind is list:
        return [_as_plain(item) for item in value]
    return value


_CONTAINERS = (Sequence, Mapping)
_SCALARS = frozenset({int, float, str, bool, type(None)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One printed summand of a score; `calculation` is its computation in words and numbers."""

    name: str
    rank: str = ""
    raw: str = ""
    calculation: str = ""
    contribution: float

    def describe(self) -> str:
        """Return everything but the contribution on one line."""
        rank = self.rank and f"rank {self.rank}"
        ranked = ", ".join(text for text in (rank, self.raw) if text)
        facts = "; ".join(text for text in (ranked, self.calculation) if text)
        return f"{self.name}: {facts}"


def arithmetic_parts(explanation: Explanation) -> list[Part]:
    """Return the summands of the hit's score in the order of `Explanation.parts`."""
    parts: list[Part] = []
    # The default model is not worth its width in every table.
    other = f" of {explanation.model}" if explanation.model not in ("", ENGLISH_MODEL) else ""
    for route in explanation.routes:
        # A profile whose rrf_weight is not 1 scales all routes alike: show the factor only then.
        share = route.weight / (explanation.rrf_k + route.rank)
        factor = route.contribution / share if share else 1.0
        scale = "" if math.isclose(factor, 1.0) else f"{factor:g} · "
        parts.append(
            Part(
                name=route.route,
                rank=str(route.rank),
                raw=f"{_KINDS.get(route.score_kind, route.score_kind)} {route.score:.4f}"
                + (other if route.score_kind == "cosine" else ""),
                calculation=f"{scale}weight {route.weight:g}"
                f" / ({explanation.rrf_k:g} + {route.rank})",
                contribution=route.contribution,
            )
        )
    if (session := explanation.session) is not None:
        if session.best_turn is None:
            support = "no turn was found"
        elif explanation.routes == session.best_turn_routes:
            # The routes above are the best turn's own, so that it is not listed again.
            support = f"turn {session.best_turn} stands for the session"
        else:
            ranks = ", ".join(f"{route.route} {route.rank}" for route in session.best_turn_routes)
            rrf = f"rrf {session.best_turn_rrf_score:.4f}"
            support = f"best turn {session.best_turn}: {rrf} ({ranks})"
        parts.append(
            Part(
                name="turn_support",
                calculation=f"{support}; {session.supporting_turn_count} turns support it",
                contribution=session.turn_support,
            )
        )
    parts += [
        Part(
            name=term.name,
            raw=f"{term.value:.4f}",
            calculation=f"weight {term.weight:g} · {term.value:.4g}"
            + (f": {term.because}" if term.because else ""),
            contribution=term.contribution,
        )
        for term in explanation.terms
    ]
    return parts


def score_text(score: float) -> str:
    """Return a score with as many decimals as all faces show."""
    return f"{score:.{DIGITS}f}"


def round_to_total(
    values: Sequence[float], total: float | None = None, *, digits: int = DIGITS
) -> list[float]:
    """Return the values rounded so that they add up to their rounded total (largest remainder).

    Each differs from its value by less than one unit of the last digit. `total` is the sum of the
    values where it was computed elsewhere and may differ in its last bits.
    """
    unit = 10**digits
    scaled = [value * unit for value in values]
    floors = [math.floor(value) for value in scaled]
    rounded_total = round(math.fsum(values) if total is None else total, digits)
    missing = round(rounded_total * unit) - sum(floors)
    by_remainder = sorted(range(len(values)), key=lambda i: floors[i] - scaled[i])
    for index in by_remainder[:missing]:
        floors[index] += 1
    return [value / unit for value in floors]


def arithmetic_table(explanation: Explanation, hits: Mapping[int, int]) -> "TextTable":
    """Return a table of routes, terms and total; `hits` maps chunks to the ranks of hits."""
    # rich, which draws tables, is no part of a search: it is imported for what is printed alone.
    from memsense.text.tables import TextTable

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
        narrow.add_row(part.describe(), adds)
    captions = [match_line(explanation.matches)] if explanation.matches else []
    if explanation.selection is not None:
        captions.append(selection_line(explanation.selection, hits))
    for table in (wide, narrow):
        table.add_section()
        table.caption = "\n".join(captions)
    note, part = f"rrf {explanation.rrf_score:.4f}", explanation.part
    if part is not None:
        note += f"; part {part.number} of {part.of} of its exchange"
    if explanation.session is not None:
        note += f"; session chunk {explanation.session.session_rrf_score:.4f}"
    total = score_text(math.fsum(rounded))
    wide.add_row("score", "", "", note, total, "", style="bold")
    narrow.add_row(f"score: {note}", total, style="bold")
    wide.otherwise = narrow
    return wide


def match_line(matches: Sequence[WordMatch]) -> str:
    """Return the word matches on one line, without function words, the largest first."""
    telling = [item for item in matches if _is_telling(item.asked) and _is_telling(item.met)]
    ordered = sorted(telling, key=lambda match: -match.share * match.similarity)
    pairs = [f"{item.asked} → {item.met} {item.similarity:.2f}" for item in ordered[:MOST_MATCHES]]
    return f"words that met: {', '.join(pairs) or 'none but function words'}"


def _is_telling(word: str) -> bool:
    return any(map(str.isalnum, word)) and word.casefold() not in OPENERS


def selection_line(step: Selection, hits: Mapping[int, int]) -> str:
    """Return the MMR step in words and numbers; `hits` maps chunks to the ranks of hits."""
    against = "no hit before it"
    if step.against is not None:
        rank = hits.get(step.against)
        against = f"hit {rank}" if rank else f"chunk {step.against}"
    line = (
        f"MMR, choice {step.selected_rank}: "
        f"{step.mmr_lambda:g} · relevance {step.relevance:.4f}"
        f" - {1 - step.mmr_lambda:.2g} · redundancy {step.max_redundancy:.4f} ({against})"
        f" = {step.mmr_score:.4f}"
    )
    if step.limited_by is not None:
        line += f"; {step.limited_by} kept chunk {step.passed_over} from this place"
    return f"{line}; a near-duplicate, nothing else was left" if step.duplicate else line


def value_bar(share: float) -> "Text":
    """Return a bar as long as the share of the largest value, red for a negative one."""
    from rich.text import Text

    bar = Text("█" * round(abs(share) * BAR_WIDTH), style="red" if share < 0 else "cyan")
    bar.pad_right(BAR_WIDTH - len(bar))
    return bar
