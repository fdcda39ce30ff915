"""Worker of background jobs: leases them, does them, counts failures, and waits during outages."""

import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from memsense.actor import acting_as, format_actor
from memsense.client.context import Context, Resource
from memsense.client.job_kinds import KINDS, JobKind, Outcome
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.errors import DatabaseError
from memsense.forking import renew_in_child
from memsense.store import jobs as table
from memsense.store.indexes import list_misfits
from memsense.store.jobs import Lease, LeasedJob
from memsense.store.scopes import Namespace

logger = logging.getLogger("memsense.worker")

LONGEST_DELAY = 300.0
POLL_SECONDS = 5.0
"""Seconds between two looks of a worker that has nothing to do."""

UPKEEP_SECONDS = 60.0
"""Seconds between two looks for large memories without an index, and for erasures to purge."""

_RENEWALS = 3
"""Renewals of a lease within its time, so that one lost renewal does not lose the lease."""

_CLOSING_SECONDS = 5.0


@dataclass(slots=True)
class JobsDone:
    """Result of a run.

    Attributes:
        done: Number of jobs that were done.
        failed: Number of attempts that failed.
        dead: Number of jobs for which that was the last attempt.
        stopped_by: Why the run ended before everything due was done; None if it did not.
    """

    done: int = 0
    failed: int = 0
    dead: int = 0
    stopped_by: str | None = None


def backoff(attempt: int) -> float:
    """Return the seconds to wait after so many failures: 2^n, at most 300, minus up to half.

    The random part keeps many workers from trying a recovered server at the same moment.
    """
    longest = min(2.0 ** min(attempt, 30), LONGEST_DELAY)
    return random.uniform(longest / 2, longest)  # noqa: S311 (spreading)


class Worker(Resource):
    """Worker on the jobs of one namespace; any number may run at once, each on its own leases."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._checked_at: float | None = None
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    def run(self, stop: threading.Event | None = None, limit: int | None = None) -> JobsDone:
        """Do jobs until none is due, `limit` jobs are done, or an outage stops it.

        After `stop` is set, the batch in hand is finished. Raises DatabaseError.
        """
        total = JobsDone()
        while not (stop and stop.is_set()) and total.stopped_by is None:
            remaining = None if limit is None else limit - total.done - total.failed
            if remaining == 0 or not self._run_batch(total, remaining):
                break
        return total

    def work(self, stop: threading.Event, wake: threading.Event | None = None) -> None:
        """Do jobs as they come until `stop` is set; `wake` says that a job is due now."""
        wake = wake or stop
        failures = 0
        while not stop.is_set():
            try:
                outage = self.run(stop).stopped_by
            except DatabaseError as error:
                outage = str(error)
            if outage is not None:
                failures += 1
                logger.warning("jobs wait: %s", outage)
                stop.wait(backoff(failures))
            else:
                failures = 0
                wake.wait(POLL_SECONDS)
                if wake is not stop:
                    wake.clear()

    def _run_batch(self, total: JobsDone, limit: int | None) -> bool:
        """Do the next batch of the most urgent kind; return False if nothing is due."""
        context = self._context
        namespace = context.look_up_namespace()
        if namespace is None:
            return False
        lease = Lease(namespace=namespace, owner=self._owner, seconds=context.settings.job_lease)
        self._enqueue_upkeep(namespace)
        for kind in KINDS.values():
            size = kind.batch if limit is None else min(kind.batch, limit)
            claim = partial(table.claim_jobs, lease=lease, kind=kind.name, limit=size)
            jobs: Sequence[LeasedJob] = run_transaction(context.pool, claim)
            if jobs:
                self._do(lease, kind, jobs, total)
                return True
        return False

    def _enqueue_upkeep(self, namespace: Namespace) -> None:
        """Add jobs for memories whose size asks for an index, and for erasures to purge.

        The former only if the setting auto_index is on.
        """
        settings, now = self._context.settings, time.monotonic()
        checked_at = self._checked_at
        is_recent = checked_at is not None and now - checked_at < UPKEEP_SECONDS
        if is_recent:
            return
        self._checked_at = now
        self._write(lambda it: table.enqueue_purging(it, namespace, settings.purge_days))
        if not settings.auto_index:
            return
        threshold, most = settings.index_threshold, settings.index_users
        misfits = run_read(
            self._context.pool, lambda it: list_misfits(it, namespace, threshold, most)
        )
        if misfits:
            self._write(lambda it: table.enqueue_indexing(it, namespace, misfits))

    def _do(self, lease: Lease, kind: JobKind, jobs: Sequence[LeasedJob], total: JobsDone) -> None:
        """Do leased jobs and count their outcome; what fails waits, or is dead."""
        most = self._context.settings.job_attempts
        # The lease of a worker that was killed counts as an attempt when the job is leased again,
        # so a job may come with its attempts used up: it is buried, and kills no more workers.
        worn_out = [job.job_id for job in jobs if job.attempts >= most]
        if worn_out:
            self._write(lambda it: table.bury_jobs(it, lease, worn_out))
            total.failed += len(worn_out)
            total.dead += len(worn_out)
        fresh = [job for job in jobs if job.attempts < most]
        if not fresh:
            return
        outcome = self._run_leased(lease, kind, fresh)
        total.done += outcome.done
        attempts = {job.job_id: job.attempts for job in fresh}
        for job_id, error in outcome.failed.items():
            attempt = attempts[job_id] + 1
            delay = backoff(attempt)
            fail = partial(
                table.fail_job, lease=lease, job_id=job_id, error=error, delay=delay, most=most
            )
            is_dead = run_transaction(self._context.pool, fail)
            consequence = "is dead" if is_dead else f"waits {delay:.0f} s"
            logger.warning("job %s %s after attempt %s: %s", job_id, consequence, attempt, error)
            total.failed += 1
            total.dead += is_dead
        if outcome.left:
            self._write(lambda it: table.release_jobs(it, lease, outcome.left, outcome.reason))
            total.stopped_by = outcome.reason

    def _run_leased(self, lease: Lease, kind: JobKind, jobs: Sequence[LeasedJob]) -> Outcome:
        """Return the outcome; leases are renewed meanwhile, and given back after an exception."""
        job_ids = [job.job_id for job in jobs]
        try:
            with acting_as(format_actor("job", kind.name)), self._renewing(lease, job_ids):
                return kind.run(self._context, jobs, lease)
        except BaseException:
            with suppress(DatabaseError):
                self._write(lambda it: table.release_jobs(it, lease, job_ids))
            raise

    @contextmanager
    def _renewing(self, lease: Lease, job_ids: Sequence[int]) -> Generator[None]:
        has_ended = threading.Event()

        def renew() -> None:
            while not has_ended.wait(lease.seconds / _RENEWALS):
                with suppress(DatabaseError):  # the next renewal may come through in time
                    self._write(lambda it: table.renew_leases(it, lease, job_ids))

        thread = threading.Thread(target=renew, name="memsense-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            has_ended.set()
            thread.join()

    def _write(self, work: Callable[[Connection], object]) -> None:
        run_transaction(self._context.pool, work)


class BackgroundWorker(Resource):
    """Worker in a thread of this process, started when it is first woken."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._begin()
        renew_in_child(self._begin)

    def _begin(self) -> None:
        """Begin without a thread: a fork has left it to the parent."""
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self, *, at_once: bool = True) -> None:
        """Start the thread if needed; look for jobs now, or within `POLL_SECONDS`."""
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
        """Stop after the batch in hand; after some seconds its lease is left to expire."""
        self._stop.set()
        self._wake.set()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join(_CLOSING_SECONDS)
