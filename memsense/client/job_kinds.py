"""Kinds of background jobs, and how each is done.

A kind is a function from leased jobs to an `Outcome`, and its line in `KINDS`. Each job is finished
in the transaction that does its work, so that it is done once, even after a crash.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from memsense.client.context import Context
from memsense.client.updating import as_session
from memsense.db import purge as purging
from memsense.db import run_autocommit, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.db.rows import find_value
from memsense.draft.vectors import BatchVectors
from memsense.embed import Embedder, find_token_embedder
from memsense.errors import (
    ConnectionFailedError,
    DatabaseError,
    DataRefusedError,
    EmbeddingError,
    ErasureError,
    InvalidInputError,
    LockTimeoutError,
    ModelMismatchError,
)
from memsense.store import indexes
from memsense.store.erasing import find_user
from memsense.store.jobs import (
    EMBED,
    EXPIRE,
    FILL,
    INDEX,
    PURGE,
    RECUT,
    RELEX,
    SETTLE,
    Lease,
    LeasedJob,
    finish_jobs,
    schedule_sweep,
)
from memsense.store.models import enqueue_lacking
from memsense.store.recutting import recut_exchanges
from memsense.store.reindexing import relex_memory
from memsense.store.scopes import Namespace, Scope, lock_scope
from memsense.store.tokens import lock_memory
from memsense.store.vectors import Unembedded, embed_left, fetch_unembedded
from memsense.store.versions import delete_lapsed_versions
from memsense.types import EmbeddingModel

PROBE = "Is anybody there?"
"""Text that tells an embedder that is down from a text that can't be embedded."""

EMBED_BATCH = 64


@dataclass(slots=True)
class Outcome:
    """Result of a batch of leased jobs.

    Attributes:
        done: Number of jobs that were done and deleted, in the transaction that did them.
        failed: Error of each job that failed by its own fault, by job id.
        left: Ids of jobs that were left alone.
        reason: Why jobs were left alone, for example because the embedder is down.
    """

    done: int = 0
    failed: dict[int, str] = field(default_factory=dict[int, str])
    left: list[int] = field(default_factory=list[int])
    reason: str | None = None

    def add(self, other: "Outcome") -> None:
        """Add the outcome of other jobs to this one."""
        self.done += other.done
        self.failed |= other.failed
        self.left += other.left
        self.reason = self.reason or other.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """One kind of job.

    Attributes:
        name: Its name in the table of jobs.
        batch: Number of jobs leased at a time; jobs that failed before are leased singly.
        run: Does leased jobs. A DatabaseError ends the attempt without counting as a failure: the
            leases are given back.
        waiting: Effect of jobs that no worker does, for the doctor; empty for jobs that may wait.
    """

    name: str
    batch: int
    run: Callable[[Context, Sequence[LeasedJob], Lease], Outcome]
    waiting: str


def _leave(jobs: Sequence[LeasedJob], reason: str) -> Outcome:
    return Outcome(left=[job.job_id for job in jobs], reason=reason)


def _scope_id(job: LeasedJob) -> int:
    return job.scope_id or 0


def _scope(lease: Lease, scope_id: int, model: EmbeddingModel | None = None) -> Scope:
    namespace = lease.namespace
    return Scope(tenant_id=namespace.tenant_id, scope_id=scope_id, models=[model] if model else [])


def _find_model(namespace: Namespace, model_id: int | None) -> EmbeddingModel | None:
    if model_id is None:
        return namespace.in_use
    return next((model for model in namespace.models if model.model_id == model_id), None)


# Vectors that chunks lack ------------------------------------------------------------------------


def embed_chunks(context: Context, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
    """Compute the vectors that the jobs' chunks lack, model by model."""
    by_model: dict[int | None, list[LeasedJob]] = {}
    for job in jobs:
        by_model.setdefault(job.model_id, []).append(job)
    outcome = Outcome()
    for model_id, group in by_model.items():
        outcome.add(_embed_with_model(context, group, lease, model_id))
    return outcome


def _embed_with_model(
    context: Context, jobs: Sequence[LeasedJob], lease: Lease, model_id: int | None
) -> Outcome:
    """Compute and store vectors of one model; the model in use if no id is given."""
    try:
        model = _find_model(lease.namespace, model_id)
        if model is None and (newest := run_read(context.pool, context.reload_namespace)):
            model = _find_model(newest, model_id)
        if model is None and model_id is not None:
            return _leave(jobs, "its model was dropped; see 'memsense model status'")
        embedder = context.embedders.require(model) if model else context.embedders.own
    except ModelMismatchError as error:
        return _leave(jobs, str(error))
    vectors = BatchVectors(embedder, tokens=context.settings.token_vectors)
    # All workers take memories in the same order, so that none waits for another in a circle.
    ordered = sorted(jobs, key=_scope_id)
    memories = [(scope_id, list(group)) for scope_id, group in groupby(ordered, key=_scope_id)]
    try:
        dimension = embedder.dimension
        if model is not None and dimension != model.dimension:
            return _leave(jobs, f"the embedder's vectors have {dimension} dimensions: {model}")
        # Embed the texts of all memories in one batch, before any transaction is open.
        chunks: list[Unembedded] = []
        for scope_id, group in memories:
            chunk_ids = [job.chunk_id for job in group if job.chunk_id is not None]
            fetch = partial(
                fetch_unembedded, scope=_scope(lease, scope_id, model), chunk_ids=chunk_ids
            )
            chunks += run_read(context.pool, fetch)
        vectors.prepare(chunk.texts() for chunk in chunks)
        outcome = Outcome()
        for scope_id, group in memories:
            outcome.add(_write_vectors(context, group, lease, vectors, scope_id, model))
    except ModelMismatchError as error:
        return _leave(jobs, str(error))
    except (EmbeddingError, InvalidInputError) as error:
        return _isolate(context, jobs, lease, embedder, str(error))
    return outcome


def _write_vectors(  # noqa: PLR0917 (one memory's share of a batch)
    context: Context,
    jobs: list[LeasedJob],
    lease: Lease,
    vectors: BatchVectors,
    scope_id: int,
    model: EmbeddingModel | None,
) -> Outcome:
    def write(connection: Connection) -> None:
        namespace = context.open_namespace(connection, vectors.space())
        scope = _scope(lease, scope_id, model or namespace.in_use)
        embed_left(connection, scope, jobs, lease, vectors)

    transact = partial(run_transaction, context.pool, write, is_idempotent=True)
    try:
        vectors.retry_until_embedded(transact)
    except DataRefusedError as error:
        return Outcome(failed={job.job_id: str(error) for job in jobs})
    return Outcome(done=len(jobs))


def _isolate(
    context: Context, jobs: Sequence[LeasedJob], lease: Lease, embedder: Embedder, error: str
) -> Outcome:
    """Find the job whose text can't be embedded, by halving the batch.

    If the embedder can't embed anything else either, no job is to blame, and all are left.
    """
    try:
        embedder.embed([PROBE])
    except EmbeddingError as outage:
        return _leave(jobs, str(outage))
    if len(jobs) == 1:
        return Outcome(failed={jobs[0].job_id: error})
    outcome = Outcome()
    half = len(jobs) // 2
    for part in (jobs[:half], jobs[half:]):
        is_down = outcome.reason is not None
        outcome.add(
            _leave(part, outcome.reason or "") if is_down else embed_chunks(context, part, lease)
        )
    return outcome


# Vectors of one more model -----------------------------------------------------------------------


def fill_memories(context: Context, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
    """Compute vectors of one more model for what is stored.

    A memory's job is replaced by a job for each of its chunks; these are done as `embed_chunks`
    does them. New writes come first, because their jobs are of a more urgent kind.
    """
    outcome = embed_chunks(context, [job for job in jobs if job.chunk_id is not None], lease)
    for job in jobs:
        if job.chunk_id is not None:
            continue
        namespace = run_read(context.pool, context.reload_namespace) or lease.namespace
        model = _find_model(namespace, job.model_id)
        has_tokens = False
        if model is not None and context.settings.token_vectors:
            try:
                has_tokens = find_token_embedder(context.embedders.require(model)) is not None
            except ModelMismatchError as error:
                outcome.add(_leave([job], str(error)))
                continue
        run_transaction(
            context.pool, partial(_spread_memory, lease=lease, job=job, tokens=has_tokens)
        )
        outcome.done += 1
    return outcome


def _spread_memory(connection: Connection, lease: Lease, job: LeasedJob, *, tokens: bool) -> None:
    scope = _scope(lease, _scope_id(job))
    enqueue_lacking(connection, scope, model_id=job.model_id, tokens=tokens)
    finish_jobs(connection, lease, [job.job_id])


# Words of texts --------------------------------------------------------------------------------


def relex_memories(context: Context, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
    """Make index entries of an earlier version again, some of each job's memory.

    Searches and writes go on meanwhile. A job with more to do is given back and leased again.
    """
    outcome = Outcome()
    for job in jobs:

        def relex(connection: Connection, job: LeasedJob = job) -> bool:
            namespace = context.require_namespace(connection)
            user_id = find_user(connection, namespace.tenant_id, _scope_id(job))
            is_done = relex_memory(connection, lock_scope(connection, namespace, user_id))
            if is_done:
                finish_jobs(connection, lease, [job.job_id])
            return is_done

        is_done = run_transaction(context.pool, relex, is_idempotent=True)
        outcome.add(Outcome(done=1) if is_done else Outcome(left=[job.job_id]))
    return outcome


# Parts of exchanges ------------------------------------------------------------------------------


def recut_memories(context: Context, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
    """Cut exchanges that were stored in longer parts, some of each job's memory.

    Searches and writes go on meanwhile, and find each exchange as it was or as it is. A job with
    more to do is given back and leased again.
    """
    outcome = Outcome()
    for job in jobs:
        try:
            try:
                is_done = _recut(context, lease, job, context.batch_vectors("strict"))
            except ModelMismatchError:
                raise
            except EmbeddingError:
                # In an outage this fails, too; else a text can't be embedded, as its own job finds.
                context.embedder.embed([PROBE])
                is_done = _recut(context, lease, job, context.batch_vectors("later"))
        except EmbeddingError as error:
            outcome.add(_leave([job], str(error)))
            continue
        outcome.add(Outcome(done=1) if is_done else Outcome(left=[job.job_id]))
    return outcome


def _recut(context: Context, lease: Lease, job: LeasedJob, vectors: BatchVectors) -> bool:
    """Cut some exchanges of a job's memory; return True, with the job finished, if none is left."""

    def cut(connection: Connection) -> bool:
        namespace = context.require_namespace(connection)
        user_id = find_user(connection, namespace.tenant_id, _scope_id(job))
        scope = lock_scope(connection, namespace, user_id)
        if recut_exchanges(
            connection, namespace, scope, vectors, lambda it: context.followers(as_session(it))
        ):
            return False
        finish_jobs(connection, lease, [job.job_id])
        return True

    transact = partial(run_transaction, context.pool, cut, is_idempotent=True)
    return vectors.retry_until_embedded(transact)


# Expired memories --------------------------------------------------------------------------------


def sweep_memories(context: Context, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
    """Delete what has expired, memory by memory.

    A job is done when nothing expired is left; the next one is due when the next chunk expires.
    """
    from memsense.client.ttl import Sweeper

    outcome, sweeper = Outcome(), Sweeper(context)
    for job in jobs:
        try:
            sweeper.sweep(_scope_id(job))
            run_transaction(context.pool, partial(_end_sweep, lease=lease, job=job))
            outcome.done += 1
        except ErasureError as error:
            outcome.failed[job.job_id] = str(error)
    return outcome


def _end_sweep(connection: Connection, lease: Lease, job: LeasedJob) -> None:
    scope = _scope(lease, _scope_id(job))
    user_id = find_user(connection, scope.tenant_id, scope.scope_id)
    lock_scope(connection, lease.namespace, user_id)
    delete_lapsed_versions(connection, scope)
    finish_jobs(connection, lease, [job.job_id])
    schedule_sweep(connection, scope)


# Vector indexes ----------------------------------------------------------------------------------


def settle_vectors(context: Context, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
    """Move fresh vectors into the HNSW indexes, one batch of each job's memory.

    Writes go on meanwhile: the memory's lock is taken only to check that nothing is left. A job
    with more to do is given back and leased again.
    """
    outcome = Outcome()
    for job in jobs:
        scope = _scope(lease, _scope_id(job))
        if run_transaction(context.pool, partial(indexes.settle_vectors, scope=scope)):
            outcome.left.append(job.job_id)
            continue
        end = partial(_end_settling, scope=scope, lease=lease, job=job)
        outcome.add(run_transaction(context.pool, end))
    return outcome


def _end_settling(connection: Connection, scope: Scope, lease: Lease, job: LeasedJob) -> Outcome:
    """Finish the job if nothing is fresh under the lock; a later write leaves another job."""
    lock_memory(connection, scope)
    if indexes.settle_vectors(connection, scope):
        return Outcome(left=[job.job_id])
    if indexes.count_fresh(connection, scope):
        return _leave([job], "its vectors are being changed")
    finish_jobs(connection, lease, [job.job_id])
    return Outcome(done=1)


def index_memories(context: Context, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
    """Build HNSW indexes of large memories and drop those of shrunken ones, one memory at a time.

    Searches and writes go on meanwhile; the next attempt completes an interrupted build.
    """
    outcome = Outcome()
    for job in jobs:

        def adjust(connection: Connection, scope_id: int = _scope_id(job)) -> None:
            newest = context.reload_namespace(connection) or lease.namespace
            settings = context.settings
            indexes.optimise(
                connection,
                newest,
                settings.index_threshold,
                most=settings.index_users,
                only=scope_id,
            )

        try:
            run_autocommit(context.pool, adjust)  # CREATE INDEX CONCURRENTLY allows no transaction
        except LockTimeoutError as error:
            outcome.add(_leave([job], str(error)))
            continue
        except ConnectionFailedError:
            raise
        except DatabaseError as error:
            outcome.failed[job.job_id] = str(error)
            continue
        run_transaction(context.pool, partial(finish_jobs, lease=lease, job_ids=[job.job_id]))
        outcome.done += 1
    return outcome


# Words of erased memories ------------------------------------------------------------------------


def purge_files(context: Context, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
    """Remove the words of erased memories from the files of indexes, if the user may do that.

    A purge that a user of fewer rights leased is left to the next worker that looks for one.
    """
    outcome = Outcome()
    for job in jobs:
        if run_read(context.pool, lambda it: find_value(it, "may_purge", file=purging.FILE)):
            waiting = purging.purge(context.pool.address).waiting
            if waiting:
                outcome.failed[job.job_id] = (
                    f"a transaction from before {waiting} erasures is still open"
                )
                continue
        run_transaction(context.pool, partial(finish_jobs, lease=lease, job_ids=[job.job_id]))
        outcome.done += 1
    return outcome


KINDS: Mapping[str, JobKind] = {
    kind.name: kind
    for kind in (
        JobKind(
            name=EMBED, batch=EMBED_BATCH, run=embed_chunks,
            waiting="only words find their memories",
        ),
        JobKind(
            name=EXPIRE, batch=1, run=sweep_memories,
            waiting="expired memories are hidden, but still stored",
        ),
        # The check "indexing" reports memories whose jobs have waited for too long.
        JobKind(name=SETTLE, batch=1, run=settle_vectors, waiting=""),
        JobKind(
            name=FILL, batch=EMBED_BATCH, run=fill_memories,
            waiting="a model that was added can't be switched to yet",
        ),
        JobKind(
            name=RELEX, batch=1, run=relex_memories,
            waiting="what was stored before is found by its words as they were spelt then",
        ),
        JobKind(
            name=RECUT, batch=1, run=recut_memories,
            waiting="what long exchanges say behind their first 1,000 characters is found by its"
            " words alone",
        ),
        JobKind(
            name=INDEX, batch=1, run=index_memories,
            waiting="large memories are searched and written to with the indexes that they have"
            " now",
        ),
        JobKind(
            name=PURGE, batch=1, run=purge_files,
            waiting="words of erased memories are still in the server's files",
        ),
    )
}  # fmt: skip
"""Every kind of job, the most urgent first. Jobs of other kinds are left to a newer memsense."""
