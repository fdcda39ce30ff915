"""Keys of names, which all spellings share, and the keys that a question may mean."""

import re

from memsense.text.scripts import unify_forms
from memsense.text.words import ALSO_WORDS, COMMON

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
    """Return the name in lower case, without marks, possessive and "the"; "" if too short."""
    # Most names are ASCII, and need no Unicode normalisation.
    plain = name if name.isascii() else unify_forms(name).replace("\u2019", "'")
    plain = _EDGES.sub("", _BLANKS.sub(" ", plain.casefold()))
    plain = _POSSESSIVE.sub("", plain).removeprefix("the ")
    return plain if len(plain) >= SHORTEST_NAME else ""


def question_keys(question: str) -> tuple[str, ...]:
    """Return at most 120 keys of one to four neighbouring words that may name an entity."""
    tokens = _TOKEN.findall(question[:LONGEST_QUESTION])
    # Judged once for each word: every word is part of up to ten grams.
    nameable = [_is_nameable(token) for token in tokens]
    keys: dict[str, None] = {}
    for start in range(len(tokens)):
        for end in range(start, min(start + LONGEST_GRAM, len(tokens))):
            if nameable[start] and nameable[end]:
                key = entity_key(" ".join(tokens[start : end + 1]))
                if key:
                    keys[key] = None
    return tuple(keys)[:LARGEST_KEYS]


def _is_nameable(token: str) -> bool:
    key = entity_key(token)
    if key in ALSO_WORDS:
        return token[0].isupper()
    return bool(key) and key not in COMMON
