"""Turns of a plain transcript: their heads, and the evidence that a text is made of them.

A head is `Name: text`, a markdown heading, a bold label, or a cue of subtitles (VTT). Code,
configurations, mail and tables are full of `word: text` lines, too. So a text is taken for a
transcript only if it begins with a turn, and either both sides bear labels that programs give them,
or a few names that can be people's take turns in nearly every line of the whole file. The rules
were found with a corpus of over 60 files that are no conversations, which the tests hold.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from memsense.ingest.content import role_of
from memsense.text.words import read_sections
from memsense.types import Role

_LABELS: Final[dict[str, Role]] = {
    **dict.fromkeys(("user", "human", "me", "you", "q", "prompt"), "user"),
    **dict.fromkeys(("a", "answer", "response"), "assistant"),
}
_NAME = r"[^\W\d_][^\n:<>{}\[\]()\"“”/\\=|*#]{0,39}?"
# A name has no quotes, brackets or slashes, so that URLs, code and quotations give none; it has at
# most 40 characters.
_REST = r"(?P<text>(?s:.*))"
_FORMS = (
    re.compile(
        rf"\s*(?P<bold>\*\*|__)(?P<name>{_NAME})"
        rf"(?:(?P=bold)\s*:|:\s*(?P=bold))\s*{_REST}"
    ),
    re.compile(rf"(?P<heading>\#{{1,6}})\s+(?P<name>{_NAME}):?\s*"),
    re.compile(rf"(?P<heading>\#{{1,6}})\s+(?P<name>{_NAME}):\s+{_REST}"),
    re.compile(rf"<v(?:\.\w+)*\s+(?P<name>{_NAME})>(?P<text>(?s:.*?))(?:</v>)?"),
    re.compile(
        rf"(?P<time>[\[(][^\[\]()\n]{{3,40}}[\])])?\s*(?P<name>{_NAME})"
        rf"(?:\s*\((?P<inner>[^()\n]{{3,30}})\))?:(?:\s+{_REST})?"
    ),
)
_CUE = re.compile(r"(\d+|WEBVTT.*|[\d:.,]+\s*-->\s*[\d:.,].*)")
_ARROW = "-->"
QUOTE = ">"
_TWO = 2
_ENOUGH_QUOTES = 3
_SHARE_OF_HEADS = 0.6

MOST_LINES = 20_000
"""Limit of lines that are looked at: so many show what a text is."""

_PREAMBLE = 12  # lines that may stand before the first label
_MOST_SPEAKERS = 8
_MOST_WORDS = 3
_LEAST_TURNS = 4
_SHARE_OF_LINES = 0.8
_FENCE = "```"
_SPOKEN_TO: Final = frozenset("user human me you".split())
_ANSWERING: Final = frozenset("assistant ai chatgpt gpt claude gemini bard bing bot".split())
_LOOSE: Final = frozenset("q a prompt answer response model agent".split())
_FIELDS: Final = frozenset(read_sections("records")["labels"].split())
"""First words of the heads of records and notices: never a speaker's name."""

_NUMBERED = re.compile(r"(?i:speaker|person|participant|interviewer|guest|host|sprecher) ?\d{1,2}")
_QUOTED_NOTICE = re.compile(r"> ?(\[!|\*\*)")


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn's head at the start of a line: the name, the time as written, and the text after it.

    `heading` is the run of `#` of a heading; `is_marked` is true for a heading and a bold label.
    """

    name: str
    time: str | None
    text: str
    heading: str = ""
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A head and its position among the lines that aren't blank."""

    position: int
    turn: Turn


def parse_turn(line: str) -> Turn | None:
    """Return the head at the start of a line, or None. Its name may be a role or a person."""
    for form in _FORMS:
        if match := form.fullmatch(line.rstrip("\r\n")):
            groups = match.groupdict()
            time = groups.get("time") or groups.get("inner")
            text = groups.get("text") or ""
            heading = groups.get("heading") or ""
            return Turn(
                name=match["name"].strip(),
                time=time,
                text=text,
                heading=heading,
                is_marked=bool(heading or groups.get("bold")),
            )
    return None


def role_of_label(name: str) -> Role | None:
    """Return the role that a head's name stands for, or None for a person or an unknown word."""
    return _LABELS.get(name.lower()) or role_of(name)


def drop_cues(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines with numbers and times of subtitles as blank lines."""
    if not any(_ARROW in line for line in lines):
        return lines
    return ["" if _CUE.fullmatch(line.strip()) else line for line in lines]


def find_speakers(lines: Sequence[str]) -> set[str]:
    """Return the names that head the turns of a transcript; empty if there are none.

    They are labels of both sides, or a few names that recur. The text is known to be a transcript,
    see `find_evidence`: this is less strict.
    """
    turns = [turn for line in lines if (turn := parse_turn(line))]
    labels = {turn.name for turn in turns if role_of_label(turn.name)}
    if {"user", "assistant"} <= {role_of_label(name) for name in labels}:
        return labels
    # Names that come once are words before a colon, as in "Note: ..." or "http://...".
    heads = Counter(turn.name for turn in turns if not turn.heading)
    recurring = {name for name, count in heads.items() if count >= _TWO}
    share = sum(heads[name] for name in recurring) / max(1, heads.total())
    return recurring if len(recurring) >= _TWO and share >= _SHARE_OF_HEADS else set()


def is_quoted(lines: Sequence[str]) -> bool:
    """Return whether prompts are marked with `>` at the start of their lines."""
    return sum(line.startswith(QUOTE) for line in lines) >= _ENOUGH_QUOTES


def find_evidence(lines: Sequence[str]) -> str | None:
    """Return the evidence that a text is a transcript, or None."""
    lines = drop_cues(lines[:MOST_LINES])
    # Fenced code is full of `word: text`. A fence that nothing closes is text.
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith(_FENCE)]
    code: set[int] = set()
    for start, end in zip(fences[::2], fences[1::2], strict=False):
        code.update(range(start, end + 1))
    filled = [line for number, line in enumerate(lines) if number not in code and line.strip()]
    places = [
        _Place(position, turn)
        for position, line in enumerate(filled)
        if not line[0].isspace() and (turn := parse_turn(line))
    ]
    if names := _find_labels(filled, places) or _find_names(filled, places):
        return f"turns headed by {', '.join(sorted(names)[:5])}"
    # Else it must begin with a prompt behind `>`, and have some more of them.
    is_prompt = [line.startswith(QUOTE) for line in filled]
    if not filled or not is_prompt[0] or filled[0].startswith(QUOTE * 2):
        return None
    # A page with headings quotes a text, and `> [!NOTE]` and `> **Note**` are boxes.
    if any(line.startswith(("# ", "## ")) for line in filled):
        return None
    pairs = zip([False, *is_prompt], is_prompt, filled, strict=False)
    prompts = [line for is_same, is_new, line in pairs if is_new and not is_same]
    if len(prompts) < _LEAST_TURNS - 1 or any(map(_QUOTED_NOTICE.match, prompts)):
        return None
    return "prompts marked with >"


def _find_labels(lines: Sequence[str], places: Sequence[_Place]) -> set[str]:
    """Return the labels of both sides if they head the text's turns, else nothing."""
    heads = [place for place in places if _side(place.turn.name)]
    if not heads or heads[0].position > _PREAMBLE:
        return set()
    rounds = [side for side, _ in groupby(_side(place.turn.name) for place in heads)]
    names = {place.turn.name for place in heads}
    if {"user", "assistant"} - set(rounds):
        return set()
    # `User` with `Assistant` is plain; `Q` with `A`, or `prompt` with `response`, may be keys
    # of a configuration: they count only as marked heads, or at the very beginning.
    words = {name.lower() for name in names}
    is_certain = bool(words & _SPOKEN_TO) and bool(words & _ANSWERING)
    is_marked = all(place.turn.is_marked for place in heads)
    is_first = is_marked or heads[0].position <= 1
    is_capital = not any(name.islower() for name in names)
    if len(rounds) >= _LEAST_TURNS and (is_certain or (is_first and is_capital)):
        return names
    # Fewer turns may be a list of roles or settings, unless a question and an answer are all there
    # is, below a preamble at most.
    first = heads[0]
    if not is_certain or any(not _is_preamble(line) for line in lines[1 : first.position]):
        return set()
    if level := first.turn.heading:
        same = [place.turn for place in places if place.turn.heading == level]
        # The first heading of a page may be its title.
        has_sides = all(_side(turn.name) for turn in same[first.position and level == "#" :])
        return names if has_sides and not any(place.turn.text for place in heads) else set()
    if first.position and not _is_preamble(lines[0]) and len(lines[0].split()) < _TWO:
        return set()
    has_words = any(len(place.turn.text.split()) > _TWO for place in heads)
    return names if has_words or any(not name.islower() for name in names) else set()


def _is_preamble(line: str) -> bool:
    return line.startswith(("#", "*", "_", "-", "=", ">")) or ":" in line


def _side(name: str) -> str | None:
    role = role_of_label(name)
    if role is None or name.lower() not in _SPOKEN_TO | _ANSWERING | _LOOSE:
        return None
    return role if role in ("user", "assistant") else None


def _find_names(lines: Sequence[str], places: Sequence[_Place]) -> set[str]:
    """Return the names that take turns in nearly every line, if they can be people's."""
    heads = [place for place in places if not place.turn.heading]
    counts = Counter(place.turn.name for place in heads)
    names = {name for name, count in counts.items() if count > 1}
    turns = [place for place in heads if place.turn.name in names]
    if not _TWO <= len(names) <= _MOST_SPEAKERS or len(turns) < _LEAST_TURNS:
        return set()
    changes = sum(a.turn.name != b.turn.name for a, b in pairwise(turns))
    # The turns of a transcription that numbers its speakers have paragraphs.
    share = 0.0 if all(map(_NUMBERED.fullmatch, names)) else _SHARE_OF_LINES
    covers_text = turns[0].position <= 1 and len(turns) >= share * (len(lines) - 1)
    texts = (place.turn.text.strip() for place in turns)
    has_speech = any(len(text.split()) > 1 or text.endswith((".", "?", "!")) for text in texts)
    is_dialogue = covers_text and has_speech and 2 * changes >= len(turns)
    return names if is_dialogue and all(map(_can_be_a_name, names)) else set()


def _can_be_a_name(name: str) -> bool:
    """Return whether it looks like a person's name: few words, capitals, no field of a record."""
    words = name.split()
    if _NUMBERED.fullmatch(name):
        return True
    is_field = name.lower() in _FIELDS or words[0].lower() in _FIELDS
    is_capital = all(not word[0].islower() and not word[0].isdigit() for word in words)
    return len(words) <= _MOST_WORDS and is_capital and not is_field
