"""Mappings proposed for a log that no reader knows: candidates are run on its first rows."""

import io
import json
import re
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, combinations, islice, pairwise, permutations, product
from typing import cast

from memsense.db.foreign import Database, join_tables
from memsense.errors import IngestError, InvalidInputError
from memsense.ingest.content import TEXT_KINDS, role_of
from memsense.ingest.fields import FIELDS, normalise_name, unpack_json
from memsense.ingest.head import Head
from memsense.ingest.html_text import html_text
from memsense.ingest.mapping.mapped import parse_json, unflatten
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
_MOST_PAIRS = 12
_LEAST_SCORE = 6.0
_CLOSE = 0.3
_SPEAKERS = frozenset(
    """
    author by from is_me name nick party person role sender side source speaker user username who
    """.split()
)
_SESSION = re.compile(r"(?:channel|chat|conversation|dialog|room|session|thread)(?:id)?$")
_OWN_IDS = ("id", "uuid", "_id")
_TIME = re.compile(r"time|date|created|start")
_PROMPT = re.compile(r"user|human|question|query|prompt|input|request|^q$", re.IGNORECASE)
_RESPONSE = re.compile(
    r"bot|assistant|agent|answer|response|reply|output|model|completion|(?<![a-z])ai(?![a-z])|^a$",
    re.IGNORECASE,
)
_IS_SIDE = re.compile(r"(?:is|from|isfrom)(?:(user|human)|(bot|ai|assistant|model))")
_PARTS = re.compile(r"[^a-z]+")
_OF_SIDE = re.compile(
    r"(?:(user|human|request|question|prompt|inbound|incoming)"
    r"|(assistant|agent|model|bot|ai|response|answer|outbound|outgoing))(?![a-z])",
    re.IGNORECASE,
)
_HIDDEN = frozenset("deleted hidden isdeleted ishidden issystem partial sidechain".split())
_KIND = re.compile(r"t|kind|action|event|\w*type")
_THOUGHT = re.compile(r"think|thought|reasoning", re.IGNORECASE)
_UNSAID = re.compile(r"(?:.*\W)?(?:thinking|thoughts?|reasoning\w*|error)(?:\W.*)?", re.IGNORECASE)
_HTML = re.compile(r"\s*<[a-z_]+\b[^<>]*>|[^<]*<[a-z_]+\b[^<>]*/>\s*$")
_IS_HTML = 0.3
_TAG = re.compile(r"\s*<(\w+)>")
_SIMPLE = re.compile(r"[^\W\d]\w*")
_IS_PLAIN = re.compile(r"[^$\[\].@*=]+")
_STEP_END = re.compile(r"[.\[]")
_SIGNS = re.compile(r"[\[\].*'\"]+")
_WORDS = re.compile(r"[^\W\d_][.,;:!?]?\s+\S|[.?!]\W?$|[^\W\d_\x00-\x7f]")
_SUFFIX = re.compile(r"_?id$", re.IGNORECASE)
_FLAT = re.compile(r"\.\d+\.")
_UNREAD = 0.05
_FLATTENED = 0.5

Fields = Sequence[tuple[str, str | tuple[str, ...]]]


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
        maps = (
            f"--map {shlex.quote(f'{name}={path}')}"
            for name, paths in self.fields
            for path in ((paths,) if isinstance(paths, str) else paths)
        )
        return f"memsense ingest {shlex.quote(label)} {' '.join(maps)}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Rows that may be the messages of a log, with the fields that lead to them.

    `holders` has the object that holds the row, for each row. `opened` are the keys of records
    whose text is JSON.
    """

    fields: Fields
    rows: list[JsonValue] = field(default_factory=list[JsonValue])
    holders: list[JsonObject] = field(default_factory=list[JsonObject])
    opened: Sequence[str] = ()


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
    tried: list[tuple[float, Fields, Sequence[Conversation], Sequence[JsonValue]]] = []
    for size in _SAMPLES:
        tried = []
        for values, places in _samples(head, source, size):
            total = sum(map(len, {text for value in values for _, text in _texts(value)}))
            data = "".join(f"{json.dumps(value)}\n" for value in values).encode()
            for fields in (fields for place in places for fields in _candidates(place)):
                if size == _SAMPLES[0] or fields in best:
                    talks = _run(fields, data)
                    # Messages of a list in a list are one conversation only if nothing else is.
                    is_flat = any(name == "messages" and _is_nested(path) for name, path in fields)
                    score = _score(talks, total) - _FLATTENED * is_flat
                    tried.append((score, fields, talks, values))
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
                    read = snapshot.read_table if name == "table" else snapshot.select
                    yield _find_places(fields, [dict(row) for row in islice(read(value), size)])
        except (OSError, sqlite3.Error):
            return
    elif head.is_json:
        yield _find_places((), [_cut(record.value, size) for record in head.records[:size]])
    else:
        text = head.text if head.complete else head.text.rpartition("\n")[0]
        lines = iter(text.split("\n"))
        header, delimiter = read_header(lines)
        cells = list(islice(read_cells(lines, delimiter, lambda _: None), size))
        rows = [dict(zip(header, row, strict=True)) for _, row in cells if len(row) == len(header)]
        if len(header) > 1 and len(rows) > len(cells) // 2:
            yield _find_places((), cast("list[JsonValue]", rows))


def _find_places(
    fields: Fields, values: Sequence[JsonValue]
) -> tuple[Sequence[JsonValue], Sequence[_Place]]:
    """Return the records, their JSON opened, and all objects in them that may be messages.

    Places are the records themselves, the objects of each list, and two places whose objects have
    the same keys, such as those of a request and of its response.
    """
    opened: dict[str, None] = {}
    records: list[JsonValue] = []
    for value in values:
        if isinstance(value, dict):
            cells = {
                key: parse_json(cell) if isinstance(cell, bytes) else unpack_json(cell)
                for key, cell in value.items()
            }
            opened |= {key: None for key, cell in cells.items() if cell is not value[key]}
            records.append(cells)
        else:
            records.append(value)
    if any(_FLAT.search(key) for value in records for key, _ in _leaves(value)):
        records = [unflatten(value) for value in records]
        fields = (*fields, ("flat", "true"))
    top = _Place(fields, opened=tuple(opened))
    by_path: dict[tuple[str, str], list[tuple[JsonValue, JsonObject, JsonObject]]] = {}
    for value in records:
        if isinstance(value, dict):
            top.rows.append(value)
        for where, holder, row in _objects_within(value):
            by_path.setdefault(where, []).append((row, holder, mapping(value)))
    keys = {
        where: {key for row, *_ in rows for key in (mapping(row) or ())}
        for where, rows in by_path.items()
    }
    groups = [(where,) for where in by_path if where[1].endswith(("]", "*", "']"))]
    groups += [
        (one, other)
        for one, other in combinations(by_path, 2)
        if len(keys[one] & keys[other]) > 1 and not other[1].startswith(one[1])
    ][:_MOST_PAIRS]
    places = [top]
    for group in groups:
        outer = group[0][0] if group[0][0] == group[-1][0] else ""
        rows = [row for where in group for row, *_ in by_path[where]]
        for base in (outer, "") if outer else ("",):
            # What holds a row is the item of the outer list, else the record.
            is_record = not base and group != (("", group[0][1]),)
            holders = [
                mapping(record if is_record else holder)
                for where in group
                for _, holder, record in by_path[where]
            ]
            inner = [path.removeprefix(base).lstrip(".") if base else path for _, path in group]
            paths = tuple(inner) if inner[1:] else inner[0]
            more: Fields = (("conversations", base),) if base else ()
            places.append(
                _Place((*fields, *more, ("messages", paths)), rows, holders, tuple(opened))
            )
    return records, places


def _is_nested(paths: str | tuple[str, ...]) -> bool:
    """Return whether a path from the record leads through two lists."""
    path = paths if isinstance(paths, str) else paths[0]
    return path.startswith("$") and path.replace("[*][*]", "[*]").count("*") > 1


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


def _objects_within(
    value: JsonValue, path: str = "$", holder: JsonValue = None, outer: str = "", depth: int = 0
) -> Iterator[tuple[tuple[str, str], JsonObject, JsonValue]]:
    """Yield each object in a record: the path of the list around it and its own, holder, object.

    A list of two texts is one, too: a question with its answer.
    """
    if isinstance(value, str) and depth > 1 and isinstance(items := unpack_json(value), list):
        # The reader opens a text that holds messages.
        for item in items:
            if isinstance(item, dict):
                yield (outer, path), mapping(holder), item
    if depth >= _DEEPEST or not isinstance(value, dict | list):
        return
    holder = value if holder is None else holder
    is_list = isinstance(value, list)
    if path != "$" and (is_list or _are_rows(value)):
        here = f"{path}[*]" if is_list else f"{path}.*"
        for item in value if isinstance(value, list) else value.values():
            if isinstance(item, list):
                if len(item) == 2 and all(isinstance(one, str) for one in item):  # noqa: PLR2004
                    yield (outer, here), mapping(holder), item
                yield from _objects_within(item, here, holder, here, depth + 1)
            elif isinstance(item, dict):
                yield (outer, here), mapping(holder), item
                yield from _objects_within(item, here, item, here, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            where = _step(path, key)
            if isinstance(item, dict) and not _are_rows(item):
                yield (outer, where), mapping(holder), item
            yield from _objects_within(item, where, holder, outer, depth + 1)


def _leaves(value: JsonValue, path: str = "", depth: int = 0) -> Iterator[tuple[str, JsonValue]]:
    """Yield the plain values of a row, with the paths that lead to them."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, item in value.items():
            is_name = _SIMPLE.fullmatch(key) or (
                _IS_PLAIN.fullmatch(key) and not isinstance(item, dict | list)
            )
            yield from _leaves(item, key if not path and is_name else _step(path, key), depth + 1)
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


def _texts(value: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the texts of a value that are words, and no times, with their paths."""
    for path, leaf in _leaves(value):
        opened = unpack_json(leaf)
        if opened is not leaf:
            yield from ((path, text) for _, text in _texts(opened))
        elif isinstance(leaf, str) and _WORDS.search(leaf) and parse_timestamp(leaf).at is None:
            yield path, html_text(leaf).strip() if _HTML.match(leaf) else leaf


# Candidates ---------------------------------------------------------------------------------------


def _candidates(place: _Place) -> Iterator[Fields]:
    """Yield the mappings that the columns of some rows allow."""
    if place.rows and all(isinstance(row, list) for row in place.rows):
        # A path to the list itself gives its items, which are lists.
        where = tuple((name, str(path).removesuffix("[*]")) for name, path in place.fields)
        yield (*where, ("prompt", "@[0]"), ("response", "@[1]"))
        return
    columns: dict[str, list[JsonValue]] = {}
    within: dict[str, set[int]] = {}
    for number, row in enumerate(place.rows):
        for path, leaf in _leaves(row):
            columns.setdefault(path, []).append(leaf)
            within.setdefault(path, set()).add(number)
    times = [path for path, values in columns.items() if all(parse_timestamp(v).at for v in values)]
    times.sort(key=lambda path: normalise_name(path.rpartition(".")[2]) not in FIELDS["time"])
    lengths = {
        path: sum(len(v) for v in values if isinstance(v, str)) / len(place.rows)
        for path, values in columns.items()
        if path not in times
        and not _UNSAID.fullmatch(path)
        and any(isinstance(v, str) and _WORDS.search(v) for v in values)
    }
    # Parts are read by their types where the path ends at their list: thoughts are left out.
    parts = (path.rpartition("[*].")[0] for path in lengths if path.endswith(("].text", "].value")))
    lists = {part: lengths.get(part, 0) + 1.0 for part in parts if "[*]" not in part}
    longest = sorted(lengths, key=lambda path: -lengths[path])[:_MOST_COLUMNS]
    contents: list[str | tuple[str, ...]] = [*longest]
    contents += [path for path in lists if path not in contents]
    contents += [pair for pair in combinations(longest, 2) if not within[pair[0]] & within[pair[1]]]
    kinds = {
        path: sorted({value for value in values if isinstance(value, str)})
        for path, values in columns.items()
        if _KIND.fullmatch(normalise_name(path.rpartition(".")[2]))
    }
    rest: list[tuple[str, str]] = [("time", path) for path in times[:1]]
    moments = [epoch_seconds(value) for path in times[:1] for value in columns[path]]
    if len(moments) > 1 and all(one > other for one, other in pairwise(moments)):
        rest.append(("order", times[0]))  # newest first
    for path, values in columns.items():
        name = normalise_name(path.rpartition(".")[2])
        if name in _HIDDEN and True in values:
            rest.append((f"skip.{path}", f"@.{path} == true"))
        if name == "public" and False in values:
            rest.append((f"skip.{path}", f"@.{path} == false"))
    rest += _find_session(place, columns)
    rest += [
        (f"skip.{kind}", f"@.{path} == {json.dumps(kind)}")
        for path, words in kinds.items()
        for kind in words
        if "[*]" not in path
        and len(words) > 1
        and (_THOUGHT.search(kind) or kind == "note" or role_of(kind) in ("system", "tool"))
    ]
    # Most messages have no kind: those with one may be notices, such as of who joined.
    notices = [
        (f"skip.{path}", f"@.{path}")
        for path in kinds
        if "[*]" not in path and 2 * len(within[path]) < len(place.rows)
    ]
    roles: list[tuple[str, Fields]] = []  # names before ids
    for path, values in sorted(columns.items(), key=_rank_of_name):
        if (words := _find_sides(path, values)) is not None:
            roles.append((path, words))
    turns: Iterator[Fields] = (
        (("role", role), ("content", _without_thoughts(content, kinds)), *words)
        for (role, words), content in product(roles, contents)
        if role != content
    )
    ends = {path: _last_name(path) for path in lengths}
    with_roles = {path for path in ends if f"{path.rpartition('[*]')[0]}[*].role" in columns}
    pairs: Iterator[Fields] = (
        (("prompt", one), ("response", other))
        for one, other in permutations(ends, 2)
        if not {one, other} <= with_roles
        and ("[*]" not in one or one.partition("[*]")[0] != other.partition("[*]")[0])
        and (
            (_PROMPT.search(ends[one]) and _RESPONSE.search(ends[other]))
            or (
                # Questions and answers are rows of two forms.
                (_PROMPT.search(ends[one]) or _RESPONSE.search(ends[other]))
                and not within[one] & within[other]
                and set(map(str, columns[one])).isdisjoint(map(str, columns[other]))
            )
        )
    )
    for fields in chain(turns, islice(pairs, _MOST_COLUMNS)):
        texts = [
            v for name, path in fields if name == "content" for v in columns.get(str(path), ())
        ]
        count = sum(bool(_HTML.match(v)) for v in texts if isinstance(v, str))
        is_html = count > _IS_HTML * len(texts)
        extra = (("html", "true"),) if is_html else ()
        whole = (*place.fields, *fields, *rest, *extra)
        used = {
            _STEP_END.split(one.removeprefix("$."), maxsplit=1)[0]
            for _, paths in whole
            for one in ((paths,) if isinstance(paths, str) else paths)
        }
        whole = (*whole, *(("json_keys", key) for key in place.opened if key in used))
        yield whole
        yield from ((*whole, notice) for notice in notices)


def _rank_of_name(column: tuple[str, object]) -> tuple[bool, bool]:
    name = normalise_name(column[0].rpartition(".")[2])
    return bool(_SUFFIX.search(name)), name not in ("role", "name", "displayname")


def _without_thoughts(
    content: str | tuple[str, ...], kinds: Mapping[str, Sequence[str]]
) -> str | tuple[str, ...]:
    """Return the paths of texts, without those parts of a list that are thoughts or no texts."""
    if not isinstance(content, str):
        return tuple(str(_without_thoughts(path, kinds)) for path in content)
    for path, words in kinds.items():
        start, _, key = path.rpartition("[*].")
        if not start or not content.startswith(f"{start}[*]."):
            continue
        texts = [f"@.{key} == {json.dumps(word)}" for word in words if word in TEXT_KINDS]
        thoughts = [f"@.{key} != {json.dumps(word)}" for word in words if _THOUGHT.search(word)]
        if texts and len(texts) < len(words):
            return f"{start}[?{' || '.join(texts)}]{content.removeprefix(f'{start}[*]')}"
        if thoughts:
            return f"{start}[?{' && '.join(thoughts)}]{content.removeprefix(f'{start}[*]')}"
    return content


def _find_session(place: _Place, columns: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the field of the session's id, and how records of one session belong together."""
    if not place.holders:
        names = (path for path in sorted(columns) if _SESSION.search(normalise_name(path)))
        yield from (("session", path) for path in islice(names, 1))
        return
    ids: dict[str, dict[str, None]] = {}
    times: dict[str, None] = {}
    holders = {id(holder): holder for holder in place.holders}
    for holder in holders.values():
        for path, value in _leaves(dict(holder)):
            name = normalise_name(path.rpartition(".")[2].strip("']"))
            if "[*]" in path:
                continue
            if isinstance(value, str | int) and _SESSION.search(name):
                ids.setdefault(path, {})[str(value)] = None
            elif _TIME.search(name) and parse_timestamp(value).at is not None:
                times[path] = None
    started = next(iter(times), None)
    if started is not None:
        yield ("started", started)
    for path, values in ids.items():
        yield ("session", path)
        if len(values) < len(holders):
            yield from (("groups", "true"), ("repeats", "true"))
            yield from (("order", started),) if started is not None else ()
        return
    own = (key for key in _OWN_IDS if isinstance(place.holders[0].get(key), str | int))
    yield from (("session", key) for key in islice(own, 1))


def _last_name(path: str) -> str:
    """Return the last key of a path that names a side, else the last one."""
    keys = [key for key in _SIGNS.split(path) if key]
    sides = (key for key in reversed(keys) if _PROMPT.search(key) or _RESPONSE.search(key))
    return next(sides, keys[-1] if keys else "")


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
    systems = [word for word in words if role_of(word) == "system"]
    if len(words) == 2 and certain == {"user"} and systems:  # noqa: PLR2004
        # Data sets of dialogues call the answering side the system; elsewhere it speaks once.
        count = sum(value == systems[0] for value in values)
        return ((f"roles.{systems[0]}", "assistant"),) if 3 * count > len(values) else ()
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
    """Return the sides and texts of all messages; people are numbered."""
    people: dict[str, str] = {}
    return [
        (
            one.role if one.role != "other" else people.setdefault(_side(one), str(len(people))),
            one.text,
        )
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


def _describe(
    fields: Fields, talks: Sequence[Conversation], values: Sequence[JsonValue]
) -> Proposal:
    paths = {name: path if isinstance(path, str) else " and ".join(path) for name, path in fields}
    place = paths.get("messages")
    outer = paths.get("conversations")
    names = "/".join(
        paths[name] for name in ("role", "content", "prompt", "response", "time") if name in paths
    )
    kind = f"messages under {outer + '.' if outer else ''}{place}" if place else "rows"
    messages = [message for talk in talks for message in talk.messages]
    example = " → ".join(f"{_side(one)} {shorten(one.text)}" for one in messages[:2])
    whole = "\n".join(message.text for message in messages)
    texts = {text: path for value in values for path, text in _texts(value)}
    total = max(1, sum(map(len, texts)))
    share = min(1.0, sum(len(message.text) for message in messages) / total)
    unread: Counter[str] = Counter()
    for text, path in texts.items():
        unread[path] += len(text) * (text not in whole)
    left = [f"{path} ({n / total:.0%})" for path, n in unread.most_common(2) if n > _UNREAD * total]
    tags = Counter(match[1] for one in messages if (match := _TAG.match(one.text)))
    result = (
        f"{len(messages)} messages of {len(talks)} session{'s' * (len(talks) != 1)} in its first"
        f" rows, {share:.0%} of their text: {example}"
        + (f"; not read: {', '.join(left)}" if left else "")
        + "".join(f"; texts keep the tag <{tag}>" for tag, n in tags.most_common(1) if n > 1)
    )
    return Proposal(f"{kind} with {names}", fields, result)
