"""Plain rankings of one user's exchanges: BM25 with stems, cosine, and their fusion (RRF, k = 60).

They read the texts and vectors that a store has. An exchange counts as one entry however many
chunks it has: BM25 reads it whole, and its best vector decides its cosine. Needs bm25s and
PyStemmer.
"""

import importlib
import importlib.util
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector.psycopg import register_vector

from benchmarks.panel_scores import DEPTH, Hit
from benchmarks.statements import statement
from memsense.errors import ConfigurationError

RRF_K = 60
FUSED = 200
"""Entries of each list that the fusion reads."""

LONGEST = 8_000
"""Characters of a question that are read, as by a search."""

PACKAGES = {"bm25s": "bm25s", "Stemmer": "PyStemmer"}
"""Packages without types that are imported at their first use, by module."""

SYSTEMS = ("BM25", "cosine", "RRF60")


def check_packages() -> None:
    """Raise ConfigurationError if bm25s or PyStemmer is not installed."""
    if missing := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        raise ConfigurationError(
            f"plain rankings need {' and '.join(PACKAGES[name] for name in missing)}:"
            " pip install 'memsense[bench]', or do without them by --alone"
        )


class PlainRankings:
    """Exchanges of one user, ranked by words, by vectors, and by both."""

    def __init__(self, url: str, namespace: str, user_id: str, dimension: int) -> None:
        """Read the exchanges from the store and index their words."""
        place = {"namespace": namespace, "user_id": user_id}
        with psycopg.connect(url) as connection:
            register_vector(connection)
            rows = (
                connection.cursor(binary=True)
                .execute(statement("stores.sql", "load_exchanges"), place)
                .fetchall()
            )
        numbers: dict[tuple[str, int], int] = {}
        self._sessions: list[str] = []
        self._texts: list[str] = []
        self._turns: list[set[str]] = []
        self._exchange_of = np.zeros(len(rows), dtype=np.intp)
        self._vectors = np.zeros((len(rows), dimension), dtype=np.float32)
        for row, (session_id, ordinal, user, assistant, message_ids, vector) in enumerate(rows):
            number = numbers.setdefault((session_id, ordinal), len(numbers))
            if number == len(self._texts):
                self._sessions.append(session_id)
                self._texts.append("")
                self._turns.append(set())
            self._texts[number] += f"{user}\n{assistant}\n"
            self._turns[number].update(message_ids)
            self._exchange_of[row] = number
            if vector is not None:
                self._vectors[row] = vector.to_numpy()
        self._bm25s: Any = importlib.import_module("bm25s")
        self._stemmer: Any = importlib.import_module("Stemmer").Stemmer("english")
        self._words: Any = self._bm25s.BM25()
        self._words.index(self._tokenize(self._texts, return_ids=True), show_progress=False)

    def rank(
        self,
        question: str,
        vector: NDArray[np.float32],
        *,
        hidden_sessions: Collection[str] = (),
        hidden_turns: Collection[str] = (),
    ) -> Mapping[str, list[Hit]]:
        """Return the best exchanges by system, without those that were not there yet."""
        sessions, turns = set(hidden_sessions), set(hidden_turns)
        pairs = zip(self._sessions, self._turns, strict=True)
        seen = np.array([name not in sessions and turns.isdisjoint(own) for name, own in pairs])
        cosine = np.full(len(self._texts), -1.0)
        np.maximum.at(cosine, self._exchange_of, self._vectors @ vector)
        tokens = self._tokenize([question[:LONGEST]], return_ids=False)[0]
        words: NDArray[np.float64] = (
            np.asarray(self._words.get_scores(tokens), dtype=np.float64)
            if tokens
            else np.zeros(len(self._texts))
        )
        by_words = _order(words, seen & (words > 0))
        by_cosine = _order(cosine, seen)
        fused = np.zeros(len(self._texts))
        for order in (by_words, by_cosine):
            best = order[:FUSED]
            fused[best] += 1 / (RRF_K + np.arange(1, len(best) + 1))
        orders = (by_words, by_cosine, _order(fused, fused > 0))
        return {
            system: [self._hit(number) for number in order[:DEPTH].tolist()]
            for system, order in zip(SYSTEMS, orders, strict=True)
        }

    def _hit(self, number: int) -> Hit:
        return Hit(turn_ids=frozenset(self._turns[number]), characters=len(self._texts[number]))

    def _tokenize(self, texts: list[str], *, return_ids: bool) -> Any:
        return self._bm25s.tokenize(
            texts,
            stopwords="en",
            stemmer=self._stemmer,
            return_ids=return_ids,
            show_progress=False,
        )


def _order(scores: NDArray[np.float64], there: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the numbers of what is there, best first; of equal ones the earlier first."""
    order = np.argsort(-scores, kind="stable")
    return order[there[order]]
