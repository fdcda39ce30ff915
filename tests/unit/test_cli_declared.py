"""Options made from MemSense's signatures: their names, texts and values."""

import inspect
import re
import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from memsense.cli import app
from memsense.cli.declared import VERBS
from memsense.cli.options import Selection, declared_options, flag_of, help_of, options_of
from memsense.client.memory import MemSense
from memsense.client.traces import TracesResource
from memsense.declaration import parameters_of

COMMANDS = {
    "search": "search",
    "why-not": "why_not",
    "recent": "recent",
    "list": "list",
    "sessions": "sessions",
    "left-off": "left_off",
    "update": "update",
    "forget": "forget",
    "archive": "archive",
    "restore": "restore",
    "erase": "erase",
    "delete": "delete",
    "stats": "stats",
    "feedback": "feedback",
    "export": "export_to",
    "ingest": "ingest",
    "replay": "traces.replay",
    "compare": "traces.compare",
    "trace list": "traces.list",
}
"""Command and its verb."""

ONCE = "an idempotency key is for programs that repeat a call"
PYTHON = "an object or callback of Python"
NO_OPTION = {
    "query": "the argument QUESTION",
    "chunk_id": "the argument CHUNK",
    "trace_id": "the argument TRACE",
    "path": "the argument FILE",
    "helpful": "--helpful/--unhelpful of the command",
    "key": ONCE,
    "overrides": "--set and --without",
    "content": "--user-text and --assistant-text",
    "facets": "--facet",
    "if_version": "for programs, which read a memory and change it later",
    "cursor": "JSON of `trace list` is a list without a cursor",
    "options": "an option for each field",
    "annotations": "options of `add`",
    "on_start": PYTHON,
    "on_bytes": PYTHON,
    "on_session": PYTHON,
}
"""Parameters without an option of their own, and why."""


def signature_of(verb: str) -> dict[str, Any]:
    owner = TracesResource if verb.startswith("traces.") else MemSense
    return dict(parameters_of(getattr(owner, verb.removeprefix("traces."))))


def options_by_flag(path: str) -> dict[str, Any]:
    name, _, below = path.partition(" ")
    command: Any = typer.main.get_command(app.root)
    command = command.get_command(None, name)
    command = command.commands[below] if below else command
    return {flag: item for item in command.params for flag in item.opts}


@pytest.mark.parametrize(("path", "verb"), COMMANDS.items())
def test_every_parameter_of_a_verb_has_its_option_with_its_text(path: str, verb: str) -> None:
    options = options_by_flag(path)
    for name, parameter in signature_of(verb).items():
        flag = flag_of(verb, name) if name in VERBS[verb] else ""
        if flag not in options:
            assert name in NO_OPTION, f"{path} lacks {name}"
            continue
        help_text = options[flag].help
        for fragment in re.split(r"`\w+`", parameter.text):
            assert fragment.strip() in help_text, (flag, help_text)


def test_a_name_in_a_text_becomes_its_flag() -> None:
    assert "`" not in help_of("search", "user_id")
    assert "--all-users" in help_of("search", "user_id")


def test_a_new_parameter_makes_an_option_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        VERBS["search"], "skip_sessions", (list[str], (), "Leave these sessions out.")
    )
    [option] = declared_options("search", "skip_sessions")
    assert option.annotation.__metadata__[0].param_decls == ()
    assert option.annotation.__metadata__[0].default == "--skip-session"
    assert option.annotation.__metadata__[0].help == "Leave these sessions out. Repeatable."


def run_search(*arguments: str) -> Selection:
    """Return the arguments for `MemSense.search` that these options make."""
    selections: list[Selection] = []

    @options_of("search")
    def search(*, selection: Selection) -> None:
        """Keep the selection."""
        selections.append(selection)

    typer_app = app.new_app()
    typer_app.command()(search)
    result = CliRunner().invoke(typer_app, list(arguments))
    assert result.exit_code == 0, result.output
    return selections[0]


@pytest.mark.parametrize(
    ("arguments", "selection"),
    [
        ("", {}),
        ("--tag a --tag b", {"tags": ["a", "b"]}),
        ("--kind stable", {"kinds": ["stable"]}),
        ('--metadata {"room":3}', {"metadata": {"room": 3}}),
        ("--exclude 7 --exclude m7", {"exclude": [7, "m7"]}),
        ("--set lexical=1.5 --without vec_user", {"overrides": {"lexical": 1.5, "vec_user": 0.0}}),
        ("--min-score 0", {"min_score": 0.0}),
        ("-g session", {"granularity": "session"}),
        ("--agent cook --session s1", {"agent_id": "cook", "session_ids": ["s1"]}),
        ("--trace", {"trace": True}),
        ("--timezone Asia/Tokyo", {"timezone": "Asia/Tokyo"}),
    ],
)
def test_options_make_the_arguments_of_the_verb(
    monkeypatch: pytest.MonkeyPatch, arguments: str, selection: Selection
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    defaults = {"top_k": 8, "content_budget": 5000, "all_users": True}
    assert run_search("--all-users", *arguments.split()) == {**defaults, **selection}


@pytest.mark.parametrize(
    ("arguments", "zone"),
    [((), "Europe/Lisbon"), (("--timezone", "Asia/Tokyo"), "Asia/Tokyo")],
)
def test_a_search_is_asked_in_the_machines_zone_unless_it_names_one(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], zone: str
) -> None:
    monkeypatch.setenv("TZ", "Europe/Lisbon")
    assert run_search("--all-users", *arguments)["timezone"] == zone


def test_help_of_a_search_imports_no_client() -> None:
    heavy = ["numpy", "psycopg", "memsense.client.memory", "memsense.store"]
    program = (
        "import sys\nfrom memsense.cli import main\nsys.argv = ['memsense', 'search', '--help']\n"
        f"try:\n    main()\nfinally:\n    print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_command_shows_its_own_parameters_around_the_declared_ones() -> None:
    @options_of("stats")
    def stats(ctx: typer.Context, *, selection: Selection, output: str = "table") -> None:
        """Do nothing."""

    assert list(inspect.signature(stats).parameters) == ["ctx", "user_id", "timeout", "output"]
