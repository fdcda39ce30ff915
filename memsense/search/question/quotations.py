"""Quotations in a question."""

import re
from collections.abc import Iterator

Span = tuple[int, int]

LONGEST_QUOTATION = 200
"""Maximum distance in characters between the marks of a quotation."""

_QUOTATION_MARKS = (
    ('"', '"', '"'),
    ("\u201c", "\u201c\u201d", "\u201d"),
    ("\u201e", "\u201c\u201d\u201e", "[\u201c\u201d]"),
    ("\u00ab", "\u00ab\u00bb", "\u00bb"),
    ("\u300c", "\u300c\u300d", "\u300d"),
    ("\u300e", "\u300e\u300f", "\u300f"),
)
"""Opening mark, characters that a quotation can't contain, and pattern of the closing mark."""

_APOSTROPHE_MARKS = (("'", "'"), ("\u2018", "\u2019"))
_QUOTATION = re.compile(
    "|".join(
        [
            f"{left}([^{excluded}]{{1,{LONGEST_QUOTATION}}}){right}"
            for left, excluded, right in _QUOTATION_MARKS
        ]
        # An apostrophe inside a word ("don't") neither begins nor ends a quotation.
        + [
            rf"(?<!\w){left}((?:[^{right}]|{right}(?=\w)){{1,{LONGEST_QUOTATION}}}){right}(?!\w)"
            for left, right in _APOSTROPHE_MARKS
        ]
    )
)


def find_quotations(text: str) -> Iterator[tuple[Span, str]]:
    """Yield each quotation that is not blank: its span with the marks, its text without them."""
    for match in _QUOTATION.finditer(text):
        quoted = match[match.lastindex or 0].strip()
        if quoted:
            yield match.span(), quoted
