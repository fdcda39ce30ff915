"""Counters of the server for Prometheus; no label names a tenant or a key."""

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds."""


class Metrics:
    """Counters of requests by route, and of the connection pool."""

    def __init__(self, pool_sizes: Callable[[], Mapping[str, int]]) -> None:
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
            buckets=BUCKETS,
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
