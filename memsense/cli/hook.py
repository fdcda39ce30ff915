"""`memsense hook`: what coding agents call before a prompt and when a turn ends."""

import time
from typing import Annotated

import typer

from memsense.cli.quick import MAX_TOKENS, TIMEOUT, HookCall, answer
from memsense.cli.target import Target, target_of
from memsense.environment import default_user
from memsense.hooks.agents import AgentName
from memsense.hooks.client import send_task

MOST_IDLE = 900.0


def hook(
    ctx: typer.Context,
    agent: Annotated[
        AgentName | None,
        typer.Argument(metavar="AGENT", help="claude-code, codex, gemini or opencode"),
    ] = None,
    *,
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", metavar="NAME", help="whose memory (or MEMSENSE_USER; default: yours)"
        ),
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(min=1, metavar="N", help="of memories before a prompt, at most")
    ] = MAX_TOKENS,
    timeout: Annotated[
        float, typer.Option(min=0.05, metavar="SECONDS", help="after which none are given")
    ] = TIMEOUT,
    serve: Annotated[
        bool, typer.Option("--serve", help="be the process that answers; hooks start it themselves")
    ] = False,
    idle: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="with --serve: ends when not asked")
    ] = MOST_IDLE,
    lock: Annotated[int | None, typer.Option(hidden=True)] = None,
    stop: Annotated[bool, typer.Option("--stop", help="end the process that answers")] = False,
) -> None:
    """Answer a hook of a coding agent: its event as JSON on stdin, memories for it on stdout.

    \b
      memsense install claude-code --user ada --hooks
      memsense hook claude-code --user ada

    Before a prompt it gives the memories that answer it; when a turn or a session ends it takes in
    what was said. It never keeps an agent waiting: whatever fails, it ends within a second, with
    exit code 0 and the reason on stderr. docs/agents.md has more.
    """
    target = target_of(ctx)
    call = HookCall(
        agent=agent,
        user=user or default_user(),
        max_tokens=max_tokens,
        timeout=timeout,
        given=target.given(),
    )
    if serve:
        _serve(target, call, idle, lock)
    elif stop:
        send_task("stop", call.folder, time.monotonic() + timeout)
    else:
        answer(call)


def _serve(target: Target, call: HookCall, idle: float, lock: int | None) -> None:
    import logging

    import memsense
    from memsense.hooks.daemon import Daemon

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("memsense").setLevel(logging.INFO)
    settings = target.settings()
    daemon = Daemon(
        call.folder,
        lambda: memsense.MemSense.open(settings=settings),
        user_id=call.user,
        idle=idle,
        lock=lock,
    )
    daemon.run()
