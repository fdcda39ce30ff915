"""Replacement of the characters that PostgreSQL's text cannot hold, and of nothing else."""

import re

REPLACEMENT = "\ufffd"
# `text` refuses NUL, and UTF-8 has no half of a surrogate pair ("\ud83d" in JSON).
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def sanitise(text: str) -> tuple[str, int]:
    """Return the text with NUL and lone surrogates as U+FFFD, and how many there were."""
    # The check takes a tenth of the search's time, and most texts are ASCII.
    if text.isascii() and "\x00" not in text:
        return text, 0
    return _UNSTORABLE.subn(REPLACEMENT, text)
