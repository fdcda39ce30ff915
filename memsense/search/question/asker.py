"""Questions about the user in the third person, put as the user would ask them.

Agents ask "Where does Ines live?" or "What is her job?", and memories say "I live in Leipzig". Both
vectors and tokens meet more if the question says "I".
"""

import re
from collections.abc import Sequence

from memsense.text.words import ALSO_WORDS, GENERIC, read_words

_ID_PARTS = re.compile(r"[ ._-]")
_MOST_PARTS = 3
_FURTHEST = 6
"""Words of a question among which a pronoun without a name before it means the user."""

_WORDS = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*|[^\w\s]|\s+")
_ANY_WORD = re.compile(r"\w")
_FIRST_PERSON = frozenset(
    "i me my mine myself we us our ours i'm i've i'd i'll we're we've".split()
)
_PRONOUNS = {
    "she": "I", "he": "I", "they": "I", "him": "me", "them": "me", "his": "my", "their": "my",
    "hers": "mine", "theirs": "mine", "her": "my", "she's": "I'm", "he's": "I'm", "they're": "I'm",
}  # fmt: skip
_VERBS = {"is": "am", "are": "am", "does": "do", "has": "have", "doesn't": "don't", "isn't": "am"}
_AFTER_OBJECT = frozenset(
    "a about after and as at because before by for from if in into of on or so than that the then "
    "to today tomorrow what when where which who why with yesterday".split()
)
_PEOPLE = read_words("people")
"""Persons that a pronoun behind them may mean."""


def names_of(user_id: str | None) -> tuple[str, ...]:
    """Return the names that a user id holds, in lower case: none if it looks like no name."""
    parts = _ID_PARTS.split((user_id or "").split("@")[0].casefold())
    is_name = len(parts) <= _MOST_PARTS and all(part.isalpha() for part in parts)
    if not is_name or parts[0] in GENERIC:
        return ()
    return tuple([part for part in parts if len(part) > 1])


def ask_as_user(text: str, names: Sequence[str]) -> str:
    """Return an English question about the user as the user would ask it.

        ask_as_user("What is Ines's job?", ["ines"])  # "What is my job?"
        ask_as_user("Where does she live?", [])  # "Where do I live?"
        ask_as_user("Where does Rosa live, and is she happy?", ["ines"])  # unchanged

    A pronoun means the user if it is near the beginning or behind the user's name, and if no
    other person is named before it. A question that says "I" or "my" is returned unchanged.
    """
    pieces: list[str] = _WORDS.findall(text)
    places = [place for place, piece in enumerate(pieces) if _ANY_WORD.match(piece)]
    words = [pieces[place].replace("\u2019", "'") for place in places]
    folded = [word.casefold() for word in words]
    if not _FIRST_PERSON.isdisjoint(folded):
        return text
    result: list[str | None] = [*words]
    is_named, is_changed = False, False
    for index, word in enumerate(folded):
        bare = word.removesuffix("'s").removesuffix("s'")
        is_user = bare == "user" and index > 0 and folded[index - 1] == "the"
        is_capital = words[index][:1].isupper()
        if is_user or (is_capital and bare in names and not (index == 0 and bare in ALSO_WORDS)):
            if is_user:
                result[index - 1] = None
            is_name_part = (
                index > 0 and folded[index - 1] in names and words[index - 1][:1].isupper()
            )
            if is_name_part:
                result[index - 1] = None
            mark = pieces[places[index] + 1 : places[index] + 2]
            has_mark = word.endswith("s") and mark in (["'"], ["\u2019"])
            if has_mark:
                pieces[places[index] + 1] = ""
            result[index] = "my" if has_mark or bare != word else "I"
            is_named = True
        elif word in _PRONOUNS and (is_named or index < _FURTHEST):
            following = folded[index + 1] if index + 1 < len(folded) else "the"
            is_object = word == "her" and following in _AFTER_OBJECT
            result[index] = "me" if is_object else _PRONOUNS[word]
        elif word in _PEOPLE or (is_capital and index > 0):
            # From here on a pronoun may mean another person.
            break
        else:
            continue
        is_changed = True
        if result[index] == "I":
            _agree(result, folded, index)
    if not is_changed:
        return text
    for place, word in zip(places, result, strict=True):
        pieces[place] = word or ""
    return " ".join("".join(pieces).split())


def _agree(result: list[str | None], folded: Sequence[str], index: int) -> None:
    """Put the verb before or behind an "I" into the first person."""
    before = index - 1
    while before >= 0 and result[before] is None:
        before -= 1
    if before >= 0 and folded[before] in _VERBS:
        result[before] = _VERBS[folded[before]]
    elif index + 1 < len(folded) and folded[index + 1] in _VERBS:
        result[index + 1] = _VERBS[folded[index + 1]]
