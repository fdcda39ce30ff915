"""Files, folders, globs, archives and stdin."""

import io
import json
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memsense.errors import IngestError
from memsense.ingest import ReadReport, expand_paths, read_source
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

CHAT = json.dumps([{"uuid": "c", "chat_messages": [{"sender": "human", "text": "hi"}]}])
DAY = '[{"type": "message", "user": "U1", "text": "%s", "ts": "1452837318.00000%d"%s}]'
USERS = '[{"id": "U1", "profile": {"display_name": "", "real_name": "Ana"}}]'
CHANNELS = '[{"id": "C1", "name": "general"}]'


def write_slack(folder: Path) -> None:
    (folder / "general").mkdir(parents=True)
    (folder / "users.json").write_text(USERS)
    (folder / "channels.json").write_text(CHANNELS)
    thread = ', "thread_ts": "1452837318.000001"'
    (folder / "general" / "2016-01-15.json").write_text(DAY % ("root", 1, thread))
    (folder / "general" / "2016-01-16.json").write_text(DAY % ("alone", 2, ""))
    (folder / "general" / "2016-01-17.json").write_text(DAY % ("reply", 3, thread))


def zip_folder(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(folder.rglob("*")):
            target.write(path, path.relative_to(folder))


def names(*paths: Path | str) -> list[str]:
    return [source.name for source in expand_paths(paths)]


def test_a_folder_is_walked_from_the_oldest_file(tmp_path: Path) -> None:
    for age, name in enumerate(("b.json", "a.json", "c.jsonl")):
        (tmp_path / name).write_text("{}")
        os.utime(tmp_path / name, (1_000 + age, 1_000 + age))
    assert names(tmp_path) == ["b.json", "a.json", "c.jsonl"]


def test_what_is_no_log_is_left_out_of_a_folder_and_counted(tmp_path: Path) -> None:
    for name in ("a.jsonl", "users.json", "picture.png", "x.reset.2026.jsonl", "history.jsonl"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "a.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    report = ReadReport()
    assert [source.name for source in expand_paths([tmp_path], report)] == ["a.jsonl"]
    assert report.skip_counts == {
        "side file of an export": 3,
        "file of another kind": 1,
        "symbolic link in a folder": 1,
        "not a regular file": 1,
    }
    assert report.messages_read == 0


def test_a_glob_stands_for_its_matches(tmp_path: Path) -> None:
    for name in ("a.json", "b.json", "c.txt"):
        (tmp_path / name).write_text("{}")
    assert names(str(tmp_path / "*.json")) == ["a.json", "b.json"]


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="no such file or folder"):
        expand_paths([tmp_path / "none.json"])
    with pytest.raises(IngestError, match="no such file or folder"):
        expand_paths([str(tmp_path / "*.json")])


def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(IngestError, match="not a regular file"):
        expand_paths([tmp_path / "pipe.jsonl"])


def test_of_an_account_export_only_the_conversations_are_read(
    tmp_path: Path, read_path: ReadLog
) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations-000.json", CHAT)
        archive.writestr("conversations-001.json", CHAT.replace('"c"', '"d"'))
        archive.writestr("user.json", '{"id": 1}')
        archive.writestr("notes.json", '{"id": 1}')
        archive.writestr("chat.html", "<html>")
    conversations, _ = read_path(tmp_path / "export.zip")
    assert [one.session_id for one in conversations] == ["c", "d"]
    assert conversations[0].source == str(tmp_path / "export.zip" / "conversations-000.json")


def test_a_chat_in_an_archive_is_read_without_its_pictures(
    tmp_path: Path, read_path: ReadLog
) -> None:
    with zipfile.ZipFile(tmp_path / "chat.zip", "w") as archive:
        archive.writestr("_chat.txt", "[24/12/24, 12:23:01] Ana: hi")
        archive.writestr("IMG-1.jpg", b"\xff\xd8")
    conversations, _ = read_path(tmp_path / "chat.zip")
    assert [one.format for one in conversations] == ["whatsapp"]


def test_a_damaged_archive_is_an_error(tmp_path: Path, read_path: ReadLog) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", CHAT * 100)
    data = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    (tmp_path / "bent.zip").write_bytes(data[:60] + b"\x00" * 20 + data[80:])
    for name in ("cut.zip", "bent.zip"):
        with pytest.raises(IngestError, match=name):
            read_path(tmp_path / name)


def test_an_archive_without_logs_is_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("photo.jpg", b"x")
    with pytest.raises(IngestError, match="no conversation log"):
        expand_paths([tmp_path / "a.zip"])


def test_a_slack_folder_is_one_source_whose_threads_run_over_days(
    tmp_path: Path, read_path: ReadLog
) -> None:
    write_slack(tmp_path / "deep" / "slack")
    assert len(expand_paths([tmp_path])) == 1
    conversations, _ = read_path(tmp_path)
    assert {one.session_id: [m.text for m in one.messages] for one in conversations} == {
        "C1:1452837318.000001": ["root", "reply"],
        "C1:2016-01-16": ["alone"],
    }
    assert {one.title for one in conversations} == {"#general"}
    assert {m.speaker for one in conversations for m in one.messages} == {"Ana"}


def test_a_slack_archive_reads_like_its_folder(tmp_path: Path, read_path: ReadLog) -> None:
    write_slack(tmp_path / "slack")
    zip_folder(tmp_path / "slack", tmp_path / "slack.zip")
    in_folder, _ = read_path(tmp_path / "slack")
    in_archive, _ = read_path(tmp_path / "slack.zip")
    assert [one.messages for one in in_archive] == [one.messages for one in in_folder]
    assert [one.session_id for one in in_archive] == [one.session_id for one in in_folder]


def test_a_slack_day_alone_finds_the_names_beside_it(tmp_path: Path, read_path: ReadLog) -> None:
    write_slack(tmp_path / "slack")
    conversations, _ = read_path(tmp_path / "slack" / "general" / "2016-01-16.json")
    assert conversations[0].session_id == "C1:2016-01-16"
    assert conversations[0].messages[0].speaker == "Ana"


def test_a_slack_export_is_never_left_by_a_link(tmp_path: Path, read_path: ReadLog) -> None:
    write_slack(tmp_path / "slack")
    write_slack(tmp_path / "private")
    outside = tmp_path / "private" / "general"
    for day in ("2016-01-15", "2016-01-16", "2016-01-17"):
        text = (outside / f"{day}.json").read_text()
        (outside / f"{day}.json").write_text(text.replace('"text": "', '"text": "private '))
    links = {
        "secrets": outside,
        "general/2016-01-18.json": outside / "2016-01-16.json",
        "dms.json": outside.parent / "channels.json",
    }
    for name, target in links.items():
        (tmp_path / "slack" / name).symlink_to(target)
    conversations, report = read_path(tmp_path / "slack")
    texts = {message.text for one in conversations for message in one.messages}
    assert texts == {"root", "alone", "reply"}
    assert report.skip_counts == {"symbolic link in a folder": 3}
    places = {place for place, _ in report.skipped["symbolic link in a folder"].examples}
    assert places == {str(tmp_path / "slack" / name) for name in links}


def test_a_slack_day_alone_takes_no_names_through_a_link(
    tmp_path: Path, read_path: ReadLog
) -> None:
    write_slack(tmp_path / "slack")
    (tmp_path / "users.json").write_text(USERS.replace("Ana", "Private"))
    (tmp_path / "slack" / "users.json").unlink()
    (tmp_path / "slack" / "users.json").symlink_to(tmp_path / "users.json")
    conversations, report = read_path(tmp_path / "slack" / "general" / "2016-01-16.json")
    assert conversations[0].messages[0].speaker == "U1"
    assert report.skip_counts == {"symbolic link in a folder": 1}


def test_a_link_is_followed_where_it_is_named_and_not_where_it_is_matched(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.json").write_text("{}")
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.json").write_text("{}")
    (folder / "b.json").symlink_to(outside / "private.json")
    (folder / "c").symlink_to(outside)
    (tmp_path / "named").symlink_to(folder)
    assert names(folder / "b.json", folder / "c") == ["b.json", "private.json"]
    for pattern in ("logs/*", "logs/*.json", "logs/**/*.json", "named/*.json", "*/a.json"):
        report = ReadReport()
        found = expand_paths([str(tmp_path / pattern)], report)
        assert {source.name for source in found} == {"a.json"}, pattern
        if pattern != "*/a.json":
            assert set(report.skip_counts) == {"symbolic link in a folder"}
    assert names(str(tmp_path / "logs" / "c" / "*.json")) == ["private.json"]


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_a_dash_is_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(CHAT.encode()))
    (source,) = expand_paths(["-"])
    for _ in range(2):
        assert [one.session_id for one in read_source(source)] == ["c"]


def test_an_archive_comes_through_stdin_too(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("conversations.json", CHAT)
    monkeypatch.setattr(sys, "stdin", Stdin(data.getvalue()))
    (source,) = expand_paths(["-"])
    assert [one.session_id for one in read_source(source)] == ["c"]


def test_only_named_files_are_marked_as_such(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    assert [source.named for source in expand_paths([tmp_path, tmp_path / "a.json"])] == [
        False,
        True,
    ]


# Sessions without an id of their own


def write_chats(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("User: hi\nAssistant: hello\n")


def places(*paths: Path, roots: tuple[Path, ...] = ()) -> list[str]:
    return sorted(source.session_id for source in expand_paths(paths, roots=roots))


def test_a_session_without_an_id_is_named_by_its_place_below_the_root(tmp_path: Path) -> None:
    write_chats(tmp_path / "logs", "a/chat.txt", "b/chat.txt", "b/deep/chat.txt", "top.txt")
    assert places(tmp_path / "logs") == ["a/chat", "b/chat", "b/deep/chat", "logs/top"]


def test_the_same_log_has_the_same_place_by_name_and_by_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_chats(tmp_path / "logs", "a/chat.txt", "b/chat.txt")
    monkeypatch.chdir(tmp_path / "logs" / "a")
    assert places(Path("chat.txt"), Path("../b/chat.txt")) == ["a/chat", "b/chat"]
    assert places(Path()) == ["a/chat"]
    assert names(str(tmp_path / "logs" / "*" / "chat.txt")) == ["chat.txt", "chat.txt"]
    globbed = expand_paths([str(tmp_path / "logs" / "*" / "chat.txt")])
    assert sorted(source.session_id for source in globbed) == ["a/chat", "b/chat"]


def test_a_root_that_is_told_gives_a_single_log_its_place_there(tmp_path: Path) -> None:
    write_chats(tmp_path / "logs", "b/deep/chat.txt")
    chat = tmp_path / "logs" / "b" / "deep" / "chat.txt"
    assert places(chat) == ["deep/chat"]
    assert places(chat, roots=(tmp_path / "logs",)) == ["b/deep/chat"]


def test_a_member_of_an_archive_has_its_place_in_it(tmp_path: Path) -> None:
    write_chats(tmp_path / "logs", "a/chat.txt", "b/chat.txt")
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        zip_folder(tmp_path / "logs", tmp_path / name / "export.zip")
    assert places(tmp_path / "x" / "export.zip", tmp_path / "y" / "export.zip") == [
        "x/export/a/chat",
        "x/export/b/chat",
        "y/export/a/chat",
        "y/export/b/chat",
    ]


def test_a_long_place_is_shortened_and_stays_its_own(tmp_path: Path) -> None:
    deep = "/".join("x" * 60 for _ in range(5))
    write_chats(tmp_path, f"a/{deep}/chat.txt", f"b/{deep}/chat.txt")
    one, other = places(tmp_path)
    assert one != other
    assert max(len(one), len(other)) <= 200


def test_logs_of_one_name_do_not_share_a_session(tmp_path: Path, read_path: ReadLog) -> None:
    write_chats(tmp_path, "a/chat.txt", "b/chat.txt")
    conversations, _ = read_path(tmp_path / "a" / "chat.txt", tmp_path / "b" / "chat.txt")
    assert [one.session_id for one in conversations] == ["a/chat", "b/chat"]
