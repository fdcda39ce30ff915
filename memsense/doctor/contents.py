"""Examination of what is stored, and its repair: vectors, words, statistics, models, traces."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from memsense.db import citus
from memsense.db.connection import Connection
from memsense.db.partitions import list_ending
from memsense.db.queries import as_sql, fill
from memsense.db.rows import Named, execute, fetch_all, fetch_one
from memsense.doctor.exchanges import repair_exchanges
from memsense.doctor.findings import FILE, Expected, Finding, Severity, error, info, warning
from memsense.draft.chunking import LARGEST_PART
from memsense.embed.multilingual import INSTALL_LANGUAGES
from memsense.store import jobs
from memsense.store.jobs import EMBED, RECUT, RELEX
from memsense.store.scopes import LEXEMES_VERSION
from memsense.text.lexemes import list_lexemes
from memsense.text.secrets import clean
from memsense.types import ENGLISH_MODEL

RECUT_FILE = "recut.sql"

SAMPLED_CHUNKS = 50
SCANNED_CHUNKS = 1_000

NEWER = "they are of a kind that a newer memsense does"


def examine_vectors(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine chunks for missing vectors."""
    pending_vectors = as_sql(fill("count_pending", FILE, unpromised=fill("unpromised", FILE)))
    for pending in fetch_all(connection, pending_vectors, of=Named):
        examples = ", ".join(str(chunk_id) for chunk_id in pending["examples"])
        if pending["is_current"] is False:
            yield warning(
                f"{pending['chunks']} chunks of {pending['tenant']}/{pending['namespace']}"
                f" have no {pending['route']} vector of {pending['model']},"
                " which searches don't use yet",
                f"run '{expected.command('model add', pending)}' for it, or drop it",
            )
            continue
        yield Finding(
            # Without "full", meaning alone can't find the chunk; the other routes only add to it.
            severity="error" if pending["route"] == "full" else "warning",
            text=f"{pending['chunks']} chunks of {pending['tenant']}/{pending['namespace']}"
            f" have no {pending['route']} vector (such as {examples})",
            remedy=f"run '{expected.command('doctor --repair', pending)}', then"
            f" '{expected.command('worker', pending)}'",
            fix=True,
        )


def examine_jobs(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine jobs: those that wait for a worker, and those that are dead."""
    for counts in fetch_all(connection, "count_all_jobs", file=FILE, of=Named):
        place = f"{counts['tenant']}/{counts['namespace']}"
        if counts["dead"]:
            yield error(
                f"{counts['dead']} jobs of {place} are dead, the last because of:"
                f" {counts['last_error']}",
                f"see '{expected.command('jobs list --status dead', counts)}', then"
                f" '{expected.command('jobs retry --dead', counts)}'",
            )
        if counts["overdue"]:
            # Imported here: its 28 modules are for doing jobs, and most stores have no such job.
            from memsense.client.job_kinds import KINDS

            kind = KINDS.get(counts["kind"])
            if effect := kind.waiting if kind else NEWER:
                yield warning(
                    f"{counts['overdue']} jobs of {place} wait for a worker, the oldest since"
                    f" {counts['oldest_at']:%Y-%m-%d %H:%M} UTC: {effect}",
                    f"run '{expected.command('worker', counts)}'",
                )


def examine_tokens(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine exchanges for missing token vectors, if they should have them."""
    if not expected.tokens:
        return
    values = {"model": expected.model, "dimension": expected.dimension}
    for namespace in fetch_all(connection, "count_bare", values, FILE, of=Named):
        yield warning(
            f"{namespace['chunks']} exchanges of"
            f" {namespace['tenant']}/{namespace['namespace']} have no token vectors: a question's"
            " words can't be compared with theirs",
            f"run '{expected.command('db fill', namespace)}'",
        )


def examine_parts(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine exchanges that were stored in longer parts than today's."""
    for place, memories, severity, remedy in _list_waiting(_list_long(connection), expected):
        yield Finding(
            severity=severity,
            text=f"{sum(memory['exchanges'] for memory in memories)} long exchanges of {place} wait"
            " to be cut into shorter parts: till then only words find what is behind the first"
            f" {LARGEST_PART:,} characters",
            remedy=remedy,
            fix=severity == "warning",
        )


def _list_waiting(
    memories: Sequence[Named], expected: Expected
) -> Iterator[tuple[str, Sequence[Named], Severity, str]]:
    """Yield each namespace whose memories wait for an upgrade's jobs, with severity and remedy."""
    for place, group in groupby(memories, lambda it: f"{it['tenant']}/{it['namespace']}"):
        waiting = list(group)
        worker = expected.command("worker", waiting[0])
        if all(memory["has_job"] for memory in waiting):
            yield place, waiting, "info", f"run '{worker}'"
        else:
            yield place, waiting, "warning", f"run 'memsense doctor --repair', then '{worker}'"


def _list_long(connection: Connection) -> list[Named]:
    is_long = fill("is_long", RECUT_FILE)
    statement = as_sql(fill("list_long", FILE, is_long=is_long))
    return fetch_all(connection, statement, {"longest": LARGEST_PART}, of=Named)


def examine_retired(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine what retired chunks left in the indexes, and active chunks that no word finds."""
    for counts in fetch_all(connection, "count_retired_vectors", file=FILE, of=Named):
        place = f"{counts['tenant']}/{counts['namespace']}"
        if counts["vectors"] or counts["entries"]:
            yield error(
                f"archived or deleted chunks of {place} can be hits: {counts['vectors']}"
                f" vectors and {counts['entries']} of their index entries remain",
                f"run '{expected.command('doctor --repair', counts)}'",
                fix=True,
            )
        # Active again, but not put back into the index: a question's words pass it by.
        if counts["unindexed"]:
            yield error(
                f"{counts['unindexed']} active chunks of {place} are in no word index",
                f"run '{expected.command('db reindex', counts)}'",
            )


def examine_drift(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine statistics: which of them a recount would change."""
    for scope in fetch_all(connection, "find_drift", file=FILE, of=Named):
        yield error(
            f"the statistics of {scope['user_id']!r} are wrong for {scope['lexemes']} lexemes"
            f" and {scope['counts']} counts; its lexical scores are off",
            f"run '{expected.command('doctor --repair', scope)}'",
            fix=True,
        )


def list_namespaces(connection: Connection) -> list[Named]:
    """Return the namespaces of all tenants, with their models and languages."""
    return fetch_all(connection, "list_namespaces", file=FILE, of=Named)


def examine_languages(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine index entries: those of an earlier version, and those that a write would not make."""
    for place, memories, severity, remedy in _list_waiting(_list_former(connection), expected):
        yield Finding(
            severity=severity,
            text=f"{len(memories)} memories of {place} wait to be indexed by language: till then"
            " their words are found as they were spelt",
            remedy=remedy,
            fix=severity == "warning",
        )
    for namespace in list_namespaces(connection):
        newest = {**namespace, "limit": SAMPLED_CHUNKS}
        sample = fetch_all(connection, "sample_texts", newest, FILE, of=Named)
        mismatched = sum(
            {*row["lexemes"]} != {*list_lexemes(row["text"], row["language"])} for row in sample
        )
        if mismatched:
            yield error(
                f"{mismatched} of the newest {SAMPLED_CHUNKS} chunks of"
                f" {namespace['tenant']}/{namespace['namespace']} are not indexed by the words of"
                " their language; questions will miss them",
                f"run '{expected.command('db reindex', namespace)}'",
            )


def examine_secrets(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Count the secrets in what memories say, if they are asked for; no finding has their text."""
    for namespace in list_namespaces(connection) if expected.secrets else ():
        counts: Counter[str] = Counter()
        holders: list[int] = []
        page = {**namespace, "limit": SCANNED_CHUNKS, "after_scope": 0, "after_chunk": 0}
        while texts := fetch_all(connection, "list_texts", page, FILE):
            for scope_id, chunk_id, values in texts:
                page.update(after_scope=scope_id, after_chunk=chunk_id)
                secrets = clean(values, secrets=True, passages=False)[1]
                counts += secrets
                holders += [chunk_id] if secrets else []
        if counts:
            kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
            some = ", ".join(map(str, holders[:3]))
            yield Finding(
                severity="warning",
                text=f"{len(holders)} chunks of {namespace['tenant']}/{namespace['namespace']} hold"
                f" secrets (such as chunk {some}): {kinds}",
                remedy=f"run '{expected.command('redact --stored --all-users', namespace)}'",
            )


def _list_former(connection: Connection) -> list[Named]:
    return fetch_all(connection, "list_former", {"version": LEXEMES_VERSION}, FILE, of=Named)


def examine_models(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine vectors: those of another model, or another dimension, than the namespace's."""
    for namespace in list_namespaces(connection):
        here = (namespace["tenant"], namespace["namespace"]) == (
            expected.tenant,
            expected.namespace,
        )
        stored = namespace["model"], namespace["dimension"]
        is_other = namespace["model"] and stored != (expected.model, expected.dimension)
        # A model that the database describes is opened by every process itself.
        if here and is_other and not namespace["opens_itself"]:
            yield error(
                f"namespace {namespace['namespace']!r} holds vectors of {namespace['model']}"
                f" ({namespace['dimension']}), the embedder is {expected.model}"
                f" ({expected.dimension})",
                "use the same embedder, another namespace, or"
                f" '{expected.command('model add', namespace)}'",
            )
    uncompared = fetch_all(connection, "list_uncompared", {"model": ENGLISH_MODEL}, FILE, of=Named)
    for place, group in groupby(uncompared, lambda it: f"{it['tenant']}/{it['namespace']}"):
        rows = list(group)
        yield info(
            f"{sum(row['chunks'] for row in rows)} chunks of {place} are in"
            f" {', '.join(row['language'] for row in rows)}: words find them, but the model of"
            " their meaning knows English alone",
            f"{INSTALL_LANGUAGES}, then run"
            f" '{expected.command('model add --embedder multilingual', rows[0])}'",
        )
    for vectors in fetch_all(connection, "list_foreign_vectors", file=FILE, of=Named):
        if vectors["state"] == "dropping":
            yield warning(
                f"{vectors['vectors']} vectors of {vectors['tenant']}/{vectors['namespace']}"
                f" are of {vectors['model']}, whose removal was interrupted",
                f"run '{expected.command('model drop ' + vectors['model'], vectors)}'",
            )
            continue
        yield error(
            f"{vectors['vectors']} vectors of {vectors['tenant']}/{vectors['namespace']}"
            f" are of {vectors['model']}, or of another dimension than the model's"
            f" ({vectors['wrong_width']})",
            "embed these chunks again: archive and restore them",
        )


def examine_traces(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine traces: those older than the setting `trace_days`."""
    values = {"seconds": 86400 * expected.trace_days}
    counts = fetch_one(connection, "count_old_traces", values, FILE, of=Named)
    if counts["old"]:
        yield info(
            f"{counts['old']} of {counts['traces']} traces are older than"
            f" {expected.trace_days:g} days",
            "run 'memsense trace prune'",
        )


def examine_erasures(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine erasures: those older than the setting `purge_days` that are not purged."""
    if citus.is_installed(connection):  # where no command purges them
        return
    values = {"seconds": 86400 * expected.purge_days}
    for place in fetch_all(connection, "count_unpurged", values, FILE, of=Named):
        yield warning(
            f"{place['erasures']} erasures of {place['tenant']}/{place['namespace']} are not"
            f" purged, the oldest of {place['oldest_at']:%Y-%m-%d}: their words are still in the"
            " server's files",
            "run 'memsense db purge' as the tables' owner",
        )


def examine_months(connection: Connection, _: Expected) -> Iterator[Finding]:
    """Examine partitions by month: a table that has them needs one for the next month."""
    for last in list_ending(connection):
        yield warning(
            f"memsense.{last.table} has no partition from {last.ends_at:%Y-%m-%d} on:"
            " its rows will go into the default partition, from which they have to be deleted",
            "run 'memsense db partition', once a month",
        )


RECOUNT = "reindex.sql"


def repair(connection: Connection, expected: Expected) -> list[Finding]:
    """Mend in the caller's transaction what `doctor --repair` mends; return what was done."""
    repairs = [replace(it, check="repair") for it in repair_exchanges(connection, expected)]
    pending = as_sql(fill("list_pending", FILE, unpromised=fill("unpromised", FILE)))
    for lacking in fetch_all(connection, pending, of=Named):
        execute(connection, "enqueue_chunks", {**lacking, "kind": EMBED}, jobs.FILE)
        text = f"left the missing vectors of {len(lacking['chunk_ids'])} chunks to jobs"
        repairs.append(info(text, check="repair"))
    for tenant_id, scope_ids in _scopes_of(connection, "list_retired_scopes"):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        # Locked as writes lock them, so that none changes what is counted.
        execute(connection, "lock_scopes", values, RECOUNT)
        vectors = execute(connection, "drop_retired_vectors", values, FILE)
        vectors += execute(connection, "drop_retired_tokens", values, FILE)
        entries = execute(connection, "drop_retired_entries", values, FILE)
        text = f"removed {vectors} vectors and {entries} index entries of retired chunks"
        repairs.append(info(text, check="repair"))
    for tenant_id, scope_ids in _scopes_of(connection, "find_drift"):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        # The statements of a re-indexing: one way to count.
        for name in (
            "lock_scopes",
            "clear_lexemes",
            "clear_counts",
            "recount_lexemes",
            "recount_chunks",
            "recount_languages",
        ):
            execute(connection, name, values, RECOUNT)
        text = f"recounted the statistics of {len(scope_ids)} memories"
        repairs.append(info(text, check="repair"))
    for kind, memories in ((RELEX, _list_former(connection)), (RECUT, _list_long(connection))):
        waiting = [memory for memory in memories if not memory["has_job"]]
        for memory in waiting:
            values = {name: memory[name] for name in ("tenant_id", "scope_id")}
            execute(connection, "enqueue_memory", {**values, "kind": kind}, jobs.FILE)
        if waiting:
            what = "the index entries"
            if kind == RECUT:
                what = f"{sum(memory['exchanges'] for memory in waiting)} long exchanges"
            text = f"left {what} of {len(waiting)} memories to jobs"
            repairs.append(info(text, check="repair"))
    return repairs


def _scopes_of(connection: Connection, statement: str) -> list[tuple[int, list[int]]]:
    """Return the scopes that the statement selects, by tenant."""
    scopes: dict[int, list[int]] = {}
    for row in fetch_all(connection, statement, file=FILE, of=Named):
        scopes.setdefault(row["tenant_id"], []).append(row["scope_id"])
    return sorted(scopes.items())
