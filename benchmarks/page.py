"""Writer of the last results into docs/beside/benchmarks.md, between its two marks."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import add_rows, disk_rows, format_cell, search_rows

# Columns that only the printed tables have.
_SEARCH = ("recall", "all routes", "with graph", "original/recall", "numpy", "memsense/numpy")
_ADD = ("of it backfill", "memsense/original")
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def update_page(results: Mapping[str, Any], plot: Path, page: Path) -> None:
    """Replace the text between the marks, and copy the plot into the site's images."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    shutil.copy(plot, page.parents[1] / "images" / "benchmarks.png")
    page.write_text(f"{before}{BEGIN}\n{render(results)}\n{END}{after}", encoding="utf-8")


def render(results: Mapping[str, Any]) -> str:
    """Return the results as Markdown."""
    machine = results["machine"]
    setting = (
        f"Taken on {machine['cores']} cores ({machine['cpu']}), {machine['memory_gb']} GB,"
        f" Python {machine['python']}, load {machine['load_before']} before the run; PostgreSQL"
        f" {machine['postgresql']}, shared_buffers {machine['shared_buffers']}, huge pages"
        f" {machine['huge_pages']}; texts from {results['corpus']}."
    )
    parts = [
        setting,
        "![Latency against size](../images/benchmarks.png)",
        _section("Search, ms", search_rows(results), _SEARCH),
        _section("Add one exchange, ms", add_rows(results), _ADD),
        _section("Disk, bytes per chunk", disk_rows(results), ()),
    ]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, rows: Sequence[Mapping[str, Any]], left_out: Sequence[str]) -> str:
    if not rows:
        return ""
    names = [name for name in rows[0] if name not in left_out]
    lines = [
        "| " + " | ".join(names) + " |",
        "|" + "|".join(" --- " if not name else " ---: " for name in names) + "|",
        *("| " + " | ".join(format_cell(row.get(name)) for name in names) + " |" for row in rows),
    ]
    return f"### {title}\n\n" + "\n".join(lines)
