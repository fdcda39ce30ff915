"""A planted secret reaches no row of any table, whichever way it comes in."""

import json
import random
import string
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from dumping import dump, find_words
from embedders import HashingEmbedder
from mcp import Client

from memsense import AsyncMemSense, MemSense, load_settings
from memsense.client.histories import Said
from memsense.doctor.checkup import check_up
from memsense.draft.drafting import Annotations
from memsense.errors import ConfigurationError
from memsense.hooks.recall import Recaller
from memsense.ingest import ReadOptions
from memsense.mcp.scope import OneScope, Scope
from memsense.mcp.server import build_server
from memsense.store.items import PutItem

OpenMemory = Callable[..., MemSense]

# Made when the test runs, so that a scanner of repositories finds nothing here.
KEY = "AKIA" + "".join(random.Random(27).choices(string.ascii_uppercase + string.digits, k=16))
PASSWORD = "hunter2-Zebra"
PRIVATE = "mayonnaise"
SAID = f"My AWS key is {KEY}, the db password is {PASSWORD}. <private>I hate {PRIVATE}</private>"
STORED = "My AWS key is [redacted:aws-key], the db password is [redacted:password]."
COUNTS = {"aws-key": 1, "password": 1, "private": 1}
SUMMARY = "2 secrets redacted: 1 aws-key, 1 password; 1 private passage left out"


@pytest.fixture
def conn(database_url: str) -> Any:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def told(text: str = SAID) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": f"Noted: {text}"}]


def log(path: Path, *texts: str, ids: bool = True) -> Path:
    """Write a log of two messages for each text, with ids of messages or without."""
    lines: list[dict[str, Any]] = []
    for number, text in enumerate(texts):
        for role in ("user", "assistant"):
            line = {"role": role, "content": text, "session_id": "monday"}
            lines.append({**line, "id": f"{role}{number}"} if ids else line)
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def secrets_in(conn: psycopg.Connection[Any]) -> set[tuple[str, str]]:
    return find_words(conn, KEY, PASSWORD, PRIVATE)


def add(memory: MemSense) -> None:
    added = memory.add(
        told(),
        user_id="ada",
        session_id="monday",
        task_tag=f"password={PASSWORD}",
        tags=[f"key {KEY}", "work"],
        facets={"preferences": SAID},
        metadata={"password": PASSWORD, "deep": [{"note": SAID}]},
    )
    assert added[0].user_text.strip() == STORED
    assert added[0].metadata["password"] == "[redacted:password]"
    assert added.redacted["aws-key"] >= 2
    assert "secrets redacted" in added.notes[-1]


def add_many(memory: MemSense) -> None:
    [added] = memory.add_many([{"session_id": "monday", "messages": told()}], user_id="ada")
    assert added.redacted == {kind: 2 * count for kind, count in COUNTS.items()}


def answer_later(memory: MemSense) -> None:
    memory.add(told()[:1], user_id="ada", session_id="monday")
    memory.add(told()[1:], user_id="ada", session_id="monday")
    [chunk] = memory.list(user_id="ada")
    assert chunk.user_text.strip() == STORED


def update(memory: MemSense) -> None:
    [chunk] = memory.add(told("I like tea."), user_id="ada", session_id="monday")
    memory.update(
        chunk.chunk_id,
        content={"user": SAID},
        facets={"events": SAID},
        tags=[KEY],
        metadata={"note": SAID},
        reason=SAID,
    )
    assert memory.get(chunk.chunk_id).user_text.strip() == STORED


def notes(memory: MemSense) -> None:
    [chunk] = memory.add(told("I like tea."), user_id="ada", session_id="monday")
    memory.feedback(chunk.chunk_id, helpful=True, question=SAID, note=SAID)
    memory.forget(chunk.chunk_id, reason=SAID)
    memory.restore(chunk.chunk_id, reason=SAID)
    memory.archive(chunk.chunk_id, reason=SAID)


def items(memory: MemSense) -> None:
    memory.items.run("app", [PutItem(path=["a"], key="b", value={"x": [SAID]}, words=SAID)])


def histories(memory: MemSense) -> None:
    said = [Said.of({"role": "user", "content": SAID}), Said.of({"role": "tool", "output": SAID})]
    memory.histories.append("app", said, user_id="ada", session_id="monday")


def questions(memory: MemSense) -> None:
    memory.add(told("I like tea."), user_id="ada", session_id="monday")
    memory.search(SAID, user_id="ada", trace=True)
    memory.search_many([SAID, f"what is {KEY}"], user_id="ada", trace=True)
    memory.why_not(SAID, 1, user_id="ada")
    memory.traces.flush()  # they are written in the background


@pytest.mark.parametrize(
    "way", [add, add_many, answer_later, update, notes, items, histories, questions]
)
def test_with_redact_all_no_call_stores_a_secret(
    open_memory: OpenMemory,
    database_url: str,
    conn: psycopg.Connection[Any],
    way: Callable[[MemSense], None],
) -> None:
    settings = load_settings(database_url=database_url, redact="all")
    way(open_memory(settings=settings))
    assert "[redacted:aws-key]" in "".join(dump(conn).values())
    assert secrets_in(conn) == set()


def test_a_namespace_of_before_stores_and_counts_secrets_but_no_private_passages(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    memory.settings.set(redact="logs")
    added = memory.add(told(), user_id="ada", session_id="monday")
    assert KEY in added[0].user_text
    assert added.redacted == {"private": 2}
    assert added.notes == [
        "2 private passages left out",
        "4 secrets stored as they are: redact=True replaces them",
    ]
    assert not find_words(conn, PRIVATE)
    added = memory.add(told(), user_id="bob", session_id="monday", redact=True)
    assert added[0].user_text.strip() == STORED
    memory.settings.reset("redact")
    added = memory.add(told(), user_id="eve", session_id="monday")
    assert added[0].user_text.strip() == STORED
    added = memory.add(told("My pin is 4821."), user_id="kim", session_id="monday", redact=False)
    assert "4821" in added[0].user_text
    assert added.notes == []


def test_the_setting_of_the_process_comes_before_that_of_the_namespace(
    open_memory: OpenMemory, database_url: str
) -> None:
    memory = open_memory(settings=load_settings(database_url=database_url, redact="off"))
    memory.settings.set(redact="all")
    added = memory.add(told(), user_id="ada", session_id="monday")
    assert KEY in added[0].user_text


IBAN = "DE89 3704 0044 0532 0130 00"


def test_only_the_kinds_of_the_setting_are_replaced(
    memory: MemSense, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    said = f"Rent goes to {IBAN}, the AWS key is {KEY}."
    memory.settings.set(redact_kinds="-iban,-card")
    added = memory.add(told(said), user_id="ada", session_id="monday")
    [other] = memory.add_many([{"messages": told(said), "session_id": "tuesday"}], user_id="ada")
    file = log(tmp_path / "log.jsonl", said)
    assert memory.ingest(file, user_id="bob").redacted == {"aws-key": 2}
    assert added.redacted == other.redacted == {"aws-key": 2}
    assert added[0].user_text.strip() == f"Rent goes to {IBAN}, the AWS key is [redacted:aws-key]."
    assert added.notes == ["2 secrets redacted: 2 aws-key"]
    assert find_words(conn, KEY) == set()

    # The keys of a log's messages are those of their texts without any secret.
    memory.settings.set(redact_kinds="all")
    report = memory.ingest(file, user_id="bob")
    assert (report.stored, report.replaced, report.repeated) == (0, 1, 0)
    [chunk] = memory.list(user_id="bob")
    assert "[redacted:iban]" in chunk.user_text
    memory.settings.set(redact_kinds="iban card")
    added = memory.add(told(said), user_id="kim", session_id="monday")
    assert added.redacted == {"iban": 2}
    assert added[0].user_text.strip() == f"Rent goes to [redacted:iban], the AWS key is {KEY}."


@pytest.mark.parametrize(
    ("kinds", "problem"),
    [
        ("-ibam", "there is no kind 'ibam'; did you mean 'iban'"),
        ("iban,-card", "not both"),
        (7, "there is no kind ''|not both"),
        ("", "the kinds are anthropic-key, api-key"),
    ],
)
def test_kinds_that_are_unknown_are_refused(memory: MemSense, kinds: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        memory.settings.set(redact_kinds=kinds)


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("mode", ["turn", "session", "hybrid"])
def test_a_log_is_redacted_once_and_read_again_without_a_change(
    memory: MemSense, conn: psycopg.Connection[Any], tmp_path: Path, mode: Any, ids: bool
) -> None:
    file = log(
        tmp_path / "log.jsonl", "I like tea.", SAID, f"<private>{PRIVATE}</private>", ids=ids
    )
    annotations = Annotations(tags=[KEY], metadata={"password": PASSWORD})
    plan = memory.ingest(file, user_id="ada", mode=mode, annotations=annotations, dry_run=True)
    report = memory.ingest(file, user_id="ada", mode=mode, annotations=annotations)
    assert report.stored == plan.stored == 2
    assert report.redacted == plan.redacted == {"aws-key": 3, "password": 3, "private": 4}
    assert report.as_dict()["redacted"] == dict(report.redacted)
    assert secrets_in(conn) == set()

    before = dump(conn)
    again = memory.ingest(file, user_id="ada", mode=mode, annotations=annotations)
    assert (again.stored, again.replaced, again.repeated) == (0, 0, 2)
    assert dump(conn)["chunks"] == before["chunks"]


def test_a_log_of_before_is_left_alone_except_where_it_held_a_secret(
    memory: MemSense, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    # Without redaction, keys and hashes of messages are those of an earlier version.
    texts = "I like tea.", f"The AWS key is {KEY}.", "I like coffee."
    file = log(tmp_path / "log.jsonl", *texts)
    assert memory.ingest(file, user_id="ada", redact=False).stored == 3
    assert find_words(conn, KEY)
    report = memory.ingest(file, user_id="ada")
    assert (report.stored, report.replaced, report.repeated) == (0, 1, 2)
    assert secrets_in(conn) == set()


def test_off_stores_secrets_of_logs(
    open_memory: OpenMemory, database_url: str, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    memory = open_memory(settings=load_settings(database_url=database_url, redact="off"))
    memory.ingest(log(tmp_path / "log.jsonl", SAID), user_id="ada")
    assert find_words(conn, KEY)
    assert not find_words(conn, PRIVATE)


def test_the_prompt_that_a_hook_searches_with_is_recorded_without_secrets(
    open_memory: OpenMemory, database_url: str, conn: psycopg.Connection[Any]
) -> None:
    settings = load_settings(database_url=database_url, trace_sample=1.0)
    memory = open_memory(settings=settings)
    memory.add(told("The db is PostgreSQL."), user_id="ada", session_id="monday")
    Recaller().recall(memory.for_user("ada"), "tuesday", SAID, project=None, max_tokens=500)
    memory.traces.list(user_id="ada")
    memory.close()  # writes the waiting traces
    assert "[redacted:aws-key]" in dump(conn)["traces"]
    assert secrets_in(conn) == set()


def test_mcp_stores_no_secrets_by_default(database_url: str, conn: psycopg.Connection[Any]) -> None:
    async def main(work: Callable[[Client], Awaitable[None]]) -> None:
        settings = load_settings(database_url=database_url, trace_sample=1.0)
        memory = AsyncMemSense.open(settings=settings, embedder=HashingEmbedder())
        async with OneScope(settings, Scope(user_id="ada"), memory) as find:
            async with Client(build_server(find)) as client:
                await work(client)

    async def work(client: Client) -> None:
        stored = await client.call_tool(
            "remember", {"text": SAID, "answer": SAID, "tags": [KEY, "work"]}
        )
        assert "redacted: " in str(stored.content)
        await client.call_tool("recall", {"question": SAID})
        note = {"chunk_id": 1, "helpful": True, "question": SAID, "note": SAID}
        await client.call_tool("feedback", note)
        await client.call_tool("forget", {"chunk_id": 1, "reason": SAID})
        await client.call_tool("restore", {"chunk_id": 1, "reason": SAID})

    anyio.run(main, work)
    assert "[redacted:aws-key]" in dump(conn)["traces"]
    assert secrets_in(conn) == set()


def test_the_doctor_counts_stored_secrets_by_kind_and_never_prints_them(
    memory: MemSense, database_url: str
) -> None:
    settings = load_settings(database_url=database_url)

    def examine(*, secrets: bool = True) -> list[str]:
        report = check_up(
            database_url, settings=settings, embedder=HashingEmbedder(), secrets=secrets
        )
        assert KEY not in str(report.as_dict())
        return [finding.text for finding in report.findings if finding.check == "secrets"]

    memory.add(told(), user_id="ada", session_id="monday")
    assert examine() == []
    chunk, *_ = memory.add(
        told(f"My AWS key is {KEY}."), user_id="ada", session_id="tuesday", mode="hybrid",
        metadata={"password": PASSWORD}, redact=False,
    )  # fmt: skip
    [other] = memory.add(told("My PIN is 4821."), user_id="bob", session_id="monday", redact=False)
    memory.forget(other.chunk_id)
    [edited] = memory.add(told("My PIN is 4822."), user_id="bob", session_id="friday", redact=False)
    memory.update(edited.chunk_id, content={"user": "I like tea.", "assistant": "Noted."})
    ids = f"{chunk.chunk_id}, {other.chunk_id}, {edited.chunk_id}"
    assert examine() == [
        f"3 chunks of default/default hold secrets (such as chunk {ids}):"
        " 2 aws-key, 1 password, 4 pin"
    ]
    assert examine(secrets=False) == []


def test_an_import_redacts_only_on_request(
    open_memory: OpenMemory, database_url: str, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    memory = open_memory()
    memory.settings.set(redact="off")
    memory.add(told(), user_id="ada", session_id="monday", tags=[KEY], metadata={"a": SAID})
    memory.export_to(tmp_path / "one.jsonl", all_users=True)
    memory.erase(user_id="ada")
    memory.import_from(tmp_path / "one.jsonl")
    [chunk] = memory.list(user_id="ada")
    assert KEY in chunk.user_text
    assert chunk.tags == [KEY]
    memory.erase(user_id="ada")
    assert secrets_in(conn) == set()
    settings = load_settings(database_url=database_url, redact="all")
    open_memory(settings=settings).import_from(tmp_path / "one.jsonl")
    [chunk] = memory.list(user_id="ada")
    assert chunk.user_text.strip() == STORED
    assert secrets_in(conn) == set()


def test_the_readers_of_agents_are_redacted_too(
    memory: MemSense, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    lines = [
        {
            "type": role,
            "sessionId": "monday",
            "uuid": role,
            "parentUuid": None if role == "user" else "user",
            "cwd": "/home/ada/shop",
            "timestamp": "2026-05-01T10:00:00Z",
            "message": {"role": role, "content": SAID},
        }
        for role in ("user", "assistant")
    ]
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    report = memory.ingest(file, user_id="ada", options=ReadOptions(format="claude_code"))
    assert report.stored == 1
    assert report.redacted == {kind: 2 * count for kind, count in COUNTS.items()}
    assert secrets_in(conn) == set()
