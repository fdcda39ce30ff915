"""Which reader a log is for, and that what is nobody's is refused."""

import json
from collections.abc import Callable

import pytest

from memsense.errors import IngestError
from memsense.ingest import READERS, ReadOptions, ReadReport
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

USER = {"role": "user", "content": "hi"}
NODE = {
    "parent": None,
    "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hi"]}},
}


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("chatgpt", {"id": "c", "mapping": {"a": NODE}}),
        ("chatgpt", {"conversations": [{"id": "c", "mapping": {"a": NODE}}]}),
        ("chatgpt", {"chats": [{"id": "g", "messages": [{"role": "user", "text": "hi"}]}]}),
        # Both kinds of bundle hold lists of messages; the sender tells them apart.
        ("claude_ai", [{"uuid": "c", "chat_messages": [{"sender": "human", "text": "hi"}]}]),
        ("gemini_cli", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
        ("gemini_cli", {"messages": [USER, {"role": "model", "content": "ok"}]}),
        ("gemini_cli", {"chunkedPrompt": {"chunks": [{"role": "user", "text": "hi"}]}}),
        ("openai_messages", {"messages": [USER]}),
        ("openai_messages", [{"messages": [USER]}, {"messages": [USER, USER]}]),
        ("openai_messages", [USER]),
        ("openai_messages", {"custom_id": "r", "body": {"messages": [USER]}}),
        ("openai_messages", {"history": [{"message": USER}]}),
        ("langchain", [{"type": "human", "content": "hi"}]),
        ("langchain", {"messages": [{"type": "human", "content": "hi"}]}),
        ("langchain", {"channel_values": {"messages": [{"type": "human", "content": "hi"}]}}),
        ("sharegpt", {"conversations": [{"from": "human", "value": "hi"}]}),
        ("sharegpt", {"conversations": [{"human": "hi", "assistant": "ok"}]}),
        ("slack", [{"type": "message", "user": "U1", "text": "hi", "ts": "1452837318.000002"}]),
        ("rows", [{"session_id": "s", **USER}]),
        ("rows", USER),
        ("rows", {"instruction": "do", "input": "this", "output": "done"}),
        (
            "openai_responses",
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        ),
        ("openclaw", {"type": "message", "parentId": None, "message": USER}),
    ],
)
def test_a_small_log_is_recognised(form: str, value: object, read_log: ReadLog) -> None:
    conversations, report = read_log(json.dumps(value))
    assert report.detected["log.jsonl"][0] == form
    assert report.messages_kept >= 1
    assert conversations[0].format == form


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("signal", "[2024-12-24, 12:23] Ana: hi\n[2024-12-24, 12:24] Bo: hello"),
        ("whatsapp", "[24/12/24, 12:23:01] Ana: hi\n[24/12/24, 12:24:59] Bo: hello"),
        ("whatsapp", "24.12.24, 12:23 - Ana: hi\nand more\n24.12.24, 12:24 - Bo: hello"),
        ("whatsapp", "[2026/7/9 02:28:09] Bob:Hi\n[2026/7/9 02:28:10] Ana:Hello"),
        ("transcript", "User: hi\nAssistant: hello"),
        ("transcript", "Ana: hi\nBo: hello\nAna: how are you\nBo: fine"),
        ("transcript", "## User\n\nhi\n\n## Assistant\n\nhello"),
        ("transcript", "> a question\nan answer\n\n> another\nanswer\n> third\nanswer"),
        ("rows", "role;content\nuser;hi\nassistant;hello"),
        ("rows", "sep=;\nrole;content\nuser;hi"),
        ("rows", "question,answer\nhi,hello"),
    ],
)
def test_a_text_log_is_recognised(form: str, text: str, read_log: ReadLog) -> None:
    _, report = read_log(text, name="log.txt")
    assert report.detected["log.txt"][0] == form
    assert report.messages_kept >= 1


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "a-package", "version": "1.0", "dependencies": {"x": "1"}}',
        "[1, 2, 3]",
        '[{"type": "Feature", "name": "a place"}]',
        '{"a": 1}\n{"b": 2}',
        '{"key": "User: hi\\nAssistant: hello"}',
    ],
)
def test_json_that_nobody_reads_is_an_error_that_names_the_file(
    text: str, read_log: ReadLog
) -> None:
    with pytest.raises(IngestError, match=r"notes\.json: not a .*JSON in a form"):
        read_log(text, name="notes.json")


def test_prose_is_refused_unless_asked_for(read_log: ReadLog) -> None:
    prose = "It rained.\n\nNote: bring a coat.\nThen it stopped.\n"
    with pytest.raises(IngestError, match=r"notes\.txt: .*--format text"):
        read_log(prose, name="notes.txt")
    conversations, _ = read_log(prose, ReadOptions(format="text"), name="notes.txt")
    assert [message.text for message in conversations[0].messages] == [
        "It rained.",
        "Note: bring a coat.\nThen it stopped.",
    ]
    assert {message.role for message in conversations[0].messages} == {"other"}


def test_a_format_by_name_overrides_what_the_content_says(read_log: ReadLog) -> None:
    conversations, report = read_log(json.dumps(USER), ReadOptions(format="openai_messages"))
    assert conversations[0].format == "openai_messages"
    assert report.detected["log.jsonl"] == ("openai_messages", "chosen by the caller")


def test_an_unknown_format_is_an_error(read_log: ReadLog) -> None:
    with pytest.raises(IngestError, match="unknown format 'nonsense'"):
        read_log("{}", ReadOptions(format="nonsense"))


def test_a_log_is_recognised_behind_a_long_beginning(read_log: ReadLog) -> None:
    value = [{"id": "c", "title": "x" * 300_000, "mapping": {"a": NODE}}]
    _, report = read_log(json.dumps(value))
    assert report.detected["log.jsonl"][0] == "chatgpt"


def test_a_first_element_cut_by_the_look_ahead_is_recognised(read_log: ReadLog) -> None:
    nodes = {f"n{i}": NODE for i in range(2_000)}
    _, report = read_log(json.dumps([{"id": "c", "mapping": nodes}], indent=2))
    assert report.detected["log.jsonl"][0] == "chatgpt"


def test_every_reader_has_its_own_name() -> None:
    assert [reader.name for reader in READERS.values()] == list(READERS)
