"""Logs and archives compressed with zstd, as Codex keeps its older rollouts."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from small_logs import SMALL_LOGS

from memsense.errors import IngestError
from memsense.ingest import ReadReport, expand_paths, read_source
from memsense.ingest.zstandard import zstd
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]


def compress(text: str | bytes) -> bytes:
    return zstd.compress(text.encode() if isinstance(text, str) else text)


def said(conversations: list[Conversation]) -> list[str]:
    return [m.text for one in conversations for m in one.messages]


def test_a_compressed_rollout_is_read_as_itself(tmp_path: Path, read_path: ReadLog) -> None:
    folder = tmp_path / "sessions" / "2026"
    folder.mkdir(parents=True)
    (folder / "rollout-1.jsonl.zst").write_bytes(compress(SMALL_LOGS["codex"]("hi")))
    conversations, _ = read_path(tmp_path)
    assert (conversations[0].format, conversations[0].session_id) == ("codex", "s")
    assert said(conversations) == ["hi", "fine"]


def test_frames_one_after_another_are_one_log(tmp_path: Path, read_path: ReadLog) -> None:
    one, other = (json.dumps({"messages": [{"role": "user", "content": c}]}) for c in "ab")
    (tmp_path / "log.jsonl.zst").write_bytes(compress(one + "\n") + compress(other + "\n"))
    conversations, _ = read_path(tmp_path / "log.jsonl.zst")
    assert said(conversations) == ["a", "b"]


def test_a_tar_compressed_with_zstd_is_looked_into(tmp_path: Path, read_path: ReadLog) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        data = SMALL_LOGS["codex"]("hi").encode()
        info = tarfile.TarInfo("rollout-1.jsonl")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    (tmp_path / "old.tar.zst").write_bytes(compress(packed.getvalue()))
    conversations, _ = read_path(tmp_path)
    assert said(conversations) == ["hi", "fine"]


def test_what_expands_without_end_is_refused_by_name(tmp_path: Path) -> None:
    # Spaces, not line ends: to count empty lines took two seconds.
    bomb = SMALL_LOGS["codex"]("hi") + " " * (20 << 20)
    (tmp_path / "log.jsonl.zst").write_bytes(compress(bomb))
    (source,) = expand_paths([tmp_path / "log.jsonl.zst"])
    with pytest.raises(IngestError, match=r"log\.jsonl\.zst.*more than 16,777,216 bytes"):
        list(read_source(source))


def test_a_damaged_log_is_an_error_that_names_it(tmp_path: Path, read_path: ReadLog) -> None:
    data = compress(SMALL_LOGS["codex"]("hi"))
    (tmp_path / "log.jsonl.zst").write_bytes(data[:8] + b"\xff" * 40)
    with pytest.raises(IngestError, match=r"log\.jsonl\.zst"):
        read_path(tmp_path / "log.jsonl.zst")
