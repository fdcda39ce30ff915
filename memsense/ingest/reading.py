"""What every reader works with: its source's records and lines, the counting, the building."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from memsense.ingest.branches import living_lines
from memsense.ingest.decoding import decode_chunks, split_lines
from memsense.ingest.injected import strip_injected
from memsense.ingest.jsonstream import Broken, Record, scan_json
from memsense.ingest.options import ReadOptions
from memsense.ingest.report import ReadReport
from memsense.ingest.source import Source
from memsense.ingest.timestamps import NO_TIME, Stamp, parse_timestamp
from memsense.ingest.values import JsonObject, identifier
from memsense.inputs import find_id_fault
from memsense.text.sanitising import sanitise
from memsense.types import Conversation, JsonValue, Message, Role

EMPTY = "empty message"
INJECTED = "injected context"
_INVISIBLE = "\ufeff\x00 \t\r\n"
NO_MESSAGES = "conversation without messages"


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """A JSON object of a log and where it stood."""

    value: JsonObject
    line: int
    ordinal: int
    list_number: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One source being read as one format, with the caller's options and the shared report."""

    format: str
    source: Source
    options: ReadOptions
    report: ReadReport

    def of_member(self, member: Source) -> "Reading":
        """The same reading, turned to one file of a bundle."""
        return replace(self, source=member)

    def chunks(self) -> Iterator[str]:
        """The source's text in pieces."""
        with self.source.opener() as stream:
            yield from decode_chunks(stream, self._note_reencoded)

    def lines(self) -> Iterator[str]:
        """The source's lines, each with its end."""
        return split_lines(self.chunks())

    def records(self, envelope: str | None = None) -> Iterator[Record]:
        """The source's JSON values; places that are no JSON are counted."""
        for item in scan_json(self.chunks(), envelope):
            if isinstance(item, Broken):
                reason = "cut off at the end" if item.at_end else "not JSON"
                self.skip(reason, item.line)
                continue
            self.report.records += 1
            yield item

    def objects(self, envelope: str | None = None) -> Iterator[ObjectRecord]:
        """The source's JSON objects; other values are counted."""
        for record in self.records(envelope):
            if isinstance(record.value, dict):
                yield ObjectRecord(record.value, record.line, record.ordinal, record.list_number)
            else:
                self.skip("not an object", record.line)

    def skip(self, reason: str, line: int | None = None, count: int = 1) -> None:
        """Count a record that is not kept, at a line of this source."""
        self.report.skip(reason, self.source.label, line, count=count)

    def skip_conversation(self, reason: str) -> None:
        """Count a whole conversation that is not kept."""
        self.report.skip(reason, self.source.label, unit="conversation")

    def stamp(self, value: JsonValue) -> Stamp:
        """Read a time; a present but unusable one is counted."""
        stamp = parse_timestamp(value, self.options.timezone)
        if stamp.at is None and value is not None and value != "":
            self.report.unusable_times += 1
        return stamp

    def keep_living(
        self, entries: Sequence[ObjectRecord], id_key: str, parent_key: str
    ) -> Iterator[ObjectRecord]:
        """The entries on the path to the last one, and all where the caller wants all branches."""
        ids = [identifier(entry.value.get(id_key)) for entry in entries]
        parents = [identifier(entry.value.get(parent_key)) for entry in entries]
        living = living_lines(ids, parents)
        for position, entry in enumerate(entries):
            if position in living or self.options.all_branches:
                yield entry
            else:
                self.skip("abandoned branch", entry.line)

    def clean(self, text: str) -> str:
        """The text as PostgreSQL can hold it; what was replaced is counted."""
        cleaned, replaced = sanitise(text)
        self.report.replaced_characters += replaced
        return cleaned

    def conversation(self) -> "ConversationBuilder":
        """A new conversation to add messages to."""
        return ConversationBuilder(reading=self)

    def _note_reencoded(self, line: int) -> None:
        self.report.reencoded_lines.add(self.source.label, line)


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
    _removed: set[int] = field(default_factory=set[int])

    def add(
        self,
        role: Role,
        text: str,
        *,
        external_id: str | None = None,
        speaker: str | None = None,
        stamp: Stamp = NO_TIME,
        line: int | None = None,
    ) -> None:
        """Add a message at the end; an id seen before drops or replaces the earlier one.

        A message whose id can't be used is counted: without it, it could not be told from others.
        """
        text, injected = strip_injected(text)
        self.reading.report.injected_blocks += injected
        if injected:
            text = text.strip()
        if not text.strip(_INVISIBLE).strip():
            self.reading.skip(INJECTED if injected else EMPTY, line)
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
        )
        self._place(message, line)

    def remove(self, external_id: str, line: int | None = None) -> None:
        """Take back the message with this id, if it is there."""
        position = self._positions.pop(external_id, None)
        if position is None:
            return
        self._removed.add(position)
        self.reading.skip("removed by a later record", line)

    def build(
        self,
        session_id: str,
        *,
        title: str | None = None,
        started_at: datetime | None = None,
        participants: Sequence[str] = (),
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> Iterator[Conversation]:
        """The conversation, or none (counted) where no message was kept, or its id is no id."""
        self._drop_removed()
        if not self.messages:
            self.reading.skip_conversation(NO_MESSAGES)
            return
        for name, value in (("id", session_id), ("user", _owner(metadata))):
            if value is not None and (fault := find_id_fault(value)):
                self.reading.skip_conversation(f"conversation whose {name} {fault}")
                return
        self._count()
        clean = self.reading.clean
        yield Conversation(
            session_id=session_id,
            messages=tuple(self.messages),
            format=self.reading.format,
            source=sanitise(self.reading.source.label)[0],
            title=clean(title) if title else None,
            started_at=started_at or self.messages[0].at,
            participants=tuple(clean(name) for name in participants) or self.speakers(),
            metadata={
                key: clean(value) if isinstance(value, str) else value
                for key, value in (metadata or {}).items()
            },
        )

    def build_parts(
        self,
        session_id: str,
        gap: timedelta,
        *,
        title: str | None = None,
        participants: Sequence[str] = (),
    ) -> Iterator[Conversation]:
        """The conversation cut at silences longer than the gap.

        A part's id ends in the time of its first message, so that it stays the same when the
        log grows. All parts share the participants of the whole.
        """
        names = tuple(participants) or self.speakers()
        used: dict[str, int] = {}
        for part in split_at_gaps(self.messages, gap):
            at = part[0].at
            part_id = f"{session_id}/{at:%Y-%m-%dT%H:%M}" if at else session_id
            used[part_id] = used.get(part_id, 0) + 1
            if used[part_id] > 1:
                part_id = f"{part_id}#{used[part_id]}"
            piece = ConversationBuilder(self.reading, part)
            yield from piece.build(part_id, title=title, participants=names)
        if not self.messages:
            yield from self.build(session_id)

    def speakers(self) -> tuple[str, ...]:
        """Everybody who speaks, in order of appearance."""
        return tuple(dict.fromkeys(m.speaker for m in self.messages if m.speaker))

    def _place(self, message: Message, line: int | None) -> None:
        known = self._positions.get(message.external_id) if message.external_id else None
        if known is None:
            if message.external_id:
                self._positions[message.external_id] = len(self.messages)
            self.messages.append(message)
        elif self.messages[known].text == message.text:
            self.reading.skip("repeated message", line)
        else:
            self.messages[known] = message
            self.reading.skip("earlier version of a message", line)

    def _drop_removed(self) -> None:
        kept = (m for place, m in enumerate(self.messages) if place not in self._removed)
        self.messages = list(kept)

    def _count(self) -> None:
        report = self.reading.report
        report.conversations += 1
        report.messages_kept += len(self.messages)
        for message in self.messages:
            report.note_time(message.at)


def _owner(metadata: Mapping[str, JsonValue] | None) -> str | None:
    """Whose conversation it is, where the log says so."""
    owner = metadata.get("user_id") if metadata else None
    return str(owner) if owner else None


def split_at_gaps(messages: Sequence[Message], gap: timedelta) -> list[list[Message]]:
    """Cut where a message comes later than the gap after the last one that has a time."""
    parts: list[list[Message]] = []
    last: datetime | None = None
    for message in messages:
        is_late = last is not None and message.at is not None and message.at - last > gap
        if is_late or not parts:
            parts.append([])
        parts[-1].append(message)
        last = message.at or last
    return parts
