"""Proposed mappings: known forms are read right without their reader, unknown ones in one step."""

import io
import json
import shlex
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest
from small_logs import LOGS
from test_mapped_formats import DATABASES, as_lines, make_database
from test_mapped_formats import LOGS as MAPPED_LOGS

from memsense.cli.app import hoist_global_options, root
from memsense.errors import IngestError
from memsense.ingest import ReadOptions, ReadReport, Source, expand_paths, read_source
from memsense.ingest.head import Head, read_head
from memsense.ingest.mapping.proposal import propose_mappings
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

TEXTS = ("Where is the boat?", "At the pier.", "Who rows it today?", "The old man does.")
NOT_PROPOSED = {
    "cline": "nothing in a row says who speaks",
    "gemini_takeout": "a question is the title of a page's entry",
    "otel_genai": "messages stand in a list of keys and values",
}
WRONG = {"antigravity": "texts keep the tag <USER_REQUEST>"}
"""Forms whose proposal gives other messages than the reader, and what the proposal says of it."""


def _turns(conversations: Iterable[Conversation]) -> list[tuple[str, str]]:
    """Return sides and texts; people are numbered, as a proposal may call them by their ids."""
    people: dict[str | None, str] = {}
    return [
        (
            people.setdefault(one.speaker, str(len(people))) if one.role == "other" else one.role,
            one.text,
        )
        for talk in conversations
        for one in talk.messages
    ]


def _forms(folder: Path) -> Iterator[tuple[str, Source]]:
    logs = {name: make(TEXTS) for name, make in LOGS.items()}
    logs |= {name: as_lines(value) for name, value in MAPPED_LOGS.items()}
    for name, text in logs.items():
        yield name, Source(label=name, name=name, opener=partial(io.BytesIO, text.encode()))
    for name in DATABASES:
        (database,) = expand_paths([make_database(folder, name)])
        yield name, database


def test_known_forms_are_read_without_their_reader(tmp_path: Path) -> None:
    forms = right = 0
    for name, source in _forms(tmp_path):
        is_database = source.kind == "database"
        head = Head(name, "", True, (), False) if is_database else read_head(source, 1 << 16)
        if not (head.is_json or is_database or name == "rows"):
            continue
        forms += 1
        expected = _turns(read_source(source, ReadOptions(format=name)))
        proposals = propose_mappings(head, source)
        assert bool(proposals) == (name not in NOT_PROPOSED), name
        if not proposals:
            continue
        mapped = read_source(source, ReadOptions(map=dict(proposals[0].fields)))
        is_right = _turns(mapped) == expected
        assert is_right == (name not in WRONG), (name, proposals)
        assert WRONG.get(name, "") in proposals[0].result
        right += is_right
    assert forms >= 66
    assert right == forms - len(WRONG) - len(NOT_PROPOSED)


EVENTS = {
    "id": "s",
    "events": [
        {"author": "user", "content": {"parts": [{"text": "Which pump?"}]}, "at": 1733043686.8},
        {"author": "pilot", "content": {"parts": [{"text": "400 W."}]}, "at": 1733043688.1},
    ],
}
NESTED = {
    "threads": [
        {
            "uuid": "c1",
            "chat_messages": [
                {"sender": "human", "text": "Which pump?", "created_at": "2025-10-27T10:01:00Z"},
                {"sender": "helper", "text": "400 W.", "created_at": "2025-10-27T10:02:00Z"},
            ],
        }
    ]
}
CELLS = """id,chatId,who,parts,createdAt
u1,c1,user,"[{""type"":""text"",""text"":""Which pump?""}]",2026-05-01T10:00:00Z
u2,c1,assistant,"[{""type"":""text"",""text"":""400 W.""}]",2026-05-01T10:01:00Z
"""
FALLING = [
    {"sent_by_user": True, "kind": "a", "said": "How much?", "ts": 1733043690, "hidden": False},
    {"sent_by_user": True, "kind": "b", "said": "(typing)", "ts": 1733043689, "hidden": True},
    {"sent_by_user": False, "kind": "b", "said": "400 W.", "ts": 1733043688, "hidden": False},
    {"sent_by_user": True, "kind": "b", "said": "Which pump?", "ts": 1733043686, "hidden": False},
]


ROUNDS = {
    "rounds": [{"user": {"says": "Which pump?"}, "model": {"thinking": "Well.", "says": "400 W."}}]
}
CALLS = {
    "thread_id": "t",
    "asked": {"turns": [{"who": "user", "says": "Which pump?"}]},
    "outcome": {"who": "assistant", "says": "400 W."},
}
DIALOGUE = [{"turns": [{"by": "USER", "said": "Which pump?"}, {"by": "SYSTEM", "said": "400 W."}]}]
STEPS = [
    {"kind": "ask", "data": {"question": "Which pump?"}},
    {"kind": "think", "data": {"note": "It is deep."}},
    {"kind": "tell", "data": {"answer": "400 W."}},
]
PARTS = [
    {
        "actor": who,
        "parts": [{"kind": "reasoning", "body": "Well, well."}, {"kind": "text", "body": said}],
    }
    for who, said in (("human", "Which pump?"), ("bot", "400 W."))
]
FORMS = {
    "agent": json.dumps(EVENTS),
    "nested": json.dumps(NESTED),
    "cells": CELLS,
    "pairs": json.dumps({"chat": {"history": [["Which pump?", "400 W."]]}}),
    "rounds": json.dumps(ROUNDS),
    "calls": json.dumps(CALLS),
    "steps": as_lines(STEPS),
    "parts": as_lines(PARTS),
    "flat": json.dumps(
        {"m.0.role": "user", "m.0.text": "Which pump?", "m.1.role": "ai", "m.1.text": "400 W."}
    ),
    "dialogue": json.dumps(DIALOGUE),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_the_proposed_command_reads_an_unknown_form(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log of a pump"
    log.write_text(text)
    messages = _run_proposal(log, capsys)
    assert [(one["role"], one["text"]) for one in messages] == [
        ("user", "Which pump?"), ("assistant", "400 W."),
    ]  # fmt: skip


def test_a_database_is_read_by_a_table_or_by_two_that_are_joined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, joined = tmp_path / "pairs.db", tmp_path / "joined.db"
    with sqlite3.connect(pairs) as connection:
        connection.executescript(
            # Tables of a known program's names do not hide what the database is.
            "CREATE TABLE sessions(id INTEGER); CREATE TABLE messages(id INTEGER);"
            "CREATE TABLE memory(id INTEGER, user_input TEXT, ai_response TEXT);"
            "INSERT INTO memory VALUES (1, 'Which pump?', '400 W.');"
        )
    with sqlite3.connect(joined) as connection:
        connection.executescript(
            "CREATE TABLE users(id INTEGER, name TEXT);"
            "CREATE TABLE posts(id INTEGER, user_id INTEGER, body TEXT);"
            "INSERT INTO users VALUES (7, 'user'), (8, 'assistant');"
            "INSERT INTO posts VALUES (1, 7, 'Which pump?'), (2, 8, '400 W.');"
        )
    for log in (pairs, joined):
        assert [one["role"] for one in _run_proposal(log, capsys)] == ["user", "assistant"]


def test_a_list_from_the_newest_message_is_turned_and_hidden_ones_left_out(
    read_log: ReadLog,
) -> None:
    rows = [{"role": "user" if row["sent_by_user"] else "ai", **row} for row in FALLING]
    data = json.dumps({"posts": rows}).encode()
    source = Source(label="log", name="log", opener=partial(io.BytesIO, data))
    (proposal, *_) = propose_mappings(read_head(source, 1 << 16), source)
    fields = dict(proposal.fields)
    assert fields["order"] == "ts"
    conversations, report = read_log(data, ReadOptions(map=fields))
    assert [one.text for one in conversations[0].messages] == ["Which pump?", "400 W.", "How much?"]
    assert report.skip_counts == {"hidden": 1}


def test_what_the_proposal_reads_is_said(read_log: ReadLog) -> None:
    with pytest.raises(IngestError) as raised:
        read_log(json.dumps(EVENTS | {"note": "The well is twelve metres deep."}))
    assert "reads 2 messages of 1 session in its first rows, 35% of their text: user" in str(
        raised.value
    )


@pytest.mark.parametrize(
    "rows",
    [
        [{"key": "a b", "value": 1}, {"key": "c d", "value": 2}],
        [{"level": "info", "text": "it began."}, {"level": "warn", "text": "it ended."}],
        [{"prompt": "x1", "response": "x2"}],
    ],
)
def test_rows_that_are_no_turns_get_no_proposal(rows: list[dict[str, object]]) -> None:
    source = Source(label="x", name="x", opener=partial(io.BytesIO, json.dumps(rows).encode()))
    assert propose_mappings(read_head(source, 1 << 16), source) == []


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("agent_name_as_author.json", 2),
        ("app.db", 2),
        ("nested_list.json", 2),
        ("parts_as_json_text.csv", 2),
        ("user_bot_rows.json", 4),
    ],
)
def test_shared_samples_are_read_as_proposed(
    name: str, count: int, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = samples / "logs3" / "proposals"
    if not folder.is_dir():
        pytest.skip(f"no samples in {folder}")
    log = tmp_path / name
    log.write_bytes((folder / name).read_bytes())
    messages = _run_proposal(log, capsys, known=True)
    assert [one["role"] for one in messages] == ["user", "assistant"] * (count // 2)
    assert [one["text"] for one in messages][:2] in (["Which pump?", "400 W."], ["hi", "Hello."])


def _call(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        root(args=hoist_global_options(arguments), prog_name="memsense")
    return ended.value.code


def _run_proposal(
    log: Path, capsys: pytest.CaptureFixture[str], *, known: bool = False
) -> list[dict[str, str]]:
    """Run the first command that the error proposes; return the messages that it shows."""
    code = _call("ingest", str(log), "--preview", "--json")
    printed = capsys.readouterr()
    if code and "try: memsense " in printed.err:
        command = printed.err.partition("try: memsense ")[2].partition(", which reads ")[0]
        assert _call(*shlex.split(command), "--json") == 0
        printed = capsys.readouterr()
    else:
        # A form that has got a reader since needs no proposal.
        assert known, printed.err
    talks = json.loads(printed.out)["first"]
    return [message for talk in talks for message in talk["messages"]]
