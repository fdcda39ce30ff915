"""Patterns that are compiled when they are first needed: most questions name no time."""

import re
from functools import cache


@cache
def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled pattern of a regular expression."""
    return re.compile(source, flags)
