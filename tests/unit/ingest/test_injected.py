"""What a memory or a hook put into a message is never stored again, whatever the format."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from small_logs import SMALL_LOGS, lines

from memsense.ingest import READERS, ReadOptions, ReadReport
from memsense.ingest.injected import WRAPPERS, strip_injected
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]


def said(conversations: list[Conversation]) -> list[str]:
    return [message.text for one in conversations for message in one.messages]


def test_every_format_has_a_small_log() -> None:
    assert set(SMALL_LOGS) >= set(READERS)


@pytest.mark.parametrize("form", SMALL_LOGS)
def test_a_small_log_is_recognised_and_says_what_it_says(form: str, read_log: ReadLog) -> None:
    options = ReadOptions(format="text") if form == "text" else None
    conversations, report = read_log(SMALL_LOGS[form]("how are you?"), options)
    assert said(conversations) == ["how are you?", "fine"]
    # Neither another reader takes it nor a format as a file.
    assert report.detected["log.jsonl"][0] == form
    assert report.injected_blocks == 0


@pytest.mark.parametrize("form", SMALL_LOGS)
def test_what_was_injected_is_left_out_of_every_format(form: str, read_log: ReadLog) -> None:
    texts: dict[str, str] = {}
    for wrapper in WRAPPERS:
        block = f"<{wrapper}>\nA secret from before.\nUser: an old turn\n</{wrapper}>"
        log = SMALL_LOGS[form](f"{block}\nhow are you?\n{block}")
        conversations, _ = read_log(log, ReadOptions(format=form))
        texts[wrapper] = "".join(said(conversations)).replace("\n", "")
    assert texts == dict.fromkeys(WRAPPERS, "how are you?fine")


def test_a_message_of_nothing_else_is_left_out_and_counted(read_log: ReadLog) -> None:
    block = "<hook_context>a</hook_context>"
    conversations, report = read_log(SMALL_LOGS["openai_messages"](f" {block} {block}"))
    assert said(conversations) == ["fine"]
    assert report.skip_counts == {"injected context": 1}
    assert report.injected_blocks == 2


@pytest.mark.parametrize(
    "text",
    [
        "what does <hook_context> mean?",
        "the tag </hook_context> closes",
        "<b>bold</b> and <memory>mine</memory>",
        "</hook_context> before <hook_context>",
    ],
)
def test_a_persons_own_words_stay(text: str, read_log: ReadLog) -> None:
    conversations, _ = read_log(SMALL_LOGS["openai_messages"](text))
    assert said(conversations) == [text, "fine"]


def test_a_block_ends_at_its_own_tag() -> None:
    text = "a <hook_context> <system-reminder> x </hook_context> b </system-reminder>"
    assert strip_injected(text) == ("a  b </system-reminder>", 1)
    assert strip_injected("a\n<hook_context>\nx\n</hook_context>b", keep_lines=True) == (
        "a\n\n\nb",
        1,
    )


# Gemini CLI's folder


def write_gemini(folder: Path) -> None:
    (folder / "chats").mkdir(parents=True)
    messages = [
        {"id": "a", "type": "user", "content": [{"text": "hi<hook_context>x</hook_context>"}]},
        {"id": "b", "type": "gemini", "content": "hello"},
        {"id": "c", "type": "info", "content": "a notice"},
    ]
    chat = {"sessionId": "s1", "projectHash": "h", "messages": messages}
    (folder / "chats" / "session-1.json").write_text(json.dumps(chat))
    prompts = [
        {"sessionId": "s1", "messageId": 0, "type": "user", "message": "hi"},
        {"sessionId": "s0", "messageId": 0, "type": "user", "message": "from before"},
        {"sessionId": "s0", "messageId": 1, "type": "user", "message": "and after"},
    ]
    (folder / "logs.json").write_text(json.dumps(prompts))


def test_a_prompt_in_gemini_s_log_of_prompts_counts_once(
    tmp_path: Path, read_path: ReadLog
) -> None:
    write_gemini(tmp_path / "tmp" / "h")
    conversations, report = read_path(tmp_path)
    assert {one.session_id: said([one]) for one in conversations} == {
        "s1": ["hi", "hello"],
        "s0": ["from before", "and after"],
    }
    assert report.skip_counts == {"not a message": 1, "in the log of its session, too": 1}
    assert report.messages_read == 6


def test_a_growing_gemini_session_is_told_by_its_changes(read_log: ReadLog) -> None:
    log = lines(
        {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"},
        {"id": "a", "type": "user", "content": "one", "timestamp": "2026-01-01T00:00:01Z"},
        {"id": "b", "type": "gemini", "content": ""},
        {"id": "b", "type": "gemini", "content": "two"},
        {"$set": {"lastUpdated": "2026-01-01T00:00:02Z"}},
        {"id": "c", "type": "user", "content": "three"},
        {"$rewindTo": "c"},
        {"id": "d", "type": "user", "content": "four"},
    )
    conversations, report = read_log(log)
    assert said(conversations) == ["one", "two", "four"]
    assert conversations[0].session_id == "s"
    assert report.skip_counts["rolled back"] == 1
    conversations, _ = read_log(log, ReadOptions(all_branches=True))
    assert said(conversations) == ["one", "two", "three", "four"]


def test_a_gemini_sub_agent_is_a_sidechain(read_log: ReadLog) -> None:
    log = lines(
        {"sessionId": "s", "projectHash": "h", "kind": "subagent"},
        {"id": "a", "type": "user", "content": "look"},
    )
    conversations, report = read_log(log)
    assert (conversations, report.skip_counts["sidechain"]) == ([], 1)
    conversations, _ = read_log(log, ReadOptions(sidechains=True))
    assert said(conversations) == ["look"]
