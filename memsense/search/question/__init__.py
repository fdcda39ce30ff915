"""What a question says beside its words: whom it names, which dates, what it quotes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memsense.search.question.blanks import fold_blanks
from memsense.search.question.calendar import DateRange
from memsense.search.question.dates import find_dates
from memsense.search.question.names import find_names, without_spans
from memsense.search.question.proximity import DEFAULT_SCORES, DateScores, date_proximity
from memsense.search.question.quotations import find_quotations
from memsense.search.question.wording import NO_WORDING, Wording, find_phrase
from memsense.text.identifiers import find_identifiers
from memsense.text.scripts import segment_scripts

__all__ = [
    "DEFAULT_SCORES",
    "NO_WORDING",
    "DateRange",
    "DateScores",
    "Question",
    "Wording",
    "analyse_question",
    "date_proximity",
    "find_phrase",
    "fold_blanks",
    "segment_scripts",
]

MOST_QUOTED = 16
"""Quotations of a question that are looked for. Each is a regular expression for PostgreSQL, which
keeps 32 of them compiled and makes others anew for every candidate: 33 take four times as long."""

MOST_DATES = 16
"""Dates of a question that memories are compared with, each with every candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and what its analysis found.

    `search_text` is the question without the names of its speakers: what is embedded and searched
    for. `named_speakers` are labels as the caller knows them, in the order of their naming;
    `quoted` the texts in quotation marks, without the marks; `identifiers` tickets, versions, file
    names and the like, case-folded. Of a question that says more, the first 16 dates, 16 quotations
    and 64 identifiers count.
    """

    text: str
    search_text: str
    named_speakers: tuple[str, ...] = ()
    dates: tuple[DateRange, ...] = ()
    quoted: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()


def analyse_question(
    text: str,
    *,
    speakers: Sequence[str] = (),
    asked_at: datetime | None = None,
    language: str = "english",
) -> Question:
    """The question with the speakers, dates, quotations and identifiers that it names.

        question = analyse_question("What did Ann buy on 7 May?", speakers=["Ann Lee", "Bob"])
        question.search_text, question.named_speakers  # "What did buy on 7 May?", ("Ann Lee",)

    Names within dates or quotations stay. A question without a name is searched for as it is; so
    is one of which nothing but function words would be left. Dates are read in English and as
    numbers; a question in another `language` has none. Relative dates need `asked_at`.
    """
    quotations = list(find_quotations(text))
    dates = find_dates(text, asked_at) if language == "english" else ()
    protected = [span for span, _ in quotations] + [found.span for found in dates]
    names = find_names(text, speakers, protected)
    return Question(
        text=text,
        search_text=without_spans(text, names.spans),
        named_speakers=names.speakers,
        dates=dates[:MOST_DATES],
        quoted=tuple(quoted for _, quoted in quotations[:MOST_QUOTED]),
        identifiers=find_identifiers(text),
    )
