"""opencode: its database `opencode.db`, exported sessions, its older storage folder of files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from memsense.ingest.content import named_file
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.source import Source
from memsense.ingest.values import JsonObject, identifier, mapping, objects, reach, string
from memsense.types import Conversation

_REASONS = {"tool": "tool call", "reasoning": "thinking"}


@dataclass(slots=True)
class _Files:
    """The files of a storage folder: messages by session, parts by message."""

    sessions: list[Source] = field(default_factory=list[Source])
    messages: dict[str, list[Source]] = field(default_factory=dict[str, list[Source]])
    parts: dict[str, list[Source]] = field(default_factory=dict[str, list[Source]])


def _sniff(head: Head) -> str | None:
    if head.find(_is_export):
        return "an exported session with info, and messages of info and parts"
    return None


def _is_export(record: JsonObject) -> bool:
    told = objects(record.get("messages"))
    return "info" in record and any({"info", "parts"} <= one.keys() for one in told)


def _read(reading: Reading) -> Iterator[Conversation]:
    if reading.source.members:
        yield from _read_storage(reading)
        return
    for record in reading.objects():
        told = [
            (mapping(one.get("info")), objects(one.get("parts")))
            for one in objects(record.value.get("messages"))
        ]
        yield from _build(reading, mapping(record.value.get("info")), told, record.line)


def _read_storage(reading: Reading) -> Iterator[Conversation]:
    files = _sort_files(reading.source.members)
    for source in files.sessions:
        for info in _values(reading, source):
            told = list(_messages(reading, files, string(info.get("id"))))
            yield from _build(reading, info, told, 1)


def _sort_files(members: Sequence[Source]) -> _Files:
    files = _Files()
    for member in sorted(members, key=lambda member: member.name):
        folder = PurePosixPath(member.name).parent
        if folder.parts[:1] == ("session",):
            files.sessions.append(member)
        elif folder.parts[:1] == ("message",):
            files.messages.setdefault(folder.name, []).append(member)
        elif folder.parts[:1] == ("part",):
            files.parts.setdefault(folder.name, []).append(member)
    return files


def _messages(
    reading: Reading, files: _Files, session: str
) -> Iterator[tuple[JsonObject, list[JsonObject]]]:
    for source in files.messages.get(session, ()):
        for info in _values(reading, source):
            sources = files.parts.get(string(info.get("id")), ())
            yield info, [part for one in sources for part in _values(reading, one)]


def _values(reading: Reading, source: Source) -> list[JsonObject]:
    return [record.value for record in reading.of_member(source).objects()]


def _build(
    reading: Reading,
    info: JsonObject,
    told: Sequence[tuple[JsonObject, list[JsonObject]]],
    line: int,
) -> Iterator[Conversation]:
    """The session; its ids rise, so that what was taken back is all from a message on."""
    builder = reading.conversation()
    reverted = "" if reading.options.all_branches else string(reach(info, "revert", "messageID"))
    is_sidechain = bool(identifier(info.get("parentID"))) and not reading.options.sidechains
    for message, parts in told:
        if is_sidechain:
            reading.skip("sidechain", line)
        elif reverted and string(message.get("id")) >= reverted:
            reading.skip("rolled back", line)
        else:
            _add_message(builder, message, parts, line)
    known = identifier(info.get("id"))
    yield from builder.build(
        known or reading.source.session_id,
        title=string(info.get("title")),
        started_at=reading.stamp(reach(info, "time", "created")).at,
    )


def _add_message(
    builder: ConversationBuilder,
    info: JsonObject,
    parts: Sequence[JsonObject],
    line: int,
) -> None:
    role = role_of(string(info.get("role")))
    if role not in ("user", "assistant"):
        builder.reading.skip(f"{role or 'unknown'} message", line)
        return
    if info.get("summary") is True:
        builder.reading.skip("compaction summary", line)
        return
    said = [string(part.get("text")) for part in parts if _is_spoken(part)]
    files = [named_file(part.get("filename")) for part in parts if part.get("type") == "file"]
    text = "\n\n".join(piece for piece in (*said, *files) if piece.strip())
    if not text:
        kinds = (string(part.get("type")) for part in parts)
        builder.reading.skip(next((_REASONS[k] for k in kinds if k in _REASONS), EMPTY), line)
        return
    builder.add(
        role,
        text,
        external_id=identifier(info.get("id")),
        stamp=builder.reading.stamp(reach(info, "time", "created")),
        line=line,
    )


def _is_spoken(part: JsonObject) -> bool:
    hidden = part.get("synthetic") is True or part.get("ignored") is True
    return part.get("type") == "text" and not hidden


READER = Reader(name="opencode", sniff=_sniff, read=_read)
