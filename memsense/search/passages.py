"""Passages: the sides of memories that a prompt is made of, each with its chance to matter.

A whole exchange is too large a unit: in a chat with an assistant the user says in a line what the
answer explains on a page. So each side of an exchange is chosen or left out by itself.
"""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, Literal, NamedTuple

from memsense.search.excerpt import ELLIPSIS, Excerpt, fit_text
from memsense.search.explanation import Explanation
from memsense.search.question import Question
from memsense.search.question.proximity import date_proximity
from memsense.search.silence import is_small_talk
from memsense.text.prompts import cut_prompt
from memsense.types import Chunk

Side = Literal["user", "assistant", "session"]

USER_LENGTH: Final = 540
"""Characters of a user's text in a short passage: 500, and room for the ends of a cut."""

ANSWER_LENGTH: Final = 500
CUT_ANSWER_LENGTH: Final = 200
"""Characters of the stretch that is left of an answer with more than ANSWER_LENGTH."""

MET = 0.6
"""Similarity from which a word of a memory counts as that of the question: cuts keep it."""


LEAST_WORD: Final = 4
"""Letters of the shortest word that a cut keeps for its meaning; most shorter ones have none."""


_WORD = re.compile(r"\w+")


class Weights(NamedTuple):
    """Weights of a logistic regression: does a passage hold what the question asks for?

    Fitted by `python -m benchmarks.fits.fit_context` on both kinds of conversation, with equal
    weight; docs/how/constants.md, "Context", has the figures.
    """

    bias: float = -1.482
    place: float = -0.982
    """Weight of log(1 + place of the hit, from 0)."""

    behind: float = -2.951
    """Weight of how far the hit's score lies behind the best one."""

    near: float = 4.905
    """Weight of the token similarity of this side to the question (MaxSim)."""

    nearer: float = 4.611
    """Weight of how much nearer this side is than the other one, from -0.3 to 0.3."""

    alone: float = -0.24
    """Weight of being the only side of its exchange."""

    answer: float = -1.5
    """Weight of being the assistant's side."""

    length: float = -0.798
    """Weight of log(1 + characters) / 5."""


WEIGHTS: Final = Weights()
NEARER_LIMIT: Final = 0.3
NEARER_ALONE: Final = 0.25
NEAR_UNKNOWN: Final = 0.45
"""Token similarity to use where tokens were not compared: about the mean of hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A hit as prompts take it: the exchanges that stand for it, with its explanation.

    Attributes:
        hit_id: Id of the hit's chunk.
        chunks: Exchanges that stand for the hit, best first; one unless it is a session.
        score: Score of the hit.
        explain: Explanation of the hit, which compares each side of its exchange.
        until: When a newer memory replaced it; None if none did.
        until_zone_known: Whether the zone of `until` is known.
        newer: Chunk that may have replaced it; it is shown with that one, or not at all.
        older: Chunk that it may have replaced, which is shown with it if there is room.
        apart: Name of another project that it is about; empty if the prompt's own or none.
        query: Number of the query that found it: scores of two queries can't be compared.
    """

    hit_id: int
    chunks: Sequence[Chunk]
    score: float
    explain: Explanation
    until: datetime | None = None
    until_zone_known: bool = True
    newer: int | None = None
    older: int | None = None
    apart: str = ""
    query: int = 0


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One side of a memory.

    Attributes:
        source: The hit that it belongs to.
        chunk: The exchange, or the session, that it is a side of.
        side: Which side; "session" for the text of a session without exchanges.
        place: Place of the hit in the result, from 0.
        chance: Estimated probability that it holds what the question asks for, 0 to 1.
        words: Lexemes of the question, to cut around.
        is_nearest: Whether the question asks for nothing but a time, and this is of another one.
        nearness: Its similarity as a share of the nearest passage's: that of the hit's vectors or
            that of this side's tokens, whichever is the smaller share.
    """

    source: Source = field(repr=False)
    chunk: Chunk
    side: Side
    place: int
    chance: float
    words: Sequence[str] = ()
    is_nearest: bool = False
    nearness: float = 1.0

    @property
    def key(self) -> tuple[int, Side]:
        """Return what identifies it: the chunk and the side."""
        return self.chunk.chunk_id, self.side

    @property
    def speaker(self) -> str:
        """Return the name of who speaks, empty for a session."""
        chunk = self.chunk
        names = {"user": chunk.user_speaker, "assistant": chunk.assistant_speaker}
        return " ".join((names.get(self.side) or "").split()) or (
            "" if self.side == "session" else self.side
        )

    @cached_property
    def text(self) -> str:
        """Return the whole text, without blank lines."""
        return side_text(self.chunk, self.side)

    @cached_property
    def short(self) -> Excerpt:
        """Return the text at the length that leaves room for other passages."""
        longest = ANSWER_LENGTH if self.side == "assistant" else USER_LENGTH
        if len(self.visible_text) <= longest:
            return Excerpt(self.visible_text, False)
        return self.cut(CUT_ANSWER_LENGTH if self.side == "assistant" else USER_LENGTH)

    @cached_property
    def visible_text(self) -> str:
        """Return the text to show: of an answer, the length of each pasted part in its place.

        Tool output holds words of any question, and the finding is next to it. A text stays
        whole if it holds most words of the question, and none of them outside its pasted parts.
        """
        if self.side != "assistant":
            return self.text
        parts = cut_prompt(self.chunk.assistant_text)
        pasted = [part for part in parts if part.kind == "pasted"]
        if not pasted or len(pasted) == len(parts):
            return self.text
        rest, at, whole = "", 0, self.chunk.assistant_text
        for part in pasted:
            lines = whole[part.start : part.end].count("\n") + 1
            rest += f"{whole[at : part.start]}[{ELLIPSIS} {lines} lines]"
            at = part.end
        rest += whole[at:]
        stems = {stem.casefold() for stem in self.words if stem}
        if _count_stems(rest, stems) or 2 * _count_stems(whole, stems) <= len(stems):
            return _without_blank_lines(rest)
        return self.text

    @property
    def _stems(self) -> list[str]:
        # Words that met by meaning count as the question's own: "moved" is where "live" is met.
        met = [
            item.met
            for item in self.source.explain.matches
            if item.similarity >= MET and len(item.met) >= LEAST_WORD
        ]
        return [*self.words, *met]

    def cut(self, length: int) -> Excerpt:
        """Return the stretch of at most so many characters that meets the question best."""
        return fit_text(self.visible_text, length, self._stems)


def _count_stems(text: str, stems: Collection[str]) -> int:
    """Return how many of the stems a word of the text begins with."""
    words = {word.casefold() for word in _WORD.findall(text)}
    return sum(any(word.startswith(stem) for word in words) for stem in stems)


def side_text(chunk: Chunk, side: Side) -> str:
    """Return the text of one side of a chunk without blank lines.

    A later part of a long exchange repeats the exchange's opening. It counts where the part has
    nothing else of the user.
    """
    own = chunk.own_user_text
    texts = {
        "user": own if own.strip() else chunk.user_text,
        "assistant": chunk.assistant_text,
    }
    text = texts.get(side, chunk.session_text)
    return _without_blank_lines(text)


def _without_blank_lines(text: str) -> str:
    return "\n".join([line.rstrip() for line in text.strip().splitlines() if line.strip()])


def exchange_key(chunk: Chunk) -> tuple[str, str, str, int]:
    """Return what identifies the exchange, or the session, that a chunk is a part of."""
    return chunk.user_id, chunk.session_id, chunk.granularity, chunk.ordinal


_NEVER = datetime.max.replace(tzinfo=UTC)


def find_confidence(chunk: Chunk, question: Question | None) -> float:
    """Return the confidence that a question which asks for nothing but a time means a chunk's.

    Args:
        chunk: The chunk; without a time it is 0.
        question: The analysed question; if it asks for more, or is None, it is 0.
    """
    if question is None or not question.is_dated_alone:
        return 0.0
    return question.confidence_of(question.day_of(chunk))


def find_passages(
    sources: Sequence[Source], words: Sequence[str], question: Question | None = None
) -> list[Passage]:
    """Return the sides of all hits with their chances, those of the best chance first.

    Of a question that asks for nothing but a time, those of that time come first, in its order.

    Args:
        sources: The hits, best first.
        words: Lexemes of the question.
        question: The analysed question, if it is known.
    """
    passages: dict[object, Passage] = {}
    best: dict[int, float] = {}
    for source in sources:
        best[source.query] = max(source.score, best.get(source.query, source.score))
    rows: list[tuple[int, Source, Chunk, Side, Weights]] = [
        (place, source, chunk, side, features)
        for place, source in enumerate(sources)
        for chunk in source.chunks
        for side, features in side_features(source, chunk, place, best[source.query])
        # "go on" says nothing: it opens its answer.
        if not (side == "user" and chunk.assistant_text.strip() and is_small_talk(chunk.user_text))
    ]
    similarity = max((source.explain.similarity for source in sources), default=0.0)
    near = max((features.near for *_, features in rows), default=0.0)
    for place, source, chunk, side, features in rows:
        # A hit that was not compared with the question by vectors has a similarity of 0.
        own = source.explain.similarity or similarity
        total = sum(map(float.__mul__, WEIGHTS, features))
        passage = Passage(
            source=source,
            chunk=chunk,
            side=side,
            place=place,
            chance=1 / (1 + math.exp(-total)),
            words=words,
            nearness=min(own / (similarity or 1.0), features.near / (near or 1.0)),
        )
        # An exchange that two hits share keeps its better place, and what parts share, such as
        # an opening, is shown once.
        passages.setdefault((exchange_key(chunk), side, passage.text), passage)
    ordered = sorted(passages.values(), key=lambda it: (-it.chance, it.place, it.side != "user"))
    if question is None or not question.is_dated_alone or not question.stretches:
        return ordered
    dated: list[Passage] = []
    for it in ordered:
        confidence = find_confidence(it.chunk, question)
        near = date_proximity(question.day_of(it.chunk), question.intervals)
        chance = confidence or it.chance * near
        dated.append(replace(it, chance=chance, is_nearest=not confidence))
    if all(it.is_nearest for it in dated):
        # The time is empty. What is nearest may hold the answer yet: its chance stays.
        return [replace(it, is_nearest=True) for it in ordered]

    def key(it: Passage) -> tuple[bool, float, bool, datetime]:
        # The answers come last: they are long, and the days are the users' own.
        at = it.chunk.occurred_at or _NEVER
        return it.is_nearest, -it.chance, it.side == "assistant", at

    return sorted(dated, key=key)


def side_features(
    source: Source, chunk: Chunk, place: int, best: float
) -> Iterator[tuple[Side, Weights]]:
    """Yield the sides of a chunk that have a text, with the features that WEIGHTS weigh.

    Args:
        source: The hit.
        chunk: One of its exchanges.
        place: Place of the hit, from 0.
        best: Score of the best hit.
    """
    texts: dict[Side, str] = {
        side: text for side in ("user", "assistant", "session") if (text := side_text(chunk, side))
    }
    sides = source.explain.sides if len(source.chunks) == 1 else None
    near: dict[Side, float | None] = {
        "user": sides.user if sides else None,
        "assistant": sides.assistant if sides else None,
    }
    is_alone = len(texts) == 1
    for side, text in texts.items():
        value, other = near.get(side), near["assistant" if side == "user" else "user"]
        nearer = NEARER_ALONE if is_alone else 0.0
        if not is_alone and value is not None and other is not None:
            nearer = max(-NEARER_LIMIT, min(NEARER_LIMIT, value - other))
        yield (
            side,
            Weights(
                bias=1.0,
                place=math.log1p(place),
                behind=best - source.score,
                near=NEAR_UNKNOWN if value is None else value,
                nearer=nearer,
                alone=float(is_alone),
                answer=float(side == "assistant"),
                length=math.log1p(len(text)) / 5,
            ),
        )
