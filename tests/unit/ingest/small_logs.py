"""The smallest log of each format that holds a given text: a person says it and is answered."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _claude_code(text: str) -> str:
    asked = {"content": text}
    answered = {"id": "m", "content": [{"type": "text", "text": "fine"}]}
    return lines(
        {"type": "user", "uuid": "u", "sessionId": "s", "message": asked},
        {
            "type": "assistant",
            "uuid": "v",
            "parentUuid": "u",
            "sessionId": "s",
            "message": answered,
        },
    )


def _openclaw(text: str) -> str:
    return lines(
        {"type": "session", "id": "s", "cwd": "/"},
        {"type": "message", "id": "a", "message": {"role": "user", "content": text}},
        {
            "type": "message",
            "id": "b",
            "parentId": "a",
            "message": {"role": "assistant", "content": "fine"},
        },
    )


def _codex(text: str) -> str:
    return lines(
        {"type": "session_meta", "payload": {"id": "s"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": text}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "fine"}},
    )


def _chatgpt(text: str) -> str:
    def node(role: str, said: str, parent: str | None) -> Json:
        content = {"content_type": "text", "parts": [said]}
        return {"parent": parent, "message": {"author": {"role": role}, "content": content}}

    nodes = {"a": node("user", text, None), "b": node("assistant", "fine", "a")}
    return json.dumps({"id": "c", "current_node": "b", "mapping": nodes})


def _telegram(text: str) -> str:
    def message(number: int, name: str, said: str) -> Json:
        when = str(1735732800 + number)
        return {"id": number, "type": "message", "from": name, "date_unixtime": when, "text": said}

    return json.dumps({"id": 1, "messages": [message(1, "Ana", text), message(2, "Bo", "fine")]})


def _slack(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return json.dumps(
        [
            {"type": "message", "user": "U1", "text": escaped, "ts": "1452837318.000001"},
            {"type": "message", "user": "U2", "text": "fine", "ts": "1452837319.000002"},
        ]
    )


def _rows(text: str) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([("role", "content"), ("user", text), ("assistant", "fine")])
    return out.getvalue()


def _locomo(text: str) -> str:
    turns = [
        {"speaker": "Ana", "dia_id": "D1:1", "text": text},
        {"speaker": "Bo", "dia_id": "D1:2", "text": "fine"},
    ]
    talk = {"speaker_a": "Ana", "speaker_b": "Bo", "session_1": turns}
    return json.dumps([{"sample_id": "c", "conversation": talk}])


def _turns(text: str) -> list[Json]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": "fine"}]


def _deepseek(text: str) -> str:
    def node(kind: str, said: str, parent: str | None) -> Json:
        fragments = [{"type": "THINK", "content": "hm"}, {"type": kind, "content": said}]
        return {"parent": parent, "children": [], "message": {"fragments": fragments}}

    nodes = {"1": node("REQUEST", text, None), "2": node("RESPONSE", "fine", "1")}
    return json.dumps([{"id": "c", "title": "t", "mapping": nodes}])


def _qwen_code(text: str) -> str:
    def line(uuid: str, parent: str | None, kind: str, said: str) -> Json:
        message = {"role": kind, "parts": [{"text": said}]}
        return {
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": "s",
            "type": kind,
            "message": message,
        }

    return lines(line("a", None, "user", text), line("b", "a", "assistant", "fine"))


def _droid(text: str) -> str:
    def message(known: str, parent: str | None, role: str, said: str) -> Json:
        content = [{"type": "text", "text": said}]
        inner = {"role": role, "content": content}
        return {"type": "message", "id": known, "parentId": parent, "message": inner}

    return lines(
        {"type": "session_start", "id": "s", "title": "t"},
        message("a", None, "user", text),
        message("b", "a", "assistant", "fine"),
    )


def _goose(text: str) -> str:
    def message(role: str, said: str) -> Json:
        return {"role": role, "created": 1767225600, "content": [{"type": "text", "text": said}]}

    header = {"working_dir": "/", "description": "t", "message_count": 2}
    return lines(header, message("user", text), message("assistant", "fine"))


def _grok(text: str) -> str:
    def response(sender: str, said: str) -> Json:
        return {"response": {"sender": sender, "message": said}}

    told = [response("human", text), response("ASSISTANT", "fine")]
    return json.dumps({"conversations": [{"conversation": {"id": "c"}, "responses": told}]})


def _opencode(text: str) -> str:
    def message(known: str, role: str, said: str) -> Json:
        return {"info": {"id": known, "role": role}, "parts": [{"type": "text", "text": said}]}

    told = [message("msg_1", "user", text), message("msg_2", "assistant", "fine")]
    return json.dumps({"info": {"id": "ses_1", "title": "t"}, "messages": told})


def _cline(text: str) -> str:
    return json.dumps(
        [
            {"ts": 1767225600000, "type": "say", "say": "text", "text": text},
            {"ts": 1767225601000, "type": "say", "say": "completion_result", "text": "fine"},
        ]
    )


def _copilot(text: str) -> str:
    return lines(
        {"type": "session.start", "data": {"sessionId": "s"}},
        {"type": "user.message", "id": "a", "data": {"content": text}},
        {"type": "assistant.message", "id": "b", "data": {"content": "fine"}},
    )


def _aider(text: str) -> str:
    prompt = "".join(f"#### {line}\n" for line in text.split("\n"))
    return f"# aider chat started at 2026-01-01 10:00:00\n\n> Aider v1\n\n{prompt}\nfine\n"


def _cursor(text: str) -> str:
    def turn(role: str, said: str) -> Json:
        return {"role": role, "message": {"content": [{"type": "text", "text": said}]}}

    return lines(turn("user", text), turn("assistant", "fine"))


def _open_webui(text: str) -> str:
    told = {
        "a": {"id": "a", "parentId": None, "role": "user", "content": text},
        "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "fine"},
    }
    return json.dumps([{"id": "c", "chat": {"history": {"messages": told, "currentId": "b"}}}])


def _discord(text: str) -> str:
    def message(known: str, name: str, said: str) -> Json:
        at = "2026-01-01T10:00:00+02:00"
        about = {"id": known, "type": "Default", "timestamp": at, "content": said}
        return about | {"author": {"id": name, "name": name}}

    told = [message("1", "Ana", text), message("2", "Bo", "fine")]
    return json.dumps({"guild": {"id": "g"}, "channel": {"id": "c"}, "messages": told})


def _messenger(text: str) -> str:
    def message(second: int, name: str, said: str) -> Json:
        return {"sender_name": name, "timestamp_ms": 1767225600000 + second, "content": said}

    told = [message(1, "Bo", "fine"), message(0, "Ana", text)]
    return json.dumps({"participants": [{"name": "Ana"}], "messages": told, "thread_path": "t"})


def _ai_sdk(text: str) -> str:
    def message(known: str, role: str, said: str) -> Json:
        return {"id": known, "role": role, "parts": [{"type": "text", "text": said}]}

    told = [message("a", "user", text), message("b", "assistant", "fine")]
    return json.dumps({"id": "c", "messages": told})


SMALL_LOGS: dict[str, Callable[[str], str]] = {
    "claude_code": _claude_code,
    "openclaw": _openclaw,
    "codex": _codex,
    "openai_responses": lambda text: lines(
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "fine"}],
        },
    ),
    "gemini_cli": lambda text: json.dumps(
        {
            "sessionId": "s",
            "projectHash": "h",
            "messages": [
                {"id": "a", "type": "user", "content": text},
                {"id": "b", "type": "gemini", "content": "fine"},
            ],
        }
    ),
    "chatgpt": _chatgpt,
    "claude_ai": lambda text: json.dumps(
        {
            "uuid": "c",
            "chat_messages": [
                {"uuid": "a", "sender": "human", "text": text},
                {"uuid": "b", "sender": "assistant", "text": "fine"},
            ],
        }
    ),
    "longmemeval": lambda text: json.dumps(
        [{"question_id": "q", "haystack_session_ids": ["s"], "haystack_sessions": [_turns(text)]}]
    ),
    "locomo": _locomo,
    "sharegpt": lambda text: json.dumps(
        [
            {
                "id": "s",
                "conversations": [
                    {"from": "human", "value": text},
                    {"from": "gpt", "value": "fine"},
                ],
            }
        ]
    ),
    "telegram": _telegram,
    "langchain": lambda text: json.dumps(
        [{"type": "human", "content": text}, {"type": "ai", "content": "fine"}]
    ),
    "slack": _slack,
    "openai_messages": lambda text: json.dumps({"messages": _turns(text)}),
    "rows": _rows,
    "signal": lambda text: f"[2024-12-24, 12:23] Ana: {text}\n[2024-12-24, 12:24] Bo: fine\n",
    "whatsapp": lambda text: f"[24/12/24, 12:23:01] Ana: {text}\n[24/12/24, 12:24:02] Bo: fine\n",
    "transcript": lambda text: f"User: {text}\nAssistant: fine\n",
    "text": lambda text: f"{text}\n\nfine\n",
    "deepseek": _deepseek,
    "qwen_code": _qwen_code,
    "droid": _droid,
    "goose": _goose,
    "grok": _grok,
    "opencode": _opencode,
    "cline": _cline,
    "copilot": _copilot,
    "aider": _aider,
    "cursor": _cursor,
    "open_webui": _open_webui,
    "discord": _discord,
    "messenger": _messenger,
    "ai_sdk": _ai_sdk,
}
