"""Sums of calls, added to those in the database."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all

FILE = "calls.sql"

NO_USER = 0
"""Number that stands for the memory of calls that named no user, or one without a memory."""


class CallKey(NamedTuple):
    """Key of a sum of calls; `day` is in UTC, `user_id` None for calls of no user."""

    namespace: str
    user_id: str | None
    verb: str
    day: date


@dataclass(slots=True)
class CallSum:
    """Sum of calls; `failures` are among the `calls`."""

    calls: int = 0
    failures: int = 0
    milliseconds: float = 0.0

    @property
    def count(self) -> int:
        """Number of calls."""
        return self.calls

    def add(self, other: "CallSum") -> None:
        """Add another sum to this one."""
        self.calls += other.calls
        self.failures += other.failures
        self.milliseconds += other.milliseconds


def add_calls(connection: Connection, tenant_id: int, sums: Mapping[CallKey, CallSum]) -> None:
    """Add sums of calls to those that a tenant has in the database."""
    users = {key.user_id for key in sums if key.user_id is not None}
    named = {
        "tenant_id": tenant_id,
        "namespaces": list({key.namespace for key in sums}),
        "users": list(users),
    }
    rows = fetch_all(connection, "find_memories", named, FILE) if users else []
    scopes = {(namespace, user_id): scope_id for namespace, user_id, scope_id in rows}
    # A user may have been erased since the call: it counts for no user then, so that no row names
    # the user again.
    merged: defaultdict[tuple[int, date, str, str], CallSum] = defaultdict(CallSum)
    for key, item in sums.items():
        scope_id = scopes.get((key.namespace, key.user_id), NO_USER)
        merged[scope_id, key.day, key.namespace, key.verb].add(item)
    values = {
        "tenant_id": tenant_id,
        "scope_ids": [scope_id for scope_id, *_ in merged],
        "days": [day for _, day, *_ in merged],
        "namespaces": [namespace for _, _, namespace, _ in merged],
        "verbs": [verb for *_, verb in merged],
        "calls": [item.calls for item in merged.values()],
        "failures": [item.failures for item in merged.values()],
        "milliseconds": [item.milliseconds for item in merged.values()],
    }
    execute(connection, "add_calls", values, FILE)
