"""Codex rollouts, whose layers say the same, and the items of OpenAI's Responses."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from memsense.ingest import ReadOptions, ReadReport
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]
Json = dict[str, Any]

META = {"type": "session_meta", "payload": {"id": "s", "timestamp": "2026-01-01T00:00:00Z"}}


def item(role: str, text: str, **more: str) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    payload = {"type": "message", "role": role, "content": content, **more}
    return {"type": "response_item", "payload": payload}


def event(kind: str, text: str) -> Json:
    return {"type": "event_msg", "payload": {"type": kind, "message": text}}


def completed(kind: str, text: str) -> Json:
    content = [{"type": "text" if kind == "UserMessage" else "Text", "text": text}]
    inner = {"type": kind, "content": content}
    return {"type": "event_msg", "payload": {"type": "item_completed", "item": inner}}


def rolled_back(turns: int) -> Json:
    payload = {"type": "thread_rolled_back", "num_turns": turns}
    return {"type": "event_msg", "payload": payload}


def lines(*records: Json) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def said(conversations: list[Conversation]) -> list[tuple[str, str]]:
    return [(m.role, m.text) for one in conversations for m in one.messages]


def test_one_event_does_not_silence_the_items(read_log: ReadLog) -> None:
    turns = [item(role, f"{role} {n}") for n in range(6) for role in ("user", "assistant")]
    conversations, report = read_log(lines(META, *turns, event("agent_message", "a notice")))
    assert len(said(conversations)) == 13
    assert "same words in the other layer" not in report.skip_counts


def test_a_session_that_a_newer_program_resumed_keeps_both_halves(read_log: ReadLog) -> None:
    old = [event("user_message", "q1"), event("agent_message", "a1")]
    new = [item("user", "q2"), item("assistant", "a2")]
    conversations, _ = read_log(lines(META, *old, *new))
    assert said(conversations) == [
        ("user", "q1"),
        ("assistant", "a1"),
        ("user", "q2"),
        ("assistant", "a2"),
    ]


def test_three_layers_that_say_the_same_say_it_once(read_log: ReadLog) -> None:
    turn = [
        item("user", "yes"),
        event("user_message", "yes"),
        completed("UserMessage", "yes"),
        completed("AgentMessage", "done"),
        item("assistant", "done"),
        event("agent_message", "done"),
    ]
    conversations, report = read_log(lines(META, *turn, *turn))
    assert [text for _, text in said(conversations)] == ["yes", "done", "yes", "done"]
    assert report.skip_counts["same words in the other layer"] == 8
    assert report.messages_read == report.records


def test_an_item_with_context_around_the_words_is_the_event(read_log: ReadLog) -> None:
    at = {"timestamp": "2026-01-01T00:00:01Z"}
    log = lines(
        META, item("user", "# Context\nfile\nfix it") | at, event("user_message", "fix it") | at
    )
    conversations, _ = read_log(log)
    assert said(conversations) == [("user", "fix it")]


def test_the_same_words_later_are_said_again(read_log: ReadLog) -> None:
    first = event("user_message", "again") | {"timestamp": "2026-01-01T00:00:00Z"}
    later = item("user", "again") | {"timestamp": "2026-01-01T08:00:00Z"}
    conversations, _ = read_log(lines(META, first, later))
    assert said(conversations) == [("user", "again"), ("user", "again")]


def test_turns_that_were_rolled_back_are_left_out(read_log: ReadLog) -> None:
    def turn(n: int) -> list[Json]:
        return [item("user", f"q{n}"), event("user_message", f"q{n}"), item("assistant", f"a{n}")]

    log = lines(META, *turn(1), *turn(2), *turn(3), rolled_back(2), *turn(4))
    conversations, report = read_log(log)
    assert [text for _, text in said(conversations)] == ["q1", "a1", "q4", "a4"]
    assert report.skip_counts["rolled back"] == 4
    conversations, _ = read_log(log, ReadOptions(all_branches=True))
    assert len(said(conversations)) == 8
    conversations, _ = read_log(lines(META, *turn(1), rolled_back(9), *turn(2)))
    assert [text for _, text in said(conversations)] == ["q2", "a2"]


def test_a_sub_agents_rollout_is_a_sidechain(read_log: ReadLog) -> None:
    meta = {"type": "session_meta", "payload": {"id": "s", "source": {"subagent": "review"}}}
    log = lines(meta, item("user", "look"), item("assistant", "seen"))
    conversations, report = read_log(log)
    assert (conversations, report.skip_counts["sidechain"]) == ([], 2)
    conversations, _ = read_log(log, ReadOptions(sidechains=True))
    assert len(said(conversations)) == 2


def test_an_old_rollout_without_envelopes_is_of_codex(read_log: ReadLog) -> None:
    header = {"id": "s", "timestamp": "2025-05-01T10:00:00Z", "instructions": None}
    log = lines(header, item("user", "hi")["payload"], {"record_type": "state"})
    conversations, _ = read_log(log)
    assert (conversations[0].format, conversations[0].session_id) == ("codex", "s")


QUESTION: Json = {"role": "user", "content": [{"type": "input_text", "text": "q"}]}
ANSWER: Json = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "a", "annotations": []}],
}
THOUGHT: Json = {"type": "reasoning", "summary": []}
CALL: Json = {"type": "function_call", "name": "f", "arguments": "{}"}
RESPONSE: Json = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1767225600,
    "output": [THOUGHT, ANSWER],
}


@pytest.mark.parametrize(
    ("log", "session"),
    [
        (lines(QUESTION, THOUGHT, CALL, ANSWER), "log"),
        (json.dumps([QUESTION, THOUGHT, ANSWER]), "log"),
        (json.dumps({**RESPONSE, "input": [QUESTION]}), "resp_1"),
        (json.dumps({**RESPONSE, "conversation": {"id": "conv_1"}, "input": "q"}), "conv_1"),
        (
            json.dumps({"custom_id": "r1", "body": {"input": "q"}, "response": {"body": RESPONSE}}),
            "r1",
        ),
        (lines({"id": "l1", "request": {"input": [QUESTION]}, "response": RESPONSE}), "l1"),
        (json.dumps({"object": "list", "data": [QUESTION, THOUGHT, ANSWER]}), "log:1"),
    ],
)
def test_items_and_responses_are_read_as_what_they_are(
    log: str, session: str, read_log: ReadLog
) -> None:
    conversations, report = read_log(log)
    assert [one.format for one in conversations] == ["openai_responses"]
    assert conversations[0].session_id == session
    assert said(conversations) == [("user", "q"), ("assistant", "a")]
    assert report.skip_counts["thinking"] == 1


def test_a_page_of_a_conversation_tells_the_newest_first(read_log: ReadLog) -> None:
    data = [ANSWER | {"created_at": 1767225602}, QUESTION | {"created_at": 1767225601}]
    page = {"object": "list", "data": data, "first_id": "msg_1", "last_id": "msg_0"}
    conversations, _ = read_log(json.dumps(page))
    assert said(conversations) == [("user", "q"), ("assistant", "a")]


@pytest.mark.parametrize("backward", [True, False])
def test_a_page_without_times_begins_with_the_question(backward: bool, read_log: ReadLog) -> None:
    data = [ANSWER, QUESTION] if backward else [QUESTION, ANSWER]
    page = {"object": "list", "data": data, "first_id": "x", "last_id": "y"}
    conversations, _ = read_log(json.dumps(page))
    assert said(conversations) == [("user", "q"), ("assistant", "a")]


def test_a_file_in_a_request_is_named(read_log: ReadLog) -> None:
    block = {"type": "input_file", "filename": "plan.pdf", "file_data": "..."}
    question = {"role": "user", "content": [{"type": "input_text", "text": "read"}, block]}
    conversations, _ = read_log(lines(question, ANSWER))
    assert said(conversations)[0] == ("user", "read\n\n[file: plan.pdf]")
