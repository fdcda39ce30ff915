"""The project of what a log holds: by the folder that the log, or a file beside it, names."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foreign_databases import connect

from memsense.draft.drafting import Annotations, Drafter
from memsense.draft.facets.tagger import RuleTagger
from memsense.ingest import ReadOptions, ReadReport, expand_paths, read_source
from memsense.text.projects import project_of
from memsense.types import Conversation

LOOMS, BOATS = "/work/of/ada/looms", "/work/of/ada/boats"
Json = dict[str, Any]


def lines(*records: Json) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def claude_code(*folders: str | None) -> str:
    told: list[Json] = []
    for number, folder in enumerate(folders):
        for role in ("user", "assistant"):
            place = {"cwd": folder} if folder else {}
            own = {"type": role, "uuid": f"{role}{number}", "sessionId": "s", **place}
            message = {"role": role, "content": f"{role} says {number}"}
            parent = told[-1]["uuid"] if told else None
            told.append({**own, "parentUuid": parent, "message": message})
    return lines(*told)


def codex(first: str, *later: str) -> str:
    told: list[Json] = [{"type": "session_meta", "payload": {"id": "s", "cwd": first}}]
    for number, folder in enumerate((first, *later)):
        if number:
            told.append({"type": "turn_context", "payload": {"cwd": folder}})
        for kind in ("user_message", "agent_message"):
            payload = {"type": kind, "message": f"{kind} {number}"}
            told.append({"type": "event_msg", "payload": payload})
    return lines(*told)


def opencode() -> str:
    def message(role: str, **info: Any) -> Json:
        own = {"id": f"m-{role}", "role": role, **info}
        return {"info": own, "parts": [{"type": "text", "text": role}]}

    messages = [message("user"), message("assistant", path={"cwd": BOATS, "root": BOATS})]
    return json.dumps({"info": {"id": "s", "directory": LOOMS}, "messages": messages})


def copilot(*folders: str) -> str:
    told: list[Json] = []
    for number, folder in enumerate(folders):
        data = {"sessionId": "s", "context": {"cwd": folder}}
        told.append({"type": "session.start" if not number else "session.resume", "data": data})
        for role in ("user", "assistant"):
            own = {"type": f"{role}.message", "id": f"{role}{number}"}
            told.append({**own, "data": {"content": f"{role} {number}"}})
    return lines(*told)


VSCODE = {
    "sessionId": "s",
    "requesterUsername": "ada",
    "requests": [{"requestId": "r", "message": "Hello", "response": [{"value": "Hi"}]}],
}
COMPOSER = {
    "composerId": "c",
    "conversation": [
        {"bubbleId": "b1", "type": 1, "text": "Hello"},
        {"bubbleId": "b2", "type": 2, "text": "Hi"},
    ],
}
GEMINI = {
    "sessionId": "s",
    "projectHash": "5d41402abc4b2a76b9719d911017c592",
    "messages": [
        {"id": "1", "type": "user", "content": "Hello"},
        {"id": "2", "type": "gemini", "content": "Hi"},
    ],
}


def cline(text: str) -> str:
    request = json.dumps({"request": f"<task>Hello</task>\n{text}"})
    return json.dumps(
        [
            {"ts": 1, "type": "say", "say": "text", "text": "Hello"},
            {"ts": 2, "type": "say", "say": "api_req_started", "text": request},
            {"ts": 3, "type": "say", "say": "completion_result", "text": "Hi"},
        ]
    )


def pair(**envelope: Any) -> list[Json]:
    return [
        {**envelope, "id": str(n), "message": {"role": role, "content": role}}
        for n, role in enumerate(("user", "assistant"))
    ]


QWEN = [
    {
        "type": role,
        "uuid": role,
        "sessionId": "s",
        "cwd": LOOMS,
        "message": {"role": role, "parts": [{"text": role}]},
    }
    for role in ("user", "assistant")
]
GOOSE = [
    {"role": role, "created": 1, "content": [{"type": "text", "text": role}]}
    for role in ("user", "assistant")
]
AIDER = "# aider chat started at 2026-01-01 10:00:00\n\n#### Hello\n\nHi\n"
TASKS = "# Current Workspace Directory (/work/of/ada/looms) Files\nsrc/"

# Files by path; the projects of the exchanges that they hold.
Case = tuple[dict[str, str], list[str | None]]
CASES: dict[str, Case] = {
    "claude code": ({"s.jsonl": claude_code(LOOMS, LOOMS)}, [LOOMS, LOOMS]),
    "claude code, in another folder later": (
        {"s.jsonl": claude_code(LOOMS, BOATS, None)},
        [LOOMS, BOATS, LOOMS],
    ),
    "claude code, without folders": ({"s.jsonl": claude_code(None)}, [None]),
    "claude code, in a home": ({"s.jsonl": claude_code("/home/ada")}, [None]),
    "codex": ({"rollout.jsonl": codex(LOOMS, BOATS)}, [LOOMS, BOATS]),
    "opencode": ({"export.json": opencode()}, [BOATS]),
    "qwen code": ({"s.jsonl": lines(*QWEN)}, [LOOMS]),
    "openclaw and pi": (
        {"s.jsonl": lines({"type": "session", "id": "s", "cwd": LOOMS}, *pair(type="message"))},
        [LOOMS],
    ),
    "droid": (
        {
            "s.jsonl": lines(
                {"type": "session_start", "id": "s", "cwd": LOOMS}, *pair(type="message")
            )
        },
        [LOOMS],
    ),
    "goose": ({"s.jsonl": lines({"id": "s", "working_dir": LOOMS}, *GOOSE)}, [LOOMS]),
    "goose, exported": (
        {"s.json": json.dumps({"id": "s", "working_dir": LOOMS, "conversation": GOOSE})},
        [LOOMS],
    ),
    "copilot": ({"events.jsonl": copilot(LOOMS, BOATS)}, [LOOMS, BOATS]),
    "copilot in vs code": (
        {
            "ws/chatSessions/s.json": json.dumps(VSCODE),
            "ws/workspace.json": json.dumps({"folder": f"file://{LOOMS}"}),
        },
        [LOOMS],
    ),
    "copilot in vs code, on windows": (
        {
            "ws/chatSessions/s.json": json.dumps(VSCODE),
            "ws/workspace.json": json.dumps({"folder": "file:///c%3A/Users/ada/my%20looms"}),
        },
        ["c:\\Users\\ada\\my looms"],
    ),
    "copilot in vs code, over ssh": (
        {
            "ws/chatSessions/s.json": json.dumps(VSCODE),
            "ws/workspace.json": json.dumps({"folder": f"vscode-remote://ssh-remote%2Bbox{LOOMS}"}),
        },
        [LOOMS],
    ),
    "copilot in vs code, without a folder": (
        {"ws/chatSessions/s.json": json.dumps(VSCODE), "ws/workspace.json": "{"},
        [None],
    ),
    "cline": ({"task/ui_messages.json": cline(TASKS)}, [LOOMS]),
    "cline, of a later version": ({"task/ui_messages.json": cline("")}, [None]),
    "gemini cli": (
        {"tmp/looms/chats/s.json": json.dumps(GEMINI), "tmp/looms/.project_root": LOOMS},
        [LOOMS],
    ),
    "gemini cli, with the hash alone": ({"tmp/h/chats/s.json": json.dumps(GEMINI)}, [None]),
    "aider": ({".aider.chat.history.md": AIDER}, ["{folder}"]),
    "aider, copied": ({"history.md": AIDER}, [None]),
}


@pytest.fixture(autouse=True)
def fresh_names() -> None:
    project_of.cache_clear()


def read_projects(folder: Path, **options: Any) -> list[str | None]:
    """Return the project of each exchange of the logs in a folder."""
    report = ReadReport()
    conversations: list[Conversation] = []
    for source in expand_paths([folder]):
        if not source.name.endswith(("workspace.json", ".project_root")):
            conversations += read_source(source, ReadOptions(**options), report)
    drafter = Drafter(tagger=RuleTagger(), ledger=True, annotations=Annotations())
    exchanges = [it for one in conversations for it in drafter.draft(one, "ada").exchanges]
    return [exchange.chunks[0].project for exchange in exchanges]


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_an_exchange_is_about_the_folder_that_its_log_names(tmp_path: Path, case: Case) -> None:
    files, expected = case
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    about = [project and project.format(folder=tmp_path) for project in expected]
    assert read_projects(tmp_path) == about
    # What the caller knows counts where the log says nothing.
    told = read_projects(tmp_path, project="mine")
    assert told == [project or "mine" for project in about]


def _opencode_database(path: Path) -> None:
    with closing(connect(path)) as connection, connection as database:
        database.executescript(
            "CREATE TABLE session (id, directory, time_created);"
            "CREATE TABLE message (id, session_id, time_created, data);"
            "CREATE TABLE part (id, message_id, session_id, data);"
        )
        database.execute("INSERT INTO session VALUES ('s', ?, 1)", [LOOMS])
        for role in ("user", "assistant"):
            data = json.dumps({"role": role})
            database.execute("INSERT INTO message VALUES (?, 's', 1, ?)", [role, data])
            part = json.dumps({"type": "text", "text": role})
            database.execute("INSERT INTO part VALUES (?, ?, 's', ?)", [role, role, part])


def _goose_database(path: Path) -> None:
    with closing(connect(path)) as connection, connection as database:
        database.executescript(
            "CREATE TABLE schema_version (version);"
            "CREATE TABLE sessions (id, working_dir, created_at);"
            "CREATE TABLE messages (id, session_id, role, created_timestamp, content_json);"
        )
        database.execute("INSERT INTO sessions VALUES ('s', ?, 1)", [LOOMS])
        for number, role in enumerate(("user", "assistant")):
            content = json.dumps([{"type": "text", "text": role}])
            row = [number, role, content]
            database.execute("INSERT INTO messages VALUES (?, 's', ?, 1, ?)", row)


def _cursor_database(path: Path) -> None:
    with closing(connect(path)) as connection, connection as database:
        database.execute("CREATE TABLE ItemTable (key, value)")
        chats = json.dumps({"allComposers": [COMPOSER]})
        database.execute("INSERT INTO ItemTable VALUES ('composer.composerData', ?)", [chats])
    (path.parent / "workspace.json").write_text(json.dumps({"folder": f"file://{LOOMS}"}))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("opencode.db", _opencode_database),
        ("sessions.db", _goose_database),
        ("state.vscdb", _cursor_database),
    ],
)
def test_a_session_of_a_database_is_about_its_folder(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(tmp_path / name)
    [source] = [it for it in expand_paths([tmp_path]) if it.name.endswith(name)]
    [conversation] = read_source(source, ReadOptions(), ReadReport())
    assert conversation.project == LOOMS


def test_a_log_of_this_machine_is_about_the_repository_around_its_folder(tmp_path: Path) -> None:
    looms = tmp_path / "looms"
    (looms / ".git").mkdir(parents=True)
    address = "https://ada:s3cret@github.com/ada/looms.git"
    (looms / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {address}\n')
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "s.jsonl").write_text(claude_code(str(looms / "src")))
    assert read_projects(tmp_path / "logs") == ["github.com/ada/looms"]
