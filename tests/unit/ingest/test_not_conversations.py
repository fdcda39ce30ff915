"""What is no conversation is refused, however much it looks like one; guessing needs evidence."""

import json
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from foreign_code import CODE
from foreign_words import WORDS

from memsense.errors import IngestError
from memsense.ingest import ReadOptions, ReadReport, detect, expand_paths
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

CORPUS = {**CODE, **WORDS}
TRANSCRIPT = "Ana: hi there\nBo: hello\nAna: how are you\nBo: fine\n"


def test_the_corpus_is_large() -> None:
    assert len(CORPUS) == len(CODE) + len(WORDS) >= 60


@pytest.mark.parametrize("name", CORPUS)
def test_what_is_no_conversation_is_refused_with_any_line_ends(
    name: str, read_log: ReadLog
) -> None:
    with pytest.raises(IngestError, match=r"not a conversation that memsense knows.*--format NAME"):
        read_log(CORPUS[name], name=name)
    with pytest.raises(IngestError, match="not a conversation"):
        read_log(CORPUS[name].replace("\n", "\r\n"), name=name)


def test_no_file_of_installed_packages_is_taken_for_a_conversation() -> None:
    # They are what a folder holds beside logs: tables, settings, licences, pages.
    root = Path(sysconfig.get_path("purelib"))
    suffixes = {".json", ".csv", ".txt", ".md", ".jsonl"}
    files = sorted(path for path in root.rglob("*") if path.suffix in suffixes and path.is_file())
    assert len(files) >= 100
    taken: list[tuple[str, str]] = []
    for path in files[:: max(1, len(files) // 300)][:300]:
        (source,) = expand_paths([str(path)])
        with suppress(IngestError):
            if (detection := detect(replace(source, named=False))) is not None:
                taken.append((source.label, detection.format))
    assert taken == []


def test_times_that_go_up_and_down_are_no_chat(read_log: ReadLog) -> None:
    moments = ["2/3/26, 19:05", "1/3/26, 08:10", "9/3/26, 12:00", "1/3/26, 07:30", "4/3/26, 10:00"]
    lines = [f"{moment} - Nils: a board of oak\n" for moment in moments]
    with pytest.raises(IngestError, match="not a conversation"):
        read_log("".join(lines), name="list.txt")
    # One may go back: somebody has set the clock.
    conversations, _ = read_log("".join([*sorted(lines), lines[0]]), name="chat.txt")
    assert sum(len(one.messages) for one in conversations) == 6


QUESTIONS = (
    ("Where is the loom?", "In the mill by the river."),
    ("Who owns it?", "The weavers of the town."),
    ("When was it built?", "In the spring of the flood."),
)
REQUESTS = [
    {"method": "POST", "url": "/looms", "status": 201, "body": "a loom by the river"},
    {"method": "GET", "url": "/looms/1", "status": 200, "body": "the loom of the town"},
]


def _as_lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _as_table(*names: str, first: str = "") -> str:
    rows = [",".join(names), *(",".join((first, *row) if first else row) for row in QUESTIONS)]
    return "\n".join(rows) + "\n"


OF_FACTS = {
    "faq.csv": _as_table("question", "answer"),
    "flashcards.csv": _as_table("prompt", "response"),
    "tuning.csv": _as_table("instruction", "output"),
    "exam.csv": _as_table("subject", "question", "answer", first="weaving"),
    "faq.jsonl": _as_lines(*({"question": q, "answer": a} for q, a in QUESTIONS)),
    "faq.json": json.dumps([{"question": q, "answer": a} for q, a in QUESTIONS]),
    "numbered.json": json.dumps(
        [{"id": n, "question": q, "answer": a} for n, (q, a) in enumerate(QUESTIONS, 1)]
    ),
    "squad.json": json.dumps(
        {"data": [{"title": "Looms", "paragraphs": [{"context": "A mill.", "qas": [
            {"id": "1", "question": q, "answers": [{"text": a}]} for q, a in QUESTIONS
        ]}]}]}
    ),
    "mmlu.jsonl": _as_lines(
        *({"question": q, "choices": [a, "no"], "answer": 0} for q, a in QUESTIONS)
    ),
    "gsm.jsonl": _as_lines(*({"question": q, "answer": f"{a} #### 4"} for q, a in QUESTIONS)),
    "requests.jsonl": _as_lines(*REQUESTS),
    "requests.json": json.dumps(REQUESTS),
    "proxy.jsonl": _as_lines(
        *({"time": "2026-03-01T10:00:00Z", "request": one, "response": {"status": 200}}
          for one in REQUESTS)
    ),
    "har.json": json.dumps(
        {"log": {"version": "1.2", "entries": [
            {"startedDateTime": "2026-03-01T10:00:00Z", "request": one,
             "response": {"status": 200, "content": {"text": "a loom"}}} for one in REQUESTS
        ]}}
    ),
    "embeddings.jsonl": _as_lines(
        {"request": {"model": "m", "input": "a loom"}, "response": {"data": [{"embedding": [0]}]}}
    ),
    "webhooks.jsonl": _as_lines(
        *({"event": "loom.built", "id": str(n), "data": {"object": one}}
          for n, one in enumerate(REQUESTS))
    ),
}  # fmt: skip
"""Tables of facts and logs of requests, as data sets, exams, proxies and browsers write them."""


@pytest.mark.parametrize("name", OF_FACTS)
def test_questions_of_a_data_set_and_logs_of_requests_are_never_taken_outright(
    name: str, tmp_path: Path, read_path: ReadLog
) -> None:
    (tmp_path / name).write_text(OF_FACTS[name])
    conversations: list[Conversation] = []
    # They are refused, or only guessed to be conversations.
    with suppress(IngestError):
        conversations, _ = read_path(tmp_path)
    assert conversations == []


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
