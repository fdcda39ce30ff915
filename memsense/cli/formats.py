"""`memsense formats`: the logs that `ingest` reads, and where programs keep them."""

import sys
from typing import Any

from memsense.cli.options import Output
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, table
from memsense.ingest import READERS
from memsense.ingest.places import BY_HAND, SYSTEMS, Place, System, places_of

_NAMES: dict[System, str] = {"macos": "macOS", "linux": "Linux", "windows": "Windows"}


def formats(*, output: Output = "table") -> None:
    """List the log formats that `memsense ingest` reads, in the order they are tried, and where
    programs keep such logs; a * stands for any name.

    \b
      memsense formats
      memsense ingest --find     looks in these places
    """
    if output != "table":
        print_data(output, [_as_dict(name) for name in READERS])
        return
    made = table("format", "what it is", "where it is kept")
    for name in READERS:
        add_row(made, name, _describe(name), "\n".join(_where(name)))
    console().print(made)


def _as_dict(name: str) -> dict[str, Any]:
    places = {
        system: list(dict.fromkeys(place.shown(system) for place in places_of(name)))
        for system in SYSTEMS
    }
    return {"format": name, "what": _describe(name), **places, "by_hand": BY_HAND.get(name)}


def _where(name: str) -> list[str]:
    places = [line for place in places_of(name) for line in _lines(place)]
    return [*dict.fromkeys(places), *([BY_HAND[name]] if name in BY_HAND else [])]


def _lines(place: Place) -> list[str]:
    """The place on each system, systems that write it alike together."""
    below: dict[str, list[str]] = {}
    for system in SYSTEMS:
        below.setdefault(place.shown(system), []).append(_NAMES[system])
    if len(below) == 1:
        return list(below)
    return [f"{', '.join(names)}: {shown}" for shown, names in below.items()]


def _describe(name: str) -> str:
    """What a reader's module says that it reads."""
    first = (sys.modules[f"memsense.ingest.readers.{name}"].__doc__ or "").split("\n")[0]
    return first.rstrip(".")
