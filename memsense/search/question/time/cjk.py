"""Times in Chinese and Japanese, which are written without blanks: patterns over characters."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from memsense.search.question.time.calendar import Calendar
from memsense.search.question.time.feasts import FEAST_DAYS
from memsense.search.question.time.interval import (
    ANY_YEAR,
    EARLIEST,
    FEAST,
    FEAST_SLACK,
    FROM_TO,
    LIKELY,
    NEVER,
    PARTS,
    RECENT_DAYS,
    SURE,
    VAGUE,
    WEEK_SLACK,
    Days,
    Grain,
    Interval,
    add_units,
    latest_days,
    month_days,
    quarter_days,
    season_days,
    week_days,
    weekday_before,
    weekend_days,
    year_days,
)

TOPICLESS = re.compile(
    r"(?:我们|我們|我|都|做|干|幹|过|過|了|什么|什麼|甚麼|哪些|事情|事|发生|發生|有|在|的|吗|呢|是|里|那|天"
    r"|这|這|些|一|周|月|年|日|记|記|录|錄|写|寫|下|告诉|请|列出|所有|间|之|期|当|怎么|过得|忙|啥|情况|活动|和|从|到|至"
    r"|何|を|し|ま|せ|ん|た|どんな|こと|が|あ|り|ま|っ|か|は|に|の|で|と|も|や|へ|ど|う|て|い|る|な|ょ|だ|私|僕|俺"
    r"|自分|出来事|起き|起こ|教え|くだ|さい|書|書き留め|留め|記録|メモ|過ご|毎日|思い|出|ください|ね|よ)+"
)
"""Words of a question that asks for nothing but a time."""


def _any(words: Iterable[str]) -> str:
    """Return a pattern for one of the words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


_DIGITS = {
    **{character: number for number, character in enumerate("〇一二三四五六七八九")},
    "零": 0,
    "两": 2,
    "兩": 2,
    "元": 1,
}
_NUMBER = r"(?:\d{1,3}|[一二三四五六七八九十两兩]{1,3})"
_YEAR = r"(?<!\d)(?:19|20)\d\d|[一二][〇零九一二三四五六七八]{3}"
_AGES = {
    "去年": 1,
    "昨年": 1,
    "前年": 2,
    "一昨年": 2,
    "おととし": 2,
    "大前年": 3,
    "今年": 0,
    "本年": 0,
    "明年": -1,
    "来年": -1,
    "后年": -2,
    "後年": -2,
    "再来年": -2,
}
_ERAS = {"昭和": 1925, "平成": 1988, "令和": 2018}
"""The year before the first one of each era."""

_ERA_YEAR = rf"(?:{_any(_ERAS)})(?:元|\d\d?)"
_YEARS = rf"(?:(?P<year>{_YEAR}|{_ERA_YEAR})年度?|(?P<age>{_any(_AGES)}))[的の]?"
_PART_WORDS = {
    **dict.fromkeys(("初", "初め", "初旬", "上旬", "頭", "はじめ"), "early"),
    **dict.fromkeys(("中旬", "半ば", "なかば"), "mid"),
    **dict.fromkeys(("下旬", "末", "底", "終わり"), "late"),
}
_PARTS = rf"(?:[的の]?(?P<part>{_any(_PART_WORDS)}))?"
_SEASONS = {"春": 3, "夏": 6, "秋": 9, "冬": 12}
_CHINESE_DAYS = {name: number for number, name in enumerate("一二三四五六日")} | {"天": 6}
_JAPANESE_DAYS = {name: number for number, name in enumerate("月火水木金土日")}
# 日 begins 日程 (schedule), 一 begins 一共 (altogether).
_CHINESE_DAY = r"(?:[二三四五六天]|日(?![程期常记記用子])|一(?![共直定起些次个個般样樣]))"
_WEEK = r"(?:周|週|星期|礼拜|禮拜)"
_FEASTS = {
    "圣诞节": "christmas",
    "圣诞": "christmas",
    "聖誕節": "christmas",
    "聖誕": "christmas",
    "クリスマスイブ": "christmas_eve",
    "クリスマス": "christmas",
    "平安夜": "christmas_eve",
    "元旦": "new_year",
    "元日": "new_year",
    "正月": "new_year",
    "お正月": "new_year",
    "大晦日": "new_years_eve",
    "跨年夜": "new_years_eve",
    "跨年": "new_years_eve",
    "复活节": "easter",
    "復活節": "easter",
    "イースター": "easter",
    "復活祭": "easter",
    "情人节": "valentine",
    "情人節": "valentine",
    "バレンタインデー": "valentine",
    "バレンタイン": "valentine",
    "万圣节": "halloween",
    "萬聖節": "halloween",
    "ハロウィン": "halloween",
    "ハロウィーン": "halloween",
    "感恩节": "thanksgiving",
    "国庆节": "national_day_cn",
    "国庆": "national_day_cn",
    "國慶": "national_day_cn",
    "劳动节": "labour_day",
    "五一劳动节": "labour_day",
    "勞動節": "labour_day",
    "五一": "labour_day",
    "春节": "spring_festival",
    "春節": "spring_festival",
    "中秋节": "mid_autumn",
    "中秋": "mid_autumn",
    "お盆": "obon",
    "ゴールデンウィーク": "golden_week",
    "GW": "golden_week",
}
_NAMED = {
    **dict.fromkeys(("今天", "今日", "本日", "今早", "今朝", "きょう"), 0),
    **dict.fromkeys(("昨天", "昨日", "昨晚", "昨夜", "昨晩", "きのう", "ゆうべ"), 1),
    **dict.fromkeys(("前天", "前晚", "一昨日", "おととい", "一昨晩"), 2),
    **dict.fromkeys(("大前天", "一昨々日", "さきおととい"), 3),
    **dict.fromkeys(("明天", "明日", "あした", "明早", "明晚"), -1),
    **dict.fromkeys(("后天", "後天", "明後日", "あさって"), -2),
}
_TONIGHT = ("今晚", "今夜", "今晩")
_RECENTLY = (
    *("前几天", "前幾天", "前些天", "前些日子", "前阵子", "前陣子"),
    *("先日", "この間", "こないだ", "この前"),
)
_UNITS = {
    **dict.fromkeys(("小时", "小時", "時間", "个小时", "個小時"), "hour"),
    **dict.fromkeys(("天", "日", "日間"), "day"),
    **dict.fromkeys(("周", "週", "週間", "星期", "个星期", "個星期", "个礼拜"), "week"),
    **dict.fromkeys(
        ("个月", "個月", "か月", "ヶ月", "カ月", "ケ月", "ヵ月", "箇月", "か月間"), "month"
    ),
    **dict.fromkeys(("年", "年間"), "year"),
}
_UNIT = rf"(?P<unit>{_any(_UNITS)})"
_VAGUE = r"好几|好幾|几|幾|数|數|何|若干"
_VAGUE_COUNT = re.compile(_VAGUE)
_COUNT = rf"(?P<count>\d[、,~〜-]\d|{_NUMBER}|{_VAGUE}|半)"
_LOOSE = r"(?:半|多|か|ほど|くらい|ぐらい|左右)?"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """An interval before its year is known, and its place in the question."""

    days: Days
    grain: Grain
    start: int
    stop: int
    reading: str = ""
    confidence: float = SURE
    any_year: bool = False
    bounds_end: bool = False


_HOURS = r"(?:の?(?:早上|上午|中午|下午|傍晚|晚上|夜里|早晨|凌晨|朝|午前|昼|午後|夕方|晩|夜))?"
_DAY = re.compile(
    rf"(?:{_YEARS})?(?<!\d)(?P<month>{_NUMBER})月(?P<day>{_NUMBER})[日号號]"
    rf"(?:[,，]?\s?{_WEEK}{_CHINESE_DAY}|[(（][月火水木金土日一二三四五六][)）])?{_HOURS}"
)
_WEEK_OF_MONTH = re.compile(
    rf"(?:{_YEARS})?(?<!\d)(?P<month>{_NUMBER})月份?[的の]?"
    rf"(?:第(?P<week>[一二三四五1-5])(?:个|個)?|(?P<last>最后一|最後の|最終)(?:个|個)?){_WEEK}"
)
_HALF = re.compile(rf"{_YEARS}(?P<half>上半年|下半年|前半|後半|上半期|下半期|上期|下期)")
_MONTH = re.compile(rf"(?:{_YEARS})?(?<!\d)(?P<month>{_NUMBER})月(?!\d)份?{_PARTS}")
_SEASON = re.compile(
    rf"(?:{_YEARS}|(?P<first>(?<!\d)(?:19|20)\d\d)(?=[到至\u2013~〜/-]))"
    r"(?:(?:到|至|から|[-\u2013~〜/])(?:(?:19|20)?\d\d)年?)?(?:にかけて)?[的の]?"
    r"(?P<season>[春夏秋冬])(?:天|季|の間)?(?![节節])"
)
_SEASON_ALONE = re.compile(r"(?P<season>[春夏秋冬])(?:天(?!空)|季|(?=[に]))")
_QUARTER = re.compile(rf"(?:{_YEARS})?第?(?P<quarter>[一二三四1-4])(?:个|個)?(?:季度|四半期)")
_YEAR_ALONE = re.compile(rf"{_YEARS}")
_FEAST = re.compile(rf"(?:{_YEARS})?(?P<feast>{_any(_FEASTS)})")
_DECADE = re.compile(r"(?<!\d)(?P<decade>(?:19|20)?\d0|[五六七八九]十)年代")
_NAMED_DAY = re.compile(
    rf"(?<!大)(?P<named>{_any(_NAMED)})(?!性){_HOURS}|(?P<tonight>{_any(_TONIGHT)})"
)
_RECENT_DAY = re.compile(rf"{_any(_RECENTLY)}(?!の)")
_THIS_WEEK = re.compile(
    rf"(?P<which>上上|上|这|這|本|下下|下)(?:一)?(?:个|個)?{_WEEK}(?:[的の]?"
    rf"(?:{_WEEK}?(?P<chinese>{_CHINESE_DAY}){_HOURS}|(?P<weekend>{_WEEK}?末)))?"
    r"|(?P<which2>先々週|先先週|先週|前の週|今週|再来週|来週)の?"
    rf"(?:(?P<japanese>[月火水木金土日])曜日?{_HOURS}|(?P<weekend2>週?末))?"
    r"|(?P<which3>上上?|这|這|本|下)(?:个|個)(?P<weekend3>周末|週末)"
    r"|(?P<which4>この|今度の|前の)(?P<weekend4>週末)"
)
_WEEKDAY = re.compile(
    rf"(?<![上下这這本每毎个個]){_WEEK}(?P<chinese>{_CHINESE_DAY}|末(?!愉快|快乐)){_HOURS}"
    rf"|(?P<latest>この前の|前の|直近の|直前の|最後の|最近の|先の)?(?P<japanese>[月火水木金土日])曜日?(?!大工|紙){_HOURS}"
)
_THIS_MONTH = re.compile(
    r"(?:(?P<which>上上|上|这|這|本|下)(?:一)?(?:个|個)?月|(?P<which2>先々月|先月|前の月|今月|来月))"
    rf"(?:[的の]?(?P<day>{_NUMBER})[日号號]|{_PARTS})"
)
_THIS_QUARTER = re.compile(
    r"(?P<which>上|这|這|本|下)(?:一)?(?:个|個)?季度|(?P<which2>前|今|来)四半期"
)
_AGO = re.compile(
    rf"(?<![\d月年第]){_COUNT}{_UNIT}{_LOOSE}(?:之前|以前|前)|(?P<half>半)(?P<half_unit>年|个月|個月|月)(?:ほど)?(?:之前|前)"
)
_RECENT = re.compile(
    rf"(?:最近|过去|過去|近|这|這|ここ|この)の?(?:的)?{_COUNT}{_UNIT}(?!前)(?:以?内|里|の間|间|間)?"
)
_STEPS = {
    "上上": -2,
    "先々週": -2,
    "先先週": -2,
    "先々月": -2,
    **dict.fromkeys(("上", "先週", "前の週", "先月", "前の月", "前", "前の"), -1),
    **dict.fromkeys(("这", "這", "本", "今週", "今月", "今", "この"), 0),
    **dict.fromkeys(("下", "来週", "来月", "来", "今度の"), 1),
    "下下": 2,
    "再来週": 2,
}
_WEEK_AFTER_DAY = re.compile(
    r"(?:所在|当天)?(?:的|那|这|這|の)?(?:那|这|這)?(?:一|1)?(?:个|個)?(?:周|週|星期|礼拜)(?![一二三四五六日天末])"
)
_WEEK_FROM_DAY = re.compile(
    r"(?:开始|開始|起|からの?|から始まる|に始まる)(?:的|の)?(?:那|这|這)?(?:一|1)?(?:个|個)?(?:周|週間?|星期)"
)
_LINK = re.compile(r"(?:から|到|至|[-\u2013\u2014~〜～]|和|与|與|跟|と)")
_AND = frozenset("和与與跟と")
_BETWEEN = re.compile(r"(?:之间|之間|の間|间|間)")
_AFTERWARDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:まで(?:に|は)|为止|為止|時点|的时候)"), "by"),
    (re.compile(r"(?:以来|以來|以降|から|起(?![床来因初身飞])|开始|開始)"), "since"),
    (re.compile(r"(?:までの?|之前|以前|より前|の前|前)"), "before"),
    (re.compile(r"(?:之后|之後|以后|以後|より後|の?後(?!半)|のあと|后(?!半))"), "after"),
)
_BY = re.compile(r"(?:截至|截止到?|到)$")
_FROM = re.compile(r"(?:自从?|自從|从|從)$")
_FUTURE = re.compile(r"将(?:要|会)|將(?:要|會)|打算|会做什么|要做什么|つもり")
_WEEKS_BESIDE = re.compile(
    r"の?(?:的)?(?P<side>前|后|後|之前|之后)(?:の|的)?(?:一|1)?(?:周|週|週間)"
)


def find_cjk(text: str, *, now: datetime | None, calendar: Calendar) -> list[Interval]:
    """Return the times that a Chinese or Japanese question names.

    Args:
        text: The question, without its quotations.
        now: When it is asked; None leaves out what depends on it.
        calendar: The calendar of the one who asks.
    """
    reader = _Reader(text, now, calendar)
    readings: list[_Reading] = []
    for pattern, read in _RULES:
        for match in pattern.finditer(text):
            try:
                readings += read(reader, match)
            except (ValueError, OverflowError):
                continue  # 31 June, or a year before the first one of the calendar
    chosen: list[_Reading] = []
    for item in sorted(readings, key=lambda it: (it.start - it.stop, it.start)):
        place = (item.start, item.stop)
        if all(
            place == (it.start, it.stop) or it.stop <= item.start or it.start >= item.stop
            for it in chosen
        ):
            chosen.append(item)
    chosen.sort(key=lambda it: (it.start, it.stop))
    return [
        reader.finish(item)
        for joined in reader.join(chosen)
        for item in reader.apply_words_around(joined)
    ]


def _read_number(digits: str) -> int:
    """Return the value of a number in digits or Chinese characters."""
    if digits.isdecimal():
        return int(digits)
    if "十" in digits:
        tens, _, ones = digits.partition("十")
        return 10 * (_DIGITS[tens] if tens else 1) + (_DIGITS[ones] if ones else 0)
    return int("".join(str(_DIGITS[digit]) for digit in digits))


class _Reader:
    """Reader of one question."""

    def __init__(self, text: str, now: datetime | None, calendar: Calendar) -> None:
        self.text = text
        self.now = now
        self.today = now.date() if now else None
        self.calendar = calendar
        self.is_future = _FUTURE.search(text) is not None

    def _year(self, match: re.Match[str]) -> int | None:
        """Return the year that a match names; None for none."""
        if match["year"]:
            era = _ERAS.get(match["year"][:2])
            return era + _read_number(match["year"][2:]) if era else _read_number(match["year"])
        if match["age"] and self.today:
            return self.today.year - _AGES[match["age"]]
        return None

    def _read(
        self, match: re.Match[str], days: Days, grain: Grain, reading: str, confidence: float = SURE
    ) -> _Reading:
        return _Reading(
            days=days,
            grain=grain,
            start=match.start(),
            stop=match.start() + len(match[0].rstrip("的の")),
            reading=reading,
            confidence=confidence,
        )

    def day(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 2024年3月3日 and 3月3日."""
        year = self._year(match)
        there = date(year or ANY_YEAR, _read_number(match["month"]), _read_number(match["day"]))
        reading = self._read(match, (there, there), "day", "day")
        yield replace(reading, any_year=year is None)

    def month(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 2024年3月, 3月 and 3月上旬."""
        year, month = self._year(match), _read_number(match["month"])
        days = month_days(year or ANY_YEAR, month)
        reading = self._read(match, self._part(match, days), "month", "month")
        if match["part"]:
            reading = replace(reading, grain="range", reading="part of the month")
        yield replace(reading, any_year=year is None)

    def _part(self, match: re.Match[str], days: Days) -> Days:
        """Return the part of a month that the match names, else the month."""
        if not match["part"]:
            return days
        first, last = PARTS[_PART_WORDS[match["part"]]]
        return days[0].replace(day=first), days[0].replace(day=min(last, days[1].day))

    def week_of_month(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 5月第一周 and 5月の最終週."""
        year, month = self._year(match), _read_number(match["month"])
        first, last = month_days(year or ANY_YEAR, month)
        start = last - timedelta(days=6)
        if match["week"]:
            start = first + timedelta(weeks=_read_number(match["week"]) - 1)
        days = (start, min(start + timedelta(days=6), last))
        yield replace(self._read(match, days, "week", "week of the month"), any_year=year is None)

    def half(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 2023年上半年."""
        year = self._year(match)
        if year is not None:
            month = 1 if match["half"][0] in "上前" else 7
            yield self._read(match, month_days(year, month, 6), "range", "half of the year")

    def season(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 2023年夏天, 2023年から2024年にかけての冬, 去年の夏."""
        year = int(match["first"]) if match["first"] else self._year(match)
        if year is not None:
            days = season_days(year, _SEASONS[match["season"]], self.calendar.hemisphere)
            if match["age"] and self.today and days[0] > self.today and match["age"] != "今年":
                return
            yield self._read(match, days, "season", "season")

    def season_alone(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 夏天 and 夏に: the latest summer."""
        days = season_days(ANY_YEAR, _SEASONS[match["season"]], self.calendar.hemisphere)
        yield replace(self._read(match, days, "season", "the latest such season"), any_year=True)

    def quarter(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 2024年第三季度."""
        year = self._year(match)
        if year is None and "第" not in match[0]:
            return
        days = quarter_days(year or ANY_YEAR, _read_number(match["quarter"]))
        yield replace(self._read(match, days, "quarter", "quarter"), any_year=year is None)

    def year(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 2024年 and 去年."""
        year = self._year(match)
        if year is not None:
            confidence = NEVER if self.today and year > self.today.year else SURE
            yield self._read(match, year_days(year), "year", "year", confidence)

    def decade(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 90年代."""
        first = _read_number(match["decade"])
        first += 1900 if first < 100 else 0  # noqa: PLR2004
        yield self._read(match, (date(first, 1, 1), date(first + 9, 12, 31)), "range", "decade")

    def feast(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 2024年圣诞节 and お盆."""
        find_day, year = FEAST_DAYS[_FEASTS[match["feast"]]], self._year(match)
        if year is None and self.today is None:
            return
        if year is None:
            assert self.today is not None
            nearby = [find_day(self.today.year + shift) for shift in (0, -1)]
            day = next((day for day in nearby if day and day <= self.today), None)
        else:
            day = find_day(year)
        if day is None:
            return
        days = (day - FEAST_SLACK, day + FEAST_SLACK)
        yield self._read(match, days, "range", f"2 days either side of {day}", FEAST)

    def named(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 昨天 and 今晚."""
        if self.today is None or self.now is None:
            return
        age = _NAMED[match["named"]] if match["named"] else 0
        day = self.today - timedelta(days=age)
        confidence = SURE
        if match["tonight"]:
            confidence = LIKELY if self.now.hour >= 18 else NEVER  # noqa: PLR2004
        yield self._read(match, (day, day), "day", match[0], confidence)

    def recently(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 前几天."""
        if self.today:
            days = (self.today - timedelta(days=RECENT_DAYS), self.today - timedelta(days=1))
            yield self._read(match, days, "range", "the last two weeks", VAGUE)

    def this_week(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 上周, 上周末, 上周二 (the latest Tuesday, or that of the last calendar week)."""
        if self.today is None:
            return
        which = match["which"] or match["which2"] or match["which3"] or match["which4"]
        step = _STEPS[which]
        there = self.today + timedelta(weeks=step)
        if any(match[name] for name in ("weekend", "weekend2", "weekend3", "weekend4")):
            yield self._read(match, weekend_days(there), "weekend", "calendar weekend")
            return
        first, last = week_days(there, self.calendar.week_start)
        if not (match["chinese"] or match["japanese"]):
            yield self._read(match, (first, last), "week", "calendar week")
            return
        weekday = (
            _CHINESE_DAYS[match["chinese"]]
            if match["chinese"]
            else _JAPANESE_DAYS[match["japanese"]]
        )
        day = first + timedelta(days=(weekday - first.weekday()) % 7)
        yield self._read(match, (day, day), "day", f"{day:%A} of that calendar week")
        latest = weekday_before(self.today, weekday)
        if step == -1 and latest != day:
            yield self._read(match, (latest, latest), "day", f"the latest {day:%A}")

    def weekday(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 周五 and 金曜日."""
        if self.today is None or self.text[: match.start()].endswith(
            ("毎週", "每个", "次の", "来週の")
        ):
            return
        if match["chinese"] == "末":
            days = weekend_days(self.today)
            if days[0] > self.today:
                days = weekend_days(self.today - timedelta(weeks=1))
            yield self._read(match, days, "weekend", "the latest weekend", LIKELY)
            return
        weekday = (
            _CHINESE_DAYS[match["chinese"]]
            if match["chinese"]
            else _JAPANESE_DAYS[match["japanese"]]
        )
        edge = self.today if match["latest"] else self.today + timedelta(days=1)
        day = weekday_before(edge, weekday)
        if self.is_future:
            day += timedelta(weeks=1)
        confidence = NEVER if self.is_future else SURE if match["latest"] else LIKELY
        yield self._read(match, (day, day), "day", f"the latest {day:%A}", confidence)

    def this_month(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 上个月, 上个月5号 and 先月の初め."""
        if self.today is None:
            return
        there = add_units(self.today, "month", _STEPS[match["which"] or match["which2"]])
        days = month_days(there.year, there.month)
        if match["day"]:
            day = days[0].replace(day=_read_number(match["day"]))
            yield self._read(match, (day, day), "day", "day of that month")
        else:
            grain: Grain = "range" if match["part"] else "month"
            yield self._read(match, self._part(match, days), grain, "calendar month")

    def this_quarter(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 上个季度."""
        if self.today:
            step = _STEPS[match["which"] or match["which2"]]
            there = add_units(self.today, "quarter", step)
            days = quarter_days(there.year, (there.month + 2) // 3)
            yield self._read(match, days, "quarter", "calendar quarter")

    def ago(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 两周前, 数か月前 and 半年前."""
        if self.today is None or self.now is None:
            return
        if match["half"] or match["count"] == "半":
            unit = match["half_unit"] or match["unit"]
            months = 6 if unit == "年" else 0
            days = (
                month_days(*_year_month(add_units(self.today, "month", -months)))
                if months
                else (self.today - timedelta(days=18), self.today - timedelta(days=12))
            )
            yield self._read(match, days, "month" if months else "range", match[0])
            return
        unit = _UNITS[match["unit"]]
        least, count = self._count(match["count"])
        slack = count - least
        earliest = add_units(self.today, unit, -count)
        latest = add_units(self.today, unit, -least)
        grain: Grain = "day"
        if unit == "hour":
            earliest = latest = (self.now - timedelta(hours=count)).date()
        elif unit == "week":
            earliest, latest, grain = earliest - WEEK_SLACK, latest + WEEK_SLACK, "week"
        elif unit == "month":
            earliest = earliest.replace(day=1)
            latest, grain = month_days(latest.year, latest.month)[1], "month"
        elif unit == "year":
            earliest, latest = date(earliest.year, 1, 1), date(latest.year, 12, 31)
            grain = "year"
        confidence = LIKELY if slack else SURE
        grain = "range" if slack else grain
        yield self._read(match, (earliest, latest), grain, f"{count} {unit}s ago", confidence)

    def recent(self, match: re.Match[str]) -> Iterator[_Reading]:
        """Read 过去三天 and この1週間."""
        if self.today is None:
            return
        unit = _UNITS[match["unit"]]
        if match["count"] == "半":
            months = 6 if unit == "year" else 0
            first = (
                add_units(self.today, "month", -months)
                if months
                else self.today - timedelta(days=15)
            )
            yield self._read(match, (first, self.today), "range", match[0])
            return
        least, count = self._count(match["count"])
        slack = count - least
        first = add_units(self.today, unit, -count)
        confidence = LIKELY if slack else SURE
        yield self._read(
            match, (first, self.today), "range", f"the last {count} {unit}s", confidence
        )

    def _count(self, word: str) -> tuple[int, int]:
        """Return how many units a phrase counts, at least and at most."""
        if _VAGUE_COUNT.fullmatch(word):
            return 2, 4
        if len(word) == 3 and word[1] in "、,~〜-":  # noqa: PLR2004
            return int(word[0]), int(word[2])
        if len(word) == 2 and "十" not in word and not word.isdecimal():  # noqa: PLR2004
            return _DIGITS[word[0]], _DIGITS[word[1]]  # 两三天: two or three days
        return _read_number(word), _read_number(word)

    def join(self, readings: list[_Reading]) -> Iterator[_Reading]:
        """Yield the readings, 3月から5月 as one range."""
        waiting: _Reading | None = None
        for second in self._with_short_ends(readings):
            first, waiting = waiting, second
            if first is None:
                continue
            link = _LINK.fullmatch(self.text, first.stop, second.start)
            is_between = bool(_BETWEEN.match(self.text, second.stop))
            if (
                link is None
                or "range" in {first.grain, second.grain}
                or (link[0] in _AND and not is_between)
            ):
                yield first
                continue
            days, any_year = (first.days[0], second.days[1]), first.any_year
            if second.any_year and not first.any_year:
                end = second.days[1].replace(year=first.days[0].year)
                days = (first.days[0], end)
            elif first.any_year and not second.any_year:
                days, any_year = (
                    (first.days[0].replace(year=second.days[0].year), second.days[1]),
                    False,
                )
            if days[0] > days[1]:
                yield first
                continue
            waiting = replace(
                first,
                days=days,
                grain="range",
                stop=second.stop,
                any_year=any_year,
                reading=FROM_TO,
            )
        if waiting:
            yield waiting

    def _with_short_ends(self, readings: list[_Reading]) -> Iterator[_Reading]:
        """Yield the readings, and behind 5月3日到 also the day 7日."""
        for item in readings:
            yield item
            match = _SHORT_END.match(self.text, item.stop) if item.grain == "day" else None
            if match:
                day = _read_number(match["day"])
                if (
                    item.days[0].day
                    < day
                    <= month_days(item.days[0].year, item.days[0].month)[1].day
                ):
                    there = item.days[0].replace(day=day)
                    yield replace(
                        item, days=(there, there), start=match.start("day"), stop=match.end()
                    )

    def apply_words_around(self, item: _Reading) -> Iterator[_Reading]:
        """Yield what the words around a time make of it: の週, 以来, 之前."""
        text, start, stop = self.text, item.start, item.stop
        days = self._latest(item)
        if item.grain == "day" and days[0] == days[1]:
            if match := _WEEK_FROM_DAY.match(text, stop):
                last = days[0] + timedelta(days=6)
                reading = "7 days from it"
                yield replace(
                    item, days=(days[0], last), grain="week", stop=match.end(), reading=reading
                )
                return
            if match := _WEEKS_BESIDE.match(text, stop):
                shift = timedelta(days=7 if match["side"] in {"后", "後", "之后"} else -7)
                edges = sorted((days[0] + shift, days[0] + shift / 7))
                yield replace(
                    item,
                    days=(edges[0], edges[1]),
                    grain="range",
                    stop=match.end(),
                    reading="7 days next to it",
                )
                return
            if match := _WEEK_AFTER_DAY.match(text, stop):
                week = week_days(days[0], self.calendar.week_start)
                reading = "the calendar week around it"
                yield replace(item, days=week, grain="week", stop=match.end(), reading=reading)
                return
        if self.today is None or not item.confidence:
            yield item
            return
        if item.reading == FROM_TO:
            yield item
            return
        before = _BY.search(text, 0, start)
        kind, end = ("by", stop) if before and before[0] != "到" else ("", stop)
        for pattern, name in _AFTERWARDS:
            match = pattern.match(text, stop)
            if match and not kind and item.reading != "since":
                kind, end = name, match.end()
        if not kind and _FROM.search(text, 0, start):
            kind = "since"
        bounds = {
            "since": (days[0], self.today),
            "after": (days[1] + timedelta(days=1), self.today),
            "before": (EARLIEST, days[0] - timedelta(days=1)),
        }
        if kind == "by":
            yield replace(item, bounds_end=True, confidence=NEVER, reading="the end of the time")
        elif (
            kind
            and bounds[kind][0] <= bounds[kind][1]
            and (item.grain != "range" or kind != "since")
        ):
            if "まで" in text[stop:end]:
                bounds["before"] = (EARLIEST, days[1])
            yield replace(
                item,
                days=bounds[kind],
                grain="range",
                stop=end,
                any_year=False,
                confidence=LIKELY,
                reading=f"{kind} it",
            )
        else:
            yield item

    def _latest(self, item: _Reading) -> Days:
        if not item.any_year or self.today is None:
            return item.days
        return latest_days(item.days, self.today, is_future=self.is_future)

    def finish(self, item: _Reading) -> Interval:
        """Return the interval of a reading."""
        days = self._latest(item)
        confidence = (
            min(item.confidence, LIKELY) if item.any_year and self.today else item.confidence
        )
        if self.today and days[0] > self.today:
            confidence = NEVER
        return Interval(
            first=days[0],
            last=days[1],
            grain=item.grain,
            confidence=confidence,
            reading=item.reading,
            text=self.text[item.start : item.stop],
            span=(item.start, item.stop),
            any_year=item.any_year,
            bounds_end=item.bounds_end,
        )


def _year_month(day: date) -> tuple[int, int]:
    return day.year, day.month


_SHORT_END = re.compile(rf"(?:から|到|至|[-\u2013~〜～])(?P<day>{_NUMBER})[日号號]")
_RULES: tuple[
    tuple[re.Pattern[str], Callable[[_Reader, re.Match[str]], Iterator[_Reading]]], ...
] = (
    (_DAY, _Reader.day),
    (_MONTH, _Reader.month),
    (_WEEK_OF_MONTH, _Reader.week_of_month),
    (_HALF, _Reader.half),
    (_SEASON, _Reader.season),
    (_SEASON_ALONE, _Reader.season_alone),
    (_QUARTER, _Reader.quarter),
    (_YEAR_ALONE, _Reader.year),
    (_DECADE, _Reader.decade),
    (_FEAST, _Reader.feast),
    (_NAMED_DAY, _Reader.named),
    (_RECENT_DAY, _Reader.recently),
    (_THIS_WEEK, _Reader.this_week),
    (_WEEKDAY, _Reader.weekday),
    (_THIS_MONTH, _Reader.this_month),
    (_THIS_QUARTER, _Reader.this_quarter),
    (_AGO, _Reader.ago),
    (_RECENT, _Reader.recent),
)
