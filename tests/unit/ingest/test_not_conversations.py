"""What is no conversation is refused, however much it looks like one; guessing needs evidence."""

from collections.abc import Callable
from pathlib import Path

import pytest
from foreign_code import CODE
from foreign_words import WORDS

from memsense.errors import IngestError
from memsense.ingest import ReadOptions, ReadReport
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

CORPUS = {**CODE, **WORDS}
TRANSCRIPT = "Ana: hi there\nBo: hello\nAna: how are you\nBo: fine\n"


def test_the_corpus_is_large() -> None:
    assert len(CORPUS) == len(CODE) + len(WORDS) >= 60


@pytest.mark.parametrize("name", CORPUS)
def test_what_is_no_conversation_is_refused(name: str, read_log: ReadLog) -> None:
    with pytest.raises(IngestError, match=r"not a conversation that memsense knows.*--format NAME"):
        read_log(CORPUS[name], name=name)


@pytest.mark.parametrize("name", CORPUS)
def test_what_is_no_conversation_is_refused_with_windows_line_ends(
    name: str, read_log: ReadLog
) -> None:
    with pytest.raises(IngestError, match="not a conversation"):
        read_log(CORPUS[name].replace("\n", "\r\n"), name=name)


def test_the_format_insists(read_log: ReadLog) -> None:
    log = CORPUS["level.log.txt"]
    conversations, _ = read_log(log, ReadOptions(format="transcript"), name="level.log.txt")
    assert conversations[0].participants == ("INFO", "DEBUG", "ERROR")


@pytest.mark.parametrize(
    "log",
    [
        "User: hi\nAssistant: hello",
        "user: what is a route?\nassistant: one ranked list of memories",
        "# My chat\n\n## User\n\nhi\n\n## Assistant\n\n# A title\n\nhello\n",
        "**You:** hi\n\n**ChatGPT:** hello\n",
        "Q: why?\nA: because\nQ: since when?\nA: always\n",
        "# Exported\n\n**Created:** today\n\n## Prompt:\nhi\n\n## Response:\nhello\n\n## Prompt:\n"
        "more\n\n## Response:\nno\n",
        "User: write code\nAssistant: here:\n```\nError: x\nError: y\n```\nUser: thanks\nAI: ok\n",
        TRANSCRIPT,
        "Speaker 1: good morning\nSpeaker 2: hello\nSpeaker 1: shall we\nSpeaker 2: yes\n",
        "sender,text\nana,hi\nbo,hello\nana,news?\nbo,no\n",
        '{"sender": "ana", "text": "hi"}\n{"sender": "bo", "text": "yo"}\n' * 2,
        "author,message\nana,hi\nbo,hello\nana,news?\nbo,no\nana,pity\nbo,yes\n",
    ],
)
def test_a_log_with_evidence_is_taken_for_a_conversation(log: str, read_log: ReadLog) -> None:
    conversations, report = read_log(log, name="chat.txt")
    assert len(conversations) == 1
    assert report.messages_kept >= 2


def test_what_is_guessed_is_left_out_of_a_folder_unless_asked_for(
    tmp_path: Path, read_path: ReadLog
) -> None:
    (tmp_path / "chat.txt").write_text(TRANSCRIPT)
    (tmp_path / "known.jsonl").write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    conversations, report = read_path(tmp_path)
    assert [one.format for one in conversations] == ["openai_messages"]
    (reason,) = report.skipped
    assert "--guessed" in reason
    assert report.skipped[reason].unit == "file"
    assert report.skipped[reason].examples == [(str(tmp_path / "chat.txt"), None)]
    conversations, _ = read_path(tmp_path, options=ReadOptions(guessed=True))
    assert {one.format for one in conversations} == {"openai_messages", "transcript"}
    conversations, _ = read_path(tmp_path / "chat.txt")
    assert [one.format for one in conversations] == ["transcript"]
    (tmp_path / "known.jsonl").unlink()
    conversations, _ = read_path(tmp_path, options=ReadOptions(format="transcript"))
    assert [one.format for one in conversations] == ["transcript"]
