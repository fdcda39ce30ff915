"""Commands `memsense eval jsonl`, `beam` and `compare`."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from command import run

from memsense.evaluation import RETRIEVAL

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


def measure(*arguments: object, columns: int = 120) -> CompletedProcess[str]:
    return run(None, "eval", *map(str, arguments), env={"COLUMNS": str(columns)})


@pytest.fixture
def gold_file(tmp_path: Path) -> Path:
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(CONVERSATION) + "\n")
    return path


def test_the_recall_of_a_gold_set_is_drawn(
    gold_file: Path, tmp_path: Path, database_url: str
) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: make setup-all")
    picture = tmp_path / "recall.png"
    drawn = measure("jsonl", gold_file, "--database-url", database_url, "--figure", picture)
    assert drawn.returncode == 0, drawn.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_gold_set_is_measured_written_and_compared(
    gold_file: Path, tmp_path: Path, database_url: str
) -> None:
    measured = measure(
        "jsonl", gold_file, "--database-url", database_url, "--json", "--ci",
        "-p", "semantic", "-p", "lexical", "--sweep", "rrf_k=15,60",
        "--questions-out", tmp_path / "run.jsonl",
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

    files = [tmp_path / f"run.{name}.jsonl" for name in ("lexical", "semantic")]
    compared = measure("compare", *files, "--json")
    assert compared.returncode == 0, compared.stderr
    gains = {gain["metric"]: gain for gain in json.loads(compared.stdout)["metrics"]}
    assert gains["session.recall@1"]["wins"] == 1
    told = measure("compare", *files)
    assert "session.recall@1" in told.stdout


@pytest.mark.full
def test_prompts_are_measured_on_request(gold_file: Path, database_url: str) -> None:
    command = ("jsonl", gold_file, "--database-url", database_url, "--context")
    measured = measure(*command, "--json")
    assert measured.returncode == 0, measured.stderr
    context = json.loads(measured.stdout)["context"]
    for split, questions in (("all", 2), ("dev", 1), ("test", 1)):
        lines = context["splits"][split]["writers"]["trimmed lines"]
        assert context["splits"][split]["questions"] == questions
        assert lines["200"]["user_turns"] == 1
        assert 0 < lines["200"]["mean_tokens"] <= 200
    assert context["unrelated"]["all"]["prompts"] == 200
    shown = measure(*command, columns=60)
    assert shown.returncode == 0, shown.stderr
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert ["all", "trimmed", "lines", *["100.0"] * 4] in rows
    assert "tokens on unrelated prompts" in shown.stdout
    tables = shown.stdout[shown.stdout.index("gold turns carried") :]
    assert max(map(len, tables.splitlines())) <= 60


def test_impossible_measurements_are_refused_in_one_line(
    gold_file: Path, database_url: str
) -> None:
    compared = measure("compare", gold_file, gold_file)
    assert compared.returncode == 1
    assert "line 1 is no question's result" in compared.stderr
    gold_file.write_text("{}\n")
    measured = measure("jsonl", gold_file, "--database-url", database_url)
    assert measured.returncode == 1
    assert measured.stderr.startswith(f"memsense: {gold_file}, line 1: conversation_id")
    unknown = measure("jsonl", gold_file, "--without", "lexicon")
    assert unknown.returncode == 2
    assert "Traceback" not in unknown.stderr + measured.stderr + compared.stderr


BEAM = {
    "conversation_id": "100K/1",
    "sessions": [
        {"id": "b0", "timestamp": "2024-03-15T00:00:00", "turns": [
            {"id": "0", "role": "user", "text": "I keep bees."},
            {"id": "1", "role": "assistant", "text": "How many hives?"},
        ]},
        {"id": "b1", "timestamp": "2024-04-15T00:00:00", "turns": [
            {"id": "2", "role": "user", "text": "Lock ZX-4711."},
        ]},
    ],
    "questions": [
        {"id": category, "text": "What is ZX-4711?", "category": category,
         "answerable": True, "gold_ok": True, "gold_turn_ids": ["2"]}
        for category in RETRIEVAL
    ],
}  # fmt: skip
PLAIN = ["plain fusion", "plain fusion, one an exchange"]
LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"dia_id": "D1:1", "speaker": "Ann", "text": "I keep bees."},
                {"dia_id": "D1:2", "speaker": "Bob", "text": "Sweet!"},
            ],
        },
        "qa": [{"question": "What does Ann keep?", "evidence": ["D1:1"], "category": 4}],
    }
]


@pytest.fixture
def beam_file(tmp_path: Path) -> Path:
    path = tmp_path / "beam.jsonl"
    path.write_text(json.dumps(BEAM) + "\n")
    return path


def test_beam_is_measured_beside_plain_fusion(beam_file: Path, database_url: str) -> None:
    measured = measure(
        "beam", beam_file, "--database-url", database_url, "--json", "-p", "lexical",
        "--plain", "--split", "1-10", "--category", "temporal_reasoning",
    )  # fmt: skip
    assert measured.returncode == 0, measured.stderr
    found = json.loads(measured.stdout)
    assert found["splits"]["1-10"]["questions"] == 1
    assert found["splits"]["1-10"]["turn"]["recall@5"] == 1
    assert [row["profile"] for row in found["variants"]] == PLAIN


@pytest.mark.full
def test_profiles_are_compared_on_both_kinds_of_conversation(
    beam_file: Path, tmp_path: Path, database_url: str
) -> None:
    locomo_file = tmp_path / "locomo.json"
    locomo_file.write_text(json.dumps(LOCOMO))
    both = ("compare", "--locomo", locomo_file, "--beam", beam_file)
    compared = measure(*both, "--database-url", database_url, "--json", "-p", "lexical")
    assert compared.returncode == 0, compared.stderr
    kinds = json.loads(compared.stdout)["kinds"]
    assert list(kinds) == ["locomo", "beam"]
    for kind, questions, split in (("locomo", 1, "0-4"), ("beam", 5, "1-10")):
        names = [summary["profile"] for summary in kinds[kind]["profiles"]]
        assert names == ["lexical", *PLAIN]
        assert kinds[kind]["profiles"][0]["splits"]["all"]["questions"] == questions
        gains = kinds[kind]["gains"]
        assert [(gain["profile"], gain["over"]) for gain in gains] == [
            ("lexical", name) for name in PLAIN
        ]
        assert all(set(gain["splits"]) == {"all", split} for gain in gains)
    told = measure(
        *both, "--database-url", database_url, "-p", "lexical", "-p", "semantic", "--context"
    )
    assert told.returncode == 0, told.stderr
    assert [line.split()[:3] for line in told.stdout.splitlines() if "beam all" in line][:2] == [
        ["lexical", "beam", "all"],
        ["semantic", "beam", "all"],
    ]
    carried = [line.split()[:4] for line in told.stdout.splitlines() if "trimmed lines" in line]
    assert ["locomo", "0-4", "trimmed", "lines"] in carried
    assert ["beam", "1-10", "trimmed", "lines"] in carried


def test_compare_wants_two_runs_or_a_file_of_either_kind(gold_file: Path) -> None:
    for arguments in ((), (gold_file,), (gold_file, gold_file, "--beam", gold_file)):
        refused = measure("compare", *arguments)
        assert refused.returncode == 2
        assert "give two files of --questions-out" in " ".join(refused.stderr.split())
