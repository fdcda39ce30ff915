"""Rule for questions that ask for a name: of a person, an animal, a place or a house."""

import re

_NAME = re.compile(
    r"\b(?:who|whom|whose|where|names?|called)\b"
    r"|\b(?:which|what) (?:city|country|town|place|state|school|restaurant|street|company)\b",
    re.IGNORECASE,
)


def asks_for_name(text: str) -> bool:
    """Return whether an English question asks for a name.

        asks_for_name("Who is my physio?")  # True

    Args:
        text: The question.
    """
    return bool(_NAME.search(text))
