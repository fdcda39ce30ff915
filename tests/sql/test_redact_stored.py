"""Redaction of what is stored: secrets leave every column, and memories are found as before."""

import json
import random
import string
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from dumping import count_rows, dump, find_words
from embedders import HashingEmbedder

from memsense import AsyncMemSense, MemSense
from memsense.client.histories import Said
from memsense.config import load_settings
from memsense.doctor.checkup import check_up
from memsense.draft.facets.model import Facets
from memsense.draft.facets.tagger import RuleTagger
from memsense.errors import ConfigurationError, InvalidInputError, NotFoundError
from memsense.store.items import PutItem, SearchItems

OpenMemory = Callable[..., MemSense]

# Made when the test runs, so that a scanner of repositories finds nothing here.
KEY = "AKIA" + "".join(random.Random(27).choices(string.ascii_uppercase + string.digits, k=16))
PASSWORD = "hunter2-Zebra"
PIN = "4821"
SAID = f"My AWS key is {KEY}, the db password is {PASSWORD}."
STORED = "My AWS key is [redacted:aws-key], the db password is [redacted:password]."


@pytest.fixture
def conn(database_url: str) -> Any:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def memory(open_memory: OpenMemory, database_url: str) -> MemSense:
    """A memory that stores what it gets as it is."""
    return open_memory(settings=load_settings(database_url=database_url, redact="off"))


def told(text: str, answer: str = "Noted.") -> list[dict[str, str]]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]


def rows_in(conn: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """Return each table's rows in one order, which those of a cluster lack."""
    return {table: sorted(text.split("\n")) for table, text in dump(conn).items()}


def secrets_in(conn: psycopg.Connection[Any]) -> set[tuple[str, str]]:
    words = KEY, PASSWORD, *PASSWORD.split("-")
    hashes = [sha256(SAID.encode()), sha256(json.dumps(["user", None, SAID]).encode())]
    return find_words(
        conn, *words, *(it.encode().hex() for it in words), *(it.hexdigest() for it in hashes)
    )


def fill(memory: MemSense, user_id: str = "ada") -> None:
    """Put the secrets in every place that a memory has for texts."""
    memory.settings.set(history="on")
    add: Any = {"user_id": user_id, "session_id": "monday", "mode": "hybrid"}
    memory.add(told("Ada moved to Lisbon."), **add)
    memory.add(
        told(f"Take the ferry to Almada. {SAID}", f"Your key {KEY} is noted."),
        **add,
        task_tag=f"password={PASSWORD}",
        tags=[f"key {KEY}", "work"],
        facets={"preferences": SAID},
        metadata={"password": PASSWORD, "deep": [{"note": SAID}]},
    )
    memory.add(told("Sister Nadja likes the fado."), **add)
    long = "\n\n".join(f"Paragraph {n} is about the tram of line {n}." for n in range(60))
    memory.add(told(f"{SAID}\n\n{long}\n\n{SAID}"), user_id=user_id, session_id="tuesday")
    memory.add(told(f"The boat to Porto Brandao. {SAID}"), user_id=user_id, session_id="wednesday")
    [forgotten] = memory.add(told(f"Forget it: {SAID}"), user_id=user_id, session_id="friday")
    [archived] = memory.add(told(f"Archive it: {SAID}"), user_id=user_id, session_id="friday")
    memory.add(told("Between them is the river."), user_id=user_id, session_id="friday")
    memory.forget(forgotten.chunk_id, reason=SAID)
    memory.archive(archived.chunk_id, reason=SAID)
    [edited] = memory.add(told(f"Edited: {SAID}"), user_id=user_id, session_id="saturday")
    memory.update(edited.chunk_id, content={"user": "Edited: I like tea."}, reason=SAID)
    memory.feedback(edited.chunk_id, helpful=True, question=SAID, note=SAID)
    memory.add(
        told(f"All of it: {SAID}", SAID), user_id=user_id, session_id="sunday", mode="session"
    )
    memory.items.run(
        "app",
        [PutItem(path=["a"], key="b", value={"x": [SAID, "ferry"]}, words=f"{SAID} ferry",
                 user_id=user_id)],
    )  # fmt: skip
    memory.histories.append(
        "app", [Said.of({"role": "user", "content": f"In a history: {SAID}"})],
        user_id=user_id, session_id="history",
    )  # fmt: skip
    memory.search(SAID, user_id=user_id, trace=True)
    memory.search("what is zebra for", user_id=user_id, trace=True)
    memory.search("what is the ferry for", user_id=user_id, trace=True)
    memory.traces.flush()


def examine(database_url: str) -> list[str]:
    report = check_up(
        database_url,
        settings=load_settings(database_url=database_url),
        embedder=HashingEmbedder(),
        deep=True,
        secrets=True,
    )
    checks = {"secrets", "exchanges", "vectors", "statistics"}
    return [
        f"{it.check}: {it.text}"
        for it in report.findings
        if it.severity != "info" and it.check in checks
    ]


def test_no_column_holds_a_secret_afterwards(
    memory: MemSense, database_url: str, conn: psycopg.Connection[Any]
) -> None:
    fill(memory)
    assert {table for table, _ in secrets_in(conn)} >= {
        "chunks", "lexemes", "items", "events", "traces", "superseded_chunks", "past_chunks",
    }  # fmt: skip
    result = memory.erasures.redact(user_id="ada", by="data protection")
    assert secrets_in(conn) == set()
    assert set(result.redacted) == {"aws-key", "password"}
    [receipt] = memory.erasures.list(about="ada")
    assert receipt.erasure_id == result.erasure_id
    assert (receipt.kind, receipt.erased_by) == ("secrets", "data protection")
    assert receipt.counts == result.redacted
    assert examine(database_url) == []
    again = memory.erasures.redact(user_id="ada")
    assert (again.redacted, again.erasure_id) == ({}, None)


def test_memories_are_found_by_their_other_words(memory: MemSense) -> None:
    fill(memory)
    before = memory.list(user_id="ada", limit=100, statuses=["active", "archived"])
    memory.erasures.redact(user_id="ada")
    after = {
        it.chunk_id: it
        for it in memory.list(user_id="ada", limit=100, statuses=["active", "archived"])
    }
    assert {it.status for it in before} == {it.status for it in after.values()}
    assert {(it.session_id, it.ordinal) for it in before} == {
        (it.session_id, it.ordinal) for it in after.values()
    }
    for words in ("ferry Almada", "boat Porto Brandao", "tram of line 42"):
        found = memory.search(words, user_id="ada", top_k=1)
        assert any(word in found[0].content for word in words.split())
    [ferry] = [it for it in after.values() if "Almada" in it.user_text]
    assert ferry.user_text == f"Take the ferry to Almada. {STORED}"
    assert ferry.metadata == {"password": "[redacted:password]", "deep": [{"note": STORED}]}
    assert ferry.preferences == STORED
    assert [it.kind for it in memory.history(ferry.chunk_id)] == ["added", "redacted"]
    [item] = memory.items.run("app", [SearchItems(prefix=["a"], words="ferry")])[0]
    assert item.value == {"x": [STORED, "ferry"]}
    assert [it.question for it in memory.traces.list(user_id="ada")] == ["what is the ferry for"]
    [forgotten] = memory.list(user_id="ada", statuses=["deleted"])
    memory.restore(forgotten.chunk_id)
    assert memory.get(forgotten.chunk_id).user_text == f"Forget it: {STORED}"
    assert memory.search("forget", user_id="ada", top_k=1)[0].chunk_id == forgotten.chunk_id


def test_a_dry_run_counts_and_writes_nothing(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    fill(memory)
    before = rows_in(conn)
    planned = memory.erasures.redact(all_users=True, dry_run=True)
    assert rows_in(conn) == before
    assert planned.erasure_id is None
    done: list[tuple[int, int]] = []
    result = memory.erasures.redact(
        all_users=True, on_progress=lambda count, total: done.append((count, total))
    )
    assert planned.redacted == result.redacted
    assert done[-1][0] <= done[-1][1] == count_rows(conn)["chunks"]


def test_only_the_kinds_that_are_named_are_replaced(memory: MemSense) -> None:
    said = f"The AWS key is {KEY}. My PIN is {PIN}."
    [chunk] = memory.add(told(said), user_id="ada", session_id="monday")
    assert memory.erasures.redact(user_id="ada", kinds="pin").redacted == {"pin": 1}
    assert (
        memory.get(chunk.chunk_id).user_text == f"The AWS key is {KEY}. My PIN is [redacted:pin]."
    )
    memory.settings.set(redact_kinds="-aws-key,-api-key")
    assert memory.erasures.redact(user_id="ada").redacted == {}
    with pytest.raises(ConfigurationError, match="did you mean 'pin'"):
        memory.erasures.redact(user_id="ada", kinds="pim")


def test_other_users_namespaces_and_tenants_stay_as_they_are(
    open_memory: OpenMemory, database_url: str, conn: psycopg.Connection[Any]
) -> None:
    def open_place(**place: str) -> MemSense:
        return open_memory(settings=load_settings(database_url=database_url, redact="off", **place))

    memory, others = open_place(), (open_place(tenant="other"), open_place(namespace="other"))
    for place in (memory, *others):
        fill(place)
    memory.add(told(SAID), user_id="bob", session_id="monday")
    everything = rows_in(conn)
    for place in (memory, *others):
        with pytest.raises(NotFoundError, match="nothing is stored of user 'eve'"):
            place.erasures.redact(user_id="eve")
    with pytest.raises(InvalidInputError):
        memory.erasures.redact()
    assert rows_in(conn) == everything
    memory.erasures.redact(user_id="ada")
    assert [it.user_text for it in memory.list(user_id="bob")] == [SAID]
    for place in others:
        assert place.erasures.redact(all_users=True, dry_run=True).redacted["aws-key"] > 10
    memory.erasures.redact(all_users=True)
    assert not any("AKIA" in it.content for it in memory.list(all_users=True, limit=100))
    for place in others:
        place.erasures.redact(all_users=True)
    assert secrets_in(conn) == set()


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("mode", ["turn", "session", "hybrid"])
def test_a_log_is_recognised_when_it_is_read_again(
    memory: MemSense,
    conn: psycopg.Connection[Any],
    database_url: str,
    open_memory: OpenMemory,
    tmp_path: Path,
    mode: Any,
    ids: bool,
) -> None:
    texts = "I like tea more than coffee, and I always did.", SAID, "The river is called Tejo."
    file = tmp_path / "log.jsonl"
    with file.open("w") as lines:
        for number, text in enumerate(texts):
            for role in ("user", "assistant"):
                line = {"role": role, "content": text, "session_id": "monday"}
                print(json.dumps({**line, "id": f"{role}{number}"} if ids else line), file=lines)
    assert memory.ingest(file, user_id="ada", mode=mode, redact=False).stored == 3
    memory.erasures.redact(user_id="ada")
    assert secrets_in(conn) == set()
    before = len(memory.list(user_id="ada", limit=100))
    again = open_memory(settings=load_settings(database_url=database_url, redact="all"))
    assert again.ingest(file, user_id="ada", mode=mode).stored == 0
    report = again.ingest(file, user_id="ada", mode=mode)
    assert (report.stored, report.replaced) == (0, 0)
    assert len(memory.list(user_id="ada", limit=100)) == before
    assert secrets_in(conn) == set()
    assert examine(database_url) == []


def test_what_is_added_again_without_its_secret_is_the_same(memory: MemSense) -> None:
    at = "2026-05-01T10:00:00Z"
    messages = [{**message, "at": at} for message in told(SAID)]
    [chunk] = memory.add(messages, user_id="ada", session_id="monday")
    memory.erasures.redact(user_id="ada")
    [same] = memory.add(messages, user_id="ada", session_id="monday", redact=True)
    assert same.chunk_id == chunk.chunk_id
    assert len(memory.list(user_id="ada")) == 1


def test_texts_that_differ_by_their_secrets_alone_stay_apart(memory: MemSense) -> None:
    for pin in (4821, 4822, 4823):
        memory.add(
            [{"role": "user", "content": f"My PIN is {pin}.", "at": "2026-05-01T10:00:00Z"}],
            user_id="ada", session_id="monday",
        )  # fmt: skip
    assert memory.erasures.redact(user_id="ada").redacted == {"pin": 3}
    texts = [it.user_text for it in memory.list(user_id="ada")]
    assert texts == ["My PIN is [redacted:pin]."] * 3


class WatchingTagger(RuleTagger):
    """Notes the transactions that hold locks on memories while it reads a text."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.texts, self.locks = url, list[str](), list[int]()

    def tag(self, user_text: str, assistant_text: str) -> Facets:
        self.texts.append(user_text)
        with psycopg.connect(self.url) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_locks WHERE mode = 'RowExclusiveLock' AND relation ="
                " ANY (ARRAY['memsense.chunks'::regclass, 'memsense.scopes'::regclass])"
                " AND pid <> pg_backend_pid()"
            ).fetchone()
        self.locks += row or ()
        return super().tag(user_text, assistant_text)


def test_the_tagger_sees_redacted_texts_while_nothing_is_locked(
    open_memory: OpenMemory, database_url: str
) -> None:
    tagger = WatchingTagger(database_url)
    settings = load_settings(database_url=database_url, redact="off")
    memory = open_memory(settings=settings, tagger=tagger)
    memory.add(told(SAID), user_id="ada", session_id="monday")
    tagger.texts.clear()
    tagger.locks.clear()
    memory.erasures.redact(user_id="ada")
    assert tagger.texts == [STORED]
    assert tagger.locks == [0]


def test_what_changes_meanwhile_is_read_again(
    open_memory: OpenMemory, database_url: str, conn: psycopg.Connection[Any]
) -> None:
    class Adding(RuleTagger):
        """Lets another process edit the memory that is being redacted, once, and add one."""

        changes: Sequence[Callable[[], object]] = ()

        def tag(self, user_text: str, assistant_text: str) -> Facets:
            changes, self.changes = self.changes, ()
            for change in changes:
                change()
            return super().tag(user_text, assistant_text)

    settings = load_settings(database_url=database_url, redact="off")
    tagger = Adding()
    memory, other = open_memory(settings=settings, tagger=tagger), open_memory(settings=settings)
    [chunk] = memory.add(told(SAID), user_id="ada", session_id="monday")
    tagger.changes = (
        lambda: other.update(chunk.chunk_id, content={"user": f"Edited. {SAID}"}),
        lambda: other.add(told(f"Added. {SAID}"), user_id="ada", session_id="monday"),
    )
    memory.erasures.redact(user_id="ada")
    assert secrets_in(conn) == set()
    assert [it.user_text for it in memory.list(user_id="ada")] == [
        f"Added. {STORED}", f"Edited. {STORED}",
    ]  # fmt: skip


def test_it_is_awaited_in_asyncio(database_url: str) -> None:
    async def main() -> None:
        settings = load_settings(database_url=database_url, redact="off")
        async with AsyncMemSense.open(settings=settings, embedder=HashingEmbedder()) as memory:
            await memory.add(told(SAID), user_id="ada", session_id="monday")
            result = await memory.erasures.redact(user_id="ada")
            assert result.redacted == {"aws-key": 1, "password": 1}

    anyio.run(main)
