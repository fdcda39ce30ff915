"""Growth of processor time with the length of the input."""

import gc
import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")

LINEAR = 2.5
"""Twice the input takes twice the time; four times where the time is quadratic."""

ENOUGH = 0.001
"""Seconds of work that can be compared. Quadratic work takes longer for 2,000 characters."""

SIZES = (500, 2_000)
DOUBLINGS = (1, 4)
"""An expression that looks at the next 200 characters from each is linear for longer texts only."""

ATTEMPTS = 6


def growth(work: Callable[[Input], object], make: Callable[[int], Input]) -> float:
    """Return how many times longer twice the input takes; `LINEAR` or more only if repeats confirm
    it.

    Return 0 if 2,000 characters or items take no measurable time.

    `make` returns an input of about a given length. The smallest of several measurements counts,
    because other work of the machine can only add time.
    """
    size = next((size for size in SIZES if _seconds(work, make(size)) >= ENOUGH), None)
    if size is None:
        return 0.0
    ratios = (_ratio(work, make(times * size), make(2 * times * size)) for times in DOUBLINGS)
    return next((ratio for ratio in ratios if ratio < LINEAR), LINEAR)


def _ratio(work: Callable[[Input], object], once: Input, twice: Input) -> float:
    seconds, seconds_twice = _seconds(work, once), _seconds(work, twice)
    for _ in range(ATTEMPTS):
        if seconds_twice < LINEAR * seconds:
            break
        seconds = min(seconds, _seconds(work, once))
        seconds_twice = min(seconds_twice, _seconds(work, twice))
    return seconds_twice / seconds


def _seconds(work: Callable[[Input], object], given: Input) -> float:
    """Measure the time without the garbage collector, which also scans older objects."""
    gc.disable()
    try:
        started = time.thread_time()
        work(given)
        return time.thread_time() - started
    finally:
        gc.enable()
