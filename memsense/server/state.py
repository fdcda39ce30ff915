"""State that all requests share: memories by tenant, threads, rate limits and counters."""

import logging
from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from memsense.client.aio import AsyncMemSense
from memsense.client.facade import Threads
from memsense.client.tenants import Tenants
from memsense.errors import DatabaseError
from memsense.server.guards import Buckets
from memsense.server.options import ServerOptions
from memsense.store.access import AccessKey

logger = logging.getLogger("memsense.server")

METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds of the histogram of request times, in seconds."""

WRONG_KEYS_RATE = 1.0
WRONG_KEYS_BURST = 20
"""Wrong keys that one address may send per second, and at once."""


class Metrics:
    """Counters of requests and of the connection pool; no label names a tenant or a key."""

    def __init__(self, pool_sizes: Callable[[], Mapping[str, int]]) -> None:
        # Of its own, because tests open several servers in one process.
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "memsense_http_requests",
            "Requests by method, route and status.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "memsense_http_request_duration_seconds",
            "How long requests took, by method and route.",
            ["method", "route"],
            buckets=LATENCY_BUCKETS,
            registry=self._registry,
        )
        connections = Gauge(
            "memsense_pool_connections",
            "Connections of the pool: open, idle, waited for, and the largest number.",
            ["state"],
            registry=self._registry,
        )
        for state in ("open", "idle", "waiting", "most"):
            connections.labels(state).set_function(lambda name=state: pool_sizes()[name])

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request after its answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Return all counters in the text format of Prometheus."""
        return generate_latest(self._registry)


class ServerState:
    """Open memories of all tenants, with as many threads as the pool has connections.

    More threads would only wait for a connection.
    """

    def __init__(self, tenants: Tenants, options: ServerOptions) -> None:
        self.tenants = tenants
        self.options = options
        self.threads = Threads(tenants.settings.pool_max_size)
        self.requests = Buckets(options.rate, options.burst)
        self.wrong_keys = Buckets(WRONG_KEYS_RATE, WRONG_KEYS_BURST)
        self.metrics = Metrics(self.pool_sizes)

    async def verify(self, text: str) -> AccessKey | None:
        """Return the access key, or None if the text isn't a valid one."""
        return await self.threads.run(self.tenants.verify, text)

    async def memory(self, tenant: str) -> AsyncMemSense:
        """Return a tenant's memory."""
        sync = await self.threads.run(self.tenants.memory, tenant)
        return AsyncMemSense.over(sync, self.threads)

    async def find_fault(self) -> str | None:
        """Return why the database can't be reached, or None if it can."""
        try:
            await self.threads.run(self.tenants.ping)
        except DatabaseError as error:
            logger.warning("not ready: %s", error)
            return str(error)
        return None

    def pool_sizes(self) -> Mapping[str, int]:
        """Return the connections that are open, idle, waited for, and the largest number."""
        return self.tenants.pool_sizes()
