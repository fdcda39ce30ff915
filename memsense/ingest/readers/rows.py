"""Reader of generic rows: CSV, TSV, JSONL or a JSON list, one message or one exchange a row."""

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
from memsense.ingest.content import content_text, join_texts, role_of
from memsense.ingest.fields import FIELDS, normalise_name
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.timestamps import guess_date_order
from memsense.ingest.values import JsonObject, identifier, sequence
from memsense.types import Conversation, JsonValue, Role

_SPEAKERS = frozenset(("sender", "from", "speaker"))
_PEOPLE = frozenset(("author", "user"))
_PROMPTS = frozenset(("prompt", "question", "query", "user", "instruction"))
_WORDS = frozenset(("content", "text", "message", "utterance"))
# Columns of mail and of programs' own logs: their rows are not turns.
_RECORDS = frozenset(("subject", "level", "severity", "loglevel", "levelname", "pid", "hostname"))
_ALPACA = frozenset(("instruction", "output"))
_SAMPLE_ROWS = 50
_MOST_SPEAKERS = 20
_TURNS_TAKEN = 3
_DELIMITERS = ",;\t|"
_HAS_LETTER = re.compile(r"[^\W\d_]").search
# csv refuses cells of more than 131,072 characters by default; messages of 349,000 exist.
_CELL_LIMIT = 2**31 - 1
# Excel writes the delimiter into a line of its own: sep=;
_SEPARATOR_LINE = "sep="


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The column of a row that holds each field; None where there is none."""

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
        """Return whether a row is a question with its answer."""
        has_pair = self.prompt is not None and self.response is not None
        # A column `user` may be the prompt or the speaker: next to a response it is the prompt.
        role = None if self.role == self.prompt else self.role
        return has_pair and (self.content is None or role is None)

    @property
    def is_usable(self) -> bool:
        """Return whether rows can be read at all."""
        return self.content is not None or self.is_pair


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One message of a session, with its time as it is written and the value that orders it."""

    role: Role
    text: str
    time: JsonValue
    line: int
    speaker: str | None = None
    external_id: str | None = None
    order: float | None = None


def choose_columns(names: Sequence[str], chosen: Mapping[str, str]) -> Columns:
    """Match column names to fields: the caller's choices first, then the usual aliases."""
    by_alias = {normalise_name(name): name for name in reversed(names)}
    columns: dict[str, str] = {}
    for field, aliases in FIELDS.items():
        alias = next((alias for alias in aliases if alias in by_alias), None)
        if field in chosen and chosen[field] in names:
            columns[field] = chosen[field]
        elif alias is not None:
            columns[field] = by_alias[alias]
    if columns.get("speaker") == columns.get("role"):
        columns.pop("speaker", None)
    return Columns(**columns)


# Detection ----------------------------------------------------------------------------------------


def sniff(head: Head) -> str | None:
    """Return what shows that a log has rows of roles, or of questions and answers."""
    return _describe_rows(head, _has_roles) or _describe_rows(head, _are_logged_pairs)


def guess(head: Head) -> str | None:
    """Return the evidence that a log has rows of people who take turns, or of questions.

    A table of questions and answers is more often a list of facts, an exam or a test of models.
    """
    return _describe_rows(head, _takes_turns) or _describe_rows(head, _has_pairs)


def _describe_rows(
    head: Head, matches: Callable[[Columns, Sequence[JsonObject]], bool]
) -> str | None:
    """Return a description of the head's rows if they match."""
    description = ""
    if head.is_json:
        objects = head.objects
        rows = [row for row in objects if choose_columns(list(row), {}).is_usable]
        if 2 * len(rows) < len(objects):
            return None
    else:
        # The last line of an incomplete head is cut off.
        text = head.text if head.complete else head.text.rpartition("\n")[0]
        lines = iter(text.split("\n"))
        header, delimiter = read_header(lines)
        rows = [
            dict(zip(header, cells, strict=True))
            for _, cells in islice(read_cells(lines, delimiter, lambda _: None), _SAMPLE_ROWS)
            if len(cells) == len(header)
        ]
        description = f"a header row with {', '.join(header)}"[:120] + f" (cut at {delimiter!r})"
    if not rows:
        return None
    columns = choose_columns(list(rows[0]), {})
    if not (columns.is_usable and matches(columns, rows)):
        return None
    pair = (columns.prompt, columns.response)
    names = pair if columns.is_pair else (columns.role, columns.content)
    return description or f"rows with {' and '.join(map(str, names))}"


def _has_roles(columns: Columns, rows: Sequence[JsonObject]) -> bool:
    """Return whether every row that says who speaks says it in a role's word."""
    role_rows = [row for row in rows if row.get(columns.role or "") not in (None, "")]
    roles = {role_of(word) for word in _texts(role_rows, columns.role)}
    has_text = any(isinstance(row.get(columns.content or ""), str | list) for row in role_rows)
    return has_text and None not in roles and bool(roles & {"user", "assistant"})


def _has_pairs(columns: Columns, rows: Sequence[JsonObject]) -> bool:
    """Return whether rows are questions and answers in words."""
    if not columns.is_pair or _is_of_records(rows):
        return False
    names = [name for name in rows[0] if normalise_name(name) in _PROMPTS] or [columns.prompt]
    prompts = [text for name in names for text in _texts(rows, name)]
    sides = (prompts, _texts(rows, columns.response))
    if names != [columns.prompt] or normalise_name(names[0] or "") in _PROMPTS:
        return all(any(map(_HAS_LETTER, side)) for side in sides)
    # Columns `input` and `output` may hold anything: most of them must be several words.
    return all(2 * sum(" " in text.strip() for text in side) > len(rows) for side in sides)


def _are_logged_pairs(columns: Columns, rows: Sequence[JsonObject]) -> bool:
    """Return whether rows are questions and answers that were said: in a session, or at a time."""
    ids = _texts(rows, columns.id)
    # Numbers from 1 only count the rows.
    has_ids = len(set(ids)) == len(rows) and not all(one.strip().isdecimal() for one in ids)
    has_place = bool(columns.session or columns.time or has_ids)
    return has_place and _has_pairs(columns, rows)


def _takes_turns(columns: Columns, rows: Sequence[JsonObject]) -> bool:
    """Return whether a few speakers recur or, if the column may name others, two alternate."""
    if normalise_name(columns.content or "") not in _WORDS or _is_of_records(rows):
        return False
    speakers = [word.strip() for word in _texts(rows, columns.role)]
    texts = _texts(rows, columns.content)
    if len(speakers) < len(rows) or not any(map(_HAS_LETTER, texts)):
        return False
    counts = Counter(speakers)
    recurring = sum(count > 1 for count in counts.values())
    changes = sum(one != other for one, other in pairwise(speakers))
    kind = normalise_name(columns.role or "")
    if kind in _SPEAKERS:
        return 2 <= len(counts) <= _MOST_SPEAKERS and recurring > 1 and changes > 1  # noqa: PLR2004
    # `author` and `user` head commits, comments and tickets, too.
    is_dialogue = changes == len(speakers) - 1 and min(counts.values()) >= _TURNS_TAKEN
    return kind in _PEOPLE and len(counts) == 2 and is_dialogue  # noqa: PLR2004


def _texts(rows: Sequence[JsonObject], column: str | None) -> list[str]:
    return [text for row in rows if isinstance(text := row.get(column or ""), str) and text.strip()]


def _is_of_records(rows: Sequence[JsonObject]) -> bool:
    return bool(rows) and not _RECORDS.isdisjoint(map(normalise_name, rows[0]))


# Reading ------------------------------------------------------------------------------------------


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each value of the session column, or one for the file."""
    sessions: dict[str, list[_Row]] = {}
    for line, row, columns in _rows(reading):
        session = identifier(row.get(columns.session or ""))
        if session is None:
            session = reading.source.session_id
            names = {normalise_name(name): name for name in row}
            if names.keys() >= _ALPACA:
                # Alpaca's rows have nothing to do with each other.
                values = json.dumps([row[names["instruction"]], row[names["output"]]])
                digest = hashlib.sha256(values.encode()).hexdigest()[:8]
                session = f"{session}:{line}:{digest}"
        sessions.setdefault(session, []).extend(_messages(reading, row, columns, line))
    times = (row.time for rows in sessions.values() for row in rows)
    date_order = reading.options.date_order or guess_date_order(times)
    for session, rows in sessions.items():
        # Rows of a session need not stand together. An order column counts only if its numbers are
        # unique in the session.
        orders = [row.order for row in rows]
        if None not in orders and len(set(orders)) == len(orders):
            rows.sort(key=lambda row: row.order or 0.0)
        builder = reading.conversation()
        for row in rows:
            builder.add(
                row.role,
                row.text,
                external_id=row.external_id,
                speaker=row.speaker,
                stamp=reading.stamp(row.time, date_order),
                line=row.line,
            )
        builder.put_oldest_first()
        yield from builder.build(session)


def _rows(reading: Reading) -> Iterator[tuple[int, JsonObject, Columns]]:
    """Yield every row with its line and columns, from JSON or from a table."""
    lines = reading.lines()
    first = next(lines, "")
    while first and not first.strip("\x00\ufeff").strip():
        first = next(lines, "")
    if first.lstrip("\ufeff\x00 \t").startswith(("{", "[")):
        for record in reading.objects():
            columns = choose_columns(list(record.value), reading.options.columns)
            if columns.is_usable:
                yield record.line, record.value, columns
            else:
                reading.skip("row without content", record.line)
        return
    lines = chain([first], lines)
    header, delimiter = read_header(lines)
    columns = choose_columns(header, reading.options.columns)
    if not columns.is_usable:
        names = ", ".join(header)[:200]
        raise IngestError(
            f"{reading.source.label}: no column holds the content; the header is: {names}; "
            "name the column with --map content=COLUMN"
        )
    for line, cells in read_cells(lines, delimiter, partial(reading.skip, "unreadable row")):
        if len(cells) == len(header):
            reading.report.records += 1
            yield line + 1, dict(zip(header, cells, strict=True)), columns
        elif cells:
            reading.skip("row with a wrong number of cells", line + 1)


def read_cells(
    lines: Iterator[str], delimiter: str, on_bad_row: Callable[[int], object]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with the line it ends on; call `on_bad_row` with a bad line."""
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


def read_header(lines: Iterator[str]) -> tuple[list[str], str]:
    """Return the column names and the delimiter: the one that gives the most columns."""
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
    time = row.get(columns.time or "")
    row_id = identifier(row.get(columns.id or ""))
    number = row.get(columns.order or "")
    try:
        order = float(number) if isinstance(number, str | int | float) else None
    except (ValueError, OverflowError):
        order = None
    if not columns.is_pair:
        word = identifier(row.get(columns.role or "")) or ""
        role = role_of(word)
        if role in ("system", "tool"):
            reading.skip(f"{role} message", line)
            return
        # A word that is no role is a person's name.
        name = identifier(row.get(columns.speaker or "")) or (None if role else word or None)
        text = content_text(row.get(columns.content or ""))
        yield _Row(
            role=role or "other",
            text=text,
            speaker=name,
            external_id=row_id,
            time=time,
            order=order,
            line=line,
        )
        return
    # First the earlier turns that the row repeats (Alpaca's `history`), then question and answer.
    sides: tuple[Role, Role] = ("user", "assistant")
    for earlier in sequence(row.get("history")):
        texts = [content_text(part) for part in sequence(earlier)]
        for side, text in zip(sides, texts, strict=False):
            yield _Row(role=side, text=text, time=time, line=line)
    # An instruction and its input are one question.
    inputs = (name for name in row if normalise_name(name) == "input")
    instructions = (name for name in row if normalise_name(name) == "instruction")
    names = dict.fromkeys((*instructions, columns.prompt, *inputs))
    prompt = join_texts(*(content_text(row.get(name or "")) for name in names))
    response = content_text(row.get(columns.response or ""))
    for side, text, suffix in zip(sides, (prompt, response), ("prompt", "response"), strict=True):
        yield _Row(
            role=side,
            text=text,
            external_id=f"{row_id}:{suffix}" if row_id else None,
            time=time,
            order=order,
            line=line,
        )


READER = Reader(name="rows", sniff=sniff, guess=guess, read=read)
