"""Shards are moved between nodes while clients add and search: nothing is lost or doubled."""

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from urllib.parse import urlsplit

import psycopg
import pytest
from embedders import HashingEmbedder
from invariants import assert_whole
from killing import plain_copy
from nodes import find_port
from servers import TestServer

from memsense import MemSense

TENANTS = ("acme", "bolt", "cask", "dune")
PATIENCE = 120

STORED = """
SELECT t.name, c.session_id, c.ordinal, c.user_text
FROM memsense.chunks AS c JOIN memsense.tenants AS t USING (tenant_id)
WHERE c.granularity = 'turn' ORDER BY 1, 2, 3
"""

SHARDS_PER_NODE = """
SELECT n.nodeport, count(s.shardid)
FROM pg_dist_node AS n
LEFT JOIN citus_shards AS s
  ON s.nodeport = n.nodeport AND s.table_name = 'memsense.namespaces'::regclass
WHERE n.groupid > 0 GROUP BY 1
"""

Stored = list[tuple[str, str, int, str]]


class Client:
    """A tenant's agent, which adds exchanges and looks each up until it is stopped."""

    def __init__(self, url: str, tenant: str) -> None:
        self._url = url
        self._tenant = tenant
        self.acknowledged: Stored = []

    def talk(self, stop: Event) -> None:
        """Add to sessions of ten exchanges; fail if one that was acknowledged is not found."""
        embedder = HashingEmbedder()
        with MemSense.open(self._url, embedder=embedder, tenant=self._tenant) as memory:
            while not stop.is_set():
                session, ordinal = divmod(len(self.acknowledged), 10)
                session_id = f"s{session:04}"
                text = f"Cup {session}.{ordinal} of {self._tenant} has tea."
                message = {"role": "user", "content": text}
                [chunk] = memory.add([message], user_id="ada", session_id=session_id)
                self.acknowledged.append((self._tenant, session_id, ordinal, text))
                hits = memory.search(text, user_id="ada", top_k=3)
                assert chunk.chunk_id in [hit.chunk_id for hit in hits]


@contextmanager
def under_load(url: str) -> Generator[Sequence[Client]]:
    """Let every tenant's client work inside, and wait for its end; its errors are raised."""
    clients = [Client(url, tenant) for tenant in TENANTS]
    stop = Event()
    with ThreadPoolExecutor(len(clients)) as threads:
        running = [threads.submit(client.talk, stop) for client in clients]
        try:
            yield clients
        finally:
            stop.set()
        for client in running:
            client.result(PATIENCE)


def shards_per_node(connection: psycopg.Connection) -> dict[int, int]:
    return dict(connection.execute(SHARDS_PER_NODE).fetchall())


@pytest.mark.parametrize("mode", ["force_logical", "block_writes"])
def test_a_node_that_is_drained_and_filled_again_under_load_loses_nothing(
    server: TestServer, database_url: str, mode: str
) -> None:
    node = urlsplit(server.workers[0])
    port = node.port
    assert port is not None
    place = {"host": node.hostname, "port": port, "mode": mode}
    drain = "SELECT citus_drain_node(%(host)s, %(port)s, shard_transfer_mode => %(mode)s)"
    use = "SELECT citus_set_node_property(%(host)s, %(port)s, 'shouldhaveshards', true)"
    rebalance = "SELECT citus_rebalance_start(shard_transfer_mode => %(mode)s)"
    for tenant in TENANTS:
        with MemSense.open(database_url, embedder=HashingEmbedder(), tenant=tenant):
            pass
    with (
        psycopg.connect(database_url, autocommit=True) as connection,
        under_load(database_url) as clients,
    ):
        before = shards_per_node(connection)
        counts = [0]
        connection.execute(drain, place)
        assert shards_per_node(connection)[port] == 0
        counts.append(sum(len(client.acknowledged) for client in clients))
        connection.execute(use, place)
        connection.execute(rebalance, place)
        connection.execute("SELECT citus_rebalance_wait()")
        assert shards_per_node(connection) == before
        counts.append(sum(len(client.acknowledged) for client in clients))
    print(f"{mode}: {counts[-1]} adds while shards moved twice")
    assert counts == sorted(set(counts)), "nobody added while the shards moved"
    with plain_copy(server, database_url) as copy:
        stored = copy.execute(STORED).fetchall()
        assert stored == sorted(row for client in clients for row in client.acknowledged)
        assert_whole(copy)
    assert {find_port(database_url, tenant) for tenant in TENANTS} <= before.keys()
