"""Agents and chats known as themselves: Droid, Qwen Code, Goose, Grok, DeepSeek; Alpaca's rows."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from small_logs import SMALL_LOGS, lines

from memsense.ingest import ReadOptions, ReadReport
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]
Json = dict[str, Any]


def said(conversations: list[Conversation]) -> list[tuple[str, str]]:
    return [(m.role, m.text) for one in conversations for m in one.messages]


# Alpaca


def test_rows_of_instruction_and_output_are_conversations_of_their_own(read_log: ReadLog) -> None:
    rows = [{"instruction": f"do {n}", "input": "", "output": f"done {n}"} for n in range(3)]
    conversations, _ = read_log(json.dumps(rows, indent=1), name="alpaca.json")
    assert [said([one]) for one in conversations] == [
        [("user", f"do {n}"), ("assistant", f"done {n}")] for n in range(3)
    ]
    again, _ = read_log(
        json.dumps([*rows, rows[0] | {"output": "x"}], indent=1), name="alpaca.json"
    )
    assert [one.session_id for one in again][:3] == [one.session_id for one in conversations]
    assert len(again) == 4


def test_questions_and_answers_of_a_log_stay_one_conversation(read_log: ReadLog) -> None:
    conversations, _ = read_log("question,answer\nhi,hello\nhow,fine\n", name="t.csv")
    assert len(conversations) == 1


# Droid


def test_a_droid_run_ends_in_its_final_text(read_log: ReadLog) -> None:
    log = lines(
        {"type": "system", "subtype": "init", "session_id": "s1"},
        {"type": "message", "role": "user", "id": "a", "text": "look", "session_id": "s1"},
        {"type": "tool_call", "toolName": "Read", "session_id": "s1"},
        {"type": "message", "role": "assistant", "id": "b", "text": "looking", "session_id": "s1"},
        {"type": "completion", "finalText": "all is well", "session_id": "s1"},
    )
    conversations, report = read_log(log)
    assert (conversations[0].format, conversations[0].session_id) == ("droid", "s1")
    assert said(conversations) == [
        ("user", "look"),
        ("assistant", "looking"),
        ("assistant", "all is well"),
    ]
    assert report.skip_counts == {"not a message": 2}
    conversations, report = read_log(log.replace("all is well", "looking"))
    assert len(said(conversations)) == 2
    assert report.skip_counts["repeated message"] == 1


def test_a_droid_session_keeps_its_id_and_leaves_tools_out(read_log: ReadLog) -> None:
    blocks = [{"type": "text", "text": "<system-reminder>rules</system-reminder>"}]
    log = SMALL_LOGS["droid"]("hi") + lines(
        {
            "type": "message",
            "id": "c",
            "parentId": "b",
            "message": {"role": "user", "content": blocks},
        },
        {
            "type": "message",
            "id": "d",
            "parentId": "c",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "assistant", "content": [{"type": "tool_use", "name": "Read"}]},
        },
        {"type": "todo_state"},
    )
    conversations, report = read_log(log)
    assert conversations[0].session_id == "s"
    assert len(said(conversations)) == 2
    assert report.skip_counts == {"not a message": 2, "injected context": 1, "tool call": 1}


def test_a_droid_sub_agent_is_a_sidechain(read_log: ReadLog) -> None:
    log = SMALL_LOGS["droid"]("hi").replace('"title": "t"', '"title": "# Task Tool Invocation"')
    conversations, report = read_log(log)
    assert (conversations, report.skip_counts["sidechain"]) == ([], 2)
    conversations, _ = read_log(log, ReadOptions(sidechains=True))
    assert len(said(conversations)) == 2


# Qwen Code


def test_qwen_code_is_read_as_itself(read_log: ReadLog) -> None:
    def line(uuid: str, parent: str | None, kind: str, *parts: Json, **more: object) -> Json:
        about = {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": kind}
        at = {"timestamp": "2026-01-01T10:00:00+02:00"}
        return about | at | {"message": {"role": kind, "parts": list(parts)}} | more

    log = lines(
        line("a", None, "user", {"text": "hi"}),
        line("b", "a", "assistant", {"text": "left", "thought": False}),
        line("c", "a", "assistant", {"text": "hm", "thought": True}, {"text": "shown"}),
        line("d", "c", "assistant", {"functionCall": {"name": "f"}}),
        line("e", "d", "tool_result", {"functionResponse": {}}),
        line("f", "e", "assistant", {"text": "side"}, isSidechain=True),
        line("g", "f", "system", {"text": "x"}),
    )
    conversations, report = read_log(log)
    assert conversations[0].format == "qwen_code"
    assert said(conversations) == [("user", "hi"), ("assistant", "shown")]
    assert conversations[0].messages[0].at == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert conversations[0].messages[0].external_id == "a"
    assert report.skip_counts == {
        "abandoned branch": 1,
        "tool call": 1,
        "tool result": 1,
        "sidechain": 1,
        "not a message": 1,
    }


# Goose


def test_goose_messages_have_their_time(read_log: ReadLog) -> None:
    hidden = {"role": "user", "created": 1767225601, "content": [{"type": "text", "text": "x"}]}
    tool = {"role": "user", "created": 1767225602, "content": [{"type": "toolResponse", "id": "1"}]}
    log = SMALL_LOGS["goose"]("hi") + lines(hidden | {"metadata": {"userVisible": False}}, tool)
    conversations, report = read_log(log, name="20260101_1.jsonl")
    assert (conversations[0].format, conversations[0].session_id) == ("goose", "20260101_1")
    assert conversations[0].title == "t"
    times = [m.at for m in conversations[0].messages]
    assert times == [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (0, 1)]
    assert report.skip_counts == {"not a message": 1, "hidden message": 1, "tool result": 1}


def test_an_exported_goose_session_has_its_id(read_log: ReadLog) -> None:
    turn = {"role": "user", "created": 1767225600, "content": [{"type": "text", "text": "hi"}]}
    conversations, _ = read_log(json.dumps({"id": "g1", "name": "n", "conversation": [turn]}))
    assert (conversations[0].session_id, said(conversations)) == ("g1", [("user", "hi")])


# Grok


def test_grok_s_context_is_no_message(read_log: ReadLog) -> None:
    info = "<user_info>\nOS: linux\n</user_info>\n"
    log = lines(
        {"type": "system", "content": "rules"},
        {"type": "user", "content": [{"type": "text", "text": info}]},
        {"type": "user", "content": f"{info}<user_query>\nhi\n</user_query>"},
        {"type": "reasoning", "summary": []},
        {"type": "assistant", "content": "", "tool_calls": [{"id": "1"}]},
        {"type": "tool_result", "content": "out"},
        {"type": "user", "content": "keep going", "synthetic_reason": "nudge"},
        {"type": "assistant", "content": "hello"},
    )
    conversations, report = read_log(log)
    assert conversations[0].format == "grok"
    assert said(conversations) == [("user", "hi"), ("assistant", "hello")]
    assert report.skip_counts == {
        "system message": 1,
        "injected context": 2,
        "thinking": 1,
        "tool call": 1,
        "tool message": 1,
    }


def test_a_grok_export_gives_the_latest_branch_with_its_times(read_log: ReadLog) -> None:
    def response(known: str, parent: str | None, sender: str, second: int) -> Json:
        time = {"$date": {"$numberLong": str(1767225600000 + 1000 * second)}}
        told = {"_id": known, "parent_response_id": parent, "sender": sender, "message": known}
        return {"response": told | {"create_time": time, "file_attachments": []}}

    told = [
        response("q", None, "human", 0),
        response("old", "q", "ASSISTANT", 1),
        response("new", "q", "grok-4", 2),
    ]
    chat = {"conversation": {"id": "c", "title": "t"}, "responses": told}
    conversations, report = read_log(json.dumps({"conversations": [chat]}))
    assert said(conversations) == [("user", "q"), ("assistant", "new")]
    assert conversations[0].messages[1].at == datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert report.skip_counts == {"abandoned branch": 1}


# DeepSeek


def test_a_deepseek_export_is_read_as_itself(read_log: ReadLog) -> None:
    def node(parent: str | None, at: str, *fragments: tuple[str, str]) -> Json:
        told = [{"type": kind, "content": text} for kind, text in fragments]
        files = [{"file_name": "plan.pdf"}] if fragments[0][0] == "REQUEST" else []
        message = {"fragments": told, "inserted_at": f"2026-01-01T{at}+08:00", "files": files}
        return {"parent": parent, "children": [], "message": message}

    nodes = {
        "root": {"parent": None, "children": ["1"], "message": None},
        "1": node("root", "10:00:00", ("REQUEST", "hi")),
        "2": node("1", "10:00:01", ("THINK", "hm"), ("RESPONSE", "old")),
        "3": node("1", "10:00:05", ("THINK", "hm"), ("SEARCH", "x"), ("RESPONSE", "new")),
    }
    export = [
        {"id": "c", "title": "t", "inserted_at": "2026-01-01T10:00:00+08:00", "mapping": nodes}
    ]
    conversations, report = read_log(json.dumps(export))
    assert conversations[0].format == "deepseek"
    assert said(conversations) == [("user", "hi\n\n[file: plan.pdf]"), ("assistant", "new")]
    assert conversations[0].messages[0].at == datetime(2026, 1, 1, 2, tzinfo=UTC)
    assert report.skip_counts == {"node without a message": 1, "abandoned branch": 1}
    conversations, _ = read_log(json.dumps(export), ReadOptions(all_branches=True))
    assert len(conversations) == 2
