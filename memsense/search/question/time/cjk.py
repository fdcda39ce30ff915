"""Words of Chinese and Japanese questions, which are written without blanks."""

from collections.abc import Sequence
from typing import Any

from memsense.search.question.time.lexer import FIRST_YEAR, LAST_YEAR, LONGEST_DAY, Token
from memsense.search.question.time.patterns import pattern
from memsense.search.question.time.vocabulary import Vocabulary, Word

_DIGITS = dict(zip("〇一二三四五六七八九零两兩元", (*range(10), 0, 2, 2, 1), strict=True))
PAIR, MONTHS, DAYS = 2, 12, range(1, LONGEST_DAY + 1)
_ERAS = {"昭和": 1925, "平成": 1988, "令和": 2018}
"""The year before the first one of each era."""

_NUMBER = (
    r"(?P<th>第)?(?:(?P<era>昭和|平成|令和)(?=元|\d))?"
    r"(?P<digits>\d+|[一二三四五六七八九十〇零两兩元]+)"
)
# 五月天 and 二月河 are names.
_MONTH_END = r"月(?![間天河花雪雨风風])"
_SHORT_YEAR = r"年(?:\d{1,2}月|[春夏秋冬])"
_YEAR_END = r"年|[-~〜～到至\u2013](?:19|20)\d\d年"
_DECADE_END = r"年代"
# A number before 日 is a day of the month behind these: 3月, 先月の, 5月3日から.
_BEFORE_DAY = r"(?:M|[LPXm]U|D[-ts,&])[oT]?$"
# 12号, but not 12号楼; 12日に, but not 3日に一回.
_DAY_ALONE = (
    r"[号號](?![楼樓线線馆館桌门門机機房码碼店院室位车車])|日(?:に(?![一二三\d])|は|の[朝昼夜午])"
)
_BEFORE_AGO = r"(?:[NVHr]|^|[^Y])(?:U|J|K)~?$"
_BEFORE_SEASON = r"(?:J|=)o?$"


class CjkVocabulary(Vocabulary):
    """Words of Chinese and Japanese."""

    def __init__(self) -> None:
        """Index the table."""
        super().__init__("cjk")
        self.longest = max(map(len, self.words))

    def add(self, form: str, role: str, value: Any) -> None:
        """Add a word or phrase; of two with one form the first counts."""
        self.words.setdefault(form, (role, value))

    def read(
        self,
        tokens: Sequence[Token],
        text: str,
        *,
        is_known: bool,  # noqa: ARG002 (no other language has these words)
    ) -> list[Word]:
        """Return the words of a question with their roles: the longest form at each place."""
        lowered = text.lower()
        # Dates like 2024-03-03 are read as in other languages.
        dates = {token.start: token for token in tokens if token.role and token.role in "InjzrQ"}
        words: list[Word] = []
        roles = ""
        position = 0
        while position < len(text):
            token = dates.get(position)
            form = next(
                (
                    lowered[position : position + size]
                    for size in range(self.longest, 0, -1)
                    if lowered[position : position + size] in self.words
                ),
                "",
            )
            number = None if token or len(form) > 1 else pattern(_NUMBER).match(text, position)
            if token:
                role, value, end = token.role, token.value, token.end
            elif number and (read := _read_number(number, roles)):
                role, value, end = read
            elif form:
                role, value = self.words[form]
                end = position + len(form)
                if role in "pb":
                    # 三天前 is "three days ago", 昨天前 "before yesterday".
                    role = "A" if pattern(_BEFORE_AGO).search(roles) else "b"
                    role, value = ("B", -1) if text.startswith("四半期", end) else (role, value)
                elif form == "日" and roles[-1:] == "D":
                    role = "_"
                elif role == "S" and len(form) == 1 and text[end : end + 1] != "に":
                    # 春 begins many words.
                    role = "S" if pattern(_BEFORE_SEASON).search(roles) else "#"
            else:
                role, value, end = "#", None, number.end() if number else position + 1
            if text[position:end].strip():
                words.append(Word(role, value, position, end, text[position:end]))
                roles += role
            position = end
        return words


def _read_number(match: Any, roles: str) -> tuple[str, Any, int] | None:
    """Return the role, the value and the end of a number; None if it is none of a date."""
    text, digits, end = match.string, match["digits"], match.end()
    if digits[0] == "元" and not match["era"]:
        return None
    number, after = _value_of(digits), text[end : end + 1]
    role: tuple[str, Any, int] | None = None
    if match["era"]:
        role = ("Y", _ERAS[match["era"]] + number, end) if after == "年" else None
    elif match["th"]:
        # 第一个周: the counter says nothing.
        role = "O", number, end + (after in {"个", "個"})
    elif pattern(_DECADE_END).match(text, end) and number % 10 == 0 and number <= LAST_YEAR:
        role = "i", number if number >= FIRST_YEAR else 1900 + number, end + 2
    elif FIRST_YEAR <= number <= LAST_YEAR and pattern(_YEAR_END).match(text, end):
        role = "Y", number, end
    elif digits.isdecimal() and len(digits) == PAIR and pattern(_SHORT_YEAR).match(text, end):
        role = "Y", 2000 + number, end
    elif pattern(_MONTH_END).match(text, end) and 1 <= number <= MONTHS:
        role = "M", number, end + 1 + (text[end + 1 : end + 2] == "份")
    elif after in {"日", "号", "號"} and number in DAYS and pattern(_BEFORE_DAY).search(roles):
        role = "D", (number, True), end + 1
    elif number in DAYS and pattern(_DAY_ALONE).match(text, end):
        role = "D", (number, True), end
    elif text.startswith("季度", end):
        role = "Q", number, end + 2
    elif not digits.isdecimal() and len(digits) == PAIR and "十" not in digits:
        role = "V", (_DIGITS[digits[0]], _DIGITS[digits[1]]), end  # 两三天: two or three days
    elif number < 1000:  # noqa: PLR2004
        role = "N", number, end
    return role


def _value_of(digits: str) -> int:
    """Return the value of a number in digits or Chinese characters."""
    if digits.isdecimal():
        return int(digits[:5])
    if "十" in digits:
        tens, _, ones = digits.partition("十")
        return 10 * _DIGITS.get(tens, 1) + _DIGITS.get(ones, 0)
    return int("".join(str(_DIGITS[digit]) for digit in digits[:5]))
