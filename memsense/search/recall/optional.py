"""Optional routes, which run if a profile gives them weight; each has a package of its own.

The one place where search names them, except for `Route` in profiles.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from memsense.graph.route import GraphRoute
from memsense.search.profiles import Profile, Route


class OptionalRoute(Protocol):
    """A route whose scores are shares, 0 to 1, which can't be compared across questions."""

    @property
    def meaning(self) -> str:
        """Return what a score is a share of, for `memsense.scores.SCORE_KINDS`."""
        ...

    @property
    def table(self) -> str:
        """Return the table whose rows lead to its chunks."""
        ...

    def ask(self, question: str) -> Mapping[str, Any] | None:
        """Return the parameters of its steps, None if the question names nothing it could use."""
        ...

    def steps(self, takes_part: Callable[[str], str], *, lookups: bool) -> Iterator[str]:
        """Yield its CTEs, the last under its name; `takes_part` filters a column of chunk ids.

        `lookups` has the meaning that it has in `Shape`.
        """
        ...


OPTIONAL_ROUTES: Mapping[Route, OptionalRoute] = MappingProxyType({"graph": GraphRoute()})


def ask_optional(question: str, profile: Profile) -> Mapping[Route, Mapping[str, Any]]:
    """Return the optional routes that run for a question, with their parameters."""
    requests: dict[Route, Mapping[str, Any]] = {}
    for name, route in OPTIONAL_ROUTES.items():
        if profile.weights[name] and (values := route.ask(question)) is not None:
            requests[name] = values
    return requests
