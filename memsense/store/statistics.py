"""Statistics of searches by minute, and the slowest of each day: no texts, no users."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all

FILE = "statistics.sql"

BOUNDS = (5, 10, 20, 30, 50, 80, 125, 200, 400, 1000, 3000)
"""Longest duration of each bucket but the last, in ms; stored rows depend on them."""

SLOWEST = 10
"""Number of a day's slowest searches that are kept."""

PERIODS = 60
"""Number of periods of a report whose step is not given."""

MOST_PERIODS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSearch:
    """A slow search without its text: its duration, the characters of its question, the profile,
    and the names of the filters that were set.
    """

    asked_at: datetime
    ms: float
    length: int
    profile: str
    filters: Sequence[str]


@dataclass(slots=True)
class SearchSum:
    """Sum of searches; `buckets` and `sum_ms` are those of answered ones, by duration."""

    searches: int = 0
    empty: int = 0
    failed: int = 0
    sum_ms: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    slow: list[SlowSearch] = field(default_factory=list[SlowSearch])

    @property
    def count(self) -> int:
        """Number of searches."""
        return self.searches

    def count_search(self, hits: int | None, ms: float) -> None:
        """Count a search with so many hits; None if it failed."""
        self.searches += 1
        if hits is None:
            self.failed += 1
            return
        self.empty += not hits
        self.sum_ms += ms
        self.buckets[bisect_left(BOUNDS, ms)] += 1

    def add(self, other: "SearchSum") -> None:
        """Add another sum to this one."""
        self.searches += other.searches
        self.empty += other.empty
        self.failed += other.failed
        self.sum_ms += other.sum_ms
        self.buckets = [one + two for one, two in zip(self.buckets, other.buckets, strict=True)]
        self.slow += other.slow

    def percentile(self, share: float) -> float | None:
        """Return the duration that this share of answered searches doesn't exceed, in ms.

        It lies in the right bucket, and is interpolated within it; None without any. The last
        bucket has no end: its start is returned.
        """
        below, place = 0, share * sum(self.buckets)
        for number, (start, end) in enumerate(
            zip((0, *BOUNDS), (*BOUNDS, BOUNDS[-1]), strict=True)
        ):
            count = self.buckets[number]
            if count and below + count >= place:
                return start + (end - start) * (place - below) / count
            below += count
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFigures:
    """Counts of searches from a time on, and their durations in ms; None without any.

    `failed` ones, which raised an error, are among the `searches`; `empty` ones had no hit.
    """

    at: datetime
    searches: int
    empty: int
    failed: int
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None

    @classmethod
    def of(cls, at: datetime, total: SearchSum) -> "SearchFigures":
        """Return the figures of a sum."""
        answered = total.searches - total.failed
        return cls(
            at=at,
            searches=total.searches,
            empty=total.empty,
            failed=total.failed,
            mean_ms=total.sum_ms / answered if answered else None,
            p50_ms=total.percentile(0.5),
            p95_ms=total.percentile(0.95),
            p99_ms=total.percentile(0.99),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Searches of a tenant, all namespaces and users together: no text and no user.

    Attributes:
        users: Number of memories of users that the tenant has now.
        memories: Number of active chunks that they hold, session chunks left out.
        until: End of the time.
        step: Minutes of a period.
        total: Figures of the whole time.
        periods: Figures of each period, the earliest first; also of those without a search.
        slowest: The slowest searches, the slowest first: at most ten, and ten of a day.
    """

    users: int
    memories: int
    until: datetime
    step: int
    total: SearchFigures
    periods: Sequence[SearchFigures]
    slowest: Sequence[SlowSearch]


def add_searches(
    connection: Connection, tenant_id: int, sums: Mapping[datetime, SearchSum]
) -> None:
    """Add sums of searches by minute to those that a tenant has in the database."""
    values = {
        "tenant_id": tenant_id,
        "minutes": [*sums],
        "searches": [item.searches for item in sums.values()],
        "empty": [item.empty for item in sums.values()],
        "failed": [item.failed for item in sums.values()],
        "sums_ms": [item.sum_ms for item in sums.values()],
        "buckets": [*chain.from_iterable(item.buckets for item in sums.values())],
    }
    execute(connection, "add_minutes", values, FILE)
    slow = [*chain.from_iterable(item.slow for item in sums.values())]
    if slow:
        values = {
            "tenant_id": tenant_id,
            "days": [item.asked_at.date() for item in slow],
            "ms": [item.ms for item in slow],
            "asked_at": [item.asked_at for item in slow],
            "lengths": [item.length for item in slow],
            "profiles": [item.profile for item in slow],
            "filters": [",".join(item.filters) for item in slow],
        }
        execute(connection, "add_slow_searches", values, FILE)
        execute(connection, "keep_slowest", values, FILE)


def drop_old_searches(connection: Connection, tenant_id: int, days: float) -> None:
    """Delete a tenant's statistics that are older than so many days."""
    values = {"tenant_id": tenant_id, "since": datetime.now(UTC) - timedelta(days=days)}
    execute(connection, "drop_old_minutes", values, FILE)
    execute(connection, "drop_old_slow_searches", values, FILE)


def fetch_statistics(
    connection: Connection, tenant_id: int | None, since: datetime, until: datetime, step: int
) -> Statistics:
    """Return the statistics of a tenant's searches in periods of `step` minutes from `since` on."""
    values = {"tenant_id": tenant_id, "since": since, "until": until, "step": step}
    sums = {
        at: SearchSum(*counts) for at, *counts in fetch_all(connection, "sum_minutes", values, FILE)
    }
    total = SearchSum()
    for item in sums.values():
        total.add(item)
    count = -((since - until) // timedelta(minutes=step))
    times = [since + timedelta(minutes=step * number) for number in range(count)]
    [(users, memories)] = fetch_all(connection, "count_stored", values, FILE)
    return Statistics(
        users=users,
        memories=memories,
        until=until,
        step=step,
        total=SearchFigures.of(since, total),
        periods=[SearchFigures.of(at, sums.get(at, SearchSum())) for at in times],
        slowest=fetch_all(connection, "list_slow_searches", values, FILE, of=SlowSearch),
    )
