"""Time zones: of this machine, and by the names that traces keep."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memsense.errors import InvalidInputError
from memsense.search.question.time.calendar import Calendar
from memsense.timezones import (
    find_machine_zone,
    name_zone,
    place_in_zone,
    read_system_zone,
    read_zone,
)


@pytest.mark.parametrize(
    ("variable", "zone"),
    [
        ("Asia/Tokyo", "Asia/Tokyo"),
        (":Asia/Tokyo", "Asia/Tokyo"),
        ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
        (":/usr/share/zoneinfo/America/Argentina/Salta", "America/Argentina/Salta"),
        ("CET-1CEST", None),
        ("Nowhere/Else", None),
        ("UTC", None),
        ("Etc/UTC", None),
        ("", None),
    ],
)
def test_the_variable_tz_names_the_zone_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, variable: str, zone: str | None
) -> None:
    monkeypatch.setenv("TZ", variable)
    assert find_machine_zone() == zone


def test_the_system_names_its_zone_by_a_link_or_else_by_a_file(tmp_path: Path) -> None:
    assert read_system_zone(tmp_path) == ""
    (tmp_path / "timezone").write_text("Europe/Lisbon\n")
    assert read_system_zone(tmp_path) == "Europe/Lisbon"
    (tmp_path / "localtime").symlink_to("../usr/share/zoneinfo/Asia/Tokyo")
    assert read_system_zone(tmp_path) == "../usr/share/zoneinfo/Asia/Tokyo"


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        (UTC, "UTC"),
        (timezone(timedelta()), "UTC"),
        (ZoneInfo("Europe/Lisbon"), "Europe/Lisbon"),
        (timezone(timedelta(hours=9)), "+09:00"),
        (timezone(-timedelta(hours=3, minutes=30)), "-03:30"),
        (timezone(timedelta(minutes=53, seconds=28)), "+00:53"),
    ],
)
def test_a_zone_is_read_again_by_the_name_that_is_written(zone: tzinfo, name: str) -> None:
    moment = datetime(2026, 7, 3, 12, tzinfo=zone)
    assert name_zone(moment) == name
    again = moment.astimezone(read_zone(name))
    assert name_zone(again) == name
    assert again.replace(tzinfo=None) - moment.replace(tzinfo=None) < timedelta(minutes=1)


def test_a_recorded_zone_that_this_machine_lacks_is_named() -> None:
    with pytest.raises(InvalidInputError, match="not 'Europe/Atlantis'"):
        read_zone("Europe/Atlantis")


def test_now_is_now_in_the_zone() -> None:
    now = place_in_zone(None, "Asia/Tokyo")
    assert name_zone(now) == "Asia/Tokyo"
    assert now.utcoffset() == timedelta(hours=9)
    assert name_zone(place_in_zone(None, None)) == "UTC"


@pytest.mark.parametrize(
    ("at", "zone_known", "day"),
    [
        ("2026-11-26T14:59:59+00:00", True, 26),
        ("2026-11-26T15:00:00+00:00", True, 27),
        ("2026-11-26T16:00:00+01:00", True, 27),
        ("2026-11-26T23:59:59+00:00", False, 26),
        ("2026-11-27T00:00:00+00:00", False, 27),
    ],
)
def test_a_memory_has_the_day_of_the_zone_or_of_its_wall_clock(
    at: str, zone_known: bool, day: int
) -> None:
    calendar = Calendar(zone=ZoneInfo("Asia/Tokyo"))
    assert calendar.day_of(datetime.fromisoformat(at), zone_known=zone_known).day == day
