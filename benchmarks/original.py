"""Query of the original on the original's layout, filled from a memsense store."""

from typing import Any

import psycopg
from numpy.typing import NDArray

from benchmarks.statements import statement

FILE = "original.sql"


def _text(vector: NDArray[Any]) -> str:
    return "[" + ",".join(f"{value:.7g}" for value in vector.tolist()) + "]"


class Original:
    """Tables of the original in a schema beside memsense's, on a default connection."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def fill(self) -> None:
        """Create the tables and copy every chunk and vector of the memsense store."""
        for name in ("create_tables", "copy_chunks", "copy_vectors", "create_indexes"):
            self._connection.execute(statement(FILE, name))

    def search(self, question: str, vector: NDArray[Any], user_id: str) -> list[int]:
        """Return the ids of the 32 best chunks."""
        values = {
            "tenant": "bench",
            "scope": "bench",
            "session_id": None,
            "agent_id": None,
            "user_id": user_id,
            "vector": _text(vector),
            "question": question,
        }
        return [row[0] for row in self._connection.execute(statement(FILE, "search"), values)]

    def add(self, chunk_id: int, content: str, vector: NDArray[Any], previous: int | None) -> None:
        """Store one exchange and give the one before it its next-user vector: three commits."""
        values = {
            "chunk_id": chunk_id,
            "user_id": "ada",
            "session_id": "bench",
            "content": content,
            "vector": _text(vector),
        }
        # Three statements in autocommit, so three commits, as the original's server does it.
        self._connection.execute(statement(FILE, "insert_chunk"), values)
        self._connection.execute(statement(FILE, "insert_vectors"), values)
        if previous is not None:
            values["chunk_id"] = previous
            self._connection.execute(statement(FILE, "backfill"), values)

    def size(self) -> int:
        """Return the bytes on disk, indexes included."""
        return int(self._connection.execute(statement(FILE, "measure_size")).fetchall()[0][0])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
