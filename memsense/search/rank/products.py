"""Matrix products that the calling thread works out by itself.

OpenBLAS, which numpy is built with, shares a product of more than some 260,000 multiplications
among all cores, and its threads wait for one another without sleeping. That gains a search nothing
worth having, and takes the cores from others: what takes one thread 70 µs took a search 16 ms of
processor time where other programs ran, too.
"""

MOST_ALONE = 1 << 18
"""Multiplications up to which OpenBLAS leaves a product to one thread."""


def rows_alone(columns: int, depth: int) -> int:
    """How many rows of (rows, depth) to multiply by (depth, columns) at once, at least one."""
    return max(1, MOST_ALONE // max(1, columns * depth))
