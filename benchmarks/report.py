"""Report of a run: growth, tables and the results file."""

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.statements import statement

Row = Mapping[str, Any]


def describe_machine(server_url: str) -> dict[str, Any]:
    """Return the machine that the figures come from, with the server's settings that matter."""
    with psycopg.connect(server_url) as connection:
        row = connection.execute(statement("stores.sql", "describe_server")).fetchone()
    postgresql, shared_buffers, huge_pages = row or (None, None, None)
    return {
        "cpu": _cpu_name(),
        "cores": psutil.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "postgresql": postgresql,
        "shared_buffers": shared_buffers,
        "huge_pages": huge_pages,
        "load_before": round(psutil.getloadavg()[0], 1),
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")


def fit_exponent(points: Iterable[tuple[float, float | None]]) -> float | None:
    """Return the slope of log y over log x by least squares: y grows as x to that power."""
    logs = [(math.log(x), math.log(y)) for x, y in points if y]
    if len(logs) < 2:
        return None
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread


def fit_growth(results: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the exponents of search, add and disk over the stores of one user."""
    alone = [row for row in results["search"] if row["users"] == 1]
    return {
        **{
            f"search {name}": fit_exponent((row["chunks"], row[key]) for row in alone)
            for name, key in SERIES.items()
        },
        "add": fit_exponent((row["chunks"], row["memsense_ms"]) for row in results["add"]),
        "disk": fit_exponent(
            (row["chunks"], row["memsense_bytes"]) for row in results["disk"] if row["users"] == 1
        ),
    }


SERIES = {
    "memsense": "memsense_ms",
    "memsense, exact": "memsense_exact_ms",
    "original": "original_ms",
    "numpy": "numpy_ms",
}


def write_results(results: Mapping[str, Any], path: Path) -> None:
    """Write the results as JSON, figures rounded to their precision."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(results), indent=1) + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, Mapping):
        return {str(key): _rounded(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def print_tables(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print search, add, ingest and disk, each memsense figure with its ratio to the others."""
    console = console or Console(width=160)
    for title, rows in (
        ("Search, ms", search_rows(results)),
        ("Add one exchange, ms", add_rows(results)),
        ("Disk, bytes per chunk", disk_rows(results)),
        ("Ingest", [{"": name, "value": figure} for name, figure in results["ingest"].items()]),
        ("Approximate search against exact", results["ann"]),
        ("Growth: exponent", [{"": k, "exponent": v} for k, v in results["growth"].items()]),
    ):
        if rows:
            console.print(_table(title, rows))


def _table(title: str, rows: Sequence[Row]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(str(name), justify="right" if name else "left")
    for row in rows:
        table.add_row(*(format_cell(row.get(name)) for name in rows[0]))
    return table


def format_cell(value: Any) -> str:
    """Return a figure as the tables show it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def search_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a row per store: milliseconds, and how many times faster or slower the others are."""
    return [
        {
            "chunks": row["chunks"],
            "users": row["users"],
            "memsense": row["memsense_ms"],
            "p95": row["memsense_p95_ms"],
            "recall": row["memsense_parts_ms"].get("recall"),
            "all routes": row["memsense_all_routes_ms"],
            "with graph": row["memsense_with_graph_ms"],
            "exact": row["memsense_exact_ms"],
            "original": row["original_ms"],
            "original/memsense": _ratio(row["original_ms"], row["memsense_ms"]),
            "original/recall": _ratio(row["original_ms"], row["memsense_parts_ms"].get("recall")),
            "numpy": row["numpy_ms"],
            "memsense/numpy": _ratio(row["memsense_ms"], row["numpy_ms"]),
            **_peers(results["search"], row),
        }
        for row in results["search"]
    ]


def add_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a row per store, with the backfill of the exchange before in its own column."""
    return [
        {
            "chunks": row["chunks"],
            "memsense": row["memsense_ms"],
            "p95": row["memsense_p95_ms"],
            "of it backfill": row["backfill_ms"],
            "original": row["original_ms"],
            "memsense/original": _ratio(row["memsense_ms"], row["original_ms"]),
            **_peers(results["add"], row),
        }
        for row in results["add"]
    ]


def disk_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a row per store: bytes a chunk."""
    return [
        {
            "chunks": row["chunks"],
            "users": row["users"],
            "memsense": row["memsense_bytes"] / row["chunks"] / row["users"],
            "HNSW": row["hnsw_bytes"] / row["chunks"] / row["users"],
            "original": row["original_bytes"] and row["original_bytes"] / row["chunks"],
            **{
                name: row["peers"].get(name) and row["peers"][name] / row["chunks"]
                for name in _peer_names(results["disk"])
            },
        }
        for row in results["disk"]
    ]


def _peers(rows: Sequence[Row], row: Row) -> dict[str, float | None]:
    return {name: row["peers"].get(name) for name in _peer_names(rows)}


def _peer_names(rows: Sequence[Row]) -> list[str]:
    return sorted({name for row in rows for name in row["peers"]})


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value and base else None
