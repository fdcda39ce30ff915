"""Marks in a text the words that a question asks for; the text itself stays as it is."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

LONGEST_WORD = 100
"""Characters; what is longer is no word that a question holds."""

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


class Piece(NamedTuple):
    """A stretch of a text, marked or not."""

    text: str
    is_marked: bool


def list_words(texts: Iterable[str]) -> list[str]:
    """The distinct words of some texts."""
    found = (match[0] for text in texts for match in _WORD.finditer(text))
    return list(dict.fromkeys(word for word in found if len(word) <= LONGEST_WORD))


def mark_words(text: str, words: Collection[str]) -> Sequence[Piece]:
    """The text in pieces, whose texts joined are the text."""
    pieces: list[Piece] = []
    end = 0
    for match in _WORD.finditer(text):
        if match[0] in words:
            pieces += [Piece(text[end : match.start()], False), Piece(match[0], True)]
            end = match.end()
    return [piece for piece in (*pieces, Piece(text[end:], False)) if piece.text]
