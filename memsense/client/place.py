"""Connections to the database that the settings name: a server's, or the embedded one's."""

from typing import TYPE_CHECKING

from memsense.config import Settings
from memsense.db import Pool, check_server, connect, database_errors, migrate, open_pool
from memsense.db.connection import repeat_lost
from memsense.db.security import check_seal, find_standing, require_policies

if TYPE_CHECKING:
    from memsense.db.embedded import EmbeddedServer


def open_place(settings: Settings) -> "tuple[Pool, EmbeddedServer | None]":
    """Open a pool over a checked database; return it with the embedded server, if one started.

    A server that restarts meanwhile ends the connection; the checks then run again, up to twice.
    Raise ConnectionFailedError, ServerTooOldError or SchemaError, each naming the remedy.
    """
    if settings.database_url:
        url = settings.database_url
        return repeat_lost(lambda: _open_checked(settings, url)), None
    from memsense.db.embedded import EmbeddedServer

    server = EmbeddedServer(settings.data_dir)

    def open_embedded() -> Pool:
        address = server.start()
        # A new cluster is set up here: an embedded server has no administrator who would do it.
        if migrate.schema_state(address).current is None:
            migrate.upgrade(address)
            migrate.make_roles(address)
        return _open_checked(settings, address, server)

    try:
        return repeat_lost(open_embedded), server
    except BaseException:  # Ctrl+C while it starts must not leave a server running
        server.release()
        raise


def _open_checked(settings: Settings, address: str, server: "EmbeddedServer | None" = None) -> Pool:
    with connect(address) as connection, database_errors():
        check_server(connection)
        migrate.require_current(connection)
        standing = find_standing(connection)
        check_seal(standing, settings.seal_key)
        if settings.require_policies:
            require_policies(connection, standing.role)
    return open_pool(
        address,
        min_size=settings.pool_min_size,
        max_size=settings.pool_max_size,
        timeout=settings.pool_timeout,
        revive=server.revive if server else None,
        tenant=settings.tenant,
        role=standing.role,
        lookups=standing.lookups,
        seal_key=settings.seal_key,
        prepares=settings.prepared_statements,
    )
