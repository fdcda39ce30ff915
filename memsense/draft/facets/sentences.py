"""Sentences of a message with their offsets, by which a facet points at its source."""

import re
from collections.abc import Iterator

MAX_SENTENCE = 300
"""Characters; longer sentences are cut at a space. Facets are short, and matching stays bounded."""

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
# Blanks behind a mark tell the end of a sentence from "2.5" and "example.org". CJK puts no blanks
# there, so its full stops end a sentence by themselves.
_BREAK = re.compile(
    r"\n+|[。！？]+[」』”）]*|(?<![.!?…])[.!?…]+[\"'”’)\]*_]*(?=\s)"  # noqa: RUF001 (CJK marks)
)
_ABBREVIATION = re.compile(
    r"(?:(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|vs|e\.g|i\.e|approx|ca|bzw|z\.b)|(?:^|[\s(.])[a-hj-z])\.$",
    re.IGNORECASE,
)
_LEADING = re.compile(r"(?:\s|[-*+>#•]+\s|\d{1,3}[.)]\s)*")


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of each sentence of `text`, in order.

    A sentence ends at a line break, at a CJK full stop, or at `. ! ? …` before white space, unless
    an abbreviation precedes the mark or a lower-case letter follows it. Fenced code, list
    markers and surrounding white space belong to no sentence, and none is longer than
    `MAX_SENTENCE` characters.
    """
    # Fenced code states nothing about a person, and its lines look like odd sentences.
    blocks: list[tuple[int, int]] = []
    position = 0
    for code in _CODE.finditer(text) if "```" in text else ():
        blocks.append((position, code.start()))
        position = code.end()
    blocks.append((position, len(text)))
    for start, end in blocks:
        begin = start
        for mark in _BREAK.finditer(text, start, end):
            if not _continues(text, begin, mark):
                yield from _trim(text, begin, mark.end())
                begin = mark.end()
        yield from _trim(text, begin, end)


def _continues(text: str, begin: int, mark: re.Match[str]) -> bool:
    """Return whether the sentence goes on behind a full stop: after an abbreviation, or before a
    lower-case letter."""
    if not mark.group().startswith((".", "…")):
        return False
    # Only a few characters around the mark are looked at, so that a text of marks stays linear.
    following = text[mark.end() : mark.end() + 8].lstrip(" \t")[:1]
    tail = text[max(begin, mark.start() - 8) : mark.start() + 1]
    return following.islower() or _ABBREVIATION.search(tail) is not None


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the sentence without its list marker and blanks, in pieces if it is too long."""
    marker = _LEADING.match(text, start, end)
    start = marker.end() if marker else start
    while end > start and text[end - 1].isspace():
        end -= 1
    while end - start > MAX_SENTENCE:
        cut = text.rfind(" ", start + 1, start + MAX_SENTENCE + 1)
        cut = cut if cut > start else start + MAX_SENTENCE
        yield start, cut
        start = cut + (text[cut] == " ")
    if start < end:
        yield start, end
