"""Mappings proposed for a log that no reader knows: candidates are run on its first rows."""

import io
import json
import re
import shlex
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice, pairwise, permutations, product
from typing import cast

from memsense.db.foreign import Database, join_tables
from memsense.errors import IngestError, InvalidInputError
from memsense.ingest.content import role_of
from memsense.ingest.fields import FIELDS, normalise_name, unpack_json
from memsense.ingest.head import Head
from memsense.ingest.mapping.mapped import as_json
from memsense.ingest.options import ReadOptions
from memsense.ingest.readers.rows import read_cells, read_header
from memsense.ingest.reading import Reading
from memsense.ingest.registry import choose_mapped
from memsense.ingest.report import ReadReport
from memsense.ingest.source import Source
from memsense.ingest.timestamps import epoch_seconds, parse_timestamp
from memsense.ingest.values import JsonObject, mapping
from memsense.inputs import shorten
from memsense.types import Conversation, JsonValue, Message

_SAMPLES = (30, 200)
"""Rows of each list on which all candidates are run, and those on which the best ones are."""
_BEST = 4
_DEEPEST = 6
_LIST_ITEMS = 8
_MOST_SPEAKERS = 20
_LONGEST_NAME = 40
_MOST_COLUMNS = 4
_LEAST_SCORE = 6.0
_CLOSE = 0.3
_SPEAKERS = frozenset(
    """
    author by from is_me name nick party person role sender side source speaker user username who
    """.split()
)
_SESSIONS = frozenset("channel chat conversation dialog room session thread".split())
_OWN_IDS = ("id", "uuid", "_id")
_CELLS = ("text", "content", "value", "message", "body", "parts")
_PROMPT = re.compile(r"user|human|question|query|prompt|input|request", re.IGNORECASE)
_RESPONSE = re.compile(
    r"bot|assistant|answer|response|reply|output|model|completion|(?<![a-z])ai(?![a-z])",
    re.IGNORECASE,
)
_IS_SIDE = re.compile(r"(?:is|from|isfrom)(?:(user|human)|(bot|ai|assistant|model))")
_PARTS = re.compile(r"[^a-z]+")
_OF_SIDE = re.compile(
    r"(user|human)(?![a-z])|(assistant|agent|model|bot|ai)(?![a-z])", re.IGNORECASE
)
_HIDDEN = frozenset("deleted hidden isdeleted ishidden issystem partial sidechain".split())
_HTML = re.compile(r"\s*<(?:p|div|span|br)\b[^<>]*>", re.IGNORECASE)
_SIMPLE = re.compile(r"[^\W\d]\w*")
_IS_PLAIN = re.compile(r"[^$\[\].@*=]+")
_STEP_END = re.compile(r"[.\[]")
_SIGNS = re.compile(r"[\[\].*'\"]+")
_WORDS = re.compile(r"[^\W\d_][.,;:!?]?\s+\S|[.?!]\W?$|[^\W\d_\x00-\x7f]")
_SUFFIX = re.compile(r"_?id$", re.IGNORECASE)
_INDEXES = re.compile(r"\[\*\]|\.\*$")

Fields = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Fields of a mapping for a log: `description` names the columns, `fields` has the paths.

    `result` says what the mapping made of the log's first rows.
    """

    description: str
    fields: Fields
    result: str = ""

    def command(self, label: str) -> str:
        """Return the command that reads the log in this way."""
        maps = (f"--map {shlex.quote(f'{name}={path}')}" for name, path in self.fields)
        return f"memsense ingest {shlex.quote(label)} {' '.join(maps)}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Rows that may be the messages of a log, with the fields that lead to them."""

    fields: Fields
    rows: list[JsonObject] = field(default_factory=list[JsonObject])
    parents: list[JsonObject] = field(default_factory=list[JsonObject])


def propose_mappings(head: Head, source: Source) -> Sequence[Proposal]:
    """Return the mapping by which the log's first rows read best as turns; none without evidence.

    A candidate is a list of rows with a column of roles and one of texts, or with a question and
    its answer. Each is run, and its score is made of what comes out: two sides that alternate,
    texts of words that differ, ascending times, and the share of the log's characters that was
    read. Two mappings are returned if the second gives other messages and is nearly as good.

    Args:
        head: The log's beginning.
        source: The log; only a database is read again.
    """
    best: dict[Fields, None] = {}
    tried: list[tuple[float, Fields, Sequence[Conversation], int]] = []
    for size in _SAMPLES:
        tried = []
        for values, places in _samples(head, source, size):
            total = sum(len(text) for value in values for text in _texts(value))
            data = "".join(f"{json.dumps(value)}\n" for value in values).encode()
            of_log = (fields for place in places for fields in _candidates(place))
            for fields in of_log:
                if size == _SAMPLES[0] or fields in best:
                    talks = _run(fields, data)
                    tried.append((_score(talks, total), fields, talks, total))
        tried.sort(key=lambda one: -one[0])
        best = {fields: None for _, fields, *_ in tried[:_BEST]}
    good = [one for one in tried if one[0] >= _LEAST_SCORE]
    others = (
        one
        for one in good[1:]
        if good[0][0] - one[0] < _CLOSE and _turns(one[2]) != _turns(good[0][2])
    )
    return [_describe(*one[1:]) for one in (*good[:1], *islice(others, 1))]


# Rows ---------------------------------------------------------------------------------------------


def _samples(
    head: Head, source: Source, size: int
) -> Iterator[tuple[Sequence[JsonValue], Sequence[_Place]]]:
    """Yield the first values of the log, or of each table, and the places of messages in them."""
    if source.kind == "database" and source.path is not None:
        try:
            with Database(source.path).open() as snapshot:
                columns = snapshot.columns()
                queries = ((("query", query),) for query in join_tables(columns))
                for fields in (*((("table", name),) for name in sorted(columns)), *queries):
                    name, value = fields[0]
                    rows = snapshot.read_table if name == "table" else snapshot.select
                    sample = [
                        {key: as_json(cell) for key, cell in row.items()}
                        for row in islice(rows(value), size)
                    ]
                    yield sample, [_Place(fields, cast("list[JsonObject]", sample))]
        except (OSError, sqlite3.Error):
            return
    elif head.is_json:
        values = [_cut(record.value, size) for record in head.records[:size]]
        top: Fields = ()
        places: dict[Fields, _Place] = {top: _Place(top)}
        for value in values:
            if isinstance(value, dict):
                places[top].rows.append(value)
            for fields, parent, row in _lists_within(value):
                place = places.setdefault(fields, _Place(fields))
                place.rows.append(row)
                place.parents.append(parent)
        yield values, list(places.values())
    else:
        text = head.text if head.complete else head.text.rpartition("\n")[0]
        lines = iter(text.split("\n"))
        header, delimiter = read_header(lines)
        cells = list(islice(read_cells(lines, delimiter, lambda _: None), size))
        rows = [dict(zip(header, row, strict=True)) for _, row in cells if len(row) == len(header)]
        if len(header) > 1 and len(rows) > len(cells) // 2:
            yield rows, [_Place((), cast("list[JsonObject]", rows))]


def _cut(value: JsonValue, size: int) -> JsonValue:
    if isinstance(value, list):
        return [_cut(item, size) for item in value[:size]]
    if isinstance(value, dict):
        is_list = _are_rows(value)
        items = islice(value.items(), size) if is_list else value.items()
        return {key: _cut(item, size) for key, item in items}
    return value


def _are_rows(value: JsonValue) -> bool:
    """Return whether an object keeps rows by their ids."""
    rows = [mapping(item) for item in mapping(value).values()]
    keys = [set(row) for row in rows]
    return len(keys) > 1 and bool(keys[0].intersection(*keys[1:]))


def _lists_within(
    value: JsonValue, path: str = "$", parent: JsonValue = None, outer: str = "", depth: int = 0
) -> Iterator[tuple[Fields, JsonObject, JsonObject]]:
    """Yield the objects of each list, with the fields that lead there and what holds the list."""
    if depth >= _DEEPEST or not isinstance(value, dict | list):
        return
    parent = value if parent is None else parent
    is_list = isinstance(value, list)
    if path != "$" and (is_list or _are_rows(value)):
        here = f"{path}[*]" if is_list else f"{path}.*"
        inner = here.removeprefix(outer).lstrip(".")
        fields = (("conversations", outer), ("messages", inner)) if outer else (("messages", here),)
        for item in value if isinstance(value, list) else value.values():
            if isinstance(item, list):
                yield from _lists_within(item, here, parent, here, depth + 1)
            elif isinstance(item, dict):
                yield fields, mapping(parent), item
                yield from _lists_within(item, here, item, here, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _lists_within(item, _step(path, key), parent, outer, depth + 1)


def _leaves(value: JsonValue, path: str = "", depth: int = 0) -> Iterator[tuple[str, JsonValue]]:
    """Yield the plain values of a row, with the paths that lead to them."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, item in value.items():
            yield from _leaves(
                item, key if not path and _IS_PLAIN.fullmatch(key) else _step(path, key), depth + 1
            )
    elif isinstance(value, list):
        for item in value[:_LIST_ITEMS]:
            yield from _leaves(item, f"{path}[*]", depth + 1)
    elif value not in (None, "") and not isinstance(value, dict):
        yield path, value


def _step(path: str, key: str) -> str:
    if _SIMPLE.fullmatch(key):
        return f"{path}.{key}"
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"{path}['{escaped}']"


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield the texts of a value that are words, and no times."""
    for _, leaf in _leaves(value):
        opened = unpack_json(leaf)
        if opened is not leaf:
            yield from _texts(opened)
        elif isinstance(leaf, str) and _WORDS.search(leaf) and parse_timestamp(leaf).at is None:
            yield leaf


# Candidates ---------------------------------------------------------------------------------------


def _candidates(place: _Place) -> Iterator[Fields]:
    """Yield the mappings that the columns of some rows allow."""
    opened: dict[str, None] = {}
    columns: dict[str, list[JsonValue]] = {}
    for row in place.rows:
        for key, cell in row.items():
            value = unpack_json(cell)
            # Only a record's own cells can be opened, and a list in one has a path of its own.
            if value is not cell and not place.parents:
                opened[key] = None
            for path, leaf in _leaves({key: value}):
                columns.setdefault(path, []).append(leaf)
    times = [path for path, values in columns.items() if all(parse_timestamp(v).at for v in values)]
    times.sort(key=lambda path: normalise_name(path.rpartition(".")[2]) not in FIELDS["time"])
    lengths = {
        path: sum(len(v) for v in values if isinstance(v, str)) / len(place.rows)
        for path, values in columns.items()
        if path not in times and any(isinstance(v, str) and _WORDS.search(v) for v in values)
    }
    # Parts are read by their types where the path ends at their list: thoughts are left out.
    parts = (path.rpartition("[*].")[0] for path in lengths if path.endswith(("].text", "].value")))
    lists = {part: lengths.get(part, 0) + 1.0 for part in parts if "[*]" not in part}
    names = set(columns)
    contents = sorted(lengths, key=lambda path: -lengths[path])[:_MOST_COLUMNS]
    contents += [path for path in lists if path not in contents]
    rest = [("time", path) for path in times[:1]]
    moments = [epoch_seconds(value) for path in times[:1] for value in columns[path]]
    if len(moments) > 1 and all(one > other for one, other in pairwise(moments)):
        rest.append(("order", times[0]))  # newest first
    for path, values in columns.items():
        if normalise_name(path.rpartition(".")[2]) in _HIDDEN and True in values:
            rest.append((f"skip.{path}", f"@.{path} == true"))
    holder: JsonObject = place.parents[0] if place.parents else {}
    if place.parents:
        rest += [("session", key) for key in _OWN_IDS if isinstance(holder.get(key), str | int)][:1]
    else:
        sessions = (path for path in names if _SUFFIX.sub("", path).lower() in _SESSIONS)
        rest += [("session", path) for path in islice(sorted(sessions), 1)]
    roles: list[tuple[str, Fields]] = []  # names before ids
    for path, values in sorted(columns.items(), key=lambda one: bool(_SUFFIX.search(one[0]))):
        if (words := _find_sides(path, values)) is not None:
            roles.append((path, words))
    turns: Iterator[Fields] = (
        (("role", role), ("content", content), *words)
        for (role, words), content in product(roles, contents)
        if role != content
    )
    ends = {path: _last_name(path) for path in lengths}
    pairs: Iterator[Fields] = (
        (("prompt", one), ("response", other))
        for one, other in permutations(ends, 2)
        if _PROMPT.search(ends[one]) and _RESPONSE.search(ends[other])
    )
    for fields in chain(turns, islice(pairs, _MOST_COLUMNS)):
        used = {_STEP_END.split(path, maxsplit=1)[0] for _, path in fields}
        keys = [key for key in opened if key in used]
        texts = [v for name, path in fields if name == "content" for v in columns.get(path, ())]
        is_html = 2 * sum(bool(_HTML.match(v)) for v in texts if isinstance(v, str)) > len(texts)
        extra = (("html", "true"),) if is_html else ()
        yield (*place.fields, *fields, *rest, *extra, *(("json_keys", key) for key in keys))


def _last_name(path: str) -> str:
    """Return the last key of a path that says more than that it is a text."""
    keys = [key for key in _SIGNS.split(path) if key]
    return next((key for key in reversed(keys) if key not in _CELLS), keys[-1] if keys else "")


def _find_sides(path: str, values: Sequence[JsonValue]) -> Fields | None:
    """Return the roles of the words in a column, beyond the known ones; None if it has no sides."""
    if "[*]" in path:  # the row holds several turns, and is none itself
        return None
    words = {str(value).lower() if isinstance(value, bool) else str(value) for value in values}
    if match := _IS_SIDE.fullmatch(normalise_name(path.rpartition(".")[2])):
        user = "true" if match[1] else "false"
        other = "false" if match[1] else "true"
        return (("roles." + user, "user"), ("roles." + other, "assistant"))
    if not 1 < len(words) <= _MOST_SPEAKERS or max(map(len, words)) > _LONGEST_NAME:
        return None
    certain = {role_of(word) for word in words} & {"user", "assistant"}
    unknown = sorted(word for word in words if role_of(word) is None)
    is_named = bool(_SPEAKERS.intersection(_PARTS.split(path.lower())))
    if certain == {"user"} and unknown and (is_named or len(words) == 2):  # noqa: PLR2004
        return (("roles.*", "assistant"),)  # an agent's name is no person's
    if len(words) == 2 and len(unknown) == 1 and certain:  # noqa: PLR2004
        return ((f"roles.{unknown[0]}", "user"),)
    # Words such as user_message or USER_INPUT begin with the side.
    matches = [(word, match) for word in unknown if (match := _OF_SIDE.match(word))]
    sides = tuple((f"roles.{word}", "user" if match[1] else "assistant") for word, match in matches)
    if len({side for _, side in sides} | certain) > 1:
        return sides
    is_few = len(words) < len(values) or len(values) <= 4  # noqa: PLR2004
    return () if certain or (is_named and is_few) else None


# Runs ---------------------------------------------------------------------------------------------


def _run(fields: Fields, data: bytes) -> Sequence[Conversation]:
    """Return the conversations that a mapping makes of a sample, as JSON lines."""
    source = Source(label="sample", name="sample", opener=partial(io.BytesIO, data))
    try:
        reader, options = choose_mapped(dict(fields), ReadOptions())
        reading = Reading(format=reader.name, source=source, options=options, report=ReadReport())
        return list(reader.read(reading))
    except (IngestError, InvalidInputError):
        return ()


def _turns(talks: Sequence[Conversation]) -> list[tuple[str, str]]:
    return [
        (one.role if one.role != "other" else _side(one), one.text)
        for talk in talks
        for one in talk.messages
    ]


def _score(talks: Sequence[Conversation], total: int) -> float:
    """Return how much the conversations look like turns, from -2 to 8."""
    messages = [message for talk in talks for message in talk.messages]
    if not messages:
        return 0.0
    sides = [message.speaker or message.role for message in messages]
    texts = [message.text for message in messages]
    pairs = [pair for talk in talks for pair in pairwise(map(_side, talk.messages))]
    times = [pair for talk in talks for pair in pairwise(one.at for one in talk.messages)]
    ascending = sum(a is not None and b is not None and a <= b for a, b in times)
    count = len(messages)
    return (
        2.0 * (len(set(sides)) > 1)
        + sum(a != b for a, b in pairs) / max(1, len(pairs))
        + sum(bool(_WORDS.search(text)) for text in texts) / count
        - 2.0 * sum(unpack_json(text) is not text for text in texts) / count
        + len(set(texts)) / count
        + 1.5 * min(1.0, sum(map(len, texts)) / max(1, total))
        + 0.5 * ascending / max(1, len(times))
        + sum(message.role != "other" for message in messages) / count
    )


def _side(message: Message) -> str:
    return message.speaker or message.role


def _describe(fields: Fields, talks: Sequence[Conversation], total: int) -> Proposal:
    paths = dict(fields)
    place = paths.get("messages")
    outer = paths.get("conversations")
    names = "/".join(
        paths[name] for name in ("role", "content", "prompt", "response", "time") if name in paths
    )
    kind = f"messages under {outer + '.' if outer else ''}{place}" if place else "rows"
    messages = [message for talk in talks for message in talk.messages]
    example = " → ".join(f"{_side(one)} {shorten(one.text)}" for one in messages[:2])
    share = min(1.0, sum(len(message.text) for message in messages) / max(1, total))
    result = (
        f"{len(messages)} messages of {len(talks)} session{'s' * (len(talks) != 1)} in its first"
        f" rows, {share:.0%} of their text: {example}"
    )
    return Proposal(f"{kind} with {names}", fields, result)
