"""State that all requests share: memories by tenant, threads, rate limits and counters."""

import logging
from collections.abc import Callable, Iterable, Mapping

from anyio import CapacityLimiter
from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from memsense.client.facade import Threads
from memsense.client.memory import MemSense
from memsense.client.tenants import Tenants
from memsense.config import Settings
from memsense.errors import DatabaseError
from memsense.server.admission import Admission
from memsense.server.guards import Buckets
from memsense.server.options import ServerOptions
from memsense.server.transfers import Transfers
from memsense.store.access import AccessKey

logger = logging.getLogger("memsense.server")

METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds of the histogram of request times, in seconds."""

WRONG_KEYS_RATE = 1.0
WRONG_KEYS_BURST = 20
"""Wrong keys that one address may send per second, and at once."""


MOST_KNOWN = 10_000
"""Keys that are remembered as valid, for their place in the queue; each is checked again."""

MOST_EXPORTS = 2
"""Exports that are streamed at once."""

MOST_SLOTS = 4
"""Slots of a process whose embedder computes in it: more threads only wait for each other."""


def choose_slots(settings: Settings) -> int:
    """Return how many requests to run at once, by where the time goes."""
    # One connection less than the pool has stays free for the check of readiness.
    most = max(1, settings.pool_max_size - 1)
    return min(most, MOST_SLOTS) if settings.embedder != "openai" else most


class _ForeignSessions(Collector):
    """A counter whose value is the pool's own."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count

    def collect(self) -> Iterable[Metric]:
        """Return the counter as it is now."""
        text = "Sessions of sealed tenants that were closed for what foreign SQL left in them."
        return [CounterMetricFamily("memsense_foreign_sessions", text, value=self._count())]


class Metrics:
    """Counters of requests and of the connection pool; no label names a tenant or a key."""

    def __init__(
        self, pool_sizes: Callable[[], Mapping[str, int]], foreign_sessions: Callable[[], int]
    ) -> None:
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
        self._refused = Counter(
            "memsense_http_refused",
            "Requests that found no place in a queue: their key's, or the server's.",
            ["queue"],
            registry=self._registry,
        )
        self._registry.register(_ForeignSessions(foreign_sessions))
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

    def refuse(self, *, own: bool) -> None:
        """Count a request that was not admitted."""
        self._refused.labels("key" if own else "server").inc()

    def text(self) -> bytes:
        """Return all counters in the text format of Prometheus."""
        return generate_latest(self._registry)


class ServerState:
    """Open memories of all tenants, with as many threads as the pool has connections.

    More threads would only wait for a connection.
    """

    def __init__(self, tenants: Tenants, options: ServerOptions) -> None:
        self.tenants = tenants
        self._valid_keys: dict[str, str] = {}
        # The page, if there is one, knows the keys of its sessions.
        self.find_page_key: Callable[[Request], str | None] = lambda _: None
        self.options = options
        self.threads = Threads(tenants.settings.pool_max_size)
        self.requests = Buckets(options.rate, options.burst)
        self.wrong_keys = Buckets(WRONG_KEYS_RATE, WRONG_KEYS_BURST)
        self.admission = Admission(
            options.slots or choose_slots(tenants.settings),
            queue=options.queue,
            queues=4 * options.queue,
            patience=options.patience,
        )
        self.export_slots = CapacityLimiter(MOST_EXPORTS)
        self.metrics = Metrics(self.pool_sizes, lambda: tenants.foreign_sessions)
        self.transfers = Transfers()

    async def open(self, key: str, namespace: str | None) -> tuple[AccessKey, MemSense] | None:
        """Return the access key of a text with its memory; None if it opens nothing.

        The memory is that of the key's own namespace, else that of `namespace`, else the server's.
        """
        if (access_key := self.tenants.find_known(key)) is not None:
            memory = self.tenants.find_open(access_key.tenant, access_key.namespace or namespace)
            if memory is not None:
                return access_key, memory

        def find() -> tuple[AccessKey, MemSense] | None:
            if (access_key := self.tenants.verify(key)) is None:
                return None
            place = access_key.tenant, access_key.namespace or namespace
            return access_key, self.tenants.memory(*place)

        opened = await self.threads.run(find)
        if opened is None:
            self._valid_keys.pop(key, None)
        else:
            self._valid_keys[key] = f"{opened[0].tenant}/{opened[0].key_id}"
            if len(self._valid_keys) > MOST_KNOWN:
                del self._valid_keys[next(iter(self._valid_keys))]
        return opened

    def name_caller(self, request: Request) -> str:
        """Return who sends a request, as far as that is known before its key is checked.

        A key that was valid before has a name of its own; all others share their address, so that
        made-up keys get no more than one share.
        """
        if not self.options.needs_key:
            return "local"
        header = request.headers.get("authorization", "")
        key: str | None = header[len("bearer ") :] if header else self.find_page_key(request)
        address = request.client.host if request.client else "unknown"
        return self._valid_keys.get(key or "", f"address {address}")

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
