"""The figures of the README and docs/beside/index.md are those of the results that they name."""

import json
import re
from pathlib import Path

from memsense.ingest.registry import readers

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BESIDE = (ROOT / "docs/beside/index.md").read_text(encoding="utf-8")
CONSTANTS = (ROOT / "docs/how/constants.md").read_text(encoding="utf-8")
EVALUATION = (ROOT / "benchmarks/results/context.md").read_text(encoding="utf-8")


def row(page: str, start: str) -> list[str]:
    """Return the cells of the one row that begins with a text."""
    [line] = [line for line in page.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_readmes_search_is_that_of_the_last_benchmark() -> None:
    results = json.loads((ROOT / "benchmarks/results/latest.json").read_text(encoding="utf-8"))
    [ten_thousand] = [it for it in results["search"] if (it["chunks"], it["users"]) == (10_000, 1)]
    ours, original = row(README, "a search of 10,000 exchanges")[1:3]
    assert ours == f"{ten_thousand['memsense_ms']:.0f} ms"
    assert original.endswith(f": {ten_thousand['original_ms']:.0f} ms")


def test_the_readmes_gold_per_token_is_that_of_the_evaluation() -> None:
    ours, trimmed = row(README, "gold turns in a prompt of 500 tokens")[1:3]
    assert ours == f"{row(EVALUATION, 'LoCoMo 5-9: `memory.context`')[2]}%"
    lines = [
        line for line in EVALUATION.splitlines() if line.startswith("| one trimmed line a hit")
    ]
    assert trimmed.endswith(f": {lines[0].split('|')[3].strip()}%")


def test_recall_beside_others_is_that_of_the_measured_weights() -> None:
    measured = row(CONSTANTS, "LoCoMo, the default")
    assert row(BESIDE, "memsense, default")[1:3] == measured[5:7]
    assert row(README, "LoCoMo, session R@10")[1] == measured[6]
    held_out = row(CONSTANTS, "**LoCoMo 5-9, the default")
    assert row(BESIDE, "memsense, on the half")[1:3] == held_out[5:7]
    plain = row(CONSTANTS, "LoCoMo, plain fusion")
    assert row(BESIDE, "plain fusion of BM25")[1:3] == plain[5:7]
    palace = row(BESIDE, "MemPalace 3.3.6, hybrid")
    assert row(README, "LoCoMo, session R@10")[4] == palace[2]


def test_the_number_of_formats_is_that_of_the_list() -> None:
    found = re.search(r"\[(\d+) formats\]", BESIDE)
    assert found
    assert int(found[1]) == len(readers())
