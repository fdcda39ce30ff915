"""The places where programs keep their logs on each system, and those that exist on this one.

The one table of places: `memsense formats` shows it, `memsense ingest --find` looks there.
"""

import glob
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from memsense.environment import read_variable
from memsense.text.words import read_sections, read_table

System = Literal["macos", "linux", "windows"]

SYSTEMS: Final[tuple[System, ...]] = ("macos", "linux", "windows")

# The beginning of a place: a variable of the environment, or this folder where it is not set.
_DEFAULTS: Final[Mapping[str, str]] = {
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_DATA_HOME": "~/.local/share",
    "APPDATA": "~/AppData/Roaming",
    "CLAUDE_CONFIG_DIR": "~/.claude",
    "CODEX_HOME": "~/.codex",
    "KIMI_SHARE_DIR": "~/.kimi",
    "KIMI_CODE_HOME": "~/.kimi-code",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder or file in which a program keeps its logs, as a pattern for each system.

    A pattern begins with `~` or with a variable in braces, and may hold `*`.
    """

    format: str
    program: str
    macos: str
    linux: str
    windows: str

    def pattern(self, system: System) -> str:
        """Return the pattern for the system."""
        return {"macos": self.macos, "linux": self.linux, "windows": self.windows}[system]

    def display(self, system: System) -> str:
        """Return the place as people write it there: `~/.codex/sessions`, `%APPDATA%...`."""
        pattern = self.pattern(system)
        if pattern.startswith("{APPDATA}"):
            return pattern.replace("{APPDATA}", "%APPDATA%").replace("/", "\\")
        for name, default in _DEFAULTS.items():
            pattern = pattern.replace(f"{{{name}}}", default)
        return pattern


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """A program's place that exists on this machine, with its path here."""

    place: Place
    path: Path


def _read_place(line: str) -> Place:
    """Return the place of a line of `memsense/data/words/places.txt`."""
    form, program, path, *of_windows = line.split(" | ")
    return Place(
        format=form,
        program=program,
        macos=path.replace("{SETTINGS}", "~/Library/Application Support"),
        linux=path.replace("{SETTINGS}", "{XDG_CONFIG_HOME}"),
        windows=of_windows[0] if of_windows else path.replace("{SETTINGS}", "{APPDATA}"),
    )


PLACES: Final = tuple(map(_read_place, read_sections("places")["places"].split("\n")))
BY_HAND: Final = read_table("places", "by hand")
"""The way to get the logs of programs that keep none on the machine, or none in one place."""


def this_system() -> System:
    """Return the system that this process runs on."""
    systems: dict[str, System] = {"darwin": "macos", "win32": "windows"}
    return systems.get(sys.platform, "linux")


def places_of(form: str) -> list[Place]:
    """Return the places of the format's logs."""
    return [place for place in PLACES if place.format == form]


def find_places(formats: Iterable[str] = (), system: System | None = None) -> list[FoundPlace]:
    """Return the places of programs' logs that exist on this machine, none twice.

    Args:
        formats: Formats whose places to look for; none means all.
        system: System whose places to look for; by default the one that this process runs on.
    """
    wanted_formats = set(formats)
    home = glob.escape(str(Path.home()))
    places: dict[Path, FoundPlace] = {}
    for place in PLACES:
        if wanted_formats and place.format not in wanted_formats:
            continue
        pattern = place.pattern(system or this_system())
        # Only the table's own `*` is a wildcard: a folder's name may hold brackets.
        for name, default in _DEFAULTS.items():
            folder = read_variable(name) or default
            pattern = pattern.replace(f"{{{name}}}", glob.escape(folder))
        if pattern.startswith("~"):
            pattern = home + pattern[1:]
        for path in map(Path, sorted(glob.glob(pattern))):  # noqa: PTH207
            places.setdefault(path, FoundPlace(place, path))
    return list(places.values())
