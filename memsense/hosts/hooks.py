"""Puts memsense's hooks into coding agents, and takes them out again: a file of each."""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, cast

from memsense.environment import read_variable
from memsense.errors import ConfigurationError
from memsense.hosts import jsonc
from memsense.hosts.change import SUFFIX, Change, broken, real_file, text_of
from memsense.hosts.places import NAME, HostName

HOOKS: Final = "hooks"
SECONDS: Final = 5
"""That an agent waits at most; a hook ends within one."""

_COMMAND = re.compile(r"^const COMMAND = .*$", re.MULTILINE)
_ENVIRONMENT = re.compile(r"^const ENVIRONMENT = .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCommand:
    """What an agent runs at each event, with what stands in its environment."""

    words: Sequence[str]
    environment: Mapping[str, str]

    @property
    def line(self) -> str:
        """The command as a shell takes it."""
        named = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*named, shlex.join(self.words)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHooks:
    """An agent that has its hooks in lists by event, in a file of its person's."""

    events: Sequence[str]
    file: Callable[[], Path]

    def plan(self, command: HookCommand) -> list[Change]:
        """Put ours in, in place of earlier ones."""
        file = real_file(self.file())
        before = text_of(file)
        doc = _read(file, before or "")
        begun = self.plan_removal()[0].after if _ours(doc) else before
        group = {HOOKS: [{"type": "command", "command": command.line, "timeout": SECONDS}]}
        try:
            after = _put(begun or "", {event: [group] for event in self.events})
        except ValueError as error:
            raise broken(file, error) from error
        return [Change(file=file, before=before, after=after, is_first=not _ours(doc))]

    def plan_removal(self) -> list[Change]:
        """Take ours out; to the byte where nothing else was changed since."""
        file = real_file(self.file())
        before = text_of(file)
        change = Change(file=file, before=before, after=before)
        ours = _ours(_read(file, before or ""))
        if before is None or not ours:
            return [change]
        original = text_of(file.with_name(file.name + SUFFIX))
        if _put(original or "", ours) == before:
            return [replace(change, after=original)]
        return [replace(change, after=_drop(before, _read(file, original or "")))]


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFiles:
    """An agent that has its hooks in files which are ours alone."""

    texts: Callable[[HookCommand], Mapping[Path, str]]

    def plan(self, command: HookCommand) -> list[Change]:
        """Write the files."""
        return [
            Change(file=file, before=text_of(file), after=text, is_ours=True)
            for file, text in self.texts(command).items()
        ]

    def plan_removal(self) -> list[Change]:
        """Remove the files."""
        named = self.texts(HookCommand(words=[NAME], environment={}))
        return [Change(file=file, before=text_of(file), after=None, is_ours=True) for file in named]


# Lists of hooks in JSON --------------------------------------------------------------------------


def _is_ours(group: object) -> bool:
    """Whether a group of hooks runs `memsense hook`."""
    hooks = cast("Mapping[str, Any]", group).get(HOOKS) if isinstance(group, Mapping) else None
    lines = (
        [one.get("command") for one in cast("list[Any]", hooks)] if isinstance(hooks, list) else []
    )
    return any(isinstance(line, str) and NAME in line and " hook " in line for line in lines)


def _ours(doc: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Our groups by event."""
    lists = doc.get(HOOKS)
    if not isinstance(lists, Mapping):
        return {}
    named = cast("Mapping[str, Any]", lists).items()
    found = {
        event: [group for group in cast("list[Any]", groups) if _is_ours(group)]
        for event, groups in named
        if isinstance(groups, list)
    }
    return {event: groups for event, groups in found.items() if groups}


def _put(text: str, groups: Mapping[str, Sequence[Any]]) -> str:
    for event, items in groups.items():
        for item in items:
            text = jsonc.append(text, (HOOKS, event), item)
    return text


def _drop(text: str, original: Mapping[str, Any]) -> str:
    """The text without ours, and without the lists that stood there for ours alone."""
    kept = cast("Mapping[str, Any]", original.get(HOOKS, {}))
    for event in _ours(jsonc.read(text)):
        text = jsonc.drop_items(text, (HOOKS, event), _is_ours)
        if event not in kept and not jsonc.read(text)[HOOKS][event]:
            text = jsonc.drop(text, (HOOKS, event))
    if HOOKS not in original and not jsonc.read(text)[HOOKS]:
        text = jsonc.drop(text, (HOOKS,))
    return text


def _read(file: Path, text: str) -> dict[str, Any]:
    try:
        return jsonc.read(text)
    except ValueError as error:
        raise broken(file, error) from error


# The agents --------------------------------------------------------------------------------------


def _folder(variable: str, default: str) -> Path:
    given = read_variable(variable)
    return Path(given) if given else Path.home() / default


def opencode_plugin(command: HookCommand) -> str:
    """The plugin with the command in it."""
    text = files("memsense.hosts").joinpath("opencode.js").read_text()
    words = f"const COMMAND = {json.dumps(list(command.words))}"
    named = f"const ENVIRONMENT = {json.dumps(dict(command.environment))}"
    return _ENVIRONMENT.sub(lambda _: named, _COMMAND.sub(lambda _: words, text))


def _opencode(command: HookCommand) -> dict[Path, str]:
    folder = _folder("XDG_CONFIG_HOME", ".config") / "opencode" / "plugins"
    return {folder / f"{NAME}.js": opencode_plugin(command)}


GEMINI_EVENTS: Final = ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd")
EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")


def listed(events: Sequence[str], line: str, timeout: int) -> dict[str, Any]:
    """A file of hooks by event, each of which runs the line."""
    group = {HOOKS: [{"name": NAME, "type": "command", "command": line, "timeout": timeout}]}
    return {HOOKS: {event: [group] for event in events}}


def dump(doc: Mapping[str, Any]) -> str:
    """A file of JSON as people read it."""
    return json.dumps(doc, indent=2) + "\n"


def _gemini(command: HookCommand) -> dict[Path, str]:
    folder = _folder("GEMINI_CLI_HOME", "") / ".gemini" / "extensions" / NAME
    about = {"name": NAME, "version": "1.0.0", "description": "Memory of earlier conversations."}
    hooks = listed(GEMINI_EVENTS, command.line, SECONDS * 1000)
    return {
        folder / "gemini-extension.json": dump(about),
        folder / HOOKS / "hooks.json": dump(hooks),
    }


WIRED: Final[Mapping[HostName, ListedHooks | WholeFiles]] = {
    "claude-code": ListedHooks(
        events=EVENTS, file=lambda: _folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    ),
    "codex": ListedHooks(
        events=EVENTS, file=lambda: _folder("CODEX_HOME", ".codex") / "hooks.json"
    ),
    "gemini": WholeFiles(texts=_gemini),
    "opencode": WholeFiles(texts=_opencode),
}


def hooks_of(host: HostName) -> ListedHooks | WholeFiles:
    """Where an agent has its hooks; raises ConfigurationError for one that has none for us."""
    found = WIRED.get(host)
    if found is None:
        raise ConfigurationError(f"memsense has no hooks for {host}: {', '.join(WIRED)} have")
    return found
