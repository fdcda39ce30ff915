"""The table of jobs: what is left for later, who has leased it, what failed, what is dead.

Knows nothing of what a kind of job means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_one, fetch_value, fetch_values, find_one
from memsense.store.scopes import Namespace, Scope
from memsense.types import EmbeddingModel

FILE = "jobs.sql"

EMBED = "embed"
"""The kind of job that makes the vectors that a chunk lacks."""

FILL = "fill"
"""The kind of job that makes the vectors of one more model: of a chunk, or of all that a memory
holds."""

EXPIRE = "expire"
"""The kind of job that sweeps what has expired of a memory, which has one, due when it is time."""

INDEX = "index"
"""The kind of job that gives a memory its HNSW indexes, or takes them away."""

SETTLE = "settle"
"""The kind of job that takes a memory's fresh vectors into its HNSW indexes."""

JobStatus = Literal["waiting", "running", "dead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it stands in the table.

    `waiting` until `run_at`, or for a worker; `running` while a worker holds its lease; `dead`
    after its last attempt. `errors` says of each failed attempt when it was and what it said;
    `last_error` also why nothing was attempted, such as an embedder that is down.
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
    """How many jobs there are. `scheduled` ones wait for their day, `waiting` ones for a worker, or
    to be tried again; `oldest_at` is since when the oldest of these waits, `next_at` when the next
    one of all is due."""

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
    """Who leases jobs of a namespace, and for how many seconds at a time."""

    namespace: Namespace
    owner: str
    seconds: float

    def key(self) -> dict[str, Any]:
        """What its statements are limited to."""
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
    """Leave work on these chunks for later, in the transaction that calls for it."""
    if chunk_ids:
        model_id = model.model_id if model else None
        values = {**_of(scope), "kind": kind, "chunk_ids": list(chunk_ids), "model_id": model_id}
        execute(connection, "enqueue_chunks", values, FILE)


def schedule_sweep(connection: Connection, scope: Scope) -> None:
    """Let the memory be swept when the next of its chunks expires; no job where none does."""
    execute(connection, "schedule_sweep", {**_of(scope), "kind": EXPIRE}, FILE)


def enqueue_indexing(
    connection: Connection, namespace: Namespace, scope_ids: Sequence[int]
) -> None:
    """Leave a job for the HNSW indexes of each of these memories, unless one is there already."""
    values = {**_in(namespace), "kind": INDEX, "scope_ids": list(scope_ids)}
    execute(connection, "enqueue_indexing", values, FILE)


def enqueue_settling(connection: Connection, scope: Scope) -> None:
    """Leave the memory's fresh vectors to its one job; the scope must be locked."""
    execute(connection, "enqueue_settling", {**_of(scope), "kind": SETTLE}, FILE)


def forget_jobs(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Drop the jobs of chunks that change or go."""
    values = {**_of(scope), "chunk_ids": list(chunk_ids)}
    execute(connection, "delete_jobs_of_chunks", values, FILE)


def count_unembedded(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> int:
    """How many of these chunks wait for the vectors that searches use."""
    values = {
        **_of(scope),
        "kind": EMBED,
        "chunk_ids": list(chunk_ids),
        "model_id": scope.model_id,
    }
    return fetch_value(connection, "count_waiting_chunks", values, FILE)


def _of(scope: Scope) -> dict[str, Any]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}


# Doing it ----------------------------------------------------------------------------------------


def claim_jobs(
    connection: Connection, lease: Lease, kind: str, *, limit: int
) -> Sequence[LeasedJob]:
    """Lease what is due of a kind: jobs that never failed, else one that did, by itself."""
    for has_failed, most in ((False, limit), (True, 1)):
        values = {**lease.key(), "kind": kind, "limit": most, "has_failed": has_failed}
        found = fetch_all(connection, "claim_jobs", values, FILE, of=LeasedJob)
        if found:
            return sorted(found, key=lambda job: job.job_id)
    return ()


def renew_leases(connection: Connection, lease: Lease, job_ids: Sequence[int]) -> int:
    """Keep the leases for as long again; how many are still this owner's."""
    return execute(connection, "renew_leases", _jobs(lease, job_ids), FILE)


def release_jobs(
    connection: Connection, lease: Lease, job_ids: Sequence[int], reason: str | None = None
) -> None:
    """Give leases back by no fault of the jobs; a reason is kept as their last error."""
    execute(connection, "release_jobs", {**_jobs(lease, job_ids), "reason": reason}, FILE)


def finish_jobs(connection: Connection, lease: Lease, job_ids: Sequence[int]) -> None:
    """Take jobs away in the transaction that has done them, as far as they are still leased."""
    execute(connection, "finish_jobs", _jobs(lease, job_ids), FILE)


def bury_jobs(connection: Connection, lease: Lease, job_ids: Sequence[int]) -> None:
    """Give leased jobs up that took so many workers down that no attempt is left."""
    execute(connection, "bury_jobs", _jobs(lease, job_ids), FILE)


def fail_job(
    connection: Connection, lease: Lease, job_id: int, error: str, *, delay: float, most: int
) -> bool:
    """Count an attempt that failed; whether the job is dead now, else it waits `delay` seconds."""
    values = {
        **lease.key(),
        "job_id": job_id,
        "error": error,
        "delay_seconds": delay,
        "most_attempts": most,
    }
    found = find_one(connection, "fail_job", values, FILE)
    return bool(found and found[1])


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
    """The jobs of a namespace, those that are due next first, the dead ones last."""
    values = {
        **_in(namespace),
        "kind": kind,
        "is_dead": None if status is None else status == "dead",
        "is_running": None if status in (None, "dead") else status == "running",
        "limit": limit,
    }
    return fetch_all(connection, "list_jobs", values, FILE, of=Job)


def count_jobs(connection: Connection, namespace: Namespace) -> JobCounts:
    """How many jobs of the namespace wait, run and are dead."""
    return fetch_one(connection, "count_jobs", _in(namespace), FILE, of=JobCounts)


def retry_jobs(
    connection: Connection, namespace: Namespace, job_ids: Sequence[int] | None
) -> list[int]:
    """Let jobs be done now, all dead ones where none are named; the ids of those there are."""
    values = {**_in(namespace), "job_ids": None if job_ids is None else list(job_ids)}
    return sorted(fetch_values(connection, "retry_jobs", values, FILE))


def drop_jobs(
    connection: Connection, namespace: Namespace, job_ids: Sequence[int] | None
) -> list[int]:
    """Take jobs away undone, all dead ones where none are named; the ids of those there were."""
    values = {**_in(namespace), "job_ids": None if job_ids is None else list(job_ids)}
    return sorted(fetch_values(connection, "drop_jobs", values, FILE))


def _in(namespace: Namespace) -> dict[str, Any]:
    return {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}
