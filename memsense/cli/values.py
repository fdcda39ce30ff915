"""Readers of option values: choices, JSON objects, ids, and assignments such as lexical=1.5."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import typer

from memsense.inputs import shorten
from memsense.search.profiles import ROUTES, Profile
from memsense.text.nearest import did_you_mean
from memsense.types import JsonValue

Name = TypeVar("Name", bound=str)

_ACCEPTED: dict[type, tuple[type, ...]] = {
    float: (int, float),
    int: (int,),
    bool: (bool,),
    str: (str,),
}
TEXT_SETTINGS = frozenset(
    "profile date_order embedder_failure hemisphere history on_expiry on_quota redact redact_kinds"
    " timezone week_start".split()
)
"""Settings that are not constants of a profile: their values are texts, read as they are."""

_BOOLEANS: dict[str, bool] = {"true": True, "yes": True, "false": False, "no": False}


def check_user_scope(user: str | None, *, all_users: bool) -> None:
    """Raise BadParameter unless exactly one of --user and --all-users is given."""
    if user is None and not all_users:
        raise typer.BadParameter(
            "say whose memory: --user NAME, or --all-users for everybody's", param_hint="--user"
        )
    if user is not None and all_users:
        raise typer.BadParameter("give either --user or --all-users", param_hint="--all-users")


def read_choices(
    names: Iterable[str], choices: Sequence[Name], noun: str, *, option: str
) -> list[Name]:
    """Return the choices that are named, in their own order; raise BadParameter for other names."""
    chosen = set(names)
    # Typer checks the choices of a Literal, but not those of a list of them.
    for name in sorted(chosen.difference(choices)):
        raise typer.BadParameter(
            f"no {noun} named {name!r}; there are {', '.join(choices)}"
            f"{did_you_mean(name, choices)}",
            param_hint=option,
        )
    return [choice for choice in choices if choice in chosen]


def read_object(text: str, *, option: str) -> Mapping[str, JsonValue]:
    """Read a JSON object; raise BadParameter for other texts."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"{shorten(text)} is not JSON: {error}"
        raise typer.BadParameter(message, param_hint=option) from error
    if not isinstance(value, dict):
        raise typer.BadParameter(
            f"{shorten(text)} is not a JSON object, such as '{{\"room\": 3}}'", param_hint=option
        )
    return cast("dict[str, JsonValue]", value)


def read_ids(texts: Sequence[str]) -> list[int | str]:
    """Return chunk ids (digits) as numbers, and message ids as texts."""
    return [int(text) if text.isdecimal() else text for text in texts]


def read_overrides(changes: Sequence[str], without: Sequence[str]) -> dict[str, object]:
    """Return the constants that --set and --without change, for `Profile.vary`."""
    overrides: dict[str, object] = {}
    for change in changes:
        name, text = _split(change, "--set")
        overrides[name] = _read_constant(name, text, "--set")
    for route in without:
        read_choices([route], ROUTES, "route", option="--without")
        overrides[route] = 0.0
    return overrides


def read_settings(assignments: Sequence[str]) -> dict[str, object]:
    """Read assignments of settings, such as `profile=vector_heavy lexical=1.5`."""
    settings: dict[str, object] = {}
    for assignment in assignments:
        name, text = _split(assignment, "NAME=VALUE")
        is_text = name in TEXT_SETTINGS
        settings[name] = text if is_text else _read_constant(name, text, "NAME=VALUE")
    return settings


def _split(assignment: str, option: str) -> tuple[str, str]:
    name, equals, value = assignment.partition("=")
    if not equals or not value.strip():
        raise typer.BadParameter(
            f"{assignment!r} is not NAME=VALUE, such as lexical=1.5", param_hint=option
        )
    return name.strip(), value.strip()


def _read_constant(name: str, text: str, option: str) -> object:
    """Read a constant's value; raise BadParameter if it has another type than the constant."""
    value: object = _BOOLEANS.get(text.lower(), text)
    if value is text:
        # The last that succeeds wins: 1.5 is a float, 2 an int, bm25f stays a text.
        for read in (float, int):
            try:
                value = read(text)
            except ValueError:
                continue
    # An unknown name is taken for a weight here: MemSense refuses it and names the near ones.
    kind = get_type_hints(Profile).get(name, float)
    words = get_args(kind) if get_origin(kind) is Literal else ()
    accepted = [item for item in get_args(kind) or (kind,) if item in _ACCEPTED]
    if value not in words and not any(type(value) in _ACCEPTED[item] for item in accepted):
        types = ", ".join([*words, *(item.__name__ for item in accepted)])
        raise typer.BadParameter(f"{name} takes {types}, not {value!r}", param_hint=option)
    return value
