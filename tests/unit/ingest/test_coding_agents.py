"""opencode, Cline and Roo Code, Copilot, Aider: what was said is kept, all else counted."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from small_logs import SMALL_LOGS, lines

from memsense.ingest import ReadOptions, ReadReport, pair_exchanges
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]
Json = dict[str, Any]


def said(conversations: list[Conversation]) -> list[tuple[str, str]]:
    return [(m.role, m.text) for one in conversations for m in one.messages]


# opencode


def text(said: str, **more: object) -> Json:
    return {"type": "text", "text": said, **more}


def opencode_message(known: str, role: str, *parts: Json, **more: object) -> Json:
    time = {"created": 1767225600000 + int(known[-1]) * 1000}
    return {"info": {"id": known, "role": role, "time": time, **more}, "parts": list(parts)}


def opencode_session() -> Json:
    plan = {"type": "file", "filename": "plan.md", "mime": "text/markdown"}
    messages = [
        opencode_message("msg_1", "user", text("hi"), text("file content", synthetic=True), plan),
        opencode_message("msg_2", "assistant", {"type": "reasoning", "text": "hm"}, text("hello")),
        opencode_message("msg_3", "assistant", {"type": "tool", "tool": "bash"}),
        opencode_message("msg_4", "assistant", text("so far"), summary=True),
        opencode_message("msg_5", "user", text("more")),
    ]
    return {"info": {"id": "ses_1", "title": "t"}, "messages": messages}


def test_an_exported_opencode_session_keeps_what_was_said(read_log: ReadLog) -> None:
    conversations, report = read_log(json.dumps(opencode_session()))
    assert (conversations[0].session_id, conversations[0].title) == ("ses_1", "t")
    assert said(conversations) == [
        ("user", "hi\n\n[file: plan.md]"),
        ("assistant", "hello"),
        ("user", "more"),
    ]
    assert conversations[0].messages[0].at == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert report.skip_counts == {"tool call": 1, "compaction summary": 1}


def test_what_opencode_took_back_and_its_sub_agents_are_left_out(read_log: ReadLog) -> None:
    session = opencode_session()
    session["info"]["revert"] = {"messageID": "msg_5"}
    conversations, report = read_log(json.dumps(session))
    assert len(said(conversations)) == 2
    assert report.skip_counts["rolled back"] == 1
    conversations, _ = read_log(json.dumps(session), ReadOptions(all_branches=True))
    assert len(said(conversations)) == 3
    session["info"] |= {"parentID": "ses_0"}
    conversations, report = read_log(json.dumps(session))
    assert (conversations, report.skip_counts["sidechain"]) == ([], 5)


def write_storage(folder: Path) -> None:
    session = opencode_session()
    (folder / "session" / "p").mkdir(parents=True)
    (folder / "session" / "p" / "ses_1.json").write_text(json.dumps(session["info"]))
    for message in session["messages"]:
        known = message["info"]["id"]
        for kind, owner in (("message", "ses_1"), ("part", known)):
            (folder / kind / owner).mkdir(parents=True, exist_ok=True)
        (folder / "message" / "ses_1" / f"{known}.json").write_text(json.dumps(message["info"]))
        for number, part in enumerate(message["parts"]):
            path = folder / "part" / known / f"prt_{number}.json"
            path.write_text(json.dumps(part))


def test_opencode_s_storage_is_one_log_of_its_sessions(tmp_path: Path, read_path: ReadLog) -> None:
    write_storage(tmp_path / "opencode" / "storage")
    conversations, report = read_path(tmp_path)
    assert len(conversations) == 1
    assert (conversations[0].format, conversations[0].session_id) == ("opencode", "ses_1")
    assert said(conversations) == [
        ("user", "hi\n\n[file: plan.md]"),
        ("assistant", "hello"),
        ("user", "more"),
    ]
    assert report.skip_counts == {"tool call": 1, "compaction summary": 1}


# Cline and Roo Code


def cline_task() -> list[Json]:
    def event(second: int, kind: str, what: str, said: str, **more: object) -> Json:
        return {"ts": 1767225600000 + 1000 * second, "type": kind, kind: what, "text": said} | more

    return [
        event(0, "say", "text", "fix it", files=["a.py"]),
        event(1, "say", "api_req_started", "{}"),
        event(2, "say", "reasoning", "hm"),
        event(3, "say", "text", "looking", partial=True),
        event(4, "say", "text", "I look"),
        event(5, "ask", "tool", "{}"),
        event(6, "ask", "followup", '{"question": "which one?", "options": ["a"]}'),
        event(7, "say", "user_feedback", "<environment_details>x</environment_details>the first"),
        event(8, "say", "completion_result", "done"),
        event(9, "ask", "completion_result", ""),
    ]


def test_a_cline_task_is_what_was_said_and_asked(tmp_path: Path, read_path: ReadLog) -> None:
    for task in ("1", "2"):
        (tmp_path / "tasks" / task).mkdir(parents=True)
        (tmp_path / "tasks" / task / "ui_messages.json").write_text(json.dumps(cline_task()))
        request = [{"role": "user", "content": [text("<task>fix it</task>")]}]
        path = tmp_path / "tasks" / task / "api_conversation_history.json"
        path.write_text(json.dumps(request))
    conversations, report = read_path(tmp_path / "tasks")
    assert [one.session_id for one in conversations] == ["1/ui_messages", "2/ui_messages"]
    assert said(conversations[:1]) == [
        ("user", "fix it\n\n[file: a.py]"),
        ("assistant", "I look"),
        ("assistant", "which one?"),
        ("user", "the first"),
        ("assistant", "done"),
    ]
    assert conversations[0].messages[3].at == datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC)
    assert report.skip_counts == {
        "side file of an export": 2,
        "tool call, command or notice": 8,
        "unfinished message": 2,
    }


# Copilot


def test_copilot_s_events_are_a_session(read_log: ReadLog) -> None:
    plan = {"type": "file", "path": "/x/plan.md", "displayName": "plan.md"}
    at = {"timestamp": "2026-01-01T10:00:00Z"}
    log = lines(
        {"type": "session.start", "data": {"sessionId": "s"}} | at,
        {"type": "user.message", "id": "a", "data": {"content": "hi", "attachments": [plan]}} | at,
        {"type": "assistant.message", "id": "b", "data": {"content": "", "toolRequests": [{}]}},
        {"type": "tool.execution_start", "data": {"toolName": "bash"}},
        {"type": "assistant.message", "id": "c", "agentId": "x", "data": {"content": "side"}},
        {"type": "assistant.message", "id": "d", "data": {"content": "hello"}} | at,
    )
    conversations, report = read_log(log)
    assert (conversations[0].format, conversations[0].session_id) == ("copilot", "s")
    assert said(conversations) == [("user", "hi\n\n[file: plan.md]"), ("assistant", "hello")]
    assert conversations[0].messages[0].external_id == "a"
    assert report.skip_counts == {"not a message": 2, "tool call": 1, "sidechain": 1}


def chat_request(known: str, question: str, *answer: Json, **more: object) -> Json:
    about = {"requestId": known, "timestamp": 1767225600000, "message": {"text": question}}
    return about | {"response": list(answer)} | more


def test_a_chat_session_of_vs_code_is_read(read_log: ReadLog) -> None:
    variables = {"variables": [{"kind": "file", "name": "a.py"}]}
    requests = [
        chat_request(
            "r1",
            "look",
            {"kind": "thinking", "value": "hm"},
            {"value": "see "},
            {"kind": "inlineReference", "name": "a.py"},
            {"kind": "toolInvocationSerialized"},
            variableData=variables,
        ),
        chat_request("r2", "gone", {"value": "x"}, isHidden=True),
    ]
    session = {"version": 3, "sessionId": "s", "creationDate": 1767225600000, "requests": requests}
    conversations, report = read_log(json.dumps(session))
    assert (conversations[0].format, conversations[0].session_id) == ("copilot", "s")
    assert said(conversations) == [("user", "look\n\n[file: a.py]"), ("assistant", "see a.py")]
    assert [m.external_id for m in conversations[0].messages] == ["r1", "r1:response"]
    assert report.skip_counts == {"hidden message": 1}


def test_a_chat_session_kept_as_a_log_of_changes_is_what_it_became(read_log: ReadLog) -> None:
    first = chat_request("r1", "one", {"value": "drafting"})
    log = lines(
        {"kind": 0, "v": {"sessionId": "s", "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [first]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "done"}], "i": 0},
        {"kind": 1, "k": ["customTitle"], "v": "t"},
        {"kind": 2, "k": ["requests"], "v": [chat_request("r2", "two", {"value": "ok"})]},
        {"kind": 1, "k": ["requests", 7, "message"], "v": "nowhere"},
    )
    conversations, _ = read_log(log)
    assert (conversations[0].session_id, conversations[0].title) == ("s", "t")
    assert [text for _, text in said(conversations)] == ["one", "done", "two", "ok"]


# Aider


def test_aider_s_history_is_one_session_a_start(read_log: ReadLog) -> None:
    log = (
        "\n# aider chat started at 2026-01-01 10:00:00\n\n> Aider v0.80  \n> Model: x  \n\n"
        "#### fix it  \n#### in a.py  \n\nI will.\n\n```python\n# a comment\nx = 1\n```\n\n"
        "> Applied edit to a.py  \n\nDone.\n\n#### thanks\n\nSure.\n"
        "\n# aider chat started at 2026-01-02 10:00:00\n\n> Aider v0.80  \n"
        "\n# aider chat started at 2026-01-03 10:00:00\n\n#### again\n\nYes.\n"
    )
    conversations, report = read_log(log, name=".aider.chat.history.md")
    assert [one.format for one in conversations] == ["aider", "aider"]
    assert conversations[0].session_id.endswith("/2026-01-01T10:00:00")
    assert conversations[0].started_at == datetime(2026, 1, 1, 10, tzinfo=UTC)
    (one, two) = pair_exchanges(conversations[0])
    assert [m.text for m in one.user] == ["fix it  \nin a.py"]
    assert one.assistant[0].text.startswith("I will.\n\n```python\n# a comment")
    assert one.assistant[0].text.endswith("Done.")
    assert [m.text for m in (*two.user, *two.assistant)] == ["thanks", "Sure."]
    assert report.skip_counts == {"notice of the program": 4}


# All of them


def test_a_grown_log_adds_its_tail_and_keeps_what_stood(read_log: ReadLog) -> None:
    for form in ("copilot", "aider", "droid", "goose", "codex", "qwen_code"):
        whole = SMALL_LOGS[form]("hi")
        cut = whole[: whole.rindex("\n", 0, len(whole) - 1) + 1]
        before, _ = read_log(cut, ReadOptions(format=form))
        after, _ = read_log(whole, ReadOptions(format=form))
        assert after[0].session_id == before[0].session_id
        assert list(after[0].messages)[: len(before[0].messages)] == list(before[0].messages)
        assert len(after[0].messages) > len(before[0].messages)


def relayed(*rows: tuple[str, str, str | None, str]) -> str:
    """Return a log of Claude Code whose gateway gives all messages one id.

    Each row is its id, its parent's, the request and a text; an answer's id begins with "a", that
    of a tool's result with "t".
    """
    lines: list[str] = []
    for uuid, parent, request, text in rows:
        message: dict[str, Any] = {"role": "user", "content": text}
        if uuid.startswith("a"):
            message = {"role": "assistant", "id": "gw", "content": [{"type": "text", "text": text}]}
        if uuid.startswith("t"):
            result = {"type": "tool_result", "tool_use_id": "call", "content": text}
            message = {"role": "user", "content": [result]}
        row = {"uuid": uuid, "parentUuid": parent or None, "sessionId": "s", "message": message}
        row |= {"type": message["role"]} | ({"requestId": request} if request else {})
        lines.append(json.dumps(row))
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("rows", "answers"),
    [
        # A prompt of a person ends an answer.
        (
            [
                ("u1", "", None, "one"),
                ("a1", "u1", None, "A1"),
                ("u2", "a1", None, "two"),
                ("a2", "u2", None, "A2"),
                ("u3", "a2", None, "three"),
                ("a3", "u3", None, "A3"),
            ],
            [["A1"], ["A2"], ["A3"]],
        ),
        # A tool's result does not, and neither does a line without its request.
        (
            [
                ("u1", "", None, "one"),
                ("a1", "u1", "r1", "A1"),
                ("t1", "a1", None, "result"),
                ("a2", "t1", None, "A2"),
                ("a3", "a2", "r1", "A3"),
            ],
            [["A1\n\nA2\n\nA3"]],
        ),
        # Another request is another answer, although both follow one prompt.
        (
            [
                ("u1", "", None, "one"),
                ("a1", "u1", "r1", "A1"),
                ("t1", "a1", None, "result"),
                ("a2", "t1", "r2", "A2"),
                ("a3", "a2", "r2", "A3"),
            ],
            [["A1", "A2\n\nA3"]],
        ),
    ],
)
def test_an_id_that_a_gateway_repeats_joins_no_answers_of_different_prompts(
    read_log: ReadLog, rows: list[tuple[str, str, str | None, str]], answers: list[list[str]]
) -> None:
    [conversation], _ = read_log(relayed(*rows), None, "relayed.jsonl")
    exchanges = pair_exchanges(conversation)
    assert [[message.text for message in one.assistant] for one in exchanges] == answers


def test_a_relayed_session_of_the_samples_has_three_exchanges(
    read_log: ReadLog, samples: Path
) -> None:
    path = samples / "logs3/relay_same_message_id.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path}")
    [conversation], _ = read_log(path.read_text(), None, path.name)
    said = [[it.text.split(":")[0] for it in one.assistant] for one in pair_exchanges(conversation)]
    assert said == [["Answer 0"], ["Answer 1"], ["Answer 2"]]
