"""A node of the cluster is down: its own tenants wait, all others go on."""

from collections.abc import Callable, Generator
from contextlib import ExitStack

import pytest
from embedders import TokenHashingEmbedder
from nodes import find_port, node_down
from servers import TestServer

from memsense import MemSense
from memsense.errors import ConnectionFailedError
from memsense.types import Chunk


def said(text: str) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": f"Anna Smith says {text}."},
        {"role": "assistant", "content": f"Carla Jones heard {text}."},
    ]


def open_tenant(url: str, tenant: str) -> MemSense:
    return MemSense.open(url, embedder=TokenHashingEmbedder(), tenant=tenant)


def tenants_apart(url: str) -> tuple[str, str]:
    """Store tenants until two are on different nodes; return their names."""
    ports: dict[int, str] = {}
    for number in range(20):
        with open_tenant(url, f"tenant{number}") as memory:
            memory.add(said("tea"), user_id="ada", session_id="s")
        ports.setdefault(find_port(url, f"tenant{number}"), f"tenant{number}")
        if len(ports) == 2:
            break
    first, second = ports.values()
    return first, second


@pytest.fixture
def outage(server: TestServer, database_url: str) -> Generator[tuple[MemSense, MemSense]]:
    """Yield the memories of two tenants while the node of the second is down."""
    lasting, lost = tenants_apart(database_url)
    with ExitStack() as stack:
        memories = [stack.enter_context(open_tenant(database_url, it)) for it in (lasting, lost)]
        stack.enter_context(node_down(server, database_url, find_port(database_url, lost)))
        yield memories[0], memories[1]


def last(memory: MemSense) -> Chunk:
    return memory.recent(user_id="ada", limit=1)[0]


CALLS: dict[str, Callable[[MemSense], object]] = {
    "add": lambda it: it.add(said("mate"), user_id="ada", session_id="s"),
    "add of an answer": lambda it: [
        it.add(said("milk")[:1], user_id="ada", session_id="a"),
        it.add(said("milk")[1:], user_id="ada", session_id="a"),
    ],
    "add for a new user": lambda it: it.add(said("mate"), user_id="bo", session_id="s"),
    "add with a key": lambda it: it.add(said("juice"), user_id="ada", session_id="s", key="k"),
    "add for later": lambda it: [
        it.add(said("water"), user_id="ada", session_id="s", embed="later"),
        it.jobs.run(),
    ],
    "add of sessions": lambda it: [
        it.add(said("wine"), user_id="ada", session_id="h", mode="hybrid"),
        it.search("wine", user_id="ada", granularity="session"),
    ],
    "search": lambda it: it.search("tea", user_id="ada"),
    "search of all users": lambda it: it.search("tea", all_users=True),
    "why_not": lambda it: it.why_not("tea", last(it).chunk_id, user_id="ada"),
    "list": lambda it: it.list(user_id="ada"),
    "update with history": lambda it: [
        it.settings.set(history="on"),
        it.update(last(it).chunk_id, content={"user": "Anna Smith drinks cocoa."}),
    ],
    "promote": lambda it: it.promote(last(it).chunk_id),
    "archive and restore": lambda it: [
        chunk := last(it),
        it.archive(chunk.chunk_id),
        it.restore(chunk.chunk_id),
    ],
    "forget": lambda it: it.forget(last(it).chunk_id),
    "retention": lambda it: [it.ttl.set("30d", existing=True), it.ttl.sweep()],
    "keys": lambda it: it.access_keys.create(["read"]),
    "models": lambda it: it.models.status(),
    "optimise": lambda it: it.indexes.optimise(),
    "erase a session": lambda it: it.erase(user_id="ada", session_id="s"),
    "erase a user": lambda it: it.erase(user_id="ada"),
}


def test_a_node_that_is_down_stops_its_own_tenants_and_no_others(
    outage: tuple[MemSense, MemSense],
) -> None:
    lasting, lost = outage
    failed: list[str] = []
    for name, call in CALLS.items():
        try:
            call(lasting)
        except ConnectionFailedError as error:
            failed.append(f"{name}: {error}")
    assert failed == []
    with pytest.raises(ConnectionFailedError):
        lost.add(said("mate"), user_id="ada", session_id="s")
    with pytest.raises(ConnectionFailedError):
        lost.search("tea", user_id="ada")


def test_its_tenants_go_on_when_the_node_is_back(server: TestServer, database_url: str) -> None:
    _, lost = tenants_apart(database_url)
    with open_tenant(database_url, lost) as memory:
        with node_down(server, database_url, find_port(database_url, lost)):
            with pytest.raises(ConnectionFailedError):
                memory.add(said("mate"), user_id="ada", session_id="s")
        [chunk] = memory.add(said("mate"), user_id="ada", session_id="s")
        assert [hit.chunk_id for hit in memory.search("mate", user_id="ada", top_k=1)] == [
            chunk.chunk_id
        ]
