"""Write the pages of the reference that the declarations give: part of `make docs`.

Git ignores the pages; they are in docs/reference, among those that are written by hand.

- python.md: the public classes and functions, from their signatures and docstrings.
- cli.md: the commands and their options, from Typer.
- http.md: the routes, from the table of operations.
- mcp.md: the tools, as the server describes them to a host.
- settings.md: the environment variables, and the constants of the profiles.

In docs, too: llms.txt and llms-full.txt, for language models, made of the tutorials and guides.
"""

import inspect
import re
import sys
import textwrap
import tomllib
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
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
    """Return a default as code writes it."""
    return "no_op" if inspect.isfunction(value) else repr(value)


# Shared descriptions -----------------------------------------------------------------------------

SHARED_FROM = 2
"""Number of places from which on the top of a page has a description, instead of each."""


def choose_shared(places: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the commonest line of each name, if several places describe the name so."""
    counts: dict[str, Counter[str]] = {}
    for place in places:
        for name, line in place.items():
            counts.setdefault(name, Counter())[line] += 1
    commonest = {name: counter.most_common(1)[0] for name, counter in sorted(counts.items())}
    return {name: line for name, (line, count) in commonest.items() if count >= SHARED_FROM}


def choose_common(
    places: Sequence[Mapping[str, str]], shared: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the lines on which all places of a part agree, and that the top of the page lacks."""
    lines: dict[str, set[str]] = {}
    for place in places:
        for name, line in place.items():
            lines.setdefault(name, set()).add(line)
    return {
        name: line
        for name, (line, *others) in lines.items()
        if not others
        and shared.get(name) != line
        and sum(name in place for place in places) >= SHARED_FROM
    }


def format_own(lines: Mapping[str, str], shared: Mapping[str, str]) -> str:
    """Return the lines of a place that the top of its page lacks."""
    return "\n".join(line for name, line in lines.items() if shared.get(name) != line)


# Python ------------------------------------------------------------------------------------------


def describe_parameters(function: Any) -> Mapping[str, str]:
    """Return a line for each parameter of a function."""
    lines: dict[str, str] = {}
    for name, it in parameters_of(function).items():
        kind, text = format_type(it.plain_type).removesuffix(" | None"), " ".join(it.text.split())
        choices = re.findall(r"'(\w+)'", kind)
        if choices and all(f'"{choice}"' in text for choice in choices):
            kind = ""  # the text lists them
        lines[name] = f"- `{name}`: `{kind}`. {text}" if kind else f"- `{name}`: {text}"
    return lines


def describe_errors(function: Any) -> Mapping[str, str]:
    """Return a line for each error that a function raises."""
    raises = read_entries(split_docstring(function).get("Raises", ""))
    return {
        error: f"`{error}` {text[:1].lower()}{text[1:].rstrip('.')}"
        for error, text in raises.items()
    }


def format_call(name: str, parameters: Mapping[str, Parameter]) -> str:
    """Return a function's name with its parameters and their defaults, as code."""
    written: list[str] = []
    for parameter, it in parameters.items():
        if it.is_keyword and "*" not in written:
            written.append("*")
        required = it.default is REQUIRED
        written.append(parameter if required else f"{parameter}={format_default(it.default)}")
    return f"`{name}({', '.join(written)})`"


def format_function(name: str, function: Any, shared: Mapping[str, str]) -> str:
    """Return a method's or function's part of the page."""
    sections = split_docstring(function)
    returns = format_type(inspect.signature(function).return_annotation)
    parameters = parameters_of(function)
    parts = [
        f"### {name}",
        format_call(name, parameters) if parameters else "",
        format_text(sections[""]),
        format_own(describe_parameters(function), shared),
    ]
    returned = " ".join(sections.get("Returns", sections.get("Yields", "")).split())
    if returns not in {"", "None"} or returned:
        parts.append(f"Returns `{returns}`. {returned}".strip())
    if errors := describe_errors(function):
        texts = [f"`{it}`" if shared.get(it) == line else line for it, line in errors.items()]
        parts.append(f"Raises {'; '.join(texts)}.")
    return "\n\n".join(part for part in parts if part)


def public_methods(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class and its own bases, by name."""
    for name, member in sorted(inspect.getmembers_static(owner)):
        inner = getattr(member, "__func__", getattr(member, "fget", member))
        if not name.startswith("_") and inspect.isfunction(inner):
            yield name, inner


def write_python() -> str:
    """Return the page of the Python API."""
    methods = [it for kind in parity.ALL_RESOURCES.values() for _, it in public_methods(kind)]
    items: Mapping[str, Any] = {name: getattr(memsense, name) for name in memsense.__all__}
    functions = [*methods, *filter(inspect.isfunction, items.values())]
    arguments = choose_shared(map(describe_parameters, functions))
    errors = choose_shared(map(describe_errors, functions))
    shared = {**arguments, **errors}
    parts = [
        "# Python",
        (
            "Everything here is imported from `memsense`. `AsyncMemSense` has the methods and"
            " resources of `MemSense`, to be awaited; `memory.for_user(...)` those of one user's"
            " memory. [Shared arguments](#shared-arguments) and [errors](#shared-errors) are"
            " described here, those that a resource's methods have in common at the resource, and"
            " others at their method. An argument whose default is None may be None."
        ),
        "## Shared arguments",
        "\n".join(arguments.values()),
        "## Shared errors",
        "\n".join(f"- {line}" for line in errors.values()),
        "## MemSense",
        format_text(split_docstring(MemSense)[""]),
    ]
    for owner, kind in sorted(parity.ALL_RESOURCES.items()):
        methods = {f"{owner}.{it}".lstrip("."): each for it, each in public_methods(kind)}
        common = choose_common(list(map(describe_parameters, methods.values())), shared)
        if owner:
            parts += [f"## memory.{owner}", format_text(split_docstring(kind)[""])]
        parts.append("\n".join(common.values()))
        parts += [format_function(it, each, {**shared, **common}) for it, each in methods.items()]
    names = ", ".join(f"`{name}`" for name, _ in public_methods(UserMemory))
    parts += [
        "## memory.for_user",
        format_text(split_docstring(UserMemory)[""]),
        f"Its methods take no `user_id`: {names}.",
        "## Other names",
    ]
    for name, item in items.items():
        if item is MemSense or name in {"AsyncMemSense", "PROFILES"}:
            continue
        if inspect.isfunction(item):
            parts.append(format_function(name, item, shared))
            continue
        sections = split_docstring(item)
        attributes = read_entries(sections.get("Attributes", sections.get("Args", "")))
        parts += [f"### {name}", format_text(sections[""])]
        if name != "Profile":
            parts.append("\n".join(f"- `{field}`: {text}" for field, text in attributes.items()))
    return "\n\n".join(part for part in parts if part)


# The command line --------------------------------------------------------------------------------


ALWAYS = ("--output", "--json")
"""Options that the page describes once, with the commands that lack them."""

RARE = ("sql recall", "db capacity", "db partition", "db seal")
"""Commands whose options the page names alone: operators read the help of these."""


def describe_options(name: str, command: Any) -> Mapping[str, str]:
    """Return a line for each argument and option of a command, without those that are hidden.

    Where the text is that of an argument of Python, the line names that argument instead.
    """
    lines: dict[str, str] = {}
    for param in command.params:
        if getattr(param, "hidden", False):
            continue
        names = [*param.opts, *param.secondary_opts]
        is_argument = not names[0].startswith("-")
        written = param.metavar or param.name.upper() if is_argument else ", ".join(names)
        if not is_argument and param.metavar and not getattr(param, "is_flag", False):
            written += f" {param.metavar}"
        default = param.default
        is_plain = isinstance(default, str | int | float) and not isinstance(default, bool)
        noted = " (required)" if param.required else f" (`{default}`)" if is_plain else ""
        text = " ".join((getattr(param, "help", "") or "").split())
        if text.endswith(" Repeatable."):
            text, written = text.removesuffix(" Repeatable."), f"{written}..."
        text = find_argument(name, param.name, text) or text
        lines[written if is_argument else names[0]] = f"- `{written}`{noted}: {text}".rstrip(": ")
    return lines


@lru_cache
def list_texts() -> Mapping[tuple[str, str], Sequence[str]]:
    """Return the methods that describe an argument so, by the argument's name and text."""
    methods: dict[tuple[str, str], list[str]] = {}
    for resource, kind in parity.ALL_RESOURCES.items():
        for name, method in public_methods(kind):
            for key, it in parameters_of(method).items():
                written = f"{resource}.{name}".lstrip(".")
                methods.setdefault((key, to_compare(it.text)), []).append(written)
    return methods


def find_argument(command: str, name: str, text: str) -> str:
    """Return the name of the argument of Python that has this text, with its method if needed."""
    methods = list_texts().get((name, to_compare(text)), ())
    if not methods:
        return ""
    method = command.replace("-", "_")
    if method in methods:
        return f"`{name}`"

    def rank(it: str) -> tuple[bool, bool, bool]:
        return it.rpartition(".")[2] != method, it != "search", it != "add"

    return f"`{name}` of `{min(methods, key=rank)}`"


def to_compare(text: str) -> str:
    """Return a text without what the command line writes in its own way."""
    plain = re.sub(r" (?:Example: |Shipped are ).*", "", text).replace("`", "").replace("--", "")
    return " ".join(plain.replace("-", " ").replace("_", " ").split())


def list_commands() -> Iterator[tuple[str, Any]]:
    """Yield each command and subcommand with its name, in the order of `memsense help`."""

    def below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield name, command
        for inner, subcommand in getattr(command, "commands", {}).items():
            yield from below(f"{name} {inner}", subcommand)

    root: Any = typer.main.get_command(command_line.root)
    for name in command_line.COMMANDS:
        yield from below(name, root.get_command(None, name))


def format_command(
    name: str, command: Any, shared: Mapping[str, str], common: Mapping[str, str]
) -> Iterator[str]:
    """Yield a command's part of the page."""
    yield f"{'#' * (2 + name.count(' '))} {name}"
    text, _, rest = inspect.cleandoc(command.help or "").replace("\b\n", "").partition("\n\n")
    yield text
    # An example of a command shows its form; the help has more, and those of subcommands.
    examples = re.findall(r"^ {2,}(memsense (?:.*\\\n)*.*)", rest, re.MULTILINE)
    examples = [it for it in examples if re.search(r" -|=", it)]
    if examples and " " not in name:
        is_line = "\n" not in examples[0] and "`" not in examples[0]
        yield f"`{examples[0]}`" if is_line else f"```console\n{examples[0]}\n```"
    lines = {key: it for key, it in describe_options(name, command).items() if key not in ALWAYS}
    if name in RARE:
        yield f"Its options: {', '.join(f'`{key}`' for key in lines)}."
        return
    if hasattr(command, "commands"):
        yield "\n".join(common.values())
    described = {**shared, **common}
    yield format_own(lines, described)
    names = [f"`{key}`" for key, line in lines.items() if described.get(key) == line]
    if any(re.search(r"\w.*: `\w+`$", line) for line in lines.values()):
        names.append(f"[Python](python.md#{name.replace('-', '_')})")
    if names:
        yield f"Also {', '.join(names)}."


def write_cli() -> str:
    """Return the page of the command line."""
    listed = dict(list_commands())
    options = [describe_options(name, command) for name, command in listed.items()]
    groups: dict[str, list[Mapping[str, str]]] = {}
    for name, described in zip(listed, options, strict=True):
        groups.setdefault(name.split()[0], []).append(described)
    # An argument such as NAME means the same only within a group, unless several groups agree.
    several = choose_shared(
        {key: line for one in group for key, line in one.items()} for group in groups.values()
    )
    shared = {
        key: line
        for key, line in choose_shared(options).items()
        if key.startswith("-") or several.get(key) == line
    }
    without = [
        f"`{name}`"
        for (name, command), lines in zip(listed.items(), options, strict=True)
        if "--json" not in lines and not hasattr(command, "commands")
    ]
    halves = [
        f"`{it}`"
        for it, lines in zip(listed, options, strict=True)
        if "--json" in lines and "--output" not in lines
    ]
    parts = [
        "# The command line",
        (
            "Every command takes `--database-url`, `--tenant` and `--namespace`, before or after"
            " its name. [Output of the commands](output.md) has exit codes and fields of `--json`."
            " `memsense help COMMAND` shows every option with its text, remarks and more examples."
            ' What a command only names ("Also") is described at its group, or among [the shared'
            " options](#shared-options). An option with a name in place of a text is that argument"
            " of the command's method, or of the method that it names, in [Python](python.md)."
        ),
        (
            f"Every command takes `--output` and `--json`, but for {', '.join(without)}."
            f" Without `--output`: {', '.join(halves)}."
        ),
        "## Shared options",
        "\n".join(shared.values()),
    ]
    for name, command in listed.items():
        common = choose_common(groups[name.split()[0]], shared)
        parts += format_command(name, command, shared, common)
    return "\n\n".join(part for part in parts if part)


# HTTP, MCP ---------------------------------------------------------------------------------------


def write_http() -> str:
    """Return the page of the HTTP API."""
    scopes: dict[str, list[str]] = {}
    for item in sorted(parity.OPERATIONS, key=lambda it: (it.path, it.method)):
        path = item.path.replace(":path", "")
        anchor = item.verb.lower().replace(".", "")
        route = f"- [`{item.method} /v1{path}`](python.md#{anchor})"
        # The name of an operation is the method's, unless one method has two routes.
        is_usual = item.operation_name == item.verb.replace(".", "_")
        named = "" if is_usual else f" (`{item.operation_name}`)"
        scopes.setdefault(item.scope, []).append(f"{route}{named}")
    named = {item.operation_name for item in parity.OPERATIONS}
    others: list[str] = []
    for path, operations in describe_api()["paths"].items():
        for method, it in operations.items():
            if (name := it["operationId"]) not in named:
                summary = it["description"].partition("\n")[0]
                others.append(f"- `{method.upper()} {path}` (`{name}`): {summary}")
    return "\n\n".join(
        [
            "# HTTP",
            (
                "Each route takes the arguments of the method to which it links, in its body, its"
                " query or its path, and returns the same fields. Its operation id is the"
                " method's name with `_` for `.`, or in brackets. `/v1/openapi.json` of a running"
                " server, or `memsense openapi`, has the schemas. [The server]"
                "(../guides/server.md) describes keys, their scopes and limits."
            ),
            *(
                part
                for scope, routes in sorted(scopes.items())
                for part in (f"## Routes of the scope {scope}", "\n".join(routes))
            ),
            "## Further routes",
            "\n".join(others),
            "## Methods of Python without a route",
            parity.render_exceptions(),
        ]
    )


def write_mcp() -> str:
    """Return the page of MCP's tools."""
    find: Any = None  # the tools are described here, not called
    parts = [
        "# MCP",
        (
            "The tools that `memsense mcp` and the address `/mcp` of `memsense serve` offer to a"
            " model. [The MCP server](../guides/mcp.md) says how to install it in a host. An"
            " argument without a text is that of `recall`, or of the same name in"
            " [Python](python.md#shared-arguments)."
        ),
    ]
    for tool in cast("list[Any]", make_tools(find, read_only=False)):
        schema: Mapping[str, Any] = tool.parameters
        lines: list[str] = []
        others: list[str] = []
        for name, it in schema.get("properties", {}).items():
            value = it.get("default")
            default = "required" if name in schema.get("required", ()) else value
            written = f"`{name}`" + ("" if default is None else f" ({default})")
            text = " ".join(it.get("description", "").split())
            is_pythons = any(
                key == name and full.startswith(to_compare(text)) for key, full in list_texts()
            )
            if not is_pythons:
                lines.append(f"- {written}: {text}")
            else:
                others.append(written)
        lines += [f"- {', '.join(others)}"] if others else []
        parts += [f"## {tool.name}", format_text(tool.description), "\n".join(lines)]
    return "\n\n".join(parts)


# Settings ----------------------------------------------------------------------------------------


def write_settings() -> str:
    """Return the page of the settings of a process, and of the constants of the profiles."""
    variables: list[str] = []
    for name, it in Settings.model_fields.items():
        default = "" if it.default_factory or it.default is None else f" (`{it.default}`)"
        secret = " Secret." if name in SECRETS else ""
        choices = get_args(it.annotation) if get_origin(it.annotation) is Literal else ()
        text = it.description or ""
        are_named = all(str(each) in text for each in choices)
        listed = "" if are_named else f" One of {', '.join(f'`{each}`' for each in choices)}."
        sentence = " ".join(f"{text[:1].upper()}{text[1:]}.".split())
        variables.append(f"- `MEMSENSE_{name.upper()}`{default}: {sentence}{listed}{secret}")
    described = read_arguments(inspect.getdoc(Profile) or "")
    constants: list[str] = []
    for spec in fields(Profile):
        if spec.name not in {"name", "weights"}:
            values = {name: getattr(PROFILES[name], spec.name) for name in SHIPPED}
            usual = values.pop(SHIPPED[0])
            others = "".join(f", `{name}` {it}" for name, it in values.items() if it != usual)
            constants.append(f"- `{spec.name}` ({usual}{others}): {cell(described[spec.name])}")
    weights: list[str] = []
    for route in PROFILES[SHIPPED[0]].weights:
        values = ", ".join(f"{PROFILES[name].weights[route]:g}" for name in SHIPPED)
        weights.append(f"- `{route}`: {values}")
    return "\n\n".join(
        [
            "# Settings",
            (
                "A process reads these variables once. `memsense config show` prints them with"
                " their origin, but no secret; in Python, `load_settings(name=value)` and"
                " `Settings(name=value)` override them."
            ),
            "\n".join(variables),
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
            f"Of {', '.join(f'`{name}`' for name in SHIPPED)}:",
            "\n".join(weights),
            "### Constants",
            f"The value is that of `{SHIPPED[0]}`, and of the others unless they are named.",
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


# For language models -----------------------------------------------------------------------------

HOW_TO = ("Home", "Start", "Tutorials", "Guides", "Moving from")
"""Parts of the navigation that llms.txt lists: tutorials and how-to."""


def list_pages(entries: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield title and file of each page of the navigation, in order."""
    for entry in entries:
        for title, target in entry.items():
            if isinstance(target, str):
                yield title, target
            else:
                yield from list_pages(target)


def write_llms(folder: Path) -> None:
    """Write llms.txt (llmstxt.org), which lists the tutorials and guides, and their whole text."""
    project = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
    base = project.get("site_url", "")
    listed = [f"# {project['site_name']}", f"> {project['site_description']}"]
    whole = [*listed]
    for entry in project["nav"]:
        [part] = entry
        if part not in HOW_TO:
            continue
        lines: list[str] = []
        for title, name in list_pages([entry]):
            text = (ROOT / "docs" / name).read_text("utf-8")
            address = base + re.sub(r"(index)?\.md$", "/", name).lstrip("/") or "./"
            prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
            first = re.search(r"^(?![#<|!-])\S.*(?:\n\S.*)*", prose, re.MULTILINE)
            summary = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", first[0] if first else title)
            summary = re.split(r"(?<=\.)\s", " ".join(summary.split()))[0].rstrip(":")
            lines.append(f"- [{title}]({address}): {summary}")
            whole.append(f"<!-- {address} -->\n{text.strip()}")
        listed += [f"## {part}", "\n".join(lines)]
    (folder / "llms.txt").write_text("\n\n".join(listed) + "\n", encoding="utf-8")
    (folder / "llms-full.txt").write_text("\n\n".join(whole) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_pages(FOLDER)
    write_llms(ROOT / "docs")
