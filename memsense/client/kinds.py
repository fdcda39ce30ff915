"""The kinds of jobs that there are, and how each is done.

A new kind is a class with `name`, `batch` and `do`, and its entry in `KINDS`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Protocol

from memsense import store
from memsense.client.context import Context
from memsense.db import run_autocommit, run_read, run_transaction
from memsense.db.connection import Connection
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
from memsense.store.erasing import find_user
from memsense.store.jobs import (
    EMBED,
    EXPIRE,
    FILL,
    INDEX,
    SETTLE,
    Lease,
    LeasedJob,
    finish_jobs,
    schedule_sweep,
)
from memsense.store.models import enqueue_lacking
from memsense.store.tokens import lock_memory
from memsense.store.vectors import Unembedded, embed_left, fetch_unembedded
from memsense.types import EmbeddingModel
from memsense.write.vectors import BatchVectors

PROBE = "Is anybody there?"
"""What an embedder is asked to find out whether it is down, or a text can't be embedded."""


@dataclass(slots=True)
class Outcome:
    """What became of leased jobs: how many are done, and taken away in the transaction that did
    them; which failed by their own fault; and which were left alone, and why."""

    done: int = 0
    failed: dict[int, str] = field(default_factory=dict[int, str])
    left: list[int] = field(default_factory=list[int])
    reason: str | None = None

    def add(self, other: "Outcome") -> None:
        """Count the outcome of other jobs in."""
        self.done += other.done
        self.failed |= other.failed
        self.left += other.left
        self.reason = self.reason or other.reason


class JobKind(Protocol):
    """One kind of work. `batch` jobs are leased at a time; those that failed before, singly."""

    name: str
    batch: int

    def do(self, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
        """Do the jobs; each is finished in the transaction that does it, so that it is done once.

        DatabaseError ends the attempt without blame; the leases are given back.
        """
        ...


class EmbedChunks:
    """Makes the vectors that chunks lack.

    A batch that fails is halved until the text is found that can't be embedded, but for an embedder
    that can't embed anything else either: then nobody is to blame, and everything waits.
    """

    name = EMBED
    batch = 64

    def __init__(self, context: Context) -> None:
        self._context = context

    def do(self, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
        """Embed the jobs' chunks together, model by model, and write them memory by memory."""
        outcome = Outcome()
        for model_id, group in _by_model(jobs):
            outcome.add(self._embed(group, lease, model_id))
        return outcome

    def _embed(self, jobs: Sequence[LeasedJob], lease: Lease, model_id: int | None) -> Outcome:
        try:
            model = self._find_model(lease, model_id)
            embedder = self._context.embedders.own
            if model is not None:
                embedder = self._context.embedders.require(model)
        except ModelMismatchError as error:
            return _leave(jobs, str(error))
        vectors = BatchVectors(embedder, tokens=self._context.settings.token_vectors)
        try:
            dimension = embedder.dimension
            if model is not None and dimension != model.dimension:
                return _leave(jobs, f"the embedder's vectors have {dimension} dimensions: {model}")
            self._prepare(jobs, lease, vectors, model)
            return self._write(jobs, lease, vectors, model)
        except ModelMismatchError as error:
            return _leave(jobs, str(error))
        except (EmbeddingError, InvalidInputError) as error:
            return self._isolate(jobs, lease, embedder, str(error))

    def _find_model(self, lease: Lease, model_id: int | None) -> EmbeddingModel | None:
        """The model whose vectors are wanted: the one in use, where the job names none."""
        found = _select_model(lease.namespace, model_id)
        newest = None if found else run_read(self._context.pool, self._context.reload_namespace)
        found = found or (newest and _select_model(newest, model_id))
        if found is None and model_id is not None:
            raise ModelMismatchError("its model is not kept any more; see 'memsense model status'")
        return found

    def _prepare(
        self,
        jobs: Sequence[LeasedJob],
        lease: Lease,
        vectors: BatchVectors,
        model: EmbeddingModel | None,
    ) -> None:
        chunks: list[Unembedded] = []
        for scope_id, group in _by_scope(jobs):
            scope, chunk_ids = _scope(lease, scope_id, model), _chunk_ids(group)
            chunks += run_read(
                self._context.pool, partial(fetch_unembedded, scope=scope, chunk_ids=chunk_ids)
            )
        said = (chunk.exchange() for chunk in chunks)
        vectors.prepare(
            (text for chunk in chunks for text in chunk.lacking().values()),
            (text for text in said if text is not None),
        )

    def _write(
        self,
        jobs: Sequence[LeasedJob],
        lease: Lease,
        vectors: BatchVectors,
        model: EmbeddingModel | None,
    ) -> Outcome:
        outcome = Outcome()
        for scope_id, group in _by_scope(jobs):

            def write(
                connection: Connection, scope_id: int = scope_id, group: list[LeasedJob] = group
            ) -> None:
                namespace = self._context.open_namespace(connection, vectors.space())
                scope = _scope(lease, scope_id, model or namespace.in_use)
                embed_left(connection, scope, group, lease, vectors)

            transact = partial(run_transaction, self._context.pool, write, is_idempotent=True)
            try:
                vectors.retry_until_embedded(transact)
                outcome.done += len(group)
            except DataRefusedError as error:
                outcome.failed |= {job.job_id: str(error) for job in group}
        return outcome

    def _isolate(
        self, jobs: Sequence[LeasedJob], lease: Lease, embedder: Embedder, error: str
    ) -> Outcome:
        """Find out who is to blame."""
        if down := _find_outage(embedder):
            return _leave(jobs, down)
        if len(jobs) == 1:
            return Outcome(failed={jobs[0].job_id: error})
        outcome = Outcome()
        half = len(jobs) // 2
        for part in (jobs[:half], jobs[half:]):
            outcome.add(_leave(part, outcome.reason) if outcome.reason else self.do(part, lease))
        return outcome


def _find_outage(embedder: Embedder) -> str | None:
    """Why the embedder embeds nothing at all; None if it does."""
    try:
        embedder.embed([PROBE])
    except EmbeddingError as error:
        return str(error)
    return None


def _leave(jobs: Sequence[LeasedJob], reason: str) -> Outcome:
    return Outcome(left=[job.job_id for job in jobs], reason=reason)


def _by_scope(jobs: Sequence[LeasedJob]) -> list[tuple[int, list[LeasedJob]]]:
    """The jobs of each memory, memories in one order for all workers."""
    ordered = sorted(jobs, key=_scope_of)
    return [(scope_id, list(group)) for scope_id, group in groupby(ordered, key=_scope_of)]


def _select_model(namespace: store.Namespace, model_id: int | None) -> EmbeddingModel | None:
    if model_id is None:
        return namespace.in_use
    return next((model for model in namespace.models if model.model_id == model_id), None)


def _by_model(jobs: Sequence[LeasedJob]) -> list[tuple[int | None, list[LeasedJob]]]:
    found: dict[int | None, list[LeasedJob]] = {}
    for job in jobs:
        found.setdefault(job.model_id, []).append(job)
    return list(found.items())


def _scope_of(job: LeasedJob) -> int:
    return job.scope_id or 0


def _chunk_ids(jobs: Sequence[LeasedJob]) -> list[int]:
    return [job.chunk_id for job in jobs if job.chunk_id is not None]


def _scope(lease: Lease, scope_id: int, model: EmbeddingModel | None) -> store.Scope:
    namespace = lease.namespace
    return store.Scope(
        tenant_id=namespace.tenant_id,
        scope_id=scope_id,
        language=namespace.language,
        models=[model] if model else [],
    )


class SweepMemories:
    """Sweeps what has expired, memory by memory; a job is done when nothing of it is left, and then
    comes again when the next chunk expires.
    """

    name = EXPIRE
    batch = 1

    def __init__(self, context: Context) -> None:
        self._context = context

    def do(self, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
        """Sweep each job's memory."""
        from memsense.client.ttl import Sweeper

        outcome, sweeper = Outcome(), Sweeper(self._context)
        for job in jobs:
            try:
                sweeper.sweep(_scope_of(job))
                run_transaction(self._context.pool, partial(_end_sweep, lease=lease, job=job))
                outcome.done += 1
            except ErasureError as error:
                outcome.failed[job.job_id] = str(error)
        return outcome


def _end_sweep(connection: Connection, lease: Lease, job: LeasedJob) -> None:
    scope = _scope(lease, _scope_of(job), None)
    user_id = find_user(connection, scope.tenant_id, scope.scope_id)
    store.lock_scope(connection, lease.namespace, user_id)
    finish_jobs(connection, lease, [job.job_id])
    schedule_sweep(connection, scope)


class SettleVectors:
    """Takes fresh vectors into the HNSW indexes of their memories, a batch at a time.

    Writes go on meanwhile: the memory's lock is taken only to make sure that nothing is left.
    """

    name = SETTLE
    batch = 1

    def __init__(self, context: Context) -> None:
        self._context = context

    def do(self, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
        """One batch of each job's memory; a job with more to do is given back, to be had again."""
        outcome = Outcome()
        for job in jobs:
            scope = _scope(lease, _scope_of(job), None)
            if run_transaction(self._context.pool, partial(store.settle_vectors, scope=scope)):
                outcome.left.append(job.job_id)
                continue
            end = partial(_end_settling, scope=scope, lease=lease, job=job)
            outcome.add(run_transaction(self._context.pool, end))
        return outcome


def _end_settling(
    connection: Connection, scope: store.Scope, lease: Lease, job: LeasedJob
) -> Outcome:
    """End the job where nothing is fresh; what a write leaves after that is another job."""
    lock_memory(connection, scope)
    if store.settle_vectors(connection, scope):
        return Outcome(left=[job.job_id])
    if store.count_fresh(connection, scope):
        return _leave([job], "its vectors are being changed")
    finish_jobs(connection, lease, [job.job_id])
    return Outcome(done=1)


class FillMemories:
    """Gives what is stored its vectors of one more model; what is written meanwhile comes first.

    A memory's job leaves one for each of its chunks, which is then done as those of `EmbedChunks`.
    """

    name = FILL
    batch = EmbedChunks.batch

    def __init__(self, context: Context) -> None:
        self._context = context
        self._chunks = EmbedChunks(context)

    def do(self, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
        """Embed the jobs' chunks; leave jobs for those of the jobs' memories."""
        chunks = [job for job in jobs if job.chunk_id is not None]
        outcome = self._chunks.do(chunks, lease)
        for job in jobs:
            if job.chunk_id is None:
                outcome.add(self._spread(job, lease))
        return outcome

    def _spread(self, job: LeasedJob, lease: Lease) -> Outcome:
        try:
            tokens = self._gives_tokens(lease, job.model_id)
        except ModelMismatchError as error:
            return _leave([job], str(error))
        spread = partial(_spread_memory, lease=lease, job=job, tokens=tokens)
        run_transaction(self._context.pool, spread)
        return Outcome(done=1)

    def _gives_tokens(self, lease: Lease, model_id: int | None) -> bool:
        """Whether exchanges get tokens of the model; raises ModelMismatchError for one that is not
        to be had here."""
        namespace = run_read(self._context.pool, self._context.reload_namespace) or lease.namespace
        model = _select_model(namespace, model_id)
        if model is None or not self._context.settings.token_vectors:
            return False
        return find_token_embedder(self._context.embedders.require(model)) is not None


def _spread_memory(connection: Connection, lease: Lease, job: LeasedJob, *, tokens: bool) -> None:
    scope = _scope(lease, _scope_of(job), None)
    enqueue_lacking(connection, scope, model_id=job.model_id, tokens=tokens)
    finish_jobs(connection, lease, [job.job_id])


class IndexMemories:
    """Gives large memories their HNSW indexes and takes them from shrunken ones, one at a time.

    Searches and writes go on meanwhile; a build that breaks off is completed by the next attempt.
    """

    name = INDEX
    batch = 1

    def __init__(self, context: Context) -> None:
        self._context = context

    def do(self, jobs: Sequence[LeasedJob], lease: Lease) -> Outcome:
        """Build or drop what each job's memory asks for now."""
        outcome = Outcome()
        for job in jobs:
            try:
                self._adjust(lease.namespace, _scope_of(job))
            except LockTimeoutError as error:
                outcome.add(_leave([job], str(error)))
                continue
            except ConnectionFailedError:
                raise
            except DatabaseError as error:
                outcome.failed[job.job_id] = str(error)
                continue
            end = partial(finish_jobs, lease=lease, job_ids=[job.job_id])
            run_transaction(self._context.pool, end)
            outcome.done += 1
        return outcome

    def _adjust(self, namespace: store.Namespace, scope_id: int) -> None:
        def work(connection: Connection) -> None:
            newest = self._context.reload_namespace(connection) or namespace
            threshold = self._context.settings.index_threshold
            store.optimise(connection, newest, threshold, only=scope_id)

        run_autocommit(self._context.pool, work)


KINDS: Mapping[str, Callable[[Context], JobKind]] = {
    EMBED: EmbedChunks,
    EXPIRE: SweepMemories,
    SETTLE: SettleVectors,
    FILL: FillMemories,
    INDEX: IndexMemories,
}
"""Every kind of job, the most urgent first; what isn't here is left to a newer memsense."""
