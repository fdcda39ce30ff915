"""Splits a message into sentences with their offsets, so that a facet can point at its source."""

import re
from collections.abc import Iterator

MAX_SENTENCE = 300
"""Longer sentences are cut at a space: facets are short, and matching stays bounded."""

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
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

    A sentence ends at a line break, at a CJK full stop, or at `. ! ? …` before white space
    where no known abbreviation, lower-case word or number follows on. Fenced code is left out,
    list markers and surrounding white space are not part of a sentence, and none is longer
    than `MAX_SENTENCE` characters.
    """
    for start, end in _split_prose(text):
        yield from _split_block(text, start, end)


def _split_prose(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    for code in _CODE.finditer(text) if "```" in text else ():
        yield position, code.start()
        position = code.end()
    yield position, len(text)


def _split_block(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin = start
    for mark in _BREAK.finditer(text, start, end):
        if not _goes_on(text, begin, mark):
            yield from _trim(text, begin, mark.end())
            begin = mark.end()
    yield from _trim(text, begin, end)


def _goes_on(text: str, begin: int, mark: re.Match[str]) -> bool:
    """Whether the full stop belongs to an abbreviation or the next word carries on."""
    if not mark.group().startswith((".", "…")):
        return False
    following = text[mark.end() : mark.end() + 8].lstrip(" \t")[:1]
    tail = text[max(begin, mark.start() - 8) : mark.start() + 1]
    return following.islower() or _ABBREVIATION.search(tail) is not None


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
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
