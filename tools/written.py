"""Files that a tool writes, or only compares: common to generate.py and reference.py."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).parents[1]


class Generate(Protocol):
    """Function that writes a tool's files, or only compares them."""

    def __call__(self, *, check: bool) -> list[str]:
        """Return the names of those that were not current."""
        ...


def write_stale(files: Iterable[tuple[Path, str]], *, check: bool) -> list[str]:
    """Write the files that are not current, or only find them; return their names.

    A file is written before the next one is asked for, which may be made from it.
    """
    stale: list[str] = []
    for path, text in files:
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(text, encoding="utf-8")
    return stale


def run(generate: Generate) -> int:
    """Run a tool's command, with --check or without; return its exit code."""
    is_check = "--check" in sys.argv[1:]
    stale = generate(check=is_check)
    if is_check and stale:
        print("not current: " + ", ".join(stale) + "; run 'make generate'")
        return 1
    if stale:
        print("written: " + ", ".join(stale))
    return 0
