"""Draws recall@k by profile; the only user of matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from memsense.errors import ConfigurationError, EvaluationError
from memsense.evaluation.metrics import recall_at
from memsense.evaluation.run import SESSION_DEPTH, TURN_DEPTH, QuestionResult

SIZE, DPI = (11.0, 4.5), 150


def session_curve(results: Sequence[QuestionResult]) -> list[float]:
    """Mean session recall@k for k = 1 to 10."""
    return [
        fmean(
            recall_at([(name,) for name in result.sessions], result.gold_sessions, k)
            for result in results
        )
        for k in range(1, SESSION_DEPTH + 1)
    ]


def turn_curve(results: Sequence[QuestionResult]) -> list[float]:
    """Mean turn recall@k for k = 1 to 20."""
    return [
        fmean(recall_at(result.messages, result.gold, k) for result in results)
        for k in range(1, TURN_DEPTH + 1)
    ]


def draw_recall(path: Path, runs: Mapping[str, Sequence[QuestionResult]]) -> None:
    """Write a PNG of session recall@1-10 and turn recall@1-20, a line a profile.

    Raises ConfigurationError without matplotlib, EvaluationError when there is nothing to draw
    or the file can't be written.
    """
    if not runs or not all(runs.values()):
        raise EvaluationError("there are no results to draw")
    figure = _new_figure()
    sessions, turns = figure.subplots(1, 2)
    for name, results in runs.items():
        _draw_curve(sessions, name, session_curve(results))
        _draw_curve(turns, name, turn_curve(results))
    _finish(sessions, "session recall@k")
    _finish(turns, "turn recall@k")
    sessions.legend(loc="lower right", fontsize="small")
    try:
        figure.savefig(path, format="png", dpi=DPI)
    except OSError as error:
        raise EvaluationError(f"{path} can't be written: {error}") from error


def _new_figure() -> Any:  # matplotlib's own types are only partly known
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigurationError(
            "a figure needs matplotlib: pip install 'memsense[eval]'"
        ) from error
    return Figure(figsize=SIZE, layout="constrained")


def _draw_curve(axes: Any, name: str, curve: Sequence[float]) -> None:
    axes.plot(range(1, len(curve) + 1), curve, marker="o", markersize=3, label=name)


def _finish(axes: Any, title: str) -> None:
    axes.set_title(title)
    axes.set_xlabel("k")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(top=1.0)
    axes.grid(visible=True, alpha=0.3)
