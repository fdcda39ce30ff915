"""`memory.jobs`: what writes have left for later: to look at, to retry, to drop, to do."""

import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field

from memsense.client.context import Context
from memsense.client.worker import JobsDone, Worker
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.errors import NotFoundError
from memsense.inputs import AsList, ChunkId, Limit, Name, having, takes
from memsense.store import Namespace
from memsense.store import jobs as table
from memsense.store.jobs import Job, JobCounts, JobStatus

_Change = Callable[[Connection, Namespace, Sequence[int] | None], list[int]]
_JobIds = Annotated[Sequence[ChunkId], AsList, Field(max_length=100_000)]

_Event = Annotated[Any, having("is_set", "wait")]

NONE = JobCounts(waiting=0, scheduled=0, running=0, dead=0, oldest_at=None, next_at=None)


class JobsResource:
    """Jobs of the namespace: texts that wait to be embedded, memories that wait to be swept."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @takes(status=JobStatus | None, kind=Name | None, limit=Limit)
    def list(
        self, status: JobStatus | None = None, *, kind: str | None = None, limit: int = 100
    ) -> "list[Job]":
        """The jobs, those that are due next first, the dead ones last.

        "waiting", "running" or "dead" ones alone, or of one `kind`. A dead job names its chunk and
        says what each of its attempts met.
        """
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return []
        return run_read(
            self._context.pool,
            lambda it: table.list_jobs(it, namespace, kind=kind, status=status, limit=limit),
        )

    def count(self) -> JobCounts:
        """How many jobs wait, run and are dead, and since when the oldest waits."""
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return NONE
        return run_read(self._context.pool, lambda it: table.count_jobs(it, namespace))

    @takes(job_ids=_JobIds | None)
    def retry(self, job_ids: Sequence[int] | None = None) -> "list[int]":
        """Let these jobs be done now, without ids all dead ones; returns the ids.

        A dead one has all its attempts again. Raises NotFoundError for a job that is none.
        """
        return self._change(table.retry_jobs, job_ids)

    @takes(job_ids=_JobIds | None)
    def drop(self, job_ids: Sequence[int] | None = None) -> "list[int]":
        """Give these jobs up, without ids all dead ones; returns the ids.

        Their chunks stay as they are: words find them. Raises NotFoundError for a job that is none.
        """
        return self._change(table.drop_jobs, job_ids)

    def _change(self, change: _Change, job_ids: Sequence[int] | None) -> "list[int]":
        namespace = self._context.look_up_namespace()

        def work(connection: Connection) -> "list[int]":
            found = change(connection, namespace, job_ids) if namespace else []
            if missing := sorted(set(job_ids or ()).difference(found)):
                raise NotFoundError(f"no job {missing[0]} in this namespace")
            return found

        return run_transaction(self._context.pool, work)

    @takes(limit=Limit | None)
    def run(self, *, limit: int | None = None) -> JobsDone:
        """Do what is due, here and now, `limit` jobs at most.

        A text that can't be embedded fails and waits longer each time; after its last attempt it
        is dead. While the embedder is down nothing fails: the result says why it stopped.
        """
        return Worker(self._context).run(limit=limit)

    @takes(stop=_Event)
    def work(self, stop: threading.Event) -> None:
        """Do jobs as they come until `stop` is set, or an exception such as KeyboardInterrupt
        comes: then the leases at hand are given back.
        """
        Worker(self._context).work(stop)

    def start(self) -> None:
        """Do jobs in a thread of this process until the memory is closed.

        The embedded use does so by itself when something is left for later.
        """
        self._context.background.wake()
