"""The beginning of a log, by which readers recognise their formats."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from memsense.ingest.decoding import decode_chunks
from memsense.ingest.jsonstream import AnyRecord, peek_json
from memsense.ingest.source import Source
from memsense.ingest.values import JsonObject, objects

SAMPLE_OBJECTS = 50
SAMPLE_LINES = 50

_BLANK = " \t\r\x00\ufeff"
_OPENINGS = (*'{["0123456789', "null", "true", "false")
_OF_TEXTS = (".md", ".markdown", ".rst", ".adoc", ".html")
_JSON_OPENING = re.compile(r"""[\s\x00\ufeff]*(\{\s*["}]|\[\s*[\[\{"\]])""")


@dataclass(frozen=True, slots=True)
class Head:
    """The first characters of a log, as text and, where they are JSON, as values.

    `complete` is true if the log ends there.
    """

    name: str
    text: str
    complete: bool
    records: tuple[AnyRecord, ...]
    is_json: bool

    @property
    def objects(self) -> list[JsonObject]:
        """The first 50 JSON objects, items of a top-level list included.

        Empty for a text that only shows some JSON.
        """
        if not self.is_json:
            return []
        values = (record.value for record in self.records if isinstance(record.value, dict))
        return list(islice(values, SAMPLE_OBJECTS))

    @property
    def is_list(self) -> bool:
        """Return whether the log is a JSON list rather than values one after another."""
        return any(record.list_number is not None for record in self.records)

    @property
    def lines(self) -> list[str]:
        """The first 50 lines that aren't blank."""
        lines = (line for line in self.text.split("\n") if line.strip())
        return list(islice(lines, SAMPLE_LINES))

    def find(self, matches: Callable[[JsonObject], bool]) -> JsonObject | None:
        """Return the first object that matches, or None."""
        return next(filter(matches, self.objects), None)

    def has_item(self, key: str, matches: Callable[[JsonObject], bool]) -> bool:
        """Return whether an object has a list under this key with an item that matches."""
        return self.find(lambda record: any(map(matches, objects(record.get(key))))) is not None


def read_head(source: Source, size: int) -> Head:
    """Read the first `size` characters of a source, or all of it if it is shorter."""
    pieces: list[str] = []
    length = 0
    with source.opener() as stream:
        for chunk in decode_chunks(stream, lambda _line: None):
            pieces.append(chunk)
            length += len(chunk)
            if length > size:
                break
    is_complete = length <= size
    text = "".join(pieces)[:size]
    records, broken = peek_json(text, complete=is_complete)
    count = sum(isinstance(record.value, dict) for record in records)
    # `"role","content"` is two values of JSON, too: only objects and lists make a log of it.
    has_objects = any(isinstance(one.value, dict) or one.list_number is not None for one in records)
    is_json = bool(_JSON_OPENING.match(text)) or bool(has_objects and not broken)
    if not is_json and count > broken and not source.name.lower().endswith(_OF_TEXTS):
        # Most lines must be JSON: values of a log, not samples in a text.
        filled = (line for line in text.split("\n") if line.strip(_BLANK))
        lines = list(islice(filled, SAMPLE_LINES))
        openings = sum(line.lstrip(_BLANK).startswith(_OPENINGS) for line in lines)
        is_json = 2 * openings >= len(lines)
    return Head(source.name, text, is_complete, tuple(records), is_json)
