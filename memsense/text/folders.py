"""Test of whether a path lies in one of some folders, such as those whose sessions are never read.

Only the standard library, because hooks import it at every prompt.
"""

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path


def lies_in(path: str | Path, folders: Sequence[str | Path]) -> bool:
    """Return whether a path is one of the folders, or lies below one.

    Symbolic links are followed as well: a log may name a folder by either name. Paths of Windows
    are compared as texts; slashes and capitals make no difference.
    """
    if not folders or not str(path):
        return False
    spellings = _spell(str(path))
    return any(
        one == other or one.startswith(f"{other.rstrip('/')}/")
        for folder in folders
        for other in _spell(str(folder))
        for one in spellings
    )


@lru_cache(maxsize=4096)
def _spell(path: str) -> frozenset[str]:
    """Return a path as it is written and with its links followed, with / between names."""
    if "\\" in path or path[1:2] == ":":
        return frozenset({path.replace("\\", "/").rstrip("/").lower()})
    full = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 (a text, ten times as fast)
    return frozenset({full, os.path.realpath(full)})
