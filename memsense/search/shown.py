"""What of a memory is shown within a budget of characters: around what the question looks for.

A text that fits is shown as it is. Else an ellipsis stands wherever something is left out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

ELLIPSIS = "…"
LEAST_CUT = 200
"""Characters of the budget that must be left for an exchange to be shown in part."""

SNAP = 20
"""Characters within which a cut moves to the next blank."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Shown:
    """A text as it is shown, whether anything is left out, and which pieces are in it."""

    text: str
    cut: bool
    pieces: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """One of a session's exchanges: its number among all that may be shown, from 1.

    `best` is its place among those that brought the session in, from 0; None: it is beside them.
    """

    number: int
    text: str
    best: int | None = None


def fit_text(text: str, budget: int, words: Sequence[str]) -> Shown:
    """The text, or the stretch of at most `budget` characters that holds most of the words.

    `words` are lexemes of the question: stems, which a word of the text begins with.
    """
    if len(text) <= budget:
        return Shown(text, False)
    room = budget - 2 * len(ELLIPSIS)
    if room < 1:
        return Shown(ELLIPSIS[:budget], True)
    first, last = _densest(text, room, words)
    start = min(max((first + last - room) // 2, 0), len(text) - room)
    end = start + room
    if start:
        start = _after_blank(text, start, min(first, start + SNAP))
    if end < len(text):
        end = _before_blank(text, max(last, end - SNAP), end)
    kept = text[start:end].strip()
    before, after = (ELLIPSIS if left else "" for left in (start, end < len(text)))
    return Shown(f"{before}{kept}{after}", True)


def _densest(text: str, room: int, words: Sequence[str]) -> tuple[int, int]:
    """Where the stretch of at most `room` characters begins and ends that holds most words."""
    stems = tuple(word.casefold() for word in words if word)
    found = [
        (match.start(), min(match.end(), match.start() + room), stem)
        for match in (_WORD.finditer(text) if stems else ())
        if (said := match[0].casefold()).startswith(stems)
        for stem in [next(stem for stem in stems if said.startswith(stem))]
    ]
    best, most, first = (0, 0), (0, 0), 0
    inside: dict[str, int] = {}
    for _, end, stem in found:
        inside[stem] = inside.get(stem, 0) + 1
        while end - found[first][0] > room:
            gone = found[first][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        held = len(inside), sum(inside.values())
        if held > most:
            best, most = (found[first][0], end), held
    return best


def _after_blank(text: str, start: int, latest: int) -> int:
    """Where the first word begins from `start` on, if that is not after `latest`."""
    found = next((at for at in range(start, latest) if text[at].isspace()), None)
    return start if found is None else found + 1


def _before_blank(text: str, earliest: int, end: int) -> int:
    """Where the last word ends before `end`, if that is not before `earliest`."""
    found = next((at for at in range(end - 1, earliest - 1, -1) if text[at].isspace()), None)
    return end if found is None else found


def fit_session(pieces: Sequence[Piece], total: int, budget: int, words: Sequence[str]) -> Shown:
    """A session's exchanges in its order, as many as the budget holds, those around the best first.

    `pieces` are those nearest to the best, in the session's order; `total` is how many there are
    in all. Exchanges that brought the session in may be shown in part, the others are whole.
    """
    whole = "\n".join(piece.text for piece in pieces)
    if len(pieces) == total and len(whole) <= budget:
        return Shown(whole, False, [piece.number for piece in pieces])
    chosen: dict[int, str] = {}
    left = budget - 2 * len(ELLIPSIS) - 1
    for piece in _nearest_first(pieces):
        cost = len(piece.text) + 2 * len(ELLIPSIS) + 1
        if cost <= left:
            chosen[piece.number] = piece.text
            left -= cost
        elif not chosen or (piece.best is not None and left >= LEAST_CUT):
            room = max(left - 2 * len(ELLIPSIS) - 1, 1)
            chosen[piece.number] = fit_text(piece.text, room, words).text
            left -= len(chosen[piece.number]) + 2 * len(ELLIPSIS) + 1
        elif piece.best is None:
            break
    text = _join(chosen, total)
    if len(text) > budget:  # not even the marks of a single piece have room
        return Shown(ELLIPSIS[:budget], True, sorted(chosen))
    return Shown(text, True, sorted(chosen))


def _nearest_first(pieces: Sequence[Piece]) -> list[Piece]:
    """The best in their order, then what stands beside them, nearer ones first."""
    best = {piece.number: piece.best for piece in pieces if piece.best is not None}

    def distance(piece: Piece) -> tuple[int, int, int]:
        apart, rank = min(
            ((abs(piece.number - number), place) for number, place in best.items()),
            default=(0, piece.number),
        )
        return apart, rank, piece.number

    return sorted(pieces, key=distance)


def _join(chosen: dict[int, str], total: int) -> str:
    lines: list[str] = []
    before = 0
    for number, text in sorted(chosen.items()):
        lines += [ELLIPSIS] if number > before + 1 else []
        lines.append(text)
        before = number
    return "\n".join([*lines, *([ELLIPSIS] if before < total else [])])
