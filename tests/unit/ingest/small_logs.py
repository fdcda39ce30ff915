"""The smallest log of each format that holds given texts: by turns the user's and the answer's."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]
Texts = Sequence[str]

START = datetime(2026, 1, 1, 10, tzinfo=UTC)


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _turns(texts: Texts) -> Iterator[tuple[int, bool, str]]:
    """The number, from 0, whether the user speaks, and the text."""
    return ((number, number % 2 == 0, text) for number, text in enumerate(texts))


def _roles(texts: Texts, user: str = "user", answer: str = "assistant") -> Iterator[Json]:
    for _, asks, text in _turns(texts):
        yield {"role": user if asks else answer, "content": text}


def _at(number: int) -> datetime:
    return START + timedelta(seconds=number)


def _millis(number: int) -> int:
    return int(_at(number).timestamp()) * 1000


def _text(said: str) -> list[Json]:
    return [{"type": "text", "text": said}]


def _parent(number: int) -> str | None:
    return f"m{number - 1}" if number else None


def _claude_code(texts: Texts) -> str:
    def line(number: int, asks: bool, text: str) -> Json:
        message = {"content": text} if asks else {"id": f"a{number}", "content": _text(text)}
        about = {"type": "user" if asks else "assistant", "uuid": f"m{number}", "sessionId": "s"}
        return about | {"parentUuid": _parent(number), "message": message}

    return lines(*(line(*turn) for turn in _turns(texts)))


def _openclaw(texts: Texts) -> str:
    told = (
        {"type": "message", "id": f"m{n}", "parentId": _parent(n), "message": message}
        for n, message in enumerate(_roles(texts))
    )
    return lines({"type": "session", "id": "s", "cwd": "/"}, *told)


def _codex(texts: Texts) -> str:
    def event(asks: bool, text: str) -> Json:
        kind = "user_message" if asks else "agent_message"
        return {"type": "event_msg", "payload": {"type": kind, "message": text}}

    header = {"type": "session_meta", "payload": {"id": "s"}}
    return lines(header, *(event(asks, text) for _, asks, text in _turns(texts)))


def _openai_responses(texts: Texts) -> str:
    def item(asks: bool, text: str) -> Json:
        content = [{"type": "input_text" if asks else "output_text", "text": text}]
        return {"type": "message", "role": "user" if asks else "assistant", "content": content}

    return lines(*(item(asks, text) for _, asks, text in _turns(texts)))


def _gemini_cli(texts: Texts) -> str:
    told = [
        {"id": f"m{n}", "type": "user" if asks else "gemini", "content": text}
        for n, asks, text in _turns(texts)
    ]
    return json.dumps({"sessionId": "s", "projectHash": "h", "messages": told})


def _chatgpt(texts: Texts) -> str:
    def node(number: int, asks: bool, text: str) -> Json:
        content = {"content_type": "text", "parts": [text]}
        author = {"role": "user" if asks else "assistant"}
        return {"parent": _parent(number), "message": {"author": author, "content": content}}

    nodes = {f"m{turn[0]}": node(*turn) for turn in _turns(texts)}
    return json.dumps({"id": "c", "current_node": list(nodes)[-1], "mapping": nodes})


def _claude_ai(texts: Texts) -> str:
    told = [
        {"uuid": f"m{n}", "sender": "human" if asks else "assistant", "text": text}
        for n, asks, text in _turns(texts)
    ]
    return json.dumps({"uuid": "c", "chat_messages": told})


def _longmemeval(texts: Texts) -> str:
    told = [list(_roles(texts))]
    one = {"question_id": "q", "haystack_session_ids": ["s"], "haystack_sessions": told}
    return json.dumps([one])


def _locomo(texts: Texts) -> str:
    turns = [
        {"speaker": "Ana" if asks else "Bo", "dia_id": f"D1:{n + 1}", "text": text}
        for n, asks, text in _turns(texts)
    ]
    talk = {"speaker_a": "Ana", "speaker_b": "Bo", "session_1": turns}
    return json.dumps([{"sample_id": "c", "conversation": talk}])


def _sharegpt(texts: Texts) -> str:
    told = [{"from": "human" if asks else "gpt", "value": text} for _, asks, text in _turns(texts)]
    return json.dumps([{"id": "s", "conversations": told}])


def _telegram(texts: Texts) -> str:
    told = [
        {
            "id": n + 1,
            "type": "message",
            "from": "Ana" if asks else "Bo",
            "date_unixtime": str(1735732800 + n),
            "text": text,
        }
        for n, asks, text in _turns(texts)
    ]
    return json.dumps({"id": 1, "messages": told})


def _slack(texts: Texts) -> str:
    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    return json.dumps(
        [
            {
                "type": "message",
                "user": "U1" if asks else "U2",
                "text": escaped(text),
                "ts": f"{1452837318 + n}.00000{n + 1}",
            }
            for n, asks, text in _turns(texts)
        ]
    )


def _rows(texts: Texts) -> str:
    out = io.StringIO()
    told = ((one["role"], one["content"]) for one in _roles(texts))
    csv.writer(out).writerows([("role", "content"), *told])
    return out.getvalue()


def _deepseek(texts: Texts) -> str:
    def node(number: int, asks: bool, text: str) -> Json:
        spoken = {"type": "REQUEST" if asks else "RESPONSE", "content": text}
        fragments = [{"type": "THINK", "content": "hm"}, spoken]
        return {"parent": _parent(number), "children": [], "message": {"fragments": fragments}}

    nodes = {f"m{turn[0]}": node(*turn) for turn in _turns(texts)}
    return json.dumps([{"id": "c", "title": "t", "mapping": nodes}])


def _qwen_code(texts: Texts) -> str:
    def line(number: int, asks: bool, text: str) -> Json:
        kind = "user" if asks else "assistant"
        about = {"uuid": f"m{number}", "parentUuid": _parent(number), "sessionId": "s"}
        return about | {"type": kind, "message": {"role": kind, "parts": [{"text": text}]}}

    return lines(*(line(*turn) for turn in _turns(texts)))


def _droid(texts: Texts) -> str:
    def message(number: int, asks: bool, text: str) -> Json:
        inner = {"role": "user" if asks else "assistant", "content": _text(text)}
        about = {"type": "message", "id": f"m{number}", "parentId": _parent(number)}
        return about | {"message": inner}

    header = {"type": "session_start", "id": "s", "title": "t"}
    return lines(header, *(message(*turn) for turn in _turns(texts)))


def _goose(texts: Texts) -> str:
    def message(number: int, asks: bool, text: str) -> Json:
        about = {"role": "user" if asks else "assistant", "created": 1767225600 + number}
        return about | {"content": _text(text)}

    header = {"working_dir": "/", "description": "t", "message_count": len(texts)}
    return lines(header, *(message(*turn) for turn in _turns(texts)))


def _grok(texts: Texts) -> str:
    told = [
        {"response": {"_id": f"m{n}", "sender": "human" if asks else "ASSISTANT", "message": text}}
        for n, asks, text in _turns(texts)
    ]
    return json.dumps({"conversations": [{"conversation": {"id": "c"}, "responses": told}]})


def _opencode(texts: Texts) -> str:
    told = [
        {
            "info": {"id": f"msg_{n}", "role": "user" if asks else "assistant"},
            "parts": _text(text),
        }
        for n, asks, text in _turns(texts)
    ]
    return json.dumps({"info": {"id": "ses_1", "title": "t"}, "messages": told})


def _cline(texts: Texts) -> str:
    def event(number: int, asks: bool, text: str) -> Json:
        kind = "completion_result" if not asks else "user_feedback" if number else "text"
        return {"ts": _millis(number), "type": "say", "say": kind, "text": text}

    return json.dumps([event(*turn) for turn in _turns(texts)])


def _copilot(texts: Texts) -> str:
    def event(number: int, asks: bool, text: str) -> Json:
        kind = "user.message" if asks else "assistant.message"
        return {"type": kind, "id": f"m{number}", "data": {"content": text}}

    header = {"type": "session.start", "data": {"sessionId": "s"}}
    return lines(header, *(event(*turn) for turn in _turns(texts)))


def _aider(texts: Texts) -> str:
    def turn(asks: bool, text: str) -> str:
        return "".join(f"#### {line}\n" for line in text.split("\n")) if asks else f"{text}\n"

    told = "\n".join(turn(asks, text) for _, asks, text in _turns(texts))
    return f"# aider chat started at 2026-01-01 10:00:00\n\n> Aider v1\n\n{told}"


def _specstory(texts: Texts) -> str:
    turns = "".join(
        f"_**{'User' if asks else 'Agent'} ({_at(n):%Y-%m-%d %H:%M:%S}Z)**_\n\n{text}\n\n---\n\n"
        for n, asks, text in _turns(texts)
    )
    return f"<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# a title\n\n{turns}"


def _cursor(texts: Texts) -> str:
    return lines(
        *(
            {"role": one["role"], "message": {"content": _text(one["content"])}}
            for one in _roles(texts)
        )
    )


def _open_webui(texts: Texts) -> str:
    told = {
        f"m{n}": {"id": f"m{n}", "parentId": _parent(n), **message}
        for n, message in enumerate(_roles(texts))
    }
    history = {"messages": told, "currentId": list(told)[-1]}
    return json.dumps([{"id": "c", "chat": {"history": history}}])


def _discord(texts: Texts) -> str:
    def message(number: int, asks: bool, text: str) -> Json:
        name = "Ana" if asks else "Bo"
        about = {"id": str(number + 1), "type": "Default", "content": text}
        return about | {"timestamp": _at(number).isoformat(), "author": {"id": name, "name": name}}

    told = [message(*turn) for turn in _turns(texts)]
    return json.dumps({"guild": {"id": "g"}, "channel": {"id": "c"}, "messages": told})


def _messenger(texts: Texts) -> str:
    told = [
        {"sender_name": "Ana" if asks else "Bo", "timestamp_ms": _millis(n), "content": text}
        for n, asks, text in _turns(texts)
    ]
    thread: Json = {"participants": [{"name": "Ana"}], "messages": told[::-1]}
    return json.dumps(thread | {"thread_path": "t"})


def _ai_sdk(texts: Texts) -> str:
    told = [
        {"id": f"m{n}", "role": one["role"], "parts": _text(one["content"])}
        for n, one in enumerate(_roles(texts))
    ]
    return json.dumps({"id": "c", "messages": told})


def _antigravity(texts: Texts) -> str:
    def step(number: int, asks: bool, text: str) -> Json:
        request = (
            f"<USER_REQUEST>\n{text}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>x</ADDITIONAL_METADATA>"
        )
        told = (
            {"source": "USER_EXPLICIT", "type": "USER_INPUT", "content": request}
            if asks
            else {"source": "MODEL", "type": "PLANNER_RESPONSE", "content": text}
        )
        return {"step_index": number, **told}

    return lines(*(step(*turn) for turn in _turns(texts)))


def _kimi(texts: Texts) -> str:
    def event(number: int, asks: bool, text: str) -> Json:
        message = (
            {"type": "TurnBegin", "payload": {"user_input": text}}
            if asks
            else {"type": "ContentPart", "payload": {"type": "text", "text": text}}
        )
        return {"timestamp": 1767225600.5 + number, "message": message}

    header = {"type": "metadata", "protocol_version": "1.9"}
    return lines(header, *(event(*turn) for turn in _turns(texts)))


def _lobechat(texts: Texts) -> str:
    told = [
        {"id": f"m{n}", "topicId": "t", "createdAt": _millis(n), **message}
        for n, message in enumerate(_roles(texts))
    ]
    state: Json = {"messages": told[::-1], "topics": [{"id": "t", "title": "a title"}]}
    return json.dumps({"exportType": "sessions", "state": state, "version": 7})


def _langfuse(texts: Texts) -> str:
    def trace(number: int) -> Json:
        about: Json = {"id": f"r{number}", "sessionId": "s", "observations": []}
        at = _at(number).isoformat()
        answer = texts[number + 1] if number + 1 < len(texts) else None
        asked = [{"role": "user", "content": texts[number]}]
        return about | {"timestamp": at, "input": asked, "output": answer}

    return lines(*(trace(number) for number in range(0, len(texts), 2)))


def _imessage(texts: Texts) -> str:
    def message(number: int, asks: bool, text: str) -> str:
        name = "Me" if asks else "Ana"
        return f"Jan 01, 2026 10:00:0{number} AM (Read by you)\n{name}\n{text}\n\n"

    return "".join(message(*turn) for turn in _turns(texts))


def _gemini_takeout(texts: Texts) -> str:
    def activity(number: int) -> Json:
        about: Json = {"header": "Gemini Apps", "title": f"Prompted {texts[number]}"}
        answers = [{"html": f"<p>{text}</p>"} for text in texts[number + 1 : number + 2]]
        at = f"{_at(number):%Y-%m-%dT%H:%M:%S}.000Z"
        return about | {"time": at, "products": ["Gemini Apps"], "safeHtmlItem": answers}

    return json.dumps([activity(number) for number in range(0, len(texts), 2)][::-1])


def _chat_lines(texts: Texts, head: str) -> str:
    return "".join(
        f"{head.format(n=n)} {'Ana' if asks else 'Bo'}: {text}\n" for n, asks, text in _turns(texts)
    )


LOGS: dict[str, Callable[[Texts], str]] = {
    "claude_code": _claude_code,
    "openclaw": _openclaw,
    "codex": _codex,
    "openai_responses": _openai_responses,
    "gemini_cli": _gemini_cli,
    "chatgpt": _chatgpt,
    "claude_ai": _claude_ai,
    "longmemeval": _longmemeval,
    "locomo": _locomo,
    "sharegpt": _sharegpt,
    "telegram": _telegram,
    "langchain": lambda texts: json.dumps(
        [{"type": "human" if asks else "ai", "content": text} for _, asks, text in _turns(texts)]
    ),
    "slack": _slack,
    "openai_messages": lambda texts: json.dumps({"messages": list(_roles(texts))}),
    "rows": _rows,
    "signal": lambda texts: _chat_lines(texts, "[2024-12-24, 12:2{n}]"),
    "whatsapp": lambda texts: _chat_lines(texts, "[24/12/24, 12:23:0{n}]"),
    "transcript": lambda texts: "".join(
        f"{'User' if asks else 'Assistant'}: {text}\n" for _, asks, text in _turns(texts)
    ),
    "text": lambda texts: "".join(f"{text}\n\n" for text in texts),
    "deepseek": _deepseek,
    "qwen_code": _qwen_code,
    "droid": _droid,
    "goose": _goose,
    "grok": _grok,
    "opencode": _opencode,
    "cline": _cline,
    "copilot": _copilot,
    "aider": _aider,
    "specstory": _specstory,
    "cursor": _cursor,
    "open_webui": _open_webui,
    "discord": _discord,
    "messenger": _messenger,
    "ai_sdk": _ai_sdk,
    "antigravity": _antigravity,
    "kimi": _kimi,
    "lobechat": _lobechat,
    "langfuse": _langfuse,
    "imessage": _imessage,
    "gemini_takeout": _gemini_takeout,
}


def _small(make: Callable[[Texts], str]) -> Callable[[str], str]:
    return lambda text: make([text, "fine"])


SMALL_LOGS: dict[str, Callable[[str], str]] = {form: _small(make) for form, make in LOGS.items()}
"""A person says the text and is answered "fine"."""
