"""The graph route: chunks that mention the question's entities, and entities beside them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memsense.db.queries import fill

FILE = "graph.sql"

SIMILARITY = 0.8
"""A misspelt name means an entity whose spelling is more similar than this."""

HOPS, EDGES = 2, 16
"""How far the route goes, and over how many of an entity's strongest edges each time."""

DECAY = 0.5
"""A mention counts so much less with every hop from the question's own entities."""

BOOST = 1.5
"""What a chunk's score is multiplied by when it mentions an entity of the question."""


@dataclass(frozen=True, slots=True)
class GraphRoute:
    """An optional route of recall; docs/entities.md has its formula."""

    table: str = "mentions"
    meaning: str = (
        "mentions of the question's entities and their neighbours, as a share of the most that any"
        " chunk has"
    )

    def ask(self, question: str) -> Mapping[str, Any] | None:
        """The parameters of its steps; None if the question has no word that may name anything."""
        from memsense.graph.extraction import question_keys

        keys = question_keys(question)
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

    def steps(self, takes_part: Callable[[str], str], *, lookups: bool = False) -> Iterator[str]:
        """Its CTEs; `takes_part` gives the condition on a column of chunk ids."""
        near = fill("graph_near_looked_up" if lookups else "graph_near", FILE)
        yield fill("graph_named", FILE)
        yield fill("graph_spellings", FILE)
        yield fill("graph_linked", FILE, near=near)
        yield fill("graph_reached", FILE)
        yield fill("graph", FILE, takes_part=takes_part("m.chunk_id"))
