"""The tools that every reader works with: records and lines of a log, counting, building.

`Reader` is all that a new format must provide.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TypeAlias, cast

from memsense.ingest.branches import find_current_branch
from memsense.ingest.decoding import decode_chunks, split_lines
from memsense.ingest.head import Head
from memsense.ingest.injected import strip_injected
from memsense.ingest.jsonstream import AnyRecord, Broken, Record, scan_json
from memsense.ingest.options import DateOrder, ReadOptions
from memsense.ingest.pairing import name_part
from memsense.ingest.report import NO_MESSAGE, ReadReport
from memsense.ingest.source import Source
from memsense.ingest.timestamps import NO_TIME, Stamp, parse_timestamp
from memsense.ingest.values import JsonObject, identifier, string
from memsense.inputs import find_id_fault, sanitise
from memsense.text.folders import lies_in
from memsense.text.projects import project_of
from memsense.types import Conversation, JsonValue, Message, Role

EMPTY = "empty message"
EXCLUDED = "session of an excluded folder"
INJECTED = "injected context"
NO_MESSAGES = "conversation without messages"

# Files joined with `cat` keep the byte order mark of each part, and a crash pads a log with NULs:
# both stand at the edges of texts, and neither is a word.
_INVISIBLE = "\ufeff\x00 \t\r\n"
_LONGEST_TYPE = 40
_EARLIER = "earlier version of a message"
_LEAST_COLLISIONS = 3  # fewer may be edits


ObjectRecord: TypeAlias = Record[JsonObject]
"""A JSON object of a log and its position there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One source being read as one format, with the caller's options and the shared report."""

    format: str
    source: Source
    options: ReadOptions
    report: ReadReport

    def of_member(self, member: Source) -> "Reading":
        """Return the same reading for one file of a bundle."""
        return replace(self, source=member)

    def chunks(self) -> Iterator[str]:
        """Yield the source's text in pieces; note the lines that were not valid UTF-8."""
        with self.source.opener() as stream:
            yield from decode_chunks(
                stream, lambda line: self.report.reencoded_lines.add(self.source.label, line)
            )

    def lines(self) -> Iterator[str]:
        """Yield the source's lines, each with its line end."""
        return split_lines(self.chunks())

    def records(
        self, envelope: str | None = None, within: str | None = None
    ) -> Iterator[AnyRecord]:
        """Yield the source's JSON values; count places that are not JSON."""
        for item in scan_json(self.chunks(), envelope, within):
            if isinstance(item, Broken):
                # The last line of a log that a program is still writing is cut off: no fault.
                reason = "cut off at the end" if item.at_end else "not JSON"
                self.skip(reason, item.line)
                continue
            self.report.records += 1
            yield item

    def objects(self, envelope: str | None = None) -> Iterator[ObjectRecord]:
        """Yield the source's JSON objects; count other values."""
        for record in self.records(envelope):
            if isinstance(record.value, dict):
                yield cast("ObjectRecord", record)
            else:
                self.skip("not an object", record.line)

    def skip(self, reason: str, line: int | None = None, count: int = 1) -> None:
        """Count a record that is left out, at a line of this source."""
        self.report.skip(reason, self.source.label, line, count=count)

    def name_record(self, kind: str, names: Collection[str]) -> str:
        """Return the reason for leaving out a record that is no message: its type, by name.

        A type that the reader does not know is warned of, because it may hold words of a person.
        """
        name = kind[:_LONGEST_TYPE] if kind.isprintable() else ""
        if kind not in names:
            self.report.unknown_types.setdefault(self.format, Counter())[name] += 1
        return f"{NO_MESSAGE} ({name})" if name else NO_MESSAGE

    def skip_record(self, kind: str, names: Collection[str], line: int | None = None) -> None:
        """Count a record that is no message; one of a type that the reader doesn't know by name."""
        self.skip(NO_MESSAGE if kind in names else self.name_record(kind, names), line)

    def skip_conversation(self, reason: str) -> None:
        """Count a whole conversation that is left out."""
        self.report.skip(reason, self.source.label, unit="conversation")

    def stamp(self, value: JsonValue, order: DateOrder | None = None) -> Stamp:
        """Parse a time; count one that is present but unusable.

        `order` is the log's order of day and month, unless the caller's options have one.
        """
        stamp = parse_timestamp(value, self.options.timezone, self.options.date_order or order)
        if stamp.at is None and value is not None and value != "":
            self.report.unusable_times += 1
        return stamp

    def name_session(self, own_id: str | None, number: int) -> str:
        """Return a session's own id, or its file's id with the number of its record."""
        return own_id or f"{self.source.session_id}:{number}"

    def keep_current_branch(
        self, entries: Sequence[ObjectRecord], id_key: str, parent_key: str
    ) -> Iterator[ObjectRecord]:
        """Yield the entries on the path to the last one, or all with `all_branches`.

        The others are counted as abandoned.
        """
        ids = [identifier(entry.value.get(id_key)) for entry in entries]
        parents = [identifier(entry.value.get(parent_key)) for entry in entries]
        current = find_current_branch(ids, parents)
        for position, entry in enumerate(entries):
            if position in current or self.options.all_branches:
                yield entry
            else:
                self.skip("abandoned branch", entry.line)

    def clean(self, text: str) -> str:
        """Return the text as PostgreSQL can store it; count replaced characters."""
        cleaned, replaced = sanitise(text)
        self.report.replaced_characters += replaced
        return cleaned

    def conversation(self) -> "ConversationBuilder":
        """Return a builder for a new conversation."""
        return ConversationBuilder(reading=self)


def name_parts(parts: Sequence[JsonObject], reasons: Mapping[str, str]) -> str:
    """Return why a message of these parts has no words, by the first type that has a reason."""
    kinds = (string(part.get("type")) for part in parts)
    return next((reasons[kind] for kind in kinds if kind in reasons), EMPTY)


@dataclass(slots=True)
class ConversationBuilder:
    """Collects one conversation's messages: cleans them, drops empty and repeated ones.

    builder = reading.conversation()
    builder.add("user", "Hello", external_id="m1", line=3)
    yield from builder.build("session-1")
    """

    reading: Reading
    messages: list[Message] = field(default_factory=list[Message])
    _positions: dict[str, int] = field(default_factory=dict[str, int])
    _by_order: list[Message] = field(default_factory=list[Message])
    _order_of: dict[str, int] = field(default_factory=dict[str, int])
    _collisions: Counter[str] = field(default_factory=Counter[str])
    _removed: set[int] = field(default_factory=set[int])
    _is_excluded: bool = False

    def add(
        self,
        role: Role | None,
        text: str,
        *,
        external_id: str | None = None,
        speaker: str | None = None,
        stamp: Stamp = NO_TIME,
        folder: str | None = None,
        line: int | None = None,
        empty: str = EMPTY,
    ) -> None:
        """Add a message at the end; one with an id seen before is dropped or replaces that one.

        A message of no side, such as a tool's, is counted and left out, and one without words for
        the reason `empty`. So is one whose id can't be stored: without its id it could not be
        recognised when the log is read again. `folder` is where the conversation was by then.
        """
        if folder and lies_in(folder, self.reading.options.exclude_folders):
            # All of it: what was said there may be repeated after the session has gone elsewhere.
            self._is_excluded = True
        if role not in ("user", "assistant", "other"):
            self.reading.skip(f"{role or 'unknown'} message", line)
            return
        text, injected = strip_injected(text)
        self.reading.report.injected_blocks += injected
        if injected:
            text = text.strip()
        if not text.strip(_INVISIBLE).strip():
            self.reading.skip(INJECTED if injected else empty, line)
            return
        if external_id and (fault := find_id_fault(external_id)):
            self.reading.skip(f"message whose id {fault}", line)
            return
        clean = self.reading.clean
        message = Message(
            role=role,
            text=clean(text),
            external_id=external_id or None,
            speaker=clean(speaker) if speaker else None,
            at=stamp.at,
            at_zone_known=stamp.zone_known,
            project=project_of(folder) if folder else None,
        )
        position = self._positions.get(message.external_id) if message.external_id else None
        if position is None:
            if message.external_id:
                self._positions[message.external_id] = len(self.messages)
                self._order_of[message.external_id] = len(self._by_order)
            self.messages.append(message)
            self._by_order.append(message)
        elif self.messages[position].text == message.text:
            self.reading.skip("repeated message", line)
        else:
            name, before = message.external_id or "", self.messages[position].text
            if message.text.startswith(before) or before.startswith(message.text):
                self._by_order[self._order_of[name]] = message
            else:
                self._collisions[name] += 1
                self._order_of[name] = len(self._by_order)
                self._by_order.append(message)
            # An edited message, or a later snapshot of an answer that was being streamed: the
            # last text counts, at the place of the first.
            self.messages[position] = message
            self.reading.skip(_EARLIER, line)

    def remove(self, external_id: str, line: int | None = None) -> None:
        """Take back the message with this id, if it is there."""
        position = self._positions.pop(external_id, None)
        if position is None:
            return
        self._removed.add(position)
        self.reading.skip("removed by a later record", line)

    def put_oldest_first(self) -> None:
        """Reverse messages that a list has newest first, as APIs do, and say so in a warning.

        Only times that fall from each message to the next show that: messages are never sorted.
        """
        times = [message.at for message in self.messages if message.at is not None]
        falls = all(one > other for one, other in pairwise(times))
        if len(times) < max(2, len(self.messages)) or not falls or self._removed:
            return
        self.messages.reverse()
        self._by_order.reverse()
        label = self.reading.source.label
        warning = f"{label}: its messages come newest first; they are read from the oldest one"
        if warning not in self.reading.report.warnings:
            self.reading.report.warnings.append(warning)

    def build(
        self,
        session_id: str,
        *,
        title: str | None = None,
        started_at: datetime | None = None,
        folder: str | None = None,
        participants: Sequence[str] = (),
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> Iterator[Conversation]:
        """Yield the conversation; count it instead if it is empty or its id can't be stored.

        Its project is that of `folder`, else of the first message with one, else the caller's.
        """
        if self._is_excluded or lies_in(folder or "", self.reading.options.exclude_folders):
            self.reading.skip_conversation(EXCLUDED)
            return
        self._drop_wrong_ids()
        messages = (m for position, m in enumerate(self.messages) if position not in self._removed)
        self.messages = list(messages)
        if not self.messages:
            self.reading.skip_conversation(NO_MESSAGES)
            return
        user = (metadata or {}).get("user_id")
        for name, value in (("id", session_id), ("user", str(user) if user else None)):
            if value is not None and (fault := find_id_fault(value)):
                self.reading.skip_conversation(f"conversation whose {name} {fault}")
                return
        projects = (message.project for message in self.messages if message.project)
        project = project_of(folder) if folder else None
        log = self.reading.source.session_id
        is_of_log = session_id == log or session_id.startswith((f"{log}/", f"{log}:", f"{log}#"))
        report, clean = self.reading.report, self.reading.clean
        report.conversations += 1
        report.messages_kept += len(self.messages)
        for message in self.messages:
            report.note_time(message.at)
        yield Conversation(
            session_id=session_id,
            messages=tuple(self.messages),
            format=self.reading.format,
            source=sanitise(self.reading.source.label)[0],
            log=log if is_of_log else "",
            title=clean(title) if title else None,
            started_at=started_at or self.messages[0].at,
            participants=tuple(clean(name) for name in participants) or self.speakers(),
            project=project or next(projects, self.reading.options.project),
            metadata={
                key: clean(value) if isinstance(value, str) else value
                for key, value in (metadata or {}).items()
            },
        )

    def _drop_wrong_ids(self) -> None:
        """Take the messages without their ids if too many ids stand for several texts."""
        count = self._collisions.total()
        is_usual = 10 * len(self._collisions) <= len(self._positions)
        if count < _LEAST_COLLISIONS or is_usual or self._removed:
            return
        self.messages = [replace(message, external_id=None) for message in self._by_order]
        report = self.reading.report
        report.skipped[_EARLIER].count -= count
        if not report.skipped[_EARLIER].count:
            del report.skipped[_EARLIER]
        report.warnings.append(
            f"{self.reading.source.label}: {len(self._collisions)} ids of messages stand for"
            " several texts: its messages are recognised by their contents"
        )

    def build_parts(
        self,
        session_id: str,
        gap: timedelta,
        *,
        title: str | None = None,
        participants: Sequence[str] = (),
    ) -> Iterator[Conversation]:
        """Yield the conversation, cut at silences longer than the gap.

        All parts share the participants of the whole.
        """
        names = tuple(participants) or self.speakers()
        counts: dict[str, int] = {}
        for part in split_at_gaps(self.messages, gap):
            part_id = name_part(session_id, part[0].at)
            counts[part_id] = counts.get(part_id, 0) + 1
            if counts[part_id] > 1:
                part_id = f"{part_id}#{counts[part_id]}"
            piece = ConversationBuilder(self.reading, part)
            yield from piece.build(part_id, title=title, participants=names)
        if not self.messages:
            yield from self.build(session_id)

    def speakers(self) -> tuple[str, ...]:
        """Return everybody who speaks, in order of appearance."""
        return tuple(dict.fromkeys(m.speaker for m in self.messages if m.speaker))


def split_at_gaps(messages: Sequence[Message], gap: timedelta) -> list[list[Message]]:
    """Split where a message comes later than the gap after the last one that has a time."""
    parts: list[list[Message]] = []
    last: datetime | None = None
    for message in messages:
        is_late = last is not None and message.at is not None and message.at - last > gap
        if is_late or not parts:
            parts.append([])
        parts[-1].append(message)
        last = message.at or last
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One format: its name, how it is recognised, how it is read.

    `sniff` returns what in a log's head shows the format, or None. `guess` is asked only after
    every `sniff` has said None: it returns the evidence that the log may be a conversation, though
    nothing proves it. `read` yields the conversations in the log's order, counts in the reading's
    report what it leaves out, and raises nothing but `IngestError` for any bytes.
    `sniff_tables` is asked about an SQLite database, with the columns of each table. `describe`
    returns a line about the format, `origin` says whose it is, for `memsense formats`. `records`
    yields what a reader reads of a database, each with the number that its reasons name; None where
    these are the lines of the source itself.
    """

    name: str
    sniff: Callable[[Head], str | None]
    read: Callable[[Reading], Iterator[Conversation]]
    guess: Callable[[Head], str | None] = lambda _head: None
    sniff_tables: Callable[[Mapping[str, frozenset[str]]], str | None] = lambda _columns: None
    describe: Callable[[], str] = lambda: ""
    records: Callable[[Reading], Iterator[tuple[int, JsonValue]]] | None = None
    places: Callable[[], Sequence[str]] = tuple
    origin: str = "memsense"
