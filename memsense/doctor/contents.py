"""Examines what is stored: vectors, words, statistics, models, traces."""

from collections.abc import Iterator, Mapping
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import Named, fetch_all, fetch_one, fetch_value
from memsense.doctor.findings import FILE, Expected, Finding
from memsense.text.scripts import segment_scripts

SAMPLED_CHUNKS = 50

_WAITING = {
    "embed": "words alone find their memories",
    "fill": "a model that was added can't be switched to yet",
    "expire": "what has expired is hidden, and still stored",
    "index": "large memories are searched, and written to, as they were",
}
"""What it means that jobs of a kind are not done."""


def examine_vectors(connection: Connection) -> Iterator[Finding]:
    """Chunks that lack a vector."""
    for found in fetch_all(connection, "count_pending", file=FILE, of=Named):
        examples = ", ".join(str(chunk_id) for chunk_id in found["examples"])
        if found["is_current"] is False:
            yield Finding(
                check="embeddings",
                severity="warning",
                text=f"{found['chunks']} chunks of {found['tenant']}/{found['namespace']} have no"
                f" {found['route']} vector of {found['model']}, which is not searched with yet",
                remedy="run 'memsense model add' for it, or drop it",
            )
            continue
        yield Finding(
            check="embeddings",
            severity="error" if found["route"] == "full" else "warning",
            text=f"{found['chunks']} chunks of {found['tenant']}/{found['namespace']}"
            f" have no {found['route']} vector (such as {examples})",
            remedy="archive and restore them, which embeds them again",
        )


def examine_jobs(connection: Connection) -> Iterator[Finding]:
    """Work that was left for later: what waits, and what is dead."""
    for found in fetch_all(connection, "count_all_jobs", file=FILE, of=Named):
        place = f"{found['tenant']}/{found['namespace']}"
        if found["dead"]:
            yield Finding(
                check="jobs",
                severity="error",
                text=f"{found['dead']} jobs of {place} are dead, the last because of:"
                f" {found['last_error']}",
                remedy="see 'memsense jobs list --status dead', then 'memsense jobs retry --dead'",
            )
        if found["overdue"]:
            yield Finding(
                check="jobs",
                severity="warning",
                text=f"{found['overdue']} jobs of {place} wait for a worker, the oldest since"
                f" {found['oldest_at']:%Y-%m-%d %H:%M} UTC: {_WAITING[found['kind']]}",
                remedy="run 'memsense worker'",
            )


def examine_tokens(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Exchanges that lack token vectors, where they should have them."""
    if not expected.tokens:
        return
    values = {"model": expected.model, "dimension": expected.dimension}
    for found in fetch_all(connection, "count_bare", values, FILE, of=Named):
        yield Finding(
            check="tokens",
            severity="warning",
            text=f"{found['chunks']} exchanges of {found['tenant']}/{found['namespace']} have no"
            " token vectors: their words are not compared with a question's",
            remedy="run 'memsense db fill'",
        )


def examine_retired(connection: Connection) -> Iterator[Finding]:
    """What retired chunks left behind, and active ones that no word finds."""
    found = fetch_one(connection, "count_retired_vectors", file=FILE, of=Named)
    if found["vectors"] or found["entries"]:
        yield Finding(
            check="retired",
            severity="error",
            text=f"archived or deleted chunks can be found: {found['vectors']} vectors and"
            f" {found['entries']} index entries of theirs are left",
            remedy="run 'memsense doctor --repair'",
        )
    if found["unindexed"]:
        yield Finding(
            check="retired",
            severity="error",
            text=f"{found['unindexed']} active chunks are in no word index",
            remedy="run 'memsense db reindex'",
        )


def examine_drift(connection: Connection) -> Iterator[Finding]:
    """Statistics that a recount would change."""
    for found in fetch_all(connection, "find_drift", file=FILE, of=Named):
        yield Finding(
            check="statistics",
            severity="error",
            text=f"the statistics of {found['user_id']!r} are wrong for {found['lexemes']} lexemes"
            f" and {found['counts']} counts; its lexical scores are off",
            remedy="run 'memsense doctor --repair'",
        )


def examine_languages(connection: Connection) -> Iterator[Finding]:
    """Text-search configurations that are missing, or that texts aren't indexed with."""
    for found in fetch_all(connection, "list_namespaces", file=FILE, of=Named):
        place = f"{found['tenant']}/{found['namespace']}"
        if not found["has_configuration"]:
            yield Finding(
                check="language",
                severity="error",
                text=f"{place} uses text-search configuration {found['language']!r},"
                " which the server lacks",
                remedy="create it: CREATE TEXT SEARCH CONFIGURATION ...",
            )
            continue
        mismatched = _count_mismatched(connection, found)
        if mismatched:
            yield Finding(
                check="language",
                severity="error",
                text=f"{mismatched} of the newest {SAMPLED_CHUNKS} chunks of {place} are not"
                f" indexed as {found['language']!r} does it; questions will miss them",
                remedy="run 'memsense db reindex'",
            )


def _count_mismatched(connection: Connection, namespace: Mapping[str, Any]) -> int:
    wanted = {**namespace, "limit": SAMPLED_CHUNKS}
    sample = fetch_all(connection, "sample_texts", wanted, FILE, of=Named)
    values = {
        **namespace,
        "scope_ids": [found["scope_id"] for found in sample],
        "chunk_ids": [found["chunk_id"] for found in sample],
        "texts": [segment_scripts(found["text"]) for found in sample],
    }
    return fetch_value(connection, "count_mismatched", values, FILE)


def examine_models(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Vectors of another model, or of another length, than the namespace's."""
    for found in fetch_all(connection, "list_namespaces", file=FILE, of=Named):
        here = (found["tenant"], found["namespace"]) == (expected.tenant, expected.namespace)
        stored = found["model"], found["dimension"]
        is_other = found["model"] and stored != (expected.model, expected.dimension)
        if here and is_other and not found["opens_itself"]:
            yield Finding(
                check="model",
                severity="error",
                text=f"namespace {found['namespace']!r} holds vectors of {found['model']}"
                f" ({found['dimension']}), the embedder is {expected.model}"
                f" ({expected.dimension})",
                remedy="use the same embedder, another namespace, or 'memsense model add'",
            )
    for found in fetch_all(connection, "list_foreign_vectors", file=FILE, of=Named):
        if found["state"] == "dropping":
            yield Finding(
                check="model",
                severity="warning",
                text=f"{found['vectors']} vectors of {found['tenant']}/{found['namespace']} are of"
                f" {found['model']}, whose dropping has broken off",
                remedy=f"run 'memsense model drop {found['model']}'",
            )
            continue
        yield Finding(
            check="model",
            severity="error",
            text=f"{found['vectors']} vectors of {found['tenant']}/{found['namespace']} are of"
            f" {found['model']}, or of another length than it has ({found['wrong_width']})",
            remedy="embed these chunks again: archive and restore them",
        )


def examine_traces(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Traces older than they are to be kept."""
    values = {"seconds": 86400 * expected.trace_days}
    found = fetch_one(connection, "count_old_traces", values, FILE, of=Named)
    if found["old"]:
        yield Finding(
            check="traces",
            severity="info",
            text=f"{found['old']} of {found['traces']} traces are older than"
            f" {expected.trace_days:g} days",
            remedy="run 'memsense trace prune'",
        )
