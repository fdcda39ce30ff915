"""Installation of memsense into hosts' files by the smallest edit, and complete removal."""

import json
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.errors import ConfigurationError
from memsense.hosts import jsonc, toml
from memsense.hosts.change import SUFFIX, Change, plan_install, plan_removal
from memsense.hosts.places import HOSTS, HostName, Server

SERVER = Server(command=["/opt/bin/memsense", "mcp", "--user", "ada"])
OTHER = Server(command=["/opt/bin/memsense", "mcp", "--user", "bob"], environment={"A": "b"})
PATH = ("mcpServers", "memsense")
JSON_HOSTS: list[HostName] = ["claude-code", "gemini", "opencode", "cursor"]

JSONC = """\
{
\t// how it looks
\t"ui": {"theme": "dark"}, /* not {"light"} */
\t"url": "http://example.com//not-a-comment",
\t"mcpServers": {
\t\t"first": {"command": "a", "args": ["x", "}"]}, // the first
\t\t"second": {"command": "b"} // no comma
\t},
}
"""
TOML = """\
# mine
model = "x"

[mcp_servers.other]
command = "o" # keep

[tui]
theme = "dark"
"""


pytestmark = pytest.mark.usefixtures("home")


def write(name: HostName, text: str) -> Path:
    file = HOSTS[name].file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def install(name: HostName, server: Server = SERVER) -> Change:
    change = plan_install(HOSTS[name], server)
    change.keep_backup()
    change.write()
    return change


def remove(name: HostName) -> Change:
    change = plan_removal(HOSTS[name])
    change.write()
    change.drop_backup()
    return change


def files(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()
    }


def read(name: HostName) -> dict[str, Any]:
    text = HOSTS[name].file().read_text()
    return (toml if name == "codex" else jsonc).read(text)


def entry(name: HostName) -> dict[str, Any] | None:
    outer, inner = HOSTS[name].path
    return read(name).get(outer, {}).get(inner)


@pytest.mark.parametrize("name", HOSTS)
def test_each_host_gets_an_entry_that_starts_the_server(name: HostName) -> None:
    install(name, OTHER)
    found = entry(name)
    assert found is not None
    arguments = found.get("args", [])
    command = found["command"] if name == "opencode" else [found["command"], *arguments]
    assert command == OTHER.command
    assert found.get("env", found.get("environment")) == {"A": "b"}


@pytest.mark.parametrize("name", HOSTS)
def test_files_created_by_the_install_are_removed(name: HostName, home: Path) -> None:
    install(name)
    install(name, OTHER)
    assert len(files(home)) == 1
    remove(name)
    assert list(home.iterdir()) == []


TEXTS = {
    "empty": "",
    "blank": "\n",
    "object": "{}",
    "line": '{"a": 1}',
    "servers": '{"mcpServers": {}}\n',
    "others": '{\n    "mcpServers": {\n        "a": {"command": "b"}\n    }\n}\n',
    "windows": '{\r\n  "a": 1\r\n}\r\n',
    "marked": '\ufeff{\n  "a": 1\n}\n',
    "comments": JSONC,
    "odd": '{"a" : [ 1,2 ] ,\n"b":null,  }',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", JSON_HOSTS)
def test_removal_restores_a_json_file_to_the_byte(name: HostName, text: str, home: Path) -> None:
    write(name, text)
    before = files(home)
    was = jsonc.read(text)
    install(name)
    outer, inner = HOSTS[name].path
    assert read(name) == {**was, outer: {**was.get(outer, {}), inner: entry(name)}}
    install(name, OTHER)
    remove(name)
    assert files(home) == before


@pytest.mark.parametrize(
    "text", [TOML, "", "# only this\n", TOML.rstrip(), TOML.replace("\n", "\r\n")]
)
def test_removal_restores_a_toml_file_to_the_byte(text: str, home: Path) -> None:
    write("codex", text)
    before = files(home)
    install("codex")
    assert entry("codex") == {"command": SERVER.command[0], "args": list(SERVER.command[1:])}
    install("codex", OTHER)
    remove("codex")
    assert files(home) == before


def test_an_edit_adds_lines_and_changes_none_but_the_one_before() -> None:
    file = write("gemini", JSONC)
    diff = install("gemini").diff().splitlines()[2:]
    assert [line for line in diff if line.startswith("-")] == [
        '-\t\t"second": {"command": "b"} // no comma'
    ]
    assert '+\t\t"second": {"command": "b"}, // no comma' in diff
    assert '+\t\t"memsense": {' in diff
    assert "// how it looks" in file.read_text()


def test_changes_by_the_host_since_the_install_stay(home: Path) -> None:
    write("claude-code", '{\n  "a": 1\n}\n')
    install("claude-code")
    file = HOSTS["claude-code"].file()
    told = json.loads(file.read_text())
    file.write_text(json.dumps({"first": [], **told, "last": {"x": 1}}, indent=2))
    remove("claude-code")
    assert json.loads(file.read_text()) == {"first": [], "a": 1, "last": {"x": 1}}
    assert list(files(home)) == [".claude.json"]


def test_another_server_that_came_since_stays() -> None:
    install("cursor")
    file = HOSTS["cursor"].file()
    found = json.loads(file.read_text())
    found["mcpServers"]["new"] = {"command": "x"}
    file.write_text(json.dumps(found))
    remove("cursor")
    assert json.loads(file.read_text()) == {"mcpServers": {"new": {"command": "x"}}}
    install("codex")
    config = HOSTS["codex"].file()
    config.write_text(f'model = "y"\n{config.read_text()}\n[mcp_servers.new]\ncommand = "n"\n')
    remove("codex")
    assert toml.read(config.read_text()) == {"model": "y", "mcp_servers": {"new": {"command": "n"}}}


def test_the_backup_is_the_file_before_the_first_install() -> None:
    file = write("gemini", JSONC)
    install("gemini")
    install("gemini", OTHER)
    assert file.with_name(file.name + SUFFIX).read_text() == JSONC


def test_a_backup_that_was_left_behind_is_made_anew() -> None:
    file = write("gemini", JSONC)
    install("gemini")
    file.write_text('{"later": 1}')
    install("gemini")
    assert file.with_name(file.name + SUFFIX).read_text() == '{"later": 1}'
    remove("gemini")
    assert file.read_text() == '{"later": 1}'


def test_a_repeated_install_and_an_empty_removal_change_nothing() -> None:
    assert plan_removal(HOSTS["codex"]).is_none
    write("gemini", JSONC)
    assert plan_removal(HOSTS["gemini"]).is_none
    install("gemini")
    assert plan_install(HOSTS["gemini"], SERVER).is_none
    assert not plan_install(HOSTS["gemini"], OTHER).is_none


def test_a_link_stays_a_link_and_a_mode_a_mode(home: Path) -> None:
    kept = home / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o640)
    link = HOSTS["cursor"].file()
    link.parent.mkdir()
    link.symlink_to(kept)
    install("cursor")
    assert link.is_symlink()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert entry("cursor") is not None
    remove("cursor")
    assert (link.is_symlink(), kept.read_text()) == (True, "{}")


BROKEN = {
    "unclosed": '{"a": {',
    "string": '{"a": "b',
    "comment": "{ /* ",
    "comma": '{"a": 1 "b": 2}',
    "value": '{"a": }',
    "word": '{"a": yes}',
    "behind": "{} x",
    "list": "[]",
    "unnamed": "{a: 1}",
    "deep": '{"a": ' + "[" * 100_000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_left_alone(text: str, home: Path) -> None:
    write("cursor", text)
    before = files(home)
    for plan in (
        lambda: plan_install(HOSTS["cursor"], SERVER),
        lambda: plan_removal(HOSTS["cursor"]),
    ):
        with pytest.raises(ConfigurationError, match=r"mcp\.json can't be read: .*; fix the file"):
            plan()
    assert files(home) == before


def test_a_missing_comma_is_reported_with_its_place() -> None:
    write("cursor", '{\n  "a": 1\n  "b": 2\n}')
    with pytest.raises(ConfigurationError, match="missing before line 3, column 3"):
        plan_install(HOSTS["cursor"], SERVER)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": null}'),
        ("codex", "mcp_servers = 1"),
    ],
)
def test_a_file_that_holds_something_else_there_is_left_alone(name: HostName, text: str) -> None:
    write(name, text)
    with pytest.raises(ConfigurationError, match="fix the file first"):
        plan_install(HOSTS[name], SERVER)
    assert plan_removal(HOSTS[name]).is_none


def test_hosts_are_looked_for_where_their_variables_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "x"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "o"))
    assert HOSTS["claude-code"].file() == tmp_path / "c" / ".claude.json"
    assert HOSTS["codex"].file() == tmp_path / "x" / "config.toml"
    assert HOSTS["opencode"].file() == tmp_path / "o" / "opencode" / "opencode.json"
    write("opencode", "{}").rename(tmp_path / "o" / "opencode" / "opencode.jsonc")
    assert HOSTS["opencode"].file().name == "opencode.jsonc"


NAMES = st.text(max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
SERVERS = st.dictionaries(NAMES, VALUES, max_size=3)
STYLES: st.SearchStrategy[Callable[[Mapping[str, Any]], str]] = st.sampled_from(
    [
        json.dumps,
        lambda it: json.dumps(it, indent=2, ensure_ascii=False),
        lambda it: json.dumps(it, indent="\t").replace("\n", " // so\n"),
        lambda it: json.dumps(it, indent=1).replace("\n", "\r\n"),
        lambda it: json.dumps(it, separators=(",", ":")),
    ]
)


def servers_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return document.get("mcpServers", {})


@given(OBJECTS, st.none() | SERVERS, VALUES, STYLES)
def test_putting_and_dropping_are_those_of_the_values(
    held: dict[str, Any],
    servers: dict[str, Any] | None,
    value: Any,
    style: Callable[[Mapping[str, Any]], str],
) -> None:
    held = {**held, **({} if servers is None else {"mcpServers": servers})}
    if not isinstance(held.get("mcpServers", {}), dict):
        return
    text = style(held)
    assert jsonc.read(text) == held
    put = jsonc.put(text, PATH, value)
    assert jsonc.read(put) == {
        **held,
        "mcpServers": {**servers_of(held), "memsense": value},
    }
    if "memsense" not in servers_of(held):
        assert jsonc.drop(put, PATH) == text
    for name in held:
        left = {key: one for key, one in held.items() if key != name}
        assert jsonc.read(jsonc.drop(text, (name,), held) or "") == left
