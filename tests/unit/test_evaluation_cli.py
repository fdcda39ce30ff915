"""`memsense eval jsonl` and `memsense eval compare`, as they are called."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CONVERSATION = {
    "conversation_id": "ada",
    "sessions": [
        {"session_id": "s1", "turns": [{"id": "m1", "role": "user", "content": "I keep bees."}]},
        {"session_id": "s2", "turns": [{"id": "m2", "role": "user", "content": "Lock ZX-4711."}]},
    ],
    "questions": [
        {"question": "Who looks after insects that make honey?", "gold": ["m1"], "split": "dev"},
        {"question": "What is ZX-4711?", "gold": ["m2"], "split": "test"},
    ],
}


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    program = "from memsense.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, "eval", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def gold_file(tmp_path: Path) -> Path:
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(CONVERSATION) + "\n")
    return path


def test_a_gold_set_is_measured_drawn_written_and_compared(
    gold_file: Path, tmp_path: Path, database_url: str
) -> None:
    measured = run(
        "jsonl", gold_file, "--database-url", database_url, "--json", "--ci",
        "-p", "semantic", "-p", "lexical", "--sweep", "rrf_k=15,60",
        "--figure", tmp_path / "recall.png", "--questions-out", tmp_path / "run.jsonl",
    )  # fmt: skip
    assert measured.returncode == 0, measured.stderr
    semantic, lexical = json.loads(measured.stdout)
    assert (semantic["profile"], lexical["profile"]) == ("semantic", "lexical")
    assert set(lexical["splits"]) == {"all", "dev", "test"}
    assert lexical["splits"]["test"]["session"]["recall@1"] == 1
    assert lexical["splits"]["dev"]["session"]["recall@1"] == 0
    assert lexical["intervals"]["all"]["session.recall@1"]["mean"] == 0.5
    assert [row["profile"] for row in lexical["variants"]] == [
        "lexical rrf_k=15.0",
        "lexical rrf_k=60.0",
    ]
    assert (tmp_path / "recall.png").read_bytes().startswith(b"\x89PNG")

    files = [tmp_path / f"run.{name}.jsonl" for name in ("lexical", "semantic")]
    compared = run("compare", *files, "--json")
    assert compared.returncode == 0, compared.stderr
    gains = {gain["metric"]: gain for gain in json.loads(compared.stdout)["metrics"]}
    assert gains["session.recall@1"]["wins"] == 1
    told = run("compare", *files)
    assert "session.recall@1" in told.stdout


def test_what_cannot_be_measured_or_compared_is_told_in_one_line(
    gold_file: Path, database_url: str
) -> None:
    compared = run("compare", gold_file, gold_file)
    assert compared.returncode == 1
    assert "line 1 is no question's result" in compared.stderr
    gold_file.write_text("{}\n")
    measured = run("jsonl", gold_file, "--database-url", database_url)
    assert measured.returncode == 1
    assert measured.stderr.startswith(f"memsense: {gold_file}, line 1: conversation_id")
    unknown = run("jsonl", gold_file, "--without", "lexicon")
    assert unknown.returncode == 2
    assert "Traceback" not in unknown.stderr + measured.stderr + compared.stderr
