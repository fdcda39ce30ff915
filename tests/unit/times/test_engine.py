from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from time_readings import NOW, find, read

from memsense.search.question.time.calendar import Calendar
from memsense.search.question.time.context import MOST_INTERVALS
from memsense.search.question.time.engine import find_intervals
from memsense.search.question.time.lexer import MOST_READ
from memsense.search.question.time.tables import TABLES, Table, load_table, read_list

LANGUAGES = [load_table(code) for code in TABLES]


def test_days_are_those_of_the_askers_zone() -> None:
    now = datetime(2026, 11, 26, 16, tzinfo=UTC)
    (there,) = find("What did I do today?", now, Calendar(zone=ZoneInfo("Asia/Tokyo")))
    (here,) = find("What did I do today?", now, Calendar(zone=ZoneInfo("America/New_York")))
    assert (there.first, here.first) == (date(2026, 11, 27), date(2026, 11, 26))


@pytest.mark.parametrize(
    ("week_start", "first"),
    [("monday", "2026-11-16"), ("sunday", "2026-11-15"), ("saturday", "2026-11-14")],
)
def test_a_week_begins_on_the_day_of_the_calendar(week_start: str, first: str) -> None:
    calendar = Calendar(week_start=week_start)  # type: ignore[arg-type]
    for question in ("last week", "la semana pasada", "上周"):
        (week,) = find(question, NOW, calendar)
        assert str(week.first) == first
        assert week.last - week.first == timedelta(days=6)


def test_seasons_are_those_of_the_hemisphere() -> None:
    south = Calendar(hemisphere="south")
    (summer,) = find("in the summer of 2023", NOW, south)
    assert (str(summer.first), str(summer.last)) == ("2023-12-01", "2024-02-29")
    (winter,) = find("2023年の冬に何をした？", NOW, south)
    assert (str(winter.first), str(winter.last)) == ("2023-06-01", "2023-08-31")


@pytest.mark.parametrize(
    ("order", "days"),
    [
        ("dmy", {("2024-04-03", 1.0)}),
        ("mdy", {("2024-03-04", 1.0)}),
        ("both", {("2024-04-03", 0.7), ("2024-03-04", 0.7)}),
    ],
)
def test_a_date_in_digits_is_read_in_the_order_of_the_calendar(
    order: str, days: set[tuple[str, float]]
) -> None:
    intervals = find("on 03/04/2024", NOW, Calendar(date_order=order))  # type: ignore[arg-type]
    assert {(str(item.first), item.confidence) for item in intervals} == days


@pytest.mark.parametrize(
    ("question", "confidence", "any_year"),
    [
        ("on 3 March 2024", 1.0, False),
        ("last Tuesday", 1.0, False),
        ("two weeks ago", 1.0, False),
        ("at Easter 2024", 0.9, False),
        ("on 3 March", 0.7, True),
        ("in March", 0.7, True),
        ("a few months ago", 0.7, False),
        ("on Friday", 0.7, False),
        ("since March", 0.7, False),
        ("before 2023", 0.7, False),
        ("the other day", 0.5, False),
    ],
)
def test_a_looser_reading_has_less_confidence(
    question: str, confidence: float, any_year: bool
) -> None:
    (interval,) = find(question)
    assert (interval.confidence, interval.any_year) == (confidence, any_year)


def test_a_day_that_helps_to_name_others_is_kept_without_confidence() -> None:
    week, day = find_intervals("the week before 9 June 2023", now=NOW)
    assert (str(week.first), str(week.last)) == ("2023-06-02", "2023-06-08")
    assert (day.text, day.confidence) == ("9 June 2023", 0)


def test_an_end_alone_says_so() -> None:
    (interval,) = find_intervals("As of November 2023, where do I live?", now=NOW)
    assert (interval.bounds_end, str(interval.last)) == (True, "2023-11-30")


def test_without_the_time_of_asking_only_what_does_not_depend_on_it_is_read() -> None:
    assert find_intervals("last week", now=None) == ()
    assert find_intervals("上周", now=None) == ()
    (interval,) = find_intervals("on 3 March 2024", now=None)
    assert interval.first == date(2024, 3, 3)


@pytest.mark.parametrize(
    "text",
    [
        'Who wrote "Notes of 3 March 2024"?',
        "Who wrote «Заметки за март 2024 года»?",
        "谁写了“2024年3月”？",
        "What does `2024-03-03` mean?",
        "Why?\n```\n2024-03-03 is here\n```",
        "Why?\n2024-03-03 10:11:12 ERROR no route\n2024-03-03 10:11:13 ERROR again",
    ],
)
def test_quotations_code_and_logs_are_not_read(text: str) -> None:
    assert find_intervals(text, now=NOW) == ()


def test_a_question_is_read_to_a_limit_without_its_quotations() -> None:
    (interval,) = find('"' + 190 * "x" + '" ' * 5 + "What did I do on 3 March 2024?")
    assert interval.first == date(2024, 3, 3)
    assert find("word " * (MOST_READ // 5) + "on 3 March 2024") == []


def test_a_question_has_at_most_sixteen_intervals() -> None:
    text = "; ".join(f"{day} May 2023" for day in range(1, 29))
    assert len(find_intervals(text, now=NOW)) == MOST_INTERVALS


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    for interval in find_intervals(text, now=NOW):
        assert interval.first <= interval.last
        assert text[slice(*interval.span)] == interval.text


FEASTS = [
    *("at Easter", "last Christmas", "during the Spring Festival", "next Thanksgiving", "春节"),
    *("2010年春节", "去年中秋节", "на Пасху", "Spring Festival 2050", "Ostern 2099", "お盆"),
]


@given(st.sampled_from(FEASTS), st.integers(1950, 2090), st.integers(1, 365))
def test_a_feast_of_the_past_lies_before_today(text: str, year: int, day: int) -> None:
    now = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=day)
    for interval in find(text, now):
        assert interval.first <= now.date()
        assert interval.grain == "year" or interval.last - interval.first == timedelta(days=4)


def test_a_feast_of_the_moon_is_read_in_the_years_that_are_known() -> None:
    assert read("2024年春节") == "2024-02-08 to 2024-02-12"
    assert "春节" not in [item.text for item in find("1990年春节")]


WORDS = [
    *("last", "the", "week", "of", "May", "March", "2023", "3", "3rd", "two", "ago", "before"),
    *("vor", "drei", "Tagen", "letzten", "Freitag", "bis", "il", "y", "a", "jours", "dernier"),
    *("hace", "días", "pasado", "на", "прошлой", "неделе", "мая", "-", "and", "to", "7.5.2023"),
    *("上周", "3月3日", "から", "以来", "先週の", "0001", "9999", "31", "February", "29"),
]


@given(
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.datetimes(timezones=st.just(UTC)),
)
def test_words_of_time_can_be_read_in_any_order_at_any_time(text: str, now: datetime) -> None:
    for interval in find_intervals(text, now=now):
        assert interval.first <= interval.last
        assert not (interval.confidence and interval.first > now.date())


@given(
    st.sampled_from(LANGUAGES),
    st.integers(0, 11),
    st.integers(0, 20),
    st.integers(1, 28),
    st.integers(1900, 2099),
)
def test_every_form_of_a_month_is_read_in_a_full_date(
    table: Table, month: int, form: int, day: int, year: int
) -> None:
    forms = [name for number, name in read_list(table.months) if int(number) == month + 1]
    name = forms[form % len(forms)]
    (interval,) = find_intervals(f"{day} {name} {year}", now=NOW)
    assert interval.first == date(year, month + 1, day)


@pytest.mark.parametrize("table", LANGUAGES, ids=lambda table: table.months.split("|")[0])
def test_a_table_has_every_month_weekday_season_and_number(table: Table) -> None:
    assert len(table.months.split()) == 12
    assert len(table.weekdays.split()) == 7
    assert len(table.seasons.split()) == 4
    assert {str(number) for number in range(1, 13)} <= dict(read_list(table.numbers)).keys()


def test_of_two_languages_the_likelier_one_reads_a_word_that_both_have() -> None:
    assert read("Was ist hier passiert?") == ""
    assert read("Qu'est-il arrivé hier ?") == "2026-11-26"
