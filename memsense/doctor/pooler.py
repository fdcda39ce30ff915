"""Examines the way to the server: whether a pooler stands between, and what it does not allow."""

from collections.abc import Iterator

from memsense.db.connection import Connection
from memsense.db.pooler import is_pooled, keeps_apart
from memsense.doctor.findings import Finding

CHECK = "pooler"


def examine_pooler(connection: Connection, *, prepares: bool | None) -> Iterator[Finding]:
    """A pooler, and whether statements may be prepared through it, as the settings have it."""
    if not is_pooled(connection):
        return
    allowed = keeps_apart(connection)
    if prepares and not allowed:
        yield Finding(
            check=CHECK,
            severity="error",
            text="a pooler stands between, which keeps no client's prepared statements apart:"
            " where it lends connections for one transaction, searches and writes fail",
            remedy="unset MEMSENSE_PREPARED_STATEMENTS, or set it to false; or use PgBouncer 1.21"
            " or newer with max_prepared_statements = 200",
        )
        return
    planned = "prepared" if allowed and prepares is not False else "planned anew each time"
    text = f"a pooler stands between; statements are {planned}"
    yield Finding(check=CHECK, severity="info", text=text)
