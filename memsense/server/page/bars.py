"""A hit's score as a bar: parts that add up to it, drawn on one scale for all hits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memsense.search.explanation import (
    Explanation,
    arithmetic_parts,
    round_to_total,
    score_text,
)

COLOURS = 16
WIDTH = 1000
"""Units that a bar's picture is wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """One summand: its printed value, how it came about, and its place in the picture."""

    name: str
    value: float
    how: str
    start: float
    width: float
    colour: int

    @property
    def text(self) -> str:
        """The value as it is printed, with its sign."""
        return f"{self.value:+.4f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The parts of a score, which is their sum as printed, to the last digit."""

    total: str
    parts: Sequence[BarPart]
    zero: float

    @property
    def drawn(self) -> Sequence[BarPart]:
        """The parts that show in the picture."""
        return [part for part in self.parts if part.value]

    @property
    def told(self) -> str:
        """The bar in words."""
        parts = ", ".join(f"{part.name} {part.text}" for part in self.drawn)
        return f"score {self.total}: {parts}"


Parts = Sequence[tuple[str, float, str]]
"""Name, value and how it came about of each summand."""


def explained_parts(explanation: Explanation) -> Parts:
    """The summands of a hit."""
    return [
        (part.name, part.contribution, part.describe().removeprefix(f"{part.name}: "))
        for part in arithmetic_parts(explanation)
    ]


def named_parts(parts: Mapping[str, float]) -> Parts:
    """Summands of which only the name is known."""
    return [(name, value, "") for name, value in parts.items()]


def draw_bars(scores: Sequence[tuple[float, Parts]]) -> list[Bar]:
    """A bar for each score with its summands; the longest fills the picture."""
    rounded = [round_to_total([value for _, value, _ in parts], score) for score, parts in scores]
    up = max((math.fsum(v for v in values if v > 0) for values in rounded), default=0.0)
    down = max((math.fsum(-v for v in values if v < 0) for values in rounded), default=0.0)
    unit = WIDTH / (up + down or 1.0)
    colours = _choose_colours([parts for _, parts in scores])
    return [
        _draw(values, parts, unit, down * unit, colours)
        for values, (_, parts) in zip(rounded, scores, strict=True)
    ]


def _choose_colours(every: Sequence[Parts]) -> Mapping[str, int]:
    names = dict.fromkeys(name for parts in every for name, value, _ in parts if value)
    return {name: number % COLOURS for number, name in enumerate(names)}


def _draw(
    values: Sequence[float], parts: Parts, unit: float, zero: float, colours: Mapping[str, int]
) -> Bar:
    right, left, drawn = zero, zero, list[BarPart]()
    for value, (name, _, how) in zip(values, parts, strict=True):
        width = abs(value) * unit
        start = right if value >= 0 else left - width
        right, left = (right + width, left) if value >= 0 else (right, left - width)
        drawn.append(
            BarPart(
                name=name,
                value=value,
                how=how,
                start=round(start, 2),
                width=round(width, 2),
                colour=colours.get(name, 0),
            )
        )
    return Bar(total=score_text(math.fsum(values)), parts=drawn, zero=round(zero, 2))
