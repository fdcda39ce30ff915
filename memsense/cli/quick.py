"""`memsense hook` without what the other commands import: an agent waits for it at each prompt."""

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast, get_args

from memsense.environment import default_user
from memsense.hooks.agents import AgentName, format_answer, read_event
from memsense.hooks.client import respond
from memsense.hooks.folder import HookFolder, hook_folder

MAX_TOKENS = 1000
TIMEOUT = 0.5
"""Seconds; starting the hook's process comes on top."""

_GRACE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """How a hook is called; `given` are the global options, by the setting that each overrides."""

    agent: AgentName | None
    user: str = field(default_factory=default_user)
    max_tokens: int = MAX_TOKENS
    timeout: float = TIMEOUT
    given: Mapping[str, str | None] = field(default_factory=dict[str, str | None])

    @property
    def folder(self) -> HookFolder:
        """The folder through which the hook and its daemon communicate."""
        return hook_folder(self.user, self.given)

    def daemon_command(self) -> tuple[list[str], dict[str, str]]:
        """Return the command that starts the daemon, and its additional environment variables."""
        # The database's address may hold a password, which a list of processes would show.
        shown = [
            ("--tenant", self.given.get("tenant")),
            ("--namespace", self.given.get("namespace")),
        ]
        options = [part for name, value in shown if value for part in (name, value)]
        command = [sys.executable, "-m", "memsense", "hook", "--serve", "--user", self.user]
        url = self.given.get("database_url")
        return [*command, *options], {"MEMSENSE_DATABASE_URL": url} if url else {}


_OPTIONS = {
    "--user": ("user", str),
    "-u": ("user", str),
    "--max-tokens": ("max_tokens", int),
    "--timeout": ("timeout", float),
    "--tenant": ("tenant", str),
    "--namespace": ("namespace", str),
    "--database-url": ("database_url", str),
}
_GLOBAL = ("tenant", "namespace", "database_url")


def read_call(arguments: Sequence[str]) -> HookCall | None:
    """How a hook is called; None of what the command line is to read, such as `--help`."""
    found: dict[str, object] = {}
    plain: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name in _OPTIONS:
            field_name, read = _OPTIONS[name]
            try:
                found[field_name] = read(value if equals else next(rest))
            except (ValueError, StopIteration):
                return None
        elif argument.startswith("-"):
            return None
        else:
            plain.append(argument)
    agents: tuple[str, ...] = get_args(AgentName)
    if plain not in [["hook", agent] for agent in agents]:
        return None
    given = {name: cast("str", found.pop(name)) for name in _GLOBAL if name in found}
    return HookCall(agent=cast("AgentName", plain[1]), given=given, **found)  # pyright: ignore[reportArgumentType]


def answer(call: HookCall) -> None:
    """Read the event on stdin, and write the answer; whatever fails, the agent goes on."""
    until = time.monotonic() + call.timeout
    _end_at(until + _GRACE)
    try:
        sys.stdout.write("".join(_answers(call, until)))
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 (an agent must go on, whatever it is)
        sys.stderr.write(f"memsense: {error}\n")


def _answers(call: HookCall, until: float) -> Iterator[str]:
    if call.agent is None:
        raise ValueError("which agent calls? memsense hook claude-code")
    event = read_event(call.agent, sys.stdin.buffer.read())
    command, environment = call.daemon_command()
    context = respond(
        event,
        call.folder,
        command,
        environment=environment,
        max_tokens=call.max_tokens,
        until=until,
    )
    yield format_answer(event, context)


def _end_at(time_to_end: float) -> None:
    """End the process at that time of `time.monotonic`, whatever it is in."""

    def end() -> None:
        sys.stderr.write("memsense: no answer in time\n")
        sys.stderr.flush()
        os._exit(0)

    timer = threading.Timer(time_to_end - time.monotonic(), end)
    timer.daemon = True
    timer.start()
