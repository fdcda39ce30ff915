"""Formats as files: each reads a small log in its published form, also as a user's own file."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
import wanted_logs
from foreign_databases import connect
from small_logs import SMALL_LOGS
from wanted_logs import TEXTS

from memsense.errors import IngestError
from memsense.ingest import READERS, ReadOptions, ReadReport, expand_paths, read_source
from memsense.ingest.mapping.format_map import BUILT_IN, list_format_files, load_format
from memsense.ingest.registry import built_in_readers
from memsense.ingest.zstandard import zstd
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

ASKED, SAID = "Where is the boat?", "At the pier."
FILES = dict(list_format_files(BUILT_IN))
AT = "2026-03-01T10:00:00Z"
NANOS = 1772359200 * 10**9


def chat(user: str = "user", answer: str = "assistant", **more: Any) -> list[dict[str, Any]]:
    return [{"role": user, "content": ASKED, **more}, {"role": answer, "content": SAID, **more}]


def parts(role: str, text: str) -> dict[str, Any]:
    thought = {"type": "reasoning", "content": "hm"}
    return {"role": role, "parts": [thought, {"type": "text", "content": text}]}


def otlp(span: str, start: int, attributes: Mapping[str, object]) -> dict[str, Any]:
    listed = [
        {"key": key, "value": {"stringValue": json.dumps(value)}}
        for key, value in attributes.items()
    ]
    return {
        "traceId": "t1", "spanId": span, "startTimeUnixNano": str(start), "attributes": listed,
    }  # fmt: skip


INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
SPANS = [
    # The span with the answer ended first; another repeats the question, and one is no call.
    otlp("b", NANOS + 2, {INPUT: [parts("user", ASKED)], OUTPUT: [parts("assistant", SAID)]}),
    otlp("a", NANOS + 1, {INPUT: [parts("system", "be kind"), parts("user", ASKED)]}),
    otlp("c", NANOS, {"http.method": "GET"}),
]
ANSWER = {"kwargs": {"type": "ai", "content": SAID}}
LANGCHAIN = {
    "id": ["langchain", "schema", "messages", "HumanMessage"],
    "kwargs": {"type": "human", "content": ASKED},
}

LOGS: dict[str, Any] = {
    "google_adk": {
        "id": "s1",
        "appName": "app",
        "userId": "ada",
        "events": [
            {"id": "1", "author": "user", "content": {"role": "user", "parts": [{"text": ASKED}]}},
            {"id": "2", "author": "a", "content": {"parts": [{"functionCall": {}}]}},
            {"id": "3", "author": "a", "partial": True, "content": {"parts": [{"text": "At"}]}},
            {"id": "4", "author": "a", "content": {"role": "model", "parts": [{"text": SAID}]}},
        ],
    },
    "autogen": {
        "messages": [
            {"source": "user", "type": "TextMessage", "models_usage": None, "content": ASKED},
            {"source": "pilot", "type": "ThoughtEvent", "models_usage": None, "content": "hm"},
            {"source": "pilot", "type": "TextMessage", "models_usage": {}, "content": SAID},
        ],
        "stop_reason": None,
    },
    "autogen_agent": {
        "type": "AssistantAgentState",
        "llm_context": {
            "messages": [
                {"type": "UserMessage", "source": "user", "content": ASKED},
                {"type": "FunctionExecutionResultMessage", "content": [{"content": "x"}]},
                {"type": "AssistantMessage", "source": "pilot", "content": SAID},
            ]
        },
    },
    "llamaindex": {
        "class_name": "SimpleChatStore",
        "store": {
            "ada": [
                {"role": one["role"], "blocks": [{"block_type": "text", "text": one["content"]}]}
                for one in chat()
            ]
        },
    },
    "semantic_kernel": {
        "messages": [
            {
                "content_type": "message",
                "role": one["role"],
                "items": [{"content_type": "text", "text": one["content"]}],
            }
            for one in [{"role": "system", "content": "be kind"}, *chat()]
        ]
    },
    "langsmith": [
        {"run_type": "chain", "trace_id": "t", "inputs": {"input": ASKED}, "outputs": {}},
        {
            "run_type": "llm",
            "trace_id": "t",
            "start_time": AT,
            "inputs": {"messages": [[LANGCHAIN]]},
            "outputs": {"generations": [[{"message": ANSWER}]]},
        },
    ],
    "otel_genai": {"resourceSpans": [{"scopeSpans": [{"spans": SPANS}]}]},
    "otel_genai_spans": {
        "name": "chat",
        "context": {"trace_id": "t"},
        "start_time": AT,
        "attributes": {
            INPUT: json.dumps([parts("user", ASKED)]),
            OUTPUT: json.dumps([parts("assistant", SAID)]),
        },
    },
    "phoenix": {
        "context": {"trace_id": "t"},
        "start_time": AT,
        "attributes": {
            "llm": {
                "input_messages": [{"message": chat()[0]}],
                "output_messages": [{"message": chat()[1]}],
            }
        },
    },
    "lm_studio": {
        "name": "A walk",
        "createdAt": NANOS // 10**6,
        "messages": [
            {
                "currentlySelected": 0,
                "versions": [
                    {"role": "user", "content": [{"type": "text", "text": ASKED}]}
                ],
            },
            {
                "currentlySelected": 0,
                "versions": [
                    {
                        "type": "multiStep",
                        "role": "assistant",
                        "steps": [
                            {
                                "type": "contentBlock",
                                "style": {"type": "thinking"},
                                "content": [{"type": "text", "text": "hm"}],
                            },
                            {"type": "contentBlock", "content": [{"type": "text", "text": SAID}]},
                        ],
                    }
                ],
            },
        ],
    },
    "sillytavern": [
        {"user_name": "Ada", "character_name": "Sea", "chat_metadata": {"note": ""}},
        {"name": "Ada", "is_user": True, "is_system": False, "send_date": AT, "mes": ASKED},
        {"name": "Sea", "is_user": False, "is_system": True, "send_date": AT, "mes": "help"},
        {"name": "Sea", "is_user": False, "is_system": False, "send_date": AT, "mes": SAID},
    ],
    "chatbox": {
        "settings": {"theme": 1},
        "chat-sessions-list": [{"id": "s1", "name": "A walk"}],
        "session:s1": {
            "id": "s1",
            "name": "A walk",
            "messages": [
                {
                    "id": f"m{number}",
                    "role": one["role"],
                    "contentParts": [{"type": "text", "text": one["content"]}],
                    "timestamp": NANOS // 10**6,
                }
                for number, one in enumerate(chat())
            ],
        },
    },
    "typingmind": {
        "data": {
            "chats": [
                {"id": "c", "chatTitle": "A walk", "messages": [*chat(createdAt=AT)]},
                {"id": "empty", "messages": []},
            ]
        }
    },
    "openai_assistants": {
        "object": "list",
        "data": [
            {
                "id": f"msg_{number}",
                "object": "thread.message",
                "thread_id": "t",
                "created_at": NANOS // 10**9 + number,
                "role": one["role"],
                "content": [{"type": "text", "text": {"value": one["content"], "annotations": []}}],
            }
            for number, one in reversed([*enumerate(chat())])
        ],
    },
    "anthropic_batches": {
        "custom_id": "r1",
        "params": {"model": "m", "messages": [chat()[0]]},
        "result": {
            "type": "succeeded",
            "message": {"role": "assistant", "content": [{"type": "text", "text": SAID}]},
        },
    },
    "bedrock": {
        "schemaType": "ModelInvocationLog",
        "timestamp": AT,
        "requestId": "r",
        "modelId": "m",
        "input": {"inputBodyJson": {"messages": [{"role": "user", "content": [{"text": ASKED}]}]}},
        "output": {
            "outputBodyJson": {"role": "assistant", "content": [{"type": "text", "text": SAID}]}
        },
    },
    "vapi": {
        "id": "c",
        "startedAt": AT,
        "artifact": {
            "messages": [
                {"role": "system", "message": "be kind", "time": NANOS // 10**6},
                {"role": "user", "message": ASKED, "time": NANOS // 10**6},
                {"role": "bot", "message": SAID, "time": NANOS // 10**6},
            ]
        },
    },
    "retell": {"call_id": "c", "transcript_object": chat(answer="agent")},
    "elevenlabs": {
        "conversation_id": "c",
        "metadata": {"start_time_unix_secs": NANOS // 10**9},
        "transcript": [
            {"role": "user", "message": ASKED, "time_in_call_secs": 1},
            {"role": "agent", "message": None, "tool_calls": [{}]},
            {"role": "agent", "message": SAID, "time_in_call_secs": 4},
        ],
    },
    "intercom": {
        "type": "conversation",
        "id": "1",
        "source": {"id": "0", "author": {"type": "user", "name": "Ada"}, "body": f"<p>{ASKED}</p>"},
        "conversation_parts": {
            "conversation_parts": [
                {"part_type": "note", "author": {"type": "admin", "name": "Bo"}, "body": "hm"},
                {"part_type": "comment", "author": {"type": "admin", "name": "Bo"}, "body": SAID},
            ]
        },
    },
    "teams": {
        "value": [
            {
                "id": str(number),
                "messageType": "message",
                "chatId": "19:x",
                "createdDateTime": f"2026-03-01T10:0{number}:00Z",
                "from": {"user": {"displayName": name}},
                "body": {"contentType": "html", "content": f"<div>{text}</div>"},
            }
            for number, name, text in ((2, "Bo", SAID), (1, "Ada", ASKED))
        ]
    },
    "matrix": {
        "room_name": "Boats",
        "messages": [
            {"type": "m.room.member", "sender": "@bo:x", "content": {"membership": "join"}},
            *(
                {
                    "type": "m.room.message",
                    "event_id": f"${name}",
                    "sender": f"@{name}:x",
                    "origin_server_ts": NANOS // 10**6,
                    "content": {"msgtype": "m.text", "body": text},
                }
                for name, text in (("ada", ASKED), ("bo", SAID))
            ),
        ],
    },
    "mattermost": [
        {"type": "version", "version": 1},
        *(
            {
                "type": "post",
                "post": {
                    "team": "t", "channel": "c", "user": user, "message": text,
                    "create_at": NANOS // 10**6 + place,
                },
            }
            for place, user, text in ((0, "ada", ASKED), (1, "bo", SAID))
        ),
    ],
}  # fmt: skip

ZED: dict[str, Any] = {
    "version": "0.3.0",
    "messages": [
        {"User": {"id": "m1", "content": [{"Text": ASKED}]}},
        {"Agent": {"content": [{"Thinking": {"text": "hm"}}, {"Text": SAID}], "tool_results": {}}},
    ],
}
DATABASES: Mapping[str, tuple[str, Sequence[tuple[str, Sequence[object]]]]] = {
    "kiro_cli": wanted_logs.KIRO_CLI,
    "openai_agents": (
        "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY);"
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT,"
        " created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);",
        [
            (
                "INSERT INTO agent_messages (session_id, message_data) VALUES ('s1', ?)",
                (json.dumps(item),),
            )
            for item in (
                chat()[0],
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": SAID}],
                },
            )
        ],
    ),
    "google_adk": (
        "CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT);"
        "CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT,"
        " timestamp REAL, event_data TEXT);",
        [
            (
                "INSERT INTO events VALUES (?, 'app', 'ada', 's1', ?, ?)",
                (
                    str(place),
                    1772359200.0 + place,
                    json.dumps(
                        {
                            "id": str(place),
                            "author": role,
                            "timestamp": 1772359200.0 + place,
                            "content": {"role": role, "parts": [{"text": text}]},
                        }
                    ),
                ),
            )
            for place, role, text in ((1, "model", SAID), (0, "user", ASKED))
        ],
    ),
    "llm": (
        "CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);"
        "CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, response TEXT,"
        " conversation_id TEXT, datetime_utc TEXT);",
        [
            ("INSERT INTO conversations VALUES ('c', 'A walk', 'm')", ()),
            (
                "INSERT INTO responses VALUES ('r', 'm', ?, ?, 'c', '2026-03-01T10:00:00+00:00')",
                (ASKED, SAID),
            ),
        ],
    ),
    "crush": (
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT);"
        "CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT,"
        " created_at INTEGER);",
        [
            ("INSERT INTO sessions VALUES ('s', NULL, 'A walk'), ('sub', 's', 'A task')", ()),
            ("INSERT INTO messages VALUES ('m0', 'sub', 'user', '[]', 1772359200)", ()),
            *(
                (
                    "INSERT INTO messages VALUES (?, 's', ?, ?, 1772359200)",
                    (
                        one["role"],
                        one["role"],
                        json.dumps([{"type": "text", "data": {"text": one["content"]}}]),
                    ),
                )
                for one in chat()
            ),
        ],
    ),
    "hermes": (
        "CREATE TABLE schema_version (version INTEGER);"
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT,"
        " tool_call_id TEXT, timestamp REAL);",
        [
            ("INSERT INTO sessions VALUES ('s', 'cli', 1772359200.0)", ()),
            *(
                (
                    "INSERT INTO messages (session_id, role, content, timestamp)"
                    " VALUES ('s', ?, ?, 1772359200.5)",
                    (role, text),
                )
                for role, text in (("user", ASKED), ("tool", "{}"), ("assistant", SAID))
            ),
        ],
    ),
    "zed": (
        "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT,"
        " data BLOB);",
        [
            (
                "INSERT INTO threads VALUES ('t', 'A walk', '2026-03-01T10:00:00Z', 'zstd', ?)",
                (zstd.compress(json.dumps(ZED).encode()),),
            )
        ],
    ),
}
LOGS.update(wanted_logs.LOGS)
LEFT_OUT: Mapping[str, Mapping[str, int]] = {
    "google_adk": {"tool call or result": 1, "unfinished piece of an answer": 1},
    "autogen": {"tool call, thought or event": 1},
    "autogen_agent": {"tool message": 1},
    "semantic_kernel": {"system message": 1},
    "langsmith": {"record of another kind": 1},
    "otel_genai": {
        "system message": 1, "record without messages": 1, "repeated earlier turn": 1,
    },
    "sillytavern": {"header": 1, "note of the program": 1},
    "typingmind": {"record without messages": 1, "conversation without messages": 1},
    "vapi": {"system message": 1},
    "elevenlabs": {"empty message": 1},
    "intercom": {"internal note": 1},
    "matrix": {"notice of the program": 1},
    "mattermost": {"record of another kind": 1},
    "helicone": {"repeated earlier turn": 1},
    "huggingchat": {"system message": 1},
    "openhands": {"action that is no message": 2, "observation of a tool": 1},
    "rocket_chat": {"notice of the program": 1},
    "zendesk": {"internal note": 1},
    "inspect": {"system message": 1, "tool message": 1},
    "openllmetry": {"system message": 1},
    "skype": {"call, file or notice": 1},
}  # fmt: skip
"""What is left out of the log of a format, by reason; nothing is of the others."""
OF_TEXTS: Mapping[str, tuple[set[str | None], Mapping[str, int]]] = {
    "irc": ({"ada", "bo"}, {"notice of the program": 3}),
    "zoom": ({"Ada Lovelace", "Bo"}, {"reaction": 1}),
    "line": ({"Ada", "Bo"}, {"notice of the program": 3, "sticker or media": 1}),
    "claude_export": ({None}, {"line of another form": 3, "command": 1, "tool call": 1}),
}
"""Who speaks in the lines of a format, and what is left out of them."""
OF_PEOPLE = {"teams", "matrix", "mattermost", "zendesk", "rocket_chat", "zulip", "skype"}


@pytest.fixture(autouse=True)
def own_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's own formats, which is empty."""
    folder = tmp_path / "own formats"
    folder.mkdir()
    monkeypatch.setenv("MEMSENSE_FORMATS_DIR", str(folder))
    return folder


@pytest.fixture
def without_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the formats that memsense has as files."""
    monkeypatch.setattr("memsense.ingest.registry.built_in_readers", tuple)


def as_lines(value: Any) -> str:
    records = cast("list[object]", value if isinstance(value, list) else [value])
    return "".join(json.dumps(record) + "\n" for record in records)


def make_database(folder: Path, name: str) -> Path:
    path = folder / f"{name}.db"
    tables, rows = DATABASES[name]
    with closing(connect(path)) as connection:
        connection.executescript(tables)
        for statement, values in rows:
            connection.execute(statement, values)
        connection.commit()
    return path


def said(conversations: Sequence[Conversation]) -> list[tuple[str, str]]:
    return [(m.role, m.text) for one in conversations for m in one.messages]


def expected(name: str) -> list[tuple[str, str]]:
    roles = ("other", "other") if name in OF_PEOPLE else ("user", "assistant")
    return [*zip(roles, (ASKED, SAID), strict=True)]


def test_every_format_has_a_sample_a_description_and_a_source() -> None:
    small = (set(SMALL_LOGS) - set(READERS)) | set(TEXTS)
    assert set(LOGS) | set(DATABASES) | small == set(FILES)
    assert set(LEFT_OUT) <= set(LOGS)
    assert len(FILES) >= 10
    for path in FILES.values():
        form = load_format(path)
        assert form.description, path
        assert form.source, path


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_recognised_says_what_it_says_and_counts_the_rest(
    name: str, read_log: ReadLog
) -> None:
    conversations, report = read_log(as_lines(LOGS[name]))
    assert report.detected["log.jsonl"][0] == name
    assert said(conversations) == expected(name)
    assert report.unusable_times == 0
    assert report.skip_counts == LEFT_OUT.get(name, {})
    # The same as a list of records, as exports often are.
    conversations, report = read_log(json.dumps(LOGS[name]))
    assert report.detected["log.jsonl"][0] == name
    assert said(conversations) == expected(name)


@pytest.mark.parametrize("name", TEXTS)
def test_lines_of_text_are_recognised_and_say_what_they_say(name: str, read_log: ReadLog) -> None:
    conversations, report = read_log(TEXTS[name], name="log.txt")
    assert report.detected["log.txt"][0] == name
    assert [text for _, text in said(conversations)] == [ASKED, SAID, "Thank you."]
    speakers = {message.speaker for one in conversations for message in one.messages}
    names, reasons = OF_TEXTS[name]
    assert speakers == names
    assert report.skip_counts == reasons


def test_a_greeting_of_a_character_is_an_answer_without_a_question(read_log: ReadLog) -> None:
    pairs = [["<|BEGIN-VISIBLE-CHAT|>", "Ahoy!"], [ASKED, "At the pier.\n\nBehind & below."]]
    conversations, report = read_log(json.dumps({"internal": pairs, "visible": pairs}))
    assert said(conversations) == [
        ("assistant", "Ahoy!"), ("user", ASKED), ("assistant", pairs[1][1]),
    ]  # fmt: skip
    assert report.skip_counts == {"record without a prompt": 1}


@pytest.mark.parametrize("name", DATABASES)
def test_a_database_is_recognised_and_says_what_it_says(name: str, tmp_path: Path) -> None:
    report = ReadReport()
    (source,) = expand_paths([make_database(tmp_path, name)])
    conversations = list(read_source(source, None, report))
    assert report.detected[source.label][0] == name
    assert said(conversations) == expected(name)
    assert all(message.at for one in conversations for message in one.messages) or name == "zed"


@pytest.mark.usefixtures("without_built_in")
@pytest.mark.parametrize("name", [*LOGS])
def test_a_format_works_as_a_file_of_the_users_own(
    name: str, own_formats: Path, tmp_path: Path, read_log: ReadLog
) -> None:
    mine = f"my_{name}"
    shutil.copy(FILES[name], own_formats / f"{mine}.toml")
    conversations, report = read_log(as_lines(LOGS[name]))
    assert report.detected["log.jsonl"][0] == mine
    assert said(conversations) == expected(name)
    shared = shutil.copy(FILES[name], tmp_path / "shared.toml")
    conversations, _ = read_log(as_lines(LOGS[name]), ReadOptions(format=str(shared)))
    assert said(conversations) == expected(name)


@pytest.mark.parametrize("name", LOGS)
def test_a_log_may_be_cut_anywhere(name: str, read_log: ReadLog) -> None:
    log = json.dumps(LOGS[name])
    for end in range(1, len(log), 41):
        try:
            conversations, _ = read_log(log[:end], ReadOptions(format=name))
        except IngestError:
            continue
        assert {text for _, text in said(conversations)} <= {ASKED, SAID}


def test_formats_are_loaded_once() -> None:
    assert built_in_readers() is built_in_readers()
