"""Handover of a connection from one tenant to another, where tenants are sealed.

A token proves for which tenant a transaction works, but a session outlives its transactions: SQL of
one tenant could leave a statement or a type in it that reads the token, or the rows, of the next.
"""

from memsense.db import queries
from memsense.db.connection import use_standard_settings
from memsense.db.session import FILE, TenantConnection


def clean_session(connection: TenantConnection) -> str | None:
    """Remove what a tenant may have left in a session, in one round trip.

    Returns what only SQL other than memsense's leaves, None for a clean session. Otherwise, and
    after a psycopg.Error, the connection must be closed.
    """
    # Without parameters, and never prepared, it is one message of the simple protocol.
    cursor = connection.execute(queries.query("clean_session", FILE), prepare=False)
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    assert row is not None
    from_sql, temporary_schema, names = row
    # RESET ALL has undone them.
    use_standard_settings(connection)
    if from_sql:
        return "a prepared statement"
    if temporary_schema:
        return "a schema for temporary objects"
    # SQL's PREPARE can't make a statement of the driver's kind, but DEALLOCATE can drop one.
    own = connection._prepared._names.values()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    if not {name.decode() for name in own} <= set(names or ()):
        return "fewer prepared statements than the driver made"
    return None
