"""Installing and removing brings back a person's file to the byte, in whatever layout it is."""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memsense.hosts import toml
from memsense.hosts.change import Change, plan_install, plan_removal, real_file
from memsense.hosts.hooks import AGENT_HOOKS, HookCommand, ListedHooks
from memsense.hosts.places import HOSTS, Server

pytestmark = pytest.mark.usefixtures("home")

EDITED = "to be edited"
EDITS = ["7", '"other"', '{"new":\n [1, "//"] } /* so */', '"a",\n  "added": {"x": []}']
BLANKS = [
    "",
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\n\n  ",
    " // c\n",
    "// memsense }\r\n",
    "/* , */",
]
NAMES = st.text(max_size=4)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.just("http://x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
THEIRS = {"hooks": [{"type": "command", "command": "say done"}]}
SERVERS = st.dictionaries(NAMES, VALUES, max_size=2)
GROUPS = st.lists(st.just(THEIRS), max_size=2)
LISTS = st.dictionaries(st.sampled_from(["Stop", "SessionEnd", "PreToolUse"]), GROUPS)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A settings file with servers and hooks of the person's own, or without."""
    members = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    if draw(st.booleans()):
        members["mcpServers"] = draw(SERVERS)
    if draw(st.booleans()):
        members["hooks"] = draw(LISTS)
    if draw(st.booleans()):
        place = draw(st.sampled_from([members, members.get("mcpServers", members)]))
        place["edited"] = EDITED
    names = draw(st.permutations(list(members)))
    return {name: members[name] for name in names}


def wild(value: Any, chance: random.Random) -> str:
    """JSON with any blanks and comments between its tokens, and trailing commas."""

    def blank() -> str:
        return chance.choice(BLANKS)

    if isinstance(value, Mapping):
        opening, closing = "{}"
        parts = [
            f"{blank()}{json.dumps(name)}{blank()}:{blank()}{wild(item, chance)}{blank()}"
            for name, item in cast("Mapping[str, Any]", value).items()
        ]
    elif isinstance(value, list):
        opening, closing = "[]"
        parts = [f"{blank()}{wild(item, chance)}{blank()}" for item in cast("list[Any]", value)]
    else:
        return json.dumps(value)
    trailing = f",{blank()}" if parts and chance.random() < 0.3 else ""
    return f"{opening}{','.join(parts) or blank()}{trailing}{closing}"


@st.composite
def files_of_json(draw: st.DrawFn) -> str:
    document = draw(documents())
    layout = draw(st.sampled_from(["line", "minified", "2", "4", "tab", "windows", "wild"]))
    if layout == "wild":
        chance = draw(st.randoms(use_true_random=False))
        text = chance.choice(BLANKS) + wild(document, chance)
    elif layout == "minified":
        text = json.dumps(document, separators=(",", ":"))
    else:
        indent = {"2": 2, "4": 4, "tab": "\t", "windows": 2}.get(layout)
        text = json.dumps(document, indent=indent, ensure_ascii=False)
        text = text.replace("\n", "\r\n") if layout == "windows" else text
    return draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n", "\r\n"]))


SERVER = Server(command=["/opt/bin/memsense", "mcp", "--user", "ada"], environment={"A": "b"})
COMMAND = HookCommand(words=["/opt/bin/memsense", "hook", "codex", "--user", "ada"], environment={})
HOOKS = AGENT_HOOKS["codex"]


def install(change: Change) -> None:
    change.keep_backup()
    change.write()


def check_round_trip(what: str, text: str, edit: str, *, has_backup: bool) -> None:
    """Install, perhaps delete the backup, edit, remove: the edited text is back to the byte."""
    host = HOSTS["codex" if what == "toml" else "cursor"]
    assert isinstance(HOOKS, ListedHooks)
    file = real_file(HOOKS.file() if what == "hooks" else host.file())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    change = HOOKS.plan(COMMAND)[0] if what == "hooks" else plan_install(host, SERVER)
    assert not change.is_none
    install(change)
    again = HOOKS.plan(COMMAND)[0] if what == "hooks" else plan_install(host, SERVER)
    assert again.is_none
    if not has_backup:
        change.backup.unlink()
    quoted = json.dumps(EDITED)
    if edit:
        file.write_bytes(file.read_bytes().replace(quoted.encode(), edit.encode()))
    removal = HOOKS.plan_removal()[0] if what == "hooks" else plan_removal(host)
    removal.write()
    removal.drop_backup()
    expected = text.replace(quoted, edit) if edit else text
    assert file.read_bytes().decode() == expected


@settings(deadline=None)
@given(
    st.sampled_from(["server", "hooks"]),
    files_of_json() | st.sampled_from(["", "\n", " \r\n", "\ufeff", "{}", "{}\n", "{\n}\n"]),
    st.sampled_from(["", *EDITS]),
    st.booleans(),
)
def test_any_file_of_json_is_brought_back(
    what: str, text: str, edit: str, has_backup: bool
) -> None:
    check_round_trip(what, text, edit, has_backup=has_backup)


TABLES = [
    'mcp_servers.dotted.command = "d"',
    "# mine",
    'model = "x" # so',
    "",
    '[mcp_servers.other]\ncommand = "o"',
    "[mcp_servers]",
    '[tui]\ntheme = "dark"\n# the end',
    '[[list]]\na = """\n[x]\n"""',
    f'edited = "{EDITED}"',
    "[mcp_servers.'a b'.env]\nx = 1",
]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(TABLES), unique=True, max_size=5),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\n\n"]),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["", '"new" # so\nadded = [\n  1,\n]']),
    st.booleans(),
)
def test_any_file_of_toml_is_brought_back(
    parts: Sequence[str], line: str, ending: str, mark: str, edit: str, has_backup: bool
) -> None:
    text = mark + ("\n".join(parts) + ending).replace("\n", line)
    try:
        toml.read(text)
    except ValueError:
        assume(False)  # a table that stands twice
    check_round_trip("toml", text, edit, has_backup=has_backup)
