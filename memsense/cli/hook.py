"""`memsense hook`: the command that coding agents call before a prompt and when a turn ends."""

from typing import Annotated

import typer

from memsense.cli.quick import MAX_TOKENS, MOST_IDLE, OPENING_TIMEOUT, TIMEOUT, HookCall, answer
from memsense.cli.quick import serve as run_daemon
from memsense.cli.target import target_of
from memsense.environment import default_user
from memsense.hooks.agents import AgentName
from memsense.hooks.client import Deadline, send_task


def hook(
    ctx: typer.Context,
    agent: Annotated[AgentName | None, typer.Argument(metavar="AGENT")] = None,
    *,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME")] = None,
    max_tokens: Annotated[int, typer.Option(min=1, metavar="N")] = MAX_TOKENS,
    timeout: Annotated[float, typer.Option(min=0.05, metavar="SECONDS")] = TIMEOUT,
    opening_timeout: Annotated[float, typer.Option(min=0, metavar="SECONDS")] = OPENING_TIMEOUT,
    serve: bool = False,
    idle: Annotated[float, typer.Option(min=0, metavar="SECONDS")] = MOST_IDLE,
    # Descriptor of the locked file that the daemon inherits from the hook that started it.
    lock: Annotated[int | None, typer.Option(hidden=True)] = None,
    stop: bool = False,
) -> None:
    """Answer a hook of a coding agent: read its event as JSON on stdin, print memories for it.

    \b
      memsense install claude-code --user ada --hooks
      memsense hook claude-code --user ada

    Before a prompt it prints the memories that answer the prompt; when a turn or a session ends,
    it stores what was said. It never keeps an agent waiting: on any failure it ends soon
    after the timeout, with exit code 0 and the reason on stderr. See the guide
    'How to give a coding agent memory by hooks'.

    Args:
        agent: claude-code, codex, gemini or opencode.
        user: User whose memory to search. Default: MEMSENSE_USER, else your login name.
        max_tokens: Maximum tokens of memories before a prompt.
        timeout: Seconds to wait for memories; after that the agent gets none.
        opening_timeout: Seconds to wait while the memory is opened, if more than --timeout.
        serve: Run the daemon that answers hooks; hooks start it.
        idle: With --serve: seconds without a request after which the daemon ends.
        stop: End the daemon that answers hooks.
    """
    call = HookCall(
        agent=agent,
        user=user or default_user(),
        max_tokens=max_tokens,
        timeout=timeout,
        opening_timeout=opening_timeout,
        idle=idle,
        lock=lock,
        overrides=target_of(ctx).overrides(),
    )
    if stop:
        send_task("stop", call.folder, Deadline(timeout))
    elif serve:
        run_daemon(call)
    else:
        answer(call)
