"""What recall looks for in texts word for word: the question, its quotations, its identifiers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memsense.text.identifiers import as_lexemes
from memsense.text.scripts import is_unspaced, segment_scripts

LONGEST_PHRASE = 500
"""Questions longer than this stand word for word in no memory."""

_APOSTROPHE = re.compile("['\u2019]")
_ENDING = "?!.…？！。 \t\r\n"  # noqa: RUF001


def find_phrase(question: str) -> str:
    """The question as a memory might hold it: without its final marks; empty if it is too long."""
    phrase = question.strip().rstrip(_ENDING)
    return phrase if len(phrase) <= LONGEST_PHRASE else ""


def wording_pattern(text: str) -> str:
    r"""A regular expression of PostgreSQL for the text, to be matched without regard to case.

        wording_pattern("blue  lantern")  # r"\mblue\s+lantern\M"

    Blanks are any blanks, both apostrophes are one. It begins and ends where words do, except in
    scripts that are written without blanks.
    """
    pattern = r"\s+".join(map(re.escape, text.split()))
    pattern = _APOSTROPHE.sub("['\u2019]", pattern)
    first, last = text.strip()[:1], text.strip()[-1:]
    return (r"\m" if _is_bounded(first) else "") + pattern + (r"\M" if _is_bounded(last) else "")


def _is_bounded(character: str) -> bool:
    return (character.isalnum() or character == "_") and not is_unspaced(character)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What of a question is looked for word for word; empty where nothing depends on it.

    Texts that hold `phrase`, one of `quoted` or one of `identifiers` are told apart; texts that
    don't hold all of `required` take no part.
    """

    phrase: str = ""
    quoted: Sequence[str] = ()
    required: Sequence[str] = ()
    identifiers: Sequence[str] = ()

    def values(self) -> dict[str, str | list[str]]:
        """The parameters of the recall statement that tell it."""
        return {
            "wordings": [wording_pattern(text) for text in (self.phrase, *self.quoted) if text],
            "quoted_patterns": [wording_pattern(text) for text in self.required],
            "quoted_terms": segment_scripts("\n".join(self.required)),
            "identifiers": as_lexemes(self.identifiers),
        }


NO_WORDING = Wording()
