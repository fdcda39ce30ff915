"""Finds what a question quotes."""

import re
from collections.abc import Iterator

from memsense.text.spans import Span

LONGEST = 200
"""Quotation marks further apart than so many characters are no pair."""

_MARKS = (
    ('"', '"', '"'),
    ("\u201c", "\u201c\u201d", "\u201d"),
    ("\u201e", "\u201c\u201d\u201e", "[\u201c\u201d]"),
    ("\u00ab", "\u00ab\u00bb", "\u00bb"),
    ("\u300c", "\u300c\u300d", "\u300d"),
    ("\u300e", "\u300e\u300f", "\u300f"),
)
_APOSTROPHES = (("'", "'"), ("\u2018", "\u2019"))
_QUOTED = re.compile(
    "|".join(
        [f"{left}([^{neither}]{{1,{LONGEST}}}){right}" for left, neither, right in _MARKS]
        # An apostrophe inside a word begins and ends no quotation.
        + [
            rf"(?<!\w){left}((?:[^{right}]|{right}(?=\w)){{1,{LONGEST}}}){right}(?!\w)"
            for left, right in _APOSTROPHES
        ]
    )
)


def find_quotations(text: str) -> Iterator[tuple[Span, str]]:
    """Where the text quotes, quotation marks included, and what, without them; blank ones not."""
    for match in _QUOTED.finditer(text):
        quoted = match[match.lastindex or 0].strip()
        if quoted:
            yield match.span(), quoted
