"""Output for programs: JSON, JSON lines or CSV."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import typer

from memsense.cli.render import as_plain, print_json

OutputForm = Literal["table", "json", "jsonl", "csv"]


def print_data(
    output: OutputForm, value: object, rows: Sequence[Mapping[str, Any]] | None = None
) -> bool:
    """Print the value as JSON, or its rows as JSON lines or CSV; return False for a table.

    Without `rows`, a list's items are the rows, and anything else is the one row. Each command
    prints its own table.
    """
    if output == "table":
        return False
    if output == "json":
        print_json(value)
        return True
    # CSV of no rows is empty: without a row nothing says which columns there would be.
    if rows is None:
        rows = cast("list[Mapping[str, Any]]", value if isinstance(value, list) else [value])
    if output == "jsonl":
        for row in rows:
            print_json(row, indent=None)
    elif rows:
        typer.echo(as_csv(rows), nl=False)
    return True


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as CSV; the columns are in the order in which they first occur.

    A nested object's fields are columns of their own, such as `parts.lexical`; a list is JSON, and
    null is an empty cell.
    """
    flat = [_flatten(row) for row in rows]
    # Rows may differ in their columns: a hit has a part for each route that found it.
    names = list(dict.fromkeys(name for row in flat for name in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return stream.getvalue()


def _flatten(row: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            # The parts of a score differ from hit to hit, and are looked for by name in a sheet.
            flat |= _flatten(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = _cell(value)
    return flat


def _cell(value: object) -> object:
    """Return the value as JSON, but texts without their quotes, and an empty text for null."""
    if value is None or isinstance(value, str):
        return value or ""
    # A time or path becomes a JSON text, which loses its quotes, too.
    text = json.dumps(value, ensure_ascii=False, default=as_plain)
    return text[1:-1] if text.startswith('"') else text
