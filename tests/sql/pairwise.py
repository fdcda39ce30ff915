"""Rows in which every two options meet: far fewer than all combinations.

Most faults show as soon as two options are combined in the wrong way.
"""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

Pair = tuple[tuple[int, int], tuple[int, int]]


def pairwise_rows(columns: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return rows, one option a column, that hold every pair of options of two columns.

    Greedy: each row starts with a missing pair, and each further option is the one that adds most.
    """
    missing = {
        ((one, a), (two, b))
        for one, two in combinations(range(len(columns)), 2)
        for a, b in product(range(len(columns[one])), range(len(columns[two])))
    }
    rows: list[tuple[Any, ...]] = []
    while missing:
        row: dict[int, int] = dict(min(missing))
        for column, options in enumerate(columns):
            if column not in row:
                gains = [len(_pairs(row, column, n) & missing) for n in range(len(options))]
                row[column] = gains.index(max(gains))
        missing -= {pair for column, option in row.items() for pair in _pairs(row, column, option)}
        rows.append(tuple(options[row[column]] for column, options in enumerate(columns)))
    return rows


def _pairs(row: dict[int, int], column: int, option: int) -> set[Pair]:
    """Return the pairs of one more option with those that the row has."""
    return {
        ((other, row[other]), (column, option))
        if other < column
        else ((column, option), (other, row[other]))
        for other in row
        if other != column
    }
