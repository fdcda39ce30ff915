"""Identifiers in texts: tickets, versions, file names, hashes, #123, snake_case names.

The patterns are shared with the entity rules, which are stricter about what is an entity.
"""

import re
from collections.abc import Iterable, Iterator

LARGEST_TEXT = 100_000
"""Limit of characters of a text that are read."""

LONGEST = 200
"""Limit of an identifier's characters: users search for no longer one."""

MOST = 64
"""Limit of a text's identifiers."""

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
"""A character that every identifier has. Most words have none, and are not matched further."""

_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d{2}|\d{4})")
_PLAIN_VERSION = re.compile(r"v(?=\d+\.\d+\.)")

ABBREVIATED = 7
"""First characters of a hash that stand for it, as git abbreviates it."""

DEEPEST = 8
"""Limit of the last parts of a path by which it can be found."""


def find_identifiers(text: str) -> tuple[str, ...]:
    """Return the identifiers that the text names, case-folded, each once, in their order.

        find_identifiers("Is ABC-123 in src/app.py?")  # ("abc-123", "src/app.py")

    A hash is its first seven characters; `v1.2.3` is `1.2.3`.
    """
    return tuple(dict.fromkeys(key for _, key in _find_keys(text)))[:MOST]


def index_identifiers(text: str) -> tuple[str, ...]:
    """Return the identifiers by which the text is found: of a path, also its endings."""
    keys: dict[str, None] = {}
    for kind, key in _find_keys(text):
        if kind == "file":
            parts = [part for part in key.split("/") if part]
            starts = range(max(0, len(parts) - DEEPEST), len(parts))
            keys |= dict.fromkeys("/".join(parts[start:]) for start in starts)
        else:
            keys[key] = None
    return tuple(keys)[:MOST]


def as_lexemes(identifiers: Iterable[str]) -> list[str]:
    """Return the lexemes of identifiers: `=abc-123`, which the parser makes of no text."""
    return [f"={identifier}" for identifier in identifiers]


def is_date(name: str) -> bool:
    """Return whether a name that looks like a version is a date, such as 24.12.2025."""
    return _DATE.fullmatch(name) is not None


def _find_keys(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and key of every identifier."""
    for word in text[:LARGEST_TEXT].split():
        if not _MARK.search(word):
            continue
        for match in _IDENTIFIERS.finditer(word):
            kind, key = match.lastgroup or "", match[0].casefold()
            if kind == "hash":
                key = key[:ABBREVIATED]
            elif kind == "version":
                key = _PLAIN_VERSION.sub("", key)
            elif kind == "file":
                key = key.lstrip("./~-")
            if len(key) <= LONGEST and not (kind == "version" and is_date(match[0])):
                yield kind, key
