"""The worker: leases jobs, does them, counts what fails, and waits when nobody is to blame."""

import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from memsense import store
from memsense.client.context import Context
from memsense.client.kinds import KINDS, JobKind, Outcome
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.errors import DatabaseError
from memsense.store import Namespace
from memsense.store import jobs as table
from memsense.store.jobs import Lease, LeasedJob

logger = logging.getLogger("memsense.worker")

LONGEST_DELAY = 300.0
POLL_SECONDS = 5.0
"""How often a worker that found nothing looks again."""

INDEXING_SECONDS = 60.0
"""How often a worker looks for memories that have outgrown a search without indexes."""

_RENEWALS = 3
"""How often a lease is renewed in the time that it holds."""

_CLOSING_SECONDS = 5.0


@dataclass(slots=True)
class JobsDone:
    """What a run did: `failed` attempts, of which `dead` jobs had it as their last.

    `stopped_by` says why it ended before everything due was done, such as an embedder that is down.
    """

    done: int = 0
    failed: int = 0
    dead: int = 0
    stopped_by: str | None = None


def backoff(attempt: int) -> float:
    """Seconds to wait after so many failures: 2^n, at most 300, less up to half by chance."""
    longest = min(2.0 ** min(attempt, 30), LONGEST_DELAY)
    return random.uniform(longest / 2, longest)  # noqa: S311 (spreading)


class Worker:
    """Does the jobs of one namespace; any number may work at once, each on its own leases."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kinds = [make(context) for make in KINDS.values()]
        self._looked_at: float | None = None
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    def run(self, stop: threading.Event | None = None, limit: int | None = None) -> JobsDone:
        """Do what is due until nothing is, `limit` jobs are done, or nothing can be done.

        After `stop` the batch at hand is finished. Raises DatabaseError.
        """
        done = JobsDone()
        while not (stop and stop.is_set()) and done.stopped_by is None:
            left = None if limit is None else limit - done.done - done.failed
            if left == 0 or not self._run_batch(done, left):
                break
        return done

    def work(self, stop: threading.Event, wake: threading.Event | None = None) -> None:
        """Do what comes until `stop`; `wake` says that there is something to do."""
        wake = wake or stop
        failures = 0
        while not stop.is_set():
            try:
                fault = self.run(stop).stopped_by
            except DatabaseError as error:
                fault = str(error)
            if fault is not None:
                failures += 1
                logger.warning("jobs wait: %s", fault)
                stop.wait(backoff(failures))
            else:
                failures = 0
                wake.wait(POLL_SECONDS)
                if wake is not stop:
                    wake.clear()

    def _run_batch(self, done: JobsDone, limit: int | None) -> bool:
        """Do the next batch; False if nothing is due."""
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return False
        seconds = self._context.settings.job_lease
        lease = Lease(namespace=namespace, owner=self._owner, seconds=seconds)
        self._look_for_indexing(namespace)
        for kind in self._kinds:
            if jobs := self._claim(lease, kind, limit):
                self._do(lease, kind, jobs, done)
                return True
        return False

    def _look_for_indexing(self, namespace: Namespace) -> None:
        """Leave jobs for memories whose indexes are not as their size asks, if told to."""
        settings, now = self._context.settings, time.monotonic()
        recently = self._looked_at is not None and now - self._looked_at < INDEXING_SECONDS
        if recently or not settings.auto_index:
            return
        self._looked_at = now
        threshold = settings.index_threshold
        misfits = run_read(
            self._context.pool, lambda it: store.list_misfits(it, namespace, threshold)
        )
        if misfits:
            self._write(lambda it: table.enqueue_indexing(it, namespace, misfits))

    def _claim(self, lease: Lease, kind: JobKind, limit: int | None) -> Sequence[LeasedJob]:
        most = kind.batch if limit is None else min(kind.batch, limit)

        def claim(connection: Connection) -> Sequence[LeasedJob]:
            return table.claim_jobs(connection, lease, kind.name, limit=most)

        return run_transaction(self._context.pool, claim)

    def _do(self, lease: Lease, kind: JobKind, jobs: Sequence[LeasedJob], done: JobsDone) -> None:
        most = self._context.settings.job_attempts
        worn = [job.job_id for job in jobs if job.attempts >= most]
        if worn:
            self._write(lambda it: table.bury_jobs(it, lease, worn))
            done.failed += len(worn)
            done.dead += len(worn)
        fresh = [job for job in jobs if job.attempts < most]
        if not fresh:
            return
        outcome = self._do_leased(lease, kind, fresh)
        done.done += outcome.done
        attempts = {job.job_id: job.attempts for job in fresh}
        for job_id, error in outcome.failed.items():
            done.failed += 1
            done.dead += self._fail(lease, job_id, error, attempts[job_id] + 1)
        if outcome.left:
            self._write(lambda it: table.release_jobs(it, lease, outcome.left, outcome.reason))
            done.stopped_by = outcome.reason

    def _do_leased(self, lease: Lease, kind: JobKind, jobs: Sequence[LeasedJob]) -> Outcome:
        """The outcome, with the leases renewed meanwhile, and given back if it comes to none."""
        job_ids = [job.job_id for job in jobs]
        try:
            with self._renewing(lease, job_ids):
                return kind.do(jobs, lease)
        except BaseException:
            with suppress(DatabaseError):
                self._write(lambda it: table.release_jobs(it, lease, job_ids))
            raise

    def _fail(self, lease: Lease, job_id: int, error: str, attempt: int) -> bool:
        most, delay = self._context.settings.job_attempts, backoff(attempt)

        def fail(connection: Connection) -> bool:
            return table.fail_job(connection, lease, job_id, error, delay=delay, most=most)

        is_dead = run_transaction(self._context.pool, fail)
        what = "is dead" if is_dead else f"waits {delay:.0f} s"
        logger.warning("job %s %s after attempt %s: %s", job_id, what, attempt, error)
        return is_dead

    @contextmanager
    def _renewing(self, lease: Lease, job_ids: Sequence[int]) -> Generator[None]:
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(lease.seconds / _RENEWALS):
                with suppress(DatabaseError):  # the next one may come through in time
                    self._write(lambda it: table.renew_leases(it, lease, job_ids))

        thread = threading.Thread(target=renew, name="memsense-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _write(self, work: Callable[[Connection], object]) -> None:
        run_transaction(self._context.pool, work)


class BackgroundWorker:
    """A worker in a thread of this process, begun when it is first woken."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self, *, at_once: bool = True) -> None:
        """There is something to do: now, or when it next looks, `POLL_SECONDS` later at most."""
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=Worker(self._context).work,
                    args=(self._stop, self._wake),
                    name="memsense-worker",
                    daemon=True,
                )
                self._thread.start()
        if at_once:
            self._wake.set()

    def close(self) -> None:
        """Begin nothing more; what is at work has some seconds, else its lease lapses."""
        self._stop.set()
        self._wake.set()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join(_CLOSING_SECONDS)
