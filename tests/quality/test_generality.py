"""On chats with an assistant, which nothing was tuned on, the default loses to no plain ranking."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


FLOORS = {
    "session.recall@1": 0.70,
    "session.recall@5": 0.92,
    "session.mrr": 0.80,
    "turn.recall@5": 0.74,
    "turn.recall@10": 0.84,
}
"""About two standard errors under what was measured on 2026-11-21."""


def measure(database_url: str) -> list[dict[str, Any]]:
    """The rows of the default profile, of plain cosine and of plain BM25."""
    command = [sys.executable, "-m", "benchmarks.assistant_chats", "--bundled-only", "--json"]
    run = subprocess.run(
        [*command, "--database", database_url], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


def test_the_default_profile_loses_to_no_plain_route_and_keeps_its_floors(
    database_url: str,
) -> None:
    default, *plain = measure(database_url)
    assert default["profile"] == "balanced"
    means = {name: interval["mean"] for name, interval in default["means"].items()}
    assert {name: means[name] for name, floor in FLOORS.items() if means[name] < floor} == {}
    assert [row["profile"] for row in plain] == ["cosine", "bm25"]
    for row in plain:
        gains = {gain["metric"]: gain for gain in row["differences"]}
        surely_ahead = {name for name, gain in gains.items() if gain["low"] > 0}
        assert surely_ahead == set()
        assert gains["session.mrr"]["difference"] < 0
        assert gains["turn.recall@10"]["difference"] < 0
