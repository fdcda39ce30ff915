"""Exports to Parquet have the contents of exports to JSON lines, one row per chunk."""

import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from memsense import MemSense
from memsense.client import parquet
from memsense.draft.exported import ExportedChunk
from memsense.errors import ConfigurationError, IngestError

OpenMemory = Callable[..., MemSense]
MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)
DIMENSION = 48

needs_pyarrow = pytest.mark.skipif(
    find_spec("pyarrow") is None, reason="needs pyarrow: make setup-all"
)


def fill(memory: MemSense) -> None:
    for user_id in ("ada", "bo"):
        for number in range(4):
            said = [
                {"role": "user", "content": f"tea {number}", "id": f"m{number}", "name": "Ada"},
                {"role": "assistant", "content": "noted", "at": MAY},
            ]
            memory.add(
                said, user_id=user_id, session_id="s", mode="hybrid", tags=["tea"],
                facets={"preferences": "likes tea"}, metadata={"number": number},
            )  # fmt: skip
    memory.indexes.make_sessions()
    latest = memory.recent(user_id="ada")[0]
    memory.forget(latest.chunk_id)


def read(path: Path) -> Any:
    return import_module("pyarrow.parquet").ParquetFile(path)


def lines(memory: MemSense, *, vectors: bool) -> list[dict[str, Any]]:
    file = io.StringIO()
    memory.export_to(file, all_users=True, vectors=vectors)
    return [json.loads(line) for line in file.getvalue().splitlines()]


def as_line(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in the form of a JSON line."""
    vectors = {name[7:]: row.pop(name) for name in list(row) if name.startswith("vector_")}
    for name, kind in parquet.COLUMNS.items():
        if kind == "json" and row[name] is not None:
            row[name] = json.loads(row[name])
        if kind == "time" and row[name] is not None:
            assert row[name].utcoffset().total_seconds() == 0
            row[name] = row[name].isoformat()
    row |= {"vectors": {route: vector for route, vector in vectors.items() if vector is not None}}
    return {name: value for name, value in row.items() if value not in (None, [], {})}


@needs_pyarrow
@pytest.mark.parametrize("vectors", [False, True])
def test_parquet_holds_what_the_lines_hold(
    memory: MemSense, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectors: bool
) -> None:
    monkeypatch.setattr(parquet, "ROWS", 3)
    fill(memory)
    path = tmp_path / "all.PARQUET"
    report = memory.export_to(path, all_users=True, vectors=vectors)
    assert list(tmp_path.iterdir()) == [path]
    file = read(path)
    assert (report.users, report.chunks) == (2, file.metadata.num_rows)
    groups = [file.metadata.row_group(n).num_rows for n in range(file.metadata.num_row_groups)]
    assert groups[:-1] == [3] * (len(groups) - 1)
    assert len(groups) > 2
    user: dict[str, Any] = {}
    expected: list[dict[str, Any]] = []
    header, *rest, _ = lines(memory, vectors=vectors)
    for line in rest:
        if "user" in line:
            user = {"user_id": line["user"], "speakers": line["speakers"]}
            continue
        if "vectors" in line:
            made = ExportedChunk(**line).read_vectors(DIMENSION)
            line["vectors"] = {route: vector.tolist() for route, vector in made.items()}
        expected.append({**user, **line})
    assert [as_line(row) for row in file.read().to_pylist()] == expected
    told = json.loads(file.schema_arrow.metadata[b"memsense"])
    assert {**told, "exported_at": ""} == {**header, "exported_at": ""}
    assert any("vectors" in line for line in expected) == vectors
    if vectors:
        kind = file.schema_arrow.field("vector_full").type
        assert (kind.list_size, str(kind.value_type)) == (DIMENSION, "float")


def test_every_field_of_a_chunk_has_a_column() -> None:
    # Decided changes travel in JSON lines alone.
    fields = set(ExportedChunk.model_fields) - {"vectors", "changes"}
    assert set(parquet.COLUMNS) == fields | {"user_id", "speakers"}


def test_the_columns_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "export-format.md").read_text(
        encoding="utf-8"
    )
    names = [*parquet.COLUMNS, *(f"vector_{route}" for route in parquet.ROUTES)]
    assert [name for name in names if f"`{name}`" not in text] == []


@needs_pyarrow
def test_parquet_is_not_imported_and_the_error_says_what_is(
    memory: MemSense, tmp_path: Path
) -> None:
    fill(memory)
    path = tmp_path / "all.parquet"
    memory.export_to(str(path), user_id="bo")
    with pytest.raises(IngestError, match=r"Parquet is written and not read.*JSON lines"):
        memory.import_from(path)


@needs_pyarrow
def test_an_export_that_breaks_off_leaves_what_was_there(
    memory: MemSense, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory)
    path = tmp_path / "all.parquet"
    memory.export_to(path, user_id="bo")
    before = path.read_bytes()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(parquet.ParquetExport, "end", interrupt)
    with pytest.raises(KeyboardInterrupt):
        memory.export_to(path, all_users=True)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


@needs_pyarrow
def test_a_place_that_cannot_be_written_is_named(memory: MemSense, tmp_path: Path) -> None:
    fill(memory)
    with pytest.raises(IngestError, match="missing"):
        memory.export_to(tmp_path / "missing" / "all.parquet", all_users=True)


def test_without_pyarrow_the_remedy_is_named(
    memory: MemSense, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'memsense\[parquet\]'"):
        memory.export_to(tmp_path / "all.parquet", all_users=True)
    assert list(tmp_path.iterdir()) == []
