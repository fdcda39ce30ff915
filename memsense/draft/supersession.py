"""The judgement, made when an exchange is written, that it supersedes what an earlier one says.

Unlike the term `current` of a search, it knows no question: it compares two statements of one user
by what they share and by the newer one's words of change.
"""

import math
from typing import Final, NamedTuple

from memsense.draft.facets.sentences import split_sentences
from memsense.text.changes import Statement, read_statement


class Evidence(NamedTuple):
    """Evidence that the newer of two statements supersedes the older one, or the weight of each."""

    bias: float
    cosine: float
    """Cosine of the vectors of what the user says."""

    shared: float
    """Rarity of the words that both say: 1 for a word that nothing else has, summed over words."""

    change: float
    """The newer one has words of a change, such as "no longer"."""

    end: float
    """It has a word that often ends something, such as "sold"."""

    start: float
    """It has a word that often begins something, such as "now"."""

    numbers: float
    """Each has a number that the other one lacks."""

    name: float
    """Both name the same person or thing, with a capital letter."""

    addition: float
    """The newer one has words of addition, such as "also"."""

    asks: float
    """The newer one asks instead of saying something."""

    after_question: float
    """The older one asks."""

    length: float
    """Logarithm of the number of words of both: long messages share words by their length."""


# Fitted by `python -m benchmarks.fits.fit_supersession` on one half of
# tests/data/changed_facts.jsonl; docs/how/constants.md, "What is true now", has the figures.
WEIGHTS: Final = Evidence(
    bias=-4.51, cosine=3.73, shared=2.15, change=1.23, end=1.05, start=1.1, numbers=1.57,
    name=0.55, addition=-0.73, asks=-0.45, after_question=-0.95, length=-1.17,
)  # fmt: skip

THRESHOLD: Final = -3.0
"""Logit above which a supersession is stored: evidence for the ranking of searches."""

PLAIN: Final = 0.0
"""Logit above which it is plain enough to be said: precision comes before recall."""

_SHORT: Final = 3
"""Number of sentences up to which a message is read whole."""


class Comparison(NamedTuple):
    """Two statements of one user, compared: the newer one's words of change, and the evidence.

    The words are empty if it has none; then it supersedes nothing.
    """

    reason: str
    evidence: Evidence


def compare(older_text: str, newer_text: str, *, cosine: float, shared: float) -> Comparison:
    """Compare what a user said with what the user said later.

    Of a long message only the sentence that shares most words with the other message counts, with
    its neighbours.

    Args:
        older_text: The user's side of the earlier exchange.
        newer_text: The user's side of the later one.
        cosine: Cosine of the vectors of both.
        shared: Summed rarity of the words that both say.
    """
    whole_older, whole_newer = read_statement(older_text), read_statement(newer_text)
    older = read_statement(_nearest(older_text, whole_newer))
    newer = read_statement(_nearest(newer_text, whole_older))
    evidence = Evidence(
        bias=1.0,
        cosine=cosine,
        shared=shared,
        change=float(bool(newer.change)),
        end=float(bool(newer.end)),
        start=float(bool(newer.start)),
        numbers=float(bool(older.numbers - newer.numbers) and bool(newer.numbers - older.numbers)),
        name=float(bool(older.names & newer.names)),
        addition=float(newer.is_addition),
        asks=float(whole_newer.is_question),
        after_question=float(whole_older.is_question),
        length=math.log(2 + len(whole_older.plain) + len(whole_newer.plain)),
    )
    return Comparison(newer.change or newer.end or newer.start, evidence)


def _nearest(text: str, other: Statement) -> str:
    """Return the sentence that shares most words with another message, and its neighbours."""
    places = list(split_sentences(text))
    if len(places) <= _SHORT:
        return text
    shared = [len(read_statement(text[start:end]).words & other.words) for start, end in places]
    best = shared.index(max(shared))
    near = places[max(best - 1, 0) : best + 2]
    return text[near[0][0] : near[-1][1]]


def rate(evidence: Evidence) -> float:
    """Return the logit of the chance that the newer statement supersedes the older one."""
    return sum([weight * value for weight, value in zip(WEIGHTS, evidence, strict=True)])
