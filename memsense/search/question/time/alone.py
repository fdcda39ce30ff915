"""Recognition of questions that ask for nothing but a time: "What did I do on 3 May?"."""

import re
from collections.abc import Sequence
from functools import cache

from memsense.search.question.time.interval import Interval
from memsense.search.question.time.patterns import pattern
from memsense.search.question.time.tables import TABLES, load_table, read_forms

_WORD = r"[^\W_]+"


@cache
def _topicless() -> tuple[frozenset[str], re.Pattern[str]]:
    """Return words without a topic, and a pattern for those of texts without blanks."""
    words: set[str] = set()
    for table in map(load_table, TABLES):
        forms = [form for form, role, _ in table.entries() if role in "efsbauyhkqt&|odcT"]
        for form in (*forms, *read_forms(table.topicless), *read_forms(table.common)):
            words.update(pattern(_WORD).findall(form))
    cjk = load_table("cjk")
    forms = [form for form, role, _ in cjk.entries() if role == "T"]
    forms = sorted([*forms, *read_forms(cjk.topicless)], key=len, reverse=True)
    return frozenset(words), re.compile(f"(?:{'|'.join(forms)})+")


def is_dated_alone(text: str, intervals: Sequence[Interval]) -> bool:
    """Return whether a question has, apart from its times, only words without a topic.

    is_dated_alone("What did I do in May?", intervals)  # True
    is_dated_alone("What did I cook in May?", intervals)  # False
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
    words, unspaced = _topicless()
    return all(
        word in words or unspaced.fullmatch(word)
        for word in pattern(_WORD).findall(rest.lower().replace("ё", "е"))
    )
