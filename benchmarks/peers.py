"""Other in-process stores through their own packages: LanceDB's hybrid search, and Chroma.

Each gets the same chunks with their full-text vectors, in a directory of its own, and is asked with
vectors at hand. A peer whose package is not installed is left out with a message.
"""

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector.psycopg import register_vector

from benchmarks.statements import statement

BATCH = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Chunks of one user: ids, texts, and a vector each as a row, (n, d) float32."""

    ids: Sequence[int]
    texts: Sequence[str]
    vectors: NDArray[np.float32]


class Peer(Protocol):
    """Protocol of another in-process memory store."""

    name: str

    def fill(self, documents: Documents) -> None:
        """Store all documents and build what indexes the peer recommends."""
        ...

    def add(self, chunk_id: int, text: str, vector: NDArray[np.float32]) -> None:
        """Store one document."""
        ...

    def search(self, question: str, vector: NDArray[np.float32]) -> list[int]:
        """Return the ids of the 8 best documents."""
        ...


def load_documents(url: str, user_id: str) -> Documents:
    """Read a user's chunks from a memsense store."""
    with psycopg.connect(url) as connection:
        register_vector(connection)
        texts = dict(
            connection.execute(
                statement("stores.sql", "load_texts"), {"user_id": user_id}
            ).fetchall()
        )
        values = {"route": "full", "user_id": user_id}
        rows = connection.cursor(binary=True).execute(
            statement("stores.sql", "load_vectors"), values
        )
        vectors = {chunk_id: vector.to_numpy() for chunk_id, vector in rows}
    ids = sorted(vectors)
    return Documents(
        ids=ids,
        texts=[texts[chunk_id] for chunk_id in ids],
        vectors=np.array([vectors[chunk_id] for chunk_id in ids], dtype=np.float32),
    )


def _import(name: str) -> Any:
    """Import an optional package, which has no types here."""
    return importlib.import_module(name)


class LancePeer:
    """LanceDB: exact vector search and full-text search, fused by its RRF reranker."""

    name = "lancedb hybrid"

    def __init__(self, directory: Path) -> None:
        self._arrow = _import("pyarrow")
        self._database = _import("lancedb").connect(str(directory))
        self._table: Any = None

    def _rows(self, documents: Documents) -> Any:
        width = documents.vectors.shape[1]
        flat = self._arrow.array(documents.vectors.ravel())
        vectors = self._arrow.FixedSizeListArray.from_arrays(flat, width)
        columns = {"id": documents.ids, "text": documents.texts, "vector": vectors}
        return self._arrow.table(columns)

    def fill(self, documents: Documents) -> None:
        """Make one table with a full-text index; a vector index is advised beyond 100,000 rows."""
        self._table = self._database.create_table("chunks", self._rows(documents))
        self._table.create_fts_index("text")

    def add(self, chunk_id: int, text: str, vector: NDArray[np.float32]) -> None:
        """Add a row, which is searched at once and indexed at the next optimisation."""
        one = Documents(ids=[chunk_id], texts=[text], vectors=vector[np.newaxis, :])
        self._table.add(self._rows(one))

    def search(self, question: str, vector: NDArray[np.float32]) -> list[int]:
        """Return the best documents of a hybrid search with the default reranker."""
        # Punctuation may be syntax to its full-text query.
        words = "".join(char if char.isalnum() else " " for char in question)
        query_result = self._table.search(query_type="hybrid").vector(vector).text(words)
        return query_result.limit(8).to_arrow()["id"].to_pylist()


class ChromaPeer:
    """Chroma: HNSW over vectors alone, with its default settings and no telemetry."""

    name = "chroma"

    def __init__(self, directory: Path) -> None:
        # Sending usage data to its makers would be part of the times.
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        chromadb = _import("chromadb")
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(path=str(directory), settings=settings)
        self._collection = self._client.create_collection(
            "chunks", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )

    def fill(self, documents: Documents) -> None:
        """Add everything in batches; the index is built on the way."""
        for start in range(0, len(documents.ids), BATCH):
            part = slice(start, start + BATCH)
            self._collection.add(
                ids=[str(chunk_id) for chunk_id in documents.ids[part]],
                documents=list(documents.texts[part]),
                embeddings=documents.vectors[part],
            )

    def add(self, chunk_id: int, text: str, vector: NDArray[np.float32]) -> None:
        """Add one more."""
        self._collection.add(ids=[str(chunk_id)], documents=[text], embeddings=[vector])

    def search(self, question: str, vector: NDArray[np.float32]) -> list[int]:  # noqa: ARG002
        """Return the nearest documents; Chroma's own package has no hybrid search in process."""
        query_result = self._collection.query(query_embeddings=[vector], n_results=8)
        return [int(chunk_id) for chunk_id in query_result["ids"][0]]


PEERS: tuple[type[LancePeer] | type[ChromaPeer], ...] = (LancePeer, ChromaPeer)


def open_peers(directory: Path) -> list[Peer]:
    """Open the installed peers, each empty, in sub-directories; print which are left out."""
    opened: list[Peer] = []
    for peer in PEERS:
        try:
            opened.append(peer(directory / peer.__name__))
        except ImportError as error:
            print(f"{peer.name} is left out ({error}); pip install 'memsense[bench]' adds it")
    return opened


def size_of(directory: Path) -> int:
    """Return the bytes of all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
