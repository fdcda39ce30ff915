"""The reference is complete, and its faces say the same about defaults."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

import memsense
from memsense.cli import app
from memsense.cli.declared import VERBS
from memsense.config import Settings
from memsense.declaration import REQUIRED, parameters_of
from memsense.mcp.tools import make_tools
from memsense.search.profiles import PROFILES, Profile
from memsense.server.app import describe_api
from tools import parity, reference

ROOT = Path(__file__).parents[2]
ROOT_COMMAND: Any = typer.main.get_command(app.root)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The pages of the reference, by name."""
    folder = tmp_path_factory.mktemp("reference")
    reference.write_pages(folder)
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def part_of(page: str, heading: str) -> str:
    """Return the text below a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", page, re.M | re.S)  # noqa: FURB167
    assert found, heading
    return found[1]


def test_the_pages_are_written_where_git_ignores_them(pages: Mapping[str, str]) -> None:
    assert pages.keys() == reference.PAGES.keys()
    folder = reference.FOLDER.relative_to(ROOT).as_posix()
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    of_reference = {line for line in ignored if line.startswith(folder)}
    assert of_reference == {f"{folder}/{name}.md" for name in pages}


def test_every_public_method_has_its_part_with_every_parameter(pages: Mapping[str, str]) -> None:
    page = pages["python"]
    for name in parity.list_methods():
        resource, _, method = name.rpartition(".")
        function = inspect.getattr_static(parity.ALL_RESOURCES[resource], method)
        function = getattr(function, "__func__", getattr(function, "fget", function))
        part = part_of(page, name)
        for parameter in parameters_of(function):
            assert f"| `{parameter}` |" in part, f"{name}: {parameter}"


def test_every_public_name_is_in_the_python_reference(pages: Mapping[str, str]) -> None:
    page = pages["python"]
    assert [name for name in memsense.__all__ if f"`{name}`" not in page and name not in page] == []


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command and subcommand with its name."""

    def below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield name, command
        for inner, subcommand in getattr(command, "commands", {}).items():
            yield from below(f"{name} {inner}", subcommand)

    for name in app.COMMANDS:
        yield from below(name, ROOT_COMMAND.get_command(None, name))


def test_every_command_has_its_part_with_every_option(pages: Mapping[str, str]) -> None:
    page = pages["cli"]
    for name, command in commands():
        part = part_of(page, f"memsense {name}")
        for param in command.params:
            for option in (*param.opts, *param.secondary_opts):
                if option.startswith("--") and not getattr(param, "hidden", False):
                    assert option in part, f"memsense {name}: {option}"


def test_every_route_tool_setting_and_constant_has_its_row(pages: Mapping[str, str]) -> None:
    for item in parity.OPERATIONS:
        path = item.path.replace(":path", "")
        row = f"| `{item.method} /v1{path}` | `{item.operation_name}` | {item.scope} |"
        assert row in pages["http"]
    for path, operations in describe_api()["paths"].items():
        for method, operation in operations.items():
            row = f"| `{method.upper()} {path}` | `{operation['operationId']}` |"
            assert row in pages["http"]
    assert parity.render_table() in pages["http"]
    find: Any = None
    for tool in make_tools(find, read_only=False):
        part = part_of(pages["mcp"], tool.name)
        assert all(f"| `{name}` |" in part for name in tool.parameters["properties"])
    settings = pages["settings"]
    for name, it in Settings.model_fields.items():
        assert f"| `MEMSENSE_{name.upper()}` |" in settings
        assert it.description, f"{name} has no description"
    for spec in fields(Profile):
        assert spec.name in {"name", "weights"} or f"| `{spec.name}` |" in settings


def defaults_in(part: str) -> Mapping[str, str]:
    """Return the default that a part of the Python reference shows, by argument."""
    rows = re.findall(r"^\| `(\w+)` \| `[^`]*` \| ([^|]*) \|", part, re.MULTILINE)
    return {name: shown.strip().strip("`") for name, shown in rows}


@pytest.mark.parametrize(
    "verb", ["search", "why_not", "context", "recent", "list", "ingest", "add"]
)
def test_python_command_line_and_reference_have_the_same_defaults(
    verb: str, pages: Mapping[str, str]
) -> None:
    method = getattr(memsense.MemSense, verb)
    shown = defaults_in(part_of(pages["python"], verb))
    for name, parameter in parameters_of(method).items():
        expected = reference.format_default(parameter.default).strip("`")
        assert shown[name] == expected, f"{verb}: {name} in python.md"
        declared = VERBS[verb].get(name)
        if declared and parameter.default is not REQUIRED and declared[1] is not ...:
            same = declared[1] == parameter.default or {None} == {
                declared[1],
                parameter.default or None,
            }
            assert same, f"{verb}: {name} on the command line"
    command = ROOT_COMMAND.get_command(None, verb.replace("_", "-"))
    part = part_of(pages["cli"], f"memsense {verb.replace('_', '-')}") if command else ""
    for param in command.params if command else ():
        if isinstance(param.default, int | float | str) and not isinstance(param.default, bool):
            assert f"`{param.default}`" in part, f"memsense {verb}: {param.name}"
            parameter = parameters_of(method).get(param.name)
            if parameter and parameter.default is not REQUIRED:
                assert param.default == parameter.default, f"memsense {verb}: {param.name}"


def test_profiles_of_the_reference_have_the_shipped_constants(pages: Mapping[str, str]) -> None:
    page = pages["settings"]
    heads = re.findall(r"^\| constant \| (.*) \| \|$", page, re.MULTILINE)[0]
    names = [name.strip("` ") for name in heads.split("|")]
    for spec in fields(Profile):
        if spec.name in {"name", "weights"}:
            continue
        [row] = re.findall(rf"^\| `{spec.name}` \| (.*) \|$", page, re.MULTILINE)
        values = row.split(" | ")[: len(names)]
        assert values == [str(getattr(PROFILES[name], spec.name)) for name in names], spec.name
