"""Reader of any format that a mapping describes: JSON, JSONL, tables, SQLite, lines of text."""

import gzip
import io
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import dropwhile
from typing import Any, cast

import pydantic_core

from memsense.db.foreign import Database
from memsense.errors import IngestError
from memsense.ingest.chat_words import format_clock, format_day
from memsense.ingest.content import content_text, format_file, join_texts, role_of
from memsense.ingest.head import Head
from memsense.ingest.html_text import html_text
from memsense.ingest.mapping.format_map import FormatMap
from memsense.ingest.mapping.paths import find_all, matches
from memsense.ingest.readers.rows import FIELDS, read_cells, read_header
from memsense.ingest.reading import ConversationBuilder, Reader, Reading
from memsense.ingest.timestamps import NO_TIME, Stamp
from memsense.ingest.values import JsonObject, identifier, mapping, string
from memsense.ingest.zstandard import zstd
from memsense.types import Conversation, JsonValue, Role

Columns = Mapping[str, frozenset[str]]

_LARGEST_VALUE = 64 * 1024 * 1024
"""Bytes that a compressed value of a database may have when it is unpacked."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_QUOTED = re.compile(r'"[^\n]*\n(?s:.*)"')
_BLANK = "\x00\ufeff \t\r\n"
_NO_BLANKS = str.maketrans("", "", "_- \ufeff")
_ALIASES = {name: frozenset(aliases) for name, aliases in FIELDS.items()}


def mapped_reader(name: str, load: Callable[[], FormatMap], *, origin: str = "memsense") -> Reader:
    """Return the reader of a format whose mapping is loaded when it is first needed."""
    return Reader(
        name=name,
        sniff=lambda head: _sniff(load(), head),
        read=lambda reading: read_mapped(load(), reading),
        sniff_tables=lambda columns: _sniff_tables(load(), columns),
        records=lambda reading: ((one.line, one.value) for one in _records(load(), reading)),
        describe=lambda: load().description,
        places=lambda: load().places,
        origin=origin,
    )


# Detection ----------------------------------------------------------------------------------------


def _sniff(form: FormatMap, head: Head) -> str | None:
    marks = form.detect
    if head.is_json and (marks.keys or marks.condition):
        for record in head.objects:
            has_keys = all(key in record for key in marks.keys)
            if has_keys and (marks.condition is None or matches(marks.condition, record)):
                keys = ", ".join(marks.keys)
                return f"records with {keys}" if keys else f"records where {marks.condition}"
    if not head.is_json and marks.lines and form.line_pattern is not None:
        matches_of = map(form.line_pattern.fullmatch, (line.rstrip("\r") for line in head.lines))
        count = sum(one is not None and one["content"] is not None for one in matches_of)
        first = "".join(head.lines[:1]).strip(_BLANK)
        is_first = bool(marks.first and re.fullmatch(marks.first, first))
        if count >= marks.lines and (is_first if marks.first else 2 * count >= len(head.lines)):
            return f"{count} of the first {len(head.lines)} lines are messages"
    if not head.is_json and marks.columns:
        header, _ = read_header(iter(head.text.lstrip(_BLANK).split("\n", 2)))
        if set(marks.columns) <= set(header):
            return f"a header row with {', '.join(marks.columns)}"
    return None


def _sniff_tables(form: FormatMap, columns: Columns) -> str | None:
    tables = form.detect.tables
    if tables and all(
        set(names) <= columns.get(table, frozenset[str]()) for table, names in tables.items()
    ):
        return f"a database with {', '.join(tables)}"
    return None


# Records ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Record:
    """A value of a log with its place there."""

    value: JsonValue
    line: int
    ordinal: int
    first: int = 1
    """Number of its first conversation, as a long log comes in parts."""


def _records(form: FormatMap, reading: Reading) -> Iterator[_Record]:
    """Yield the values of a log in any form."""
    if reading.source.kind == "database":
        rows = enumerate(_database_rows(form, reading), start=1)
        records = (_Record(row, number, number) for number, row in rows)
    elif form.line_pattern is not None:
        records = _line_records(form, reading)
    else:
        starts = (start for chunk in reading.chunks() if (start := chunk.lstrip(_BLANK)))
        if next(starts, "").startswith(("{", "[")):
            records = (
                _Record(one.value, one.line, one.ordinal, one.list_number or 1)
                for one in reading.records(within=form.stream)
            )
        else:
            lines = dropwhile(lambda line: not line.strip(_BLANK), reading.lines())
            records = _table_records(reading, lines)
    for record in records:
        value = record.value
        if form.json_keys and isinstance(value, dict):
            value = value | {
                key: parse_json(value[key]) for key in form.json_keys if value.get(key)
            }
        yield replace(record, value=unflatten(value) if form.flat else value)


def unflatten(value: JsonValue) -> JsonValue:
    """Return a value whose keys such as `a.0.b` are lists and objects within each other."""
    if not isinstance(value, dict):
        return [unflatten(item) for item in value] if isinstance(value, list) else value
    nested: dict[str, Any] = {}
    for key, item in value.items():
        *steps, last = key.split(".")
        inner = nested
        for step in steps:
            # A key may have a value of its own and longer keys, too: the longer ones count.
            if not isinstance(inner.get(step), dict):
                inner[step] = {}
            inner = inner[step]
        inner.setdefault(last, unflatten(item))
    return _listed(nested)


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    items = {key: _listed(item) for key, item in cast("dict[str, Any]", value).items()}
    if items and all(key.isdecimal() for key in items):
        return [items[key] for key in sorted(items, key=int)]
    return items


def _table_records(reading: Reading, lines: Iterator[str]) -> Iterator[_Record]:
    header, delimiter = read_header(lines)
    ordinal = 0
    for line, cells in read_cells(lines, delimiter, partial(reading.skip, "unreadable row")):
        if len(cells) == len(header):
            reading.report.records += 1
            ordinal += 1
            yield _Record(dict(zip(header, cells, strict=True)), line + 1, ordinal)
        elif cells:
            reading.skip("row with a wrong number of cells", line + 1)


def _line_records(form: FormatMap, reading: Reading) -> Iterator[_Record]:
    """Yield the fields of each line that the pattern matches; others continue the one before."""
    pattern = form.line_pattern
    assert pattern is not None
    has_days = "day" in pattern.groupindex
    fields: dict[str, JsonValue] = {}
    place = ordinal = 0
    day = ""

    def finish() -> Iterator[_Record]:
        content = fields.get("content")
        if isinstance(content, str) and form.indent:
            fields["content"] = content.strip()
        elif isinstance(content, str) and has_days and _QUOTED.fullmatch(content):
            fields["content"] = content[1:-1].replace('""', '"')
        if fields:
            yield _Record(fields, place, ordinal)

    for number, line in enumerate(reading.lines(), start=1):
        text = line.rstrip("\r\n")
        if match := pattern.fullmatch(text.lstrip("\ufeff")):
            yield from finish()
            fields, place = dict(match.groupdict()), number
            if string(fields.get("day")):
                day, fields = format_day(match["day"], reading.options.date_order), {}
                continue
            if day and match["time"]:
                fields["time"] = f"{day} {format_clock(match['time'], match['half'])}"
            reading.report.records += 1
            ordinal += 1
        elif fields and isinstance(fields.get("content"), str) and (text.strip() or form.indent):
            text = text.removeprefix(form.indent)
            # The head of a message may stand above its text.
            above = string(fields["content"]).strip()
            fields["content"] = f"{fields['content']}\n{text}" if above else text.strip()
        elif text.strip(_BLANK):
            reading.skip("line of another form", number)
    yield from finish()


def _database_rows(form: FormatMap, reading: Reading) -> Iterator[JsonObject]:
    source = reading.source
    if source.path is None:
        raise IngestError(f"{source.label}: a database can only be read from a file")
    with Database(source.path).open() as snapshot:
        if form.query:
            rows = snapshot.select(form.query)
        elif form.table:
            if form.table not in snapshot.tables():
                tables = ", ".join(sorted(snapshot.tables()))
                raise IngestError(f"{source.label}: no table {form.table!r}; there are {tables}")
            rows = snapshot.read_table(form.table)
        else:
            tables = ", ".join(sorted(snapshot.tables()))
            raise IngestError(
                f"{source.label}: name the table with --map table=NAME, or a query with"
                f" --map query='SELECT ...'; the tables are {tables}"
            )
        try:
            for row in rows:
                reading.report.records += 1
                is_parsed = set(form.json_keys)
                yield {
                    name: value if name in is_parsed else as_json(value)
                    for name, value in row.items()
                }
        except sqlite3.DatabaseError as error:
            raise IngestError(f"{source.label}: the query can't be run ({error})") from error


def as_json(value: Any) -> JsonValue:
    """Return a cell of a database as JSON can hold it: bytes become text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def parse_json(value: Any) -> JsonValue:
    """Return the JSON that a text or compressed bytes hold; the text itself if it is none.

    Other bytes become text, with a mark in place of those that are none.
    """
    data = value
    try:
        if isinstance(value, bytes):
            if value.startswith(_ZSTD):
                with zstd.open(io.BytesIO(value)) as stream:
                    data = stream.read(_LARGEST_VALUE)
            elif value.startswith(_GZIP):
                with gzip.open(io.BytesIO(value)) as stream:
                    data = stream.read(_LARGEST_VALUE)
        if not isinstance(data, str | bytes):
            return cast("JsonValue", data)
        return cast("JsonValue", pydantic_core.from_json(data))
    except (ValueError, OSError, EOFError, zlib.error, zstd.ZstdError):
        return as_json(data)


# Turns --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """One message, before the builder has cleaned it."""

    role: Role
    text: str
    line: int
    speaker: str | None = None
    external_id: str | None = None
    stamp: Stamp = NO_TIME


@dataclass(slots=True)
class _Session:
    """The turns of one session, in groups that came with one record each."""

    groups: list[tuple[float | None, list[_Turn]]] = field(
        default_factory=list[tuple[float | None, list[_Turn]]]
    )
    title: str | None = None
    user: str | None = None
    owner: str | None = None
    folder: str | None = None
    started: Stamp = NO_TIME


def read_mapped(form: FormatMap, reading: Reading) -> Iterator[Conversation]:
    """Yield the conversations of a log as a mapping describes them."""
    paths = form.map
    reading = replace(reading, format=form.family or reading.format)
    is_grouped = form.groups or not paths.messages
    # Users may have sessions of the same id.
    sessions: dict[tuple[str | None, str], _Session] = {}
    for record in _records(form, reading):
        if not isinstance(record.value, dict | list):
            reading.skip("not an object", record.line)
            continue
        if form.where is not None and not matches(form.where, record.value):
            reading.skip("record of another kind", record.line)
            continue
        look = _Look(form, record.value)
        talks = look.all("conversations", record.value) if paths.conversations else None
        first = record.first if form.stream else 1
        for number, talk in enumerate([record.value] if talks is None else talks, first):
            own_id = look.text("session", talk)
            if own_id is not None:
                session_id = own_id
            elif not paths.messages:
                session_id = reading.source.session_id
            else:
                session_id = reading.name_session(None, record.ordinal)
                session_id += f":{number}" if number > 1 else ""
            key = (look.text("user", talk), session_id)
            session = sessions.setdefault(key, _Session()) if is_grouped else _Session()
            session.title = session.title or look.text("title", talk)
            session.user = session.user or look.text("user", talk)
            session.owner = session.owner or look.text("owner", talk)
            session.folder = session.folder or look.text("folder", talk)
            started = reading.stamp(look.first("started", talk))
            if session.started.at is None:
                session.started = started
            is_talk = isinstance(talk, dict)
            messages = look.objects(paths.messages, talk) if paths.messages else [talk]
            if is_talk and not messages:
                reading.skip("record without messages", record.line)
            groups = [
                (look.order(message, reading), [*_turns(look, message, reading, record.line)])
                for message in messages
            ]
            if paths.messages and form.groups:
                # All of a record's turns move together, by the order of the record.
                together = [
                    turn if turn.stamp.at else replace(turn, stamp=started)
                    for _, turns in groups
                    for turn in turns
                ]
                groups = [(look.order(talk, reading), together)]
            session.groups += groups
            if not is_grouped:
                yield from _build(form, reading, session_id, session)
    for (_, session_id), session in sessions.items():
        yield from _build(form, reading, session_id, session)


def _build(
    form: FormatMap, reading: Reading, session_id: str, session: _Session
) -> Iterator[Conversation]:
    groups = session.groups
    orders = [order for order, _ in groups]
    if form.map.order and None not in orders:
        groups = sorted(groups, key=lambda group: group[0] or 0.0)
    turns: list[_Turn] = []
    for _, more in groups:
        repeated = _count_repeated(turns, more) if form.repeats else 0
        if repeated:
            reading.skip("repeated earlier turn", more[0].line, count=repeated)
        turns += more[repeated:]
    builder: ConversationBuilder = reading.conversation()
    for turn in turns:
        builder.add(
            turn.role,
            turn.text,
            external_id=turn.external_id,
            speaker=turn.speaker,
            stamp=turn.stamp,
            line=turn.line,
        )
    speakers = builder.speakers()
    first = (name for name in speakers if name == session.owner)
    people = tuple(dict.fromkeys((*first, *speakers)))
    if form.silences:
        yield from builder.build_parts(
            session_id, reading.options.session_gap, title=session.title, participants=people
        )
        return
    yield from builder.build(
        session_id,
        title=session.title,
        started_at=session.started.at,
        folder=session.folder,
        participants=people,
        metadata={"user_id": session.user} if session.user else None,
    )


def _count_repeated(turns: Sequence[_Turn], more: Sequence[_Turn]) -> int:
    """Return how many turns at the beginning of `more` are the last of `turns`."""
    old = [(turn.role, turn.text) for turn in turns]
    new = [(turn.role, turn.text) for turn in more]
    for length in range(min(len(old), len(new)), 0, -1):
        if old[-length:] == new[:length]:
            return length
    # A part of the session was sent again, such as by a step that ran at the same time as another.
    starts = range(len(old) - len(new) + 1) if new else range(0)
    return len(new) if any(old[at : at + len(new)] == new for at in starts) else 0


def _turns(look: "_Look", value: JsonValue, reading: Reading, line: int) -> Iterator[_Turn]:
    """Yield the turns of one message: two if it is a question with its answer."""
    form, paths = look.form, look.form.map
    # A list can be a question and its answer.
    is_pair = isinstance(value, list) and bool(paths.prompt)
    if not isinstance(value, dict) and not is_pair:
        reading.skip("not a message", line)
        return
    message = value
    for reason, condition in form.skip.items():
        if matches(condition, message):
            reading.skip(reason, line)
            return
    if form.bots is not None and not reading.options.bots and matches(form.bots, message):
        reading.skip("bot message", line)
        return
    own_id = look.text("id", message)
    stamp = reading.stamp(look.first("time", message))
    if paths.prompt or paths.response:
        sides: tuple[tuple[Role, str], ...] = (("user", "prompt"), ("assistant", "response"))
        for side, name in sides:
            if text := look.content(name, message):
                side_id = f"{own_id}:{name}" if own_id else None
                yield _Turn(role=side, text=text, external_id=side_id, stamp=stamp, line=line)
            else:
                reading.skip(f"record without a {name}", line)
        return
    word = look.word("role", message)
    role = look.role(word)
    if role in ("system", "tool"):
        reading.skip(f"{role} message", line)
        return
    is_role = word is None or word in form.roles or role_of(word) is not None
    names = [identifier(name) for name in look.all("files", message)]
    text = join_texts(look.content("content", message), *map(format_file, names))
    yield _Turn(
        role=role or "other",
        text=text,
        # A word that is no role is a person's name.
        speaker=look.text("speaker", message) or (None if is_role else word),
        external_id=own_id,
        stamp=stamp,
        line=line,
    )


class _Look:
    """The values of one record, by the mapping's paths or by the usual names."""

    def __init__(self, form: FormatMap, record: JsonValue) -> None:
        self.form = form
        self._record = record

    def paths_of(self, name: str, current: JsonValue) -> Sequence[str]:
        """Return the field's paths, or the key of `current` that usually holds it."""
        paths: Sequence[str] = getattr(self.form.map, name)
        if paths or not self.form.usual_names or not isinstance(current, dict):
            return paths
        aliases = _ALIASES.get(name, frozenset[str]())
        dumped = self.form.map.model_dump().values()
        mapped: set[str] = {path for paths in dumped for path in paths}
        keys = (key for key in current if key.lower().translate(_NO_BLANKS) in aliases)
        return [key for key in keys if key not in mapped]

    def all(self, name: str, current: JsonValue) -> list[JsonValue]:
        """Return the values of the field's first path that leads to any."""
        for path in self.paths_of(name, current):
            values = find_all(path, current, self._record)
            filled: list[JsonValue] = [value for value in values if value not in (None, "", [])]
            if filled:
                return filled
        return []

    def first(self, name: str, current: JsonValue) -> JsonValue:
        """Return the field's first value, or None."""
        return next(iter(self.all(name, current)), None)

    def text(self, name: str, current: JsonValue) -> str | None:
        """Return the first value as an id or a name."""
        return identifier(self.first(name, current))

    def word(self, name: str, current: JsonValue) -> str | None:
        """Return the first value as a word; true and false are words, too."""
        value = self.first(name, current)
        return str(value).lower() if isinstance(value, bool) else identifier(value)

    def role(self, word: str | None) -> Role | None:
        """Return the role that the mapping, or else common use, gives a word."""
        if word is None:
            return None
        role = role_of(self.form.roles.get(word, word))
        return role or role_of(self.form.roles.get("*", word))

    def content(self, name: str, current: JsonValue) -> str:
        """Return the texts of the field's first path that leads to one, as one text."""
        for path in self.paths_of(name, current):
            values = find_all(path, current, self._record)
            text = join_texts(*map(self._text_of, values))
            if text:
                return html_text(text) if self.form.html else text
        return ""

    def _text_of(self, value: JsonValue) -> str:
        if self.form.pieces and isinstance(value, list):
            # A word in bold is an object between two strings of its sentence.
            return "".join(string(one) or string(mapping(one).get("text")) for one in value)
        return content_text(value)

    def order(self, current: JsonValue, reading: Reading) -> float | None:
        """Return the number or the time that a value is ordered by."""
        value = self.first("order", current)
        if isinstance(value, int | float):
            return float(value)
        text = value if isinstance(value, str) else ""
        try:
            return float(text)
        except ValueError:
            at = reading.stamp(value).at if text else None
            return at.timestamp() if at else None

    def objects(self, paths: Sequence[str], current: JsonValue) -> list[JsonValue]:
        """Return what all paths lead to; of lists, and of texts that hold a list, the items."""
        items: list[JsonValue] = []
        for path in paths:
            for value in find_all(path, current, self._record):
                parsed = parse_json(value) if isinstance(value, str) else value
                items += parsed if isinstance(parsed, list) else [parsed]
        return items
