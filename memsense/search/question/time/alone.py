"""Recognition of questions that ask for nothing but a time: "What did I do on 3 May?"."""

import re
from collections.abc import Sequence

from memsense.search.question.time.cjk import TOPICLESS
from memsense.search.question.time.engine import VOCABULARIES
from memsense.search.question.time.interval import Interval

_WORD = re.compile(r"[^\W_]+")
_GENERAL = frozenset(
    word
    for vocabulary in VOCABULARIES
    for words in (
        vocabulary.table.topicless,
        *(forms for role, forms in vocabulary.table.roles.items() if role in "efsbauyhkqt&|odcT"),
    )
    for form in words.split("|")
    for word in _WORD.findall(form)
)


def is_dated_alone(text: str, intervals: Sequence[Interval]) -> bool:
    """Return whether a question has, apart from its times, only words without a topic.

        is_dated_alone("What did I do in May?", intervals)  # True
        is_dated_alone("What did I cook in May?", intervals)  # False

    Args:
        text: The question.
        intervals: The times that it names; without any, it asks for something else.
    """
    if not intervals:
        return False
    pieces: list[str] = []
    position = 0
    for start, end in sorted({item.span for item in intervals}):
        pieces.append(text[position : max(start, position)])
        position = max(position, end)
    rest = " ".join([*pieces, text[position:]])
    if '"' in rest or "\u201c" in rest:
        return False
    return all(
        word in _GENERAL or TOPICLESS.fullmatch(word)
        for word in map(str.lower, _WORD.findall(rest.replace("ё", "е")))
    )
