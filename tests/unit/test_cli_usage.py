"""Usage of the command line: its help, and errors for wrong arguments."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

import memsense
from memsense.cli import app
from memsense.cli.values import read_object
from memsense.db.migrate import head_revision
from memsense.ingest import READERS

SAMPLE = str(Path(memsense.__path__[0]) / "data" / "sample_conversation.jsonl")


def call(*arguments: str) -> object:
    """Run the command line and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        app.root(args=app.hoist_global_options(arguments), prog_name="memsense")
    return ended.value.code


@pytest.mark.parametrize("command", app.COMMANDS)
def test_every_command_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(command, "--help") == 0
    assert f"memsense {command}" in capsys.readouterr().out


def test_help_lists_the_commands_to_begin_with_and_help_all_every_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call("--help") == 0
    first = " ".join(capsys.readouterr().out.split())
    assert call("help", "all") == 0
    every = " ".join(capsys.readouterr().out.split())
    shown = [name for name, (_, line) in app.COMMANDS.items() if f"{name} {line}" in first]
    assert len(shown) == 12
    assert f"{len(app.COMMANDS) - 12} more: memsense help all" in first
    assert all(f"{name} {line}" in every for name, (_, line) in app.COMMANDS.items())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 0, "memsense [OPTIONS] COMMAND"),
        (("db", "upgrade"), 0, "memsense db upgrade [OPTIONS]"),
        (("serach",), 2, "Did you mean 'search'?"),
        (("search", "x"), 2, "'search' has no command 'x'"),
    ],
)
def test_help_shows_the_help_of_the_command_that_is_named(
    arguments: Sequence[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("help", *arguments) == code
    shown = capsys.readouterr()
    assert said in shown.out + shown.err


def test_the_version_names_the_package_the_schema_and_the_runtimes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call("--version") == 0
    assert re.fullmatch(
        rf"memsense {re.escape(memsense.__version__)}, schema {head_revision()}, "
        rf"Python 3\.\d+\.\S+, onnxruntime \d\S+\n",
        capsys.readouterr().out,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ingest", "no/such/file.json"), "no/such/file.json: no such file or folder"),
        (("ingest", "no/such/*.json"), "no/such/*.json: no such file or folder"),
        (("ingest", "--format", "nope", SAMPLE), "there are claude_code"),
        (("ingest", "--format", "chatgtp", SAMPLE), "did you mean 'chatgpt'?"),
        (("search", "--all-users", "hi", "--granularity", "trun"), "did you mean 'turn'?"),
        (("search", "--all-users", "hi", "--without", "lexcal"), "did you mean 'lexical'?"),
        (("search", "--all-users", "hi", "--kind", "stabel"), "did you mean 'stable'?"),
        (("ingest", "--map", "nope=x", SAMPLE), "no field named 'nope'"),
        (("ingest", "--timezone", "Nowhere/Else", SAMPLE), "such as 'Europe/Lisbon', not"),
        (("ingest", "--exchange-gap", "six", SAMPLE), "12h, 30d or 4w, or 0 for none"),
        (("ingest", "--watch", "-"), "--watch needs files or folders"),
        (("ingest", "--watch", "--dry-run", SAMPLE), "exclude each other"),
        (("search", "--all-users", "hi", "--without", "nope"), "there are vec_full"),
        (("search", "--all-users", "hi", "--limit", "3"), "did you mean '--top-k'?"),
        (("search", "hi", "--user_id", "ada"), "did you mean '--user'?"),
        (("recent", "--top-k", "3"), "did you mean '--limit'?"),
        (("context", "hi", "--tokens", "3"), "did you mean '--max-tokens'?"),
        (
            ("search", "--all-users", "hi", "--set", "lexical_mode=nope"),
            "lexical_mode takes bm25f, ts_rank",
        ),
        (("search", "--all-users", "hi", "--kind", "nope"), "there are stable"),
        (("search", "--all-users", "hi", "--granularity", "nope"), "--granularity"),
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


def test_the_docs_list_the_formats_that_ingest_reads() -> None:
    folder = Path(__file__).parents[2]
    listed = (
        (folder / "docs" / "reference" / "formats.md").read_text().split("## What is left out")[0]
    )
    named = set(re.findall(r"`(\w+)`(?:, only by name)?\)", listed))
    assert named == set(READERS)


def test_the_site_lists_the_routes_that_sql_recall_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call("sql", "recall") == 0
    printed = set(re.findall(r"%\(weight_(\w+)\)s::float8 AS weight", capsys.readouterr().out))
    page = (Path(__file__).parents[2] / "docs" / "how" / "index.md").read_text()
    rows = [row for row in re.findall(r"^- `.*", page, re.MULTILINE) if "optional" not in row]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.partition(": ")[0])}
    assert named == printed
    assert len(printed) == 8
    assert "Routes: eight ranked lists" in page


def test_the_shell_completes_commands_and_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, expected in (("memsense se", "search"), ("memsense stats --out", "--output")):
        monkeypatch.setenv("_MEMSENSE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        assert call() == 0
        assert expected in capsys.readouterr().out.split()


@pytest.mark.parametrize("command", ["search hi", "why-not hi 1", "recent", "entities"])
def test_reads_need_a_scope(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*command.split()) == 2
    assert "--user NAME, or --all-users" in " ".join(capsys.readouterr().err.split())
    assert call(*command.split(), "--user", "ada", "--all-users") == 2
    assert "either --user or --all-users" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "text", ['{"a":' * 30_000 + "1" + "}" * 30_000, "9" * 5_000, "[" + "1," * 500]
)
def test_json_that_cannot_be_read_is_a_short_error_of_its_option(text: str) -> None:
    with pytest.raises(typer.BadParameter) as caught:
        read_object(text, option="--metadata")
    assert caught.value.param_hint == "--metadata"
    assert "is not JSON" in caught.value.message
    assert len(caught.value.message) < 300
