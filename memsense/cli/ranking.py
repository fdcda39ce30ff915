"""Reads NAME=VALUE: what --set and --without change of a profile, and what is to be set."""

from collections.abc import Sequence
from typing import Literal, get_args, get_origin, get_type_hints

import typer

from memsense.search.profiles import ROUTES, Profile
from memsense.text.nearest import did_you_mean

_ACCEPTED: dict[type, tuple[type, ...]] = {
    float: (int, float),
    int: (int,),
    bool: (bool,),
    str: (str,),
}
WORDED = frozenset({"profile", "embedder_failure", "history"})
"""Settings that are no constant of a profile: their values are taken as they are written."""

_WORDS: dict[str, bool] = {"true": True, "yes": True, "false": False, "no": False}


def read_overrides(changes: Sequence[str], without: Sequence[str]) -> dict[str, object]:
    """The constants that --set and --without change, for `Profile.vary`."""
    return {**_read_changes(changes), **{_check_route(route): 0.0 for route in without}}


def read_settings(assignments: Sequence[str]) -> dict[str, object]:
    """The settings of arguments such as `profile=vector_heavy lexical=1.5`."""
    hint = "NAME=VALUE"
    split = [_split(assignment, hint) for assignment in assignments]
    return {
        name: value if name in WORDED else _check_value(name, _read_value(value), hint)
        for name, value in split
    }


def _read_changes(changes: Sequence[str]) -> dict[str, object]:
    hint = "--set"
    split = [_split(change, hint) for change in changes]
    return {name: _check_value(name, _read_value(value), hint) for name, value in split}


def _split(assignment: str, hint: str) -> tuple[str, str]:
    name, equals, value = assignment.partition("=")
    if not equals or not value.strip():
        raise typer.BadParameter(f"{assignment!r} is not NAME=VALUE", param_hint=hint)
    return name.strip(), value.strip()


def _read_value(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _check_value(name: str, value: object, hint: str) -> object:
    """The value, unless the constant of that name takes values of another kind."""
    kind = get_type_hints(Profile).get(name, float)
    words = get_args(kind) if get_origin(kind) is Literal else ()
    accepted = [one for one in get_args(kind) or (kind,) if one in _ACCEPTED]
    usable = value in words or any(type(value) in _ACCEPTED[one] for one in accepted)
    if not usable:
        takes = ", ".join([*words, *(one.__name__ for one in accepted)])
        raise typer.BadParameter(f"{name} takes {takes}, not {value!r}", param_hint=hint)
    return value


def _check_route(name: str) -> str:
    if name not in ROUTES:
        raise typer.BadParameter(
            f"no route named {name!r}; there are {', '.join(ROUTES)}{did_you_mean(name, ROUTES)}",
            param_hint="--without",
        )
    return name
