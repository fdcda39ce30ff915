"""Finds what is wrong with a memsense database, and mends what a recount can mend."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from psycopg.rows import dict_row

from memsense.db.connection import OLDEST_PGVECTOR, OLDEST_SERVER, Connection
from memsense.db.queries import query
from memsense.text.scripts import segment_scripts

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")

FILE = "doctor.sql"
RECOUNT = "reindex.sql"
LEAST_WORK_MEM = 4 << 20
LEAST_ANALYSED = 1 << 20
"""Bytes; smaller tables are read whole whatever the planner knows of them."""

LEAST_HUGE = 256 << 20
"""Bytes; measured, a memory of 90 MB gained 4% and one of 1.3 GB 7% (docs/benchmarks.md)."""

UNIT_STEP = 1024
SAMPLED_CHUNKS = 50
WASTED_ROWS = 10_000
"""Rows of others that a route may read in vain before its plan is worth a warning."""

INDEXES: Mapping[str, str] = {
    "chunks_pkey": "chunks",
    "chunks_scope_lexemes": "chunks",
    "chunks_scope_tags": "chunks",
    "chunks_occurred_at": "chunks",
    "chunks_tenant_id_scope_id_session_id_granularity_ordinal_pa_key": "chunks",
    "chunks_tenant_id_scope_id_content_hash_dedup_window_key": "chunks",
    "lexemes_pkey": "lexemes",
    "scope_statistics_pkey": "scope_statistics",
    "scopes_pkey": "scopes",
    "scopes_tenant_id_namespace_id_user_id_key": "scopes",
    "embeddings_full_pkey": "embeddings_full",
    "embeddings_user_pkey": "embeddings_user",
    "embeddings_assistant_pkey": "embeddings_assistant",
    "embeddings_personal_info_pkey": "embeddings_personal_info",
    "embeddings_preferences_pkey": "embeddings_preferences",
    "embeddings_events_pkey": "embeddings_events",
    "entities_pkey": "entities",
    "entities_tenant_id_scope_id_key_key": "entities",
    "entities_scope_spellings": "entities",
    "mentions_pkey": "mentions",
    "mentions_chunk": "mentions",
    "edges_pkey": "edges",
    "edges_entity_b": "edges",
    "events_chunk": "events",
    "ingested_messages_pkey": "ingested_messages",
    "traces_pkey": "traces",
    "traces_recorded_at": "traces",
    "packed_candidates_pkey": "packed_candidates",
    "settings_pkey": "settings",
    "profiles_pkey": "profiles",
    "settings_history_pkey": "settings_history",
    "projects_pkey": "projects",
    "project_sessions_pkey": "project_sessions",
}
"""The indexes that searches and writes rely on, and their tables."""

VECTOR_TABLES = [table for table in INDEXES.values() if table.startswith("embeddings_")]
"""Where a promoted memory has HNSW indexes of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that the examination found: what, how bad, and what to do about it."""

    check: str
    severity: Severity
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings, the worst first."""

    findings: Sequence[Finding]

    @property
    def severity(self) -> Severity:
        """The worst severity found; info on a healthy database."""
        worst = max((SEVERITIES.index(item.severity) for item in self.findings), default=0)
        return SEVERITIES[worst]

    @property
    def exit_code(self) -> int:
        """0 on a healthy database, 1 with warnings, 2 with errors."""
        return SEVERITIES.index(self.severity)

    def problems(self) -> list[Finding]:
        """The findings that call for something to be done."""
        return [item for item in self.findings if item.severity != "info"]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "severity": self.severity,
            "findings": [asdict(finding) for finding in self.findings],
        }


def make_report(findings: Sequence[Finding]) -> Report:
    """A report of the findings, the worst first."""
    ordered = sorted(findings, key=lambda item: -SEVERITIES.index(item.severity))
    return Report(findings=ordered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the examiner knows beforehand of the namespace that is in use."""

    tenant: str
    namespace: str
    model: str
    dimension: int
    trace_days: float
    promotion_threshold: int


def _rows(connection: Connection, name: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    cursor = connection.cursor(row_factory=dict_row)
    return cursor.execute(query(name, FILE), values).fetchall()


def _row(
    connection: Connection, name: str, values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return _rows(connection, name, values or {})[0]


def examine_server(connection: Connection) -> Iterator[Finding]:
    """Versions and settings; needs no schema."""
    yield from _examine_versions(connection)
    yield from _examine_settings(connection)


def _examine_versions(connection: Connection) -> Iterator[Finding]:
    found = _row(connection, "fetch_server")
    yield Finding(
        check="server",
        severity="info",
        text=f"PostgreSQL {found['server']}, pgvector {found['pgvector'] or 'not installed'}",
    )
    if found["server_number"] < OLDEST_SERVER:
        yield Finding(
            check="server",
            severity="error",
            text=f"PostgreSQL {found['server']} is older than 15",
            remedy="upgrade the server",
        )
    if found["encoding"] != "UTF8":
        yield Finding(
            check="server",
            severity="warning",
            text=f"the database is encoded in {found['encoding']}",
            remedy="create a database with ENCODING 'UTF8'",
        )
    yield from _examine_extension(found["pgvector"], found["pgvector_available"])


def _examine_extension(installed: str | None, available: str | None) -> Iterator[Finding]:
    if installed is None:
        remedy = "run 'memsense init'" if available else "install pgvector on the server"
        yield Finding(
            check="pgvector", severity="error", text="pgvector is not installed", remedy=remedy
        )
    elif _version(installed) < OLDEST_PGVECTOR:
        yield Finding(
            check="pgvector",
            severity="error",
            text=f"pgvector {installed} is older than 0.8",
            remedy="install a newer one, then run 'ALTER EXTENSION vector UPDATE'",
        )
    elif available and _version(installed) < _version(available):
        yield Finding(
            check="pgvector",
            severity="warning",
            text=f"pgvector {available} is on the server, the database still uses {installed}",
            remedy="run 'ALTER EXTENSION vector UPDATE'",
        )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


def _examine_settings(connection: Connection) -> Iterator[Finding]:
    found = _row(connection, "fetch_settings")
    if found["work_mem"] < LEAST_WORK_MEM:
        yield Finding(
            check="work_mem",
            severity="warning",
            text=f"work_mem is {_size(found['work_mem'])}; sorts and bitmaps of a recall spill",
            remedy="set it to 16MB or more: ALTER DATABASE ... SET work_mem = '16MB'",
        )
    if found["autovacuum"] != "on":
        yield Finding(
            check="autovacuum",
            severity="warning",
            text="autovacuum is off: tables bloat and the planner's statistics go stale",
            remedy="turn autovacuum on",
        )
    lost = _lost_session_settings(found)
    if lost:
        yield Finding(
            check="session",
            severity="warning",
            text=f"a connection of memsense's has {', '.join(lost)}, against sql/session.sql",
            remedy="connect without a pooler, or let the pooler keep sessions (session mode)",
        )


def _lost_session_settings(found: Mapping[str, Any]) -> list[str]:
    wanted = {"jit": "off", "plan_cache_mode": "force_generic_plan", "parallel_workers": 0}
    return [f"{name} {found[name]}" for name, value in wanted.items() if found[name] != value]


def _size(count: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < UNIT_STEP:
            return f"{count} {unit}"
        count //= UNIT_STEP
    return f"{count} GB"


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
    yield from _examine_sizes(connection)
    yield from _examine_analysis(connection)
    yield from _examine_indexes(connection)
    yield from _examine_large(connection, expected)
    yield from _examine_vectors(connection)
    yield from _examine_retired(connection)
    yield from _examine_drift(connection)
    yield from _examine_languages(connection)
    yield from _examine_models(connection, expected)
    yield from _examine_traces(connection, expected)


def _examine_sizes(connection: Connection) -> Iterator[Finding]:
    used = _row(connection, "sum_sizes")["bytes"]
    settings = _row(connection, "fetch_settings")
    yield from describe_huge_pages(used, settings["huge_pages"], settings["huge_pages_needed"])
    buffers = settings["shared_buffers"]
    text = f"the memory takes {_size(used)}, shared_buffers is {_size(buffers)}"
    if used > buffers:
        yield Finding(
            check="shared_buffers",
            severity="warning",
            text=text,
            remedy="raise shared_buffers to at least the size of what is searched often",
        )
    else:
        yield Finding(check="shared_buffers", severity="info", text=text)


def describe_huge_pages(used: int, status: str | None, needed: int | None) -> Iterator[Finding]:
    """What a memory of `used` bytes would gain by huge pages; nothing where the server has them.

    `status` is PostgreSQL's huge_pages_status, None before PostgreSQL 17; `needed` the number of
    huge pages its shared memory takes, None where the system has none.
    """
    if used < LEAST_HUGE or status != "off" or needed is None:
        return
    yield Finding(
        check="huge_pages",
        severity="info",
        text="the server has no huge pages; a large memory is searched more quickly with them",
        remedy=f"reserve them with 'sysctl vm.nr_hugepages={needed}' and restart the server",
    )


def _examine_analysis(connection: Connection) -> Iterator[Finding]:
    for found in _rows(connection, "list_unanalysed", {"least_bytes": LEAST_ANALYSED}):
        known = "was never analysed" if found["rows"] < 0 else "has changed much since its analysis"
        yield Finding(
            check="analyse",
            severity="warning",
            text=f"memsense.{found['name']} {known}: the planner guesses",
            remedy=f"run 'ANALYZE memsense.{found['name']}'",
        )


def _examine_indexes(connection: Connection) -> Iterator[Finding]:
    indexes = _rows(connection, "list_indexes", {})
    names = {found["index_name"] for found in indexes}
    for name, table in INDEXES.items():
        if name not in names:
            yield Finding(
                check="indexes",
                severity="error",
                text=f"index {name} of memsense.{table} is missing",
                remedy="create it as alembic/versions defines it",
            )
    for found in indexes:
        if not found["is_usable"]:
            yield Finding(
                check="indexes",
                severity="error",
                text=f"index {found['index_name']} of memsense.{found['table_name']} is invalid",
                remedy=f"run 'REINDEX INDEX CONCURRENTLY memsense.{found['index_name']}'",
            )
    yield from _examine_promoted(connection, indexes)


def _examine_promoted(
    connection: Connection, indexes: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    usable = [found for found in indexes if found["method"] == "hnsw" and found["is_usable"]]
    for scope in _rows(connection, "list_promoted", {}):
        covered = f"scope_id = {scope['scope_id']})"
        served = {found["table_name"] for found in usable if covered in found["predicate"]}
        missing = [table for table in VECTOR_TABLES if table not in served]
        if missing:
            yield Finding(
                check="indexes",
                severity="error",
                text=f"the promoted memory of {scope['user_id']!r} has no usable HNSW index on"
                f" {', '.join(missing)}",
                remedy="run 'memsense db optimise', which builds what is missing",
            )


def _examine_large(connection: Connection, expected: Expected) -> Iterator[Finding]:
    values = {"threshold": expected.promotion_threshold}
    for scope in _rows(connection, "list_large_unpromoted", values):
        yield Finding(
            check="promotion",
            severity="warning",
            text=f"the memory of {scope['user_id']!r} has {scope['chunks']:,} chunks"
            " and is searched without indexes of its own",
            remedy="run 'memsense db optimise'",
        )


def _examine_vectors(connection: Connection) -> Iterator[Finding]:
    for found in _rows(connection, "count_pending", {}):
        examples = ", ".join(str(chunk_id) for chunk_id in found["examples"])
        yield Finding(
            check="embeddings",
            severity="error" if found["route"] == "full" else "warning",
            text=f"{found['chunks']} chunks of {found['tenant']}/{found['namespace']}"
            f" have no {found['route']} vector (such as {examples})",
            remedy="archive and restore them, which embeds them again",
        )


def _examine_retired(connection: Connection) -> Iterator[Finding]:
    found = _row(connection, "count_retired_vectors")
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


def _examine_drift(connection: Connection) -> Iterator[Finding]:
    for found in _rows(connection, "find_drift", {}):
        yield Finding(
            check="statistics",
            severity="error",
            text=f"the statistics of {found['user_id']!r} are wrong for {found['lexemes']} lexemes"
            f" and {found['counts']} counts; its lexical scores are off",
            remedy="run 'memsense doctor --repair'",
        )


def _examine_languages(connection: Connection) -> Iterator[Finding]:
    for found in _rows(connection, "list_namespaces", {}):
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
    sample = _rows(connection, "sample_texts", {**namespace, "limit": SAMPLED_CHUNKS})
    values = {
        **namespace,
        "scope_ids": [found["scope_id"] for found in sample],
        "chunk_ids": [found["chunk_id"] for found in sample],
        "texts": [segment_scripts(found["text"]) for found in sample],
    }
    return _row(connection, "count_mismatched", values)["chunks"]


def _examine_models(connection: Connection, expected: Expected) -> Iterator[Finding]:
    for found in _rows(connection, "list_namespaces", {}):
        here = (found["tenant"], found["namespace"]) == (expected.tenant, expected.namespace)
        stored = found["model"], found["dimension"]
        if here and found["model"] and stored != (expected.model, expected.dimension):
            yield Finding(
                check="model",
                severity="error",
                text=f"namespace {found['namespace']!r} holds vectors of {found['model']}"
                f" ({found['dimension']}), the embedder is {expected.model}"
                f" ({expected.dimension})",
                remedy="use the same embedder, or another namespace",
            )
    for found in _rows(connection, "list_foreign_vectors", {}):
        yield Finding(
            check="model",
            severity="error",
            text=f"{found['vectors']} vectors of {found['tenant']}/{found['namespace']} are of"
            f" {found['model']}, or of another length than it has ({found['wrong_width']})",
            remedy="embed these chunks again: archive and restore them",
        )


def _examine_traces(connection: Connection, expected: Expected) -> Iterator[Finding]:
    found = _row(connection, "count_old_traces", {"seconds": 86400 * expected.trace_days})
    if found["old"]:
        yield Finding(
            check="traces",
            severity="info",
            text=f"{found['old']} of {found['traces']} traces are older than"
            f" {expected.trace_days:g} days",
            remedy="run 'memsense trace prune'",
        )


def find_largest_scope(connection: Connection) -> dict[str, Any] | None:
    """The largest memory, with a text and a vector to try recall with; None where there is none."""
    return next(iter(_rows(connection, "find_largest_scope", {})), None)


def examine_plan(plan: Any, routes: Sequence[str]) -> Iterator[Finding]:
    """Each route's plan in words, from EXPLAIN (ANALYZE, FORMAT JSON) of the recall query."""
    top = json.loads(plan) if isinstance(plan, str) else plan
    nodes = list(_walk(top[0]["Plan"]))
    yield Finding(
        check="plan",
        severity="info",
        text=f"recall of the largest memory took {top[0]['Execution Time']:.1f} ms",
    )
    for route in routes:
        root = _root_of(nodes, route)
        if root is not None:
            yield _describe_route(route, root)


def _walk(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _walk(child)


def _root_of(nodes: Sequence[Mapping[str, Any]], route: str) -> Mapping[str, Any] | None:
    names = {"CTE matched"} if route == "lexical" else set[str]()
    for node in nodes:
        is_route = node.get("Subplan Name") in names or node.get("Alias") == route
        if is_route and any(_is_source(child) for child in _walk(node)):
            return node
    return None


def _is_source(node: Mapping[str, Any]) -> bool:
    name = node.get("Relation Name", "")
    has_rows = name.startswith(("embeddings_", "chunks", "mentions"))
    return has_rows or node.get("One-Time Filter") == "false"


def _describe_route(route: str, root: Mapping[str, Any]) -> Finding:
    source = next(node for node in _walk(root) if _is_source(node))
    if "Relation Name" not in source:
        return Finding(check="plan", severity="info", text=f"{route}: not run")
    rows, wasted = source["Actual Rows"], source.get("Rows Removed by Filter", 0)
    index = next((node["Index Name"] for node in _walk(source) if "Index Name" in node), None)
    way = f"by {index}" if index else "read whole"
    text = (
        f"{route}: {source['Relation Name']} {way}, {rows:.0f} rows,"
        f" {root['Actual Total Time']:.1f} ms"
    )
    if index is None and wasted > WASTED_ROWS:
        return Finding(
            check="plan",
            severity="warning",
            text=f"{text}, {wasted:.0f} rows of others read in vain",
            remedy="run 'ANALYZE'; if that does not help, see the indexes above",
        )
    return Finding(check="plan", severity="info", text=text)


def repair(connection: Connection) -> list[Finding]:
    """Recount drifted statistics and clear what retired chunks left behind.

    In the caller's transaction, with each scope locked as writes lock it. Returns what was done.
    """
    done: list[Finding] = []
    for tenant_id, scope_ids in _by_tenant(_rows(connection, "list_retired_scopes", {})):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        connection.execute(query("lock_scopes", RECOUNT), values)
        vectors = connection.execute(query("drop_retired_vectors", FILE), values).rowcount
        entries = connection.execute(query("drop_retired_entries", FILE), values).rowcount
        text = f"removed {vectors} vectors and {entries} index entries of retired chunks"
        done.append(Finding(check="repair", severity="info", text=text))
    for tenant_id, scope_ids in _by_tenant(_rows(connection, "find_drift", {})):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        for name in (
            "lock_scopes",
            "clear_lexemes",
            "clear_counts",
            "recount_lexemes",
            "recount_chunks",
        ):
            connection.execute(query(name, RECOUNT), values)
        text = f"recounted the statistics of {len(scope_ids)} memories"
        done.append(Finding(check="repair", severity="info", text=text))
    return done


def _by_tenant(rows: Sequence[Mapping[str, Any]]) -> list[tuple[int, list[int]]]:
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(row["tenant_id"], []).append(row["scope_id"])
    return sorted(found.items())
