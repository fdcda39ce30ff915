"""The judgement that a later statement replaces what an earlier one says.

Of two statements of one user the later one replaces the earlier one if it says another value of the
same attribute of the same subject. No single word shows that. A logistic regression weighs what
speaks for it and against it, with a question, as the term `current` of a search knows one, or
without, as a write does.
"""

from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from memsense.draft.facets.sentences import split_sentences
from memsense.text.changes import Statement, read_statement

NEAR: Final = 3
"""Words between a word that ends something and the value that it ends, at most."""

_ARTICLES: Final = frozenset(("a", "an", "the", "my", "our", "and", "to", "of", "i", "we", "for"))

_BEFORE_ALONE: Final = frozenset(("from", "not", "isn't", "rather than"))

_KINDS: Final = (
    "end", "start", "plan", "exception", "unchanged", "addition", "hearsay", "story",
)  # fmt: skip
"""Kinds of words of the newer statement that are evidence by themselves."""

COUNTER_SIGNS: Final = (
    "asks", "plan", "exception", "unchanged", "addition", "hearsay", "story", "owner", "foreign",
)  # fmt: skip
"""Evidence that rules out that a memory rises or is called superseded; one piece is enough."""


class Evidence(NamedTuple):
    """Evidence that a statement replaces another (docs/how/changes.md), or its weights."""

    bias: float = 0.0
    cosine: float = 0.0
    shared: float = 0.0
    lost: float = 0.0
    ended: float = 0.0
    typed: float = 0.0
    frame: float = 0.0
    same_value: float = 0.0
    end: float = 0.0
    start: float = 0.0
    subject: float = 0.0
    early: float = 0.0
    climb: float = 0.0
    finish: float = 0.0
    first: float = 0.0
    asks: float = 0.0
    plan: float = 0.0
    exception: float = 0.0
    unchanged: float = 0.0
    addition: float = 0.0
    hearsay: float = 0.0
    story: float = 0.0
    owner: float = 0.0
    foreign: float = 0.0
    after_question: float = 0.0


# Fitted by `python -m benchmarks.fits.fit_changes` on pairs of even ids of two labelled sets;
# docs/how/constants.md, "What is true now", has the figures.
WEIGHTS: Final = Evidence(
    bias=-4.2, cosine=5.48, shared=1.95, lost=-6.4, ended=2.0, typed=1.6, frame=1.11,
    same_value=-0.91, end=1.03, start=0.08, subject=2.08, early=2.26, climb=-7.34, finish=1.77,
    first=0.53, asks=-3.41, plan=-1.95, exception=-4.09, unchanged=-1.52, addition=-2.08,
    hearsay=-3.0, story=-2.67, owner=-3.0, foreign=-0.09, after_question=-2.68,
)  # fmt: skip
"""Weights of a search."""

UNASKED: Final = Evidence(
    bias=-4.52, cosine=5.5, shared=3.35, ended=0.28, typed=1.04, frame=1.07, same_value=-1.5,
    end=1.38, start=0.27, asks=-3.32, plan=-1.98, exception=-6.33, unchanged=-1.15,
    addition=-2.42, hearsay=-3.0, story=-2.95, owner=-3.0, after_question=-2.78,
)  # fmt: skip
"""Weights of a write, which knows no question: they find pairs, and call nothing a change."""

LEAST_LOGIT: Final = 2.0
"""Logit of `UNASKED` above which a write stores a pair.

From 0 on, a search reads a tenth more rows, for the partners of its candidates; from 2 on, no set
of benchmarks/panel.py finds less.
"""

_SHORT: Final = 3
"""Number of sentences up to which a message is read whole."""


class Comparison(NamedTuple):
    """Two statements, compared.

    Attributes:
        evidence: The evidence.
        proof: Its proof in words; empty if there is none.
        is_about_same: Whether the newer one has half of the words by which the question and the
            older one name the subject, ends a value of it, or tells a change of what both speak of.
    """

    evidence: Evidence
    proof: str
    is_about_same: bool

    @property
    def is_ruled_out(self) -> bool:
        """Return whether anything rules out that the newer one replaces the older one."""
        return any(getattr(self.evidence, sign) for sign in COUNTER_SIGNS)


def compare(
    older: Statement,
    newer: Statement,
    question: Statement | None,
    *,
    cosine: float,
    **others: float,
) -> Comparison:
    """Compare what a user said with what the user said later.

    Args:
        older: The earlier statement.
        newer: The later one.
        question: The question; without one, the earlier statement's own words stand for it.
        cosine: Cosine of both exchanges.
        others: Evidence that only a search has.
    """
    terms = question.words if question else frozenset[str]()
    value = older.words - terms
    attribute = older.words & terms if question else older.words
    ended = _find_ended(newer, value)
    typed = [
        (one, another)
        for one, kind in sorted(older.values - newer.values)
        for another, other_kind in sorted(newer.values - older.values)
        if kind == other_kind
    ]
    leads = _lead(older, value) & _lead(newer, newer.words - older.words - terms)
    # Only an earlier statement that has all words of the question is about it for sure.
    proof = ""
    if not attribute or attribute != (terms or attribute):
        pass
    elif ended:
        proof = f"ended: {ended}"
    elif typed and leads and attribute <= newer.words:
        proof = f"again: {typed[0][0]} -> {typed[0][1]}"
    owners = {
        word for word in newer.plain if word.removesuffix("'s") in value and word.endswith("'s")
    }
    question_words = question.plain if question else frozenset[str]()
    owners |= {
        owner
        for one, other in ((older, newer), (newer, older))
        if (owner := one.kinds.get("owner"))
        and not (other.plain | question_words).issuperset(owner.split())
    }
    subjects = older.speaks_of("speaks of") & newer.speaks_of("changes")
    if not question or subjects.isdisjoint(question.speaks_of("speaks of")):
        subjects = frozenset[str]()
    named = attribute & newer.words
    has_change = not newer.kinds.keys().isdisjoint(("end", "start"))
    evidence = Evidence(
        bias=1.0,
        cosine=cosine,
        shared=min(len(older.words & newer.words), 3) / 3,
        ended=float(bool(ended)),
        typed=float(bool(typed)),
        frame=float(bool(leads)),
        same_value=len(value & newer.words) / max(len(value), 1),
        subject=float(bool(subjects)),
        asks=float(newer.is_question),
        owner=float(bool(owners)),
        foreign=float(
            bool(question and (typed or leads) and named) and named < attribute and not has_change
        ),
        after_question=float(older.is_question),
        **{kind: float(kind in newer.kinds) for kind in _KINDS},
        **others,
    )
    is_named = bool(named) and 2 * len(named) >= len(attribute)
    return Comparison(evidence, proof, is_named or bool(ended or subjects))


def _find_ended(newer: Statement, value: AbstractSet[str]) -> str:
    """Return the phrase that ends a value and the value, in front of it or behind it; or ""."""
    for place, phrase in newer.ends:
        last = place + len(phrase.split())
        first, end = (last, last + 2) if phrase in _BEFORE_ALONE else (place - NEAR, last + NEAR)
        for stem in newer.stems[max(first, 0) : end]:
            if stem in value and stem not in phrase:
                return f"“{phrase}” {stem}"
    return ""


def _lead(statement: Statement, words: AbstractSet[str]) -> set[str]:
    """Return the function words in front of some words: "with" of "is with Halifax"."""
    pairs = zip(statement.tokens, statement.stems, statement.stems[1:], strict=False)
    return {
        token for token, stem, following in pairs if not stem and following in words
    } - _ARTICLES


def rate(evidence: Evidence, weights: Evidence = WEIGHTS) -> float:
    """Return the logit of the chance that the later statement replaces the earlier one."""
    return sum([weight * value for weight, value in zip(weights, evidence, strict=True)])


def compare_messages(older_text: str, newer_text: str, *, cosine: float) -> Comparison:
    """Compare two messages of a user, the older one first, without a question.

    Of a long message only the sentence that shares most words with the other message counts, with
    its neighbours.
    """
    older = read_statement(_nearest(older_text, read_statement(newer_text)))
    newer = read_statement(_nearest(newer_text, read_statement(older_text)))
    return compare(older, newer, None, cosine=cosine)


def _nearest(text: str, other: Statement) -> str:
    """Return the sentence that shares most words with another message, and its neighbours."""
    places = list(split_sentences(text))
    if len(places) <= _SHORT:
        return text
    shared = [len(read_statement(text[start:end]).words & other.words) for start, end in places]
    best = shared.index(max(shared))
    near = places[max(best - 1, 0) : best + 2]
    return text[near[0][0] : near[-1][1]]
