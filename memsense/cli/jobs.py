"""`memsense jobs` and `memsense worker`: what was left for later, and who does it."""

import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.errors import FAILED
from memsense.cli.options import Output
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, shorten, table, when
from memsense.cli.signals import TerminatedError, end_when_interrupted
from memsense.cli.target import target_of
from memsense.errors import ConfigurationError
from memsense.store.jobs import JobStatus

if TYPE_CHECKING:
    from memsense.client.worker import JobsDone
    from memsense.store.jobs import Job

app = new_app(
    no_args_is_help=True, help="Look at what was left for later; retry or drop what is dead."
)

ERROR_SHOWN = 120

JobIds = Annotated[
    list[int] | None, typer.Argument(metavar="[JOB]...", help="ids, as 'jobs list' shows them")
]
AllDead = Annotated[bool, typer.Option("--dead", help="all dead ones")]


@app.command("list")
def list_jobs(
    ctx: typer.Context,
    *,
    status: Annotated[
        JobStatus | None, typer.Option("--status", "-s", help="only those; default: all")
    ] = None,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="of this kind only")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="how many at most")] = 100,
    output: Output = "table",
) -> None:
    """List jobs: what waits for its vectors, who works on it, what is dead, and why.

    \b
      memsense jobs list
      memsense jobs list --status dead --json

    A dead job names its memory ('memsense show' shows it) and, as data, what each attempt said.
    """
    with target_of(ctx).open() as memory:
        found = memory.jobs.list(status, kind=kind, limit=limit)
        counts = memory.jobs.count()
    if output != "table":
        print_data(output, [asdict(job) for job in found])
        return
    if found:
        _print_jobs(found)
    told = f"{counts.waiting} waiting, {counts.running} running, {counts.dead} dead"
    told += f", {counts.scheduled} scheduled" if counts.scheduled else ""
    since = f"; the oldest since {when(counts.oldest_at)}" if counts.oldest_at else ""
    console().print(Text(told + since))


def _print_jobs(jobs: "Sequence[Job]") -> None:
    made = table("job", "kind", "status", "chunk", "user", "tries", "due", "said", right=("job",))
    for job in jobs:
        add_row(
            made,
            job.job_id,
            plain(job.kind),
            job.status,
            job.chunk_id or "",
            plain(job.user_id or ""),
            job.attempts,
            when(job.run_at) if job.status == "waiting" else "",
            shorten(plain(job.last_error or ""), ERROR_SHOWN),
        )
    console().print(made)


@app.command("retry")
def retry(
    ctx: typer.Context, jobs: JobIds = None, *, dead: AllDead = False, output: Output = "table"
) -> None:
    """Let jobs be done now; dead ones have all their attempts again.

    \b
      memsense jobs retry 17
      memsense jobs retry --dead && memsense worker --once
    """
    _check_choice(jobs, dead=dead, command="retry")
    with target_of(ctx).open() as memory:
        found = memory.jobs.retry(None if dead else jobs)
    _tell(found, "due now", output=output)


@app.command("drop")
def drop(
    ctx: typer.Context, jobs: JobIds = None, *, dead: AllDead = False, output: Output = "table"
) -> None:
    """Give jobs up; their memories stay as they are: words find them.

    \b
      memsense jobs drop 17
      memsense jobs drop --dead
    """
    _check_choice(jobs, dead=dead, command="drop")
    with target_of(ctx).open() as memory:
        found = memory.jobs.drop(None if dead else jobs)
    _tell(found, "dropped", output=output)


def _check_choice(jobs: Sequence[int] | None, *, dead: bool, command: str) -> None:
    if bool(jobs) == dead:
        raise ConfigurationError(f"'memsense jobs {command}' takes ids of jobs, or --dead")


def _tell(job_ids: Sequence[int], what: str, *, output: OutputForm) -> None:
    if output != "table":
        print_data(output, {"jobs": list(job_ids)})
        return
    count = len(job_ids)
    typer.echo(f"{count} {'job is' if count == 1 else 'jobs are'} {what}")


def worker(
    ctx: typer.Context,
    *,
    once: Annotated[
        bool, typer.Option("--once", help="do what is due, then end; 1 if something stays undone")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", help="with --once: so many jobs at most")
    ] = None,
    output: Output = "table",
) -> None:
    """Do jobs of the namespace as they come, such as embedding what was stored without vectors.

    \b
      memsense worker
      memsense worker --once
      MEMSENSE_EMBED=later memsense ingest chats/ --user ada && memsense worker --once

    Any number may run at once, in as many places; one that is killed loses nothing: after
    MEMSENSE_JOB_LEASE seconds another takes its jobs. While the embedder is down it waits, longer
    each time, five minutes at most. What fails by itself is dead after MEMSENSE_JOB_ATTEMPTS
    attempts: 'memsense jobs list'. Ctrl-C and SIGTERM end it; what it had begun is given back.
    """
    if limit is not None and not once:
        raise ConfigurationError("--limit goes with --once")
    end_when_interrupted()
    with target_of(ctx).open() as memory:
        if once:
            done = memory.jobs.run(limit=limit)
            _tell_done(done, output=output)
            if done.failed or done.stopped_by is not None:
                raise typer.Exit(FAILED)
            return
        typer.echo("memsense: doing jobs as they come, Ctrl-C ends", err=True)
        stop = threading.Event()
        try:
            memory.jobs.work(stop)
        except TerminatedError:
            raise
        except KeyboardInterrupt:
            typer.echo("memsense: stopped", err=True)


def _tell_done(done: "JobsDone", *, output: OutputForm) -> None:
    if output != "table":
        print_data(output, asdict(done))
        return
    dead = f", {done.dead} of them dead now" if done.dead else ""
    typer.echo(f"{done.done} done, {done.failed} failed{dead}")
    if done.stopped_by is not None:
        typer.echo(f"stopped: {plain(done.stopped_by)}", err=True)
