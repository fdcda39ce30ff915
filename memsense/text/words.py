"""Lists of words, in files of `memsense/data/words`, and those that tell names from other words.

A question's names and the entities of a memory are found by capitals; the words here have them
without being a name.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "data" / "words"
_TITLE = re.compile(r"^\[([\w ]+)\]\n", re.MULTILINE)
_COMMENT = re.compile(r"^# .*\n", re.MULTILINE)


@cache
def read_sections(name: str) -> Mapping[str, str]:
    """Return the texts of the sections of `NAME.txt` by their titles, which stand in brackets.

    A line that begins with "|" continues the line before it, and one with "# " is a comment.
    """
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    _, *parts = _TITLE.split(_COMMENT.sub("", text).replace("\n|", "|"))
    return {title: body.rstrip("\n") for title, body in zip(parts[::2], parts[1::2], strict=True)}


def read_table(name: str, title: str) -> Mapping[str, str]:
    """Return the lines `key: value` of a section of `NAME.txt`."""
    rows = (line.partition(": ") for line in read_sections(name)[title].split("\n"))
    return {key: value for key, _, value in rows}


@cache
def read_words(title: str) -> frozenset[str]:
    """Return the words of a section of `english.txt`."""
    return frozenset(read_sections("english")[title].split())


GENERIC = read_words("generic")
TITLES = read_words("titles")
ALSO_WORDS = read_words("also words")
OPENERS = read_words("openers")
OPENING = read_words("opening")
CONNECTORS = read_words("connectors")
COMMON = GENERIC | OPENERS | TITLES | OPENING | read_words("calendar") | read_words("interjections")
"""Words that are no name by themselves, and that begin no name."""
