"""The reference is complete, and its faces say the same about defaults."""

import ast
import inspect
import re
from collections.abc import Mapping
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
        described = part + part_of(page, "Shared arguments")
        described += part_of(page, f"memory.{resource}") if resource else part_of(page, "MemSense")
        assert list(defaults_in(part)) == list(parameters_of(function)), name
        for parameter in parameters_of(function):
            assert f"\n- `{parameter}`: " in described, f"{name}: {parameter}"


def test_a_shared_description_stands_at_no_method(pages: Mapping[str, str]) -> None:
    for page, heading in (("python", "Shared arguments"), ("cli", "Shared options")):
        shared = [line for line in part_of(pages[page], heading).splitlines() if line]
        assert len(shared) > 40
        assert [line for line in shared if pages[page].count(f"\n{line}\n") != 1] == []


def test_every_public_name_is_in_the_python_reference(pages: Mapping[str, str]) -> None:
    page = pages["python"]
    assert [name for name in memsense.__all__ if f"`{name}`" not in page and name not in page] == []


def test_every_command_has_its_part_with_every_option(pages: Mapping[str, str]) -> None:
    page = pages["cli"]
    assert {name.split()[0] for name, _ in reference.list_commands()} == {*app.COMMANDS}
    shared = part_of(page, "Shared options")
    found = re.search(
        r"^Every command takes (.*)\. Without `--output`: (.*)\.$", page, re.MULTILINE
    )
    assert found
    exceptions = {"--json": found[1], "--output": found[0]}
    for name, command in reference.list_commands():
        if not hasattr(command, "commands"):
            named = [it for param in command.params for it in param.opts]
            for option, commands in exceptions.items():
                assert (f"`{name}`" in commands) == (option not in named), f"{name}: {option}"
        part = part_of(page, name)
        for param in command.params:
            options = [it for it in (*param.opts, *param.secondary_opts) if it.startswith("--")]
            hidden = getattr(param, "hidden", False) or options[:1] in (["--output"], ["--json"])
            if options and not hidden:
                assert f"`{options[0]}" in part, f"memsense {name}: {options[0]}"
                described = part + shared + part_of(page, name.split()[0])
                if name not in reference.RARE:
                    assert all(it in described for it in options), f"memsense {name}: {options}"


def test_every_route_tool_setting_and_constant_has_its_row(pages: Mapping[str, str]) -> None:
    listed_routes: set[str] = set()
    for item in parity.OPERATIONS:
        path = item.path.replace(":path", "")
        anchor = item.verb.lower().replace(".", "")
        listed_routes.add(f"{item.method} /v1{path}")
        route = f"\n- [`{item.method} /v1{path}`](python.md#{anchor})"
        usual = item.operation_name == item.verb.replace(".", "_")
        line = f"{route}\n" if usual else f"{route} (`{item.operation_name}`)\n"
        assert line in part_of(pages["http"], f"Routes of the scope {item.scope}") + "\n"
    for path, operations in describe_api()["paths"].items():
        for method, operation in operations.items():
            if (route := f"{method.upper()} {path}") not in listed_routes:
                name = operation["operationId"]
                assert f"\n- `{route}` (`{name}`): " in pages["http"]
    listed = {it.verb for it in parity.OPERATIONS}
    without = part_of(pages["http"], "Methods of Python without a route")
    assert all(name in listed or f"`{name}`" in without for name in parity.list_methods())
    find: Any = None
    for tool in make_tools(find, read_only=False):
        part = part_of(pages["mcp"], tool.name)
        assert all(f"`{name}`" in part for name in tool.parameters["properties"])
    settings = pages["settings"]
    for name, it in Settings.model_fields.items():
        assert f"\n- `MEMSENSE_{name.upper()}`" in settings
        assert it.description, f"{name} has no description"
    for spec in fields(Profile):
        assert spec.name in {"name", "weights"} or f"\n- `{spec.name}` (" in settings


def defaults_in(part: str) -> Mapping[str, str]:
    """Return the default that a part of the Python reference shows, by argument."""
    found = re.match(r"\n`[\w.]+(\(.*\))`\n", part)
    [call] = ast.parse(f"def call{found[1] if found else '()'}: ...").body
    assert isinstance(call, ast.FunctionDef)
    takes = call.args
    positional = [None] * (len(takes.args) - len(takes.defaults)) + takes.defaults
    return {
        it.arg: ast.unparse(default) if default else ""
        for it, default in zip(
            [*takes.args, *takes.kwonlyargs], [*positional, *takes.kw_defaults], strict=True
        )
    }


@pytest.mark.parametrize(
    "verb", ["search", "why_not", "context", "recent", "list", "ingest", "add"]
)
def test_python_command_line_and_reference_have_the_same_defaults(
    verb: str, pages: Mapping[str, str]
) -> None:
    method = getattr(memsense.MemSense, verb)
    shown = defaults_in(part_of(pages["python"], verb))
    for name, parameter in parameters_of(method).items():
        required = parameter.default is REQUIRED
        expected = "" if required else reference.format_default(parameter.default)
        assert shown[name] == expected, f"{verb}: {name} in python.md"
        declared = VERBS[verb].get(name)
        if declared and parameter.default is not REQUIRED and declared[1] is not ...:
            same = declared[1] == parameter.default or {None} == {
                declared[1],
                parameter.default or None,
            }
            assert same, f"{verb}: {name} on the command line"
    command = ROOT_COMMAND.get_command(None, verb.replace("_", "-"))
    part = part_of(pages["cli"], verb.replace("_", "-")) if command else ""
    part += part_of(pages["cli"], "Shared options")
    for param in command.params if command else ():
        if isinstance(param.default, int | float | str) and not isinstance(param.default, bool):
            assert f"`{param.default}`" in part, f"memsense {verb}: {param.name}"
            parameter = parameters_of(method).get(param.name)
            if parameter and parameter.default is not REQUIRED:
                assert param.default == parameter.default, f"memsense {verb}: {param.name}"


def test_profiles_of_the_reference_have_the_shipped_constants(pages: Mapping[str, str]) -> None:
    page = pages["settings"]
    for spec in fields(Profile):
        if spec.name in {"name", "weights"}:
            continue
        [row] = re.findall(rf"^- `{spec.name}` \(([^)]*)\): \S", page, re.MULTILINE)
        usual, *others = row.split(", ")
        named = dict(re.findall(r"`(\w+)` (\S+)", " ".join(others)))
        values = {name: named.get(name, usual) for name in reference.SHIPPED}
        assert values == {name: str(getattr(PROFILES[name], spec.name)) for name in values}
