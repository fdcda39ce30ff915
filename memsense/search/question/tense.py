"""The time that a question asks about: what is true now, what was true first, or neither."""

import re
from typing import Literal

Tense = Literal["now", "early", ""]

_PAST = re.compile(r"\b(?:was|were|did|had|used to|wasn't|weren't|didn't)\b", re.IGNORECASE)
# Not "until five" or "until Monday", which are what the question asks for.
_UNTIL = r"(?:until|till)(?= (?:the|my|our|your|his|her|their|its|an?|i|we|you|he|she|they|it) )"
_EARLY = re.compile(
    r"\b(?:before|at first|first|originally|original|initially|initial|previously|previous|formerly"
    r"|former|used to|in the beginning|at the start|earlier|in the past|back then|old"
    rf"|(?:begin|start) (?:with|out|off|as)|{_UNTIL})\b",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    r"\b(?:is|are|am|do|does|has|have|can|should|will|isn't|aren't|doesn't|don't)\b|['\u2019]s\b"
    r"|^\s{0,9}(?:what|who|which [^\W_]{1,40}) [^\W_]{1,40}s\b",
    re.IGNORECASE,
)
_END = re.compile(rf"\b(?:before|prior to|{_UNTIL})\s+(?P<end>\S.*)", re.IGNORECASE | re.DOTALL)
# Whether something ever happened, how far two things are apart, and what there is over many
# memories, is no state that changes.
_NO_STATE = re.compile(
    r"^\s{0,9}(?:have|has|haven't|hasn't)\b"
    r"|\b(?:ever|between|different|across|altogether|combined|compared?)\b",
    re.IGNORECASE,
)


def find_tense(text: str) -> Tense:
    """Return the time that an English question asks about.

        find_tense("Where do I live?")  # "now"
        find_tense("Where did I live before?")  # "early"
        find_tense("What did I buy in May?")  # "": what it says decides, not when it was said

    Questions in other languages are about neither.
    """
    if _NO_STATE.search(text):
        return ""
    if _PAST.search(text):
        return "early" if _EARLY.search(text) else ""
    return "now" if _PRESENT.search(text) else ""


def find_end(text: str) -> str:
    """Return what ended the time that a question asks about, "" if it says nothing of it.

        find_end("Where did I live before I came to Grenoble?")  # "I came to Grenoble?"
        find_end("Where did I live before?")  # ""

    Only of a question about earlier times does "before" tell an end.
    """
    match = _END.search(text)
    return match["end"] if match else ""
