"""Optional routes, which run where a profile gives them weight: each is a folder of its own.

The one place where search names them, beside `Route` in profiles.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from memsense.graph.route import GraphRoute
from memsense.search.profiles import Profile, Route


class OptionalRoute(Protocol):
    """A route whose scores are shares, 0 to 1, that can't be compared across questions."""

    @property
    def meaning(self) -> str:
        """What its score is a share of."""
        ...

    @property
    def table(self) -> str:
        """The table whose rows lead to its chunks."""
        ...

    def ask(self, question: str) -> Mapping[str, Any] | None:
        """The parameters of its steps; None where the question gives it nothing to go by."""
        ...

    def steps(self, takes_part: Callable[[str], str], *, lookups: bool) -> Iterator[str]:
        """Its CTEs, the last under its name; `takes_part` filters a column of chunk ids.

        With `lookups`, the GIN indexes are asked through functions, as `Shape` says it.
        """
        ...


OPTIONAL_ROUTES: Mapping[Route, OptionalRoute] = MappingProxyType({"graph": GraphRoute()})


def ask_optional(question: str, profile: Profile) -> Mapping[Route, Mapping[str, Any]]:
    """The optional routes that run for a question, each with its parameters."""
    asked: dict[Route, Mapping[str, Any]] = {}
    for name, route in OPTIONAL_ROUTES.items():
        if profile.weights[name] and (values := route.ask(question)) is not None:
            asked[name] = values
    return asked
