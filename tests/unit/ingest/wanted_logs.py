"""Small logs of programs whose formats are files, each with one question and its answer."""

import json
from typing import Any

ASKED, SAID = "Where is the boat?", "At the pier."
AT = "2026-03-01T10:00:00Z"
_MILLIS = 1772359200 * 1000
_PAIRS = [
    ["<|BEGIN-VISIBLE-CHAT|>", ""],
    [ASKED, SAID],
]

LOGS: dict[str, Any] = {
    "text_generation_webui": {"internal": _PAIRS[1:], "visible": _PAIRS[1:], "metadata": {}},
    "huggingchat": {
        "id": "c",
        "title": "A walk",
        "model": "m",
        "rootMessageId": "r",
        "messages": [
            {"id": "r", "from": "system", "content": "be kind"},
            {"id": "1", "from": "user", "content": ASKED, "createdAt": AT},
            {"id": "2", "from": "assistant", "content": SAID, "createdAt": AT},
        ],
    },
    "helicone": [
        {
            "request_id": f"r{number}",
            "request_created_at": f"2026-03-01T10:00:0{number}Z",
            "request_properties": {"Helicone-Session-Id": "s"},
            "request_body": {"model": "m", "messages": [{"role": "user", "content": ASKED}]},
            "response_body": body,
        }
        # The newest comes first; the earlier request had no answer.
        for number, body in (
            (1, {"choices": [{"message": {"role": "assistant", "content": SAID}}]}),
            (0, {"error": {"message": "too many requests"}}),
        )
    ],
    "openhands": [
        {
            "id": 0, "timestamp": AT, "source": "agent", "action": "system",
            "args": {"content": "You are an agent."},
        },
        {
            "id": 1, "timestamp": AT, "source": "user", "action": "message",
            "args": {"content": ASKED, "wait_for_response": False},
        },
        {
            "id": 2, "timestamp": AT, "source": "agent", "action": "run",
            "args": {"command": "ls pier", "thought": ""},
        },
        {
            "id": 3, "timestamp": AT, "source": "agent", "observation": "run", "cause": 2,
            "content": "boat", "extras": {},
        },
        {
            "id": 4, "timestamp": AT, "source": "agent", "action": "finish",
            "args": {"final_thought": SAID, "outputs": {}},
        },
    ],
    "zendesk": {
        "comments": [
            {
                "id": 1, "type": "Comment", "author_id": 11, "body": ASKED, "plain_body": ASKED,
                "html_body": f"<p>{ASKED}</p>", "public": True, "attachments": [],
                "created_at": AT, "via": {"channel": "email"},
            },
            {
                "id": 2, "type": "Comment", "author_id": 12, "body": "look at the pier",
                "public": False, "created_at": AT, "via": {"channel": "web"},
            },
            {
                "id": 3, "type": "Comment", "author_id": 12, "body": SAID, "plain_body": SAID,
                "public": True, "created_at": AT, "via": {"channel": "web"},
            },
        ],
        "count": 3,
        "next_page": None,
    },
    "rocket_chat": {
        "messages": [
            {
                "_id": f"m{number}", "rid": "GENERAL", "msg": text, **more,
                "ts": f"2026-03-01T10:00:0{number}.000Z",
                "u": {"_id": name, "username": name, "name": name.title()},
            }
            # The newest comes first.
            for number, name, text, more in (
                (2, "bo", SAID, {}),
                (1, "ada", ASKED, {}),
                (0, "ada", "ada", {"t": "uj"}),
            )
        ],
        "success": True,
    },
    "zulip": {
        "result": "success",
        "messages": [
            {
                "id": number, "sender_id": number, "sender_full_name": name, "recipient_id": 20,
                "display_recipient": "harbour", "subject": "boats", "type": "stream",
                "content": f"<p>{text}</p>", "timestamp": 1772359200 + number,
            }
            for number, name, text in ((1, "Ada", ASKED), (2, "Bo", SAID))
        ],
    },
    "inspect": {
        "version": 2, "status": "success", "eval": {"run_id": "r", "task": "boats", "created": AT},
        "samples": [
            {
                "id": 1, "epoch": 1, "uuid": "s1", "input": ASKED, "target": "pier",
                "messages": [
                    {"id": "m0", "role": "system", "content": "be kind"},
                    {"id": "m1", "role": "user", "source": "input", "content": ASKED},
                    {
                        "id": "m2", "role": "assistant", "source": "generate",
                        "content": [
                            {"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": SAID}
                        ],
                    },
                    {"id": "m3", "role": "tool", "tool_call_id": "t", "content": "a pier"},
                ],
                "output": {"completion": SAID},
            }
        ],
    },
    "openllmetry": [
        {
            "name": "chat", "context": {"trace_id": "t"}, "start_time": AT,
            "attributes": {
                "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "be kind",
                "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": ASKED,
                "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": SAID,
            },
        }
    ],
    "skype": {
        "userId": "8:bo", "exportDate": "2026-03-02T09:00",
        "conversations": [
            {
                "id": "8:ada", "displayName": "Ada", "version": 1,
                "MessageList": [
                    {
                        "id": "2", "displayName": None, "messagetype": "RichText", "from": "8:bo",
                        "originalarrivaltime": "2026-03-01T10:02:00.0000000Z",
                        "content": SAID + '<e_m ts="1" a="8:bo" t="61"/>',
                    },
                    {
                        "id": "1", "displayName": "Ada", "messagetype": "Text", "from": "8:ada",
                        "originalarrivaltime": "2026-03-01T10:01:00.0000000Z", "content": ASKED,
                    },
                    {
                        "id": "0", "displayName": None, "messagetype": "Event/Call",
                        "from": "8:ada", "originalarrivaltime": "2026-03-01T10:00:00.0000000Z",
                        "content": '<partlist type="started"/>',
                    },
                ],
            }
        ],
    },
}  # fmt: skip

TEXTS = {
    "line": (
        "[LINE] Chat history with Bo\nSaved on: 2026/03/02 21:15\n\n2026/03/01(Sun)\n"
        f"10:00\tAda\t{ASKED}\n10:01\tBo\t{SAID}\n10:02\tBo\t[Sticker]\n"
        "10:03\tAda joined the chat.\n\n2026/03/02(Mon)\n10:04\tAda\tThank you.\n"
    ),
    "claude_export": (
        "╭────────────────────────────╮\n│ ✻ Welcome to Claude Code!  │\n"
        "╰────────────────────────────╯\n\n> /clear\n\n"
        f"> {ASKED}\n\n⏺ Read(boats.md)\n  ⎿  Read 12 lines\n\n⏺ {SAID}\n\n> Thank you.\n"
    ),
    "irc": (
        "--- Log opened Sun Mar 01 10:00:00 2026\n"
        "10:00 -!- bo [bo@pier] has joined #boats\n"
        f"10:00 <@ada> {ASKED}\n"
        f"10:01 < bo> {SAID}\n"
        "10:02  * bo waves\n"
        "10:03 <@ada> Thank you.\n"
    ),
    "zoom": (
        f"00:01:02 From Ada Lovelace to Everyone:\n\t{ASKED}\n"
        f"00:01:09 From Bo  To  Everyone : {SAID}\n"
        '00:01:12 From Ada Lovelace to Everyone:\n\tReacted to "At the pier." with a heart\n'
        "00:01:20\tBo:\tThank you.\n"
    ),
}
"""Each ends in "Thank you."."""

_TURNS: list[dict[str, Any]] = [
    {
        "user": {"content": {"Prompt": {"prompt": ASKED}}, "timestamp": AT},
        "assistant": {"ToolUse": {"message_id": "m1", "content": "", "tool_uses": []}},
    },
    {
        "user": {"content": {"ToolUseResults": {"tool_use_results": []}}, "timestamp": AT},
        "assistant": {"Response": {"message_id": "m2", "content": SAID}},
    },
]
KIRO_CLI = (
    "CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT,"
    " created_at INTEGER, updated_at INTEGER);",
    [
        (
            "INSERT INTO conversations_v2 VALUES ('/home/ada/boats', 'c', ?, ?, ?)",
            (json.dumps({"conversation_id": "c", "history": _TURNS}), _MILLIS, _MILLIS),
        )
    ],
)
