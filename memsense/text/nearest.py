"""Says of a name that nothing has which one may have been meant."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_ALIKE = 0.6
"""The least share of letters in common, as difflib counts them."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, in any case; None where none is."""
    spelt = {item.casefold(): item for item in known}
    found = get_close_matches(name.casefold(), spelt, n=1, cutoff=_ALIKE)
    return spelt[found[0]] if found else None


def did_you_mean(names: str | Sequence[str], known: Iterable[str]) -> str:
    """ "; did you mean 'x'?" for the first of the names that has a neighbour, else nothing."""
    items = list(known)
    for name in [names] if isinstance(names, str) else names:
        if (found := nearest_name(name, items)) is not None:
            return f"; did you mean {found!r}?"
    return ""
