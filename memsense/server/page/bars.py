"""Bars of scores: parts that add up to each score, on one scale for all hits of a page."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memsense.search.explanation import Explanation, arithmetic_parts, round_to_total, score_text
from memsense.text.words import read_table

WIDTH = 1000
"""Width of a bar's picture, in units of its own."""

PARTS = read_table("score_parts", "parts")
"""Each part of a score in words. Each has one colour on every page: `.p-NAME` in style.css."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """A term of a score: its rounded value, its derivation, and its position in the picture."""

    name: str
    value: float
    how: str
    start: float
    width: float

    @property
    def css_class(self) -> str:
        """The class that gives the part its colour."""
        return f"p-{self.name if self.name in PARTS else 'other'}"

    @property
    def text(self) -> str:
        """The value as the page shows it, with its sign."""
        return f"{self.value:+.4f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Parts of a score. As the page shows them, they add up to it to the last digit."""

    total: str
    parts: Sequence[BarPart]
    zero: float

    @property
    def visible_parts(self) -> Sequence[BarPart]:
        """The parts that are not zero."""
        return [part for part in self.parts if part.value]

    @property
    def text(self) -> str:
        """The bar in words, for screen readers."""
        parts = ", ".join(f"{part.name} {part.text}" for part in self.visible_parts)
        return f"score {self.total}: {parts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a picture of values in time, which is 100 units high."""

    start: float
    width: float
    height: float


Parts = Sequence[tuple[str, float, str]]
"""Name, value and derivation of each term."""


def explained_parts(explanation: Explanation) -> Parts:
    """Return the terms of a hit's score."""
    return _in_order(
        (part.name, part.contribution, part.describe().removeprefix(f"{part.name}: "))
        for part in arithmetic_parts(explanation)
    )


def named_parts(parts: Mapping[str, float]) -> Parts:
    """Return terms without a derivation, as recorded searches keep them."""
    return _in_order((name, value, "") for name, value in parts.items())


def _in_order(parts: Iterable[tuple[str, float, str]]) -> Parts:
    """Return parts in the order of `PARTS`, so that bars of any source can be compared."""
    places = {name: place for place, name in enumerate(PARTS)}
    return sorted(parts, key=lambda part: places.get(part[0], len(places)))


def draw_bars(scores: Sequence[tuple[float, Parts]]) -> list[Bar]:
    """Return a bar for each score with its terms; the longest one fills the picture."""
    # Rounded so that the digits on the page add up: rounding each part alone would not.
    rounded = [round_to_total([value for _, value, _ in parts], score) for score, parts in scores]
    up = max((math.fsum(v for v in values if v > 0) for values in rounded), default=0.0)
    down = max((math.fsum(-v for v in values if v < 0) for values in rounded), default=0.0)
    unit = WIDTH / (up + down or 1.0)
    return [
        _draw_bar(values, parts, unit, down * unit)
        for values, (_, parts) in zip(rounded, scores, strict=True)
    ]


def draw_columns(values: Sequence[float | None]) -> Sequence[Column]:
    """Return a column for each value that is not zero; the highest one fills the picture."""
    most = max((value for value in values if value), default=1.0)
    width = WIDTH / max(len(values), 1)
    return [
        Column(
            start=round(width * place, 2),
            width=round(0.8 * width, 2),
            height=round(100 * value / most, 2),
        )
        for place, value in enumerate(values)
        if value
    ]


def list_legend(bars: Iterable[Bar]) -> list[tuple[str, str]]:
    """Return name and meaning of each part in some bars, in the order of `PARTS`."""
    names = {part.name for bar in bars for part in bar.visible_parts}
    return [
        *((name, meaning) for name, meaning in PARTS.items() if name in names),
        *((name, "") for name in sorted(names - PARTS.keys())),
    ]


def _draw_bar(values: Sequence[float], parts: Parts, unit: float, zero: float) -> Bar:
    # Positive parts grow to the right of zero, negative ones to the left.
    right, left, bar_parts = zero, zero, list[BarPart]()
    for value, (name, _, how) in zip(values, parts, strict=True):
        width = abs(value) * unit
        start = right if value >= 0 else left - width
        right, left = (right + width, left) if value >= 0 else (right, left - width)
        bar_parts.append(
            BarPart(name=name, value=value, how=how, start=round(start, 2), width=round(width, 2))
        )
    return Bar(total=score_text(math.fsum(values)), parts=bar_parts, zero=round(zero, 2))
