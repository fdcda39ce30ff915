"""Days of questions and memories: those of the asker's zone, and the same ones in a replay."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from memsense import MemSense, load_settings
from memsense.errors import ConfigurationError, InvalidInputError
from memsense.hooks.recall import Recaller
from memsense.search.hits import SearchResult

OpenMemory = Callable[..., MemSense]
Moments = Mapping[str, datetime]

NIGHT = datetime(2026, 11, 27, 0, 30)  # noqa: DTZ001 (a wall clock)
WINTER = datetime(2027, 1, 15, 23, 30)  # noqa: DTZ001

# Question, wall clock when it is asked, the first and the last day that it means, and the value of
# the term `date` on these days.
QUESTIONS = [
    ("Where did I walk today?", NIGHT, date(2026, 11, 27), date(2026, 11, 27), 1.0),
    ("Where did I walk yesterday?", NIGHT, date(2026, 11, 26), date(2026, 11, 26), 1.0),
    ("Where did I walk last week?", NIGHT, date(2026, 11, 16), date(2026, 11, 22), 0.8),
    ("Where did I walk on 3 July?", WINTER, date(2026, 7, 3), date(2026, 7, 3), 1.0),
]
OFFSETS = [
    offset if offset in (-11, -5, 0, 1, 12) else pytest.param(offset, marks=pytest.mark.full)
    for offset in range(-11, 13)
]
PLACES = ["the harbour", "the park", "the bridge", "the market"]


def edges_of(first: date, last: date) -> Moments:
    """Return the first and the last second of these days, and the ones outside of them."""
    begin = datetime.combine(first, time())
    end = datetime.combine(last + timedelta(days=1), time())
    second = timedelta(seconds=1)
    return {
        "before": begin - second,
        "first": begin,
        "last": end - second,
        "after": end,
    }


def store_walks(memory: MemSense, user_id: str, moments: Moments) -> None:
    """Store an exchange for each moment; a naive one has no known zone."""
    messages: list[dict[str, str]] = []
    for place, (name, at) in zip(PLACES, moments.items(), strict=True):
        text = f"I walked to {place}, which is {name}."
        messages.append({"role": "user", "content": text, "at": at.isoformat()})
        messages.append({"role": "assistant", "content": f"A fine walk to {place}."})
    memory.add(messages, user_id=user_id)


def dates_of(result: SearchResult) -> dict[str, float]:
    """Return the value of the term `date` of each memory of a walk, by the name of its moment."""
    return {
        hit.chunk.user_text.rstrip(".").rpartition(" ")[2]: next(
            (term.value for term in hit.explain.terms if term.name == "date"), 0.0
        )
        for hit in result
    }


def named_zone(offset: int) -> str:
    """Return the IANA name of a zone that is always so many hours east of UTC."""
    return f"Etc/GMT{-offset:+d}" if offset else "UTC"


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_day_lasts_from_midnight_to_midnight_where_it_is_asked(
    memory: MemSense, offset: int
) -> None:
    zone = timezone(timedelta(hours=offset))
    for number, (question, asked_at, first, last, inside) in enumerate(QUESTIONS):
        edges = edges_of(first, last)
        aware = {name: moment.replace(tzinfo=zone) for name, moment in edges.items()}
        for kind, moments in (("known", aware), ("unknown", edges)):
            user_id = f"{kind}-{number}"
            store_walks(memory, user_id, moments)
            options: list[dict[str, Any]] = [
                {"asked_at": asked_at, "timezone": named_zone(offset)},
                {"asked_at": asked_at.replace(tzinfo=zone)},
            ]
            for moment in options:
                values = dates_of(memory.search(question, user_id=user_id, **moment))
                assert values["first"] == values["last"] == inside, question
                assert values["before"] < inside, question
                assert values["after"] < inside, question
                assert len(values) == len(edges)


# Both nights in which clocks change, and the days around them. Each row has the wall clock there
# when it is asked, the days' bounds in UTC, and the value of the term `date` on these days.
CHANGES = {
    "Europe/Berlin": [  # 29 March 2026 forward, 25 October 2026 back
        ("today", "2026-03-29T12:00", "2026-03-28T23:00", "2026-03-29T22:00", 1.0),
        ("yesterday", "2026-03-30T00:30", "2026-03-28T23:00", "2026-03-29T22:00", 1.0),
        ("yesterday", "2026-03-29T03:30", "2026-03-27T23:00", "2026-03-28T23:00", 1.0),
        ("last week", "2026-03-31T12:00", "2026-03-22T23:00", "2026-03-29T22:00", 0.8),
        ("today", "2026-10-25T02:30", "2026-10-24T22:00", "2026-10-25T23:00", 1.0),
        ("yesterday", "2026-10-26T00:30", "2026-10-24T22:00", "2026-10-25T23:00", 1.0),
        ("yesterday", "2026-10-25T23:30", "2026-10-23T22:00", "2026-10-24T22:00", 1.0),
        ("last week", "2026-10-26T00:30", "2026-10-18T22:00", "2026-10-25T23:00", 0.8),
        ("on 3 July", "2027-01-15T00:30", "2026-07-02T22:00", "2026-07-03T22:00", 1.0),
        ("on 3 January", "2026-07-15T00:30", "2026-01-02T23:00", "2026-01-03T23:00", 1.0),
    ],
    "America/New_York": [  # 8 March 2026 forward, 1 November 2026 back
        ("today", "2026-03-08T12:00", "2026-03-08T05:00", "2026-03-09T04:00", 1.0),
        ("yesterday", "2026-03-09T00:30", "2026-03-08T05:00", "2026-03-09T04:00", 1.0),
        ("yesterday", "2026-03-08T03:30", "2026-03-07T05:00", "2026-03-08T05:00", 1.0),
        ("last week", "2026-03-10T12:00", "2026-03-02T05:00", "2026-03-09T04:00", 0.8),
        ("today", "2026-11-01T01:30", "2026-11-01T04:00", "2026-11-02T05:00", 1.0),
        ("yesterday", "2026-11-02T00:30", "2026-11-01T04:00", "2026-11-02T05:00", 1.0),
        ("yesterday", "2026-11-01T23:30", "2026-10-31T04:00", "2026-11-01T04:00", 1.0),
        ("last week", "2026-11-02T00:30", "2026-10-26T04:00", "2026-11-02T05:00", 0.8),
        ("on 3 July", "2027-01-15T00:30", "2026-07-03T04:00", "2026-07-04T04:00", 1.0),
        ("on 3 January", "2026-07-15T00:30", "2026-01-03T05:00", "2026-01-04T05:00", 1.0),
    ],
    "Australia/Sydney": [  # 5 April 2026 back, 4 October 2026 forward
        ("today", "2026-04-05T12:00", "2026-04-04T13:00", "2026-04-05T14:00", 1.0),
        ("yesterday", "2026-04-06T00:30", "2026-04-04T13:00", "2026-04-05T14:00", 1.0),
        ("yesterday", "2026-04-05T02:30", "2026-04-03T13:00", "2026-04-04T13:00", 1.0),
        ("last week", "2026-04-07T12:00", "2026-03-29T13:00", "2026-04-05T14:00", 0.8),
        ("today", "2026-10-04T12:00", "2026-10-03T14:00", "2026-10-04T13:00", 1.0),
        ("yesterday", "2026-10-05T00:30", "2026-10-03T14:00", "2026-10-04T13:00", 1.0),
        ("yesterday", "2026-10-04T23:30", "2026-10-02T14:00", "2026-10-03T14:00", 1.0),
        ("last week", "2026-10-06T12:00", "2026-09-27T14:00", "2026-10-04T13:00", 0.8),
        ("on 3 July", "2027-01-15T00:30", "2026-07-02T14:00", "2026-07-03T14:00", 1.0),
        ("on 3 January", "2026-07-15T00:30", "2026-01-02T13:00", "2026-01-03T13:00", 1.0),
    ],
}


def days_in(prompt: str) -> dict[str, str]:
    """Return the heading of each memory of a walk in a prompt, by the name of its moment."""
    days: dict[str, str] = {}
    heading = ""
    for line in prompt.splitlines():
        if match := re.search(r"> .* which is (\w+)\.", line):
            days[match[1]] = heading
        elif not line.startswith(">"):
            heading = line
    return days


@pytest.mark.parametrize(
    "zone",
    ["Europe/Berlin", pytest.param("America/New_York", marks=pytest.mark.full), "Australia/Sydney"],
)
def test_days_keep_their_midnights_where_clocks_change(memory: MemSense, zone: str) -> None:
    for number, (words, asked_at, begin, end, inside) in enumerate(CHANGES[zone]):
        since, until = (datetime.fromisoformat(bound).replace(tzinfo=UTC) for bound in (begin, end))
        first, after = since.astimezone(ZoneInfo(zone)), until.astimezone(ZoneInfo(zone))
        assert first.time() == after.time() == time()
        second = timedelta(seconds=1)
        aware = {"before": since - second, "first": since, "last": until - second, "after": until}
        last = after.date() - timedelta(days=1)
        for kind, moments in (("known", aware), ("unknown", edges_of(first.date(), last))):
            user_id = f"{kind}-{number}"
            store_walks(memory, user_id, moments)
            result = memory.search(
                f"Where did I walk {words}?",
                user_id=user_id,
                asked_at=asked_at,
                timezone=zone,
                trace=True,
            )
            values = dates_of(result)
            assert values["first"] == values["last"] == inside, (words, asked_at, kind)
            assert values["before"] < inside
            assert values["after"] < inside
            prompt = result.to_prompt()
            today = date.fromisoformat(asked_at[:10])
            assert f" Asked on {today:%A}, {today}." in prompt
            days = days_in(prompt)
            assert days["first"].startswith(f"{first:%Y-%m-%d} ({first:%A}, ")
            assert days["last"].startswith(f"{last:%Y-%m-%d} ({last:%A}, ")
            if words in {"today", "yesterday"}:
                assert days["first"] == days["last"] == f"{last} ({last:%A}, {words}):"
            assert memory.traces.replay(result.trace_id or "").is_unchanged


# One memory just after midnight in Tokyo, when it is 15:30 of the day before in UTC.
IN_TOKYO = datetime(2026, 11, 26, 15, 30, tzinfo=UTC)


def store_one(memory: MemSense) -> None:
    """Store one memory of 27 November in Tokyo, which is of the 26th in UTC."""
    memory.add([{"role": "user", "content": "A walk", "at": IN_TOKYO.isoformat()}], user_id="ada")


def date_value(memory: MemSense, **options: Any) -> float:
    """Return the term `date` of the one memory."""
    [value] = dates_of(memory.search("the walk today", user_id="ada", **options)).values()
    return value


NOON = "2026-11-27T12:00"
TOKYO = "Asia/Tokyo"
IN_OFFSET = "2026-11-27T12:00+09:00"


@pytest.mark.parametrize(
    ("setting", "options", "is_same_day"),
    [
        (None, {"asked_at": NOON}, False),
        (None, {"asked_at": NOON, "timezone": TOKYO}, True),
        (None, {"asked_at": IN_OFFSET}, True),
        (None, {"asked_at": datetime(2026, 11, 27, 12, tzinfo=ZoneInfo(TOKYO))}, True),
        (None, {"asked_at": IN_OFFSET, "timezone": "UTC"}, False),
        (TOKYO, {"asked_at": NOON}, True),
        (TOKYO, {"asked_at": "2026-11-27T03:00Z"}, True),
        (TOKYO, {"asked_at": NOON, "timezone": "UTC"}, False),
        ("UTC", {"asked_at": IN_OFFSET}, False),
    ],
)
def test_the_zone_is_the_calls_then_the_settings_then_that_of_the_moment(
    memory: MemSense, setting: str | None, options: Mapping[str, Any], is_same_day: bool
) -> None:
    store_one(memory)
    if setting is not None:
        memory.settings.set(timezone=setting)
    assert date_value(memory, **options) == (1.0 if is_same_day else 0.2)


def test_a_zone_set_by_another_process_counts_in_the_next_search(open_memory: OpenMemory) -> None:
    ours, theirs = open_memory(), open_memory()
    store_one(ours)
    assert date_value(ours, asked_at=NOON) == 0.2
    theirs.settings.set(timezone=TOKYO)
    assert date_value(ours, asked_at=NOON) == 1.0
    theirs.settings.reset("timezone")
    assert date_value(ours, asked_at=NOON) == 0.2


def test_context_many_searches_and_why_not_count_the_same_days(memory: MemSense) -> None:
    store_one(memory)
    question = "the walk today"
    options: dict[str, Any] = {"user_id": "ada", "asked_at": NOON, "timezone": TOKYO}
    [[hit]] = memory.search_many([question], **options)
    [same] = memory.search(question, **options)
    assert same.score == hit.score
    # Only with the whole term `date` is it as good as this.
    least = {"min_score": hit.score - 0.01}
    assert memory.why_not(question, hit.chunk_id, **least, **options).step == "hit"
    in_utc: dict[str, Any] = {**options, "timezone": "UTC"}
    assert memory.why_not(question, hit.chunk_id, **least, **in_utc).step == "below_min_score"
    context = memory.context(question, silence=0, trace=True, **options)
    assert list(context.chunk_ids) == [hit.chunk_id]
    [trace] = [memory.traces.get(it.trace_id) for it in memory.traces.list()]
    assert trace.timezone == TOKYO


def test_the_past_has_the_same_days(memory: MemSense) -> None:
    memory.settings.set(history="on")
    naive = "2026-11-27T00:30"
    memory.add([{"role": "user", "content": "A walk", "at": naive}], user_id="ada")
    now = memory.search("the walk", user_id="ada", trace=True)
    recalled_at = memory.traces.get(now.trace_id or "").recalled_at
    for zone in ("UTC", TOKYO, "America/Lima"):
        options = {"asked_at": NOON, "timezone": zone}
        assert date_value(memory, **options, as_of=recalled_at) == 1.0


# A setting, words of a question of Friday 27 November 2026, a day that they mean with the setting
# alone, and the value of the term `date` of that day.
CALENDARS = [
    ({"week_start": "sunday"}, "last week", "2026-11-15", 0.8),
    ({"week_start": "saturday"}, "last week", "2026-11-14", 0.8),
    ({"hemisphere": "south"}, "last summer", "2026-01-15", 0.45),
]


@pytest.mark.parametrize(("setting", "words", "day", "inside"), CALENDARS)
def test_settings_of_the_calendar_decide_which_days_are_meant(
    memory: MemSense, setting: Mapping[str, Any], words: str, day: str, inside: float
) -> None:
    at = f"{day}T12:00"
    memory.add([{"role": "user", "content": "A walk", "at": at}], user_id="ada")
    options: dict[str, Any] = {"user_id": "ada", "asked_at": NOON, "trace": True}
    question = f"the walk {words}"
    before = memory.search(question, **options)
    assert dates_of(before) != {"walk": inside}
    memory.settings.set(**setting)
    result = memory.search(question, **options)
    assert dates_of(result) == {"walk": inside}
    memory.settings.reset(*setting)
    for earlier in (before, result):
        assert memory.traces.replay(earlier.trace_id or "").is_unchanged


def test_an_order_of_day_and_month_leaves_the_other_reading_out(memory: MemSense) -> None:
    memory.add([{"role": "user", "content": "A walk", "at": "2024-03-04T12:00"}], user_id="ada")
    values: list[dict[str, float]] = []
    for order in ("both", "mdy", "dmy"):
        memory.settings.set(date_order=order)
        values.append(dates_of(memory.search("the walk on 03/04/2024", user_id="ada")))
    assert values == [{"walk": 1.0}, {"walk": 1.0}, {"walk": 0.0}]


@pytest.mark.parametrize("zone", [ZoneInfo(TOKYO), timezone(timedelta(hours=9)), UTC])
def test_a_replay_counts_the_days_of_the_recorded_search(memory: MemSense, zone: tzinfo) -> None:
    store_one(memory)
    asked_at = datetime(2026, 11, 27, 1, tzinfo=zone)
    result = memory.search("the walk today", user_id="ada", asked_at=asked_at, trace=True)
    memory.settings.set(timezone="America/Lima", week_start="sunday", hemisphere="south")
    replay = memory.traces.replay(result.trace_id or "")
    assert replay.is_unchanged
    assert result.question["timezone"] in {TOKYO, "+09:00", "UTC"}
    assert memory.traces.get(result.trace_id or "").timezone == result.question["timezone"]
    what_if = memory.traces.replay(result.trace_id or "", overrides={"lexical": 0.5})
    assert [hit.parts["date"] for hit in what_if.new] == [hit.parts["date"] for hit in replay.old]


def test_a_trace_of_an_earlier_version_is_replayed_by_days_of_utc(
    memory: MemSense, database_url: str
) -> None:
    store_one(memory)
    result = memory.search("the walk today", user_id="ada", asked_at=NOON, trace=True)
    memory.traces.flush()
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE memsense.traces SET timezone = NULL, calendar = NULL")
    memory.settings.set(timezone=TOKYO)
    assert memory.traces.replay(result.trace_id or "").is_unchanged


def test_hooks_ask_in_the_machines_zone(
    open_memory: OpenMemory, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(settings=load_settings(database_url=database_url, trace_sample=1.0))
    store_one(memory)
    monkeypatch.setenv("TZ", TOKYO)
    user = memory.for_user("ada")
    Recaller().recall(user, "tuesday", "Where was the walk today?", project=None, max_tokens=500)
    [summary] = memory.traces.list()
    assert memory.traces.get(summary.trace_id).timezone == TOKYO


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("Lisbon", "did you mean 'Europe/Lisbon'?"),
        ("europe/lisbon", "did you mean 'Europe/Lisbon'?"),
        ("new york", "did you mean 'America/New_York'?"),
        ("+01:00", "an offset like '+01:00' has no summer time"),
        ("CEST", "must be an IANA time zone, such as 'Europe/Lisbon', not 'CEST'"),
        ("localtime", "such as 'Europe/Lisbon'"),
        ("../Lisbon", "such as 'Europe/Lisbon'"),
        ("", "such as 'Europe/Lisbon'"),
        (9, "such as 'Europe/Lisbon'"),
    ],
)
def test_a_zone_that_nobody_knows_is_refused_with_a_near_one(
    memory: MemSense, name: Any, remedy: str
) -> None:
    with pytest.raises(InvalidInputError, match="^timezone must be") as refused:
        memory.search("the walk", user_id="ada", timezone=name)
    assert remedy in str(refused.value)
    with pytest.raises(ConfigurationError, match="^timezone must be") as refused:
        memory.settings.set(timezone=name)
    assert remedy in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "choices"),
    [
        ("week_start", "tuesday", "monday or sunday or saturday"),
        ("hemisphere", "east", "north or south"),
        ("date_order", "ymd", "both or dmy or mdy"),
    ],
)
def test_settings_of_the_calendar_name_their_choices(
    memory: MemSense, name: str, value: str, choices: str
) -> None:
    changes: dict[str, Any] = {name: value}
    with pytest.raises(ConfigurationError, match=f"{name} must be {choices}, not '{value}'"):
        memory.settings.set(**changes)
