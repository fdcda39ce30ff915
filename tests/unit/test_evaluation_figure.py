"""Curves of the figure, and the PNG file."""

import sys
from pathlib import Path
from typing import Any

import pytest

from memsense.errors import ConfigurationError, EvaluationError
from memsense.evaluation import QuestionResult
from memsense.evaluation.figure import draw_recall, session_curve, turn_curve

pytest.importorskip("matplotlib", reason="needs matplotlib: make setup-all")

NOTHING: list[dict[str, list[QuestionResult]]] = [{}, {"balanced": []}]


def result(**changes: Any) -> QuestionResult:
    given: dict[str, Any] = {
        "question_id": "q",
        "user_id": "ada",
        "question": "Where?",
        "category": "1",
        "split": "",
        "session": {},
        "turn": {},
        "sessions": ["s1", "s2"],
        "messages": [["m1", "m2"], ["m3"]],
        "gold": ["m1", "m3"],
        "gold_sessions": ["s2"],
        "search_ms": [],
    }
    return QuestionResult(**{**given, **changes})


def test_a_curve_has_the_mean_recall_at_each_depth() -> None:
    rows = [result(), result(sessions=["s2"], gold_sessions=["s2", "s3"], gold=["m2"])]
    assert session_curve(rows) == [0.25] + [0.75] * 9
    assert turn_curve(rows) == [0.75] + [1.0] * 19


def test_the_figure_is_a_png_with_a_line_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "recall.png"
    draw_recall(path, {"balanced": [result()], "cosine": [result(sessions=["s1"])]})
    assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert path.stat().st_size > 10_000


def test_an_empty_figure_is_refused(tmp_path: Path) -> None:
    for runs in NOTHING:
        with pytest.raises(EvaluationError, match="no results to draw"):
            draw_recall(tmp_path / "recall.png", runs)
    with pytest.raises(EvaluationError, match="can't be written"):
        draw_recall(tmp_path / "missing" / "recall.png", {"balanced": [result()]})


def test_without_matplotlib_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'memsense\[eval\]'"):
        draw_recall(tmp_path / "recall.png", {"balanced": [result()]})
