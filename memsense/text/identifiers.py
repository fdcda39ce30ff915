"""Finds identifiers: tickets, versions, file names, hashes, numbers like #123, snake_case names.

The patterns are shared with the entity rules, which ask for more before they call something an
entity.
"""

import re
from collections.abc import Iterable, Iterator

LARGEST_TEXT = 100_000
"""Characters of a text that are read."""

LONGEST = 200
"""Longer ones are no names that anybody asks for."""

MOST = 64
"""A text has at most so many identifiers."""

FILE_ENDINGS = (
    "py|pyi|ipynb|js|jsx|ts|tsx|java|kt|go|rs|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|sql|md|rst|txt|csv|"
    "tsv|json|jsonl|toml|yaml|yml|ini|cfg|conf|env|lock|log|xml|html|css|svg|png|jpe?g|gif|pdf|"
    "docx?|xlsx?|pptx?|zip|gz|tar|parquet|db|sqlite"
)

NUMBER = r"(?<![\w&/#])\#\d+\b"
FILE = rf"(?<![\w./~@-])[\w./~-]*\w\.(?:{FILE_ENDINGS})\b(?![./]\w)"
TICKET = r"(?<![\w-])[A-Z][A-Z0-9]{1,9}-\d{1,6}\b(?!-)"
VERSION = (
    r"(?<![\w.-])(?:v\d{1,4}(?:\.\d{1,4})*|\d{1,3}(?:\.\d{1,4}){2,3})"
    r"(?:-?(?:alpha|beta|rc|a|b|dev|post)\.?\d{1,3})?\b(?!\.\d)"
)
SNAKE = r"(?<![\w.])[A-Za-z][^\W_]*(?:_+[^\W_]+)+"
UUID = r"(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])"
HASH = r"(?<![\w-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,64}(?![\w-])"

_IDENTIFIERS = re.compile(
    rf"""
      (?P<number>{NUMBER})
    | (?P<file>{FILE})
    | (?P<uuid>(?i:{UUID}))
    | (?P<ticket>(?i:{TICKET}))
    | (?P<version>(?i:{VERSION}))
    | (?P<hash>(?i:{HASH}))
    | (?P<snake>{SNAKE})
    """,
    re.VERBOSE,
)
_MARK = re.compile(r"[#_\d]|\.\w")
"""Every identifier has one of these."""

_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d{2}|\d{4})")
_PLAIN_VERSION = re.compile(r"v(?=\d+\.\d+\.)")

ABBREVIATED = 7
"""A hash is known by so many of its first characters, as git abbreviates it."""

DEEPEST = 8
"""Folders of a path that it may be named by."""


def find_identifiers(text: str) -> tuple[str, ...]:
    """The identifiers that the text names, case-folded, each once, in the order of their naming.

        find_identifiers("Is ABC-123 in src/app.py?")  # ("abc-123", "src/app.py")

    A hash is its first seven characters; `v1.2.3` is `1.2.3`.
    """
    return tuple(dict.fromkeys(key for _, key in _find_keys(text)))[:MOST]


def index_identifiers(text: str) -> tuple[str, ...]:
    """The identifiers by which the text is found: as `find_identifiers`, and a file's name alone.

    `src/app/main.py` is found by itself, by `app/main.py` and by `main.py`.
    """
    found: dict[str, None] = {}
    for kind, key in _find_keys(text):
        found |= dict.fromkeys(_endings(key) if kind == "file" else (key,))
    return tuple(found)[:MOST]


def as_lexemes(identifiers: Iterable[str]) -> list[str]:
    """What stands for identifiers in a tsvector, which the parser makes of no text: `=abc-123`."""
    return [f"={identifier}" for identifier in identifiers]


def is_date(name: str) -> bool:
    """Whether what looks like a version is a date, as 24.12.2025."""
    return _DATE.fullmatch(name) is not None


def _find_keys(text: str) -> Iterator[tuple[str, str]]:
    """Kind and key of every identifier, word by word: most words have no mark."""
    for word in text[:LARGEST_TEXT].split():
        if not _MARK.search(word):
            continue
        for match in _IDENTIFIERS.finditer(word):
            kind = match.lastgroup or ""
            key = _as_key(kind, match[0].casefold())
            if len(key) <= LONGEST and not (kind == "version" and is_date(match[0])):
                yield kind, key


def _as_key(kind: str, name: str) -> str:
    if kind == "hash":
        return name[:ABBREVIATED]
    if kind == "version":
        return _PLAIN_VERSION.sub("", name)
    return name.lstrip("./~-") if kind == "file" else name


def _endings(path: str) -> Iterator[str]:
    """The path without its first folder, without its first two, and so on to the file's name."""
    parts = [part for part in path.split("/") if part]
    for start in range(max(0, len(parts) - DEEPEST), len(parts)):
        yield "/".join(parts[start:])
