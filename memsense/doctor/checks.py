"""Examines a database's schema, and all that needs it."""

from collections.abc import Iterator

from memsense.db.connection import Connection
from memsense.doctor.contents import (
    examine_drift,
    examine_jobs,
    examine_languages,
    examine_models,
    examine_retired,
    examine_tokens,
    examine_traces,
    examine_vectors,
)
from memsense.doctor.findings import Expected, Finding
from memsense.doctor.indexes import examine_indexes, examine_large
from memsense.doctor.sizes import examine_analysis, examine_sizes


def describe_revision(current: str | None, head: str) -> Finding:
    """What the schema's revision says; an error unless it is this version's."""
    if current == head:
        return Finding(check="schema", severity="info", text=f"the schema is at revision {head}")
    if current is None:
        text, remedy = "the database has no memsense schema", "run 'memsense init'"
    elif current > head:
        text, remedy = f"the schema is at {current}, newer than {head}", "upgrade memsense"
    else:
        text = f"the schema is at {current}, this memsense needs {head}"
        remedy = "run 'memsense db upgrade'"
    return Finding(check="schema", severity="error", text=text, remedy=remedy)


def examine_store(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Everything that needs the schema at this version's revision; reads only."""
    yield from examine_sizes(connection)
    yield from examine_analysis(connection)
    yield from examine_indexes(connection)
    yield from examine_large(connection, expected)
    yield from examine_vectors(connection)
    yield from examine_jobs(connection)
    yield from examine_tokens(connection, expected)
    yield from examine_retired(connection)
    yield from examine_drift(connection)
    yield from examine_languages(connection)
    yield from examine_models(connection, expected)
    yield from examine_traces(connection, expected)
