"""How the command line is called: its help, and what it says of wrong usage."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import memsense
from memsense.cli import app

SAMPLE = str(Path(memsense.__path__[0]) / "data" / "sample_conversation.jsonl")


def call(*arguments: str) -> object:
    """The exit code."""
    with pytest.raises(SystemExit) as ended:
        app.root(args=app.hoist_global_options(arguments), prog_name="memsense")
    return ended.value.code


@pytest.mark.parametrize("command", app.COMMANDS)
def test_every_command_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(command, "--help") == 0
    assert f"memsense {command}" in capsys.readouterr().out


def test_help_lists_every_command_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name, (_, line) in app.COMMANDS.items():
        assert f"{name} {line}" in shown


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out == f"memsense {memsense.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ingest", "no/such/file.json"), "no/such/file.json: no such file or folder"),
        (("ingest", "--format", "nope", SAMPLE), "there are claude_code"),
        (("ingest", "--map", "nope=x", SAMPLE), "FIELD=COLUMN"),
        (("ingest", "--timezone", "Nowhere/Else", SAMPLE), "write it like Europe/Lisbon"),
        (("ingest", "--watch", "-"), "--watch needs files or folders"),
        (("ingest", "--watch", "--dry-run", SAMPLE), "exclude each other"),
        (("search", "hi", "--without", "nope"), "there are vec_full"),
        (("search", "hi", "--set", "lexical_mode=nope"), "lexical_mode takes bm25f, ts_rank"),
        (("search", "hi", "--kind", "nope"), "there are stable"),
        (("search", "hi", "--granularity", "nope"), "--granularity"),
        (("search",), "QUESTION"),
        (("feedback", "1"), "--helpful"),
        (("sql", "recall", "--filter", "nope"), "there are session"),
        (("eval", "locomo", "no/such/file.json"), "no/such/file.json"),
        (("serach", "hi"), "Did you mean 'search'?"),
    ],
)
def test_wrong_usage_ends_in_2_and_names_the_remedy(
    arguments: Sequence[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == 2
    assert said in " ".join(capsys.readouterr().err.split())
