"""The nodes of a cluster: which one has a tenant, and how one of them goes down."""

from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from servers import END_CONNECTIONS, TestServer, with_database

_PLACE = """
SELECT s.nodeport
FROM memsense.tenants AS t
JOIN citus_shards AS s
  ON s.shardid = get_shard_id_for_distribution_column('memsense.namespaces', t.tenant_id)
WHERE t.name = %s
"""


def find_port(url: str, tenant: str) -> int:
    """Return the port of the node that has the tenant's rows."""
    with psycopg.connect(url) as connection:
        row = connection.execute(_PLACE, (tenant,)).fetchone()
    assert row is not None, f"tenant {tenant} is not stored"
    return row[0]


@contextmanager
def node_down(server: TestServer, url: str, port: int) -> Generator[None]:
    """Let a node refuse every connection to the test's database inside, as if it were down.

    Other tests, which have databases of their own, go on meanwhile.
    """
    name = urlsplit(url).path.removeprefix("/")
    [node] = [node for node in server.workers if urlsplit(node).port == port]
    allow = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    with psycopg.connect(with_database(node, "postgres"), autocommit=True) as connection:
        connection.execute(allow.format(sql.Identifier(name), sql.SQL("false")))
        connection.execute(END_CONNECTIONS, (name,))
        try:
            yield
        finally:
            connection.execute(allow.format(sql.Identifier(name), sql.SQL("true")))
