"""Check of the words of the source: how docstrings open, names, phrases. `make lint-words`.

    python tools/words.py              what lint checks
    python tools/words.py memsense/db  every offence there, even if the folder is exempt
    python tools/words.py --all        every offence

An offence is printed as `file:line: what is wrong: what to write instead`, and fails the check.
After them come two counts that fail nothing: private functions with one caller, and comments.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.house import (
    NOUN_CLAUSE,
    ROOT,
    Place,
    count_house,
    docstrings_of,
    is_property,
    names_of,
    opening_fault,
    parse,
    python_files,
)

CHECKED = ("memsense", "tools", "alembic", "examples", "benchmarks")
"""Folders that lint checks."""

EXEMPT: tuple[str, ...] = (
    "benchmarks",
    "memsense/search/explanation.py",
)
"""Folders and files that are not clean yet. Take one out once `words.py FOLDER` is silent."""

HOLDS_THE_WORDS = (
    "tests/unit/test_words.py",
    "tools/house.py",
    "tools/words.py",
)
"""Files that quote what they look for."""

PUBLIC_NAMES = frozenset(
    {
        ("memsense/client/histories.py", "Said"),
        ("memsense/client/histories.py", "said"),  # a parameter of `memory.histories.append`
        ("memsense/db/embedded.py", "kept"),  # a field of `memsense db status --json`
        ("memsense/server/routes/memories.py", "give_feedback"),  # an operationId of OpenAPI
    }
)
"""Names that users read or write."""

NAMES: Mapping[str, str] = {
    "asked": "request, question",
    "found": "row, rows, match",
    "given": "value, options, arguments",
    "gone": "deleted, missing, is_gone",
    "heard": "message, signal",
    "heed": "apply",
    "heeded": "applied",
    "held": "rows, lock, is_held",
    "keeper": "daemon",
    "kept": "rows, remaining",
    "known": "known_ids, scope_state, names",
    "lapsed": "expired",
    "made": "the name of what was made",
    "said": "text, messages",
    "shown": "hits, text, is_shown",
    "taken": "names, values, is_taken",
    "teller": "formatter, reporter",
    "telling": "text, messages, summary",
    "told": "text, message, summary",
    "wanted": "names, expected, requested",
}
"""Names of variables, functions, parameters, fields and modules, with what to write instead."""

NAME_PARTS: Mapping[re.Pattern[str], str] = {
    re.compile(r"heed_.*$"): "apply_*",
    re.compile(r"tell(?:_.*)?$"): "format_*, describe_*, report_*",
    re.compile(r"say(?:_.*)?$"): "check_*, describe_*, format_*",
    re.compile(r"give(?:_.*)?$"): "make_*, return_*, or the name of what it makes",
    re.compile(r".*_(?:told|given|said)$"): "a noun",
}

PHRASES: Mapping[re.Pattern[str], str] = {
    re.compile(rf"\b{phrase}\b", re.IGNORECASE): instead
    for phrase, instead in {
        # Not the folder docs/beside, an option or a name in backquotes.
        "(?<![-/`])beside(?![-/`])": '"next to", "with", "in addition to", "at the same time as"',
        "by example of": '"for example"',
        "is said": '"is shown", "is stored", or name who says it',
        "(?:is|are|be|was|were|been|being) told": '"is reported", "is passed"',
        "lets? expect": '"is estimated from", "suggests"',
        "need say": '"no one needs to pass it", "optional"',
        "nobody": '"no user", "no client": name who',
        "of which": "two sentences",
        "says so": "what it says",
        "somebody": '"someone", or name who',
        "stands(?! for)": '"is"; only a sign "stands for" another',
        "(?:what|whom|whose) [a-z ]{1,20} tells": '"reports", "says"',
        "whatever": '"any", "even if"',
        "whoever": '"anyone who", "a client that": name who',
    }.items()
}
"""Phrases of docstrings, comments and texts, with what to write instead."""


def offences_in(file: Path, root: Path = ROOT) -> list[Place]:
    """Return what a file says in words to avoid, by line."""
    path = str(file.relative_to(root)) if file.is_relative_to(root) else str(file)
    offences = [
        Place(path=path, line=line, text=text)
        for check in (_openings, _phrases)
        for line, text in check(file)
    ]
    offences += [
        Place(path=path, line=line, text=f'name "{name}": {instead}')
        for name, line, instead in _names(file)
        if (path, name) not in PUBLIC_NAMES
    ]
    if instead := _instead_of(file.stem):
        offences.append(
            Place(path=path, line=1, text=f'module "{file.stem}": name it after {instead}')
        )
    return sorted(offences)


def _openings(file: Path) -> Iterator[tuple[int, str]]:
    for node, docstring, line in docstrings_of(parse(file)):
        if isinstance(node, (ast.Module, ast.ClassDef)):
            clause = NOUN_CLAUSE.match(docstring)
            if clause:
                yield line, f'opens with "{clause[0]}": open with a noun ("Reader of ...")'
            continue
        fault = opening_fault(docstring, is_property=is_property(node))
        if fault:
            verb = '"Return whether ..."' if fault == "Whether" else '"Return ...", "Store ..."'
            yield line, f'{node.name}() opens with "{fault}": open with a verb ({verb})'


def _names(file: Path) -> Iterator[tuple[str, int, str]]:
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names: dict[tuple[str, int], None] = {}
    for node in ast.walk(parse(file)):
        if not isinstance(node, scopes):
            continue
        names.update(dict.fromkeys(names_of(node)))
        if not isinstance(node, ast.Module):
            names[node.name, node.lineno] = None
    for name, line in names:
        if instead := _instead_of(name):
            yield name, line, instead


def _instead_of(name: str) -> str | None:
    plain = name.strip("_").lower()
    by_part = (instead for part, instead in NAME_PARTS.items() if part.match(plain))
    return NAMES.get(plain) or next(by_part, None)


def _phrases(file: Path) -> Iterator[tuple[int, str]]:
    source = file.read_text(encoding="utf-8")
    texts = [
        (node.lineno + number, line)
        for node in ast.walk(parse(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        for number, line in enumerate(node.value.splitlines())
    ]
    texts += [
        (token.start[0], token.string)
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    for line, text in texts:
        for phrase, instead in PHRASES.items():
            match = phrase.search(text)
            if match:
                yield line, f'"{match[0]}": {instead}'


def is_exempt(file: Path) -> bool:
    """Return whether lint leaves a file out for now."""
    path = file.relative_to(ROOT).as_posix()
    if path in HOLDS_THE_WORDS:
        return True
    return any(path == name or path.startswith(f"{name}/") for name in EXEMPT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the offences of lint's folders, or of the named ones. Return 1 if there are any."""
    parser = argparse.ArgumentParser(description="Check docstrings' openings, names and phrases.")
    parser.add_argument("paths", nargs="*", type=Path, help="folders or files")
    parser.add_argument("--all", action="store_true", help="check exempt folders, too")
    options = parser.parse_args(arguments)
    paths = [path.resolve() for path in options.paths] or [ROOT / name for name in CHECKED]
    is_whole = options.all or options.paths
    files = [file for file in python_files(paths) if is_whole or not is_exempt(file)]
    offences = [offence for file in files for offence in offences_in(file)]
    for offence in offences:
        print(offence)
    figures = count_house([ROOT / "memsense"]).figures()
    print(f"{len(offences)} offences in {len(files)} files")
    print(
        f"memsense has {figures['one_caller_percent']}% private functions with one caller"
        f" (aim: 15) and {figures['comments_per_100_lines']} comments per 100 lines (aim: 3)"
    )
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
