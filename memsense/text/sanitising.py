"""Replaces what PostgreSQL text cannot hold, and nothing else."""

import re

REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def sanitise(text: str) -> tuple[str, int]:
    """The text with NUL and lone surrogates as U+FFFD, and how many there were."""
    return _UNSTORABLE.subn(REPLACEMENT, text)
