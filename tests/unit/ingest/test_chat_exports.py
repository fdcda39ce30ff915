"""Cursor, Open WebUI, LibreChat, Discord, Messenger and Instagram: what they say and leave out."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from small_logs import lines

from memsense.ingest import ReadOptions, ReadReport
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]
Json = dict[str, Any]


def said(conversations: list[Conversation]) -> list[tuple[str, str]]:
    return [(m.speaker or m.role, m.text) for one in conversations for m in one.messages]


# Cursor


def test_a_cursor_transcript_leaves_context_and_tools_out(read_log: ReadLog) -> None:
    def turn(role: str, *blocks: Json) -> Json:
        return {"role": role, "message": {"content": list(blocks)}}

    def text(said: str) -> Json:
        return {"type": "text", "text": said}

    log = lines(
        turn("user", text("<user_info>\nOS\n</user_info>")),
        turn("user", text("<timestamp>now</timestamp>\n<user_query>\nfix it\n</user_query>")),
        turn("assistant", {"type": "tool_use", "name": "Read", "input": {}}),
        turn("assistant", text("done"), {"type": "tool_use", "name": "Edit", "input": {}}),
        {"type": "turn_ended"},
    )
    conversations, report = read_log(log)
    assert conversations[0].format == "cursor"
    assert said(conversations) == [("user", "fix it"), ("assistant", "done")]
    assert report.skip_counts == {"injected context": 1, "tool call": 1, "not a message": 1}


def test_a_chat_exported_from_cursor_keeps_the_rules_in_its_texts(read_log: ReadLog) -> None:
    log = (
        "# A plan\n_Exported on 1/1/2026 at 10:00:00 GMT+2 from Cursor (2.1.0)_\n\n---\n\n"
        "**User**\n\nfirst\n\n---\n\nsecond\n\n---\n\n**Cursor**\n\n"
        "I see:\n\n**User** is a role.\n\n---\n\n**User**\n\nthanks\n"
    )
    conversations, _ = read_log(log, name="plan.md")
    assert (conversations[0].format, conversations[0].title) == ("cursor", "A plan")
    assert said(conversations) == [
        ("user", "first\n\n---\n\nsecond"),
        ("assistant", "I see:\n\n**User** is a role."),
        ("user", "thanks"),
    ]


# Open WebUI and LibreChat


def test_the_shown_branch_of_an_open_webui_chat_is_read(read_log: ReadLog) -> None:
    def message(known: str, parent: str | None, role: str, second: int) -> Json:
        about = {"id": known, "parentId": parent, "role": role, "content": known}
        return about | {"timestamp": 1767225600 + second}

    told = {
        "q": message("q", None, "user", 0) | {"files": [{"name": "plan.pdf"}]},
        "shown": message("shown", "q", "assistant", 1),
        "other": message("other", "q", "assistant", 2),
    }
    chat: Json = {"title": "t", "history": {"messages": told, "currentId": "shown"}, "messages": []}
    log = json.dumps([{"id": "c", "chat": chat, "created_at": 1767225600}])
    conversations, report = read_log(log)
    assert (conversations[0].session_id, conversations[0].title) == ("c", "t")
    assert said(conversations) == [("user", "q\n\n[file: plan.pdf]"), ("assistant", "shown")]
    assert conversations[0].messages[1].at == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert report.skip_counts == {"abandoned branch": 1}
    conversations, _ = read_log(log, ReadOptions(all_branches=True))
    assert [one.session_id for one in conversations] == ["c", "c/other"]


def test_a_librechat_conversation_is_read_flat_or_nested(read_log: ReadLog) -> None:
    def message(known: str, parent: str, by_user: bool, at: str) -> Json:
        about = {"messageId": known, "parentMessageId": parent, "isCreatedByUser": by_user}
        return about | {"text": known, "createdAt": f"2026-01-01T{at}Z", "sender": "x"}

    question = message("q", "00000000-0000-0000-0000-000000000000", True, "10:00:00")
    old, new = message("old", "q", False, "10:00:01"), message("new", "q", False, "10:00:02")
    thought = [{"type": "think", "think": "hm"}, {"type": "text", "text": {"value": "new"}}]
    new = new | {"text": "", "content": thought}
    about = {"conversationId": "c", "title": "t", "endpoint": "openAI"}
    for told in ([question, old, new], [question | {"children": [old, new]}]):
        conversations, report = read_log(json.dumps(about | {"messages": told}))
        assert conversations[0].session_id == "c"
        assert said(conversations) == [("user", "q"), ("assistant", "new")]
        assert report.skip_counts == {"abandoned branch": 1}


# Discord


def test_a_discord_channel_is_people_s(read_log: ReadLog) -> None:
    def message(known: str, name: str, content: str, kind: str = "Default", **more: Any) -> Json:
        author = {"id": name, "name": name.lower(), "nickname": name, "isBot": name == "Robo"}
        at = f"2026-01-01T10:0{known}:00.000+02:00"
        return {
            "id": known,
            "type": kind,
            "timestamp": at,
            "content": content,
            "author": author,
        } | more

    told = [
        message("1", "Ana", "hi"),
        message("2", "Bo", "", "GuildMemberJoin"),
        message("3", "Bo", "look", "Reply", attachments=[{"fileName": "a.png"}]),
        message("4", "Robo", "beep"),
    ]
    log = json.dumps(
        {"guild": {"name": "g"}, "channel": {"id": "7", "name": "general"}, "messages": told}
    )
    conversations, report = read_log(log)
    assert conversations[0].session_id == "7/2026-01-01T08:01"
    assert said(conversations) == [("Ana", "hi"), ("Bo", "look\n\n[file: a.png]"), ("Robo", "beep")]
    assert report.skip_counts == {"notice of the program": 1}
    conversations, report = read_log(log, ReadOptions(bots=False))
    assert report.skip_counts["bot message"] == 1


# Messenger and Instagram


def test_a_messenger_thread_is_turned_round_and_its_letters_mended(read_log: ReadLog) -> None:
    def message(second: int, name: str, **more: Any) -> Json:
        mangled = name.encode().decode("latin-1")
        return {"sender_name": mangled, "timestamp_ms": 1767225600000 + 1000 * second} | more

    told = [
        message(5, "Bo", content="Bo sent an attachment."),
        message(4, "Zoë", is_unsent=True),
        message(3, "Bo", photos=[{"uri": "x/1.jpg"}]),
        message(2, "Bo", content="ja 🙂".encode().decode("latin-1")),
        message(1, "Zoë", content="schön".encode().decode("latin-1")),
    ]
    thread = {"participants": [{"name": "Bo"}], "messages": told, "thread_path": "inbox/zoe_1"}
    conversations, report = read_log(json.dumps(thread), name="message_1.json")
    assert conversations[0].session_id == "inbox/zoe_1/2026-01-01T00:00"
    assert said(conversations) == [("Zoë", "schön"), ("Bo", "ja 🙂")]
    assert report.skip_counts == {
        "media without words": 1,
        "deleted message": 1,
        "notice of the program": 1,
    }


# AI SDK, Pydantic AI, Claude Code on the web


def test_ui_messages_keep_texts_and_name_files(read_log: ReadLog) -> None:
    told = [
        {"id": "s", "role": "system", "parts": [{"type": "text", "text": "rules"}]},
        {
            "id": "a",
            "role": "user",
            "parts": [
                {"type": "text", "text": "look"},
                {"type": "file", "filename": "a.png", "mediaType": "image/png", "url": "data:"},
            ],
            "metadata": {"createdAt": "2026-01-01T00:00:00Z"},
        },
        {"id": "b", "role": "assistant", "parts": [{"type": "tool-search", "state": "done"}]},
        {
            "id": "c",
            "role": "assistant",
            "parts": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "seen"}],
        },
    ]
    conversations, report = read_log(json.dumps(told))
    assert conversations[0].format == "ai_sdk"
    assert said(conversations) == [("user", "look\n\n[file: a.png]"), ("assistant", "seen")]
    assert conversations[0].messages[0].at == datetime(2026, 1, 1, tzinfo=UTC)
    assert report.skip_counts == {"system message": 1, "tool call": 1}


def test_pydantic_ai_s_history_is_what_user_and_model_said(read_log: ReadLog) -> None:
    at = {"timestamp": "2026-01-01T00:00:00Z"}
    told = [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "rules"} | at,
                {"part_kind": "user-prompt", "content": ["hi", {"kind": "image-url"}]} | at,
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "f"}]} | at,
        {"kind": "request", "parts": [{"part_kind": "tool-return", "content": "1"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "hello"}]} | at,
    ]
    conversations, report = read_log(json.dumps(told))
    assert conversations[0].format == "ai_sdk"
    assert said(conversations) == [("user", "hi"), ("assistant", "hello")]
    assert conversations[0].messages[1].at == datetime(2026, 1, 1, tzinfo=UTC)
    assert report.skip_counts == {"system message": 1, "tool call": 1, "tool result": 1}


def test_the_loglines_of_a_session_on_the_web_are_claude_code_s(read_log: ReadLog) -> None:
    told = [
        {"type": "user", "uuid": "a", "sessionId": "s", "message": {"content": "hi"}},
        {
            "type": "assistant",
            "uuid": "b",
            "parentUuid": "a",
            "sessionId": "s",
            "message": {"id": "m", "content": [{"type": "text", "text": "hello"}]},
        },
    ]
    for log in ({"loglines": told}, {"version": 1, "loglines": told}):
        conversations, report = read_log(json.dumps(log))
        assert (conversations[0].format, conversations[0].session_id) == ("claude_code", "s")
        assert said(conversations) == [("user", "hi"), ("assistant", "hello")]
        assert report.skip_counts == {}
