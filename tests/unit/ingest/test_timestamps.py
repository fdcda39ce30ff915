"""Every spelling of a time, against the time it stands for."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.ingest import Stamp, parse_timestamp
from memsense.types import JsonValue

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "at"),
    [
        (1735732800, NOON),
        (1735732800.25, NOON + timedelta(milliseconds=250)),
        (1735732800000, NOON),
        (1735732800000000, NOON),
        (1735732800000000000, NOON),
        ("1735732800", NOON),
        ("1452837318.000002", datetime(2016, 1, 15, 5, 55, 18, 2, tzinfo=UTC)),
        ("2025-01-01T12:00:00Z", NOON),
        ("2025-01-01T12:00:00.000000000Z", NOON),
        ("2025-01-01T12:00:00.1+00:00", NOON + timedelta(milliseconds=100)),
        ("2025-01-01T14:00:00+02:00", NOON),
        ("2025-01-01 12:00:00 UTC", NOON),
    ],
)
def test_a_time_with_a_zone_is_read_in_utc(written: JsonValue, at: datetime) -> None:
    assert parse_timestamp(written) == Stamp(at, zone_known=True)


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("2025-01-01T12:00:00", NOON),
        ("2025-01-01 12:00:00", NOON),
        ("2025-01-01", datetime(2025, 1, 1, tzinfo=UTC)),
        ("2023/05/20 (Sat) 02:21", datetime(2023, 5, 20, 2, 21, tzinfo=UTC)),
        ("2023/05/20 02:21:07", datetime(2023, 5, 20, 2, 21, 7, tzinfo=UTC)),
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:05 am on 31 December, 2022", datetime(2022, 12, 31, 0, 5, tzinfo=UTC)),
        ("12:05 pm on 1 June, 2022", datetime(2022, 6, 1, 12, 5, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_utc_and_says_so(written: str, at: datetime) -> None:
    assert parse_timestamp(written) == Stamp(at, zone_known=False)


def test_a_time_without_a_zone_takes_the_one_asked_for() -> None:
    stamp = parse_timestamp("2025-01-01 12:00:00", ZoneInfo("Asia/Tokyo"))
    assert stamp == Stamp(NOON - timedelta(hours=9), zone_known=True)


@pytest.mark.parametrize(
    "written",
    [
        None,
        "",
        "yesterday",
        0,
        -1,
        True,
        1e11,
        float("nan"),
        float("inf"),
        "1989-12-31T23:59:59Z",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "99:99 pm on 99 May, 2023",
        "2023/13/45 (Sat) 99:99",
        "1:56 pm on 8 Foo, 2023",
        [1735732800],
        {"at": 1},
    ],
)
def test_what_is_no_plausible_time_is_none(written: JsonValue) -> None:
    assert parse_timestamp(written).at is None


def test_the_future_begins_in_two_days() -> None:
    now = datetime.now(UTC)
    assert parse_timestamp((now + timedelta(days=1)).isoformat()).at is not None
    assert parse_timestamp((now + timedelta(days=3)).isoformat()).at is None


@given(st.integers(1_000_000_000, 1_750_000_000), st.sampled_from((0, 3, 6)))
@settings(deadline=None)
def test_all_units_of_one_moment_agree(seconds: int, exponent: int) -> None:
    at = datetime.fromtimestamp(seconds, UTC)
    assert parse_timestamp(seconds * 10**exponent).at == at
    assert parse_timestamp(str(seconds)).at == at
    assert parse_timestamp(at.isoformat()).at == at


@given(st.text(max_size=30))
@settings(deadline=None)
def test_any_text_is_a_time_or_none(text: str) -> None:
    at = parse_timestamp(text).at
    assert at is None or at.tzinfo is not None
