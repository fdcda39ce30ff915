"""Connections to the database that the settings name: a server's, or the embedded one's."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from memsense.config import Settings
from memsense.db import Pool, check_server, connect, database_errors, migrate
from memsense.db.connection import repeat_lost
from memsense.db.pooler import SEALED_POOLER, is_pooled
from memsense.db.security import check_seal, find_standing, list_lasting, require_policies
from memsense.deadline import remaining
from memsense.errors import ConfigurationError

if TYPE_CHECKING:
    from memsense.db.embedded import EmbeddedServer
    from memsense.db.replica import Replica

T = TypeVar("T")

logger = logging.getLogger("memsense.security")

_EMBEDDED_SECONDS = 60.0
_REPLICA_SECONDS = 1.0
"""How long a call waits for a connection to the replica."""


@dataclass(frozen=True, slots=True)
class Place:
    """Open connections to the database and any replica, and the embedded server if it runs."""

    pool: Pool
    replica: "Replica | None" = None
    server: "EmbeddedServer | None" = None

    def for_tenant(self, tenant: str) -> "Place":
        """Return the same connections for another tenant; closing these does nothing."""
        replica = self.replica
        return Place(self.pool.for_tenant(tenant), replica and replica.for_tenant(tenant))

    def read(self, work: Callable[[Pool], T]) -> T:
        """Return what `work` reads from the pool that it is called with.

        It is the replica's where there is one that has caught up, else the database's own. `work`
        is called again if the replica is lost.
        """
        return work(self.pool) if self.replica is None else self.replica.read(self.pool, work)

    def close(self) -> None:
        """Close the connections; the embedded server stops after its last user."""
        if self.replica is not None:
            self.replica.close()
        self.pool.close()
        if self.server is not None:
            self.server.release()


def open_place(settings: Settings, *, wait: float | None = None) -> Place:
    """Open pools over a checked database.

    Args:
        settings: Name the database, and say how connections are made.
        wait: Seconds to wait for a server that is away or restarts; by default the pool's timeout,
            or what is left of the call's time.

    Raises:
        ConnectionFailedError, ServerTooOldError, SchemaError, ConfigurationError: Each names the
            remedy.
    """
    left = remaining()
    if wait is None:
        wait = settings.pool_timeout if left is None else min(settings.pool_timeout, left)
    if settings.database_url:
        url = settings.database_url
        return repeat_lost(lambda seconds: _open_checked(settings, url, seconds), wait, url=url)
    from memsense.db.embedded import EmbeddedServer

    server = EmbeddedServer(settings.data_dir)

    def open_embedded(seconds: float) -> Place:
        # A new cluster is set up here: an embedded server has no administrator who would do it.
        address = server.start(prepare=migrate.set_up)
        return _open_checked(settings, address, seconds, server)

    try:
        # Its start has a limit of its own, and may have to create the cluster.
        return repeat_lost(open_embedded, max(wait, _EMBEDDED_SECONDS))
    except BaseException:  # Ctrl+C while it starts must not leave a server running
        server.release()
        raise


def _open_checked(
    settings: Settings, url: str, seconds: float, server: "EmbeddedServer | None" = None
) -> Place:
    with connect(url, seconds=seconds) as connection, database_errors():
        check_server(connection)
        migrate.require_current(connection)
        standing = find_standing(connection)
        check_seal(standing, settings.seal_key)
        if standing.is_sealed:
            if not settings.sealed_pooler and is_pooled(connection):
                raise ConfigurationError(SEALED_POOLER)
            for item in list_lasting(connection):
                if not item.is_advice:
                    logger.warning(
                        "tenants are sealed, but of memsense_app: %s; run as the owner: %s",
                        item.what,
                        item.remedy,
                    )
        if settings.require_policies:
            require_policies(connection, standing.role)
    open_connections = partial(
        Pool,
        min_size=settings.pool_min_size,
        max_size=settings.pool_max_size,
        tenant=settings.tenant,
        role=standing.role,
        lookups=standing.lookups,
        seal_key=settings.seal_key,
        # A pooler refuses the option that sets it.
        search_path=standing.search_path
        if standing.is_sealed and not settings.sealed_pooler
        else None,
        prepares=settings.prepared_statements,
    )
    replica = None
    if settings.replica_url and server is None:
        from memsense.db.replica import Replica

        standby = open_connections(
            settings.replica_url,
            # The primary answers where the replica does not: waiting longer isn't worthwhile.
            timeout=min(settings.pool_timeout, _REPLICA_SECONDS),
            setting="MEMSENSE_REPLICA_URL",
        )
        replica = Replica(standby, longest_lag=settings.replica_lag)
    pool = open_connections(
        url, timeout=settings.pool_timeout, revive=server.revive if server else None
    )
    return Place(pool, replica, server)
