"""Examines what keeps tenants apart: as whom searches run, and whether policies hold for them."""

from collections.abc import Iterator

from memsense.db.connection import Connection
from memsense.db.security import (
    REMEDY,
    Standing,
    fetch_user,
    list_leaky,
    list_unguarded,
)
from memsense.doctor.findings import Finding

CHECK = "security"


def examine_security(connection: Connection, standing: Standing) -> Iterator[Finding]:
    """Who runs statements, tables without a policy, functions that cost a search its index."""
    user, role = fetch_user(connection), standing.role
    if role is None and user.bypasses:
        yield Finding(
            check=CHECK,
            severity="warning",
            text=f"searches and writes run as {user.name}, whom no policy holds: memsense's own"
            " statements alone keep tenants apart",
            remedy=REMEDY,
        )
    else:
        text = f"searches and writes run as {role or user.name}"
        yield Finding(check=CHECK, severity="info", text=text)
    if bare := list_unguarded(connection, role):
        yield Finding(
            check=CHECK,
            severity="warning",
            text=f"row-level security does not hold for {role or user.name} on {', '.join(bare)}",
            remedy="run 'memsense init --roles'; docs/security.md, Without a superuser",
        )
    if standing.lookups:
        text = "beneath policies, functions that run as memsense_index ask the GIN indexes"
        yield Finding(check=CHECK, severity="info", text=text)
    elif leaky := list_leaky(connection):
        yield Finding(
            check=CHECK,
            severity="warning",
            text=f"beneath policies no index serves {', '.join(leaky)}: they are not leakproof",
            remedy="run 'memsense init --roles', as a superuser or as a user with CREATEROLE, also"
            " after restoring a dump",
        )
