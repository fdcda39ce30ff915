"""Reader of the benchmark's own SQL: named statements, as in the product's files."""

import re
from functools import cache
from pathlib import Path
from typing import LiteralString, cast

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def _named(file: str) -> dict[str, str]:
    parts = _NAME.split(Path(__file__).parent.joinpath(file).read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], (body.strip() for body in parts[2::2]), strict=True))


def statement(file: str, name: str) -> LiteralString:
    """Return the text under `-- name: NAME` of a file in this folder."""
    return cast("LiteralString", _named(file)[name])
