"""Heads of chats in the languages of CLDR: their dates and times are read to the minute."""

from collections.abc import Callable, Sequence
from datetime import date, datetime, time

import pytest

from memsense.errors import IngestError
from memsense.ingest import ReadOptions, ReadReport
from memsense.ingest.chat_words import HEADS, format_clock, format_day, read_hour
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

MOMENTS = [
    datetime(2026, 3, day, hour, minute)  # noqa: DTZ001 (as a chat writes it)
    for day, hour, minute in ((5, 21, 14), (6, 0, 3), (13, 9, 5), (21, 18, 30), (28, 23, 59))
]
FORMS = ("[{}, {}] Nils: {}\n", "{}, {} - Nils: {}\n")


def minutes(conversations: Sequence[Conversation]) -> list[str | None]:
    return [m.at and f"{m.at:%Y-%m-%d %H:%M}" for one in conversations for m in one.messages]


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        (
            [
                "2024년 3월 5일 오후 9:14, ", "2024년 3월 5일 오전 12:03, ",
                "2024년 3월 6일 오전 9:05, ",
            ],
            ["2024-03-05 21:14", "2024-03-05 00:03", "2024-03-06 09:05"],
        ),
        (
            [
                "[26. 3. 5., 오후 9:14:00] ", "[26. 3. 6., 오전 12:03:00] ",
                "[26. 3. 8., 오전 1:00:01] ",
            ],
            ["2026-03-05 21:14", "2026-03-06 00:03", "2026-03-08 01:00"],
        ),
        (
            [
                "5 de mar. de 2026, 21:14 - ", "6 de abr. de 2026, 0:03 - ",
                "7 de abr. de 2026, 9:05 - ",
            ],
            ["2026-03-05 21:14", "2026-04-06 00:03", "2026-04-07 09:05"],
        ),
        (
            [
                "٥/٣/٢٠٢٦، ٩:١٤ م - ", "٦/٣/٢٠٢٦، ١٢:٠٣ ص - ",
                "١٣/٣/٢٠٢٦، ٩:٠٥ ص - ",
            ],
            ["2026-03-05 21:14", "2026-03-06 00:03", "2026-03-13 09:05"],
        ),
        (
            [
                "[2026/3/5 晚上9:14] ", "[2026/3/6 凌晨12:03] ",
                "[2026/3/13 上午9:05] ",
            ],
            ["2026-03-05 21:14", "2026-03-06 00:03", "2026-03-13 09:05"],
        ),
        (
            ["5/3/2569, 21:14 - ", "6/3/2569, 0:03 - ", "13/3/2569, 9:05 - "],
            ["2026-03-05 21:14", "2026-03-06 00:03", "2026-03-13 09:05"],
        ),
        (
            [
                "5.03.26, Kl. 21.14 - ", "6.03.26, Kl. 0.03 - ",
                "13.03.26, Kl. 9.05 - ",
            ],
            ["2026-03-05 21:14", "2026-03-06 00:03", "2026-03-13 09:05"],
        ),
        (
            [
                "[Mar 5, 2026, 9:14\u202fPM] ", "[Mar 6, 2026, 12:03\u202fAM] ",
                "[Apr 1, 2026, 9:05 AM] ",
            ],
            ["2026-03-05 21:14", "2026-03-06 00:03", "2026-04-01 09:05"],
        ),
    ],
)  # fmt: skip
def test_words_around_a_date_are_read(
    heads: list[str], expected: list[str], read_log: ReadLog
) -> None:
    conversations, report = read_log("".join(f"{head}Nils : hi\n" for head in heads), name="c.txt")
    assert minutes(conversations) == expected
    assert report.detected["c.txt"][0] == "whatsapp"
    assert report.unusable_times == 0


def test_an_open_month_gives_no_time_and_is_counted(read_log: ReadLog) -> None:
    # "lip" is July in Polish and June in Croatian.
    text = "".join(f"[{day} lip 2026, 21:14] Nils: hi\n" for day in (5, 6, 7))
    conversations, report = read_log(text, name="c.txt")
    assert minutes(conversations) == [None] * 3
    assert report.unusable_times == 3


def test_a_month_that_few_languages_read_otherwise_has_a_note(read_log: ReadLog) -> None:
    text = "".join(f"[{day} mar 2026, 21:14] Nils: hi\n" for day in (5, 6, 7))
    conversations, report = read_log(text, name="c.txt")
    assert minutes(conversations)[0] == "2026-03-05 21:14"
    assert report.warnings == ["c.txt: its months are read as most languages name them"]


@pytest.mark.parametrize(
    "line",
    [
        "2024-03-05 21:14, level: a value",  # a comma ends only heads with words
        "[5 foo 2026, 21:14] Nils: hi",
        "[5/3/2026, 9:14 xx] Nils: hi",
    ],
)
def test_unknown_words_are_no_head(line: str, read_log: ReadLog) -> None:
    with pytest.raises(IngestError):
        read_log(f"{line}\n" * 3, name="c.txt")


def test_the_half_of_a_day_is_the_one_with_the_hour() -> None:
    assert read_hour(8, "", "in the evening") == 20
    # It is night by then in English, and evening in no language that has these words.
    assert read_hour(9, "", "in the evening") == 24
    assert read_hour(13, "", "pm") is None
    assert read_hour(9, "", "no such word") is None
    assert format_clock("12:03", "오전 ") == "00:03"
    assert format_clock("9:02pm", None) == "21:02"
    assert format_day("Wed, 11/18/2026", None) == "2026-11-18"
    assert format_day("Wed, 11/12/2026", "dmy") == "2026-12-11"
    assert format_day("no date", None) == ""


# All languages ------------------------------------------------------------------------------------

# Languages that fail in some form that is not their usual one, and why.
FAILING = {
    "blo": "refused: the half of the day has a digit",
    "sa": "refused: a month ends with a colon",
    **dict.fromkeys(
        "sn nd teo tpi nr zu bas xh mgh cy ig saq kln".split(),
        "no time: the name of March is another month's in another language",
    ),
    **dict.fromkeys(
        "eu ku smn fi".split(),
        "no time: the word of a half of the day leaves the hour open, as other languages use it",
    ),
}


@pytest.mark.full
def test_every_language_is_read_to_the_minute_or_says_that_it_is_not(read_log: ReadLog) -> None:
    locales = pytest.importorskip("tools.locales", reason="needs babel")
    from babel import dates

    usual: dict[str, set[bool]] = {}
    failed: dict[str, set[str]] = {}
    for code in locales.list_languages():
        for width in ("short", "medium"):
            for number, clock in enumerate(locales.list_clocks(code)):
                for form in FORMS:
                    text = "".join(
                        form.format(
                            dates.format_date(date(at.year, at.month, at.day), width, locale=code),
                            dates.format_time(time(at.hour, at.minute), clock, locale=code),
                            "hello there",
                        )
                        for at in MOMENTS
                    )
                    fault = _find_fault(read_log, text)
                    if fault:
                        failed.setdefault(code, set()).add(fault)
                    if width == "short" and number == 0:
                        usual.setdefault(code, set()).add(not fault)
    assert len(usual) >= 312
    # The short date with the language's own clock, as WhatsApp writes them.
    assert [code for code, read in usual.items() if False in read] == []
    assert "wrong" not in set().union(*failed.values())
    for code, faults in failed.items():
        assert faults <= {"noted", FAILING[code].partition(":")[0]}
    assert len(FAILING) == 19


def _find_fault(read_log: ReadLog, text: str) -> str | None:
    try:
        conversations, report = read_log(text, ReadOptions(), name="c.txt")
    except IngestError:
        return "refused"
    times = minutes(conversations)
    if len(times) < len(MOMENTS):
        return "refused"
    if times == [f"{at:%Y-%m-%d %H:%M}" for at in MOMENTS]:
        return None
    if None in times and report.unusable_times == times.count(None):
        return "no time"
    return "noted" if report.warnings else "wrong"


@pytest.mark.full
def test_the_words_are_those_of_cldr() -> None:
    locales = pytest.importorskip("tools.locales", reason="needs babel")
    import json

    assert json.loads(HEADS.read_text(encoding="utf-8")) == locales.collect_words()
    assert HEADS.stat().st_size < 60_000
