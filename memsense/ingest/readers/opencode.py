"""Reader of opencode: its database `opencode.db`, exported sessions, its older storage folder."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from memsense.ingest.content import format_file, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader, Reading, name_parts
from memsense.ingest.source import Source
from memsense.ingest.values import JsonObject, identifier, mapping, objects, reach, string
from memsense.types import Conversation

_REASONS = {"tool": "tool call", "reasoning": "thinking"}


def sniff(head: Head) -> str | None:
    """Return what shows that a log is an exported session."""
    for record in head.objects:
        messages = objects(record.get("messages"))
        if "info" in record and any({"info", "parts"} <= one.keys() for one in messages):
            return "an exported session with info, and messages of info and parts"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield each session of a database, an export or a storage folder."""
    if reading.source.members:
        yield from _read_storage(reading)
        return
    for record in reading.objects():
        messages = [
            (mapping(one.get("info")), objects(one.get("parts")))
            for one in objects(record.value.get("messages"))
        ]
        yield from _build(reading, mapping(record.value.get("info")), messages, record.line)


def _read_storage(reading: Reading) -> Iterator[Conversation]:
    # Every session, message and part is a file of its own, in the folder of what it belongs to. The
    # ids rise, and so do the names.
    sessions: list[Source] = []
    messages: dict[str, list[Source]] = {}
    parts: dict[str, list[Source]] = {}
    for member in sorted(reading.source.members, key=lambda member: member.name):
        folder = PurePosixPath(member.name).parent
        if folder.parts[:1] == ("session",):
            sessions.append(member)
        elif folder.parts[:1] == ("message",):
            messages.setdefault(folder.name, []).append(member)
        elif folder.parts[:1] == ("part",):
            parts.setdefault(folder.name, []).append(member)
    for source in sessions:
        for info in _read_file(reading, source):
            session_messages: list[tuple[JsonObject, list[JsonObject]]] = []
            for message_file in messages.get(string(info.get("id")), ()):
                for message in _read_file(reading, message_file):
                    files = parts.get(string(message.get("id")), ())
                    message_parts = [part for file in files for part in _read_file(reading, file)]
                    session_messages.append((message, message_parts))
            yield from _build(reading, info, session_messages, 1)


def _read_file(reading: Reading, source: Source) -> list[JsonObject]:
    return [record.value for record in reading.of_member(source).objects()]


def _build(
    reading: Reading,
    info: JsonObject,
    messages: Sequence[tuple[JsonObject, list[JsonObject]]],
    line: int,
) -> Iterator[Conversation]:
    builder = reading.conversation()
    # A session that was taken back names the first message that no longer counts; as ids rise, all
    # from there on were taken back.
    reverted = "" if reading.options.all_branches else string(reach(info, "revert", "messageID"))
    is_sidechain = bool(identifier(info.get("parentID"))) and not reading.options.sidechains
    for message, parts in messages:
        role = role_of(string(message.get("role")))
        # Synthetic parts are the program's own, ignored ones are not given to the model.
        texts = (
            string(part.get("text"))
            for part in parts
            if part.get("type") == "text"
            and part.get("synthetic") is not True
            and part.get("ignored") is not True
        )
        files = (format_file(part.get("filename")) for part in parts if part.get("type") == "file")
        text = "\n\n".join(piece for piece in (*texts, *files) if piece.strip())
        if is_sidechain:
            reading.skip("sidechain", line)
        elif reverted and string(message.get("id")) >= reverted:
            reading.skip("rolled back", line)
        elif role in ("user", "assistant") and message.get("summary") is True:
            reading.skip("compaction summary", line)
        else:
            builder.add(
                role,
                text,
                external_id=identifier(message.get("id")),
                stamp=reading.stamp(reach(message, "time", "created")),
                folder=string(reach(message, "path", "cwd")),
                line=line,
                empty=name_parts(parts, _REASONS),
            )
    yield from builder.build(
        identifier(info.get("id")) or reading.source.session_id,
        title=string(info.get("title")),
        started_at=reading.stamp(reach(info, "time", "created")).at,
        folder=string(info.get("directory")),
    )


READER = Reader(name="opencode", sniff=sniff, read=read)
