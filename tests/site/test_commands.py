"""Every command of memsense that a page names exists, with its options. None is run here."""

import re
import shlex
from pathlib import Path

import pytest
from blocks import ROOT, check_command, commands_of

from tools import reference

GENERATED = {reference.FOLDER / f"{name}.md" for name in reference.PAGES}
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").rglob("*.md")} - GENERATED)]
FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(memsense [a-z][^`]*)`")
PLACEHOLDER = re.compile(r"\.\.\.|…|[\[\]<>]")


def commands_in(text: str) -> list[list[str]]:
    """Return the words of each command in a page's blocks and in its text."""
    lines: list[str] = []
    for language, block in FENCE.findall(text):
        if language == "console":
            joined = re.sub(r"\\\n\s*", "", block)
            shown = re.findall(r"^\$ (.*)$", joined, re.MULTILINE)
            lines += shown or joined.splitlines()
    prose = FENCE.sub("", text)
    lines += [PLACEHOLDER.sub("", " ".join(it.split())) for it in SPAN.findall(prose)]
    return [words for line in lines for words in commands_of(line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_that_a_page_names_exist(page: Path) -> None:
    for words in commands_in(page.read_text(encoding="utf-8")):
        check_command(words)


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_commands_that_a_page_of_the_reference_names_exist(name: str) -> None:
    for words in commands_in(reference.PAGES[name]()):
        check_command(words)


def test_commands_are_found_in_blocks_and_in_the_text() -> None:
    text = "Run `memsense db start`:\n\n```console\n$ memsense demo\nprinted\n```\n"
    assert commands_in(text) == [["memsense", "demo"], ["memsense", "db", "start"]]


@pytest.mark.parametrize("line", ["memsense serch hi", "memsense search hi --limit 3"])
def test_an_unknown_command_or_option_fails(line: str) -> None:
    with pytest.raises(AssertionError, match="no "):
        check_command(shlex.split(line))
