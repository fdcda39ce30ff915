"""`memory.jobs`: work that writes leave for later; list, retry, drop and run it here."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from memsense.client.context import Resource
from memsense.client.worker import JobsDone, Worker
from memsense.db import run_transaction
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.errors import NotFoundError
from memsense.inputs import AsList, ChunkId, Limit, Name, about, with_attributes
from memsense.parameters import PageSize
from memsense.store import jobs as table
from memsense.store.jobs import Job, JobCounts, JobStatus
from memsense.store.scopes import Namespace

_Change = Callable[[Connection, Namespace, Sequence[int] | None], list[int]]
_JobIds = Annotated[
    Sequence[ChunkId],
    AsList,
    Field(max_length=100_000),
    about("Ids of jobs; default: all dead ones."),
]

_EVENT = with_attributes("is_set", "wait")

NONE = JobCounts(waiting=0, scheduled=0, running=0, dead=0, oldest_at=None, next_at=None)


class JobsResource(Resource):
    """Jobs of the namespace: texts that wait to be embedded, memories that wait to be swept."""

    @takes
    def list(
        self, status: JobStatus | None = None, *, kind: Name | None = None, limit: PageSize = 100
    ) -> "list[Job]":
        """Return the jobs, those due next first, dead ones last.

        A dead job names its chunk and the error of each of its attempts.

        Args:
            status: Only jobs that are "waiting", "running" or "dead".
            kind: Only jobs of this kind, such as "embed".
            limit: Maximum number of items.
        """
        return self._context.read_stored(
            partial(table.list_jobs, kind=kind, status=status, limit=limit), []
        )

    def count(self) -> JobCounts:
        """Return how many jobs wait, run and are dead, and since when the oldest waits."""
        return self._context.read_stored(table.count_jobs, NONE)

    @takes
    def retry(self, job_ids: _JobIds | None = None) -> "list[int]":
        """Make jobs due now, and return their ids. A dead job gets all its attempts again.

        Args:
            job_ids: Ids of jobs; default: all dead ones.

        Raises:
            NotFoundError: For an id that no job has.
        """
        return self._change(table.retry_jobs, job_ids)

    @takes
    def drop(self, job_ids: _JobIds | None = None) -> "list[int]":
        """Delete jobs, and return their ids. Their chunks stay and are found by words.

        Args:
            job_ids: Ids of jobs; default: all dead ones.

        Raises:
            NotFoundError: For an id that no job has.
        """
        return self._change(table.drop_jobs, job_ids)

    def _change(self, change: _Change, job_ids: Sequence[int] | None) -> "list[int]":
        namespace = self._context.look_up_namespace()

        def work(connection: Connection) -> "list[int]":
            changed_ids = change(connection, namespace, job_ids) if namespace else []
            # Raised inside the transaction, so that one unknown id leaves the other jobs unchanged.
            if missing := sorted(set(job_ids or ()).difference(changed_ids)):
                raise NotFoundError(f"no job {missing[0]} in this namespace")
            return changed_ids

        return run_transaction(self._context.pool, work)

    @takes
    def run(self, *, limit: Limit | None = None) -> JobsDone:
        """Do the jobs that are due, in this thread.

        A text that can't be embedded waits longer each time; after its last attempt the job is
        dead. While the embedder is down no job fails.

        Args:
            limit: Maximum number of jobs; default: all.
        """
        return Worker(self._context).run(limit=limit)

    @takes
    def work(self, stop: Annotated[threading.Event, _EVENT]) -> None:
        """Do jobs as they come until `stop` is set.

        After an exception such as KeyboardInterrupt, jobs in hand are given back.

        Args:
            stop: Event that ends it.
        """
        Worker(self._context).work(stop)

    def start(self) -> None:
        """Do jobs in a thread of this process until the memory is closed.

        With the embedded server this happens by itself when a write leaves a job.
        """
        self._context.background.wake()


class AsyncJobsResource(Facade):
    """JobsResource for asyncio, each method awaited."""

    list = awaited(JobsResource.list)
    count = awaited(JobsResource.count)
    retry = awaited(JobsResource.retry)
    drop = awaited(JobsResource.drop)
    run = awaited(JobsResource.run)
    work = awaited(JobsResource.work)
    start = awaited(JobsResource.start)
