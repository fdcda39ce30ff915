"""Settings and stored profiles of a namespace: written and read, not interpreted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_value
from memsense.store.scopes import Namespace, fetch_namespace

FILE = "settings.sql"

ChangeKind = Literal["setting", "profile"]

_STATEMENTS: dict[tuple[ChangeKind, bool], str] = {
    ("setting", True): "upsert_setting",
    ("setting", False): "delete_setting",
    ("profile", True): "insert_profile",
    ("profile", False): "delete_profile",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSetting:
    """A setting of the database."""

    name: str
    value: Any
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile:
    """A profile of the database."""

    name: str
    constants: dict[str, Any]
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A setting or profile to write; None means that it does not exist before, or after."""

    kind: ChangeKind
    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """An entry of the append-only history; the changes of one call share a version."""

    version: int
    kind: ChangeKind
    name: str
    before: Any
    after: Any
    changed_by: str
    changed_at: datetime


def lock_settings(connection: Connection, namespace: Namespace) -> Namespace:
    """Return the namespace as it is now, its settings locked until the transaction ends."""
    execute(connection, "lock_namespace", namespace.key, FILE)
    return fetch_namespace(connection, namespace.tenant_id, namespace.name)


def write_changes(
    connection: Connection, namespace: Namespace, changes: Sequence[Change], by: str
) -> int:
    """Write the changes and record them, under `lock_settings`; return the new version."""
    # A new version tells every process that its copy of the namespace is outdated.
    version: int = fetch_value(connection, "raise_version", namespace.key, FILE)
    for change in changes:
        values = {
            **namespace.key,
            "version": version,
            "kind": change.kind,
            "name": change.name,
            "value": Jsonb(change.after),
            "before": None if change.before is None else Jsonb(change.before),
            "after": None if change.after is None else Jsonb(change.after),
            "changed_by": by,
        }
        statement = _STATEMENTS[change.kind, change.after is not None]
        execute(connection, statement, values, FILE)
        execute(connection, "record_change", values, FILE)
    return version


def fetch_settings(connection: Connection, namespace: Namespace) -> list[StoredSetting]:
    """Return the settings of the namespace, by name."""
    return fetch_all(connection, "fetch_settings", namespace.key, FILE, of=StoredSetting)


def fetch_profiles(connection: Connection, namespace: Namespace) -> list[StoredProfile]:
    """Return the stored profiles of the namespace, by name."""
    return fetch_all(connection, "fetch_profiles", namespace.key, FILE, of=StoredProfile)


def fetch_changes(connection: Connection, namespace: Namespace, limit: int) -> list[RecordedChange]:
    """Return the latest entries of the namespace's history, newest first."""
    values = {**namespace.key, "limit": limit}
    return fetch_all(connection, "fetch_changes", values, FILE, of=RecordedChange)
