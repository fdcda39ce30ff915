"""The profile that --profile, --set and --without name together."""

from collections.abc import Sequence
from typing import get_args, get_type_hints

import typer

from memsense.cli.target import choose_profile
from memsense.profiles import ROUTES, Profile

_ACCEPTED: dict[object, tuple[type, ...]] = {
    float: (int, float),
    int: (int,),
    bool: (bool,),
    str: (str,),
}
_WORDS: dict[str, bool] = {"true": True, "yes": True, "false": False, "no": False}


def read_profile(name: str, changes: Sequence[str], without: Sequence[str]) -> Profile:
    """The named profile with its changes; its name then tells them.

    Raises ConfigurationError, or typer.BadParameter for a change that can't be read.
    """
    profile = choose_profile(name)
    found = read_overrides(changes, without)
    if not found:
        return profile
    told = ", ".join(f"{constant}={value}" for constant, value in found.items())
    return profile.override(**found).override(name=f"{profile.name} ({told})")


def read_overrides(changes: Sequence[str], without: Sequence[str]) -> dict[str, object]:
    """The constants that --set and --without change, for `Profile.override`."""
    return {**_read_changes(changes), **{_check_route(route): 0.0 for route in without}}


def _read_changes(changes: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not value.strip():
            raise typer.BadParameter(f"{change!r} is not NAME=VALUE", param_hint="--set")
        found[name.strip()] = _check_value(name.strip(), _read_value(value.strip()))
    return found


def _read_value(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _check_value(name: str, value: object) -> object:
    """The value, unless the constant of that name takes values of another kind."""
    kind = get_type_hints(Profile).get(name, float)
    words = get_args(kind)
    usable = value in words if words else type(value) in _ACCEPTED.get(kind, (float,))
    if not usable:
        takes = ", ".join(words) if words else getattr(kind, "__name__", str(kind))
        raise typer.BadParameter(f"{name} takes {takes}, not {value!r}", param_hint="--set")
    return value


def _check_route(name: str) -> str:
    if name not in ROUTES:
        raise typer.BadParameter(
            f"no route named {name!r}; there are {', '.join(ROUTES)}", param_hint="--without"
        )
    return name
