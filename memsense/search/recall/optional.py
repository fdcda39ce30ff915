"""Optional routes, which run if a profile gives them weight; each has a module of its own.

The one place where search names them, except for `Route` in profiles.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from memsense.graph.route import GraphRoute
from memsense.search.profiles import Profile, Route
from memsense.search.question import Question
from memsense.search.recall.time import TimeRoute


class OptionalRoute(Protocol):
    """A route whose scores are shares, 0 to 1, which can't be compared across questions."""

    @property
    def meaning(self) -> str:
        """Return what a score is a share of, for `memsense.scores.SCORE_KINDS`."""
        ...

    @property
    def step(self) -> str:
        """Return the name of the CTE that finds its chunks."""
        ...

    @property
    def table(self) -> str:
        """Return the table whose rows lead to its chunks."""
        ...

    @property
    def has_past(self) -> bool:
        """Return whether it can read memory as it stood at a moment."""
        ...

    def ask(self, question: Question) -> Mapping[str, Any] | None:
        """Return the parameters of its steps, None if the question names nothing it could use."""
        ...

    def steps(
        self,
        takes_part: Callable[[str], str],
        *,
        lookups: bool,
        cosines: Callable[[str], str],
    ) -> Iterator[str]:
        """Yield its CTEs, the last under its name.

        `takes_part` returns the condition on a column of chunk ids, `cosines` the query of the
        cosines of the chunks in a CTE; `lookups` is as in `Shape`.
        """
        ...

    def fact(self, takes_part: Callable[[str], str]) -> str:
        """Return a fact of the state that the statement reports, or ""."""
        ...


OPTIONAL_ROUTES: Mapping[Route, OptionalRoute] = MappingProxyType(
    {"graph": GraphRoute(), "time": TimeRoute()}
)


def ask_optional(
    question: Question, profile: Profile, *, is_past: bool = False
) -> Mapping[Route, Mapping[str, Any]]:
    """Return the optional routes that run for a question now or in the past, with parameters."""
    requests: dict[Route, Mapping[str, Any]] = {}
    for name, route in OPTIONAL_ROUTES.items():
        runs = profile.weights[name] and (route.has_past or not is_past)
        if runs and (values := route.ask(question)) is not None:
            requests[name] = values
    return requests
