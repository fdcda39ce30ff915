"""Figure of recall@k by profile; the only module that imports matplotlib for an evaluation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from memsense.errors import ConfigurationError, EvaluationError
from memsense.evaluation.run import SESSION_DEPTH, TURN_DEPTH, QuestionResult
from memsense.metrics import recall_at

SIZE, DPI = (11.0, 4.5), 150


def session_curve(results: Sequence[QuestionResult]) -> list[float]:
    """Return the mean session recall@k for k = 1 to 10."""
    return [
        fmean(
            recall_at([(name,) for name in result.sessions], result.gold_sessions, k)
            for result in results
        )
        for k in range(1, SESSION_DEPTH + 1)
    ]


def turn_curve(results: Sequence[QuestionResult]) -> list[float]:
    """Return the mean turn recall@k for k = 1 to 20."""
    return [
        fmean(recall_at(result.messages, result.gold, k) for result in results)
        for k in range(1, TURN_DEPTH + 1)
    ]


def draw_recall(path: Path, runs: Mapping[str, Sequence[QuestionResult]]) -> None:
    """Write a PNG of session recall@1-10 and turn recall@1-20, a line for each profile.

    Args:
        path: The file to write.
        runs: Results by the profile's name.

    Raises:
        ConfigurationError: If matplotlib is missing.
        EvaluationError: If there is nothing to draw, or the file can't be written.
    """
    if not runs or not all(runs.values()):
        raise EvaluationError("there are no results to draw")
    # A Figure of its own: pyplot would choose a backend, and keep every figure in memory.
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigurationError(
            "a figure needs matplotlib: pip install 'memsense[eval]'"
        ) from error
    figure: Any = Figure(figsize=SIZE, layout="constrained")  # its types are only partly known
    axes = figure.subplots(1, 2)
    titles = ("session recall@k", "turn recall@k")
    for axis, title, curve_of in zip(axes, titles, (session_curve, turn_curve), strict=True):
        for name, results in runs.items():
            curve = curve_of(results)
            axis.plot(range(1, len(curve) + 1), curve, marker="o", markersize=3, label=name)
        axis.set_title(title)
        axis.set_xlabel("k")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_ylim(top=1.0)
        axis.grid(visible=True, alpha=0.3)
    axes[0].legend(loc="lower right", fontsize="small")
    # The suffix of the path does not count: the file is always a PNG.
    try:
        figure.savefig(path, format="png", dpi=DPI)
    except OSError as error:
        raise EvaluationError(f"{path} can't be written: {error}") from error
