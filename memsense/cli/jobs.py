"""`memsense jobs` and `memsense worker`: background jobs, and the process that runs them."""

import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.exits import FAILED, TerminatedError, end_when_interrupted
from memsense.cli.options import Output
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, shorten, table, when
from memsense.cli.target import target_of
from memsense.errors import ConfigurationError
from memsense.store.jobs import JobStatus

app = new_app(no_args_is_help=True, help="List background jobs; retry or drop dead ones.")

ERROR_SHOWN = 120

JobIds = Annotated[
    list[int] | None,
    typer.Argument(metavar="[JOB]...", help="Ids of jobs, as 'jobs list' shows them."),
]
AllDead = Annotated[bool, typer.Option("--dead", help="All dead jobs.")]


@app.command("list")
def list_jobs(
    ctx: typer.Context,
    *,
    status: Annotated[JobStatus | None, typer.Option("--status", "-s")] = None,
    kind: Annotated[str | None, typer.Option(metavar="KIND")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N")] = 100,
    output: Output = "table",
) -> None:
    """List jobs: what waits for its vectors, which worker runs it, what is dead, and why.

    \b
      memsense jobs list
      memsense jobs list --status dead --json

    A dead job names its memory ('memsense show' shows it); --json also has each attempt's error.

    Args:
        status: Only jobs of this status. Default: all.
        kind: Only jobs of this kind, such as embed.
        limit: Maximum number of jobs.
    """
    with target_of(ctx).open() as memory:
        jobs = memory.jobs.list(status, kind=kind, limit=limit)
        counts = memory.jobs.count()
    if print_data(output, [asdict(job) for job in jobs]):
        return
    if jobs:
        rows = table(
            "job", "kind", "status", "chunk", "user", "tries", "due", "error", right=("job",)
        )
        for job in jobs:
            add_row(
                rows,
                job.job_id,
                plain(job.kind),
                job.status,
                job.chunk_id or "",
                plain(job.user_id or ""),
                job.attempts,
                # Only a waiting job has a time of its own; a running one is being done.
                when(job.run_at) if job.status == "waiting" else "",
                shorten(plain(job.last_error or ""), ERROR_SHOWN),
            )
        console().print(rows)
    text = f"{counts.waiting} waiting, {counts.running} running, {counts.dead} dead"
    text += f", {counts.scheduled} scheduled" if counts.scheduled else ""
    text += f"; the oldest since {when(counts.oldest_at)}" if counts.oldest_at else ""
    console().print(Text(text))


@app.command("retry")
def retry(
    ctx: typer.Context, jobs: JobIds = None, *, dead: AllDead = False, output: Output = "table"
) -> None:
    """Make jobs due now; dead jobs get all their attempts again.

    \b
      memsense jobs retry 17
      memsense jobs retry --dead && memsense worker --once
    """
    _check_choice(jobs, dead=dead, command="retry")
    with target_of(ctx).open() as memory:
        job_ids = memory.jobs.retry(None if dead else jobs)
    _print_changed(job_ids, "due now", output=output)


@app.command("drop")
def drop(
    ctx: typer.Context, jobs: JobIds = None, *, dead: AllDead = False, output: Output = "table"
) -> None:
    """Delete jobs; their memories stay as they are, and only words find them.

    \b
      memsense jobs drop 17
      memsense jobs drop --dead
    """
    _check_choice(jobs, dead=dead, command="drop")
    with target_of(ctx).open() as memory:
        job_ids = memory.jobs.drop(None if dead else jobs)
    _print_changed(job_ids, "dropped", output=output)


def _check_choice(jobs: Sequence[int] | None, *, dead: bool, command: str) -> None:
    # Without either, all jobs could be meant, or none.
    if bool(jobs) == dead:
        raise ConfigurationError(f"'memsense jobs {command}' takes ids of jobs, or --dead")


def _print_changed(job_ids: Sequence[int], state: str, *, output: OutputForm) -> None:
    if not print_data(output, {"jobs": list(job_ids)}):
        count = len(job_ids)
        typer.echo(f"{count} {'job is' if count == 1 else 'jobs are'} {state}")


def worker(
    ctx: typer.Context,
    *,
    once: bool = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N")] = None,
    output: Output = "table",
) -> None:
    """Run the namespace's jobs as they become due, such as embedding texts without vectors.

    \b
      memsense worker
      memsense worker --once
      MEMSENSE_EMBED=later memsense ingest chats/ --user ada && memsense worker --once

    Any number of workers may run at once, on any machines; one that is killed loses nothing: after
    MEMSENSE_JOB_LEASE seconds another takes its jobs. While the embedder is down a worker waits,
    longer each time, five minutes at most. A job that fails by itself is dead after
    MEMSENSE_JOB_ATTEMPTS attempts: see 'memsense jobs list'. Ctrl-C and SIGTERM end the worker;
    the jobs that it had begun go back to waiting.

    Args:
        once: Run the jobs that are due, then end; exit code 1 if some are not done.
        limit: With --once: maximum number of jobs.
    """
    if limit is not None and not once:
        raise ConfigurationError("--limit goes with --once")
    end_when_interrupted()
    with target_of(ctx).open() as memory:
        if not once:
            typer.echo("memsense: running jobs as they become due; Ctrl-C ends", err=True)
            try:
                memory.jobs.work(threading.Event())
            except TerminatedError:
                # It is a KeyboardInterrupt, too, but must end in its own exit code.
                raise
            except KeyboardInterrupt:
                typer.echo("memsense: stopped", err=True)
            return
        done = memory.jobs.run(limit=limit)
        if not print_data(output, asdict(done)):
            dead = f", {done.dead} of them dead now" if done.dead else ""
            typer.echo(f"{done.done} done, {done.failed} failed{dead}")
            if done.stopped_by is not None:
                typer.echo(f"stopped: {plain(done.stopped_by)}", err=True)
        # The exit code tells a script that something is left.
        if done.failed or done.stopped_by is not None:
            raise typer.Exit(FAILED)
