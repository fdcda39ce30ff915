"""Installation of memsense's hooks in coding agents: the configuration of each, and its edits."""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any, Final, cast

from memsense.errors import ConfigurationError
from memsense.hosts import jsonc
from memsense.hosts.change import Change, broken_file_error, read_original, read_text, real_file
from memsense.hosts.places import NAME, HostName, config_folder

HOOKS: Final = "hooks"
TIMEOUT_SECONDS: Final = 5
"""Seconds after which the agent gives a hook up; a hook itself ends earlier."""

_MARGIN = 3
"""Seconds that the agent waits beyond the hook's own timeout: a hook that answers is not killed."""

_COMMAND = re.compile(r"^const COMMAND = .*$", re.MULTILINE)
_TIMEOUT = re.compile(r"^const TIMEOUT = \d+", re.MULTILINE)
_ENVIRONMENT = re.compile(r"^const ENVIRONMENT = .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCommand:
    """The command that an agent runs at each event, with its environment variables.

    `timeout` is the seconds that the hook waits for memories, if not its default.
    """

    words: Sequence[str]
    environment: Mapping[str, str]
    timeout: float = 0

    @property
    def line(self) -> str:
        """The command as a line for a shell."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*variables, shlex.join(self.words)])

    @property
    def agent_timeout(self) -> int:
        """Seconds after which the agent gives the hook up: more than the hook's own timeout."""
        return max(TIMEOUT_SECONDS, ceil(self.timeout) + _MARGIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHooks:
    """Hooks of an agent that lists them by event in the user's own settings file."""

    events: Sequence[str]
    file: Callable[[], Path]

    def plan(self, command: HookCommand) -> list[Change]:
        """Return the change that adds our hooks, in place of those of an earlier installation."""
        file = real_file(self.file())
        before = read_text(file)
        ours = _our_groups(_parse(file, before or ""))
        hook = {"type": "command", "command": command.line, "timeout": command.agent_timeout}
        group = {HOOKS: [hook]}
        change = Change(file=file, before=before, after=before, is_first=not ours)
        if ours == {event: [group] for event in self.events}:
            return [change]
        text = self.plan_removal()[0].after if ours else before
        try:
            for event in self.events:
                text = jsonc.append(text, (HOOKS, event), group)
        except ValueError as error:
            raise broken_file_error(file, error) from error
        return [replace(change, after=text)]

    def plan_removal(self) -> list[Change]:
        """Return the change that removes our hooks.

        What the installation has added is recognised by its layout: a file that was not changed
        since becomes what it was to the byte, and a change elsewhere in the file stays.
        """
        file = real_file(self.file())
        before = read_text(file)
        original = read_original(file, jsonc.read)
        text = before
        # The last one first: each removal finds the text as it was after the insertion before.
        for event in reversed(_our_groups(_parse(file, before or ""))):
            text = jsonc.drop_items(text, (HOOKS, event), _is_our_group, original)
        return [Change(file=file, before=before, after=text)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFiles:
    """Hooks of an agent that reads them from files of their own, which only memsense writes."""

    texts: Callable[[HookCommand], Mapping[Path, str]]

    def plan(self, command: HookCommand) -> list[Change]:
        """Return the changes that write the files."""
        return [
            Change(file=file, before=read_text(file), after=text, is_ours=True)
            for file, text in self.texts(command).items()
        ]

    def plan_removal(self) -> list[Change]:
        """Return the changes that delete the files."""
        paths = self.texts(HookCommand(words=[NAME], environment={}))
        return [
            Change(file=path, before=read_text(path), after=None, is_ours=True) for path in paths
        ]


# Lists of hooks in JSON --------------------------------------------------------------------------


def _is_our_group(group: object) -> bool:
    """Return whether a group of hooks runs `memsense hook`, under any path."""
    hooks = cast("Mapping[str, Any]", group).get(HOOKS) if isinstance(group, Mapping) else None
    commands = (
        [hook.get("command") for hook in cast("list[Any]", hooks)]
        if isinstance(hooks, list)
        else []
    )
    return any(isinstance(line, str) and NAME in line and " hook " in line for line in commands)


def _our_groups(document: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return our groups of hooks by event."""
    lists = document.get(HOOKS)
    if not isinstance(lists, Mapping):
        return {}
    groups_by_event = {
        event: [group for group in cast("list[Any]", groups) if _is_our_group(group)]
        for event, groups in cast("Mapping[str, Any]", lists).items()
        if isinstance(groups, list)
    }
    return {event: groups for event, groups in groups_by_event.items() if groups}


def _parse(file: Path, text: str) -> dict[str, Any]:
    try:
        return jsonc.read(text)
    except ValueError as error:
        raise broken_file_error(file, error) from error


# The agents --------------------------------------------------------------------------------------


def opencode_plugin(command: HookCommand) -> str:
    """Return the source of the plugin for opencode, with the command in it."""
    source = files("memsense.hosts").joinpath("opencode.js").read_text()
    words = f"const COMMAND = {json.dumps(list(command.words))}"
    environment = f"const ENVIRONMENT = {json.dumps(dict(command.environment))}"
    source = _TIMEOUT.sub(f"const TIMEOUT = {command.agent_timeout * 1000}", source)
    # Functions, because a replacement text would have its backslashes interpreted.
    return _ENVIRONMENT.sub(lambda _: environment, _COMMAND.sub(lambda _: words, source))


def _opencode_files(command: HookCommand) -> dict[Path, str]:
    folder = config_folder("XDG_CONFIG_HOME", ".config") / "opencode" / "plugins"
    return {folder / f"{NAME}.js": opencode_plugin(command)}


GEMINI_EVENTS: Final = ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd")
EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")


def hooks_document(events: Sequence[str], line: str, timeout: int) -> dict[str, Any]:
    """Return a hooks file: each event runs the line, within `timeout` in the agent's own unit."""
    group = {HOOKS: [{"name": NAME, "type": "command", "command": line, "timeout": timeout}]}
    return {HOOKS: {event: [group] for event in events}}


def format_json(document: Mapping[str, Any]) -> str:
    """Return an indented JSON text with a final line end."""
    return json.dumps(document, indent=2) + "\n"


def _gemini_files(command: HookCommand) -> dict[Path, str]:
    folder = config_folder("GEMINI_CLI_HOME", "") / ".gemini" / "extensions" / NAME
    about = {"name": NAME, "version": "1.0.0", "description": "Memory of earlier conversations."}
    # Gemini CLI counts milliseconds, Claude Code and Codex seconds.
    hooks = hooks_document(GEMINI_EVENTS, command.line, command.agent_timeout * 1000)
    return {
        folder / "gemini-extension.json": format_json(about),
        folder / HOOKS / "hooks.json": format_json(hooks),
    }


AGENT_HOOKS: Final[Mapping[HostName, ListedHooks | WholeFiles]] = {
    "claude-code": ListedHooks(
        events=EVENTS, file=lambda: config_folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    ),
    "codex": ListedHooks(
        events=EVENTS, file=lambda: config_folder("CODEX_HOME", ".codex") / "hooks.json"
    ),
    "gemini": WholeFiles(texts=_gemini_files),
    "opencode": WholeFiles(texts=_opencode_files),
}


def hooks_of(host: HostName) -> ListedHooks | WholeFiles:
    """Return an agent's hooks; raises ConfigurationError for an agent without hooks of ours."""
    hooks = AGENT_HOOKS.get(host)
    if hooks is None:
        raise ConfigurationError(
            f"memsense has no hooks for {host}; it has for {', '.join(AGENT_HOOKS)}"
        )
    return hooks
