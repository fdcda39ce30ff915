"""Times of calls, one after another."""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Milliseconds per call."""

    median: float
    p95: float
    calls: int
    samples: Sequence[float] = ()

    def as_dict(self) -> dict[str, float]:
        """Return the timing as plain values."""
        return {"median_ms": self.median, "p95_ms": self.p95, "calls": self.calls}


def summarise(milliseconds: Sequence[float]) -> Timing:
    """Return the median and the 95th percentile."""
    ordered = sorted(milliseconds)
    last = len(ordered) - 1
    return Timing(
        median=statistics.median(ordered),
        p95=ordered[round(0.95 * last)],
        calls=len(ordered),
        samples=tuple(ordered),
    )


def join(timings: Sequence[Timing]) -> Timing:
    """Join all calls of several timings to one."""
    return summarise([sample for timing in timings for sample in timing.samples])


def time_calls(
    call: Callable[[T], object], inputs: Sequence[T], *, warm: int = 5, seconds: float = 20.0
) -> Timing:
    """Call once per input after `warm` untimed calls; stop after `seconds`, never before three."""
    for item in inputs[:warm]:
        call(item)
    # The collector must not walk through objects that exist already: the benchmark's own corpus and
    # the peers' stores are no part of the cost of a call.
    gc.collect()
    gc.freeze()
    elapsed: list[float] = []
    for item in inputs:
        started = time.perf_counter()
        call(item)
        elapsed.append(1000 * (time.perf_counter() - started))
        if sum(elapsed) > 1000 * seconds and len(elapsed) >= 3:
            break
    gc.unfreeze()
    return summarise(elapsed)
