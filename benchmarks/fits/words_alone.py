"""Places of memories whose vectors are not made yet, for questions whose words they hold.

    memsense ingest locomo10.json
    python -m benchmarks.fits.words_alone locomo10.json --database-url URL

A memory loses its vectors and tokens for one search and gets them back. Asked are questions of the
file, each after the memory that words rank first; the whole text of a user's message; and six words
of it. Printed are the memories' places with vectors, without, and without the term `words_alone`.
The store must be nobody else's meanwhile.
"""

import argparse
import json
import random
import statistics
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from memsense import MemSense
from memsense.search.hits import SearchResult

EACH = 20
"""Questions, and messages, of each conversation."""

TOP_K = 100
NOWHERE = TOP_K + 1
TABLES = ("embeddings", "token_vectors")
MESSAGES = """
    SELECT c.chunk_id, c.user_text
    FROM memsense.chunks AS c JOIN memsense.scopes AS s USING (tenant_id, scope_id)
    WHERE s.user_id = %s AND c.granularity = 'turn' AND length(c.user_text) > 60
    ORDER BY md5(c.chunk_id::text)
    LIMIT %s
"""


@dataclass(slots=True)
class Places:
    """Places of memories with their vectors, without, and without vectors and term."""

    embedded: list[int] = field(default_factory=list[int])
    waiting: list[int] = field(default_factory=list[int])
    before: list[int] = field(default_factory=list[int])


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fits.words_alone", description=__doc__)
    parser.add_argument("file", type=Path, help="locomo10.json")
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--conversations", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    samples = json.loads(options.file.read_text(encoding="utf-8"))
    places = {"a question": Places(), "all its words": Places(), "six of its words": Places()}
    with (
        MemSense.open(options.database_url, namespace=options.namespace) as memory,
        psycopg.connect(options.database_url, autocommit=True) as connection,
    ):
        for number in options.conversations:
            sample = samples[number]
            user = sample["sample_id"]
            questions = [item["question"] for item in sample["qa"]]
            random.Random(number).shuffle(questions)
            for question in questions[:EACH]:
                for chunk_id in find_first_by_words(memory, user, question):
                    measure(memory, connection, user, question, chunk_id, places["a question"])
            for chunk_id, text in connection.execute(MESSAGES, (user, EACH)).fetchall():
                words = text.split()
                asked = {"all its words": words[:40], "six of its words": words[3:9]}
                for name, some in asked.items():
                    measure(memory, connection, user, " ".join(some), chunk_id, places[name])
    print("| asked by | memories | place | first | in the first 10 | median | last |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for name, found in places.items():
        print_row(name, "with vectors", found.embedded)
        print_row(name, "without", found.waiting)
        print_row(name, "without, and without the term", found.before)


def find_first_by_words(memory: MemSense, user: str, question: str) -> Iterator[int]:
    """Yield the memory that words rank first, if it is a hit."""
    for hit in memory.search(question, user_id=user, top_k=TOP_K):
        if any(route.route == "lexical" and route.rank == 1 for route in hit.explain.routes):
            yield hit.chunk_id


def measure(  # noqa: PLR0917 (two callers)
    memory: MemSense,
    connection: psycopg.Connection,
    user: str,
    question: str,
    chunk_id: int,
    places: Places,
) -> None:
    """Add a memory's places for one question."""
    places.embedded.append(place_of(memory.search(question, user_id=user, top_k=TOP_K), chunk_id))
    with without_vectors(connection, chunk_id):
        places.waiting.append(
            place_of(memory.search(question, user_id=user, top_k=TOP_K), chunk_id)
        )
        before = memory.search(
            question, user_id=user, top_k=TOP_K, overrides={"words_alone_weight": 0}
        )
        places.before.append(place_of(before, chunk_id))


@contextmanager
def without_vectors(connection: psycopg.Connection, chunk_id: int) -> Generator[None]:
    """Take the vectors and tokens of a memory away, and put them back."""
    names = [(sql.Identifier(name), sql.Identifier(f"kept_{name}")) for name in TABLES]
    for table, kept in names:
        keep = "CREATE TEMP TABLE {} AS SELECT * FROM memsense.{} WHERE chunk_id = {}"
        connection.execute(sql.SQL(keep).format(kept, table, sql.Literal(chunk_id)))
        remove = sql.SQL("DELETE FROM memsense.{} WHERE chunk_id = {}")
        connection.execute(remove.format(table, sql.Literal(chunk_id)))
    try:
        yield
    finally:
        for table, kept in names:
            put_back = sql.SQL("INSERT INTO memsense.{} SELECT * FROM {}")
            connection.execute(put_back.format(table, kept))
            connection.execute(sql.SQL("DROP TABLE {}").format(kept))


def place_of(result: SearchResult, chunk_id: int) -> int:
    """Return the place of a memory among the hits, from 1."""
    ids = [hit.chunk_id for hit in result]
    return ids.index(chunk_id) + 1 if chunk_id in ids else NOWHERE


def print_row(name: str, how: str, places: Sequence[int]) -> None:
    """Print one row of the table."""
    first, ten = places.count(1), sum(place <= 10 for place in places)
    numbers = f"{first} | {ten} | {statistics.median(places):g} | {max(places)}"
    print(f"| {name} | {len(places)} | {how} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
