"""Order in time that a question asks for: what came before something, or the last time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memsense.search.question.quotations import Span
from memsense.search.question.time.engine import CJK, read_words
from memsense.search.question.time.patterns import pattern
from memsense.search.question.time.rules import count_units
from memsense.search.question.time.vocabulary import Word

Side = Literal["before", "after"]

NEAREST = 3
"""How many words before or after a quotation may say that it is about what came before it."""

LONGEST_QUESTION = 300
"""Maximum length of a question about neighbours: a story has "before" in every other sentence."""

_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_SENTENCE_END = r"[.!?。！？]\s|\n"
_WORDS = r"[^\W\d_]+"
_FINAL = " \t\n?!.…？！。:;,"

# A word of order, then what it is about: "right after I swam", "the week after the move".
_BESIDE = (
    r"\^(?P<side>[bap])"
    r"|(?P<count>[ND])?(?P<unit>[UJ])o?(?P<unit_side>[bap])(?=[^MWvSYInDRFLPXBCiVNQ])"
)
_WHEN_LAST = (
    r"\W{0,3}when\s+(?:did|have|has|had|was|were|is)\s+(?:[^\W_]+\s+){1,3}?(?:(?P<last>last)|(?P<first>first))"
    r"(?!\s+(?:week|month|year|night|name))\s"
)
_CJK_BESIDE = (
    (
        r"(?:就在|刚好在|剛好在|紧接在|緊接在|刚在)(?P<anchor>.{2,100}?)(?P<side>之?前|之?后|之?後|以前|以后)",
        0,
    ),
    (r"(?P<anchor>.{2,100}?)の?(?:すぐ)?(?P<side>直前|直後|すぐ前|すぐ後)", 0),
    (r"(?P<anchor>.{2,100}?)(?P<side>之?前|之?后|之?後)(?:的那|那|的)?一?(?:周|週|个星期)", 7),
    (r"(?P<anchor>.{2,100}?)の?(?P<side>前週|翌週|後の週|前の週)", 7),
)
"""What is asked about, the side, and how many days are meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Order in time that a question asks for.

    Attributes:
        kind: "before" and "after" ask for the neighbours of `anchor`, "last" and "first" for the
            latest and the earliest memory about the topic.
        anchor: The text whose neighbours are asked for; "" for "last" and "first".
        span: The place of the anchor, or of the words that say "last" or "first".
        days: How many days before or after the anchor are meant ("the week after the move" is 7); 0
            for the neighbours themselves.
    """

    kind: Literal["before", "after", "last", "first"]
    anchor: str = ""
    span: Span
    days: int = 0


def find_order(text: str, quotations: Sequence[tuple[Span, str]]) -> Order | None:
    """Return the order in time that a question asks for, None if it asks for none.

        find_order("What came right before the storm?", ())  # before, "the storm"
        find_order("When did I last see Ann?", ())  # last

    Args:
        text: The question.
        quotations: Its quotations: one next to "before" or "after" is the anchor.
    """
    if len(text) > LONGEST_QUESTION:
        return None
    if len(quotations) == 1:
        span, quoted = quotations[0]
        start, end = text.find("\u00ab"), text.rfind("\u00bb")
        if start >= 0 and start < span[0] and end >= span[1]:
            # A quotation in a quotation: the outer one is meant.
            span, quoted = (start, end + 1), text[start + 1 : end].strip()
        if side := _side_of_quotation(text, span):
            return Order(kind=side, anchor=quoted, span=span)
    order = None
    if not quotations and pattern(CJK).search(text):
        order = _find_unspaced(text)
    for words in () if order else read_words(text):
        roles = "".join([word.role for word in words])
        order = None if quotations else _find_beside(text, words, roles)
        if order := order or _find_times(text, words, roles):
            break
    if order is None and (match := pattern(_WHEN_LAST, re.IGNORECASE).match(text)):
        name = "last" if match["last"] else "first"
        return Order(kind=name, span=match.span(name))
    return order


def _find_unspaced(text: str) -> Order | None:
    """Return the order of 就在搬家之前 and 引っ越しの翌週."""
    for source, days in _CJK_BESIDE:
        if match := pattern(source).match(text) or pattern(source).search(text):
            kind: Side = "after" if set(match["side"]) & set("后後翌") else "before"
            return Order(kind=kind, anchor=match["anchor"], span=match.span("anchor"), days=days)
    return None


def _side_of_quotation(text: str, span: Span) -> Side | None:
    """Return whether the sentence of a quotation asks for what came before or after it."""
    end_of_sentence = pattern(_SENTENCE_END)
    start = max((match.end() for match in end_of_sentence.finditer(text, 0, span[0])), default=0)
    end = end_of_sentence.search(text, span[1])
    before, after = text[start : span[0]], text[span[1] : end.start() if end else len(text)]
    near = f"{before} {after}"
    if not pattern(CJK).search(near):
        # Only near the quotation: a question may have a "before" of its own.
        words = pattern(_WORDS)
        near = " ".join([*words.findall(before)[-NEAREST:], *words.findall(after)[:NEAREST]])
    roles = {word.role for words in read_words(near) for word in words}
    is_before, is_after = not roles.isdisjoint("bp"), "a" in roles
    if is_before == is_after:
        return None
    return "before" if is_before else "after"


def _find_beside(text: str, words: Sequence[Word], roles: str) -> Order | None:
    """Return the order of "right before X" and of "the week after X"."""
    match = pattern(_BESIDE).search(roles)
    if match is None:
        return None
    days = 0
    if match["unit"]:
        unit = words[match.start("unit")].value
        number = words[match.start("count")] if match["count"] else None
        days = count_units(number, unit)[1] * _UNIT_DAYS.get(unit.name, 0)
        if days == 0 or (unit.is_many and number is None):
            return None  # "how many days after"
    start = words[match.end() - 1].end
    anchor = text[start:].strip(_FINAL)
    if not anchor:
        return None
    start = text.index(anchor, start)
    kind: Side = "after" if (match["side"] or match["unit_side"]) == "a" else "before"
    return Order(kind=kind, anchor=anchor, span=(start, start + len(anchor)), days=days)


def _find_times(text: str, words: Sequence[Word], roles: str) -> Order | None:
    """Return the order of "the last time"."""
    place = min((roles.find(role) for role in "$%" if role in roles), default=None)
    if place is None:
        return None
    word = words[place]
    # "As we said last time" looks back, "What did I order last time?" asks.
    is_bare = word.text.lower() == "last time" and roles[place - 1 : place] != "d"
    if is_bare and text[word.end :].strip() != "?":
        return None
    return Order(kind="last" if word.role == "$" else "first", span=(word.start, word.end))
