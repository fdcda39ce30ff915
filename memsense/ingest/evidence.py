"""Says whether a plain text may be taken for a transcript: by its turns, over the whole file.

Code, configurations, mail and tables are full of `word: text` lines. So a transcript begins with
a turn, and either both sides bear labels that programs give them, or a few names that can be
people's take turns in nearly every line.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from memsense.ingest.turns import QUOTE, Turn, drop_cues, parse_turn, role_of_label

MOST_LINES = 20_000
"""Lines looked at; what goes on so long has shown what it is."""

_PREAMBLE = 12
_MOST_SPEAKERS = 8
_MOST_WORDS = 3
_LEAST_TURNS = 4
_SHARE_OF_LINES = 0.8
_TWO = 2
_FENCE = "```"
_SPOKEN_TO: Final = frozenset("user human me you".split())
_ANSWERING: Final = frozenset("assistant ai chatgpt gpt claude gemini bard bing bot".split())
_LOOSE: Final = frozenset("q a prompt answer response model agent".split())
_FIELDS: Final = frozenset(
    """
    abstract action address agenda allow attachment author bcc body bug category caution cc city
    class code comment commit committer company copyright country created critical crawl-delay
    date debug decision default depends description disallow done email end error example expected
    fatal file filename fix fixed form format from header host hostname id important info input
    item key kind label language level license line link list location log maintainer merge
    message method mobile modified name note notice number option options order output owner
    package param parameter password path phone port price priority processor product published
    publisher quantity question raises rating received ref refs reference reply-to reason report
    required result return returns reviewed-by sender server service severity signed-off-by
    sitemap size source start state statement status step subject success summary tag tags task
    tel test time tip title to todo topic trace type updated uri url usage user-agent username
    value version warn warning website year
    """.split()
)
"""First words of what heads the lines of records and notices: never a speaker's name."""

_NUMBERED = re.compile(r"(?i:speaker|person|participant|interviewer|guest|host|sprecher) ?\d{1,2}")
_QUOTED_NOTICE = re.compile(r"> ?(\[!|\*\*)")


@dataclass(frozen=True, slots=True)
class _Place:
    """A head and its position among the lines that aren't blank."""

    position: int
    turn: Turn


def find_evidence(lines: Sequence[str]) -> str | None:
    """What lets the text be taken for a transcript, None where nothing does."""
    worded = [line for line in _outside_fences(drop_cues(lines[:MOST_LINES])) if line.strip()]
    places = [
        _Place(position, turn)
        for position, line in enumerate(worded)
        if not line[0].isspace() and (turn := parse_turn(line))
    ]
    if found := _labels(worded, places) or _names(worded, places):
        return f"turns headed by {', '.join(sorted(found)[:5])}"
    return "prompts marked with >" if _has_quoted_prompts(worded) else None


def _outside_fences(lines: Sequence[str]) -> list[str]:
    """The lines without those of fenced code; a fence that nothing closes is text."""
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith(_FENCE)]
    hidden: set[int] = set()
    for start, end in zip(fences[::2], fences[1::2], strict=False):
        hidden.update(range(start, end + 1))
    return [line for number, line in enumerate(lines) if number not in hidden]


def _labels(lines: Sequence[str], places: Sequence[_Place]) -> set[str]:
    """The labels of both sides, where they head the text's turns."""
    heads = [place for place in places if _side(place.turn.name)]
    if not heads or heads[0].position > _PREAMBLE:
        return set()
    rounds = [side for side, _ in groupby(_side(place.turn.name) for place in heads)]
    names = {place.turn.name for place in heads}
    if {"user", "assistant"} - set(rounds):
        return set()
    words = {name.lower() for name in names}
    surely = bool(words & _SPOKEN_TO) and bool(words & _ANSWERING)
    marked = all(place.turn.is_marked for place in heads)
    begins = (marked or heads[0].position <= 1) and not any(name.islower() for name in names)
    if len(rounds) >= _LEAST_TURNS and (surely or begins):
        return names
    return names if surely and _is_one_exchange(lines, places, heads) else set()


def _is_one_exchange(
    lines: Sequence[str], places: Sequence[_Place], heads: Sequence[_Place]
) -> bool:
    """Whether a question and an answer are all there is: no list of roles, no configuration."""
    first = heads[0]
    if any(not _is_preamble(line) for line in lines[1 : first.position]):
        return False
    if level := first.turn.heading:
        same = [place.turn for place in places if place.turn.heading == level]
        named = all(_side(turn.name) for turn in same[first.position and level == "#" :])
        return named and not any(place.turn.text for place in heads)
    if first.position and not _is_preamble(lines[0]) and len(lines[0].split()) < _TWO:
        return False
    lower = all(place.turn.name.islower() for place in heads)
    return not lower or any(len(place.turn.text.split()) > _TWO for place in heads)


def _is_preamble(line: str) -> bool:
    return line.startswith(("#", "*", "_", "-", "=", ">")) or ":" in line


def _side(name: str) -> str | None:
    role = role_of_label(name)
    known = name.lower()
    if role is None or known not in _SPOKEN_TO | _ANSWERING | _LOOSE:
        return None
    return role if role in ("user", "assistant") else None


def _names(lines: Sequence[str], places: Sequence[_Place]) -> set[str]:
    """The names that take turns in nearly every line, where they can be names of people."""
    heads = [place for place in places if not place.turn.heading]
    said = Counter(place.turn.name for place in heads)
    names = {name for name, count in said.items() if count > 1}
    turns = [place for place in heads if place.turn.name in names]
    if not _TWO <= len(names) <= _MOST_SPEAKERS or len(turns) < _LEAST_TURNS:
        return set()
    changes = sum(a.turn.name != b.turn.name for a, b in pairwise(turns))
    covers = turns[0].position <= 1 and len(turns) >= _SHARE_OF_LINES * (len(lines) - 1)
    spoken = any(map(_is_spoken, turns))
    if covers and spoken and 2 * changes >= len(turns) and all(map(_can_be_a_name, names)):
        return names
    return set()


def _is_spoken(place: _Place) -> bool:
    text = place.turn.text.strip()
    return len(text.split()) > 1 or text.endswith((".", "?", "!"))


def _can_be_a_name(name: str) -> bool:
    """Whether it looks like a person's: few words, none of them in small letters or a field."""
    words = name.split()
    if _NUMBERED.fullmatch(name):
        return True
    is_field = name.lower() in _FIELDS or words[0].lower() in _FIELDS
    capital = all(not word[0].islower() and not word[0].isdigit() for word in words)
    return len(words) <= _MOST_WORDS and capital and not is_field


def _has_quoted_prompts(lines: Sequence[str]) -> bool:
    """Whether the text begins with a prompt behind `>`, and prompts and answers take turns."""
    if not lines or not lines[0].startswith(QUOTE) or lines[0].startswith(QUOTE * 2):
        return False
    runs = [(marked, next(run)) for marked, run in groupby(lines, _is_prompt)]
    if any(line.startswith(("# ", "## ")) for line in lines):
        return False
    prompts = [line for marked, line in runs if marked]
    return len(prompts) >= _LEAST_TURNS - 1 and not any(map(_QUOTED_NOTICE.match, prompts))


def _is_prompt(line: str) -> bool:
    return line.startswith(QUOTE)
