"""Writes an export as Parquet, one row a chunk, for programs that analyse; pyarrow's only user."""

import base64
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from memsense.errors import ConfigurationError, IngestError
from memsense.inputs import shorten

ENDING = ".parquet"
MAGIC = b"PAR1"
"""What a Parquet file begins with."""

ROWS = 1000
"""Rows of a row group: what is held in memory."""

COLUMNS: Mapping[str, str] = {
    "user_id": "text",
    "speakers": "texts",
    "chunk": "int64",
    "session_id": "text",
    "granularity": "text",
    "ordinal": "int32",
    "last_ordinal": "int32",
    "part": "int32",
    "part_count": "int32",
    "opening_length": "int32",
    "status": "text",
    "user_text": "text",
    "assistant_text": "text",
    "session_text": "text",
    "user_speaker": "text",
    "assistant_speaker": "text",
    "agent_id": "text",
    "task_tag": "text",
    "tags": "texts",
    "memory_kind": "text",
    "personal_info": "text",
    "preferences": "text",
    "events": "text",
    "facet_spans": "json",
    "metadata": "json",
    "confidence": "float64",
    "memory_score": "float64",
    "occurred_at": "time",
    "occurred_zone_known": "bool",
    "recorded_at": "time",
    "message_ids": "texts",
    "source": "text",
    "content_hash": "text",
    "dedup_window": "int64",
    "expires_at": "time",
    "ledger": "json",
    "history": "json",
}
"""The columns and what they hold; docs/data.md says what they mean."""

ROUTES = ("full", "user", "assistant", "personal_info", "preferences", "events")
"""What has vectors: column `vector_…` holds those of each."""


def is_parquet(place: object) -> bool:
    """Whether the file to be written is Parquet: by its ending."""
    return isinstance(place, str | Path) and str(place).lower().endswith(ENDING)


def refuse_parquet(path: Path) -> None:
    """Raise IngestError for a file that is Parquet; for one that can't be read, nothing."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
    except (OSError, ValueError):
        return
    if begin == MAGIC:
        raise IngestError(
            f"{shorten(str(path))}: Parquet is written and not read; export to JSON lines for an"
            " import ('memsense export FILE.jsonl')"
        )


class ParquetExport:
    """The rows of one export, written a row group at a time."""

    def __init__(self, path: Path) -> None:
        self._arrow, self._parquet = _import_libraries()
        self._path = path
        self._writer: Any = None
        self._schema: Any = None
        self._user: dict[str, Any] = {}
        self._rows: list[dict[str, Any]] = []

    def begin(self, header: Mapping[str, Any]) -> None:
        """Open the file; the header stands in its metadata, under `memsense`."""
        dimension = header["dimension"] if header["vectors"] else None
        kinds = _kinds(self._arrow)
        fields = [(name, kinds[kind]) for name, kind in COLUMNS.items()]
        if dimension:
            vector = self._arrow.list_(self._arrow.float32(), dimension)
            fields += [(f"vector_{route}", vector) for route in ROUTES]
        told = {"memsense": json.dumps(header, ensure_ascii=False)}
        self._schema = self._arrow.schema(fields, metadata=told)
        self._writer = self._parquet.ParquetWriter(self._path, self._schema, compression="zstd")

    def begin_user(self, user_id: str, speakers: Sequence[str]) -> None:
        """Whose the next chunks are."""
        self._user = {"user_id": user_id, "speakers": list(speakers)}

    def add(self, values: Mapping[str, Any]) -> None:
        """A chunk, by the values of its line in JSON."""
        self._rows.append({**_as_row(values), **self._user})
        if len(self._rows) == ROWS:
            self._flush()

    def end(self, chunks: int) -> None:  # noqa: ARG002 (the footer counts them)
        """Write what is left, and the footer, without which the file can't be read."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, self._schema))
            self._rows = []


@contextmanager
def open_parquet(path: Path) -> Generator[ParquetExport]:
    """An export to the path, which holds a whole one or what it held before."""
    draft = path.with_name(f"{path.name}.part")
    export = ParquetExport(draft)
    try:
        yield export
        draft.replace(path)
    except OSError as error:
        raise IngestError(f"{shorten(str(path))}: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)


def _import_libraries() -> tuple[Any, Any]:  # they have no types
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigurationError(
            "an export to Parquet needs pyarrow: pip install 'memsense[parquet]'"
        ) from error


def _kinds(arrow: Any) -> dict[str, Any]:
    """The library's type of each kind of column."""
    return {
        "text": arrow.string(),
        "texts": arrow.list_(arrow.string()),
        "json": arrow.string(),
        "time": arrow.timestamp("us", tz="UTC"),
        "int32": arrow.int32(),
        "int64": arrow.int64(),
        "float64": arrow.float64(),
        "bool": arrow.bool_(),
    }


def _as_row(values: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: _as_cell(kind, values.get(name)) for name, kind in COLUMNS.items()}
    for route, text in values.get("vectors", {}).items():
        vector = np.frombuffer(base64.b64decode(text), dtype="<f2")
        row[f"vector_{route}"] = vector.astype(np.float32)
    return row


def _as_cell(kind: str, value: Any) -> Any:
    if kind == "texts":
        return list(value or ())
    if value is None:
        return None
    if kind == "json":
        return json.dumps(value, ensure_ascii=False, default=str)
    return datetime.fromisoformat(value) if kind == "time" else value
