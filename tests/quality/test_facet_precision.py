"""The facet rules keep their precision and recall on hand-labelled sentences of LoCoMo."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", ROOT.parent / "shared"))
LOCOMO = SHARED / "eval" / "locomo10.json"

pytestmark = [
    pytest.mark.skipif(not LOCOMO.exists(), reason="needs locomo10.json in the shared directory"),
]


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    script = ROOT / "benchmarks" / "facet_precision.py"
    run = subprocess.run(
        [sys.executable, script, LOCOMO, "--json"], capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    ("facet", "precision", "recall"),
    [("personal_info", 0.8, 0.9), ("preferences", 0.85, 0.65), ("events", 0.85, 0.85)],
)
def test_a_facet_stays_above_its_floor(
    figures: dict[str, Any], facet: str, precision: float, recall: float
) -> None:
    quality = figures["facets"]["all"][facet]
    assert quality["labelled"] >= 10
    assert quality["precision"] >= precision
    assert quality["recall"] >= recall


def test_no_rule_that_matches_often_is_wrong_more_than_two_times_in_five(
    figures: dict[str, Any],
) -> None:
    weak = {
        name
        for name, quality in figures["rules"].items()
        if quality["tagged"] >= 8 and quality["precision"] < 0.6
    }
    assert weak == set()


def test_both_halves_are_labelled(figures: dict[str, Any]) -> None:
    for half in ("tuning", "held_out"):
        assert all(quality["labelled"] for quality in figures["facets"][half].values())
