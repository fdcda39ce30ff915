"""Excerpts: a long text cut to the stretch that holds most of a question's words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

ELLIPSIS = "…"

SNAP = 20
"""Characters within which a cut moves to the next blank."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text as it is shown, whether anything is left out, and the numbers of its pieces."""

    text: str
    cut: bool
    pieces: Sequence[int] = ()


def fit_text(text: str, budget: int, words: Sequence[str]) -> Excerpt:
    """Return the text, or the stretch of at most `budget` characters with most of the words.

    `words` are lexemes of the question: stems, with which words of the text begin.
    """
    if len(text) <= budget:
        return Excerpt(text, False)
    room = budget - 2 * len(ELLIPSIS)
    if room < 1:
        return Excerpt(ELLIPSIS[:budget], True)
    first, last = _find_densest(text, room, words)
    start = min(max((first + last - room) // 2, 0), len(text) - room)
    end = start + room
    # Cut at blanks, unless that would cut away a word of the question.
    if start:
        stretch = range(start, min(first, start + SNAP))
        blank = next((at for at in stretch if text[at].isspace()), None)
        start = start if blank is None else blank + 1
    if end < len(text):
        stretch = range(end - 1, max(last, end - SNAP) - 1, -1)
        blank = next((at for at in stretch if text[at].isspace()), None)
        end = end if blank is None else blank
    before, after = (ELLIPSIS if is_cut else "" for is_cut in (start, end < len(text)))
    return Excerpt(f"{before}{text[start:end].strip()}{after}", True)


def _find_densest(text: str, room: int, words: Sequence[str]) -> tuple[int, int]:
    """Return the ends of the stretch of at most `room` characters that holds most words.

    Different words count more than repetitions of one.
    """
    stems = tuple([word.casefold() for word in words if word])
    matches: list[tuple[int, int, str]] = []
    for match in _WORD.finditer(text) if stems else ():
        word = match[0].casefold()
        if word.startswith(stems):
            stem = next(stem for stem in stems if word.startswith(stem))
            matches.append((match.start(), min(match.end(), match.start() + room), stem))
    best, most, first = (0, 0), (0, 0), 0
    inside: dict[str, int] = {}
    for _, end, stem in matches:
        inside[stem] = inside.get(stem, 0) + 1
        while end - matches[first][0] > room:
            left = matches[first][2]
            inside[left] -= 1
            if not inside[left]:
                del inside[left]
            first += 1
        counts = len(inside), sum(inside.values())
        if counts > most:
            best, most = (matches[first][0], end), counts
    return best
