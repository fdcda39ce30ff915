"""Audit of what reading leaves out: every text of a log is kept, or left out for a reason.

The texts are found without the readers: all strings of JSON that hold words, all cells of a table,
all lines of a text. What no kept message has is left out, for the reason that the reader gave for
its record. A text without a reason was not looked at, which is how words get lost.
"""

import csv
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from memsense.db.foreign import Database
from memsense.ingest.content import role_of
from memsense.ingest.detection import HEAD_SIZES
from memsense.ingest.fields import FIELDS, normalise_name, unpack_json
from memsense.ingest.head import read_head
from memsense.ingest.html_text import html_text
from memsense.ingest.mapping.mapped import mapped_reader, parse_json
from memsense.ingest.options import ReadOptions
from memsense.ingest.reading import Reading
from memsense.ingest.registry import choose_reader, read_map
from memsense.ingest.report import ReadReport, Unit
from memsense.ingest.source import Source
from memsense.ingest.streaming import read_source
from memsense.ingest.values import mapping, reach, string
from memsense.types import JsonValue

NOT_LOOKED_AT = "no reader looks at it"
SAMPLES = 3
_SAMPLE_LENGTH = 120
_PIECES = re.compile(r"\n|<[^<>\n]{1,80}>")
_HEADS = (": ", ":\t", "> ", "# ", "** ", "] ", " ")
_SPOKEN = frozenset({*FIELDS["content"], *FIELDS["prompt"], *FIELDS["response"], "parts", "words"})
_ROLE_KEYS = ("role", "sender", "from", "author", "speaker", "type")
_ORDER = ("user", "other", "unknown", "assistant", "system", "tool")
_LARGEST_SEARCHED = 20 << 20
_SHORT = 300
_LEAST = 2
_LONGEST_LINE = 4_000
_DEEPEST = 100


@dataclass(slots=True)
class LeftOut:
    """Texts of one role that were left out for one reason, with the first of them."""

    role: str
    reason: str
    count: int = 0
    samples: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])


@dataclass(slots=True)
class Audit:
    """The texts of logs: `texts` on disk are those kept and those left out, by role and reason."""

    texts: int = 0
    kept_texts: int = 0
    groups: dict[tuple[str, str], LeftOut] = field(default_factory=dict[tuple[str, str], LeftOut])

    @property
    def left_out(self) -> list[LeftOut]:
        """The groups of texts that were left out: a person's first, then the largest."""
        return sorted(self.groups.values(), key=lambda one: (_ORDER.index(one.role), -one.count))

    def leave_out(self, role: str, reason: str, label: str, line: int, text: str) -> None:
        """Count a text that was left out."""
        group = self.groups.setdefault((role, reason), LeftOut(role, reason))
        group.count += 1
        if len(group.samples) < SAMPLES:
            group.samples.append((label, line, " ".join(text.split())[:_SAMPLE_LENGTH]))

    def as_dict(self) -> dict[str, object]:
        """Return the audit as plain values, ready for JSON."""
        groups = [
            {
                "role": group.role,
                "reason": group.reason,
                "count": group.count,
                "samples": [
                    {"source": label, "line": line, "text": text}
                    for label, line, text in group.samples
                ],
            }
            for group in self.left_out
        ]
        return {"texts": self.texts, "kept": self.kept_texts, "left_out": groups}


@dataclass(slots=True)
class _Reasons(ReadReport):
    """A report that remembers the reason of each line, where others have a few examples."""

    by_line: dict[tuple[str, int | None], set[str]] = field(
        default_factory=dict[tuple[str, int | None], set[str]]
    )

    def skip(
        self,
        reason: str,
        source: str,
        line: int | None = None,
        *,
        unit: Unit = "message",
        count: int = 1,
    ) -> None:
        ReadReport.skip(self, reason, source, line, unit=unit, count=count)
        self.by_line.setdefault((source, line), set()).add(reason)


def audit_source(source: Source, options: ReadOptions, audit: Audit) -> None:
    """Add a log's texts to the audit.

    Raises:
        IngestError: If the log can't be read, or no reader knows it.
    """
    report = _Reasons()
    keys: set[str] = set()
    for conversation in read_source(source, options, report):
        # A title is kept in addition to its messages.
        for text in (conversation.title or "", *(m.text for m in conversation.messages)):
            keys.add(_key(text))
            keys.update(_key(piece) for piece in _PIECES.split(text))
    keys.discard("")
    searched = "\x00".join(keys)
    if len(searched) > _LARGEST_SEARCHED:
        searched = ""
    by_text = _list_reasons(source, options, report) if source.kind == "database" else {}
    for member in source.members or (source,):
        reading = Reading(format="audit", source=member, options=options, report=ReadReport())
        for line, role, text in _list_texts(reading):
            audit.texts += 1
            reasons = by_text.get(_key(text), report.by_line.get((member.label, line), set()))
            if _is_kept(text, keys, searched, is_skipped=bool(reasons)):
                audit.kept_texts += 1
            else:
                names = sorted(reasons)[:SAMPLES] or [NOT_LOOKED_AT]
                audit.leave_out(role, " or ".join(names), member.label, line, text)


def _list_reasons(source: Source, options: ReadOptions, report: _Reasons) -> dict[str, set[str]]:
    """Return the reasons for each text of a database that its reader has looked at.

    A reader counts by the rows of its query, which are not those of a table.
    """
    if options.map is not None:
        form = read_map(options.map)
        reader = mapped_reader(form.name, lambda: form)
    else:
        reader = choose_reader(options.format or report.detected[source.label][0])
    reading = Reading(format=reader.name, source=source, options=options, report=ReadReport())
    lines = ((one.line, one.value) for one in reading.records())
    reasons: dict[str, set[str]] = {}
    for line, value in reader.records(reading) if reader.records else lines:
        for _, _, text in _walk(line, value, ""):
            own = report.by_line.get((source.label, line), set())
            reasons.setdefault(_key(text), set()).update(own)
    return reasons


def _key(text: str) -> str:
    """Return the letters and digits of a text, which marks and spaces of a format don't change."""
    return "".join(filter(str.isalnum, html.unescape(text)))


def _is_kept(text: str, keys: set[str], searched: str, *, is_skipped: bool) -> bool:
    if _key(text) in keys:
        return True
    total = matched = 0
    for piece in _PIECES.split(text):
        key = _key(piece)
        total += len(key)
        # A line of a text may bear the name and the time of its speaker.
        heads = (piece.split(head, 1)[1] for head in _HEADS if head in piece)
        rests = (piece.rpartition("\t")[2], *heads)
        if key in keys or any(_key(rest) in keys for rest in rests):
            matched += len(key)
    if 2 * matched > total or (matched and not is_skipped):
        return True
    return len(text) <= _SHORT and _key(text) in searched and not is_skipped


def _list_texts(reading: Reading) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the role and the words of each text of a log."""
    if reading.source.kind == "database" and reading.source.path is not None:
        with Database(reading.source.path).open() as snapshot:
            # All tables, also those that no query names.
            for table in sorted(snapshot.tables()):
                for number, row in enumerate(snapshot.read_table(table), 1):
                    cells = {name: parse_json(cell) for name, cell in row.items()}
                    yield from _walk(number, cells, "")
        return
    head = read_head(reading.source, HEAD_SIZES[0])
    if head.is_json:
        for record in reading.records():
            yield from _walk(record.line, record.value, "")
        return
    if PurePosixPath(reading.source.name).suffix.lower() == ".html":
        page = html_text("".join(reading.chunks()))
        lines = enumerate(page.split("\n"), 1)
    elif reading.source.name.lower().endswith((".csv", ".tsv")):
        delimiter = max(",;\t|", key=head.text.split("\n", 1)[0].count)
        table = csv.reader(reading.lines(), delimiter=delimiter)
        next(table, None)
        for cells in table:
            role = next((one for cell in cells if (one := role_of(cell))), "other")
            for cell in cells:
                if _has_words(cell, is_spoken=False):
                    yield table.line_num, role, cell
        return
    else:
        lines = enumerate(reading.lines(), 1)
    for number, line in lines:
        if _has_words(line, is_spoken=False):
            yield number, "other", line


def _walk(line: int, value: JsonValue, role: str, depth: int = 0) -> Iterator[tuple[int, str, str]]:
    """Yield the texts of a value; the object around a text that names a role says whose it is."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for item in value:
            if isinstance(item, str):
                if _has_words(item, is_spoken=True):
                    yield line, role or "unknown", item
            else:
                yield from _walk(line, item, role, depth + 1)
    elif isinstance(value, dict):
        words = (string(value.get(key)) or string(reach(value, key, "role")) for key in _ROLE_KEYS)
        own = next((one for word in words if (one := role_of(word))), None)
        if reach(value, "origin", "kind") == "human":
            own = "user"
        role = own or role
        for key, item in mapping(value).items():
            name = normalise_name(key)
            inner = "tool" if "tool" in name else role
            # Attributes of a trace are texts that hold JSON.
            if (parsed := unpack_json(item)) is not item:
                yield from _walk(line, parsed, inner, depth + 1)
            elif isinstance(item, str):
                if _has_words(item, is_spoken=name in _SPOKEN):
                    yield line, inner or "unknown", item
            else:
                yield from _walk(line, item, inner, depth + 1)


def _has_words(text: str, *, is_spoken: bool) -> bool:
    words = text[:_LONGEST_LINE].split()
    has_letters = any(char.isalpha() for char in text[:_LONGEST_LINE])
    return has_letters and (is_spoken or len(words) >= _LEAST)
