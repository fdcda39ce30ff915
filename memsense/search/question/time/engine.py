"""Times that a question names, read by one grammar with a table of words for each language.

A question becomes a short string of roles in each language that it may be of: "the last week of
May 2023" is "dLUoMY" (`vocabulary.py`, `cjk.py`). The rules are patterns over these letters and
hold for every language (`rules.py`), and so does what the words around a time make of it
(`context.py`). A question without a number and without a word of time costs one look at its words.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import NamedTuple

from memsense.search.question.time.calendar import DEFAULT_CALENDAR, Calendar
from memsense.search.question.time.cjk import CjkVocabulary
from memsense.search.question.time.context import (
    apply_words_around,
    choose_intervals,
    choose_readings,
    join_readings,
)
from memsense.search.question.time.interval import Interval
from memsense.search.question.time.lexer import Token, read_visible, split_tokens
from memsense.search.question.time.patterns import pattern
from memsense.search.question.time.rules import read_times
from memsense.search.question.time.sentence import Sentence
from memsense.search.question.time.tables import (
    TABLES,
    load_table,
    read_forms,
    read_list,
    split_form,
)
from memsense.search.question.time.vocabulary import (
    Vocabulary,
    Word,
    load_vocabulary,
    strip_accents,
)

CJK = "[\u3040-\u30ff\u3400-\u9fff]"
_LETTERS = r"[^\W\d_]+"
_DAY_LEADS = frozenset("am vom zum le du el del día".split())


class _Language(NamedTuple):
    """Words by which a question shows its language."""

    strong: frozenset[str]
    """Words of time: without one, only a number can name a time."""
    common: frozenset[str]


@cache
def _languages() -> dict[str, _Language]:
    """Return the languages by the names of their tables."""
    languages: dict[str, _Language] = {}
    for code in TABLES:
        table = load_table(code)
        ends = {split_form(form)[-1] for form, _, _ in table.entries_of_times()}
        strong = frozenset(ends | set(map(strip_accents, ends)))
        languages[code] = _Language(strong, frozenset(read_forms(table.common)))
    return languages


@cache
def _hyphenated() -> frozenset[str]:
    """Return the words after which a hyphen may stand before a number: "mid-2023"."""
    return frozenset(
        form.rpartition(" ")[2]
        for table in map(load_table, TABLES)
        for _, form in (*read_list(table.months), *read_list(table.parts))
    )


@cache
def _load_cjk() -> Vocabulary:
    return CjkVocabulary()


def find_intervals(
    text: str, *, now: datetime | None, calendar: Calendar = DEFAULT_CALENDAR
) -> tuple[Interval, ...]:
    """Return the times that a question names, in its order; at most 16.

        find_intervals("What did I cook last week?", now=now)  # Monday to Sunday before this week

    Quotations and code are not read, and of the rest 600 characters.

    Args:
        text: The question, in any of the languages that have a table.
        now: When it is asked, in the zone of the calendar; without it, times that depend on today
            are not read.
        calendar: The calendar of the one who asks.
    """
    names = pattern(_LETTERS).findall(text.lower().replace("ё", "е"))
    languages = _languages()
    codes = {code for code, item in languages.items() if not item.strong.isdisjoint(names)}
    has_cjk = pattern(CJK).search(text)
    if not codes and not has_cjk and not pattern(r"\d").search(text):
        return ()
    visible = read_visible(text)
    tokens = list(split_tokens(visible, _hyphenated()))
    scores = _score_languages(tokens)
    best = max(scores.values())
    if _has_date_in_digits(tokens) and (best or not has_cjk):
        codes |= {code for code, score in scores.items() if score == best}
    vocabularies = [(scores[code], load_vocabulary(code)) for code in TABLES if code in codes]
    if has_cjk:
        vocabularies.append((len(text), _load_cjk()))
    now = now.astimezone(calendar.zone) if now else None
    scored: list[tuple[int, Interval]] = []
    for score, vocabulary in vocabularies:
        words = vocabulary.read(tokens, visible, is_known=score >= best)
        sentence = Sentence(vocabulary, words, text, now, calendar)
        readings = choose_readings(list(read_times(sentence)))
        for reading in join_readings(sentence, readings):
            scored += [(score, sentence.finish(it)) for it in apply_words_around(sentence, reading)]
    return choose_intervals(scored)


def _score_languages(tokens: Sequence[Token]) -> dict[str, int]:
    """Return how many ordinary words of each language a question has."""
    names = [token.text for token in tokens]
    return {code: sum(name in item.common for name in names) for code, item in _languages().items()}


def _has_date_in_digits(tokens: Sequence[Token]) -> bool:
    """Return whether a number may be a date without a word of time: 2023-05-07, "am 12."."""
    before = ""
    for token in tokens:
        if token.role and token.role in "YIjnizQ":
            return True
        if token.role == "D" and (token.value[1] or before in _DAY_LEADS):
            return True
        before = token.text
    return False


def read_words(text: str) -> Iterator[list[Word]]:
    """Yield the words of a short text with their roles, in each language that it may be of."""
    tokens = list(split_tokens(text, _hyphenated()))
    if pattern(CJK).search(text):
        yield _load_cjk().read(tokens, text, is_known=True)
        return
    scores = _score_languages(tokens)
    for code, score in scores.items():
        if score == max(scores.values()):
            yield load_vocabulary(code).read(tokens, text, is_known=True)
