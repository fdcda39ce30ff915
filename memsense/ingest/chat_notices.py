"""WhatsApp's own notices in a chat, separated from people's messages in each of its languages.

On an iPhone they begin with U+200E; elsewhere they are recognised by their wording.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

NOTICE = "notice of the program"
MEDIA = "media without words"
DELETED = "deleted message"

_MARK = "\u200e"
_BLANKS = "\u200e\u200f\u202f\u00a0 \t\n\r"
_ENCRYPTED = re.compile(
    r"""(?ix: end-to-end | ende-zu-ende | extremo\ a\ extremo | bout\ en\ bout | ponta\ a\ ponta
    | сквозн | uçtan\ uca | 端到端 | エンドツーエンド | 종단간 )"""
)
_EDITED = re.compile(
    r"""(?ix: [\u200e\u200f]? <
    (?: this\ message\ was\ edited | diese\ nachricht\ wurde\ bearbeitet | se\ editó\ este\ mensaje
      | ce\ message\ a\ été\ modifié | questo\ messaggio\ è\ stato\ modificato | mensagem\ editada
      | dit\ bericht\ is\ bewerkt | отредактировано )
    \.? > [\u200e\u200f]? \Z)"""
)
_DELETED = re.compile(
    r"""(?ix: (?: (?P<own> you\ deleted\ this\ message | du\ hast\ diese\ nachricht\ gelöscht
      | eliminaste\ este\ mensaje | vous\ avez\ supprimé\ ce\ message
      | hai\ eliminato\ questo\ messaggio | você\ apagou\ esta\ mensagem
      | (?:u|je)\ (?:hebt|hebt)\ dit\ bericht\ verwijderd | вы\ удалили\ данное\ сообщение )
    | this\ message\ was\ deleted | diese\ nachricht\ wurde\ gelöscht | se\ eliminó\ este\ mensaje
    | ce\ message\ a\ été\ supprimé | questo\ messaggio\ è\ stato\ eliminato
    | (?:esta\ )?mensagem\ (?:foi\ )?apagada | dit\ bericht\ is\ verwijderd
    | данное\ сообщение\ удалено ) (?: \ by\ admin\ .{1,60} | \ von\ .{1,60}\ gelöscht )? \.?)"""
)
_MEDIA = re.compile(
    r"""(?ix: < (?:media|multimedia|medien|médias|file\ media|mídia|без\ медиафайлов)[^<>\n]{0,30} >
    | (?: image | video\ note | video | audio | sticker | gif | document | contact\ card | bild
      | videonachricht | dokument | kontaktkarte | imagen | documento | vidéo | immagine | imagem
      | vídeo | figurinha | afbeelding | tarjeta\ de\ contacto )
      \ (?: omitted | weggelassen | ausgelassen | omitid[oa] | absente? | omess[oa] | ocultad[oa]
      | weggelaten )
    | (?-i: null) )"""
)
_ATTACHED = re.compile(
    r"""(?ix: [\u200e\u200f]? <
    (?:attached|anhang|adjunto|pièce\ jointe|allegato|anexado|bijlage) :\ ?
    (?P<name>[^<>\n]{1,200}) >
    | \A [\u200e\u200f]? (?P<first>[^\s<>()]{1,200}) \ \(
    (?: file\ attached | datei\ angehängt | archivo\ adjunto | fichier\ joint | file\ allegato
      | arquivo\ anexado | bestand\ bijgevoegd ) \) )"""
)
_OTHER = re.compile(
    r"""(?x: (?: WhatsApp\ Chat\ (?:with|mit|-) | Chat\ de\ WhatsApp\ con | Chat\ WhatsApp\ con
    | Discussion\ WhatsApp\ avec | Conversa\ do\ WhatsApp\ com | WhatsApp-chat\ met )
    \ (?P<name>[^/\\]{1,100}?) (?:\.txt|\.zip|\Z|/) )"""
)
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
