"""Cost of token vectors: processor time of a search with and without, bytes, and embedding.

    python -m benchmarks.tokens --chunks 1000 --chunks 10000 --tokens 70 --tokens 254

Every exchange gets so many tokens of random signs: 70 is what two people say, 254 the most
that is kept of an assistant's. Each question is asked with and without in turn, so that whatever
else the machine does meets both alike. The processor's time is this process's and that of the
server's processes for it, which must run on this machine. Embedding is measured on the messages of
the corpus with the shipped embedder.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from benchmarks import stores
from benchmarks.corpus import Corpus, PreparedEmbedder, load_corpus
from memsense import MemSense
from memsense.db.embedded import EmbeddedServer
from memsense.embed import (
    OnnxEmbedder,
    Passage,
    QuestionTokens,
    Reading,
    Tokens,
    Vectors,
    Vocabulary,
)
from memsense.search.profiles import BALANCED

USER = "ada"
# Every constant that reads token vectors: with all at 0 a search asks for none.
WITHOUT = BALANCED.override(
    name="without tokens",
    tokens_weight=0.0,
    tokens_speaker_weight=0.0,
    tokens_around_weight=0.0,
    tokens_session_weight=0.0,
    tokens_whole_weight=0.0,
)
ROUNDS = 3
EXCHANGES = 256
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class PreparedTokens(PreparedEmbedder):
    """Embedder with prepared vectors, `length` random tokens a text, and ten a question."""

    length: int = 70
    vocabulary: Vocabulary = Vocabulary([f"w{number}" for number in range(30_000)])  # noqa: RUF009

    def read(self, passages: Sequence[Passage]) -> list[Reading]:
        """Return the prepared vectors, and random tokens."""
        rng = np.random.default_rng(len(passages[0].text))
        shape = self.length, self.dimension // 8
        return [
            Reading(
                vector=self.embed_query(passage.text),
                parts=[None] * len(passage.parts),
                tokens=Tokens(
                    pieces=rng.integers(30_000, size=self.length, dtype=np.uint16),
                    starts=np.arange(self.length),
                    signs=rng.integers(256, size=shape, dtype=np.uint8),
                ),
            )
            for passage in passages
        ]

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """Return the prepared vector, and ten random tokens."""
        rng = np.random.default_rng(len(text))
        vectors = rng.standard_normal((10, self.dimension), dtype=np.float32)
        return self.embed_query(text), QuestionTokens(
            vocabulary=self.vocabulary,
            words=[f"w{number}" for number in range(10)],
            vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
            weights=np.ones(10),
        )


def measure_store(url: str, corpus: Corpus, chunks: int, lengths: Sequence[int]) -> list[Any]:
    """Return a row for each length: bytes of an exchange, and processor milliseconds per search."""
    stores.fill_user(url, corpus, USER, chunks)
    stores.settle(url)
    plain = sum(stores.sizes(url).values())
    return [
        {
            "chunks": chunks,
            "tokens": length,
            "bytes": plain / chunks,
            **measure(url, corpus, length),
        }
        for length in lengths
    ]


def measure(url: str, corpus: Corpus, length: int) -> dict[str, float]:
    """Fill the store with tokens of this length, and search it with and without them."""
    known = dict(zip(corpus.questions, corpus.question_vectors, strict=True))
    embedder = PreparedTokens(known=known, length=length)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("TRUNCATE memsense.token_vectors")
    place: dict[str, Any] = {"tenant": stores.TENANT, "namespace": stores.NAMESPACE}
    with MemSense.open(url, embedder=embedder, **place) as memory:
        filled = memory.indexes.fill_tokens()
        stores.settle(url)
        for profile in (BALANCED, WITHOUT) * 3:
            ask(memory, corpus.questions[:20], profile.name == BALANCED.name)
        took = {True: 0.0, False: 0.0}
        for _ in range(ROUNDS):
            for with_tokens in (True, False):
                before = processor_time(url)
                ask(memory, corpus.questions, with_tokens)
                took[with_tokens] += processor_time(url) - before
    searches = ROUNDS * len(corpus.questions)
    return {
        "token_bytes": token_bytes(url) / filled,
        "without_ms": 1000 * took[False] / searches,
        "with_ms": 1000 * took[True] / searches,
        "ratio": took[True] / took[False],
    }


def ask(memory: MemSense, questions: Sequence[str], with_tokens: bool) -> None:
    """Search every question once, for exchanges."""
    profile = BALANCED if with_tokens else WITHOUT
    for question in questions:
        memory.search(question, user_id=USER, profile=profile, granularity="turn")


def processor_time(url: str) -> float:
    """Return the seconds of this process, and of those that the server runs for the database."""
    with psycopg.connect(url) as connection:
        backends = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid()"
        ).fetchall()
    return time.process_time() + sum(_seconds_of(pid) for (pid,) in backends)


def _seconds_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def token_bytes(url: str) -> int:
    """Return the bytes of the table of token vectors, with its index and TOAST."""
    with psycopg.connect(url) as connection:
        sized = "SELECT pg_total_relation_size('memsense.token_vectors')"
        return int(connection.execute(sized).fetchall()[0][0])


def measure_embedding(corpus: Corpus) -> dict[str, float]:
    """Return processor milliseconds for an exchange's three texts apart, and for one reading."""
    pairs = list(zip(corpus.messages[::2], corpus.messages[1::2], strict=False))[:EXCHANGES]
    whole = ["\n".join(pair) for pair in pairs]
    sides = [side for pair in pairs for side in pair]
    embedder = OnnxEmbedder()
    passages = [
        Passage(text, (((0, len(user)),), ((len(text) - len(answer), len(text)),)))
        for text, (user, answer) in zip(whole, pairs, strict=True)
    ]
    embedder.read(passages[:4])
    started = time.process_time()
    embedder.embed([*whole, *sides])
    between = time.process_time()
    embedder.read(passages)
    ended = time.process_time()
    each = 1000 / len(pairs)
    return {"without_ms": each * (between - started), "with_ms": each * (ended - between)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, action="append")
    parser.add_argument("--tokens", type=int, action="append", help="of every exchange")
    parser.add_argument("--url", help="a server on which databases may be created; default: own")
    options = parser.parse_args()
    corpus = load_corpus()
    rows: list[Any] = []
    with tempfile.TemporaryDirectory(prefix="memsense-tokens-") as directory:
        own = None if options.url else EmbeddedServer(Path(directory))
        with own or nullcontext():
            server_url = own.url if own else options.url
            for chunks in options.chunks or (1000, 10_000):
                with stores.new_database(server_url, f"memsense_tokens_{chunks}") as url:
                    rows += measure_store(url, corpus, chunks, options.tokens or (70, 254))
    print(json.dumps({"search": rows, "embedding": measure_embedding(corpus)}, indent=1))


if __name__ == "__main__":
    main()
