"""Reader of Slack exports: users, channels and day files, whose threads run over many days."""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from memsense.ingest.content import format_file
from memsense.ingest.head import Head
from memsense.ingest.reading import ConversationBuilder, Reader, Reading
from memsense.ingest.source import Source
from memsense.ingest.sources import LINK
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    reach,
    string,
)
from memsense.types import Conversation, JsonValue

_TS = re.compile(r"\d{10}\.\d{6}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CHANNEL_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_MENTION = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
_NOTICES = frozenset(
    f"{place}_{event}"
    for place in ("channel", "group")
    for event in ("join", "leave", "topic", "purpose", "name", "archive", "unarchive")
) | {"bot_add", "bot_remove", "pinned_item", "unpinned_item", "reminder_add", "tombstone"}


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of a workspace's users and channels, by id."""

    users: Mapping[str, str] = field(default_factory=dict[str, str])
    channels: Mapping[str, str] = field(default_factory=dict[str, str])


def sniff(head: Head) -> str | None:
    """Return what shows that a log is a day of a Slack channel."""
    if head.find(lambda record: bool(_TS.fullmatch(string(record.get("ts"))))):
        return "messages with a ts of seconds and six digits"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each thread over all days, and for a day's other messages."""
    source = reading.source
    names = _read_names(reading)
    # The day files by channel, both in the order of their names.
    channels: dict[str, list[Source]] = {}
    for member in sorted(source.members, key=lambda member: member.name):
        path = PurePosixPath(member.name)
        if _DAY.fullmatch(path.stem) and path.suffix == ".json":
            channels.setdefault(path.parent.name, []).append(member)
    if not source.members:
        folder = _channel_folder(source.path).name if source.path else source.session_id
        channels[folder] = [source]
    for folder, days in channels.items():
        # Folders are called by the channel's name, those of direct messages by its id.
        ids = (key for key, name in names.channels.items() if name == folder)
        channel = next(ids, folder)
        sessions: dict[str, ConversationBuilder] = {}
        for day in days:
            member = reading.of_member(day)
            for record in member.objects():
                # A reply is in the file of its own day, not of its thread's.
                thread = identifier(record.value.get("thread_ts"))
                place = thread or PurePosixPath(day.name).stem
                builder = sessions.setdefault(f"{channel}:{place}", member.conversation())
                _add_message(builder, names, record.value, record.line)
        for session, builder in sessions.items():
            yield from builder.build(session, title=f"#{names.channels.get(channel, folder)}")


def _read_names(reading: Reading) -> _Names:
    source = reading.source
    files = {PurePosixPath(member.name).name: member for member in source.members}
    if not source.members and source.path is not None:
        # A day file that was given alone: the side files stand around it.
        root = _channel_folder(source.path).parent
        for name in ("users.json", *_CHANNEL_LISTS):
            path = root / name
            if path.is_symlink():
                # A link may lead anywhere, and the caller has not named it.
                reading.report.skip(LINK, str(path), unit="file")
            elif path.is_file():
                opener = partial(Path.open, path, "rb")
                files[name] = Source(label=str(path), name=name, opener=opener, path=path)
    users: dict[str, str] = {}
    for user in _read_side_file(reading, files.get("users.json")):
        if user_id := identifier(user.get("id")):
            profile = mapping(user.get("profile"))
            display_name = first_identifier(profile, "display_name", "real_name")
            name = display_name or first_identifier(user, "real_name", "name", "id")
            users[user_id] = name or ""
    channels: dict[str, str] = {}
    for list_name in _CHANNEL_LISTS:
        for channel in _read_side_file(reading, files.get(list_name)):
            if channel_id := identifier(channel.get("id")):
                channels[channel_id] = identifier(channel.get("name")) or channel_id
    return _Names(users, channels)


def _channel_folder(day: Path) -> Path:
    """Return the folder that a day file was named in, even if the file is a link elsewhere."""
    return day.parent.resolve()


def _read_side_file(reading: Reading, member: Source | None) -> list[JsonObject]:
    if member is None:
        return []
    return [record.value for record in reading.of_member(member).objects()]


def _add_message(
    builder: ConversationBuilder, names: _Names, message: JsonObject, line: int
) -> None:
    reading = builder.reading
    is_bot = message.get("subtype") == "bot_message" or "bot_id" in message
    if "ts" not in message:
        reading.skip("not a message", line)
        return
    if string(message.get("subtype")) in _NOTICES or message.get("hidden") is True:
        reading.skip("notice of the program", line)
        return
    if is_bot and not reading.options.bots:
        reading.skip("bot message", line)
        return
    # Who speaks: in the list of users, else as the message itself says.
    user = identifier(message.get("user"))
    profile = mapping(message.get("user_profile"))
    speaker = (
        names.users[user]
        if user is not None and user in names.users
        else first_identifier(profile, "display_name", "real_name", "name")
        or identifier(message.get("username"))
        or identifier(reach(message, "bot_profile", "name"))
        or user
        or identifier(message.get("bot_id"))
    )
    # Bots often write no text: of a sample's 158 messages 94 have their words elsewhere.
    text = string(message.get("text"))
    if not text.strip():
        text = _rich_text(message.get("blocks"))
    if not text:
        attachments = objects(message.get("attachments"))
        texts = [string(one.get("fallback")) or string(one.get("text")) for one in attachments]
        files = [first_identifier(file, "title", "name") for file in objects(message.get("files"))]
        text = "\n".join(words for words in (*texts, *map(format_file, files)) if words)
    text = html.unescape(_MENTION.sub(lambda match: _resolve(names, match), text))
    # The time is kept as text for an id: a float would lose its last digits.
    ts = identifier(message.get("ts"))
    stamp = reading.stamp(ts)
    builder.add("other", text, external_id=ts, speaker=speaker, stamp=stamp, line=line)


def _resolve(names: _Names, match: re.Match[str]) -> str:
    """Return the words for a mark of a person, a channel, a group or a link."""
    sign, target, label = match[1], match[2], match[3]
    if sign == "@":
        return "@" + (names.users.get(target) or label or target)
    if sign == "#":
        return "#" + (label or names.channels.get(target, target))
    if sign == "!":
        return label or "@" + target.partition("^")[0]
    address = target.removeprefix("mailto:")
    return address if not label or label == address else f"{label} ({address})"


def _rich_text(blocks: JsonValue) -> str:
    """Return the words of rich text blocks: of their elements, at any depth."""
    words: list[str] = []
    # A stack, not recursion: the depth is the log's.
    pending = list(reversed(objects(blocks)))
    while pending:
        block = pending.pop()
        words.append(string(block.get("text")) or string(reach(block, "text", "text")))
        if user := identifier(block.get("user_id")):
            words.append(f"<@{user}>")
        if block.get("type") == "link" and not block.get("text"):
            words.append(string(block.get("url")))
        pending.extend(reversed(objects(block.get("elements"))))
    return "".join(words)


READER = Reader(name="slack", sniff=sniff, read=read)
