"""Write the pages of the reference that the declarations give: part of `make docs`.

Git ignores the pages; they are in docs/reference, among those that are written by hand.

- python.md: the public classes and functions, from their signatures and docstrings.
- cli.md: the commands and their options, from Typer.
- http.md: the routes, from the table of operations.
- mcp.md: the tools, as the server describes them to a host.
- settings.md: the environment variables, and the constants of the profiles.
"""

import inspect
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the checkout's own package, also where another one is installed

import typer  # noqa: E402 (after the path)

import memsense  # noqa: E402
from memsense.cli import app as command_line  # noqa: E402
from memsense.client.memory import MemSense  # noqa: E402
from memsense.client.user_memory import UserMemory  # noqa: E402
from memsense.config import SECRETS, Settings  # noqa: E402
from memsense.declaration import REQUIRED, Parameter, parameters_of, read_arguments  # noqa: E402
from memsense.mcp.tools import make_tools  # noqa: E402
from memsense.search.profiles import PROFILES, Profile  # noqa: E402
from memsense.server.app import describe_api  # noqa: E402
from tools import parity  # noqa: E402

FOLDER = ROOT / "docs" / "reference"
MARK = "<!-- Written by tools/reference.py: `make docs` renews it. -->"
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises):\n", re.MULTILINE)
SHIPPED = ("balanced", "memsense", "vector_heavy", "keyword_focused")


# Texts -------------------------------------------------------------------------------------------


def format_text(text: str, examples: str = "python") -> str:
    """Return a docstring's prose as Markdown: its indented examples become fenced blocks."""
    blocks: list[str] = []
    for block in re.split(r"\n{2,}", text.strip("\n").replace("\b\n", "")):
        is_example = re.match(r" {2,}\S", block)
        blocks.append(f"```{examples}\n{textwrap.dedent(block)}\n```" if is_example else block)
    return "\n\n".join(blocks).replace(f"```\n\n```{examples}\n", "\n")


def split_docstring(item: object) -> Mapping[str, str]:
    """Return a docstring's sections by name; the prose before them under the empty name."""
    pieces = SECTION.split(inspect.getdoc(item) or "")
    sections = {"": pieces[0].strip()}
    sections.update(zip(pieces[1::2], map(textwrap.dedent, pieces[2::2]), strict=True))
    return sections


def read_entries(section: str) -> Mapping[str, str]:
    """Return the entries of a section, `name: text`, each on one line."""
    entries = re.findall(r"^(\w+): (.*(?:\n +.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def cell(text: object) -> str:
    """Return a text for a table's cell."""
    return " ".join(str(text).split()).replace("|", "\\|")


def format_type(annotation: Any) -> str:
    """Return a type as a reader writes it."""
    if annotation is inspect.Parameter.empty:
        return ""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in {Union, types.UnionType}:
        return " | ".join(map(format_type, arguments))
    if origin is Literal:
        return " | ".join(map(repr, arguments))
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", text)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", text).replace("NoneType", "None")


def format_default(value: object) -> str:
    """Return a default as code, or nothing for a parameter that is required."""
    if value is REQUIRED:
        return "required"
    if inspect.isfunction(value):
        return "a function that does nothing"
    return "" if value is None else f"`{value!r}`"


# Python ------------------------------------------------------------------------------------------


def format_parameters(parameters: Mapping[str, Parameter]) -> str:
    """Return a table of parameters."""
    rows = ["| argument | type | default | |", "| --- | --- | --- | --- |"]
    rows += [
        f"| `{name}` | `{cell(format_type(it.plain_type))}` | {format_default(it.default)} |"
        f" {cell(it.text)} |"
        for name, it in parameters.items()
    ]
    return "\n".join(rows) if len(rows) > 2 else ""  # noqa: PLR2004 (the heads)


def format_function(name: str, function: Any, level: int) -> str:
    """Return a method's or function's part of the page."""
    sections = split_docstring(function)
    returns = format_type(inspect.signature(function).return_annotation)
    parts = [
        f"{'#' * level} {name}",
        format_text(sections[""]),
        format_parameters(parameters_of(function)),
    ]
    described = " ".join(sections.get("Returns", sections.get("Yields", "")).split())
    if returns not in {"", "None"} or described:
        described = f" {described}" if described else ""
        parts.append(f"Returns `{returns}`.{described}")
    if raises := read_entries(sections.get("Raises", "")):
        parts.append("\n".join(f"- raises `{error}`: {text}" for error, text in raises.items()))
    return "\n\n".join(part for part in parts if part)


def public_methods(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class and its own bases, by name."""
    for name, member in sorted(inspect.getmembers_static(owner)):
        inner = getattr(member, "__func__", getattr(member, "fget", member))
        if not name.startswith("_") and inspect.isfunction(inner):
            yield name, inner


def write_python() -> str:
    """Return the page of the Python API."""
    parts = [
        "# Python",
        (
            "Everything here is imported from `memsense`. `AsyncMemSense` has the methods and"
            " resources of `MemSense`, to be awaited; `memory.for_user(...)` those of one user's"
            " memory."
        ),
        "## MemSense",
        format_text(split_docstring(MemSense)[""]),
    ]
    parts += [format_function(name, it, 3) for name, it in public_methods(MemSense)]
    for name, kind in sorted(parity.ALL_RESOURCES.items()):
        if not name:
            continue
        parts += [f"## memory.{name}", format_text(split_docstring(kind)[""])]
        parts += [format_function(f"{name}.{it}", each, 3) for it, each in public_methods(kind)]
    parts.append("## memory.for_user")
    parts.append(format_text(split_docstring(UserMemory)[""]))
    names = ", ".join(f"`{name}`" for name, _ in public_methods(UserMemory))
    parts.append(f"Its methods take no `user_id`: {names}.")
    parts.append("## Other names")
    for name in memsense.__all__:
        item: Any = getattr(memsense, name)
        if item is MemSense or name in {"AsyncMemSense", "PROFILES"}:
            continue
        if inspect.isfunction(item):
            parts.append(format_function(name, item, 3))
            continue
        sections = split_docstring(item)
        described = read_entries(sections.get("Attributes", sections.get("Args", "")))
        parts += [f"### {name}", format_text(sections[""])]
        if described and name != "Profile":
            rows = [f"| `{field}` | {cell(text)} |" for field, text in described.items()]
            parts.append("\n".join(["| field | |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


# The command line --------------------------------------------------------------------------------


def format_command(name: str, command: Any, level: int) -> Iterator[str]:
    """Yield a command's part of the page, and those of its subcommands."""
    yield f"{'#' * level} memsense {name}"
    yield format_text(inspect.cleandoc(command.help or ""), "console")
    rows = ["| option | default | |", "| --- | --- | --- |"]
    for param in command.params:
        names = [*param.opts, *param.secondary_opts]
        is_argument = not names[0].startswith("-")
        written = param.metavar or param.name.upper() if is_argument else ", ".join(names)
        if not is_argument and param.metavar and not getattr(param, "is_flag", False):
            written += f" {param.metavar}"
        default = param.default
        is_plain = isinstance(default, str | int | float) and not isinstance(default, bool)
        text_of_default = "required" if param.required else f"`{default}`" if is_plain else ""
        text = getattr(param, "help", "") or ""
        if not getattr(param, "hidden", False):
            rows.append(f"| `{cell(written)}` | {text_of_default} | {cell(text)} |")
    if len(rows) > 2:  # noqa: PLR2004 (the heads)
        yield "\n".join(rows)
    for inner, subcommand in getattr(command, "commands", {}).items():
        yield from format_command(f"{name} {inner}", subcommand, 3)


def write_cli() -> str:
    """Return the page of the command line."""
    root: Any = typer.main.get_command(command_line.root)
    parts = [
        "# The command line",
        (
            "Every command takes `--database-url`, `--tenant` and `--namespace`, before or after"
            " its name. [Output of the commands](output.md) has exit codes and fields of `--json`."
        ),
        "\n".join(
            ["| command | |", "| --- | --- |"]
            + [
                f"| [`memsense {name}`](#memsense-{name}) | {cell(line)} |"
                for name, (_, line) in command_line.COMMANDS.items()
            ]
        ),
    ]
    for name in command_line.COMMANDS:
        parts += format_command(name, root.get_command(None, name), 2)
    return "\n\n".join(parts)


# HTTP, MCP ---------------------------------------------------------------------------------------


def write_http() -> str:
    """Return the page of the HTTP API."""
    rows = ["| route | operation id | scope | |", "| --- | --- | --- | --- |"]
    for item in sorted(parity.OPERATIONS, key=lambda it: (it.path, it.method)):
        resource, _, name = item.verb.rpartition(".")
        method = getattr(parity.RESOURCES[resource], name)
        summary = split_docstring(method)[""].split("\n\n")[0].splitlines()[0]
        path = item.path.replace(":path", "")
        anchor = item.verb.lower().replace(".", "")
        rows.append(
            f"| `{item.method} /v1{path}` | `{item.operation_name}` | {item.scope} |"
            f" {cell(summary)} [`{item.verb}`](python.md#{anchor}) |"
        )
    named = {item.operation_name for item in parity.OPERATIONS}
    for path, operations in describe_api()["paths"].items():
        for method, it in operations.items():
            if (name := it["operationId"]) not in named:
                summary = it["description"].partition("\n")[0]
                rows.append(f"| `{method.upper()} {path}` | `{name}` | | {cell(summary)} |")
    return "\n\n".join(
        [
            "# HTTP",
            (
                "Each route takes the arguments of the method that it names, in its body, its query"
                " or its path, and returns the same fields. `/v1/openapi.json` of a running server,"
                " or `memsense openapi`, has their schemas. [The server](../guides/server.md)"
                " describes keys and limits."
            ),
            "\n".join(rows),
            "## From Python to HTTP",
            parity.render_table(),
        ]
    )


def write_mcp() -> str:
    """Return the page of MCP's tools."""
    find: Any = None  # the tools are described here, not called
    parts = [
        "# MCP",
        (
            "The tools that `memsense mcp` and the address `/mcp` of `memsense serve` offer to a"
            " model. [The MCP server](../guides/mcp.md) says how to install it in a host."
        ),
    ]
    for tool in cast("list[Any]", make_tools(find, read_only=False)):
        schema: Mapping[str, Any] = tool.parameters
        rows = ["| argument | default | |", "| --- | --- | --- |"]
        for name, it in schema.get("properties", {}).items():
            needed = name in schema.get("required", ())
            default = "required" if needed else format_default(it.get("default"))
            rows.append(f"| `{name}` | {default} | {cell(it.get('description', ''))} |")
        parts += [f"## {tool.name}", format_text(tool.description), "\n".join(rows)]
    return "\n\n".join(parts)


# Settings ----------------------------------------------------------------------------------------


def write_settings() -> str:
    """Return the page of the settings of a process, and of the constants of the profiles."""
    rows = ["| variable | default | |", "| --- | --- | --- |"]
    for name, it in Settings.model_fields.items():
        default = "" if it.default_factory or it.default is None else f"`{it.default}`"
        secret = " A secret: it is never printed." if name in SECRETS else ""
        choices = get_args(it.annotation) if get_origin(it.annotation) is Literal else ()
        listed = f" One of {', '.join(f'`{each}`' for each in choices)}." if choices else ""
        text = it.description or ""
        rows.append(
            f"| `MEMSENSE_{name.upper()}` | {default} |"
            f" {cell(text[:1].upper() + text[1:] + '.')}{listed}{secret} |"
        )
    described = read_arguments(inspect.getdoc(Profile) or "")
    constants = [
        f"| constant | {' | '.join(f'`{name}`' for name in SHIPPED)} | |",
        "| --- |" + " --- |" * len(SHIPPED) + " --- |",
    ]
    for spec in fields(Profile):
        if spec.name not in {"name", "weights"}:
            values = " | ".join(str(getattr(PROFILES[name], spec.name)) for name in SHIPPED)
            constants.append(f"| `{spec.name}` | {values} | {cell(described[spec.name])} |")
    weights = [
        f"| route | {' | '.join(f'`{name}`' for name in SHIPPED)} |",
        "| --- |" + " --- |" * len(SHIPPED),
    ]
    for route in PROFILES["balanced"].weights:
        values = " | ".join(f"{PROFILES[name].weights[route]:g}" for name in SHIPPED)
        weights.append(f"| `{route}` | {values} |")
    return "\n\n".join(
        [
            "# Settings",
            (
                "A process reads these variables once. `memsense config show` prints them with"
                " their origin; in Python, `load_settings(name=value)` and `Settings(name=value)`"
                " override them."
            ),
            "\n".join(rows),
            (
                "Other variables: `MEMSENSE_USER` is the user of `memsense mcp` and of hooks"
                " that name none; `MEMSENSE_FORMATS_DIR` is the folder of [your own formats]"
                "(../guides/mappings.md)."
            ),
            "## Profiles",
            (
                "What ranks a search. `memsense settings set NAME=VALUE` changes one of these for a"
                ' namespace, `search(..., overrides={"NAME": VALUE})` for one search'
                " ([Tuning a search](../guides/tuning.md))."
            ),
            "### Weights of the routes",
            "\n".join(weights),
            "### Constants",
            "\n".join(constants),
        ]
    )


PAGES: Mapping[str, Callable[[], str]] = {
    "python": write_python,
    "cli": write_cli,
    "http": write_http,
    "mcp": write_mcp,
    "settings": write_settings,
}


def write_pages(folder: Path) -> None:
    """Write each page into a folder."""
    for name, write in PAGES.items():
        title, _, rest = write().partition("\n")
        (folder / f"{name}.md").write_text(f"{title}\n\n{MARK}\n{rest}\n", encoding="utf-8")


if __name__ == "__main__":
    write_pages(FOLDER)
