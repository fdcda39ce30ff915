"""`memsense hook` without the imports of other commands: an agent waits for it at each prompt."""

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, cast, get_args

from memsense.environment import default_user, read_setting_variables, split_folders
from memsense.hooks.agents import AgentName, format_answer, read_event
from memsense.hooks.client import Deadline, respond
from memsense.hooks.folder import HookFolder, hook_folder

MAX_TOKENS = 1000
TIMEOUT = 0.5
"""Seconds that a hook waits for memories, after its process has started."""

OPENING_TIMEOUT = 2.0
"""Seconds that a hook waits while the memory is being opened: at the first prompt after a pause."""

MOST_IDLE = 900.0
"""Seconds without a request after which the daemon ends."""

_GRACE = 0.1
"""Seconds beyond the timeout after which the process ends, even in the middle of its work."""


class HookCall(NamedTuple):
    """Arguments of a hook; `overrides` are the global options by the setting each overrides.

    With `is_daemon` it runs the daemon, which ends after `idle` seconds without a request. `lock`
    is the descriptor of a locked file that the daemon inherits from the hook that started it.
    """

    agent: AgentName | None
    user: str
    max_tokens: int = MAX_TOKENS
    timeout: float = TIMEOUT
    opening_timeout: float = OPENING_TIMEOUT
    is_daemon: bool = False
    idle: float = MOST_IDLE
    lock: int | None = None
    overrides: Mapping[str, str | None] = MappingProxyType({})

    @property
    def folder(self) -> HookFolder:
        """The folder through which the hook and its daemon communicate."""
        return hook_folder(self.user, self.overrides)

    def daemon_command(self) -> tuple[list[str], dict[str, str]]:
        """Return the command that starts the daemon, and its additional environment variables."""
        names = [
            ("--tenant", self.overrides.get("tenant")),
            ("--namespace", self.overrides.get("namespace")),
        ]
        options = [part for name, value in names if value for part in (name, value)]
        command = [sys.executable, "-m", "memsense", "hook", "--serve", "--user", self.user]
        # The database's address may hold a password, which must not show in the list of processes.
        url = self.overrides.get("database_url")
        return [*command, *options], {"MEMSENSE_DATABASE_URL": url} if url else {}


_OPTIONS = {
    "--user": ("user", str),
    "-u": ("user", str),
    "--max-tokens": ("max_tokens", int),
    "--timeout": ("timeout", float),
    "--opening-timeout": ("opening_timeout", float),
    "--idle": ("idle", float),
    "--lock": ("lock", int),
    "--tenant": ("tenant", str),
    "--namespace": ("namespace", str),
    "--database-url": ("database_url", str),
}
_GLOBAL = ("tenant", "namespace", "database_url")


def read_call(arguments: Sequence[str]) -> HookCall | None:
    """Read the arguments of a hook; return None if Typer has to read them, such as `--help`."""
    values: dict[str, object] = {}
    words: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name in _OPTIONS:
            # Typer is not imported here, so the few options of a hook are read by hand.
            field_name, read = _OPTIONS[name]
            try:
                values[field_name] = read(value if equals else next(rest))
            except (ValueError, StopIteration):
                # Typer reports the wrong value.
                return None
        elif argument == "--serve":
            values["is_daemon"] = True
        elif argument.startswith("-"):
            return None
        else:
            words.append(argument)
    agents: tuple[str, ...] = get_args(AgentName)
    agent = None if "is_daemon" in values else cast("AgentName", words[-1])
    if words != ["hook", *([agent] if agent else [])] or (agent and agent not in agents):
        return None
    overrides = {name: cast("str", values.pop(name)) for name in _GLOBAL if name in values}
    user = cast("str", values.pop("user", None)) or default_user()
    return HookCall(agent=agent, user=user, overrides=overrides, **values)  # pyright: ignore[reportArgumentType]


def answer(call: HookCall) -> None:
    """Read the event on stdin and write the answer; on any failure let the agent go on."""
    deadline = Deadline(call.timeout, call.opening_timeout)
    _end_process_at(deadline)
    if call.agent is None:
        sys.stderr.write("memsense: no agent is named; write for example: memsense hook codex\n")
        return
    try:
        excluded = dict(read_setting_variables()).get("exclude_folders", "")
        event = read_event(
            call.agent, sys.stdin.buffer.read(), exclude_folders=split_folders(excluded)
        )
        command, environment = call.daemon_command()
        context = respond(
            event,
            call.folder,
            command,
            environment=environment,
            max_tokens=call.max_tokens,
            deadline=deadline,
        )
        sys.stdout.write(format_answer(event, context))
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 (an agent must go on after any error)
        sys.stderr.write(f"memsense: {error}\n")


def serve(call: HookCall) -> None:
    """Run the daemon that answers hooks."""
    # Only the daemon needs these; a hook must start fast, and so must the daemon: a prompt may
    # wait for it. Measured: without collections the imports take a tenth less time.
    import gc

    gc.disable()
    import logging

    import memsense
    from memsense.hooks.daemon import Daemon

    gc.enable()
    # The daemon's stderr is a file in the hooks' folder: its times matter there.
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("memsense").setLevel(logging.INFO)
    try:
        settings = memsense.load_settings(**call.overrides)
        Daemon(
            call.folder,
            lambda: memsense.MemSense.open(settings=settings),
            user_id=call.user,
            idle=call.idle,
            lock=call.lock,
        ).run()
    except memsense.MemSenseError as error:
        sys.exit(f"memsense: {error}")


def _end_process_at(deadline: Deadline) -> None:
    """End the process at the deadline, even in the middle of a blocking call."""

    def end() -> None:
        # The deadline moves if the memory is still being opened.
        while (seconds := deadline.seconds + _GRACE) > 0:
            time.sleep(seconds)
        sys.stderr.write("memsense: no answer in time\n")
        sys.stderr.flush()
        # Not sys.exit: it would wait for the main thread, which may hang in a read of stdin.
        os._exit(0)

    # Not waited for: a hook that has answered ends at once.
    threading.Thread(target=end, daemon=True).start()
