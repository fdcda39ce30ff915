"""`Args:` sections of docstrings, which declare the texts of parameters."""

import inspect
import re

_SECTION = re.compile(r"^(?P<indent> *)Args:\n(?P<body>(?:(?P=indent) +.*\n?|\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+): (?P<text>.*)")


def read_arguments(docstring: str) -> dict[str, str]:
    """Return the texts of a docstring's `Args:` section by parameter name, each on one line."""
    section = _SECTION.search(inspect.cleandoc(docstring) + "\n")
    texts: dict[str, str] = {}
    name = ""
    for line in section["body"].splitlines() if section else ():
        entry = _ENTRY.fullmatch(line.strip())
        # A continuation line is indented deeper than the entry that it continues.
        if entry and len(line) - len(line.lstrip()) == 4:  # noqa: PLR2004
            name = entry["name"]
            texts[name] = entry["text"]
        elif name and line.strip():
            texts[name] += f" {line.strip()}"
    return texts


def without_arguments(docstring: str) -> str:
    """Return a docstring without its `Args:` section."""
    return _SECTION.sub("", inspect.cleandoc(docstring) + "\n").strip()
