"""Reads the options that say whose memory, and what of it, takes part in a search."""

import json
from collections.abc import Mapping, Sequence
from typing import TypedDict, cast

import typer

from memsense.cli.options import KINDS
from memsense.text.nearest import did_you_mean
from memsense.types import JsonValue, MemoryKind


class Selection(TypedDict):
    """Keywords of a search that its options give as texts."""

    kinds: list[MemoryKind] | None
    metadata: Mapping[str, JsonValue] | None
    exclude: list[int | str]


def check_whose(user: str | None, *, all_users: bool) -> None:
    """Raise BadParameter unless --user or --all-users says whose memory is meant, and not both."""
    if user is None and not all_users:
        raise typer.BadParameter(
            "say whose memory: --user NAME, or --all-users for everybody's", param_hint="--user"
        )
    if user is not None and all_users:
        raise typer.BadParameter("give either --user or --all-users", param_hint="--all-users")


def read_selection(
    kinds: Sequence[str] | None, metadata: str | None, exclude: Sequence[str] | None
) -> Selection:
    """What --kind, --metadata and --exclude select; raises BadParameter."""
    return Selection(
        kinds=_read_kinds(kinds),
        metadata=_read_metadata(metadata),
        exclude=[int(item) if item.isdecimal() else item for item in exclude or ()],
    )


def _read_kinds(names: Sequence[str] | None) -> list[MemoryKind] | None:
    for name in names or ():
        if name not in KINDS:
            raise typer.BadParameter(
                f"no kind named {name!r}; there are {', '.join(KINDS)}{did_you_mean(name, KINDS)}",
                param_hint="--kind",
            )
    return [kind for kind in KINDS if kind in (names or ())] or None


def _read_metadata(text: str | None) -> Mapping[str, JsonValue] | None:
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
