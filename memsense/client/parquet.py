"""Parquet exports, one row a chunk, for analysis; the only module that uses pyarrow."""

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
"""First bytes of a Parquet file."""

ROWS = 1000
"""Rows of a row group, which is the part of the export that is in memory."""

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
    "project": "text",
    "language": "text",
    "content_hash": "text",
    "dedup_window": "int64",
    "expires_at": "time",
    "ledger": "json",
    "history": "json",
}
"""Columns with their kinds; docs/reference/export-format.md says what they mean."""

ROUTES = ("full", "user", "assistant", "personal_info", "preferences", "events")
"""Texts that have vectors; column `vector_…` holds those of each."""


def is_parquet(place: object) -> bool:
    """Return whether the name of a file to write ends like a Parquet file's."""
    return isinstance(place, str | Path) and str(place).lower().endswith(ENDING)


def refuse_parquet(path: Path) -> None:
    """Raise IngestError for a Parquet file; pass over a file that can't be read."""
    try:
        with path.open("rb") as file:
            first_bytes = file.read(len(MAGIC))
    except (OSError, ValueError):
        return
    if first_bytes == MAGIC:
        raise IngestError(
            f"{shorten(str(path))}: Parquet is written and not read; export to JSON lines for an"
            " import ('memsense export FILE.jsonl')"
        )


class ParquetExport:
    """Writer of an export's rows, a row group at a time."""

    def __init__(self, path: Path) -> None:
        # By name, because the libraries have no types; here, because pyarrow is an extra.
        try:
            self._arrow: Any = import_module("pyarrow")
            self._parquet: Any = import_module("pyarrow.parquet")
        except ImportError as error:
            raise ConfigurationError(
                "an export to Parquet needs pyarrow: pip install 'memsense[parquet]'"
            ) from error
        self._path = path
        self._writer: Any = None
        self._schema: Any = None
        self._user: dict[str, Any] = {}
        self._rows: list[dict[str, Any]] = []

    def begin(self, header: Mapping[str, Any]) -> None:
        """Open the file, with the header in its metadata under `memsense`."""
        dimension = header["dimension"] if header["vectors"] else None
        types = _list_types(self._arrow)
        fields = [(name, types[kind]) for name, kind in COLUMNS.items()]
        if dimension:
            vector = self._arrow.list_(self._arrow.float32(), dimension)
            fields += [(f"vector_{route}", vector) for route in ROUTES]
        metadata = {"memsense": json.dumps(header, ensure_ascii=False)}
        self._schema = self._arrow.schema(fields, metadata=metadata)
        self._writer = self._parquet.ParquetWriter(self._path, self._schema, compression="zstd")

    def begin_user(self, user_id: str, speakers: Sequence[str]) -> None:
        """Set the user of the next chunks."""
        self._user = {"user_id": user_id, "speakers": list(speakers)}

    def add(self, values: Mapping[str, Any]) -> None:
        """Add a chunk, by the values of its line in JSON."""
        self._rows.append({**_as_row(values), **self._user})
        if len(self._rows) == ROWS:
            self._flush()

    def end(self, chunks: int) -> None:  # noqa: ARG002 (the footer counts them)
        """Write the remaining rows, and the footer, without which the file can't be read."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, self._schema))
            self._rows = []


@contextmanager
def open_parquet(path: Path) -> Generator[ParquetExport]:
    """Open an export to the path; if it fails, the path keeps its earlier file."""
    # Written next to the path and moved at the end: a reader never sees half an export.
    draft = path.with_name(f"{path.name}.part")
    export = ParquetExport(draft)
    try:
        yield export
        draft.replace(path)
    except OSError as error:
        raise IngestError(f"{shorten(str(path))}: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)


def _list_types(arrow: Any) -> dict[str, Any]:
    """Return pyarrow's type of each kind of column."""
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
