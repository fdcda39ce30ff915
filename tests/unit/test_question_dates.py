from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from dateutil.relativedelta import relativedelta
from hypothesis import example, given
from hypothesis import strategies as st

from memsense.search.question import Interval, analyse_question
from memsense.search.question.proximity import DateScores, date_proximity
from memsense.search.question.time.calendar import Calendar
from memsense.search.question.time.engine import find_intervals

ASKED_AT = datetime(2023, 6, 14, 12, tzinfo=UTC)  # a Wednesday
Days = tuple[str, str]


def find_dates(text: str, asked_at: datetime | None = None) -> tuple[Interval, ...]:
    zone = asked_at.tzinfo if asked_at else None
    return find_intervals(text, now=asked_at, calendar=Calendar(zone=zone or UTC))


def days_of(found: Interval) -> Days:
    return str(found.first), str(found.last)


def only(text: str, asked_at: datetime | None = None) -> Interval:
    found = find_dates(text, asked_at)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    "text",
    [
        "7 May 2023",
        "7th May 2023",
        "7th of May, 2023",
        "7 may 2023",
        "07 May, 2023",
        "May 7, 2023",
        "May 7,2023",
        "may 7th 2023",
        "May 7 2023",
        "2023-05-07",
        "2023/05/07",
        "7.5.2023",
    ],
)
def test_a_full_date_is_one_day(text: str) -> None:
    found = only(f"What did we eat on {text}?")
    assert days_of(found) == ("2023-05-07", "2023-05-07")
    assert (found.grain, found.any_year, found.text) == ("day", False, text)


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_every_day_is_read_back_from_each_of_its_spellings(day: date) -> None:
    spellings = (
        day.isoformat(),
        f"{day.day} {day:%B %Y}",
        f"{day:%B} {day.day}, {day:%Y}",
        f"{day.day} {day:%b}. {day:%Y}",
        f"{day.day}.{day.month}.{day.year}",
    )
    for spelling in spellings:
        found = only(f"the walk on {spelling}")
        assert (found.first, found.last, found.any_year) == (day, day, False)


def test_a_date_with_slashes_has_both_readings() -> None:
    found = find_dates("What happened on 07/05/2023?")
    assert {days_of(reading)[0] for reading in found} == {"2023-05-07", "2023-07-05"}
    assert days_of(only("on 25/05/2023"))[0] == "2023-05-25"


@pytest.mark.parametrize("text", ["on 7 May", "May 7th was warm", "on the 7th of May", "on may 7"])
def test_a_day_without_a_year_is_that_day_of_any_year(text: str) -> None:
    found = only(text)
    assert found.any_year
    assert found.in_year(2023) == (date(2023, 5, 7), date(2023, 5, 7))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("in May 2023", "2023-05-01", "2023-05-31"),
        ("the May, 2023 trip", "2023-05-01", "2023-05-31"),
        ("in Feb 2024", "2024-02-01", "2024-02-29"),
        ("as of 2023-05", "2023-05-01", "2023-05-31"),
    ],
)
def test_a_month_with_its_year_is_its_days(text: str, first: str, last: str) -> None:
    found = only(text)
    assert days_of(found) == (first, last)
    assert found.grain == "month"


@pytest.mark.parametrize(
    "text", ["in May", "in may?", "since May", "last May", "throughout May", "during May"]
)
def test_a_month_alone_is_that_month_of_any_year(text: str) -> None:
    found = only(text)
    assert (found.grain, found.any_year, found.text.lower()) == ("month", True, "may")
    assert found.in_year(2022) == (date(2022, 5, 1), date(2022, 5, 31))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("at the beginning of Feb 2024", "2024-02-01", "2024-02-10"),
        ("in mid-May 2023", "2023-05-11", "2023-05-20"),
        ("towards the end of May 2023", "2023-05-21", "2023-05-31"),
        ("in late February 2024", "2024-02-21", "2024-02-29"),
    ],
)
def test_parts_of_a_month_are_its_thirds(text: str, first: str, last: str) -> None:
    assert days_of(only(text)) == (first, last)


@pytest.mark.parametrize(
    "text", ["in 2021", "by the year 2021", "the 2021 marathon", "in early 2021?", "since 2021."]
)
def test_a_year_after_a_preposition_or_an_article_is_its_days(text: str) -> None:
    found = only(text)
    assert days_of(found) == ("2021-01-01", "2021-12-31")
    assert found.grain == "year"


def test_a_season_of_a_year_is_its_three_months() -> None:
    assert days_of(only("in the summer of 2021")) == ("2021-06-01", "2021-08-31")
    assert days_of(only("winter 2023")) == ("2023-12-01", "2024-02-29")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("between May and July 2023", "2023-05-01", "2023-07-31"),
        ("from may to july 2023", "2023-05-01", "2023-07-31"),
        ("May\u2013July 2023", "2023-05-01", "2023-07-31"),
        ("from November to February 2024", "2023-11-01", "2024-02-29"),
        ("from May 2022 until July 2023", "2022-05-01", "2023-07-31"),
        ("from 3 to 7 May 2023", "2023-05-03", "2023-05-07"),
        ("3-7 May 2023", "2023-05-03", "2023-05-07"),
        ("May 3-7, 2023", "2023-05-03", "2023-05-07"),
        ("between 30 April and 2 May 2023", "2023-04-30", "2023-05-02"),
        ("from 2023-05-07 to 2023-06-01", "2023-05-07", "2023-06-01"),
        ("between 2019 and 2021", "2019-01-01", "2021-12-31"),
        ("the 2019-2021 plan", "2019-01-01", "2021-12-31"),
    ],
)
def test_two_linked_dates_are_one_range(text: str, first: str, last: str) -> None:
    found = only(text)
    assert days_of(found) == (first, last)
    assert (found.grain, found.any_year) == ("range", False)


@given(st.dates(date(2000, 1, 1), date(2001, 3, 1)), st.integers(1990, 2040))
def test_a_day_of_any_year_moves_as_the_calendar_says(day: date, year: int) -> None:
    found = replace(only("on 7 May"), first=day, last=day)
    moved = day + relativedelta(years=year - day.year)
    assert found.in_year(year) == (moved, moved)


def test_a_range_without_years_may_pass_the_end_of_the_year() -> None:
    found = only("from November to February")
    assert found.any_year
    assert found.in_year(2022) == (date(2022, 11, 1), date(2023, 2, 28))


def test_listed_months_share_their_year_and_stay_apart() -> None:
    found = find_dates("What did they plant in May and June 2023?")
    assert [days_of(month) for month in found] == [
        ("2023-05-01", "2023-05-31"),
        ("2023-06-01", "2023-06-30"),
    ]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("the week before August 3, 2023", "2023-07-27", "2023-08-02"),
        ("the week after August 3, 2023", "2023-08-04", "2023-08-10"),
        ("the day after 31 July 2023", "2023-08-01", "2023-08-01"),
        ("two weeks before 11 August 2023", "2023-07-28", "2023-07-28"),
        ("the Sunday before October 25, 2022", "2022-10-23", "2022-10-23"),
        ("the Tuesday after October 25, 2022", "2022-11-01", "2022-11-01"),
        ("last weekend before April 10, 2023", "2023-04-08", "2023-04-09"),
        ("the week of May 10, 2023", "2023-05-08", "2023-05-14"),
    ],
)
def test_dates_beside_a_full_date_are_found_too(text: str, first: str, last: str) -> None:
    beside, day = find_dates(f"What did she do {text}?")
    assert days_of(beside) == (first, last)
    assert day.grain == "day"


@pytest.mark.parametrize(
    "text",
    [
        "She may go, and it may rain",
        "They march on; a march of 7 miles",
        "May I march in the park?",
        "May 7 people join us?",
        "How to march 7 miles",
        "That may be so",
        "this may help",
        "the mayor of Marching decided",
        "a gift from April",
        "What does June think?",
        "v2.10, PROJ-2023, CVE-2023-0506 and 10.0.2023.1",
        "release 2023.1.2 of build/2023/x",
        "Who paid 2000 dollars?",
        "a total of 2000 people in 1999 steps",
        "room 2023",
        "32 May 2023x",
        "at 10:30 or 5/7",
        "2023-13-45",
        "the 1990s",
        "user2023@example.org",
        "last week or yesterday",
    ],
)
def test_text_that_only_resembles_a_date_is_no_date(text: str) -> None:
    assert find_dates(text) == ()


def test_a_day_that_does_not_exist_is_none() -> None:
    assert find_dates("on 2023-02-30") == ()
    assert find_dates("on 31.6.2023") == ()
    assert [found.grain for found in find_dates("on 31 June 2023")] == ["month"]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("today", "2023-06-14", "2023-06-14"),
        ("yesterday", "2023-06-13", "2023-06-13"),
        ("the day before yesterday", "2023-06-12", "2023-06-12"),
        ("last night", "2023-06-13", "2023-06-13"),
        ("last week", "2023-06-05", "2023-06-11"),
        ("this week", "2023-06-12", "2023-06-18"),
        ("last weekend", "2023-06-10", "2023-06-11"),
        ("last month", "2023-05-01", "2023-05-31"),
        ("next month", "2023-07-01", "2023-07-31"),
        ("last year", "2022-01-01", "2022-12-31"),
        ("last Friday", "2023-06-09", "2023-06-09"),
        ("last Wednesday", "2023-06-07", "2023-06-07"),
        ("on Monday", "2023-06-12", "2023-06-12"),
        ("on Wednesday", "2023-06-14", "2023-06-14"),
        ("this Friday", "2023-06-16", "2023-06-16"),
        ("next Wednesday", "2023-06-21", "2023-06-21"),
        ("last May", "2023-05-01", "2023-05-31"),
        ("last June", "2022-06-01", "2022-06-30"),
        ("next March", "2024-03-01", "2024-03-31"),
        ("last summer", "2022-06-01", "2022-08-31"),
        ("last winter", "2022-12-01", "2023-02-28"),
        ("this summer", "2023-06-01", "2023-08-31"),
        ("next summer", "2024-06-01", "2024-08-31"),
        ("3 days ago", "2023-06-11", "2023-06-11"),
        ("two weeks ago", "2023-05-28", "2023-06-03"),
        ("two months ago", "2023-04-01", "2023-04-30"),
        ("4 years ago", "2019-01-01", "2019-12-31"),
        ("a few days ago", "2023-06-10", "2023-06-12"),
        ("in the past two weeks", "2023-05-31", "2023-06-14"),
        ("over the last year", "2022-06-14", "2023-06-14"),
    ],
)
def test_relative_dates_count_from_the_day_of_asking(text: str, first: str, last: str) -> None:
    found = only(f"What did we cook {text}?", ASKED_AT)
    assert days_of(found) == (first, last)
    assert not found.any_year
    assert found.text.endswith(text.rsplit(maxsplit=1)[-1])


@given(st.dates(date(1950, 1, 1), date(2090, 1, 1)))
def test_relative_weekdays_and_seasons_lie_where_their_words_say(today: date) -> None:
    asked_at = datetime.combine(today, time(12), UTC)
    assert today - timedelta(days=7) <= only("last Friday", asked_at).first < today
    assert today < only("next Friday", asked_at).first <= today + timedelta(days=7)
    assert today - timedelta(days=7) < only("on Friday", asked_at).first <= today
    assert only("last winter", asked_at).last < today
    assert only("this winter", asked_at).last >= today
    assert only("next winter", asked_at).first >= today
    assert only("last May", asked_at).last < today
    assert only("next May", asked_at).first > today


def test_relative_dates_use_the_zone_of_asking() -> None:
    late = datetime(2023, 6, 14, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    assert days_of(only("today", late))[0] == "2023-06-14"


def near(text: str, occurred_at: str | None, asked_at: datetime | None = None) -> float:
    day = datetime.fromisoformat(occurred_at).date() if occurred_at else None
    return date_proximity(day, analyse_question(text, asked_at=asked_at).intervals)


@pytest.mark.parametrize(
    ("occurred_at", "proximity"),
    [
        ("2023-05-04", 0),
        ("2023-05-05", 0.2),
        ("2023-05-06", 0.2),
        ("2023-05-07T23:59", 1),
        ("2023-05-08", 0.6),
        ("2023-05-09", 0.6),
        ("2023-05-10", 0.4),
        ("2023-05-17", 0.4),
        ("2023-05-18", 0),
        ("2022-05-07", 0),
    ],
)
def test_nearness_to_a_day(occurred_at: str, proximity: float) -> None:
    assert near("on 7 May 2023", occurred_at) == proximity


@pytest.mark.parametrize(
    ("text", "occurred_at", "proximity"),
    [
        ("in May 2023", "2023-04-30", 0),
        ("in May 2023", "2023-05-31", 0.6),
        ("in May 2023", "2023-06-10", 0.3),
        ("in May 2023", "2023-06-11", 0),
        ("3-7 May 2023", "2023-05-04", 0.8),
        ("3-7 May 2023", "2023-05-17", 0.4),
        ("between May and July 2023", "2023-06-15", 0.45),
        ("between May and July 2023", "2023-08-10", 0.2),
        ("in 2023", "2023-06-15", 0.3),
        ("in 2023", "2024-01-01", 0),
        ("from 2021 to 2023", "2022-01-01", 0.3),
        ("on 7 May", "2019-05-07", 1),
        ("on 7 May", "2031-05-09", 0.6),
        ("on 30 December", "2023-01-02", 0.4),
        ("on 29 February", "2023-02-28", 1),
        ("in December", "2024-01-05", 0.3),
        ("from November to February", "2024-01-05", 0.3),
        ("in May 2023 or on 2 June 2023", "2023-06-02", 1),
        ("nothing dated", "2023-06-02", 0),
        ("on 7 May 2023", None, 0),
    ],
)
def test_nearness_to_broader_dates(text: str, occurred_at: str | None, proximity: float) -> None:
    assert near(text, occurred_at) == proximity


def test_nearness_to_a_relative_date() -> None:
    assert near("What did I cook last week?", "2023-06-07", ASKED_AT) == 0.8


def test_the_scores_of_nearness_are_settings() -> None:
    dates = find_dates("on 7 May 2023")
    scores = DateScores(same_day=0.9, later_days=30)
    assert date_proximity(date(2023, 5, 7), dates, scores) == 0.9
    assert date_proximity(date(2023, 5, 31), dates, scores) == 0.4


@example(date.min, "from November to March")
@example(date.max, "from November to March")
@given(
    st.dates(),
    st.sampled_from(["7 May", "in May", "in 2020", "29 February 2020", "from November to March"]),
)
def test_nearness_is_between_0_and_1_for_any_day(day: date, text: str) -> None:
    assert 0 <= date_proximity(day, find_dates(text)) <= 1
