"""The name that was probably meant, for errors about an unknown one."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_ALIKE = 0.6
"""The least share of letters in common, as difflib counts them."""


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like this one, ignoring case, or None if none is."""
    spellings = {item.casefold(): item for item in names}
    matches = get_close_matches(name.casefold(), spellings, n=1, cutoff=_ALIKE)
    return spellings[matches[0]] if matches else None


def did_you_mean(unknown: str | Sequence[str], names: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the first unknown name that is like one, else nothing."""
    items = list(names)
    for name in [unknown] if isinstance(unknown, str) else unknown:
        if (nearest := nearest_name(name, items)) is not None:
            return f"; did you mean {nearest!r}?"
    return ""
