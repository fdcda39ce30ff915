"""Archives are read as streams, and none takes more memory than its size lets expect."""

import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from memsense.errors import IngestError
from memsense.ingest import ReadReport, archives, expand_paths, read_source
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

MEGABYTE = 1 << 20

READ_ALL = """
import json, resource, sys
from pathlib import Path
from memsense.errors import IngestError
from memsense.ingest import expand_paths, read_source
def peak():
    # Not the kernel's ru_maxrss, which on Linux begins with the memory of the process before.
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
before = peak()
for path in sys.argv[1:]:
    try:
        conversations = messages = 0
        for source in expand_paths([path]):
            for conversation in read_source(source):
                conversations += 1
                messages += len(conversation.messages)
        said = [conversations, messages]
    except IngestError as error:
        said = str(error)
    print(json.dumps([said, peak() - before]))
"""


def read_in_a_process(*paths: Path) -> list[tuple[list[int] | str, int]]:
    """Return for each path its conversations and messages, or the error, and the growth so far.

    The growth is that of the process, in bytes.
    """
    command = [sys.executable, "-c", READ_ALL, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def write_archive(path: Path, name: str, pieces: Iterable[str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(name, "w", force_zip64=True) as member:
            for piece in pieces:
                member.write(piece.encode())
    return path


def chats(count: int) -> Iterable[str]:
    """A list of conversations of 100 kB, which shrink to a fourteenth."""
    chance = random.Random(1)
    words = [f"{chance.getrandbits(80):x}" for _ in range(40)]
    # As many texts as no window of the compression holds, so that none is a copy of another.
    texts = [" ".join(chance.choices(words, k=480)) for _ in range(40)]
    for number in range(count):
        messages = [{"sender": "human", "text": chance.choice(texts)} for _ in range(10)]
        chat = json.dumps({"uuid": f"c{number}", "chat_messages": messages})
        yield f"{',' if number else '['}{chat}\n"
    yield "]"


ENTRY = "[24/12/24, 12:23:01] Ana: hello, hello, hello, hello, hello, hello, hello, hello\n"
# Each with the head of its member, and with what follows again and again.
BOMBS = {
    "chats": ("_chat.txt", ENTRY * 3, ENTRY * 10_000),
    "one line": ("_chat.txt", ENTRY * 3, "a" * MEGABYTE),
    "one text": ("conversations.json", '[{"chat_messages": [{"text": "', "a" * MEGABYTE),
    "empty lines": (
        "log.jsonl",
        '{"type": "user", "uuid": "1", "message": {}}',
        "\n" * MEGABYTE,
    ),
}


def test_a_member_that_expands_a_thousand_times_is_refused_before_it_is_read(
    tmp_path: Path,
) -> None:
    paths: list[Path] = []
    for kind, (name, head, unit) in BOMBS.items():
        count = 24 * MEGABYTE // len(unit)
        pieces = (head, *(unit for _ in range(count)))
        paths.append(write_archive(tmp_path / f"{kind}.zip", name, pieces))
    # One process reads all four, and the growth is that of all so far.
    answers = dict(zip(BOMBS, read_in_a_process(*paths), strict=True))
    for kind, (said, grown) in answers.items():
        assert isinstance(said, str), kind
        assert f"{kind}.zip/{BOMBS[kind][0]}" in said
        assert "more than 50 times" in said
        assert grown < 8 * MEGABYTE, kind


def test_a_large_archive_is_read_without_holding_it(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "export.zip", "conversations.json", chats(200))
    with zipfile.ZipFile(path) as archive:
        assert archive.infolist()[0].file_size > archives.FREE_EXPANSION
    [(said, grown)] = read_in_a_process(path)
    assert said == [200, 2_000]
    assert grown < 8 * MEGABYTE


def test_small_members_may_shrink_as_much_as_they_like(tmp_path: Path, read_path: ReadLog) -> None:
    # Few long messages: what each message takes is not the question here.
    entry = ENTRY.rstrip("\n") + ", hello" * 1_200 + "\n"
    path = write_archive(tmp_path / "log.zip", "_chat.txt", [entry] * 1_000)
    assert len(entry) * 1_000 > 50 * path.stat().st_size
    conversations, _ = read_path(path)
    assert sum(len(one.messages) for one in conversations) == 1_000


def test_members_that_share_their_bytes_are_refused_together(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "log.zip", "a.txt", [ENTRY] * 100_000)
    with zipfile.ZipFile(path, "a") as archive:
        (info,) = archive.infolist()
        archive.filelist += [info] * 10
        archive._didModify = True  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(IngestError, match=r"log\.zip: .* more than 50 times"):
        expand_paths([path])


def test_an_archive_may_hold_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST_ARCHIVE", 1_000)
    path = write_archive(tmp_path / "log.zip", "_chat.txt", [ENTRY] * 100)
    with pytest.raises(IngestError, match=r"log\.zip: .* 8,\d00 bytes, more than 1,000"):
        expand_paths([path])


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_cannot_be_unpacked_piece_by_piece_is_refused(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "log.zip", "w", method) as archive:
        archive.writestr("_chat.txt", ENTRY * 100)
    (source,) = expand_paths([tmp_path / "log.zip"])
    with pytest.raises(IngestError, match=r"log\.zip/_chat\.txt: compressed by method"):
        list(read_source(source))


def test_a_log_that_is_refused_leaves_the_others_readable(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "log.zip", "large.txt", ["a" * MEGABYTE] * 20)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("small.txt", ENTRY * 3)
    large, small = expand_paths([path])
    with pytest.raises(IngestError, match="20,971,520 bytes, more than 50 times"):
        list(read_source(large))
    assert [len(one.messages) for one in read_source(small)] == [3]


def test_a_broken_archive_of_a_folder_stops_no_other_log(tmp_path: Path) -> None:
    row = json.dumps({"session_id": "s", "role": "user", "content": "I own a kayak."})
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "whole.jsonl").write_text(row)
    found = {source.name: source for source in expand_paths([tmp_path])}
    assert [len(list(read_source(found["whole.jsonl"])))] == [1]
    with pytest.raises(IngestError, match=r"broken\.zip: the archive can't be read"):
        list(read_source(found["broken.zip"]))
    with pytest.raises(IngestError, match=r"broken\.zip: the archive can't be read"):
        expand_paths([tmp_path / "broken.zip"])
