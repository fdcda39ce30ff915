"""Sessions of excluded folders are never read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from dumping import find_words

from memsense import MemSense, load_settings
from memsense.ingest import ReadOptions

OpenMemory = Callable[..., MemSense]


def claude_code(path: Path, *folders: str) -> Path:
    """Write a session that goes from folder to folder, with an exchange in each."""
    lines: list[dict[str, Any]] = []
    for number, folder in enumerate(folders):
        for role in ("user", "assistant"):
            lines.append(
                {
                    "type": role,
                    "sessionId": path.stem,
                    "uuid": f"{path.stem}-{role}{number}",
                    "parentUuid": lines[-1]["uuid"] if lines else None,
                    "cwd": folder,
                    "timestamp": f"2026-05-01T10:0{number}:00Z",
                    "message": {"role": role, "content": f"Zebra of {folder}."},
                }
            )
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def codex(path: Path, folder: str) -> Path:
    said = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Zebra."}],
    }
    session = {"id": path.stem, "cwd": folder}
    lines = [
        {"timestamp": "2026-05-01T10:00:00Z", "type": "session_meta", "payload": session},
        {"timestamp": "2026-05-01T10:00:01Z", "type": "response_item", "payload": said},
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


@pytest.mark.parametrize(
    ("folders", "excluded", "sessions"),
    [
        (["/work/shop"], "/work/bank", 1),
        (["/work/shop"], "/work/shop", 0),
        (["/work/shop/api"], "/work/shop", 0),
        (["/work/shop", "/work/bank"], "/work/bank", 0),  # all of it
    ],
)
def test_a_session_is_left_out_by_its_folder(
    memory: MemSense, tmp_path: Path, folders: list[str], excluded: str, sessions: int
) -> None:
    log = claude_code(tmp_path / "monday.jsonl", *folders)
    options = ReadOptions(exclude_folders=[excluded])
    report = memory.ingest(log, user_id="ada", options=options)
    assert len(memory.sessions(user_id="ada")) == sessions
    assert report.read.skip_counts.get("session of an excluded folder", 0) == 1 - sessions


def test_other_readers_know_the_folder_too(memory: MemSense, tmp_path: Path) -> None:
    log = codex(tmp_path / "monday.jsonl", "/work/bank")
    options = ReadOptions(exclude_folders=["/work/bank"])
    report = memory.ingest(log, user_id="ada", options=options)
    assert report.read.skip_counts["session of an excluded folder"] == 1
    assert memory.ingest(log, user_id="ada").stored == 1


def test_the_setting_excludes_folders_of_logs_and_of_sessions(
    open_memory: OpenMemory, database_url: str, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    claude_code(tmp_path / "private" / "one.jsonl", "/work/shop")
    claude_code(tmp_path / "logs" / "two.jsonl", "/work/bank")
    claude_code(tmp_path / "logs" / "three.jsonl", "/work/shop")
    settings = load_settings(
        database_url=database_url, exclude_folders=[str(tmp_path / "private"), "/work/bank"]
    )
    memory = open_memory(settings=settings)
    report = memory.ingest(tmp_path, user_id="ada")
    assert report.as_dict()["skipped"] == {
        "log in an excluded folder": 1,
        "session of an excluded folder": 1,
    }
    assert report.stored == 1
    assert [it.session_id for it in memory.sessions(user_id="ada")] == ["three"]
    assert not find_words(conn, "bank")
