"""Runner of the blocks of one page: Python, commands and SQL share a directory and a database.

- `python` is executed, page by page in one namespace; `await` may stand at the top level.
- `sql` is executed as the user of the database.
- `text` right behind one of these is what it prints. Numbers may differ by 0.02, because embeddings
  differ a little between processors; `...` stands for anything.
- `console` with `$` before its commands is run, and its other lines are what the commands print.
  Without `$`, commands are not run: their names and options must be those that memsense has.
- `json` and `toml` are parsed.
- `ts` is run, and compared with its `text`, by `npm test` of clients/typescript.
- `<!--- skip: next "reason" -->` before a block says why it can't be run.
"""

import ast
import asyncio
import inspect
import json
import math
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, LiteralString, cast
from unittest import SkipTest, mock

import psycopg
import typer
from command import run
from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser, SkipParser

from memsense.cli import app

ROOT = Path(__file__).parents[2]
LANGUAGES = ("python", "sql", "text", "console", "json", "toml", "ts")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
CLOSE_ENOUGH = 0.02


@dataclass
class PageRunner:
    """State of a page while its blocks run: what the last block printed, and where it ended."""

    page: Path
    url: str
    folder: Path
    printed: str = ""
    end: int = -1
    skipped: list[str] = field(default_factory=list[str])

    def run_page(self) -> None:
        """Run the blocks in order; an AssertionError names the line of the first that fails."""
        evaluate: dict[str, Callable[[Example], None]] = {
            "python": self.run_python,
            "sql": self.run_sql,
            "text": self.compare_text,
            "console": self.run_console,
            "json": lambda example: json.loads(example.parsed),
            "toml": lambda example: cast("None", tomllib.loads(example.parsed)),
        }
        parsers = [
            CodeBlockParser(name, partial(self.run_block, function))
            for name, function in evaluate.items()
        ]
        document = Document.parse(str(self.page), SkipParser(), *parsers)
        try:
            for example in document.examples():
                try:
                    example.evaluate()
                except SkipTest as reason:
                    self.skipped.append(str(reason))
        finally:
            for value in document.namespace.values():
                if hasattr(value, "close") and not inspect.isclass(value):
                    ended = value.close()
                    if inspect.isawaitable(ended):
                        asyncio.run(cast("Any", ended))

    def run_block(self, function: Callable[[Example], None], example: Example) -> None:
        """Run one block, and remember where it ended."""
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MEMSENSE_", "COLUMNS"))
        }
        # The pages show what an installation without extras prints.
        variables |= {
            "MEMSENSE_DATABASE_URL": self.url,
            "MEMSENSE_MULTILINGUAL": "off",
            "NO_COLOR": "1",
        }
        with chdir(self.folder), mock.patch.dict(os.environ, variables, clear=True):
            try:
                function(example)
            except Exception as error:
                error.add_note(f"in {self.page}:{example.line}")
                raise
        self.end = example.end

    def run_python(self, example: Example) -> None:
        """Execute the block in the page's namespace."""
        code = compile(
            example.parsed,
            str(self.page),
            "exec",
            ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
            dont_inherit=True,
        )
        output = StringIO()
        with redirect_stdout(output):
            if code.co_flags & inspect.CO_COROUTINE:
                asyncio.run(eval(code, example.namespace))  # noqa: S307 (the site's own text)
            else:
                exec(code, example.namespace)  # noqa: S102 (the site's own text)
        self.printed = output.getvalue()

    def run_sql(self, example: Example) -> None:
        """Execute the statements; the last one's rows are what the block prints."""
        with psycopg.connect(self.url) as connection:
            cursor = connection.execute(cast("LiteralString", example.parsed))
            rows = cursor.fetchall() if cursor.description else []
        self.printed = "\n".join(" ".join(map(str, row)) for row in rows)

    def compare_text(self, example: Example) -> None:
        """Compare the block with what the block right before it printed, if there is one."""
        between = example.document.text[self.end : example.start] if self.end >= 0 else "none"
        if not between.strip("`\n "):
            assert_prints(example.parsed, self.printed)

    def run_console(self, example: Example) -> None:
        """Run each command after a `$` and compare its output; else check names and options."""
        if "$ " not in example.parsed:
            for command in commands_of(example.parsed):
                check_command(command)
            return
        for part in re.split(r"^\$ ", example.parsed, flags=re.MULTILINE)[1:]:
            line, _, expected = re.sub(r"\\\n\s*", "", part).partition("\n")
            name, *arguments = shlex.split(line, comments=True)
            assert name == "memsense", f"only memsense is run, not {name}"
            ended = run(self.url, *arguments)
            assert ended.returncode == 0, ended.stderr
            if expected.strip():
                assert_prints(expected, ended.stdout)


# Output ------------------------------------------------------------------------------------------


def assert_prints(expected: str, printed: str) -> None:
    """Raise AssertionError if the output differs in more than blanks and the noise of numbers."""
    words = words_of(printed)
    place = 0
    pieces = [words_of(piece) for piece in expected.split("...")]
    for number, piece in enumerate(pieces):
        starts = range(place, len(words) - len(piece) + 1)
        if number == 0:
            starts = starts[:1]
        elif number == len(pieces) - 1:
            starts = [len(words) - len(piece)]
        start = next((at for at in starts if equal(piece, words[at : at + len(piece)])), None)
        assert start is not None, f"not printed: {' '.join(piece)}\n\nprinted:\n{printed}"
        place = start + len(piece)
    assert len(pieces) > 1 or place == len(words), f"more was printed:\n{printed}"


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text, without the lines and bars of tables."""
    return re.sub(r"[|│─━█+]|-{2,}", " ", text).split()


def equal(expected: Sequence[str], printed: Sequence[str]) -> bool:
    """Tell whether both are the same words, and numbers that are close enough."""
    return len(expected) == len(printed) and all(map(_same, expected, printed))


def _same(expected: str, printed: str) -> bool:
    if NUMBER.sub("#", expected) != NUMBER.sub("#", printed):
        return False
    numbers = zip(NUMBER.findall(expected), NUMBER.findall(printed), strict=True)
    return all(
        one == other
        or ("." in one and math.isclose(float(one), float(other), abs_tol=CLOSE_ENOUGH))
        for one, other in numbers
    )


# Commands ----------------------------------------------------------------------------------------


def commands_of(block: str) -> Iterator[list[str]]:
    """Yield the words of each command of a block, without comments."""
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        words = shlex.split(line, comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            yield words[:end]
            words = words[end + 1 :]


def check_command(words: Sequence[str]) -> None:
    """Raise AssertionError for a command, option, target or module that is not there."""
    match words:
        case ["memsense", *arguments]:
            _check_memsense(arguments)
        case ["make", *targets]:
            names = [target for target in targets if "=" not in target]
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert all(re.search(rf"^{name}\b.*:", makefile, re.MULTILINE) for name in names), names
        case ["python", "-m", module, *_] if module.startswith("benchmarks"):
            path = ROOT / module.replace(".", "/")
            assert path.with_suffix(".py").is_file() or path.is_dir(), module
        case _:
            pass


def _check_memsense(arguments: Sequence[str]) -> None:
    """Raise AssertionError for a command or an option that memsense does not have."""
    root: Any = typer.main.get_command(app.root)
    command = root
    text = f"memsense {' '.join(arguments)}"
    options = _options_of(command)
    words = iter(app.hoist_global_options(arguments))
    for word in words:
        if word in app.GLOBAL_OPTIONS:
            next(words)
        elif re.match(r"-[a-zA-Z]$|--[a-z]", word):
            name = word.partition("=")[0]
            passes_on = command.context_settings.get("ignore_unknown_options")
            assert name in options or passes_on, f"no option {name}: {text}"
        elif hasattr(command, "commands"):
            inner = command.get_command(None, word)
            # A group that runs by itself has options with values, too.
            runs_alone = command is not root and command.params
            assert inner is not None or runs_alone, f"no command {word!r}: {text}"
            command = inner or command
            options |= _options_of(command)


def _options_of(command: Any) -> set[str]:
    return {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {
        "--help"
    }
