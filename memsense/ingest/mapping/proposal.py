"""A mapping proposed for a log that no reader knows, made from the log's beginning."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from memsense.ingest.content import role_of
from memsense.ingest.head import Head
from memsense.ingest.readers.rows import read_cells, read_header
from memsense.ingest.timestamps import parse_timestamp
from memsense.ingest.values import JsonObject
from memsense.types import JsonValue

_SAMPLE_ROWS = 50
_DEEPEST = 4
_MOST_SPEAKERS = 20
_SPEAKERS = frozenset(
    "author by from is_me name nick party person role sender side speaker user username who".split()
)
_SESSIONS = frozenset("channel chat conversation dialog room session thread".split())
_PARTS = re.compile(r"[^a-z_]")
_SIMPLE = re.compile(r"[^\W\d]\w*")
_IS_PLAIN = re.compile(r"[^$\[\].@*=]+")
_WORDS = re.compile(r"[^\W\d_][.,;:!?]?\s+\S")
_SUFFIX = re.compile(r"_?id$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Fields of a mapping for a log: `description` names the columns, `fields` has the paths."""

    description: str
    fields: Sequence[tuple[str, str]]

    def command(self, label: str) -> str:
        """Return the command that reads the log in this way."""
        maps = (f"--map {shlex.quote(f'{name}={path}')}" for name, path in self.fields)
        return f"memsense ingest {shlex.quote(label)} {' '.join(maps)}"


def propose_mapping(head: Head) -> Proposal | None:
    """Return a mapping by which the log's beginning reads as turns; None without evidence.

    Evidence is a column or key that is named like a speaker and holds a few words, next to one
    whose texts are sentences.
    """
    for place, rows in _candidates(head):
        columns: dict[str, list[JsonValue]] = {}
        for row in rows:
            for path, value in _leaves(row):
                columns.setdefault(path, []).append(value)
        texts = {
            path: [value for value in values if isinstance(value, str) and value.strip()]
            for path, values in columns.items()
        }
        role = next(
            (path for path, samples in texts.items() if _names_speakers(path, samples)), None
        )
        times = [
            path
            for path, values in columns.items()
            if all(parse_timestamp(value).at for value in values)
        ]
        # The longest texts are the messages; at least one of them must be more than a word.
        sentences = {
            path: sum(map(len, samples)) / len(rows)
            for path, samples in texts.items()
            if path != role and path not in times and any(map(_WORDS.search, samples))
        }
        if role is None or not sentences:
            continue
        content = max(sentences, key=lambda path: sentences[path])
        fields = [("messages", place)] if place else []
        fields += [("role", role), ("content", content)]
        fields += [("time", path) for path in times[:1]]
        sessions = () if place else (p for p in columns if _SUFFIX.sub("", p).lower() in _SESSIONS)
        fields += [("session", path) for path in islice(sessions, 1)]
        names = "/".join(path for name, path in fields if name != "messages")
        kind = f"messages under {place}" if place else "rows"
        return Proposal(f"{kind} with {names}", fields)
    return None


def _candidates(head: Head) -> Iterator[tuple[str, Sequence[JsonObject]]]:
    """Yield what may be the messages of the log, with the path that leads to them."""
    if not head.is_json:
        text = head.text if head.complete else head.text.rpartition("\n")[0]
        lines = iter(text.split("\n"))
        header, delimiter = read_header(lines)
        cells = list(islice(read_cells(lines, delimiter, lambda _: None), _SAMPLE_ROWS))
        rows = [dict(zip(header, row, strict=True)) for _, row in cells if len(row) == len(header)]
        if len(header) > 1 and len(rows) > 1 and len(rows) > len(cells) // 2:
            yield "", rows
        return
    if len(head.objects) > 1:
        yield "", head.objects
    for record in head.objects[:1]:
        yield from _lists_within(record, "$")


def _lists_within(
    value: JsonValue, path: str, depth: int = 0
) -> Iterator[tuple[str, Sequence[JsonObject]]]:
    if not isinstance(value, dict) or depth >= _DEEPEST:
        return
    for key, item in value.items():
        place = _step(path, key)
        rows = [one for one in item if isinstance(one, dict)] if isinstance(item, list) else []
        if len(rows) > 1:
            yield f"{place}[*]", rows[:_SAMPLE_ROWS]
        else:
            yield from _lists_within(item, place, depth + 1)


def _leaves(value: JsonValue, path: str = "", depth: int = 0) -> Iterator[tuple[str, JsonValue]]:
    """Yield the plain values of a row, with the paths that lead to them."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, item in value.items():
            yield from _leaves(
                item, key if not path and _IS_PLAIN.fullmatch(key) else _step(path, key), depth + 1
            )
    elif isinstance(value, list):
        for item in value[:_DEEPEST]:
            yield from _leaves(item, f"{path}[*]", depth + 1)
    elif value not in (None, "") and not isinstance(value, dict):
        yield path, value


def _step(path: str, key: str) -> str:
    if _SIMPLE.fullmatch(key):
        return f"{path}.{key}"
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"{path}['{escaped}']"


def _names_speakers(path: str, samples: Sequence[str]) -> bool:
    if "[*]" in path:  # the row holds several turns, and is none itself
        return False
    words = set(samples)
    is_named = bool(_SPEAKERS.intersection(_PARTS.split(path.lower())))
    are_roles = all(map(role_of, words)) and len(words) > 1
    is_few = 1 < len(words) <= _MOST_SPEAKERS and (len(words) < len(samples) or len(samples) <= 4)  # noqa: PLR2004
    return (is_named and is_few) or are_roles
