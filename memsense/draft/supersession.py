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

COUNTER_SIGNS: Final = (
    "asks", "plan", "exception", "unchanged", "addition", "hearsay", "story", "owner", "foreign",
)  # fmt: skip
"""Evidence that rules out that a memory rises or is called superseded; one piece is enough."""


class Evidence(NamedTuple):
    """Evidence that the later of two statements replaces the earlier one, or the weight of each.

    Attributes:
        bias: None; it is always 1.
        cosine: Cosine of the exchanges.
        shared: Third of the number of words that both say, at most 1.
        lost: Share of the question's words that the earlier one meets better, by tokens.
        ended: A word that ends something, such as "dropped", is near a value of the earlier
            one.
        typed: Each has a value of a type, such as a weekday or a number, that the other one lacks.
        frame: A value of the earlier one and a new word stand behind the same word: "is with".
        same_value: Share of the earlier one's value words in the later one.
        end: The later one has a word that ends something.
        start: It has words of a state that begins, such as "now".
        subject: Earlier one and question speak of a home, say, and the later one tells of a move.
        early: The question asks for the earlier statement.
        climb: Score that an earlier statement lacks to the later one.
        finish: Share of the words of what ended the time that the question asks about, in the later
            one.
        first: No other candidate of the wanted time is between them.
        asks: The later one asks instead of saying something.
        plan: It tells of what is not so yet, such as "might".
        exception: It tells of a single day, such as "just for today".
        unchanged: It says that something stayed, such as "still".
        addition: It adds to what was said, such as "also".
        hearsay: It tells what others say or advise.
        story: It tells of earlier times.
        owner: It speaks of another one's thing: "my mother", "the other API".
        foreign: It says a value of the same kind, lacks a word by which the question and the
            earlier one name the subject, and has no word of change: "the web repo is on 20", "the
            worker repo is on 18".
        after_question: The earlier one asks.
    """

    bias: float
    cosine: float
    shared: float
    lost: float
    ended: float
    typed: float
    frame: float
    same_value: float
    end: float
    start: float
    subject: float
    early: float
    climb: float
    finish: float
    first: float
    asks: float
    plan: float
    exception: float
    unchanged: float
    addition: float
    hearsay: float
    story: float
    owner: float
    foreign: float
    after_question: float


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
    bias=-4.52, cosine=5.5, shared=3.35, lost=0.0, ended=0.28, typed=1.04, frame=1.07,
    same_value=-1.5, end=1.38, start=0.27, subject=0.0, early=0.0, climb=0.0, finish=0.0,
    first=0.0, asks=-3.32, plan=-1.98, exception=-6.33, unchanged=-1.15, addition=-2.42,
    hearsay=-3.0, story=-2.95, owner=-3.0, foreign=0.0, after_question=-2.78,
)  # fmt: skip
"""Weights of a write, which knows no question: they find pairs, and call nothing a change."""


LEAST_LOGIT: Final = 0.0
"""Logit of `UNASKED` above which a write stores a pair."""

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
    named = question.plain if question else frozenset[str]()
    owners |= {
        owner
        for one, other in ((older, newer), (newer, older))
        if (owner := one.kinds.get("owner")) and not (other.plain | named).issuperset(owner.split())
    }
    evidence = dict.fromkeys(Evidence._fields, 0.0) | others
    evidence |= {
        "bias": 1.0,
        "cosine": cosine,
        "shared": min(len(older.words & newer.words), 3) / 3,
        "ended": float(bool(ended)),
        "typed": float(bool(typed)),
        "frame": float(bool(leads)),
        "same_value": len(value & newer.words) / max(len(value), 1),
        "end": float("end" in newer.kinds),
        "start": float("start" in newer.kinds),
        "asks": float(newer.is_question),
        **{
            kind: float(kind in newer.kinds)
            for kind in ("plan", "exception", "unchanged", "addition", "hearsay", "story")
        },
        "owner": float(bool(owners)),
        "foreign": float(
            question is not None
            and bool(typed or leads)
            and not attribute <= newer.words
            and bool(attribute & newer.words)
            and newer.kinds.keys().isdisjoint(("end", "start"))
        ),
        "after_question": float(older.is_question),
    }
    if question:
        subjects = older.speaks_of("speaks of") & question.speaks_of("speaks of")
        evidence["subject"] = float(bool(subjects & newer.speaks_of("changes")))
    is_named = bool(attribute) and 2 * len(attribute & newer.words) >= len(attribute)
    is_about_same = is_named or bool(ended) or bool(evidence["subject"])
    return Comparison(Evidence(**evidence), proof, is_about_same)


def _find_ended(newer: Statement, value: AbstractSet[str]) -> str:
    """Return the phrase that ends a value and the value, empty if none does.

    "from" ends only what follows it at once; every other phrase also ends what is before it.
    """
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
    """Compare two messages of a user without a question.

    Of a long message only the sentence that shares most words with the other message counts, with
    its neighbours.

    Args:
        older_text: The user's side of the earlier exchange.
        newer_text: The user's side of the later one.
        cosine: Cosine of the vectors of both.
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
