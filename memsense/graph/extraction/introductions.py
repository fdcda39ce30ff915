"""Names that users give themselves: "I'm Ines", "my name is Ines Castro", "call me Ines"."""

import re
from collections.abc import Iterator

from memsense.text.words import COMMON, read_words

# A name: up to three words with a capital, "de" or "van" between them. The bounds keep the search
# linear.
_WORD = r"(?![a-zà-ÿ\d_])\w[\w'\u2019-]{1,30}"
_NAME = rf"{_WORD}(?:[ ](?:(?:de|da|dos|van|von|der|al|el)[ ]){{0,2}}{_WORD}){{0,2}}"
# "I'm" alone says many other things, so that the sentence has to begin with it, and the name has to
# end it or be followed by where the user comes from.
_INTRODUCTION = re.compile(
    rf"\b[Mm]y (?:(?:first|full) )?name(?:'s|\u2019s| is) (?P<named>{_NAME})"
    rf"|\b[Cc]all me (?P<called>{_NAME})(?=[ ]*(?:[.,;:!?)\n]|$))"
    rf"|(?:^|[.!?,;:\n][ ]?|\b[Hh](?:i|ello|ey) )(?:I'm|I\u2019m|I am) (?P<stated>{_NAME})"
    r"(?=[ ]*(?:[.,;:!?)\n]|$|[-\u2013\u2014]|and\b|from\b|here\b))"
)

# "I'm German" says something else than a name; "my name is German" is one.
_NOT_NAMES = read_words("not names")


def find_introductions(text: str) -> Iterator[str]:
    """Yield the names that the writer of an English text gives herself, in their order.

        list(find_introductions("Hi, I'm Ines. I'm German."))  # ["Ines"]

    Args:
        text: What a user says.
    """
    for match in _INTRODUCTION.finditer(text):
        name = match[match.lastgroup or 0]
        if match["stated"] and name.casefold() in _NOT_NAMES:
            continue
        # Capitals alone are a role ("I'm CEO") or shouting.
        if name.split(" ")[0].casefold() not in COMMON and not name.isupper():
            yield name
