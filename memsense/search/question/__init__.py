"""Analysis of a question: its names, dates, quotations and identifiers, by rules alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memsense.search.question.asker import ask_as_user, names_of
from memsense.search.question.names import cut_spans, find_names, list_named, without_spans
from memsense.search.question.quotations import find_quotations
from memsense.search.question.tense import Tense, find_tense
from memsense.search.question.time.calendar import DEFAULT_CALENDAR, Calendar
from memsense.search.question.time.interval import Interval, Stretch, list_stretches
from memsense.text.identifiers import as_lexemes, find_identifiers
from memsense.text.scripts import is_unspaced
from memsense.types import Chunk

if TYPE_CHECKING:
    from memsense.search.question.time.order import Order

# Each quotation is a regular expression for PostgreSQL, which keeps 32 of them compiled. Others are
# compiled anew for every candidate: 33 take four times as long.
ENGLISH = "en"
"""Code of the language whose dates, tenses and pronouns the rules read."""

MOST_QUOTED = 16
"""Maximum number of quotations of a question that are searched for."""

LONGEST_PHRASE = 500
"""Maximum length of a question, in characters, for a word-for-word match: no memory holds more."""

_BLANKS = re.compile(r"\s+")
_APOSTROPHE = re.compile("['\u2019]")
_FINAL_MARKS = "?!.…？！。 \t\r\n"  # noqa: RUF001


class Neighbour(NamedTuple):
    """A memory `place` before or after the one that a question asks about, the anchor (place 0)."""

    chunk_id: int
    place: int
    anchor_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the result of its analysis.

    `search_text` is the question without the names of its speakers, and without its times if it
    asks for nothing else: this text is embedded and searched for. `named_speakers` are labels as
    the caller knows them, in the order of their first mention; `intervals` the times that it names;
    `quoted` the texts in quotation marks, without the marks; `identifiers` tickets, versions, file
    names and the like, case-folded. Only the first 16 intervals, 16 quotations and 64 identifiers
    of a question count. `tense` is the time that it asks about. `asked_at` is the current time when
    it was put, `calendar` that of the asker, by which a memory's day counts too. `language` is the
    question's code. `neighbours` are the memories before or after the one that it asks about, once
    that is found.
    """

    text: str
    search_text: str
    named_speakers: tuple[str, ...] = ()
    intervals: tuple[Interval, ...] = ()
    quoted: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    tense: Tense = ""
    language: str = ENGLISH
    calendar: Calendar = DEFAULT_CALENDAR
    asked_at: datetime | None = None
    neighbours: tuple[Neighbour, ...] = ()

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """Return the days in which what it asks for can have happened, none after its own."""
        today = self.asked_at and self.asked_at.astimezone(self.calendar.zone).date()
        return _read_stretches(self.intervals, today)

    def confidence_of(self, day: date | None) -> float:
        """Return the largest confidence of the times that it names and that hold a day, else 0."""
        confidences = [it.confidence for it in self.stretches if day and it.first <= day <= it.last]
        return max(confidences, default=0.0)

    def day_of(self, chunk: Chunk) -> date | None:
        """Return a chunk's day by the asker's calendar, None if it has no time."""
        at, zone_known = chunk.occurred_at, chunk.occurred_zone_known
        return at and self.calendar.day_of(at, zone_known=zone_known)

    @property
    def order(self) -> "Order | None":
        """Return the order in time that it asks for: what came before something, the last time."""
        return _read_order(self.text)

    @property
    def is_dated_alone(self) -> bool:
        """Return whether it asks for nothing but a time: "What did I do on 3 May?"."""
        return bool(self.intervals) and _is_dated_alone(self.text, self.intervals)


# Most phases of a search ask for these, and reading a question again takes 30 µs each time.
@lru_cache(maxsize=256)
def _read_stretches(intervals: tuple[Interval, ...], today: date | None) -> tuple[Stretch, ...]:
    return tuple(list_stretches(intervals, today))


@lru_cache(maxsize=256)
def _read_order(text: str) -> "Order | None":
    from memsense.search.question.time.order import find_order

    return find_order(text, list(find_quotations(text)))


@lru_cache(maxsize=256)
def _is_dated_alone(text: str, intervals: tuple[Interval, ...]) -> bool:
    from memsense.search.question.time.alone import is_dated_alone

    return is_dated_alone(text, intervals)


def analyse_question(
    text: str,
    *,
    speakers: Sequence[str] = (),
    asked_at: datetime | None = None,
    calendar: Calendar | None = None,
    language: str = ENGLISH,
    asker: str | None = None,
    introduced: Sequence[str] = (),
    is_asker_known: bool = False,
) -> Question:
    """Return the question with the speakers, dates, quotations and identifiers that it names.

        question = analyse_question("What did Ann buy on 7 May?", speakers=["Ann Lee", "Bob"])
        question.search_text, question.named_speakers  # "What did buy on 7 May?", ("Ann Lee",)

    Names inside dates or quotations stay in the search text. A question without a name is searched
    for as it is, and so is one that would otherwise have only function words left. Relative times
    need `asked_at`; without a `calendar` its zone is the asker's. If `is_asker_known`, a question
    about the user whose id is `asker`, or whose names are `introduced`, is searched for as the user
    would ask it, unless the memory has several speakers with names.
    """
    # The grammar of times is loaded with the first question: importing it takes 12 ms.
    from memsense.search.question.time.engine import find_intervals

    quotations = list(find_quotations(text))
    if calendar is None:
        calendar = Calendar(zone=(asked_at and asked_at.tzinfo) or UTC)
    intervals = find_intervals(text, now=asked_at, calendar=calendar)
    # "in June" may be about a speaker called June, but inside a date it is the month.
    protected = [span for span, _ in quotations] + [item.span for item in intervals]
    names = find_names(text, speakers, protected)
    search_text = without_spans(text, names.spans)
    # In a chat between named people, "she" and what is true now are of one of several persons.
    named = list_named(speakers)
    is_of_one = len(named) <= 1 and language == ENGLISH
    if is_asker_known and is_of_one and asker is not None and not quotations:
        labels = [asker, *named, *introduced]
        own_names = [part for label in labels for part in names_of(label)]
        as_asked = ask_as_user(text, own_names)
        search_text = as_asked if as_asked != text else search_text
    question = Question(
        text=text,
        search_text=search_text,
        named_speakers=names.speakers,
        intervals=intervals,
        quoted=tuple(quoted for _, quoted in quotations[:MOST_QUOTED]),
        identifiers=find_identifiers(text),
        # Who names a date wants what was said then.
        tense=find_tense(text) if is_of_one and not intervals else "",
        language=language,
        calendar=calendar,
        asked_at=asked_at,
    )
    if not intervals or not question.is_dated_alone:
        return question
    # Texts are full of years and days that no question means: "2024" meets CVE-2024-31337.
    topic = cut_spans(text, sorted({item.span for item in intervals}))
    return replace(question, search_text=topic or text)


def fold_blanks(text: str) -> str:
    r"""Return the text with each run of blanks replaced by one, a line break if the run has one.

        fold_blanks("  What did\n\n Ann   buy? ")  # "What did\nAnn buy?"

    Line breaks are kept because one may end a sentence, which matters to names. The ends are
    stripped.
    """
    return _BLANKS.sub(lambda run: "\n" if "\n" in run[0] else " ", text).strip()


def find_phrase(question: str) -> str:
    """Return the question without its final marks, as a memory may hold it; "" if too long."""
    phrase = question.strip().rstrip(_FINAL_MARKS)
    return phrase if len(phrase) <= LONGEST_PHRASE else ""


def wording_pattern(text: str) -> str:
    r"""Return a regular expression of PostgreSQL for the text, to be matched case-insensitively.

        wording_pattern("blue  lantern")  # r"\mblue\s+lantern\M"

    Any run of blanks matches any other, and both kinds of apostrophe match each other. A match
    begins and ends at word boundaries, except in scripts that are written without blanks.
    """
    pattern = r"\s+".join(map(re.escape, text.split()))
    pattern = _APOSTROPHE.sub("['\u2019]", pattern)
    stripped = text.strip()
    starts_word, ends_word = (
        (character.isalnum() or character == "_") and not is_unspaced(character)
        for character in (stripped[:1], stripped[-1:])
    )
    return (r"\m" if starts_word else "") + pattern + (r"\M" if ends_word else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Texts that recall looks for word for word; empty where no term depends on them.

    Recall reports for each candidate whether it holds `phrase`, which of `quoted` and which of
    `identifiers`. Texts that don't hold all of `required` take no part; `required_lexemes` are
    lexemes that each text which holds them has.
    """

    phrase: str = ""
    quoted: Sequence[str] = ()
    required: Sequence[str] = ()
    required_lexemes: Sequence[str] = ()
    identifiers: Sequence[str] = ()

    def values(self) -> dict[str, str | list[str]]:
        """Return the parameters of the recall statement for these texts."""
        return {
            "wordings": [wording_pattern(text) for text in (self.phrase, *self.quoted) if text],
            "quoted_patterns": [wording_pattern(text) for text in self.required],
            "quoted_lexemes": list(self.required_lexemes),
            "identifiers": as_lexemes(self.identifiers),
        }


NO_WORDING = Wording()
