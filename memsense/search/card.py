"""The card of a user: standing rules, their name, health and diet, for the top of a prompt.

The sentences are the user's own, found by the rules for facets when they were stored.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from memsense.draft.facets.model import STANDING, STATED
from memsense.search.prompt import CardLine
from memsense.text.lexemes import list_lexemes
from memsense.types import Chunk

LONGEST: Final = 200
"""Characters of the longest sentence that a card takes."""

RULE_REASON: Final = "standing rule"
"""Beginning of the reason of each line that is a standing rule."""

UNTRUSTED: Final = "untrusted"
"""Tag, or key of metadata, of memories whose texts are not surely the user's own words."""

KINDS: Final = ("stable", "preference")
"""Kinds of memories that lasting statements are in."""

MOST: Final = 3
"""Lines of the card: what else is known of the user comes where it concerns the prompt."""

# Rules of memsense.draft.facets.rules in the order of what an answer depends on first, each with
# the number of sentences that a card takes.
_RULES: Final = {"name": 1, "health": 2, "diet": 2}
# "Keep that in mind" says nothing without what was said before it.
_VAGUE = re.compile(r"(?:keep|remember|note) (?:that|this|it)\b", re.IGNORECASE)
# Rules that hold in every project: of answers to the user, or of the person.
_OF_PERSON = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|respon(?:d|ses?)|explain|explanations?|call me|address me|talk to"
    r"|speak|tell me|show me|ask me|i|i'm|me|my|mine|emojis?|apologi[sz]\w+)\b",
    re.IGNORECASE,
)
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
    rows: list[tuple[tuple[float, ...], CardLine, str]] = []
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
    return _fit(rows, max_tokens=max_tokens, count=count, most=_RULES)[:MOST]


def make_rules(
    chunks: Sequence[Chunk],
    *,
    project: str | None,
    max_tokens: int,
    most: int,
    count: Callable[[str], int],
) -> list[CardLine]:
    """Return the standing rules that hold for a project and fit, those stated on purpose first.

    Then come those of promoted memories, those of the project, and the latest. A rule that was said
    in a project holds there alone, unless it speaks of answers or of the person.

    Args:
        chunks: Memories of one user that hold standing rules.
        project: The project; None for none.
        max_tokens: Maximum length of all lines together.
        most: Maximum number of lines.
        count: Counter of tokens.
    """
    rows: list[tuple[tuple[float, ...], CardLine, str]] = []
    for chunk in filter(is_said_by_user, chunks):
        age = -((chunk.occurred_at or _START) - _START).total_seconds()
        stated = {str(span["start"]) for span in chunk.facet_spans if span.get("rule") == STATED}
        for span in chunk.facet_spans:
            start, end = span.get("start"), span.get("end")
            if span.get("rule") != STANDING or span.get("side") != "user":
                continue
            if not (isinstance(start, int) and isinstance(end, int)):
                continue
            text = " ".join(chunk.user_text[start:end].split())
            is_own = chunk.project == project and project is not None
            if not text or not (chunk.project is None or is_own or _OF_PERSON.search(text)):
                continue
            key = (str(start) not in stated, -chunk.memory_score, not is_own, age)
            how = "stated as a rule" if str(start) in stated else "found by its words"
            because = f"{RULE_REASON}, {how}, memory score {chunk.memory_score:g}"
            rows.append((key, CardLine(chunk=chunk, text=text, because=because), STANDING))
    return _fit(rows, max_tokens=max_tokens, count=count, most={STANDING: most})


def is_said_by_user(chunk: Chunk) -> bool:
    """Return whether the user's side of a memory is surely the user's: a rule instructs a model.

    Not of a speaker of another name, nor of what was stored with the tag or metadata "untrusted".
    """
    is_self = (chunk.user_speaker or chunk.user_id).casefold() == chunk.user_id.casefold()
    return is_self and UNTRUSTED not in chunk.tags and not chunk.metadata.get(UNTRUSTED)


def _fit(
    rows: Sequence[tuple[tuple[float, ...], CardLine, str]],
    *,
    max_tokens: int,
    count: Callable[[str], int],
    most: Mapping[str, int],
) -> list[CardLine]:
    """Return the lines that fit by their keys, at most so many of each rule."""
    card: list[CardLine] = []
    counts: dict[str, int] = {}
    words: list[frozenset[str]] = []
    for _, line, rule in sorted(rows, key=lambda it: it[0]):
        # A statement that the user repeated is listed once. One with a word of its own is another:
        # a second allergy differs from the first by its name alone.
        own = frozenset(list_lexemes(line.text, line.chunk.language or "en"))
        is_repeated = any(own <= other for other in words)
        cost = count(f"> [{line.chunk.chunk_id}] {line.text}\n")
        if is_repeated or counts.get(rule, 0) == most[rule] or cost > max_tokens:
            continue
        card.append(line)
        words.append(own)
        counts[rule] = counts.get(rule, 0) + 1
        max_tokens -= cost
    return card
