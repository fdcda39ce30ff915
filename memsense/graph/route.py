"""Graph route: chunks that mention the question's entities, or entities mentioned with them.

docs/how/entities.md has the formula, and why the route has weight 0 in every shipped profile: on
LoCoMo's conversations 5-9, weight 1 lowers turn recall@20 by 0.5 points (p = 0.009).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from memsense.db.queries import fill

FILE = "graph.sql"

SIMILARITY = 0.8
"""A name that no entity has stands for entities whose spelling is more similar than this."""

# A bound for well-known names, which are mentioned with thousands of others.
HOPS, EDGES = 2, 16
"""Hops of the route, and the number of an entity's strongest edges that each hop follows."""

DECAY = 0.5
"""Factor of a mention for every hop away from the question's own entities."""

BOOST = 1.5
"""Factor of a chunk's score if it mentions an entity of the question itself."""


class QuestionText(Protocol):
    """A question with its text."""

    @property
    def text(self) -> str:
        """Return the question in its own words."""
        ...


@dataclass(frozen=True, slots=True)
class GraphRoute:
    """Optional route of recall; docs/how/entities.md has its formula."""

    table: str = "mentions"
    step: str = "graph"
    has_past: bool = False
    meaning: str = (
        "mentions of the question's entities and their neighbours, as a share of the most that any"
        " chunk has"
    )

    def ask(self, question: QuestionText) -> Mapping[str, Any] | None:
        """Return the parameters of its steps; None if no word of the question may be a name."""
        # Imported here: the word lists of the extraction load only where the route has weight.
        from memsense.graph.extraction.naming import question_keys

        keys = question_keys(question.text)
        if not keys:
            return None
        return {
            "question_keys": list(keys),
            "graph_similarity": SIMILARITY,
            "graph_edges": EDGES,
            "graph_hops": HOPS,
            "graph_decay": DECAY,
            "graph_boost": BOOST,
        }

    def steps(
        self, takes_part: Callable[[str], str], *, lookups: bool = False, **_: object
    ) -> Iterator[str]:
        """Yield its CTEs; `takes_part` returns the condition on a column of chunk ids."""
        near = fill("graph_near_looked_up" if lookups else "graph_near", FILE)
        yield fill("graph_named", FILE)
        yield fill("graph_spellings", FILE)
        yield fill("graph_linked", FILE, near=near)
        yield fill("graph_reached", FILE)
        yield fill("graph", FILE, takes_part=takes_part("m.chunk_id"))

    def fact(self, takes_part: Callable[[str], str]) -> str:  # noqa: ARG002 (it has none)
        """Return no fact."""
        return ""
