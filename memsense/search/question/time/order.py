"""Order in time that a question asks for: what came before something, or the last time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memsense.search.question.quotations import Span
from memsense.search.question.time.engine import Unit, Word, read_order_words

Side = Literal["before", "after"]

NEAREST = 30
"""Maximum distance in characters between a quotation and the "before" that is about it."""

LONGEST_QUESTION = 300
"""Maximum length of a question about neighbours: a story has "before" in every other sentence."""

_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_SENTENCE_END = re.compile(r"[.!?。！？]\s|\n")
_FINAL = " \t\n?!.…？！。:;,"

# A word of order, then what it is about: "right after I swam", "the week after the move".
_RIGHT_BESIDE = re.compile(r"\^(?P<side>[bap])")
_TIME_BESIDE = re.compile(
    r"(?P<count>[ND])?(?P<unit>[UJ])o?(?P<side>[bap])(?=[^MWvSYInDRFLPXBCiVNQ])"
)
_TIMES = re.compile(r"(?P<last>\$)|(?P<first>%)")
_WHEN_LAST = re.compile(
    r"\W{0,3}when\s+(?:did|have|has|had|was|were|is)\s+(?:[^\W_]+\s+){1,3}?(?:(?P<last>last)|(?P<first>first))"
    r"(?!\s+(?:week|month|year|night|name))\s",
    re.IGNORECASE,
)

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_CJK_BEFORE = re.compile(r"之前|以前|の前|前に|前は")
_CJK_AFTER = re.compile(r"之后|之後|以后|以後|の後|(?<!最)後に|のあと")
_CJK_BESIDE = re.compile(
    r"(?:就在|刚好在|剛好在|紧接在|緊接在|刚在)(?P<chinese>.{2,100}?)(?P<side>之前|之后|之後|以前|以后|前|后|後)"
    r"|(?P<japanese>.{2,100}?)の?(?:すぐ)?(?P<side2>直前|直後|すぐ前|すぐ後)"
    r"|(?P<chinese2>.{2,100}?)(?P<side3>之前|之后|之後|前|后|後)(?:的那|那|的)?一?(?:周|週|个星期)"
    r"|(?P<japanese2>.{2,100}?)の?(?P<side4>前週|翌週|後の週|前の週)"
)
_CJK_TIMES = re.compile(
    r"(?P<last>最后一次|最後一次|上一次|上次|最近一次|前回|最後に|最後は|最後の回)|(?P<first>第一次|头一次|初めて|最初に|初回)"
)


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
    if _CJK.search(text):
        return _find_cjk(text, has_quotation=bool(quotations))
    for words in read_order_words(text):
        roles = "".join([word.role for word in words])
        order = None if quotations else _find_beside(text, words, roles)
        if order := order or _find_times(text, words, roles):
            return order
    if match := _WHEN_LAST.match(text):
        name = match.lastgroup or ""
        return Order(kind="last" if name == "last" else "first", span=match.span(name))
    return None


def _side_of_quotation(text: str, span: Span) -> Side | None:
    """Return whether the sentence of a quotation asks for what came before or after it."""
    start = max((match.end() for match in _SENTENCE_END.finditer(text, 0, span[0])), default=0)
    end = _SENTENCE_END.search(text, span[1])
    before, after = text[start : span[0]], text[span[1] : end.start() if end else len(text)]
    if _CJK.search(before + after):
        is_before, is_after = (
            bool(pattern.search(before) or pattern.search(after))
            for pattern in (_CJK_BEFORE, _CJK_AFTER)
        )
    else:
        is_before = is_after = False
        # Only near the quotation: a question may have a "before" of its own.
        near = before[-NEAREST:].partition(" ")[2] if len(before) > NEAREST else before
        for words in read_order_words(f"{near} . {after[:NEAREST]}"):
            roles = "".join([word.role for word in words])
            is_before = is_before or "b" in roles or "p" in roles
            is_after = is_after or "a" in roles
    if is_before == is_after:
        return None
    return "before" if is_before else "after"


def _find_beside(text: str, words: Sequence[Word], roles: str) -> Order | None:
    """Return the order of "right before X" and of "the week after X"."""
    match = _RIGHT_BESIDE.search(roles)
    days = 0
    if match is None:
        match = _TIME_BESIDE.search(roles)
        if match is None:
            return None
        unit: Unit = words[match.start("unit")].value
        if unit.is_many and not match["count"]:
            return None  # "how many days after"
        number = words[match.start("count")] if match["count"] else None
        count: int = 1 if number is None else number.value
        if number is not None and number.role == "D":
            count = number.value[0]
        days = count * unit.factor * _UNIT_DAYS.get(unit.name, 0)
    start = words[match.end() - 1].end
    anchor = text[start:].strip(_FINAL)
    if not anchor or (days == 0 and match.re is _TIME_BESIDE):
        return None
    start = text.index(anchor, start)
    kind: Side = "after" if match["side"] == "a" else "before"
    return Order(kind=kind, anchor=anchor, span=(start, start + len(anchor)), days=days)


def _find_times(text: str, words: Sequence[Word], roles: str) -> Order | None:
    """Return the order of "the last time"."""
    match = _TIMES.search(roles)
    if match is None:
        return None
    word = words[match.start()]
    # "As we said last time" looks back, "What did I order last time?" asks.
    is_bare = word.text.lower() == "last time" and roles[match.start() - 1 : match.start()] != "d"
    if is_bare and text[word.end :].strip() != "?":
        return None
    return Order(kind="last" if match["last"] else "first", span=(word.start, word.end))


def _find_cjk(text: str, *, has_quotation: bool) -> Order | None:
    """Return the order that a Chinese or Japanese question asks for."""
    match = None if has_quotation else _CJK_BESIDE.match(text)
    if match is None and not has_quotation:
        match = _CJK_BESIDE.search(text)
    if match:
        name = next(
            name for name in ("chinese", "japanese", "chinese2", "japanese2") if match[name]
        )
        side = next(side for side in ("side", "side2", "side3", "side4") if match[side])
        is_after = match[side][0] in "后後翌" or match[side].endswith(("后", "後"))
        days = 7 if name.endswith("2") else 0
        kind: Side = "after" if is_after else "before"
        return Order(kind=kind, anchor=match[name], span=match.span(name), days=days)
    if match := _CJK_TIMES.search(text):
        return Order(kind="last" if match["last"] else "first", span=match.span())
    return None
