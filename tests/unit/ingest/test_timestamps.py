"""Every spelling of a time, against the time it stands for."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.ingest import ReadReport, Stamp, parse_timestamp
from memsense.types import Conversation, JsonValue

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

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


def test_a_time_of_a_clock_that_is_ahead_is_kept() -> None:
    for days in (1, 3, 400, 40_000):
        at = datetime.now(UTC) + timedelta(days=days)
        assert parse_timestamp(at.isoformat()) == Stamp(at, zone_known=True)
        assert parse_timestamp(at.timestamp() * 1000).at is not None


def test_times_end_where_epoch_seconds_get_another_digit() -> None:
    last = datetime(2286, 11, 20, 17, 46, 39, tzinfo=UTC)
    assert parse_timestamp("2286-11-20T17:46:39Z").at == parse_timestamp(9999999999).at == last
    assert parse_timestamp("2286-11-20T17:46:40Z").at is None


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


@pytest.mark.parametrize(
    "log",
    [
        '{"role": "user", "content": "hi", "timestamp": "2099-05-01T10:00:00Z"}\n',
        '{"role": "user", "content": "hi", "timestamp": 4081312800}\n',
        '[{"type": "message", "user": "U1", "text": "hi", "ts": "4081312800.000000"}]',
        "01/05/2099, 10:00 - Ana: hi\n01/05/2099, 10:00 - Bo: hi\n",
    ],
    ids=["ISO 8601", "epoch", "slack", "whatsapp"],
)
def test_a_log_of_a_clock_that_is_ahead_keeps_its_times(read_log: ReadLog, log: str) -> None:
    (conversation,), report = read_log(log)
    assert conversation.messages[0].at == datetime(2099, 5, 1, 10, tzinfo=UTC)
    assert report.unusable_times == 0
