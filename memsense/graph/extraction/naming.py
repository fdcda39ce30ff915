"""The key that spellings of one name share, and the keys that a question may mean."""

import re
from collections.abc import Iterator

from memsense.graph.extraction.words import COMMON
from memsense.text.scripts import unify_forms
from memsense.text.words import ALSO_WORDS

LONGEST_GRAM = 4
LARGEST_KEYS = 120
LONGEST_QUESTION = 2000
"""Characters of a question that are read for names."""

SHORTEST_NAME = 2

_BLANKS = re.compile(r"\s+")
_EDGES = re.compile(r"^\W+$|^[^\w@#]+|(?<!\W)\W+$")
_POSSESSIVE = re.compile(r"'s?$")
_TOKEN = re.compile(r"[@#]?\w[^\s\"\u201c\u201d\u00ab\u00bb?!,;()\[\]{}]*")


def entity_key(name: str) -> str:
    """The name without case, outer punctuation, possessive ending and a leading "the".

    Empty for names of fewer than two letters or digits.
    """
    plain = name if name.isascii() else unify_forms(name).replace("\u2019", "'")
    plain = _EDGES.sub("", _BLANKS.sub(" ", plain.casefold()))
    plain = _POSSESSIVE.sub("", plain).removeprefix("the ")
    return plain if len(plain) >= SHORTEST_NAME else ""


def question_keys(question: str) -> tuple[str, ...]:
    """Every key of one to four neighbouring words that may name an entity, at most 120.

    Grams that begin or end with a function word are left out; words that are names and English
    words too ("will", "may") count with a capital only.
    """
    tokens = _TOKEN.findall(question[:LONGEST_QUESTION])
    keys = dict.fromkeys(key for gram in _grams(tokens) if (key := entity_key(gram)))
    return tuple(keys)[:LARGEST_KEYS]


def _grams(tokens: list[str]) -> Iterator[str]:
    nameable = [_is_nameable(token) for token in tokens]
    for start in range(len(tokens)):
        for end in range(start, min(start + LONGEST_GRAM, len(tokens))):
            if nameable[start] and nameable[end]:
                yield " ".join(tokens[start : end + 1])


def _is_nameable(token: str) -> bool:
    key = entity_key(token)
    if key in ALSO_WORDS:
        return token[0].isupper()
    return bool(key) and key not in COMMON
