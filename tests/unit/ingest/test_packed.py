"""Archives beside zip: gzip, tar and tar.gz; what leads out of them or never ends is refused."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memsense.errors import IngestError
from memsense.ingest import ReadReport, archives, expand_paths, read_source
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

CHAT = "[24/12/24, 12:23:01] Ana: {}\n[24/12/24, 12:24:02] Bo: fine\n"
LOG = '{{"messages": [{{"role": "user", "content": "{}"}}]}}\n'


def write_tar(path: Path, members: dict[str, str], mode: str = "w") -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            data = text.encode()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    data = buffer.getvalue()
    path.write_bytes(gzip.compress(data) if mode == "w:gz" else data)
    return path


def said(conversations: list[Conversation]) -> list[str]:
    return [m.text for one in conversations for m in one.messages]


def test_a_log_compressed_with_gzip_is_read_as_itself(tmp_path: Path, read_path: ReadLog) -> None:
    (tmp_path / "chat.txt.gz").write_bytes(gzip.compress(CHAT.format("hi").encode()))
    conversations, report = read_path(tmp_path / "chat.txt.gz")
    assert said(conversations) == ["hi", "fine"]
    assert report.detected[str(tmp_path / "chat.txt.gz")][0] == "whatsapp"
    assert conversations[0].session_id.startswith(f"{tmp_path.name}/chat/")


@pytest.mark.parametrize(
    ("name", "mode"), [("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz")]
)
def test_the_logs_of_a_tar_are_read(
    name: str, mode: str, tmp_path: Path, read_path: ReadLog
) -> None:
    members = {"./x/log.jsonl": LOG.format("one"), "y/log.jsonl": LOG.format("two"), "a.png": "x"}
    path = write_tar(tmp_path / name, members, mode)
    conversations, report = read_path(path)
    assert said(conversations) == ["one", "two"]
    assert list(report.detected) == [f"{path}/x/log.jsonl", f"{path}/y/log.jsonl"]
    assert len({one.session_id for one in conversations}) == 2


def test_archives_in_a_folder_are_looked_into_where_they_can_hold_logs(
    tmp_path: Path, read_path: ReadLog
) -> None:
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(LOG.format("one").encode()))
    (tmp_path / "dump.sql.gz").write_bytes(gzip.compress(b"SELECT 1"))
    write_tar(tmp_path / "old.tar.gz", {"log.jsonl": LOG.format("two")}, "w:gz")
    conversations, report = read_path(tmp_path)
    assert sorted(said(conversations)) == ["one", "two"]
    assert report.skip_counts == {"file of another kind": 1}


def test_a_compressed_stream_is_read_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(LOG.format("hi").encode()))

    monkeypatch.setattr("sys.stdin", Stdin())
    (source,) = expand_paths(["-"])
    assert said(list(read_source(source))) == ["hi"]


@pytest.mark.parametrize(
    "name", ["../out.jsonl", "/etc/out.jsonl", "a/../../out.jsonl", "..\\out.jsonl", "C:/out.jsonl"]
)
@pytest.mark.parametrize("form", ["tar", "zip"])
def test_a_member_that_leads_out_is_refused_by_name(
    form: str, name: str, tmp_path: Path, read_path: ReadLog
) -> None:
    path = tmp_path / f"a.{form}"
    members = {name: LOG.format("out"), "in.jsonl": LOG.format("in")}
    if form == "tar":
        write_tar(path, members)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for member, text in members.items():
                archive.writestr(member, text)
    conversations, report = read_path(path)
    assert said(conversations) == ["in"]
    tally = report.skipped["path that leads out of its archive"]
    assert (tally.unit, tally.examples) == ("file", [(f"{path}/{name}", None)])


def test_a_link_in_a_tar_is_refused_by_name(tmp_path: Path, read_path: ReadLog) -> None:
    path = write_tar(tmp_path / "a.tar", {"in.jsonl": LOG.format("in")})
    with tarfile.open(path, "a") as archive:
        info = tarfile.TarInfo("link.jsonl")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    conversations, report = read_path(path)
    assert said(conversations) == ["in"]
    assert report.skipped["not a regular file"].examples == [(f"{path}/link.jsonl", None)]


@pytest.mark.parametrize("name", ["log.jsonl.gz", "logs.tar.gz"])
def test_what_expands_without_end_is_refused_by_name(
    name: str, tmp_path: Path, read_path: ReadLog
) -> None:
    # Spaces, not line ends: to count empty lines took a second for each archive.
    bomb = LOG.format("hi") + " " * (20 << 20)
    path = tmp_path / name
    if name.endswith(".tar.gz"):
        write_tar(path, {"log.jsonl": bomb}, "w:gz")
    else:
        path.write_bytes(gzip.compress(bomb.encode()))
    with pytest.raises(IngestError, match=rf"{name}.*more than 16,777,216 bytes, and 50 times"):
        read_path(path)


def test_a_compressed_log_may_hold_so_many_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LARGEST_ARCHIVE", 1_000)
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress((LOG.format("hi") * 100).encode()))
    (source,) = expand_paths([path])
    with pytest.raises(IngestError, match="more than 1,000 bytes"):
        list(read_source(source))


@pytest.mark.parametrize("name", ["log.jsonl.gz", "logs.tar.gz", "logs.tar"])
def test_a_damaged_archive_is_an_error_that_names_it(
    name: str, tmp_path: Path, read_path: ReadLog
) -> None:
    mode = "w:gz" if name.endswith("gz") else "w"
    path = write_tar(tmp_path / "whole", {"log.jsonl": LOG.format("hi") * 1_000}, mode)
    if name == "log.jsonl.gz":
        path.write_bytes(gzip.compress((LOG.format("hi") * 1_000).encode()))
    data = path.read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(IngestError, match=name):
        read_path(tmp_path / name)
