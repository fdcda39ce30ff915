"""Plot of latency against size."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.report import SERIES, fit_exponent


def plot_latency(results: Mapping[str, Any], path: Path) -> None:
    """Plot search and add over the number of chunks, on logarithmic axes, with fitted exponents."""
    # Loaded only now: a second that a run without a plot needn't spend. It has no full types.
    importlib.import_module("matplotlib").use("agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for name, points in _series(results).items():
        exponent = fit_exponent(points)
        label = name if exponent is None else f"{name}: n^{exponent:.2f}"
        style = "o-" if name.startswith("memsense") else "o--"
        axes.plot(*zip(*points, strict=True), style, label=label)
    axes.set(xscale="log", yscale="log", xlabel="chunks of one user", ylabel="ms, median")
    axes.set_title("Search and add, embedding apart")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _series(results: Mapping[str, Any]) -> dict[str, list[tuple[float, float]]]:
    alone = [row for row in results["search"] if row["users"] == 1]
    names = sorted({name for row in alone for name in row["peers"]})
    series = {
        **{name: [(row["chunks"], row[key]) for row in alone] for name, key in SERIES.items()},
        **{name: [(row["chunks"], row["peers"].get(name)) for row in alone] for name in names},
        "memsense, add": [(row["chunks"], row["memsense_ms"]) for row in results["add"]],
    }
    curves = {name: [point for point in points if point[1]] for name, points in series.items()}
    return {name: points for name, points in curves.items() if points}
