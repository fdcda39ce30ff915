"""Options --output and --json: the same data in four forms, for every command that prints data."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest
import typer

from memsense.cli import app
from memsense.cli.output import as_csv, print_data
from memsense.ingest.registry import readers

ROWS: list[Mapping[str, Any]] = [
    {"id": 1, "text": 'two\nlines, "quoted"', "at": datetime(2025, 3, 6, tzinfo=UTC), "none": None},
    {"id": 2, "parts": {"lexical": 0.125, "deep": {"er": True}}, "tags": ["a", "b"]},
]


def call(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        app.root(args=app.hoist_global_options(arguments), prog_name="memsense")
    return ended.value.code


def all_commands(command: Any = None, path: str = "memsense") -> Iterator[tuple[str, Any]]:
    if command is None:
        command = typer.main.get_command(app.root)
        for name in app.COMMANDS:
            yield from all_commands(command.get_command(None, name), name)
        return
    yield path, command
    for name, below in cast("dict[str, Any]", getattr(command, "commands", {})).items():
        yield from all_commands(below, f"{path} {name}")


def test_csv_has_flat_columns_that_python_reads_back() -> None:
    first, second = csv.DictReader(io.StringIO(as_csv(ROWS)))
    assert first["text"] == 'two\nlines, "quoted"'
    assert (first["at"], first["none"]) == ("2025-03-06T00:00:00+00:00", "")
    assert (second["parts.lexical"], second["parts.deep.er"]) == ("0.125", "true")
    assert json.loads(second["tags"]) == ["a", "b"]
    assert first["parts.lexical"] == ""


def test_json_lines_are_a_line_an_item(capsys: pytest.CaptureFixture[str]) -> None:
    print_data("jsonl", ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [1, 2]
    print_data("csv", [])
    assert capsys.readouterr().out == ""


def test_each_form_of_output_lists_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("json", "jsonl", "csv"):
        assert call("formats", "--output", form) == 0
        printed = capsys.readouterr().out
        if form == "json":
            names = [item["format"] for item in json.loads(printed)]
        elif form == "jsonl":
            names = [json.loads(line)["format"] for line in printed.splitlines()]
        else:
            names = [row["format"] for row in csv.DictReader(io.StringIO(printed))]
        assert names == list(readers())


def test_json_is_short_for_output_json(capsys: pytest.CaptureFixture[str]) -> None:
    call("formats", "--json")
    short = capsys.readouterr().out
    call("formats", "--output", "json")
    assert capsys.readouterr().out == short
    assert call("formats", "--json", "--output", "csv") == 2


def test_every_command_that_prints_data_has_every_form() -> None:
    of_their_own = {"trace show"}
    for path, command in all_commands():
        options = {name for parameter in command.params for name in parameter.opts}
        if "--json" in options and path not in of_their_own:
            assert "--output" in options, path
