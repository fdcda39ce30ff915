"""Generator of memsense/client/aio.py from the blocking classes: each public method, awaited."""

import ast
import builtins
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "memsense/client/aio.py"

CLASSES = {
    "memsense.client.settings": ["SettingsResource"],
    "memsense.client.profiles": ["ProfilesResource"],
    "memsense.client.projects": ["ProjectsResource"],
    "memsense.client.traces": ["TracesResource"],
    "memsense.graph.resource": ["Entities"],
    "memsense.client.indexes": ["IndexesResource"],
    "memsense.client.erasing": ["ErasuresResource"],
    "memsense.client.histories": ["HistoriesResource"],
    "memsense.client.items": ["ItemsResource"],
    "memsense.client.jobs": ["JobsResource"],
    "memsense.client.access_keys": ["AccessKeysResource"],
    "memsense.client.ttl": ["TtlResource"],
    "memsense.client.embedding_models": ["ModelsResource"],
    "memsense.client.own": ["UserTraces", "UserEntities", "UserProjects", "UserMemory"],
    "memsense.client.memory": ["MemSense"],
}
"""What is made, each before what holds it."""

NAMES = {name: f"Async{name}" for names in CLASSES.values() for name in names}

LEFT_OUT = {"MemSense.close", "MemSense.embedder", "ModelsResource.trial"}
"""Closing is the facade's own; the embedder and a trial are objects that block."""

BLOCKING, AWAITED = "psycopg.Connection[Any]", "psycopg.AsyncConnection[Any]"
"""Where a connection of the caller's is taken, one of either kind is."""

HEAD = '''"""AsyncMemSense: MemSense for asyncio and trio, each method awaited.

Written from the classes that block, and held equal to them: tests/unit/test_async_source.py.
"""
'''


USE = """An agent's memory in PostgreSQL, for asyncio and trio.

    async with AsyncMemSense.open() as memory:
        await memory.add([{"role": "user", "content": "I moved to Lisbon."}],
                         user_id="ada", session_id="monday")
        hits = await memory.search("Where does Ada live?", user_id="ada")

`memory = await AsyncMemSense.open()` leaves it to you to `await memory.close()`. Methods and
resources are those of MemSense, each method awaited. They run in threads of the memory's own,
as many at once as its pool has connections; callbacks are called there. Cancelling a task
cancels its statement, and frees its connection before the task goes on."""


def write_source() -> str:
    """Return the text of the module, formatted."""
    runtime: set[str] = set()
    typing: set[str] = set()
    classes = [
        _write_class(import_module(module), name, runtime, typing)
        for module, names in CLASSES.items()
        for name in names
    ]
    text = "\n".join(
        [
            HEAD,
            "from functools import cached_property, partial",
            "from typing import TYPE_CHECKING",
            "from memsense.client.facade import Facade, OpenFacade",
            *sorted(runtime),
            "if TYPE_CHECKING:",
            *(f"    {line}" for line in sorted(typing - runtime)),
            *classes,
        ]
    )
    for command in (["check", "--fix", "--quiet", "--select", "I,UP"], ["format", "--quiet"]):
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET), "-"],
            input=text, capture_output=True, text=True, check=True, cwd=ROOT,
        ).stdout  # fmt: skip
    return text


def _write_class(module: ModuleType, name: str, runtime: set[str], typing: set[str]) -> str:
    tree = ast.parse(inspect.getsource(module))
    found = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    imports = dict(_imports(tree, module.__name__))
    base = "OpenFacade" if name == "MemSense" else "Facade"
    doc = USE if name == "MemSense" else f"As {name}, each method awaited."
    lines = [f"\n\nclass {NAMES[name]}({base}):", _quote(doc, 4)]
    if name == "UserMemory":
        lines += ["    @property", "    def user_id(self) -> str:"]
        lines += [_quote("Whose memory it is.", 8), "        return self._sync.user_id"]
    for item in found.body:
        if isinstance(item, ast.FunctionDef) and _is_public(name, item):
            lines.append(_write_method(item))
            for node in ast.walk(item.args):
                _note(node, imports, runtime, typing, is_annotation=False)
            for annotation in _annotations(item):
                for node in ast.walk(annotation):
                    _note(node, imports, runtime, typing, is_annotation=True)
    if name == "MemSense":
        runtime.add("from memsense.client.memory import MemSense")
    return "\n".join(lines)


def _is_public(owner: str, item: ast.FunctionDef) -> bool:
    return not item.name.startswith("_") and f"{owner}.{item.name}" not in LEFT_OUT


def _decorators(item: ast.FunctionDef) -> set[str]:
    return {node.id for node in item.decorator_list if isinstance(node, ast.Name)}


def _annotations(item: ast.FunctionDef) -> Iterator[ast.expr]:
    arguments = item.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one]
    for annotation in [*(one.annotation for one in every), item.returns]:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            yield ast.parse(annotation.value, mode="eval").body
        elif annotation is not None:
            yield annotation


def _note(
    node: ast.AST,
    imports: dict[str, str],
    runtime: set[str],
    typing: set[str],
    *,
    is_annotation: bool,
) -> None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_annotation:
        for inner in ast.walk(_parse(node.value)):
            if isinstance(inner, ast.Name):
                _note(inner, imports, runtime, typing, is_annotation=True)
    if not isinstance(node, ast.Name) or hasattr(builtins, node.id) or node.id in NAMES:
        return
    if node.id in imports:
        is_default = not is_annotation and node.id.isupper()
        (runtime if is_default else typing).add(imports[node.id])


def _parse(text: str) -> ast.AST:
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError:
        return ast.Tuple(elts=[], ctx=ast.Load())


def _imports(tree: ast.Module, module: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                alias = f" as {one.asname}" if one.asname else ""
                told = f"from {node.module} import {one.name}{alias}"
                yield one.asname or one.name, told
        elif isinstance(node, ast.Import):
            for one in node.names:
                yield one.asname or one.name, ast.unparse(ast.Import([one]))
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, f"from {module} import {target.id}"
        if isinstance(node, ast.ClassDef):
            yield node.name, f"from {module} import {node.name}"


def _write_method(item: ast.FunctionDef) -> str:
    arguments = ast.unparse(_quoted(item.args)).replace(BLOCKING, f"{BLOCKING} | {AWAITED}")
    returns = item.returns
    plain = returns.value if isinstance(returns, ast.Constant) else ast.unparse(_none(returns))
    doc = _quote(ast.get_docstring(item) or "", 8)
    decorators = _decorators(item)
    if isinstance(plain, str) and plain in NAMES and "cached_property" in decorators:
        return "\n".join([
            "    @cached_property",
            f'    def {item.name}(self) -> "{NAMES[plain]}":',
            doc,
            f"        return {NAMES[plain]}(self._threads, self._sync.{item.name})",
        ])  # fmt: skip
    if "property" in decorators:
        head = ["    @property", f'    def {item.name}(self) -> "{plain}":', doc]
        return "\n".join([*head, f"        return self._sync.{item.name}"])
    call = ", ".join(_passed(item.args))
    if item.name == "open":
        body = f"        return cls(partial(MemSense.open, {call}))"
        head = ["    @classmethod", f'    def open({arguments}) -> "Self":']
        return "\n".join([*head, doc, body])
    if plain in NAMES:
        head = [f'    def {item.name}({arguments}) -> "{NAMES[str(plain)]}":', doc]
        made = f"{NAMES[str(plain)]}(self._threads, self._sync.{item.name}({call}))"
        return "\n".join([*head, f"        return {made}"])
    head = [f'    async def {item.name}({arguments}) -> "{plain}":', doc]
    passed = ", ".join([f"self._sync.{item.name}", *([call] if call else [])])
    return "\n".join([*head, f"        return await self._threads.run({passed})"])


def _none(node: ast.expr | None) -> ast.expr:
    return node or ast.Constant(None)


def _quoted(arguments: ast.arguments) -> ast.arguments:
    """Return the arguments with annotations as texts, which need no import at run time."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for one in [*every, arguments.vararg, arguments.kwarg]:
        if one and one.annotation and not isinstance(one.annotation, ast.Constant):
            one.annotation = ast.Constant(ast.unparse(one.annotation))
    return arguments


def _passed(arguments: ast.arguments) -> Iterator[str]:
    for one in [*arguments.posonlyargs, *arguments.args][1:]:
        yield one.arg
    if arguments.vararg:
        yield f"*{arguments.vararg.arg}"
    for one in arguments.kwonlyargs:
        yield f"{one.arg}={one.arg}"
    if arguments.kwarg:
        yield f"**{arguments.kwarg.arg}"


def _quote(doc: str, indent: int) -> str:
    space = " " * indent
    lines = doc.replace("\\", "\\\\").split("\n")
    body = "\n".join([lines[0], *(f"{space}{line}" if line else "" for line in lines[1:])])
    end = f"\n{space}" if len(lines) > 1 else ""
    return f'{space}"""{body}{end}"""'
