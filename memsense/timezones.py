"""Time zones by name: of a question, of a namespace's setting, and of this machine."""

import os
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from memsense.errors import InvalidInputError
from memsense.inputs import Check, has_zone, shorten, wrong_value
from memsense.text.nearest import did_you_mean

_LONGEST_NAME = 100
_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})")
_UTC_NAMES = frozenset({"GMT", "UCT", "UTC", "Universal", "Zulu"})


def find_zone(name: str) -> ZoneInfo:
    """Return the zone of an IANA name, such as Europe/Lisbon; raise ValueError for other texts."""
    try:
        # "localtime" is a file of many systems, and another zone on each of them.
        if name != "localtime":
            return ZoneInfo(name)
    # A folder of zones ("Europe") is an OSError, a path out of the database a ValueError.
    except (KeyError, ValueError, OSError):
        pass
    expected = "must be an IANA time zone, such as 'Europe/Lisbon'"
    if _OFFSET.search(name):
        # "3 July", asked in January with +01:00, would begin an hour late in Lisbon or Berlin.
        raise ValueError(f"{expected}: an offset like {shorten(name)} has no summer time")
    # Without names such as EST, which "CEST" is like.
    names = [item for item in sorted(available_timezones()) if "/" in item]
    if not names:
        raise ValueError(
            f"{expected}, and this machine knows none: install the package tzdata"
            " (pip install tzdata)"
        )
    cities = {item.rpartition("/")[2].casefold(): item for item in names}
    city = cities.get(name.strip().replace(" ", "_").casefold())
    near = f"; did you mean {city!r}?" if city else did_you_mean(name[:_LONGEST_NAME], names)
    raise ValueError(f"{expected}, not {shorten(name)}{near}")


def _check_name(value: object) -> str:
    if not isinstance(value, str):
        raise wrong_value("must be the name of an IANA time zone, such as 'Europe/Lisbon'", value)
    return find_zone(value).key


_SCHEMA = {"type": "string", "maxLength": _LONGEST_NAME, "examples": ["Europe/Lisbon"]}

ZoneName = Annotated[str, Check(_check_name, _SCHEMA)]
"""IANA name of a time zone."""


def read_zone(name: str) -> tzinfo:
    """Return the zone of a name that `name_zone` wrote; raise InvalidInputError for others."""
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if sign == "-" else offset)
    try:
        return find_zone(name)
    except ValueError as error:
        raise InvalidInputError(f"timezone: {error}") from error


def name_zone(moment: datetime) -> str:
    """Return the name of an aware datetime's zone, or its offset such as +02:00 if it has none."""
    key = getattr(moment.tzinfo, "key", None)  # a ZoneInfo may be read from a file, without a name
    if isinstance(key, str):
        return key
    # str() of a zone of an offset is UTC, UTC+02:00 or, for local mean times, UTC+00:53:28.
    return str(timezone(moment.utcoffset() or timedelta())).removeprefix("UTC")[:6] or "UTC"


def place_in_zone(moment: datetime | None, name: str | None) -> datetime:
    """Return the moment of a question in the asker's zone: an aware datetime.

    Args:
        moment: When it is asked; None for now. Without a zone it is a wall clock of the zone.
        name: The zone's name; None for that of the moment, else UTC.
    """
    zone = read_zone(name) if name else None
    if moment is None:
        return datetime.now(zone or UTC)
    if not has_zone(moment):
        return moment.replace(tzinfo=zone or UTC)
    return moment.astimezone(zone) if zone else moment


def find_machine_zone() -> str | None:
    """Return the IANA name of this machine's zone, None if it is unknown or UTC.

    Servers and containers run in UTC, wherever their users are: that it is UTC says nothing.
    """
    name = os.environ.get("TZ")
    if name is None:
        name = read_system_zone()
    # TZ may be a path, with or without a colon before it, and so is the target of the link.
    name = name.removeprefix(":").rpartition("zoneinfo/")[2]
    try:
        find_zone(name)
    except ValueError:
        # A rule such as CET-1CEST, or a zone that Python's database lacks.
        return None
    return None if name.rpartition("/")[2] in _UTC_NAMES else name


def read_system_zone(folder: Path = Path("/etc")) -> str:
    """Return the path or name of the zone that the system has been set to, "" if it has none."""
    try:
        return str((folder / "localtime").readlink())
    except OSError:
        pass
    try:
        return (folder / "timezone").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
