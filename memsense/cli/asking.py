"""Reads the options that say what takes part in a search: those of search and why-not."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

import typer

from memsense.cli.options import KINDS
from memsense.types import JsonValue, MemoryKind


def read_kinds(names: Sequence[str] | None) -> list[MemoryKind] | None:
    """The kinds of --kind."""
    for name in names or ():
        if name not in KINDS:
            raise typer.BadParameter(
                f"no kind named {name!r}; there are {', '.join(KINDS)}", param_hint="--kind"
            )
    return [kind for kind in KINDS if kind in (names or ())] or None


def read_excluded(items: Sequence[str] | None) -> list[int | str]:
    """What --exclude names: numbers are chunks, all else is messages."""
    return [int(item) if item.isdecimal() else item for item in items or ()]


def read_metadata(text: str | None) -> Mapping[str, JsonValue] | None:
    """The object of --metadata."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is no JSON: {error}", param_hint="--metadata"
        ) from error
    if not isinstance(found, dict):
        raise typer.BadParameter(f"{text!r} is no JSON object", param_hint="--metadata")
    return cast("dict[str, JsonValue]", found)
