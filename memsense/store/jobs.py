"""The table of jobs: what is left for later, who has leased it, what failed, what is dead.

This module knows nothing of the meaning of a kind of job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Json

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_one, fetch_value, fetch_values, find_value
from memsense.store.scopes import Namespace, Scope
from memsense.types import EmbeddingModel

FILE = "jobs.sql"

EMBED = "embed"
"""The kind of job that makes the vectors that a chunk lacks."""

FILL = "fill"
"""The kind of job that makes the vectors of one more model, for a chunk or a whole memory."""

EXPIRE = "expire"
"""The kind of job that sweeps what has expired in a memory. Each memory has at most one."""

INDEX = "index"
"""The kind of job that builds a memory's HNSW indexes, or drops them."""

SETTLE = "settle"
"""The kind of job that adds a memory's fresh vectors to its HNSW indexes."""

RELEX = "relex"
"""The kind of job that makes a memory's index entries of an earlier version again."""

RECUT = "recut"
"""The kind of job that cuts a memory's exchanges into parts of today's length."""

PURGE = "purge"
"""The kind of job that removes the words of erased memories from the server's files."""

JobStatus = Literal["waiting", "running", "dead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of the table.

    It is `waiting` until `run_at` or until a worker is free, `running` while a worker holds its
    lease, and `dead` after its last attempt. `errors` has the time and the message of each failed
    attempt; `last_error` may also say why nothing was attempted, such as an embedder that is down.
    """

    job_id: int
    kind: str
    status: JobStatus
    user_id: str | None
    session_id: str | None
    chunk_id: int | None
    model: str | None
    attempts: int
    run_at: datetime
    leased_until: datetime | None
    lease_owner: str | None
    dead_at: datetime | None
    last_error: str | None
    errors: Sequence[Mapping[str, Any]]
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Counts of jobs by status.

    `scheduled` jobs wait for their date, `waiting` ones for a worker or for another attempt.
    `oldest_at`: when the wait of the oldest waiting job began; `next_at`: when the next job of all
    is due.
    """

    waiting: int
    scheduled: int
    running: int
    dead: int
    oldest_at: datetime | None
    next_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedJob:
    """A job that a worker has leased."""

    job_id: int
    kind: str
    scope_id: int | None
    chunk_id: int | None
    model_id: int | None
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A worker's claim on jobs of a namespace, for so many seconds at a time."""

    namespace: Namespace
    owner: str
    seconds: float

    def key(self) -> dict[str, Any]:
        """Return the parameters that limit a statement to this lease."""
        return {
            "tenant_id": self.namespace.tenant_id,
            "namespace_id": self.namespace.namespace_id,
            "owner": self.owner,
            "lease_seconds": self.seconds,
        }


# Leaving work for later --------------------------------------------------------------------------


def enqueue_chunks(
    connection: Connection,
    scope: Scope,
    kind: str,
    chunk_ids: Sequence[int],
    *,
    model: EmbeddingModel | None,
) -> None:
    """Leave work on these chunks to jobs, in the transaction of the write that causes it."""
    if chunk_ids:
        model_id = model.model_id if model else None
        values = {**scope.key, "kind": kind, "chunk_ids": list(chunk_ids), "model_id": model_id}
        execute(connection, "enqueue_chunks", values, FILE)


def schedule_sweep(connection: Connection, scope: Scope) -> None:
    """Set the memory's sweep to when its next chunk expires; no job if none expires."""
    execute(connection, "schedule_sweep", {**scope.key, "kind": EXPIRE}, FILE)


def enqueue_indexing(
    connection: Connection, namespace: Namespace, scope_ids: Sequence[int]
) -> None:
    """Leave a job for the HNSW indexes of each of these memories that has none yet."""
    values = {**namespace.key, "kind": INDEX, "scope_ids": list(scope_ids)}
    execute(connection, "enqueue_indexing", values, FILE)


def enqueue_settling(connection: Connection, scope: Scope) -> None:
    """Leave the memory's fresh vectors to its one job; the scope must be locked."""
    execute(connection, "enqueue_memory", {**scope.key, "kind": SETTLE}, FILE)


def enqueue_recutting(connection: Connection, scope: Scope) -> None:
    """Leave the memory's exchanges with parts that are too long to its one job."""
    execute(connection, "enqueue_memory", {**scope.key, "kind": RECUT}, FILE)


def enqueue_purging(connection: Connection, namespace: Namespace, days: float) -> None:
    """Leave a purge to a job if an erasure is older than so many days, and this user may purge."""
    values = {**namespace.key, "kind": PURGE, "seconds": 86400 * days}
    # By two statements: Citus joins no table with the catalogue.
    if fetch_value(connection, "has_unpurged", values, FILE) and find_value(
        connection, "may_purge", file="purge.sql"
    ):
        execute(connection, "enqueue_purging", values, FILE)


def forget_jobs(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Delete the jobs of chunks that change or are deleted."""
    values = {**scope.key, "chunk_ids": list(chunk_ids)}
    execute(connection, "delete_jobs_of_chunks", values, FILE)


def count_unembedded(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> int:
    """Return how many of these chunks wait for the vectors that searches use."""
    values = {**scope.key, "kind": EMBED, "chunk_ids": list(chunk_ids), "model_id": scope.model_id}
    return fetch_value(connection, "count_waiting_chunks", values, FILE)


# Doing it ----------------------------------------------------------------------------------------


def claim_jobs(
    connection: Connection, lease: Lease, kind: str, *, limit: int
) -> Sequence[LeasedJob]:
    """Lease due jobs of a kind: those that never failed, or else one that did."""
    # What has failed goes alone: it may be the text that ends workers, and would take the others
    # of its batch along.
    for has_failed, most in ((False, limit), (True, 1)):
        values = {**lease.key(), "kind": kind, "limit": most, "has_failed": has_failed}
        due = fetch_all(connection, "select_due_jobs", values, FILE)
        for job_id, leased_until, owner in due:
            if leased_until is not None:
                error = f"{owner} ended without a word"
                # Composed here: Citus runs no UPDATE that makes JSON of columns.
                entry = Json({"at": leased_until.isoformat(), "error": error})
                lost = {**lease.key(), "job_id": job_id, "error": error, "entry": entry}
                execute(connection, "count_lost_attempt", lost, FILE)
        if due:
            leased = _jobs(lease, [job_id for job_id, *_ in due])
            jobs = fetch_all(connection, "lease_jobs", leased, FILE, of=LeasedJob)
            return sorted(jobs, key=lambda job: job.job_id)  # RETURNING has no order
    return ()


def renew_leases(connection: Connection, lease: Lease, job_ids: Sequence[int]) -> int:
    """Renew the leases; return how many of them are still this owner's."""
    return execute(connection, "renew_leases", _jobs(lease, job_ids), FILE)


def release_jobs(
    connection: Connection, lease: Lease, job_ids: Sequence[int], reason: str | None = None
) -> None:
    """Give leases back without counting an attempt.

    A `reason` is stored as the jobs' last error.
    """
    execute(connection, "release_jobs", {**_jobs(lease, job_ids), "reason": reason}, FILE)


def finish_jobs(connection: Connection, lease: Lease, job_ids: Sequence[int]) -> None:
    """Delete jobs that are still leased, in the transaction that has done their work."""
    execute(connection, "finish_jobs", _jobs(lease, job_ids), FILE)


def bury_jobs(connection: Connection, lease: Lease, job_ids: Sequence[int]) -> None:
    """Mark leased jobs as dead that have no attempt left because they ended their workers."""
    execute(connection, "bury_jobs", _jobs(lease, job_ids), FILE)


def fail_job(
    connection: Connection, lease: Lease, job_id: int, error: str, *, delay: float, most: int
) -> bool:
    """Count a failed attempt; return whether the job is dead now.

    A job that is not dead waits `delay` seconds for its next attempt.
    """
    values = {**lease.key(), "job_id": job_id, "error": error, "delay_seconds": delay}
    attempts = find_value(connection, "fail_job", values, FILE)
    # None: the lease has expired and another worker has the job now.
    is_dead = attempts is not None and attempts >= most
    if is_dead:
        execute(connection, "bury_failed_job", values, FILE)
    return is_dead


def _jobs(lease: Lease, job_ids: Sequence[int]) -> dict[str, Any]:
    return {**lease.key(), "job_ids": list(job_ids)}


# Looking at it -----------------------------------------------------------------------------------


def list_jobs(
    connection: Connection,
    namespace: Namespace,
    *,
    kind: str | None,
    status: JobStatus | None,
    limit: int,
) -> list[Job]:
    """Return the jobs of a namespace: those due next first, dead ones last."""
    values = {
        **namespace.key,
        "kind": kind,
        "is_dead": None if status is None else status == "dead",
        "is_running": None if status in (None, "dead") else status == "running",
        "limit": limit,
    }
    return fetch_all(connection, "list_jobs", values, FILE, of=Job)


def count_jobs(connection: Connection, namespace: Namespace) -> JobCounts:
    """Return how many jobs of the namespace wait, run and are dead."""
    return fetch_one(connection, "count_jobs", namespace.key, FILE, of=JobCounts)


def retry_jobs(
    connection: Connection, namespace: Namespace, job_ids: Sequence[int] | None
) -> list[int]:
    """Make jobs due now, with all their attempts; return the ids of those that exist.

    Without ids it takes all dead jobs.
    """
    values = {**namespace.key, "job_ids": None if job_ids is None else list(job_ids)}
    return sorted(fetch_values(connection, "retry_jobs", values, FILE))


def drop_jobs(
    connection: Connection, namespace: Namespace, job_ids: Sequence[int] | None
) -> list[int]:
    """Delete jobs undone, all dead ones if no ids are given; return the ids of those deleted."""
    values = {**namespace.key, "job_ids": None if job_ids is None else list(job_ids)}
    return sorted(fetch_values(connection, "drop_jobs", values, FILE))
