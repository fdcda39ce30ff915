"""The card of a user: who they are and what they wish, as lines for the top of a prompt.

The sentences are the user's own, found by the rules for facets when they were stored.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from memsense.search.prompt import CardLine
from memsense.types import Chunk

LONGEST: Final = 200
"""Characters of the longest sentence that a card takes."""

KINDS: Final = ("stable", "preference")
"""Kinds of memories that lasting statements are in."""

# Rules of memsense.draft.facets.rules in the order of what an answer depends on first, each with
# the number of sentences that a card takes: of a home or a job the latest one alone is true.
_RULES: Final = {
    "name": 1,
    "home": 1,
    "work": 1,
    "instruction": 6,
    "identity": 2,
    "health": 2,
    "diet": 2,
    "age": 1,
    "household": 2,
    "study": 1,
    "prefer": 3,
    "dislike": 2,
    "favourite": 2,
    "switch": 2,
    "habit": 2,
}
# "Keep that in mind" says nothing without what was said before it.
_VAGUE = re.compile(r"(?:keep|remember|note) (?:that|this|it)\b", re.IGNORECASE)
_ORDER: Final = {rule: place for place, rule in enumerate(_RULES)}
_START = datetime.min.replace(tzinfo=UTC)


def make_card(
    chunks: Sequence[Chunk], *, max_tokens: int, count: Callable[[str], int]
) -> list[CardLine]:
    """Return the sentences that fit, those that an answer depends on first.

    Of one rule, sentences of promoted memories come first, then the latest.

    Args:
        chunks: Memories of one user that hold lasting statements.
        max_tokens: Maximum length of all lines together.
        count: Counter of tokens.
    """
    rows: list[tuple[tuple[int, float, float], CardLine, str]] = []
    for chunk in chunks:
        at = chunk.occurred_at or _START
        for span in chunk.facet_spans:
            rule = str(span.get("rule"))
            start, end = span.get("start"), span.get("end")
            is_own = span.get("side") == "user" and rule in _RULES
            if not (is_own and isinstance(start, int) and isinstance(end, int)):
                continue
            text = " ".join(chunk.user_text[start:end].split())
            if text and len(text) <= LONGEST and not _VAGUE.match(text):
                key = (_ORDER[rule], -chunk.memory_score, -(at - _START).total_seconds())
                because = f"rule {rule!r}, memory score {chunk.memory_score:g}"
                rows.append((key, CardLine(chunk=chunk, text=text, because=because), rule))
    card: list[CardLine] = []
    counts: dict[str, int] = {}
    words: list[frozenset[str]] = []
    for _, line, rule in sorted(rows, key=lambda it: it[0]):
        own = frozenset(line.text.casefold().split())
        # A statement that the user repeated is listed once.
        is_repeated = any(2 * len(own & other) > len(own) for other in words)
        cost = count(f"> [{line.chunk.chunk_id}] {line.text}\n")
        if is_repeated or counts.get(rule, 0) == _RULES[rule] or cost > max_tokens:
            continue
        card.append(line)
        words.append(own)
        counts[rule] = counts.get(rule, 0) + 1
        max_tokens -= cost
    return card
