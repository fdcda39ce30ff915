"""Generic rows: CSV, TSV, JSONL or a JSON list, one message or one exchange a row."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from memsense.errors import IngestError
from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import Stamp
from memsense.ingest.values import JsonObject, identifier, sequence
from memsense.types import Conversation, JsonValue, Role

# Field, then the column names that stand for it, the likelier first.
_ALIASES = """
session: session_id session conversation_id conversation chat_id thread_id thread dialog_id channel
role: role sender from speaker author user name type
speaker: speaker name author username
content: content text message body value utterance
time: timestamp time created_at date datetime ts sent_at
id: id message_id uuid
order: turn index seq position
prompt: prompt question user input instruction
response: response answer assistant output completion
"""
FIELDS: Mapping[str, Sequence[str]] = {
    field: aliases.replace("_", "").split()
    for field, _, aliases in (line.partition(":") for line in _ALIASES.strip().split("\n"))
}
_STRONG_ROLES = frozenset(("role", "sender", "from", "speaker", "author", "user"))
_DELIMITERS = ",;\t|"
_CELL_LIMIT = 2**31 - 1
_SEPARATOR_LINE = "sep="


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which column of a row holds what; None where there is none."""

    session: str | None = None
    role: str | None = None
    speaker: str | None = None
    content: str | None = None
    time: str | None = None
    id: str | None = None
    order: str | None = None
    prompt: str | None = None
    response: str | None = None

    @property
    def is_pair(self) -> bool:
        """Whether a row is a question with its answer."""
        has_pair = self.prompt is not None and self.response is not None
        role = None if self.role == self.prompt else self.role
        return has_pair and (self.content is None or role is None)

    @property
    def is_usable(self) -> bool:
        """Whether rows can be read at all."""
        return self.content is not None or self.is_pair


@dataclass(frozen=True, slots=True)
class _Row:
    """One message of a session, with what orders it."""

    role: Role
    text: str
    speaker: str | None
    external_id: str | None
    stamp: Stamp
    order: float | None
    line: int


def choose_columns(names: Sequence[str], chosen: Mapping[str, str]) -> Columns:
    """Match column names to fields: those the caller chose first, then the usual aliases."""
    by_alias = {_normal(name): name for name in reversed(names)}
    found: dict[str, str] = {}
    for field, aliases in FIELDS.items():
        alias = next((alias for alias in aliases if alias in by_alias), None)
        if field in chosen and chosen[field] in names:
            found[field] = chosen[field]
        elif alias is not None:
            found[field] = by_alias[alias]
    if found.get("speaker") == found.get("role"):
        found.pop("speaker", None)
    return Columns(**found)


def _normal(name: str) -> str:
    kept = (char for char in name.strip().lower() if char not in "_- \ufeff")
    return "".join(kept)


def _sniff(head: Head) -> str | None:
    if head.is_json:
        found = head.find(_is_row)
        return f"rows with {_describe(found)}" if found else None
    lines = iter(head.text.split("\n"))
    header, delimiter = _read_header(lines)
    columns = choose_columns(header, {})
    if columns.is_pair or (columns.content and _is_attributed(columns)):
        return f"a header row with {', '.join(header)}"[:120] + f" (cut at {delimiter!r})"
    return None


def _is_row(record: JsonObject) -> bool:
    columns = choose_columns(list(record), {})
    if columns.is_pair:
        return all(
            isinstance(record[name], str) for name in (columns.prompt, columns.response) if name
        )
    is_worded = isinstance(record.get(columns.content or ""), str | list)
    is_spoken = isinstance(record.get(columns.role or ""), str)
    known = columns.role and role_of(str(record[columns.role])) is not None
    return is_worded and is_spoken and (bool(known) or _is_attributed(columns))


def _is_attributed(columns: Columns) -> bool:
    """Whether the role column surely names who speaks (`name` and `type` alone may not)."""
    if columns.role is None:
        return False
    return _normal(columns.role) in _STRONG_ROLES or bool(columns.session or columns.time)


def _describe(record: JsonObject) -> str:
    columns = choose_columns(list(record), {})
    pair = (columns.prompt, columns.response)
    return " and ".join(str(name) for name in (pair if columns.is_pair else _said(columns)))


def _said(columns: Columns) -> tuple[str | None, str | None]:
    return columns.role, columns.content


def _read(reading: Reading) -> Iterator[Conversation]:
    sessions: dict[str, list[_Row]] = {}
    for line, row, columns in _rows(reading):
        session = identifier(row.get(columns.session or "")) or reading.source.stem
        sessions.setdefault(session, []).extend(_messages(reading, row, columns, line))
    for session, rows in sessions.items():
        builder = reading.conversation()
        for row in _in_order(rows):
            _add_row(builder, row)
        yield from builder.build(session)


def _rows(reading: Reading) -> Iterator[tuple[int, JsonObject, Columns]]:
    """Every row with its line and columns, from JSON or from a table."""
    lines = reading.lines()
    first = next(lines, "")
    while first and not first.strip("\x00\ufeff").strip():
        first = next(lines, "")
    if first.lstrip("\ufeff\x00 \t").startswith(("{", "[")):
        yield from _json_rows(reading)
    else:
        yield from _table_rows(reading, chain([first], lines))


def _json_rows(reading: Reading) -> Iterator[tuple[int, JsonObject, Columns]]:
    for record in reading.objects():
        columns = choose_columns(list(record.value), reading.options.columns)
        if columns.is_usable:
            yield record.line, record.value, columns
        else:
            reading.skip("row without content", record.line)


def _table_rows(
    reading: Reading, lines: Iterator[str]
) -> Iterator[tuple[int, JsonObject, Columns]]:
    header, delimiter = _read_header(lines)
    columns = choose_columns(header, reading.options.columns)
    if not columns.is_usable:
        shown = ", ".join(header)[:200]
        raise IngestError(
            f"{reading.source.label}: no column holds the content; the header is: {shown}; "
            "name the column with --map content=COLUMN"
        )
    for line, cells in _cells(reading, lines, delimiter):
        if len(cells) == len(header):
            reading.report.records += 1
            yield line + 1, dict(zip(header, cells, strict=True)), columns
        elif cells:
            reading.skip("row with a wrong number of cells", line + 1)


def _cells(
    reading: Reading, lines: Iterator[str], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_CELL_LIMIT)
    table = csv.reader(lines, delimiter=delimiter)
    while True:
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error:
            reading.skip("unreadable row", table.line_num + 1)
            continue
        yield table.line_num, cells


def _read_header(lines: Iterator[str]) -> tuple[list[str], str]:
    """The column names and the delimiter: the one that gives the most columns."""
    first = next(lines, "").strip("\r\n\x00\ufeff")
    if first.lower().startswith(_SEPARATOR_LINE) and len(first) == len(_SEPARATOR_LINE) + 1:
        delimiter, first = first[-1], next(lines, "").strip("\r\n")
    else:
        delimiter = max(_DELIMITERS, key=first.count)
    try:
        names = [name.strip() for row in csv.reader([first], delimiter=delimiter) for name in row]
    except csv.Error:
        names = []
    return names, delimiter


def _messages(reading: Reading, row: JsonObject, columns: Columns, line: int) -> Iterator[_Row]:
    stamp = reading.stamp(row.get(columns.time or ""))
    known = identifier(row.get(columns.id or ""))
    order = _number(row.get(columns.order or ""))
    if columns.is_pair:
        yield from _pair(row, columns, (known, stamp, order, line))
        return
    word = identifier(row.get(columns.role or "")) or ""
    role = role_of(word)
    if role in ("system", "tool"):
        reading.skip(f"{role} message", line)
        return
    speaker = identifier(row.get(columns.speaker or "")) or (None if role else word or None)
    text = joined_text(row.get(columns.content or ""))
    yield _Row(role or "other", text, speaker, known, stamp, order, line)


def _pair(
    row: JsonObject,
    columns: Columns,
    about: tuple[str | None, Stamp, float | None, int],
) -> Iterator[_Row]:
    """The earlier turns that the row repeats, then its question and answer."""
    known, stamp, order, line = about
    for earlier in sequence(row.get("history")):
        said = [joined_text(part) for part in sequence(earlier)]
        for role, text in zip(("user", "assistant"), said, strict=False):
            yield _Row(role, text, None, None, stamp, None, line)  # type: ignore[arg-type]
    prompt = _prompt(row, columns)
    response = joined_text(row.get(columns.response or ""))
    for role, text, suffix in (("user", prompt, "prompt"), ("assistant", response, "response")):
        external_id = f"{known}:{suffix}" if known else None
        yield _Row(role, text, None, external_id, stamp, order, line)  # type: ignore[arg-type]


def _prompt(row: JsonObject, columns: Columns) -> str:
    """The question; an instruction with an input beside it is both."""
    names = dict.fromkeys((columns.prompt, *(name for name in row if _normal(name) == "input")))
    instructions = [name for name in row if _normal(name) == "instruction"]
    ordered = dict.fromkeys((*instructions, *names))
    return "\n\n".join(text for name in ordered if (text := joined_text(row.get(name or ""))))


def _number(value: JsonValue) -> float | None:
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except (ValueError, OverflowError):
        return None


def _in_order(rows: Sequence[_Row]) -> Sequence[_Row]:
    """By the order column where it is a number and unique in the session, else as they came."""
    orders = [row.order for row in rows]
    if None in orders or len(set(orders)) < len(orders):
        return rows
    return sorted(rows, key=lambda row: row.order or 0.0)


def _add_row(builder: ConversationBuilder, row: _Row) -> None:
    builder.add(
        row.role,
        row.text,
        external_id=row.external_id,
        speaker=row.speaker,
        stamp=row.stamp,
        line=row.line,
    )


READER = Reader(name="rows", sniff=_sniff, read=_read)
