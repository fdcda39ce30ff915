"""WhatsApp: what the program writes is no message, and whose chat it is."""

from collections.abc import Callable

import pytest

from memsense.ingest import ReadOptions, ReadReport
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

MARK = "\u200e"
SAFE = "Messages and calls are end-to-end encrypted. Only people in this chat can read them."


def chat(*entries: str, head: str = "[24.12.23, 10:{:02}:00] ") -> str:
    return "\n".join(head.format(minute) + entry for minute, entry in enumerate(entries)) + "\n"


def spoken(conversations: list[Conversation]) -> list[tuple[str | None, str]]:
    return [(m.speaker, m.text) for one in conversations for m in one.messages]


def test_what_an_iphone_marks_is_no_message_and_the_group_is_no_speaker(read_log: ReadLog) -> None:
    log = chat(
        f"Family: {MARK}{SAFE} WhatsApp",
        f"Family: {MARK}Ana created this group",
        "Ana: hello",
        f"~\u202fBo: {MARK}Bo changed the group name",
        "~\u202fBo: hi",
        f"Cy: {MARK}image omitted",
        "Cy: nice",
    )
    conversations, report = read_log(log, name="_chat.txt")
    assert spoken(conversations) == [("Ana", "hello"), ("Bo", "hi"), ("Cy", "nice")]
    assert conversations[0].participants == ("Ana", "Bo", "Cy")
    assert report.skip_counts == {"notice of the program": 3, "media without words": 1}


def test_a_group_whose_marks_are_lost_is_no_speaker_either(read_log: ReadLog) -> None:
    log = chat(f"Family: {SAFE} WhatsApp", "Family: Ana added you", "Ana: hello", "Bo: hi")
    conversations, report = read_log(log, name="_chat.txt")
    assert spoken(conversations) == [("Ana", "hello"), ("Bo", "hi")]
    assert report.skip_counts == {"notice of the program": 2}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (f"{MARK}Diese Nachricht wurde gelöscht.", "deleted message"),
        ("Du hast diese Nachricht gelöscht.", "deleted message"),
        ("Se eliminó este mensaje.", "deleted message"),
        ("Vous avez supprimé ce message", "deleted message"),
        (f"{MARK}Bild weggelassen", "media without words"),
        ("<Medien ausgeschlossen>", "media without words"),
        (f"{MARK}<Anhang: 00000012-PHOTO.jpg>", "media without words"),
        ("IMG-20231224-WA0001.jpg (Datei angehängt)", "media without words"),
        ("null", "media without words"),
    ],
)
@pytest.mark.parametrize("head", ["[24.12.23, 10:{:02}:00] ", "24.12.23, 10:{:02} - "])
def test_what_was_deleted_or_left_out_is_no_message(
    entry: str, reason: str, head: str, read_log: ReadLog
) -> None:
    conversations, report = read_log(chat("Ana: hallo", f"Bo: {entry}", head=head), name="c.txt")
    assert spoken(conversations) == [("Ana", "hallo")]
    assert report.skip_counts == {reason: 1}


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (f"schön {MARK}<Diese Nachricht wurde bearbeitet.>", "schön"),
        (f"schön {MARK}<Anhang: 00000012-PHOTO.jpg>", "schön [file: 00000012-PHOTO.jpg]"),
        ("IMG-1.jpg (file attached)\nschön", "[file: IMG-1.jpg]\nschön"),
        ("ich habe diese Nachricht gelöscht", "ich habe diese Nachricht gelöscht"),
        ("end-to-end tests are slow", "end-to-end tests are slow"),
        ("NULL", "NULL"),
    ],
)
def test_a_persons_words_stay(entry: str, text: str, read_log: ReadLog) -> None:
    conversations, _ = read_log(chat(f"Ana: {entry}", "Bo: ja", "Ana: gut"), name="c.txt")
    assert spoken(conversations)[0] == ("Ana", text)


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("WhatsApp Chat mit Ana.txt", ("Ana: hello", "Bo: hi")),
        ("WhatsApp Chat - Ana.zip/_chat.txt", ("Ana: hello", "Bo: hi")),
        ("_chat.txt", (f"Ana: {MARK}{SAFE} WhatsApp", "Ana: hello", "Bo: hi")),
        ("_chat.txt", ("Ana: hello", "Bo: You deleted this message", "Cy: hm", "Bo: hi")),
    ],
)
def test_the_user_is_who_exported_the_chat(
    name: str, entries: tuple[str, ...], read_log: ReadLog
) -> None:
    conversations, report = read_log(chat(*entries), name=name)
    assert conversations[0].participants[0] == "Bo"
    assert report.taken_as_user == {name: ["Bo"]}


def test_the_report_says_who_was_taken_as_the_user_unless_one_was_named(read_log: ReadLog) -> None:
    log = chat("Ana: hello", "Bo: hi")
    _, report = read_log(log, name="_chat.txt")
    assert report.taken_as_user == {"_chat.txt": ["Ana"]}
    _, report = read_log(log, ReadOptions(user_speaker="Bo"), name="_chat.txt")
    assert (report.taken_as_user, report.warnings) == ({}, [])


def test_a_user_who_says_nothing_is_a_warning(read_log: ReadLog) -> None:
    _, report = read_log(chat("Ana: a", "Bo: b"), ReadOptions(user_speaker="Cy"), name="c.txt")
    assert report.warnings == ["c.txt: Cy says nothing in it; the speakers: Ana, Bo"]


def test_a_log_with_an_assistant_has_no_speaker_to_take_as_user(read_log: ReadLog) -> None:
    _, report = read_log('{"messages": [{"role": "user", "content": "hi"}]}')
    assert report.taken_as_user == {}
