"""Capacity: the disk, the memory and the cores that so many users need, and when to spread them.

The bytes of an exchange are measured in the store where it is large enough; everything else, and
the bytes of a small store, are the measured figures of docs/guides/capacity.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from memsense.config import Settings
from memsense.db import citus
from memsense.db.connection import Connection
from memsense.db.queries import query
from memsense.db.rows import Named, fetch_one, fetch_value, fetch_values, find_value
from memsense.db.tenants import FILE as TENANTS_FILE
from memsense.db.tenants import operating
from memsense.doctor.findings import FILE, Finding
from memsense.doctor.sizes import in_units
from memsense.errors import InvalidInputError

Advice = Literal["one machine", "read replicas", "a Citus cluster", "a larger machine"]

LEAST_EXCHANGES = 1_000
"""Exchanges of a store from which its own bytes count: a smaller one is mostly empty pages."""

EXCHANGE_BYTES = 7_619
"""Bytes of an exchange with its vectors of 384 dimensions, without HNSW indexes and without token
vectors.
"""

TOKEN_BYTES = 14_500
"""Bytes of the token vectors of an exchange of 254 tokens, the most that are kept; 70 tokens take
4,400.
"""

INDEX_BYTES = 4_276
"""Bytes of an exchange in the six HNSW indexes of a large user, with 384 dimensions."""

MEASURED_DIMENSION = 384

ACTIVE_BYTES = 4_000
"""Bytes of memory for each exchange of a user who is active: 4 MB for 1,000."""

SEARCH_MS, SEARCH_MS_EACH, INDEXED_SEARCH_MS = 7.35, 0.00174, 78.6
"""Processor time of a search, server and caller: 9.1 ms of 1,000 exchanges, 24.8 of 10,000, and
never more for a user with HNSW indexes than the 78.6 of 300,000.
"""

ADD_MS = 4.0
"""Processor time of the server for an add."""

Origin = Literal["this store", "the guide 'How to plan capacity'"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Contents of a store, in rows and bytes.

    `active_users` stored something within a day. `index_bytes` are those of HNSW indexes, and
    `indexed_exchanges` belong to the users who have them. `trace_bytes` are those of recorded
    searches; they grow with searches, so they count towards no exchange.
    """

    users: int
    active_users: int
    exchanges: int
    indexed_exchanges: int
    bytes: int
    index_bytes: int
    trace_bytes: int
    dimension: int | None

    @property
    def mean_exchanges(self) -> int:
        """Exchanges of a user, rounded up; 0 without users."""
        return ceil(self.exchanges / self.users) if self.users else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The memory, in bytes, and the cores that one server may have."""

    memory: int = 64_000_000_000
    cores: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Users with so many exchanges each, those of them who are active, and calls a second."""

    users: int
    exchanges: int
    active_users: int
    searches: float = 0.0
    adds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Disk, memory and cores that a load needs, and the number of machines (`nodes`) for it.

    `exchange_bytes` and `index_bytes` are the bytes of an exchange without and within HNSW indexes,
    each with its origin.
    """

    load: Load
    machine: Machine
    exchange_bytes: int
    exchange_bytes_from: Origin
    index_bytes: int
    index_bytes_from: Origin
    indexed_users: int
    disk: int
    memory: int
    search_ms: float
    search_cores: float
    add_cores: float
    advice: Advice
    nodes: int
    reasons: Sequence[str]
    measured: Measured


def measure_store(connection: Connection) -> Measured:
    """Count and measure everything that is stored, on all nodes of a cluster, by one row a user."""
    counts = fetch_one(connection, "count_stored", file=FILE, of=Named)
    measure = query("measure_node", FILE)
    if citus.is_installed(connection):
        measure = query("measure_nodes", FILE).format(statement=measure)
    nodes: list[dict[str, int]] = fetch_values(connection, measure)
    sizes = {name: sum(node[name] for node in nodes) for name in nodes[0]}
    return Measured(
        **counts,
        **sizes,
        active_users=fetch_value(connection, "count_active_users", file=FILE),
        dimension=fetch_value(connection, "find_largest_dimension", file=FILE),
    )


def examine_capacity(connection: Connection) -> Iterator[Finding]:
    """Compare the memory that active users need with the server's; nothing without users."""
    if find_value(connection, "find_held_user", file=TENANTS_FILE):
        return
    measured = measure_store(connection)
    if not measured.users:
        return
    mean = measured.mean_exchanges
    memory = measured.active_users * mean * ACTIVE_BYTES
    cache: int = fetch_value(connection, "find_cache", file=FILE)
    exceeds = memory > cache
    yield Finding(
        check="capacity",
        severity="warning" if exceeds else "info",
        text=f"{measured.users:,} users with {mean:,} exchanges each take"
        f" {in_units(measured.bytes + measured.index_bytes)}; searches of the"
        f" {measured.active_users:,} who stored something within a day read {in_units(memory)},"
        f" and effective_cache_size is {in_units(cache)}",
        remedy="run 'memsense db capacity'; give the server more memory and"
        " raise effective_cache_size to it"
        if exceeds
        else "",
    )


def plan_capacity(
    url: str,
    settings: Settings,
    *,
    users: int | None = None,
    exchanges: int | None = None,
    active_users: int | None = None,
    searches: float = 0.0,
    adds: float = 0.0,
    machine: Machine | None = None,
) -> Capacity:
    """Return what so many users with so many exchanges, searches and adds a second each would need.

    Without numbers, those of the store count. Raises InvalidInputError for numbers that can't be,
    and ConfigurationError for a user who sees one tenant only.
    """
    with operating(url) as connection:
        measured = measure_store(connection)
    if users is None:
        users = measured.users
    if exchanges is None:
        exchanges = measured.mean_exchanges
    if active_users is None:
        share = measured.active_users / measured.users if measured.users else 1.0
        active_users = ceil(users * share)
    if min(users, exchanges, active_users) < 0 or min(searches, adds) < 0:
        raise InvalidInputError("users, exchanges and calls a second must not be negative")
    if active_users > users:
        raise InvalidInputError(f"{active_users:,} active users are more than {users:,} users")
    load = Load(
        users=users, exchanges=exchanges, active_users=active_users, searches=searches, adds=adds
    )
    return work_out(
        load,
        machine or Machine(),
        measured,
        index_threshold=settings.index_threshold,
        index_users=settings.index_users,
        has_tokens=settings.token_vectors,
    )


def work_out(
    load: Load,
    machine: Machine,
    measured: Measured,
    *,
    index_threshold: int,
    index_users: int,
    has_tokens: bool,
) -> Capacity:
    """Return what a load needs, from what is measured in a store, with or without token vectors."""
    each, index = EXCHANGE_BYTES + TOKEN_BYTES * has_tokens, INDEX_BYTES
    each_from: Origin = "the guide 'How to plan capacity'"
    index_from: Origin = "the guide 'How to plan capacity'"
    if measured.exchanges >= LEAST_EXCHANGES:
        each, each_from = ceil(measured.bytes / measured.exchanges), "this store"
    if measured.indexed_exchanges >= LEAST_EXCHANGES:
        index, index_from = ceil(measured.index_bytes / measured.indexed_exchanges), "this store"

    is_large = load.exchanges >= index_threshold
    indexed_users = min(load.users, index_users) if is_large else 0
    disk = load.users * load.exchanges * each + indexed_users * load.exchanges * index
    memory = load.active_users * load.exchanges * ACTIVE_BYTES
    search_ms = SEARCH_MS + SEARCH_MS_EACH * load.exchanges
    if indexed_users == load.users:
        search_ms = min(search_ms, INDEXED_SEARCH_MS)
    search_cores = load.searches * search_ms / 1000
    add_cores = load.adds * ADD_MS / 1000

    # A replica has the whole database and takes searches; the nodes of a cluster share memory and
    # writes as well, but only between tenants.
    reasons: list[str] = []
    advice: Advice = "one machine"
    machines = 1.0
    if search_cores + add_cores > machine.cores:
        advice = "read replicas"
        machines = (search_cores + add_cores) / machine.cores
        reasons.append(
            f"searches and adds need {search_cores + add_cores:.0f} cores, a machine has"
            f" {machine.cores}: searches can go to standbys (the guide 'How to search on a"
            " replica')"
        )
    if add_cores > machine.cores:
        advice = "a Citus cluster"
        reasons.append(f"adds alone need {add_cores:.0f} cores, and a standby takes none of them")
    if memory > machine.memory:
        advice = "a Citus cluster"
        machines = max(machines, memory / machine.memory)
        reasons.append(
            f"what active users read takes {memory / 1e9:.0f} GB, a machine has"
            f" {machine.memory / 1e9:.0f}: searches would wait for the disk"
        )
        if load.exchanges * ACTIVE_BYTES > machine.memory:
            advice = "a larger machine"
            machines = 1.0
            reasons.append(
                f"one user's memory stays on one node and takes"
                f" {load.exchanges * ACTIVE_BYTES / 1e9:.0f} GB alone"
            )
    if advice == "a Citus cluster":
        reasons.append(
            "a tenant stays on one node: the users have to belong to many tenants"
            " (the guide 'How to run on a Citus cluster')"
        )
    if each_from != "this store" and measured.dimension not in {None, MEASURED_DIMENSION}:
        reasons.append(
            f"an exchange's bytes are those of {MEASURED_DIMENSION} dimensions, and the model of"
            f" this store has {measured.dimension}: ask again with {LEAST_EXCHANGES:,} exchanges"
            " stored"
        )
    return Capacity(
        load=load,
        machine=machine,
        exchange_bytes=each,
        exchange_bytes_from=each_from,
        index_bytes=index,
        index_bytes_from=index_from,
        indexed_users=indexed_users,
        disk=disk,
        memory=memory,
        search_ms=search_ms,
        search_cores=search_cores,
        add_cores=add_cores,
        advice=advice,
        nodes=ceil(machines),
        reasons=reasons,
        measured=measured,
    )
