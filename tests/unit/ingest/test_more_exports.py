"""Gemini Takeout, iMessage, LobeChat, Kimi, Antigravity, Langfuse: what they say and leave out."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import pytest
from small_logs import lines

from memsense.ingest import ReadOptions, ReadReport, pair_exchanges
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]
Json = dict[str, Any]


def said(conversations: list[Conversation]) -> list[tuple[str, str]]:
    return [(m.speaker or m.role, m.text) for one in conversations for m in one.messages]


# Gemini Takeout


def activity(title: str, minute: int, *answers: str, **more: object) -> Json:
    about = {"header": "Gemini Apps", "title": title, "products": ["Gemini Apps"]}
    told = {"safeHtmlItem": [{"html": answer} for answer in answers]} if answers else {}
    return about | {"time": f"2026-01-01T10:{minute:02}:00.123Z"} | told | more


def test_gemini_s_activities_are_prompts_and_answers_turned_round(read_log: ReadLog) -> None:
    attached = [{"name": "Attached 1 file."}, {"name": "-  plan.png", "url": "plan-1.png"}]
    log = json.dumps(
        [
            activity("Gave feedback: Good response", 9),
            activity("Prompted again", 8, "<p>old</p>", "<p>new</p>"),
            activity("送信したメッセージ: boot", 7, "<p>ja</p>"),
            activity("Used Gemini Apps", 6),
            activity(
                "Prompted look here",
                5,
                "<h2>A <b>plan</b></h2>\n<ul><li>one</li><li>two</li></ul>",
                subtitles=attached,
            ),
            activity("Prompted no answer", 4),
            {"header": "YouTube", "title": "Watched a film", "time": "2026-01-01T10:00:00Z"},
        ]
    )
    conversations, report = read_log(log, name="MyActivity.json")
    assert [(one.format, one.session_id) for one in conversations] == [
        ("gemini_takeout", "gemini/2026-01-01T10:04")
    ]
    assert said(conversations) == [
        ("user", "no answer"),
        ("user", "look here\n\n[file: plan.png]"),
        ("assistant", "A plan\n\n- one\n- two"),
        ("user", "送信したメッセージ: boot"),
        ("assistant", "ja"),
        ("user", "again"),
        ("assistant", "new"),
    ]
    assert conversations[0].messages[0].at == datetime(2026, 1, 1, 10, 4, 0, 123000, tzinfo=UTC)
    assert report.skip_counts == {
        "notice of the program": 2,
        "abandoned branch": 1,
        "not a message": 1,
    }
    assert report.messages_read == 11


def test_chats_that_a_link_names_are_sessions_and_silences_cut_the_others(
    read_log: ReadLog,
) -> None:
    url = {"titleUrl": "https://gemini.google.com/app/abc123"}
    late = activity("Prompted late", 1) | {"time": "2026-01-02T10:00:00Z"}
    told = [late, activity("Prompted b", 2), activity("Prompted a", 1, **url)]
    conversations, _ = read_log(json.dumps(told))
    assert sorted((one.session_id, one.messages[0].text) for one in conversations) == [
        ("abc123", "a"),
        ("gemini/2026-01-01T10:02", "b"),
        ("gemini/2026-01-02T10:00", "late"),
    ]


def cell(words: str, *, header: str = "Gemini Apps") -> str:
    grid = "mdl-cell mdl-cell--6-col mdl-typography--body-1"
    return (
        '<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">'
        f'<div class="header-cell"><p class="mdl-typography--title">{header}<br></p></div>'
        f'<div class="content-cell {grid}">{words}</div>'
        f'<div class="content-cell {grid} mdl-typography--text-right"></div>'
        '<div class="content-cell mdl-typography--caption"><b>Products:</b><br>Gemini Apps</div>'
        "</div></div>"
    )


CELLS = "\n".join(
    [
        cell("Used an app<br>Jan 2, 2026, 3:00:00\u202fPM UTC<br>"),
        cell("Watched a film<br>Jan 2, 2026, 2:00:00 PM UTC<br>", header="YouTube"),
        cell(
            "Prompted&nbsp;draw &lt;a&gt; boat<br>Attached 1 file.<br>"
            "-&nbsp; <a href='x'>sea.png</a><br>1 generated image.<br>"
            "Jan 1, 2026, 12:05:00\u202fAM UTC<br><p>Here<br>it is.</p><p>Bye</p>"
        ),
        cell("Prompted hi<br>Jan 1, 2026, 12:01:00 AM CET<br><p>hello</p>"),
    ]
)
PAGE = f"<html><head><style>p {{}}</style></head><body>{CELLS}</body></html>"


def test_the_page_of_my_activity_is_read_as_the_json_is(tmp_path: Path, read_path: ReadLog) -> None:
    folder = tmp_path / "Takeout" / "My Activity" / "Gemini Apps"
    folder.mkdir(parents=True)
    (folder / "MyActivity.html").write_text(PAGE)
    (folder / "other.html").write_text("<p>User: hi</p>")
    with ZipFile(tmp_path / "takeout.zip", "w") as archive:
        archive.write(folder / "MyActivity.html", "Takeout/My Activity/MyActivity.html")
    for path in (folder, tmp_path / "takeout.zip"):
        conversations, report = read_path(path)
        assert [one.format for one in conversations] == ["gemini_takeout"]
        assert said(conversations) == [
            ("user", "hi"),
            ("assistant", "hello"),
            ("user", "draw <a> boat\n\n[file: sea.png]"),
            ("assistant", "Here\nit is.\n\nBye"),
        ]
        first, *_, last = conversations[0].messages
        assert (first.at, first.at_zone_known) == (datetime(2026, 1, 1, 0, 1, tzinfo=UTC), False)
        assert (last.at, last.at_zone_known) == (datetime(2026, 1, 1, 0, 5, tzinfo=UTC), True)
        assert report.skip_counts["notice of the program"] == 1
        assert report.skip_counts["not a message"] == 1


# iMessage

IMESSAGE = """May 17, 2022  5:29:42 PM (Read by them after 1 hour, 49 seconds)
Me
Can you send the deck?

It has two parts.
Tapbacks:
    Loved by Lena Whitford

May 17, 2022  6:02:10 PM
Lena Whitford
Sent! Check your email
attachments/AB/CD/IMG_1234.HEIC
    May 17, 2022  6:02:11 PM
    Me
    a quoted reply
This message responded to an earlier message.

May 17, 2022  6:03:00 PM Lena Whitford added Raj to the conversation.

May 18, 2022 11:03:00 PM
Raj
Sent with Loud

May 18, 2022 11:04:00 PM
Raj
hello
"""


def test_an_imessage_chat_is_people_s_and_the_exporter_is_the_user(read_log: ReadLog) -> None:
    zone = ZoneInfo("Europe/Lisbon")
    conversations, report = read_log(IMESSAGE, ReadOptions(timezone=zone), name="chat.txt")
    assert [one.format for one in conversations] == ["imessage", "imessage"]
    assert said(conversations) == [
        ("Me", "Can you send the deck?\n\nIt has two parts."),
        ("Lena Whitford", "Sent! Check your email\n[file: IMG_1234.HEIC]"),
        ("Raj", "hello"),
    ]
    assert conversations[0].messages[0].at == datetime(2022, 5, 17, 16, 29, 42, tzinfo=UTC)
    assert report.skip_counts == {"notice of the program": 1, "empty message": 1}
    (exchange,) = pair_exchanges(conversations[0])
    assert [m.speaker for m in exchange.user] == ["Me"]
    assert report.taken_as_user == {"chat.txt": ["Me"]}


@pytest.mark.parametrize(
    "text",
    [
        "May 17, 2022  5:29:42 PM INFO started\nMay 17, 2022  5:29:43 PM INFO ended\n",
        "May 17, 2022  5:29:42 PM\nMay 17, 2022  5:29:43 PM\n",
        "A diary\n\nMay 17, 2022  5:29:42 PM\nMe\nrain\n",
    ],
)
def test_times_alone_are_no_imessage_chat(text: str, read_log: ReadLog) -> None:
    from memsense.errors import IngestError

    with pytest.raises(IngestError, match="not a conversation"):
        read_log(text, name="notes.txt")


# LobeChat


def test_a_lobechat_export_is_a_session_a_topic(read_log: ReadLog) -> None:
    def message(known: str, role: str, second: int, **more: object) -> Json:
        about = {"id": known, "role": role, "content": known, "createdAt": 1767225600000 + second}
        return about | more

    told = [
        message("c", "assistant", 30, topicId="t", tools=["x"]) | {"content": ""},
        message("b", "assistant", 20, topicId="t"),
        message("a", "user", 10, topicId="t", fileList=[{"name": "plan.pdf"}]),
        message("d", "tool", 40, topicId="t"),
        message("e", "user", 50, sessionId="s"),
        message("f", "user", 60, topicId="t", threadId="u"),
        message("g", "user", 70),
    ]
    topics = [{"id": "t", "title": "a title"}]
    old = {"exportType": "all", "state": {"messages": told, "topics": topics}, "version": 7}
    new = {"mode": "pglite", "schemaHash": "x", "data": {"messages": told, "topics": topics}}
    for log in (old, new):
        conversations, report = read_log(json.dumps(log))
        assert {one.session_id: said([one]) for one in conversations} == {
            "t": [("user", "a\n\n[file: plan.pdf]"), ("assistant", "b")],
            "s": [("user", "e")],
            "t/u": [("user", "f")],
            "inbox": [("user", "g")],
        }
        assert (conversations[0].format, conversations[0].title) == ("lobechat", "a title")
        assert conversations[0].messages[0].at == datetime(2026, 1, 1, 0, 0, 0, 10000, tzinfo=UTC)
        assert report.skip_counts == {"tool call": 1, "tool message": 1}


# Kimi CLI


def kimi_event(second: float, kind: str, **payload: object) -> Json:
    message = {"type": kind, "payload": payload}
    return {"timestamp": 1767225600 + second, "message": message}


def kimi_wire() -> str:
    return lines(
        {"type": "metadata", "protocol_version": "1.9"},
        kimi_event(1, "TurnBegin", user_input=[{"type": "text", "text": "fix it"}]),
        kimi_event(2, "StepBegin", n=1),
        kimi_event(3, "ContentPart", type="think", think="hm"),
        kimi_event(4, "ContentPart", type="text", text="I "),
        kimi_event(5, "ContentPart", type="text", text="look"),
        kimi_event(6, "ToolCall", id="x"),
        kimi_event(7, "SubagentEvent", event={}),
        kimi_event(8, "SteerInput", user_input="faster"),
        kimi_event(9, "ContentPart", type="text", text="done"),
        kimi_event(10, "TurnEnd"),
    )


def kimi_context() -> str:
    def system(words: str) -> list[Json]:
        return [{"type": "text", "text": f"<system>{words}</system>"}]

    return lines(
        {"role": "_system_prompt", "content": "rules"},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": system("CHECKPOINT 0")},
        {"role": "user", "content": system("Previous context has been compacted. So far: ...")},
        {"role": "user", "content": "fix it"},
        {"role": "assistant", "content": [{"type": "think", "think": "hm"}], "tool_calls": [{}]},
        {"role": "tool", "content": "1"},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        {"role": "_usage", "token_count": 5},
    )


def test_a_kimi_session_is_its_wire_and_the_context_beside_it_is_none(
    tmp_path: Path, read_path: ReadLog
) -> None:
    folder = tmp_path / "sessions" / "hash" / "uuid"
    folder.mkdir(parents=True)
    (folder / "context.jsonl").write_text(kimi_context())
    conversations, report = read_path(tmp_path)
    assert [(one.format, one.session_id) for one in conversations] == [("kimi", "uuid")]
    assert said(conversations) == [("user", "fix it"), ("assistant", "done")]
    assert report.skip_counts == {
        "system message": 1,
        "not a message": 2,
        "injected context": 1,
        "compaction summary": 1,
        "tool call": 1,
        "tool result": 1,
    }
    (folder / "context_1.jsonl").write_text(kimi_context())
    (folder / "wire.jsonl").write_text(kimi_wire())
    conversations, report = read_path(tmp_path)
    assert [one.session_id for one in conversations] == ["uuid"]
    assert said(conversations) == [
        ("user", "fix it"),
        ("assistant", "I look"),
        ("user", "faster"),
        ("assistant", "done"),
    ]
    assert conversations[0].messages[1].at == datetime(2026, 1, 1, 0, 0, 4, tzinfo=UTC)
    assert report.skip_counts == {
        "side file of an export": 2,
        "not a message": 2,
        "not a message (metadata)": 1,
        "thinking": 1,
        "tool call": 1,
        "sidechain": 1,
    }
    assert report.joined == 1


# Antigravity


def test_an_antigravity_transcript_is_requests_and_answers(
    tmp_path: Path, read_path: ReadLog
) -> None:
    at = {"status": "DONE", "created_at": "2026-01-01T10:00:00Z"}
    asked = (
        "<USER_REQUEST>\nfix it\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nlocal time"
        "</ADDITIONAL_METADATA>\n<USER_SETTINGS_CHANGE>model</USER_SETTINGS_CHANGE>"
    )
    log = lines(
        {"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "content": asked} | at,
        {"step_index": 1, "source": "SYSTEM", "type": "SYSTEM_MESSAGE", "content": "stop"} | at,
        {"step_index": 2, "source": "MODEL", "type": "PLANNER_RESPONSE", "tool_calls": [{}]} | at,
        {"step_index": 3, "source": "MODEL", "type": "LIST_DIRECTORY", "content": "a.py"} | at,
        {"step_index": 4, "source": "MODEL", "type": "PLANNER_RESPONSE", "content": "done"} | at,
    )
    folder = tmp_path / "brain" / "conv-1" / ".system_generated" / "logs"
    folder.mkdir(parents=True)
    (folder / "transcript.jsonl").write_text(log.replace("done", "<truncated 4 bytes>"))
    (folder / "transcript_full.jsonl").write_text(log)
    for path in (tmp_path / "brain", folder / "transcript_full.jsonl"):
        conversations, report = read_path(path)
        assert [(one.format, one.session_id) for one in conversations] == [
            ("antigravity", "conv-1")
        ]
        assert said(conversations) == [("user", "fix it"), ("assistant", "done")]
        assert conversations[0].messages[0].at == datetime(2026, 1, 1, 10, tzinfo=UTC)
        assert report.skip_counts["tool call"] == 1
        assert report.skip_counts["tool result or notice"] == 2


# Langfuse


def trace(known: str, minute: int, given: object, gave: object, **more: object) -> Json:
    about = {"id": known, "timestamp": f"2026-01-01T10:{minute:02}:00Z", "name": "chat"}
    return about | {"input": given, "output": gave, "environment": "default"} | more


def test_langfuse_s_traces_of_a_session_are_its_turns(read_log: ReadLog) -> None:
    session = {"sessionId": "s", "userId": "ada"}
    first = [{"role": "system", "content": "rules"}, {"role": "user", "content": "one"}]
    later = [*first, {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}]
    told = [
        trace("c", 3, {"question": "five"}, {"answer": "six"}, **session),
        trace(
            "b",
            2,
            {"messages": later},
            json.dumps({"role": "assistant", "content": "four"}),
            **session,
        ),
        trace("a", 1, first, {"role": "assistant", "content": "two"}, **session),
        trace("d", 4, "alone", "yes", userId="bo"),
        trace("e", 5, None, {"count": 3}),
    ]
    conversations, report = read_log(lines(*told))
    assert {one.session_id: said([one]) for one in conversations} == {
        "s": [
            ("user", "one"),
            ("assistant", "two"),
            ("user", "three"),
            ("assistant", "four"),
            ("user", "five"),
            ("assistant", "six"),
        ],
        "d": [("user", "alone"), ("assistant", "yes")],
    }
    owners = {one.session_id: one.metadata["user_id"] for one in conversations}
    assert owners == {"s": "ada", "d": "bo"}
    assert conversations[0].format == "langfuse"
    assert conversations[0].messages[2].at is not None
    assert report.skip_counts == {"run without words": 1, "conversation without messages": 1}


def test_of_a_run_s_observations_the_outermost_with_words_is_read(read_log: ReadLog) -> None:
    def observation(known: str, parent: str | None, kind: str, **more: object) -> Json:
        about = {"id": known, "trace_id": "r", "session_id": "s", "user_id": "ada", "type": kind}
        at = {"start_time": "2026-01-01 10:00:00.000000", "trace_name": "chat"}
        return about | at | {"parent_observation_id": parent} | more

    log = lines(
        observation(
            "x", None, "SPAN", input='{"question": "why?"}', output='{"answer": "because"}'
        ),
        observation("y", "x", "GENERATION", input="a prompt", output="a draft"),
        observation("z", "x", "TOOL", input="{}", output=""),
    )
    conversations, report = read_log(log)
    assert [one.session_id for one in conversations] == ["s"]
    assert said(conversations) == [("user", "why?"), ("assistant", "because")]
    assert report.skip_counts == {"inner step of a run": 2}


def test_a_downloaded_session_or_trace_is_read(read_log: ReadLog) -> None:
    one = trace("a", 1, "hi", "hello")
    of_trace: Json = {"trace": one | {"sessionId": "s"}, "observations": []}
    for log in ({"id": "s", "traces": [one]}, of_trace):
        conversations, _ = read_log(json.dumps(log))
        assert [one.session_id for one in conversations] == ["s"]
        assert said(conversations) == [("user", "hi"), ("assistant", "hello")]


def test_swe_agent_s_observations_are_output_of_tools(read_log: ReadLog) -> None:
    history = [
        {"role": "user", "content": "The parser drops the last row.", "message_type": "demo"},
        {"role": "assistant", "content": "I look at it.", "message_type": "action"},
        {"role": "user", "content": "OBSERVATION: parser.py", "message_type": "observation"},
        {"role": "assistant", "content": "The loop ends too soon.", "message_type": "action"},
    ]
    conversations, report = read_log(json.dumps({"history": history}), name="run.json")
    assert [role for role, _ in said(conversations)] == ["user", "assistant", "assistant"]
    assert report.skip_counts == {"tool message": 1}
