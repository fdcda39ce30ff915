"""The heads of turns in plain text: `Name: text`, markdown headings, bold labels, VTT cues."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memsense.ingest.roles import role_of
from memsense.types import Role

_LABELS: Final[dict[str, Role]] = {
    **dict.fromkeys(("user", "human", "me", "you", "q", "prompt"), "user"),
    **dict.fromkeys(("a", "answer", "response"), "assistant"),
}
_NAME = r"[^\W\d_][^\n:<>{}\[\]()\"“”/\\=|*#]{0,39}?"
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
_TWICE = 2
_ENOUGH_QUOTES = 3
_SHARE_OF_HEADS = 0.6


@dataclass(frozen=True, slots=True)
class Turn:
    """A head at the start of a line: the name, the time as written, and what follows.

    `heading` is the run of `#` where the head is a heading; `is_marked` tells that it is one,
    or a bold label.
    """

    name: str
    time: str | None
    text: str
    heading: str = ""
    is_marked: bool = False


def parse_turn(line: str) -> Turn | None:
    """The head at the start of a line, whoever it names, None where it has none."""
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
    """The role that a head's name stands for, None where it names a person or nothing known."""
    return _LABELS.get(name.lower()) or role_of(name)


def drop_cues(lines: Sequence[str]) -> Sequence[str]:
    """The lines of subtitles without their numbers and times; other lines as they are."""
    if not any(_ARROW in line for line in lines):
        return lines
    return ["" if _CUE.fullmatch(line.strip()) else line for line in lines]


def find_speakers(lines: Sequence[str]) -> set[str]:
    """The names that head turns: labels of both sides, or a few names that recur.

    For a log that is known to be a transcript; `evidence` says whether one is.
    """
    turns = [turn for line in lines if (turn := parse_turn(line))]
    labels = {turn.name for turn in turns if role_of_label(turn.name)}
    if {"user", "assistant"} <= {role_of_label(name) for name in labels}:
        return labels
    heads = Counter(turn.name for turn in turns if not turn.heading)
    recurring = {name for name, count in heads.items() if count >= _TWICE}
    share = sum(heads[name] for name in recurring) / max(1, heads.total())
    enough = len(recurring) >= _TWICE and share >= _SHARE_OF_HEADS
    return recurring if enough else set()


def is_quoted(lines: Sequence[str]) -> bool:
    """Whether prompts are marked with `>` at the start of their lines."""
    return sum(line.startswith(QUOTE) for line in lines) >= _ENOUGH_QUOTES
