"""Slack exports: users, channels and day files, whose threads run over many days."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
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
    """Who the ids of a workspace are."""

    users: Mapping[str, str] = field(default_factory=dict[str, str])
    channels: Mapping[str, str] = field(default_factory=dict[str, str])

    def channel_id(self, folder: str) -> str:
        """The id of the channel whose folder this is; the folder itself where unknown."""
        return next((key for key, name in self.channels.items() if name == folder), folder)


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: bool(_TS.fullmatch(string(record.get("ts"))))):
        return "messages with a ts of seconds and six digits"
    return None


def _read(reading: Reading) -> Iterator[Conversation]:
    names = _read_names(reading)
    for folder, days in _day_files(reading.source).items():
        yield from _read_channel(reading, names, folder, days)


def _read_names(reading: Reading) -> _Names:
    members = reading.source.members or _siblings(reading)
    files = {PurePosixPath(member.name).name: member for member in members}
    users = _list_side_file(reading, files.get("users.json"))
    channels = [
        channel for name in _CHANNEL_LISTS for channel in _list_side_file(reading, files.get(name))
    ]
    return _Names(
        {known: _user_name(user) for user in users if (known := identifier(user.get("id")))},
        {
            known: identifier(channel.get("name")) or known
            for channel in channels
            if (known := identifier(channel.get("id")))
        },
    )


def _siblings(reading: Reading) -> list[Source]:
    """The side files around a day file that was given alone; a link is counted and left out."""
    if reading.source.path is None:
        return []
    root = _channel_folder(reading.source.path).parent
    paths = [root / name for name in ("users.json", *_CHANNEL_LISTS)]
    for path in paths:
        if path.is_symlink():
            reading.report.skip(LINK, str(path), unit="file")
    return [
        Source(label=str(path), name=path.name, opener=partial(Path.open, path, "rb"), path=path)
        for path in paths
        if path.is_file() and not path.is_symlink()
    ]


def _channel_folder(day: Path) -> Path:
    """The folder that a day file was named in, even where the file is a link to another place."""
    return day.parent.resolve()


def _list_side_file(reading: Reading, member: Source | None) -> list[JsonObject]:
    if member is None:
        return []
    return [record.value for record in reading.of_member(member).objects()]


def _user_name(user: JsonObject) -> str:
    profile = mapping(user.get("profile"))
    return (
        first_identifier(profile, "display_name", "real_name")
        or first_identifier(user, "real_name", "name", "id")
        or ""
    )


def _day_files(source: Source) -> dict[str, list[Source]]:
    """The day files by channel folder, both in name order."""
    days: dict[str, list[Source]] = {}
    for member in sorted(source.members, key=lambda member: member.name):
        path = PurePosixPath(member.name)
        if _DAY.fullmatch(path.stem) and path.suffix == ".json":
            days.setdefault(path.parent.name, []).append(member)
    if not source.members:
        folder = _channel_folder(source.path).name if source.path else source.session_id
        days[folder] = [source]
    return days


def _read_channel(
    reading: Reading, names: _Names, folder: str, days: Sequence[Source]
) -> Iterator[Conversation]:
    """One conversation a thread, over all days; the other messages by day."""
    channel = names.channel_id(folder)
    sessions: dict[str, ConversationBuilder] = {}
    for day in days:
        member = reading.of_member(day)
        for record in member.objects():
            place = identifier(record.value.get("thread_ts")) or PurePosixPath(day.name).stem
            builder = sessions.setdefault(f"{channel}:{place}", member.conversation())
            _add_message(builder, names, record.value, record.line)
    for session, builder in sessions.items():
        yield from builder.build(session, title=f"#{names.channels.get(channel, folder)}")


def _add_message(
    builder: ConversationBuilder, names: _Names, message: JsonObject, line: int
) -> None:
    if reason := _reason_to_skip(builder.reading, message):
        builder.reading.skip(reason, line)
        return
    ts = identifier(message.get("ts"))
    builder.add(
        "other",
        _text(names, message),
        external_id=ts,
        speaker=_speaker(names, message),
        stamp=builder.reading.stamp(ts),
        line=line,
    )


def _reason_to_skip(reading: Reading, message: JsonObject) -> str | None:
    if "ts" not in message:
        return "not a message"
    if string(message.get("subtype")) in _NOTICES or message.get("hidden") is True:
        return "notice of the program"
    is_bot = message.get("subtype") == "bot_message" or "bot_id" in message
    return "bot message" if is_bot and not reading.options.bots else None


def _speaker(names: _Names, message: JsonObject) -> str | None:
    user = identifier(message.get("user"))
    if user is not None and user in names.users:
        return names.users[user]
    profile = mapping(message.get("user_profile"))
    return (
        first_identifier(profile, "display_name", "real_name", "name")
        or identifier(message.get("username"))
        or identifier(reach(message, "bot_profile", "name"))
        or user
        or identifier(message.get("bot_id"))
    )


def _text(names: _Names, message: JsonObject) -> str:
    raw = string(message.get("text"))
    if not raw.strip():
        raw = _rich_text(message.get("blocks")) or _attached_text(message)
    resolved = _MENTION.sub(lambda match: _resolve(names, match), raw)
    return html.unescape(resolved)


def _resolve(names: _Names, match: re.Match[str]) -> str:
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
    """The words of rich text blocks: their elements, whatever the nesting."""
    words: list[str] = []
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


def _attached_text(message: JsonObject) -> str:
    attachments = objects(message.get("attachments"))
    texts = (string(a.get("fallback")) or string(a.get("text")) for a in attachments)
    files = (
        f"[file: {name}]"
        for file in objects(message.get("files"))
        if (name := first_identifier(file, "title", "name"))
    )
    return "\n".join([*(text for text in texts if text), *files])


READER = Reader(name="slack", sniff=_sniff, read=_read)
