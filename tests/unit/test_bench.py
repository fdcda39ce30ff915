"""Arithmetic of the benchmark, and properties of its generated memories."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.corpus import (
    SAMPLE,
    Corpus,
    PreparedEmbedder,
    generate_sessions,
)
from benchmarks.floor import nearest
from benchmarks.report import fit_exponent, fit_growth, print_tables, write_results
from benchmarks.statements import statement
from benchmarks.timing import summarise, time_calls
from memsense.draft.facets.tagger import RuleTagger


@pytest.fixture
def corpus() -> Corpus:
    messages = [json.loads(line)["content"] for line in SAMPLE.read_text().splitlines()[:60]]
    embedder = PreparedEmbedder()
    return Corpus(
        source="the bundled sample",
        messages=messages,
        vectors=embedder.embed(messages),
        facets=[RuleTagger().tag(message, "") for message in messages],
        questions=["Where does Ines live?"],
        question_vectors=embedder.embed(["Where does Ines live?"]),
    )


def test_a_power_law_gives_its_exponent() -> None:
    points = [(n, 3 * n**0.7) for n in (1_000, 10_000, 100_000)]
    assert fit_exponent(points) == pytest.approx(0.7)


def test_unmeasured_points_take_no_part_in_a_fit() -> None:
    assert fit_exponent([(1_000, None), (10_000, 5.0)]) is None
    assert fit_exponent([(1_000, 1.0), (5_000, None), (10_000, 10.0)]) == pytest.approx(1)


def test_generated_sessions_hold_exactly_as_many_distinct_chunks_as_asked(corpus: Corpus) -> None:
    sessions = list(generate_sessions(corpus, "ada", 45))
    chunks = [exchange.chunks[0] for item in sessions for exchange in item.draft.exchanges]
    assert len(chunks) == 45
    assert len({chunk.user_text for chunk in chunks}) == 45
    assert len({chunk.content_hash for chunk in chunks}) == 45


def test_every_generated_text_has_a_unit_vector_near_its_sources(corpus: Corpus) -> None:
    for session in generate_sessions(corpus, "ada", 40):
        for exchange in session.draft.exchanges:
            for text in exchange.chunks[0].texts().values():
                assert np.linalg.norm(session.vectors[text]) == pytest.approx(1, abs=1e-5)
        first = session.draft.exchanges[0].chunks[0]
        best = (corpus.vectors @ session.vectors[first.user_text]).max()
        assert best > 0.5


def test_the_same_seed_generates_the_same_memory(corpus: Corpus) -> None:
    [one], [two] = (list(generate_sessions(corpus, "ada", 10, seed=3)) for _ in range(2))
    assert one.draft == two.draft
    assert all(np.array_equal(one.vectors[text], two.vectors[text]) for text in one.vectors)


def test_the_floor_finds_the_largest_inner_products_in_order() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((50, 8), dtype=np.float32)
    vector = rng.standard_normal(8, dtype=np.float32)
    expected = sorted(range(50), key=lambda row: -float(matrix[row] @ vector))
    assert nearest(np.arange(50), matrix, vector, 7) == expected[:7]
    assert nearest(np.arange(50), matrix, vector, 500) == expected


def test_timing_counts_every_input_and_no_warm_up() -> None:
    seen: list[int] = []
    timing = time_calls(seen.append, [1, 2, 3, 4], warm=2)
    assert seen == [1, 2, 1, 2, 3, 4]
    assert timing.calls == 4
    assert 0 <= timing.median <= timing.p95


def test_percentiles_are_those_of_the_sorted_times() -> None:
    timing = summarise([float(n) for n in range(100, 0, -1)])
    assert timing.median == 50.5
    assert timing.p95 == 95


def test_the_search_of_the_original_has_its_eight_routes_and_limits() -> None:
    text = statement("original.sql", "search")
    assert text.count("LIMIT 80") == 8
    assert text.endswith("LIMIT 32;")


def results(chunks: int, milliseconds: float) -> dict[str, object]:
    return {
        "machine": {},
        "search": [
            {
                "chunks": chunks,
                "users": 1,
                "memsense_ms": milliseconds,
                "memsense_p95_ms": milliseconds,
                "memsense_parts_ms": {"recall": milliseconds},
                "memsense_all_routes_ms": None,
                "memsense_with_graph_ms": None,
                "memsense_exact_ms": milliseconds,
                "original_ms": 12 * milliseconds,
                "numpy_ms": None,
                "peers": {"lancedb hybrid": 2.0},
            }
        ],
        "add": [],
        "ingest": {},
        "disk": [],
        "ann": [],
    }


def test_the_results_file_keeps_four_digits_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "latest.json"
    write_results(results(1000, math.pi), path)
    row = json.loads(path.read_text())["search"][0]
    assert row["memsense_ms"] == 3.142
    assert row["numpy_ms"] is None


def test_the_table_shows_the_ratio_to_the_original(capsys: pytest.CaptureFixture[str]) -> None:
    found = results(1000, 5.0)
    found["growth"] = fit_growth(found)
    print_tables(found)
    shown = capsys.readouterr().out
    assert "12" in shown
    assert "lancedb" in shown
