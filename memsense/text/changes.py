"""Words of an English statement that distinguish a changed fact from a mention of it.

The rules read single words, so that a text of any length takes one pass. What they find is
evidence for or against a change, and no single one of them is proof.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from memsense.text.words import read_sections, read_words

_GAP = 4
"""Words that may stand where a phrase has an ellipsis."""

SUBJECTS = ("home", "work", "partner", "vehicle")

_VALUE_TYPES = {
    word: kind for kind, words in read_sections("values").items() for word in words.split()
}
_WORD = re.compile(r"[^\W_]+(?:[.,:][0-9]+)*(?:['\u2019][^\W_]+)?")
_SHORTEST_STEM = 3
_ENDINGS = ("ing", "ied", "ies", "'s", "ed", "es", "s")
_STOP_WORDS = read_words("function words")
_ASKING = frozenset(
    "what what's which who who's when where why how is are isn't aren't do does did don't "
    "doesn't can could should would will has have any anyone".split()
)

Phrase = tuple[str, ...]


def _index_phrases() -> dict[str, list[tuple[str, Phrase]]]:
    """Return the kind and the other words of each phrase, by its first word."""
    index: dict[str, list[tuple[str, Phrase]]] = {}
    for kind, phrases in read_sections("changes").items():
        for phrase in phrases.split("|"):
            first, *others = phrase.split()
            index.setdefault(first, []).append((kind, tuple(others)))
    return index


_PHRASES = _index_phrases()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement as the rules read it.

    Attributes:
        tokens: Its words in their order.
        stems: Stem of each of its words in their order, empty for a function word.
        words: The stems without function words.
        plain: All its words.
        values: Its words that are values of a type, and their types: ("friday", "day").
        kinds: First phrase of each kind in it, as spelled there.
        ends: Places of the words that end something.
        is_question: Whether it asks.
    """

    tokens: Sequence[str]
    stems: Sequence[str]
    words: frozenset[str]
    plain: frozenset[str]
    values: frozenset[tuple[str, str]]
    kinds: dict[str, str]
    ends: Sequence[tuple[int, str]]
    is_question: bool

    def speaks_of(self, kind: str) -> frozenset[str]:
        """Return the subjects with a phrase of a kind, "speaks of" or "changes"."""
        return frozenset([subject for subject in SUBJECTS if f"{kind} {subject}" in self.kinds])


# The same memories are candidates of many questions.
@lru_cache(maxsize=8192)
def read_statement(text: str) -> Statement:
    """Return the statement that a text makes; case does not matter."""
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    stems = [
        "" if word in _STOP_WORDS or (len(word) == 1 and not word.isdigit()) else _stem(word)
        for word in words
    ]
    kinds: dict[str, str] = {}
    ends: list[tuple[int, str]] = []
    for place, word in enumerate(words):
        for kind, others in _PHRASES.get(word, ()):
            end = _end_of(words, place + 1, others)
            if end is not None:
                phrase = " ".join(words[place:end])
                kinds.setdefault(kind, phrase)
                if kind == "end":
                    ends.append((place, phrase))
    return Statement(
        tokens=words,
        stems=stems,
        words=frozenset(stems) - {""},
        plain=frozenset(words),
        values=frozenset(
            [
                (word, _VALUE_TYPES.get(word) or ("time" if ":" in word else "number"))
                for word in words
                if word[0].isdigit() or word in _VALUE_TYPES
            ]
        ),
        kinds=kinds,
        ends=ends,
        is_question=text.rstrip().endswith("?") and words[:1] != [] and words[0] in _ASKING,
    )


def _stem(word: str) -> str:
    if word.endswith(_ENDINGS):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                return word.removesuffix(ending)
    return word


def _end_of(words: Sequence[str], place: int, others: Phrase) -> int | None:
    """Return where the rest of a phrase ends, None if it does not stand there."""
    for index, expected in enumerate(others):
        if expected == "...":
            # Phrases have one word behind the ellipsis.
            last = others[index + 1]
            near = words[place : place + _GAP + 1]
            return place + near.index(last) + 1 if last in near else None
        if words[place : place + 1] != [expected]:
            return None
        place += 1
    return place
