"""WhatsApp's own notices in a chat, separated from people's messages in each of its languages.

On an iPhone they begin with U+200E; elsewhere they are recognised by their wording.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memsense.text.words import read_sections

NOTICE = "notice of the program"
MEDIA = "media without words"
DELETED = "deleted message"

_MARK = "\u200e"
_BLANKS = "\u200e\u200f\u202f\u00a0 \t\n\r"


def _any_of(title: str) -> str:
    """Return the pattern of any phrase of a section of `whatsapp.txt`."""
    return "|".join(map(re.escape, read_sections("whatsapp")[title].split("\n")))


_ENCRYPTED = re.compile(f"(?i:{_any_of('encrypted')})")
_EDITED = re.compile(rf"(?i:[\u200e\u200f]?<(?:{_any_of('edited')})\.?>[\u200e\u200f]?\Z)")
_DELETED = re.compile(
    rf"(?i:(?:(?P<own>{_any_of('deleted by you')})|{_any_of('deleted')})"
    r"(?: by admin .{1,60}| von .{1,60} gelöscht)?\.?)"
)
_MEDIA = re.compile(
    rf"(?i:<(?:{_any_of('media')})[^<>\n]{{0,30}}>"
    rf"|(?:{_any_of('kinds of media')}) (?:{_any_of('omitted')})|(?-i:null))"
)
_ATTACHED = re.compile(
    rf"(?i:[\u200e\u200f]?<(?:{_any_of('attached before')}): ?(?P<name>[^<>\n]{{1,200}})>"
    rf"|\A[\u200e\u200f]?(?P<first>[^\s<>()]{{1,200}}) \((?:{_any_of('attached behind')})\))"
)
_OTHER = re.compile(rf"(?:{_any_of('chat with')}) (?P<name>[^/\\]{{1,100}}?)(?:\.txt|\.zip|\Z|/)")
_TWO = 2


@dataclass(frozen=True, slots=True)
class People:
    """The name of a chat's group and the person who exported it, if they are known."""

    group: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class NoWords:
    """An entry without words of a person, and the reason."""

    reason: str


def clean_entry(text: str, *, is_marked: bool) -> str | NoWords:
    """Return an entry's words, with attachments as file names, or why it has none.

    `is_marked` is true for a chat whose notices begin with U+200E, as on iPhones.
    """
    words = _EDITED.sub("", text.rstrip()).rstrip()
    bare = words.strip(_BLANKS)
    if _DELETED.fullmatch(bare):
        return NoWords(DELETED)
    if _MEDIA.fullmatch(bare) or not _ATTACHED.sub("", bare).strip(_BLANKS):
        return NoWords(MEDIA)
    text = _ATTACHED.sub(lambda match: f"[file: {match['name'] or match['first']}]", words)
    if is_marked and text.startswith(_MARK):
        return NoWords(NOTICE)
    return NoWords(NOTICE) if _is_about_encryption(bare) else text.strip(_MARK)


def find_people(label: str, entries: Iterable[tuple[str, str]]) -> People:
    """Return the group's name and the exporter, by the entries (name, text) and the file's name."""
    names: dict[str, None] = {}
    about = owner = None
    for name, text in entries:
        if not name:
            continue
        names.setdefault(name)
        bare = text.strip(_BLANKS)
        # The notice of encryption is under the group's name, or under the other person's.
        if about is None and _is_about_encryption(bare):
            about = name
        # "You deleted this message" is written to the person who exported the chat.
        match = _DELETED.fullmatch(bare)
        owner = name if match and match["own"] else owner
    group = about if about is not None and len(names) > _TWO else None
    # A chat of two is named after the other person: "WhatsApp Chat with Ann.txt".
    other = about or next((match["name"] for match in [_OTHER.search(label)] if match), None)
    if owner is None and len(names) == _TWO and other in names:
        owner = next(name for name in names if name != other)
    return People(group=group, owner=owner)


def _is_about_encryption(text: str) -> bool:
    return len(text) < 400 and _ENCRYPTED.search(text) is not None and "WhatsApp" in text  # noqa: PLR2004
