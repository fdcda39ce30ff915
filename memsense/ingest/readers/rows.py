"""Generic rows: CSV, TSV, JSONL or a JSON list, one message or one exchange a row."""

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, pairwise

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
time: timestamp time created_at created date datetime ts sent_at
id: id message_id uuid
order: turn index seq position
prompt: prompt question user input instruction
response: response answer assistant output completion
"""
FIELDS: Mapping[str, Sequence[str]] = {
    field: aliases.replace("_", "").split()
    for field, _, aliases in (line.partition(":") for line in _ALIASES.strip().split("\n"))
}
_SPEAKERS = frozenset(("sender", "from", "speaker"))
_PEOPLE = frozenset(("author", "user"))
_PROMPTS = frozenset(("prompt", "question", "user", "instruction"))
_WORDS = frozenset(("content", "text", "message", "utterance"))
# Columns of mail and of programs' own logs: their rows are no turns.
_RECORDS = frozenset(("subject", "level", "severity", "loglevel", "levelname", "pid", "hostname"))
_SAMPLE_ROWS = 50
_MOST_SPEAKERS = 20
_TURNS_TAKEN = 3
_DELIMITERS = ",;\t|"
_HAS_LETTER = re.compile(r"[^\W\d_]").search
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
    return _find(head, _has_roles) or _find(head, _has_pairs)


def _guess(head: Head) -> str | None:
    return _find(head, _takes_turns)


def _find(head: Head, matches: Callable[[Columns, Sequence[JsonObject]], bool]) -> str | None:
    """What the rows of a head show that matches."""
    rows, how = _sample(head)
    if not rows:
        return None
    columns = choose_columns(list(rows[0]), {})
    return how(columns) if columns.is_usable and matches(columns, rows) else None


def _sample(head: Head) -> tuple[Sequence[JsonObject], Callable[[Columns], str]]:
    """The first rows of a log, and how they are described."""
    if head.is_json:
        found = head.objects
        alike = [row for row in found if choose_columns(list(row), {}).is_usable]
        return (alike if 2 * len(alike) >= len(found) else ()), _describe
    text = head.text if head.complete else head.text.rpartition("\n")[0]
    lines = iter(text.split("\n"))
    header, delimiter = _read_header(lines)
    rows = [
        dict(zip(header, cells, strict=True))
        for _, cells in islice(_cells(lines, delimiter, lambda _: None), _SAMPLE_ROWS)
        if len(cells) == len(header)
    ]
    described = f"a header row with {', '.join(header)}"[:120] + f" (cut at {delimiter!r})"
    return rows, lambda columns: described  # noqa: ARG005


def _has_roles(columns: Columns, rows: Sequence[JsonObject]) -> bool:
    """Whether every row that says who speaks says it in a role's word."""
    said = [row for row in rows if row.get(columns.role or "") not in (None, "")]
    roles = {role_of(word) for word in _values(said, columns.role)}
    worded = any(isinstance(row.get(columns.content or ""), str | list) for row in said)
    return worded and None not in roles and bool(roles & {"user", "assistant"})


def _has_pairs(columns: Columns, rows: Sequence[JsonObject]) -> bool:
    """Whether rows are questions and answers in words; `input` and `output` may be anything."""
    if not columns.is_pair or _is_of_records(rows):
        return False
    asking = [name for name in rows[0] if _normal(name) in _PROMPTS] or [columns.prompt]
    asked = [text for name in asking for text in _values(rows, name)]
    sides = (asked, _values(rows, columns.response))
    if asking != [columns.prompt] or _normal(asking[0] or "") in _PROMPTS:
        return all(any(map(_HAS_LETTER, side)) for side in sides)
    return all(2 * sum(" " in text.strip() for text in side) > len(rows) for side in sides)


def _takes_turns(columns: Columns, rows: Sequence[JsonObject]) -> bool:
    """Whether a few speakers recur, or where the column may name others two of them alternate."""
    if _normal(columns.content or "") not in _WORDS or _is_of_records(rows):
        return False
    speakers = [word.strip() for word in _values(rows, columns.role)]
    texts = _values(rows, columns.content)
    if len(speakers) < len(rows) or not any(map(_HAS_LETTER, texts)):
        return False
    counts = Counter(speakers)
    often = sum(count > 1 for count in counts.values())
    changes = sum(one != other for one, other in pairwise(speakers))
    kind = _normal(columns.role or "")
    if kind in _SPEAKERS:
        return 2 <= len(counts) <= _MOST_SPEAKERS and often > 1 and changes > 1  # noqa: PLR2004
    alternate = changes == len(speakers) - 1 and min(counts.values()) >= _TURNS_TAKEN
    return kind in _PEOPLE and len(counts) == 2 and alternate  # noqa: PLR2004


def _values(rows: Sequence[JsonObject], column: str | None) -> list[str]:
    return [text for row in rows if isinstance(text := row.get(column or ""), str) and text.strip()]


def _is_of_records(rows: Sequence[JsonObject]) -> bool:
    return bool(rows) and not _RECORDS.isdisjoint(map(_normal, rows[0]))


def _describe(columns: Columns) -> str:
    pair = (columns.prompt, columns.response)
    names = pair if columns.is_pair else (columns.role, columns.content)
    return f"rows with {' and '.join(map(str, names))}"


def _read(reading: Reading) -> Iterator[Conversation]:
    sessions: dict[str, list[_Row]] = {}
    for line, row, columns in _rows(reading):
        session = identifier(row.get(columns.session or "")) or _own_session(reading, row, line)
        sessions.setdefault(session, []).extend(_messages(reading, row, columns, line))
    for session, rows in sessions.items():
        builder = reading.conversation()
        for row in _in_order(rows):
            _add_row(builder, row)
        yield from builder.build(session)


def _own_session(reading: Reading, row: JsonObject, line: int) -> str:
    """The file's, but a row of instruction and output (Alpaca's) is a conversation of its own."""
    names = {_normal(name): name for name in row}
    if not names.keys() >= {"instruction", "output"}:
        return reading.source.session_id
    told = json.dumps([row[names[name]] for name in ("instruction", "output")])
    digest = hashlib.sha256(told.encode()).hexdigest()[:8]
    return f"{reading.source.session_id}:{line}:{digest}"


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
    for line, cells in _cells(lines, delimiter, partial(reading.skip, "unreadable row")):
        if len(cells) == len(header):
            reading.report.records += 1
            yield line + 1, dict(zip(header, cells, strict=True)), columns
        elif cells:
            reading.skip("row with a wrong number of cells", line + 1)


def _cells(
    lines: Iterator[str], delimiter: str, on_bad_row: Callable[[int], object]
) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_CELL_LIMIT)
    table = csv.reader(lines, delimiter=delimiter)
    while True:
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error:
            on_bad_row(table.line_num + 1)
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


READER = Reader(name="rows", sniff=_sniff, guess=_guess, read=_read)
