"""A model is added, switched to, switched back and switched to again, under eight searching and two
writing clients."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import psycopg
from counting import assert_counted
from embedders import TokenHashingEmbedder
from test_models import NEW, OLD, WORDS, fill, vectors_of
from waiting import wait_until

from memsense import MemSense
from memsense.search.hits import SearchResult

OpenMemory = Callable[..., MemSense]

SEARCHERS, WRITERS = 8, 2
LEAST = 24
"""Searches between two changes, and a write of each writer."""

TOLERANCE = 0.005
"""What half precision makes of a cosine."""


def say(writer: int, number: int) -> dict[str, Any]:
    words = [WORDS[(writer + number + step) % len(WORDS)] for step in range(3)]
    return {
        "messages": [
            {"role": "user", "content": f"Writer {writer} saw {words[0]} and {words[1]} {number}."},
            {"role": "assistant", "content": f"And the {words[2]}?"},
        ],
        "user_id": "ada",
        "session_id": f"w{writer}-{number // 5}",
    }


def models_of(result: SearchResult, question: str) -> set[str]:
    """Return the models whose cosines these hits have; all models if cosines are equal."""
    found = {"old", "new"}
    for hit in result:
        given = next((one.score for one in hit.explain.routes if one.route == "vec_full"), None)
        if given is None:
            continue
        text = f"{hit.chunk.user_text}\n{hit.chunk.assistant_text}".strip("\n")
        for embedder in (OLD, NEW):
            query, [vector] = embedder.embed_query(question), embedder.embed([text])
            if abs(float(np.dot(query, vector)) - given) > TOLERANCE:
                found.discard(embedder.model)
    return found


def shown(memory: MemSense) -> list[Any]:
    """Return the hits of a search of everything, without what depends on the order of ties."""
    found = memory.search("the cello and the harbour", user_id="ada", top_k=1000)
    values = [
        (hit, {term.name: round(term.value, 6) for term in hit.explain.terms}) for hit in found
    ]
    names = ("coverage", "similarity", "tokens")
    return sorted(
        (hit.session_id, hit.chunk.ordinal, hit.content, *(terms.get(name) for name in names))
        for hit, terms in values
    )


class Load:
    """Clients that search and write until they are stopped; `errors` has their failures."""

    def __init__(self, clients: list[MemSense]) -> None:
        self.errors: list[BaseException] = []
        self.mixed: list[str] = []
        self.searched: Counter[str] = Counter()
        self.written = [0] * WRITERS
        self._clients = clients
        self._stop = threading.Event()
        self._lock = threading.Lock()

    def search(self, number: int) -> None:
        memory = self._clients[number % len(self._clients)]
        for turn in count(number):
            question = f"the {WORDS[turn % 9]} and the {WORDS[(turn + 4) % 9]}"
            result = memory.search(question, user_id="ada", granularity="turn")
            models = models_of(result, question)
            with self._lock:
                self.searched.update(models if len(models) == 1 else ())
                if not models:
                    self.mixed.append(question)
            if self._stop.is_set():
                return

    def write(self, writer: int) -> None:
        memory = self._clients[writer % len(self._clients)]
        for number in count():
            memory.add(**say(writer, number))
            self.written[writer] = number + 1
            if self._stop.is_set():
                return

    def run(self, change: Callable[[], None]) -> None:
        with ThreadPoolExecutor(SEARCHERS + WRITERS) as threads:
            works = [threads.submit(self.search, number) for number in range(SEARCHERS)]
            works += [threads.submit(self.write, writer) for writer in range(WRITERS)]
            try:
                change()
            finally:
                self._stop.set()
        self.errors += [error for work in works if (error := work.exception())]


def test_a_switch_under_load_fails_nothing_and_mixes_nothing(
    open_memory: OpenMemory, database_url: str
) -> None:
    clients = [open_memory(embedder=OLD, other_embedders=[NEW]) for _ in range(3)]
    owner = clients[0]
    fill(owner)
    load = Load(clients)
    seen: list[Counter[str]] = []

    def settle() -> None:
        searched, written = load.searched.total(), list(load.written)
        wait_until(
            lambda: (
                load.errors
                or load.mixed
                or (
                    load.searched.total() >= searched + LEAST
                    and all(now > then for now, then in zip(load.written, written, strict=True))
                )
            ),
            "searches and writes between two changes",
        )
        seen.append(Counter(load.searched))

    def change() -> None:
        settle()
        owner.models.add(NEW)
        settle()
        for step in (lambda: owner.models.switch("new"), owner.models.back):
            step()
            settle()
        owner.models.switch("new")
        settle()

    load.run(change)
    assert load.errors == []
    assert load.mixed == []
    assert seen[1].keys() == {"old"}
    assert load.searched["new"]
    assert min(load.written) > 0
    left = next(one for one in owner.models.status() if one.name == "new")
    assert (left.state, left.lacking) == ("in use", 0)
    owner.models.drop("old")

    fresh = open_memory(embedder=TokenHashingEmbedder(32, "fresh"), namespace="fresh")
    fill(fresh)
    for writer, written in enumerate(load.written):
        for number in range(written):
            fresh.add(**say(writer, number))
    assert vectors_of(database_url, "new") == vectors_of(database_url, "fresh")
    assert vectors_of(database_url, "old") == []
    with psycopg.connect(database_url) as conn:
        assert_counted(conn)
    assert shown(owner) == shown(fresh)
