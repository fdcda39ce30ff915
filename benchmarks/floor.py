"""Lower bound: the same exact vector search by numpy over float32 in memory, by threads."""

from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector.psycopg import register_vector

from benchmarks.statements import statement
from memsense.search.profiles import Profile, Route

Vectors = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Chunk ids, (n,), and their vectors, (n, d)."""

NAMES: dict[Route, str] = {
    "vec_full": "full",
    "vec_user": "user",
    "vec_assistant": "assistant",
    "facet_personal_info": "personal_info",
    "facet_preferences": "preferences",
    "facet_events": "events",
}


class Floor:
    """Vectors of a user, one matrix for each route."""

    def __init__(self, url: str, profile: Profile, user_id: str) -> None:
        self._profile = profile
        with psycopg.connect(url) as connection:
            register_vector(connection)
            self.routes: dict[Route, Vectors] = {
                route: _load(connection, name, user_id)
                for route, name in NAMES.items()
                if profile.weights[route]
            }

    def search(self, vector: NDArray[np.float32], top_k: int = 8) -> list[int]:
        """Return the chunks with the best reciprocal-rank sums over the vector routes."""
        limit = self._profile.route_limit(top_k)
        scores: dict[int, float] = {}
        for route, (ids, matrix) in self.routes.items():
            for rank, chunk_id in enumerate(nearest(ids, matrix, vector, limit), start=1):
                weight = self._profile.weights[route]
                scores[chunk_id] = scores.get(chunk_id, 0.0) + weight / (self._profile.rrf_k + rank)
        return sorted(scores, key=lambda chunk_id: -scores[chunk_id])[:top_k]


def nearest(
    ids: NDArray[np.int64], matrix: NDArray[np.float32], vector: NDArray[np.float32], limit: int
) -> list[int]:
    """Return the ids of the `limit` vectors with the largest inner product, best first."""
    scores = matrix @ vector
    best = (
        np.argpartition(-scores, limit)[:limit] if limit < len(scores) else np.arange(len(scores))
    )
    return ids[best[np.argsort(-scores[best])]].tolist()


def _load(connection: psycopg.Connection[Any], route: str, user_id: str) -> Vectors:
    rows = connection.cursor(binary=True).execute(
        statement("stores.sql", "load_vectors"), {"route": route, "user_id": user_id}
    )
    pairs = [(chunk_id, vector.to_numpy()) for chunk_id, vector in rows]
    ids = np.array([chunk_id for chunk_id, _ in pairs], dtype=np.int64)
    matrix = np.array([vector for _, vector in pairs], dtype=np.float32)
    return ids, matrix.reshape(len(pairs), -1)
