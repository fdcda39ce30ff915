"""Comparison of the schema's objects and rights with those that this version creates."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all
from memsense.doctor.findings import Expected, Finding, Severity, error, warning

FILE = "manifest.sql"

MANIFEST = Path(__file__).parents[1] / "db" / "manifest.json"
"""The objects of a new database, written by `make manifest`."""

ABSENT = "absent"
"""Definition, in a layer of the manifest, of an object that databases of this kind don't have."""

Objects: TypeAlias = Mapping[tuple[str, str], str]
"""Definitions by kind and name, as `list_objects` returns them."""

_UPGRADE = "run 'memsense db upgrade'"
_KINDS: Mapping[str, tuple[Severity, str, str]] = {
    "table": ("info", "restore a backup", ""),
    "column": ("info", "ALTER TABLE {table} ADD COLUMN {rest} {definition}", ""),
    "constraint": ("info", "ALTER TABLE {table} ADD {rest}", ""),
    "index": ("info", "{definition}", "DROP INDEX {rest}"),
    "view": ("info", _UPGRADE, ""),
    "function": ("warning", _UPGRADE, ""),
    "policy": ("error", _UPGRADE, "DROP POLICY {rest} ON {table}"),
    "trigger": ("warning", "", "DROP TRIGGER {rest} ON {table}"),
    "disabled trigger": ("error", "", "ALTER TABLE {table} ENABLE TRIGGER {rest}"),
}
"""Severity of an object that is none of memsense's, and how a missing object is created and a wrong
one removed.
"""


@cache
def read_manifest() -> Mapping[str, Objects]:
    """Return the objects of a new database, and behind them how those of others differ."""
    return {
        layer: {
            (kind, name): definition
            for kind, group in kinds.items()
            for definition, names in group.items()
            for name in names
        }
        for layer, kinds in json.loads(MANIFEST.read_text(encoding="utf-8")).items()
    }


def list_objects(connection: Connection) -> Objects:
    """Return the objects of the database, and the rights of memsense_app and of PUBLIC."""
    rows = fetch_all(connection, "list_objects", file=FILE)
    return {(kind, name): definition for kind, name, definition in rows}


def list_expected(stored: Objects) -> Objects:
    """Return the objects that a database should have, which differ by a layer for some."""
    base, *layers = read_manifest().values()
    expected = dict(base)
    for layer in layers:
        if 2 * sum(stored.get(key, ABSENT) == layer[key] for key in layer) > len(layer):
            expected.update(layer)
    # Without the roles of `memsense init --roles`, statements run as the owner.
    has_role = any(name.endswith(" memsense_app") for _, name in stored)
    return {
        key: definition
        for key, definition in expected.items()
        if definition != ABSENT and (has_role or not key[1].endswith(" memsense_app"))
    }


def examine_objects(connection: Connection, _: Expected) -> Iterator[Finding]:
    """Examine the schema for objects and rights that are missing, changed or none of memsense's."""
    stored = list_objects(connection)
    expected = list_expected(stored)
    whole_kinds = {"table", "view", "function"}
    names = {name for kind, name in expected if kind in whole_kinds}
    missing = names - {name for kind, name in stored if kind in whole_kinds}
    for kind, name in sorted(expected.keys() | stored.keys()):
        due, present = expected.get((kind, name)), stored.get((kind, name))
        parts = name.rsplit(" ", 2) if kind == "right" else name.split(" ", 1)
        whole = parts[0]
        # A missing object says enough, and parts of an operator's own one are no fault.
        is_left_out = kind not in whole_kinds and (
            whole in missing or (due is None and whole not in names | {"memsense"})
        )
        if due == present or is_left_out:
            continue
        if kind == "right":
            yield from _compare_rights(parts, due or "", present or "")
            continue
        severity, create, remove = _KINDS[kind]
        steps, text = [remove, create], f"is not as this version makes it: {present}"
        if due is None:
            steps, text = [remove], "is none of memsense's"
        elif present is None:
            steps, text = [create], "is missing"
        elif kind == "column":
            steps = ["restore a backup, or make it again: {definition}"]
        values = {"table": whole, "rest": parts[-1], "definition": due}
        yield Finding(
            severity=severity if due is None else "error",
            text=f"{kind} {name} {text}",
            remedy=_join([step.format(**values) for step in steps if step]),
        )


def _compare_rights(parts: list[str], due: str, present: str) -> Iterator[Finding]:
    """Yield the rights on an object that a role has and should not have, and the reverse."""
    name, kind, grantee = parts
    due_rights, present_rights = ({*it.split(", ")} - {""} for it in (due, present))
    if more := ", ".join(sorted(present_rights - due_rights)):
        keys = ", which holds the keys that seal the tenants" if name == "seals" else ""
        yield error(
            f"{grantee} has rights on {kind.lower()} {name}{keys}: {more}",
            _join([f"REVOKE {more.replace('*', '')} ON {kind} {name} FROM {grantee}"]),
        )
    if less := ", ".join(sorted(due_rights - present_rights)):
        yield warning(
            f"{grantee} lacks rights on {kind.lower()} {name}: {less}",
            "run 'memsense init --roles'",
        )


def _join(steps: list[str]) -> str:
    """Return a remedy of several steps; SQL is in capitals."""
    statements = [it for it in steps if it[:2].isupper()]
    others = [it for it in steps if it not in statements]
    if statements:
        path = "SET search_path = memsense, public"
        others.insert(0, f"run as the owner: {'; '.join((path, *statements))}")
    return "; then ".join(others)
