"""Installation of memsense's hooks into coding agents' files, and complete removal."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.errors import ConfigurationError
from memsense.hosts import jsonc
from memsense.hosts.hooks import AGENT_HOOKS, EVENTS, HookCommand, ListedHooks, hooks_of
from memsense.hosts.places import HostName

URL = "postgresql://ada:it's@db/x"
FIRST = HookCommand(
    words=["/opt/my bin/memsense", "hook", "codex", "--user", "ada"], environment={}
)
OTHER = HookCommand(words=["memsense", "hook", "codex"], environment={"MEMSENSE_DATABASE_URL": URL})
LISTED: list[HostName] = ["claude-code", "codex"]
THEIRS = {"hooks": [{"type": "command", "command": "say done"}]}
TEXTS = {
    "none": None,
    "empty": "",
    "object": "{}",
    "others": '{\n  "model": "x", // mine\n  "hooks": {"Stop": []}\n}\n',
    "theirs": json.dumps({"hooks": {"Stop": [THEIRS]}, "a": [1]}, indent=4) + "\n",
    "windows": '{\r\n  "hooks": {\r\n    "Stop": [\r\n    ]\r\n  }\r\n}\r\n',
}


pytestmark = pytest.mark.usefixtures("home")


def install(name: HostName, command: HookCommand = FIRST) -> None:
    for change in hooks_of(name).plan(command):
        change.keep_backup()
        change.write()


def remove(name: HostName) -> None:
    for change in hooks_of(name).plan_removal():
        change.write()
        if not change.is_ours:
            change.drop_backup()


def files(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()
    }


def listed_file(name: HostName) -> Path:
    wired = AGENT_HOOKS[name]
    assert isinstance(wired, ListedHooks)
    return wired.file()


def write(name: HostName, text: str) -> Path:
    file = listed_file(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", LISTED)
def test_removal_restores_a_file_to_the_byte(name: HostName, text: str | None, home: Path) -> None:
    if text is not None:
        write(name, text)
    before = files(home)
    was = jsonc.read(text or "")
    install(name)
    found = jsonc.read(listed_file(name).read_text())
    assert {**found, "hooks": None} == {**was, "hooks": None}
    for event in EVENTS:
        *theirs, ours = found["hooks"][event]
        assert theirs == was.get("hooks", {}).get(event, [])
        assert ours["hooks"][0]["command"] == "'/opt/my bin/memsense' hook codex --user ada"
    install(name, OTHER)
    line = jsonc.read(listed_file(name).read_text())["hooks"]["Stop"][-1]["hooks"][0]["command"]
    quoted = "'postgresql://ada:it'\"'\"'s@db/x'"
    assert line == f"MEMSENSE_DATABASE_URL={quoted} memsense hook codex"
    remove(name)
    assert files(home) == before


@pytest.mark.parametrize("name", ["gemini", "opencode"])
def test_files_of_its_own_come_and_go(name: HostName, home: Path) -> None:
    install(name)
    assert "/opt/my bin/memsense" in str(files(home))
    install(name, OTHER)
    assert "before-memsense" not in str(files(home))
    assert "/opt/my bin" not in str(files(home))
    remove(name)
    assert list(home.iterdir()) == []


def test_later_changes_of_the_file_stay() -> None:
    file = write("codex", json.dumps({"hooks": {"Stop": [THEIRS]}}))
    install("codex")
    found = json.loads(file.read_text())
    found["hooks"]["PreToolUse"] = [THEIRS]
    found["later"] = True
    file.write_text(json.dumps(found))
    remove("codex")
    assert json.loads(file.read_text()) == {
        "hooks": {"Stop": [THEIRS], "PreToolUse": [THEIRS]},
        "later": True,
    }


def test_a_repeated_install_and_an_empty_removal_change_nothing() -> None:
    for name in AGENT_HOOKS:
        assert all(change.is_none for change in hooks_of(name).plan_removal())
        install(name)
        assert all(change.is_none for change in hooks_of(name).plan(FIRST))


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"Stop": 1}}', "{"])
def test_a_file_that_holds_something_else_is_left_alone(text: str) -> None:
    file = write("codex", text)
    with pytest.raises(ConfigurationError, match=r"hooks\.json can't be read: .*; fix the file"):
        hooks_of("codex").plan(FIRST)
    assert file.read_text() == text


def test_a_host_without_hooks_is_named() -> None:
    with pytest.raises(ConfigurationError, match="no hooks for cursor; it has for claude-code"):
        hooks_of("cursor")


VALUES: st.SearchStrategy[Any] = (
    st.none()
    | st.integers()
    | st.dictionaries(st.text(max_size=3), st.lists(st.integers(), max_size=2), max_size=2)
)


@given(
    st.none() | st.lists(VALUES, max_size=3), st.dictionaries(st.text(max_size=4), VALUES), VALUES
)
def test_appending_and_dropping_items_are_those_of_lists(
    items: list[Any] | None, rest: dict[str, Any], value: Any
) -> None:
    rest.pop("list", None)
    for indent in (None, 2):
        text = json.dumps({**rest, **({} if items is None else {"list": items})}, indent=indent)
        put = jsonc.append(text, ("list",), value)
        assert jsonc.read(put) == {**rest, "list": [*(items or []), value]}
        dropped = jsonc.drop_items(put, ("list",), lambda item: item == value)
        left = [item for item in items or [] if item != value]
        if left == (items or []):
            assert dropped == text
        assert jsonc.read(dropped or "").get("list", []) == left
