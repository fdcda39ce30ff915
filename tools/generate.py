"""Write the sources that are derived from the public signatures: `make generate`.

    python tools/generate.py          write them
    python tools/generate.py --check  exit 1 if one of them is not current (part of `make lint`)

- The `Args:` sections of the public methods: the lines of parameters whose type carries a text.
- memsense/client/user_memory.pyi: types of the views of one user, from the verbs and resources.
- memsense/cli/declared.json: the parameters that become options of the command line.
"""

import ast
import inspect
import json
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, ForwardRef, Literal, Union, cast, get_args, get_origin

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the checkout's own package, also where another one is installed

from memsense.client import user_view  # noqa: E402 (after the path)
from memsense.client.traces import TracesResource  # noqa: E402
from memsense.client.verbs import Memory  # noqa: E402
from memsense.declaration import (  # noqa: E402
    parameters_of,
    split_text,
)
from memsense.graph.resource import Entities  # noqa: E402
from memsense.text.docstrings import read_arguments  # noqa: E402

CLASSES = {
    "memsense.client.settings": ["SettingsResource"],
    "memsense.client.profiles": ["ProfilesResource"],
    "memsense.client.projects": ["ProjectsResource"],
    "memsense.client.traces": ["TracesResource"],
    "memsense.client.questions": ["QuestionsResource"],
    "memsense.graph.resource": ["Entities"],
    "memsense.client.indexes": ["IndexesResource"],
    "memsense.client.erasing": ["ErasuresResource"],
    "memsense.client.histories": ["HistoriesResource"],
    "memsense.client.items": ["ItemsResource"],
    "memsense.client.jobs": ["JobsResource"],
    "memsense.client.access_keys": ["AccessKeysResource"],
    "memsense.client.ttl": ["TtlResource"],
    "memsense.client.embedding_models": ["ModelsResource"],
    "memsense.client.verbs": ["Memory"],
    "memsense.client.memory": ["MemSense"],
}
"""Public classes by module, each before the class that holds it."""

VIEWS: Mapping[str, type] = {
    "UserTraces": TracesResource,
    "UserEntities": Entities,
    "UserMemory": Memory,
}
"""Views of one user, with the class that each is a view of."""

WIDTH = 100


# Reading the sources -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Module:
    """A source module: its syntax tree, and the import line of each name it knows."""

    name: str
    path: Path
    tree: ast.Module
    imports: dict[str, str]

    @classmethod
    def read(cls, name: str) -> "Module":
        """Return the module of that dotted name."""
        path = Path(inspect.getfile(import_module(name)))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for item in node.names:
                    alias = f" as {item.asname}" if item.asname else ""
                    line = f"from {node.module} import {item.name}{alias}"
                    imports[item.asname or item.name] = line
            elif isinstance(node, ast.Import):
                for item in node.names:
                    imports[item.asname or item.name] = ast.unparse(ast.Import([item]))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                imports[node.name] = f"from {name} import {node.name}"
            for target in node.targets if isinstance(node, ast.Assign) else ():
                if isinstance(target, ast.Name):
                    imports[target.id] = f"from {name} import {target.id}"
        return cls(name, path, tree, imports)

    def class_named(self, name: str) -> ast.ClassDef:
        """Return the class's definition."""
        return next(
            node for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name == name
        )

    def value(self, owner: str, method: str) -> Any:
        """Return a class's attribute as it is in the class."""
        members = cast("dict[str, Any]", vars(getattr(import_module(self.name), owner)))
        member = members[method]
        for name in ("__func__", "fget", "func"):  # of classmethod, property and cached_property
            member = getattr(member, name, member)
        return inspect.unwrap(member)


def public_members(module: Module, owner: str) -> Iterator[ast.FunctionDef]:
    """Yield the class's public methods and properties in order."""
    for node in module.class_named(owner).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def decorators(node: ast.FunctionDef) -> set[str]:
    """Return the names of a function's plain decorators."""
    return {item.id for item in node.decorator_list if isinstance(item, ast.Name)}


# Args: sections ----------------------------------------------------------------------------------


def write_args(module: Module, owners: list[str]) -> str:
    """Return the module's source with the `Args:` section of every public method complete.

    Raises SystemExit for a parameter without a text.
    """
    lines = module.path.read_text(encoding="utf-8").splitlines()
    members = [(owner, node) for owner in owners for node in public_members(module, owner)]
    for owner, node in sorted(members, key=lambda pair: -pair[1].lineno):
        if decorators(node) & {"property", "cached_property"}:
            continue
        texts = _texts(module.value(owner, node.name), f"{module.path}: {owner}.{node.name}")
        if not texts:
            continue
        quoted = node.body[0]
        doc = _with_args(ast.get_docstring(node) or "", texts)
        new = _quote(doc, node.col_offset + 4).splitlines()
        lines[quoted.lineno - 1 : quoted.end_lineno] = new
    return "\n".join(lines) + "\n"


def _texts(function: Callable[..., Any], place: str) -> dict[str, str]:
    written = read_arguments(function.__doc__ or "")
    texts: dict[str, str] = {}
    for name, item in inspect.signature(function).parameters.items():
        if name in {"self", "cls"}:
            continue
        texts[name] = split_text(item.annotation)[0] or written.get(name, "")
        if not texts[name]:
            raise SystemExit(f"{place}: write a line about {name} under Args:")
    if extra := written.keys() - texts.keys():
        raise SystemExit(f"{place}: Args: names {', '.join(extra)}, which is no parameter")
    return texts


def _with_args(doc: str, texts: dict[str, str]) -> str:
    """Return the docstring with these lines as its `Args:` section, behind the description."""
    paragraphs = doc.split("\n\n")
    others = [item for item in paragraphs if not item.startswith("Args:")]
    at = next(
        (n for n, item in enumerate(others) if item.split("\n")[0] in {"Returns:", "Raises:"}),
        len(others),
    )
    section = ["Args:"] if texts else []
    for name, text in texts.items():
        # Two levels of indentation stand before the section in the source.
        section += textwrap.wrap(
            f"{name}: {text}",
            width=WIDTH - 8,
            initial_indent="    ",
            subsequent_indent="        ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n\n".join([*others[:at], *(["\n".join(section)] if section else []), *others[at:]])


def _quote(doc: str, indent: int) -> str:
    space = " " * indent
    lines = doc.replace("\\", "\\\\").split("\n")
    body = "\n".join([lines[0], *(f"{space}{line}" if line else "" for line in lines[1:])])
    end = f"\n{space}" if len(lines) > 1 else ""
    return f'{space}"""{body}{end}"""'


# Signatures --------------------------------------------------------------------------------------


@dataclass
class Imports:
    """The import lines that a stub needs."""

    lines: set[str] = field(default_factory=set[str])

    def add_names(self, text: str, module: Module) -> None:
        """Note the names in an annotation's text."""
        for node in ast.walk(ast.parse(text, mode="eval")):
            if isinstance(node, ast.Name) and node.id in module.imports:
                self.lines.add(module.imports[node.id])

    def render(self, kind: Any, module: Module) -> str:
        """Return a type as source text, and note what it needs."""
        from memsense.declaration import plain_type

        kind = plain_type(kind)
        origin, items = get_origin(kind), get_args(kind)
        if kind is None or kind is type(None):
            return "None"
        if isinstance(kind, ForwardRef):
            self.add_names(kind.__forward_arg__, module)
            return kind.__forward_arg__
        if origin in {Union, types.UnionType}:
            return " | ".join(dict.fromkeys(self.render(item, module) for item in items))
        if origin is Literal:
            self.lines.add("from typing import Literal")
            return f"Literal[{', '.join(map(_quoted, items))}]"
        if kind is Any:
            self.lines.add("from typing import Any")
            return "Any"
        if items and isinstance(items[0], list):
            self.lines.add("from collections.abc import Callable")
            inner = ", ".join(self.render(item, module) for item in cast("list[Any]", items[0]))
            return f"Callable[[{inner}], {self.render(items[1], module)}]"
        base = origin or kind
        if base is threading.Event:  # `Event` is also a type of memsense
            self.lines.add("import threading")
            return "threading.Event"
        if base.__module__ != "builtins":
            self.lines.add(f"from {_public_home(base)} import {base.__qualname__}")
        inner = f"[{', '.join(self.render(item, module) for item in items)}]" if items else ""
        return f"{base.__qualname__}{inner}"


def _public_home(kind: type) -> str:
    home = kind.__module__.partition("._")[0]  # pathlib's classes are of pathlib._local on 3.13
    return "psycopg" if home.startswith("psycopg.") else home


def read_signature(
    module: Module, owner: str, node: ast.FunctionDef, imports: Imports
) -> tuple[str, str]:
    """Return a method's parameters that a view has, with plain types, and its result."""
    parts: list[str] = []
    star_stands = False
    for name, item in inspect.signature(module.value(owner, node.name)).parameters.items():
        if name in user_view.HIDDEN:
            continue
        if name == "self":
            parts.append(name)
            continue
        if item.kind is item.KEYWORD_ONLY and not star_stands:
            parts.append("*")
            star_stands = True
        if isinstance(item.annotation, str):
            kind = item.annotation
            imports.add_names(kind, module)
        else:
            kind = imports.render(item.annotation, module)
        star_stands = star_stands or item.kind is item.VAR_POSITIONAL
        default = ""
        if item.default is not item.empty:
            is_plain = isinstance(item.default, str | int | float | tuple | None)
            default = f" = {_default(item.default)}" if is_plain else " = ..."
        star = "*" if item.kind is item.VAR_POSITIONAL else ""
        parts.append(f"{star}{name}: {kind}{default}")
    returns = node.returns
    if isinstance(returns, ast.Constant) and isinstance(returns.value, str):
        result = returns.value
    else:
        result = ast.unparse(returns) if returns else "None"
    imports.add_names(result, module)
    return ", ".join(parts), result


def _default(value: Any) -> str:
    """Return the default as source, with double quotes."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, tuple) and value:
        items = cast("tuple[object, ...]", value)
        return f"({', '.join(_default(item) for item in items)},)"
    return repr(cast("object", value))


def _quoted(text: str) -> str:
    """Return the text as a literal with the quotes that the formatter prefers."""
    return repr(text) if '"' in text else json.dumps(text, ensure_ascii=False)


# The views of one user --------------------------------------------------------------------------

STUB_HEAD = '''"""Types of the views of one user: signatures of the verbs without `user_id`.

DO NOT EDIT: `make generate` writes this file from the verbs that user_view.py has rules for.
"""

# fmt: off
'''

STUB_NAMES = """
class UserProjects(OneUser):
    def list(self) -> Sequence[Project]: ...
    def get(self, name: str) -> Project: ...
"""

USER_RESOURCES = """
    @cached_property
    def traces(self) -> UserTraces: ...
    @cached_property
    def entities(self) -> UserEntities: ...
    @cached_property
    def projects(self) -> UserProjects: ...
"""


def write_views() -> str:
    """Return the source of user_memory.pyi."""
    imports = Imports()
    bodies = [STUB_NAMES]
    for name, whole in VIEWS.items():
        module = Module.read(whole.__module__)
        methods = {node.name: node for node in public_members(module, whole.__name__)}
        bodies.append(f"\nclass {name}(OneUser):{USER_RESOURCES if name == 'UserMemory' else ''}")
        for verb in user_view.RULES[whole]:
            parameters, result = read_signature(module, whole.__name__, methods[verb], imports)
            bodies.append(f"    def {verb}({parameters}) -> {result}: ...")
    needed = imports.lines | {
        "from collections.abc import Sequence",
        "from functools import cached_property",
        "from memsense.client.user_view import OneUser",
        "from memsense.store.projects import Project",
    }
    text = "\n".join([STUB_HEAD, *sorted(needed), *bodies]) + "\n"
    return _with_sorted_imports(text, "memsense/client/user_memory.pyi")


# Options of the command line ---------------------------------------------------------------------

CLI_VERBS = {
    "memsense.client.verbs:Memory": [
        "search", "context", "why_not", "recent", "list", "sessions", "left_off", "stats", "ingest",
        "add", "export_to", "update", "feedback", "forget", "archive", "restore", "erase", "delete",
    ],
    "memsense.client.traces:TracesResource": ["replay", "compare", "list"],
    "memsense.client.erasing:ErasuresResource": ["redact"],
}  # fmt: skip
"""Methods whose parameters become options, by class; a resource's are named `traces.replay`."""


def write_cli() -> str:
    """Return the text of memsense/cli/declared.json."""
    parameters: dict[str, dict[str, Any]] = {}
    verbs_by_name: dict[str, list[str]] = {}
    for place, verbs in CLI_VERBS.items():
        module, _, name = place.partition(":")
        owner = getattr(import_module(module), name)
        resource = "" if name == "Memory" else name.removesuffix("Resource").lower() + "."
        for verb in verbs:
            keys = verbs_by_name.setdefault(resource + verb, [])
            for item in parameters_of(getattr(owner, verb)).values():
                fields = _cli_type(item.plain_type)
                if fields is not None:
                    default = {} if item.is_required else {"default": item.default}
                    fields = {**fields, **default, "text": item.text}
                    key = item.name
                    while parameters.setdefault(key, fields) != fields:
                        key = f"{item.name} {int(key.partition(' ')[2] or 1) + 1}"
                    keys.append(key)
    declared = {"parameters": parameters, "verbs": verbs_by_name}
    return json.dumps(declared, ensure_ascii=False, indent=1) + "\n"


def _cli_type(kind: Any) -> dict[str, Any] | None:
    """Return the type of an option's value; None if no option can have the type."""
    origin, items = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        members = [_cli_type(item) for item in items if item is not type(None)]
        # A text that is read as a time is a time; a text that names a profile is a text.
        for name in ("datetime", "timedelta", "str"):
            if {"type": name} in members:
                return {"type": name}
        usable = [member for member in members if member is not None]
        return usable[0] if len(usable) == 1 else None
    if kind in (str, int, float, bool, datetime, timedelta):
        return {"type": kind.__name__}
    if origin is Literal:
        return {"choices": items}
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "dict"}
    if origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
        if set(get_args(items[0])) == {int, str}:
            return {"type": "ids"}
        member = _cli_type(items[0])
        return None if member is None else {**member, "is_list": True}
    return None


# Writing -----------------------------------------------------------------------------------------


def _with_sorted_imports(text: str, target: str) -> str:
    return subprocess.run(  # noqa: S603 (our own command)
        [
            *(sys.executable, "-m", "ruff", "check", "--fix", "--quiet", "--select", "I,UP,F401"),
            *("--stdin-filename", target, "-"),
        ],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout


def generate(*, check: bool) -> list[str]:
    """Write the files that are not current, or only find them; return their names.

    A file is written before the next one is asked for, which may be made from it.
    """
    stale: list[str] = []
    for path, text in _list_files():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(text, encoding="utf-8")
    return stale


def _list_files() -> Iterator[tuple[Path, str]]:
    for name, owners in CLASSES.items():
        module = Module.read(name)
        yield module.path, write_args(module, owners)
    yield ROOT / "memsense/client/user_memory.pyi", write_views()
    yield ROOT / "memsense/cli/declared.json", write_cli()


def main() -> int:
    """Run the command, with --check or without; return its exit code."""
    is_check = "--check" in sys.argv[1:]
    stale = generate(check=is_check)
    if is_check and stale:
        print("not current: " + ", ".join(stale) + "; run 'make generate'")
        return 1
    if stale:
        print("written: " + ", ".join(stale))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
