"""`memory.for_user` reaches no chunk, session, trace or project of another user, by any id."""

import inspect
import json
import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from embedders import HashingEmbedder
from psycopg import sql

from memsense import MemSense
from memsense.client.aio import AsyncMemSense, AsyncUserMemory
from memsense.client.user_memory import UserMemory
from memsense.errors import InvalidInputError, MemSenseError, NotFoundError

SECRET = "The secret garden lies behind the mill in Porto."
OWN = "I drink tea in Lisbon."


@pytest.fixture(scope="module")
def memory(module_database_url: str) -> Generator[MemSense]:
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as opened:
        yield opened


@pytest.fixture(scope="module")
def theirs(memory: MemSense) -> dict[str, Any]:
    """Store memories of another user, and return their ids."""
    chunks = memory.add(
        [{"role": "user", "content": SECRET}], user_id="bob", session_id="bobs", tags=["mill"]
    )
    memory.add([{"role": "user", "content": OWN}], user_id="ada", session_id="adas")
    memory.projects.create("garden", ["bobs"])
    memory.projects.create("both", ["adas", "bobs"])
    trace = memory.search("the secret garden", user_id="bob", trace=True)
    of_all = memory.search("the secret garden", all_users=True, trace=True)
    memory.traces.flush()
    return {
        "chunk_id": chunks[0].chunk_id,
        "session_id": "bobs",
        "trace_id": trace.trace_id,
        "trace_of_all": of_all.trace_id,
        "project": "garden",
    }


@pytest.fixture
def ada(memory: MemSense, theirs: dict[str, Any]) -> UserMemory:
    assert theirs
    return memory.for_user("ada")


def by_chunk(ada: UserMemory) -> dict[str, Callable[..., Any]]:
    """Return the methods that take a chunk's id."""
    owners = [("", ada), ("traces.", ada.traces), ("entities.", ada.entities)]
    return {
        prefix + name: method
        for prefix, owner in owners
        for name, method in inspect.getmembers(owner, inspect.ismethod)
        if not name.startswith("_") and "chunk_id" in inspect.signature(method).parameters
    }


def contents(url: str) -> Any:
    digest = sql.SQL("SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {} AS t")
    with psycopg.connect(url) as conn:
        return [
            conn.execute(digest.format(sql.Identifier("memsense", table))).fetchone()
            for table in ("chunks", "events", "embeddings")
        ]


def test_no_chunk_of_another_user_is_there(
    ada: UserMemory, theirs: dict[str, Any], module_database_url: str
) -> None:
    usual: dict[str, Any] = {"chunk_id": theirs["chunk_id"], "query": "garden", "helpful": True}
    before = contents(module_database_url)
    methods = by_chunk(ada)
    assert len(methods) >= 9
    for name, method in methods.items():
        required = {
            item.name: usual[item.name]
            for item in inspect.signature(method).parameters.values()
            if item.default is item.empty and item.kind is not item.VAR_KEYWORD
        }
        with pytest.raises(NotFoundError) as refused:
            method(**required)
        with pytest.raises(NotFoundError) as absent:
            method(**{**required, "chunk_id": 10**9})
        known = str(theirs["chunk_id"])
        assert str(refused.value) == str(absent.value).replace(str(10**9), known), name
    assert contents(module_database_url) == before


def test_a_chunk_of_one_s_own_is_reached_by_every_method(ada: UserMemory) -> None:
    [own] = ada.recent()
    assert ada.get(own.chunk_id).content == own.content
    assert ada.why_not("tea", own.chunk_id).step == "hit"
    assert ada.promote(own.chunk_id) > ada.demote(own.chunk_id)
    ada.feedback(own.chunk_id, helpful=True)
    assert ada.forget(own.chunk_id) == ada.restore(own.chunk_id) == [own.chunk_id]
    assert ada.archive(own.chunk_id) == ada.restore(own.chunk_id) == [own.chunk_id]
    assert {event.kind for event in ada.history(own.chunk_id)} >= {"feedback", "promoted"}


def test_a_user_lists_and_finds_only_their_own_memory(
    ada: UserMemory, theirs: dict[str, Any]
) -> None:
    every: list[dict[str, Any]] = [
        {}, {"session_ids": ["bobs"]}, {"tags": ["mill"]}, {"exclude": [1]}
    ]  # fmt: skip
    for options in every:
        result = ada.search("the secret garden behind the mill in Porto", **options)
        assert {hit.chunk.user_id for hit in result} <= {"ada"}
        assert "bob" not in " ".join(result.notes).replace("no session 'bobs'", "")
    assert ada.recent(session_id="bobs") == []
    assert {scope.user_id for scope in ada.stats()} == {"ada"}
    assert {entity.user_id for entity in ada.entities.list()} <= {"ada"}
    with pytest.raises(NotFoundError) as refused:
        ada.entities.get("Porto")
    assert "bob" not in str(refused.value)
    mine = ada.search("tea", trace=True)
    for trace_id in (theirs["trace_id"], theirs["trace_of_all"]):
        for method in (ada.traces.get, ada.traces.replay):
            with pytest.raises(NotFoundError, match="no trace"):
                method(trace_id)
    assert ada.traces.get(mine.trace_id or "").user_id == "ada"
    assert ada.traces.replay(mine.trace_id or "").is_unchanged
    assert {trace.user_id for trace in ada.traces.list()} == {"ada"}
    assert {replay.question for replay in ada.traces.compare().replays} == {"tea"}


def test_a_project_shows_one_s_own_sessions(ada: UserMemory) -> None:
    assert [(item.name, item.session_ids) for item in ada.projects.list()] == [("both", ["adas"])]
    assert ada.projects.get("both").session_ids == ["adas"]
    assert {hit.session_id for hit in ada.search("tea", project="both")} == {"adas"}
    for name in ("garden", "none"):
        for call in (
            lambda name=name: ada.projects.get(name),
            lambda name=name: ada.search("tea", project=name),
        ):
            with pytest.raises(NotFoundError) as refused:
                call()
            assert str(refused.value) == f"no project '{name}' with sessions of 'ada'"


def test_another_user_cannot_be_named(ada: UserMemory, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"session_id": "s", "user_id": "bob", "role": "user", "content": "A log."}')
    message = [{"role": "user", "content": "Hello there, bob."}]
    others: list[dict[str, Any]] = [{"user_id": "bob"}, {"all_users": True}]
    for whose in others:
        calls: list[Callable[[], Any]] = [
            lambda whose=whose: ada.search("tea", **whose),
            lambda whose=whose: ada.recent(**whose),
            lambda whose=whose: ada.add(message, session_id="bobs", **whose),
            lambda whose=whose: ada.ingest(log, **whose),
            lambda whose=whose: ada.entities.list(**whose),
            lambda whose=whose: ada.traces.compare(**whose),
            lambda whose=whose: ada.why_not("tea", ada.recent()[0].chunk_id, **whose),
        ]
        for call in calls:
            with pytest.raises(InvalidInputError, match="this is the memory of 'ada' alone: leave"):
                call()
    assert ada.ingest(log).users == {"ada"}


def test_an_unknown_user_learns_no_names(memory: MemSense, theirs: dict[str, Any]) -> None:
    assert theirs
    result = memory.for_user("bobb").search("garden", trace=True)
    assert list(result) == []
    assert "'bob'" not in " ".join(result.notes)
    trace = memory.for_user("bobb").traces.get(result.trace_id or "")
    assert "'bob'" not in " ".join(trace.notes)


def test_a_user_must_be_named(memory: MemSense) -> None:
    nobody: Any = None
    for user_id in ("", nobody):
        with pytest.raises(InvalidInputError, match="user_id"):
            memory.for_user(user_id)


def test_a_user_erases_and_exports_only_their_own_memory(
    ada: UserMemory, tmp_path: Path, module_database_url: str
) -> None:
    before = contents(module_database_url)
    others: tuple[dict[str, Any], ...] = ({"session_id": "bobs"}, {"message_id": "none"})
    for named in others:
        with pytest.raises(NotFoundError, match="nothing of"):
            ada.erase(**named)
    with pytest.raises(InvalidInputError, match="alone"):
        ada.erase(user_id="bob")  # pyright: ignore[reportCallIssue]
    ada.export_to(tmp_path / "ada.jsonl")
    text = (tmp_path / "ada.jsonl").read_text()
    assert OWN in text
    assert SECRET not in text
    assert contents(module_database_url) == before


# Whatever is public ------------------------------------------------------------------------------

WHOLE_MEMORY = {
    "open", "close", "for_user", "embedder", "pool_size",
    "settings", "profiles", "models", "indexes", "jobs", "ttl", "access_keys", "erasures",
    "items", "histories", "users", "growth", "statistics", "import_from", "questions",
}  # fmt: skip
"""What is all users' together, or opens and closes: a memory of one user has none of it."""

WHOLE_RESOURCES = {
    "traces": {"flush", "prune", "failures"},
    "projects": {"create", "delete", "add", "remove"},
    "entities": {"rebuild", "extractor", "pool", "find_namespace", "require_namespace"},
}


def public(owner: Any) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


def test_the_methods_that_a_users_memory_lacks_are_listed_here(
    memory: MemSense, ada: UserMemory
) -> None:
    """A new public name is either a part of `for_user`, or listed here."""
    assert public(MemSense) - public(UserMemory) == WHOLE_MEMORY
    for name, lacks in WHOLE_RESOURCES.items():
        whole, own = getattr(memory, name), getattr(ada, name)
        assert public(whole) - public(own) == lacks, name
        assert public(own) - {"user_id"} <= public(whole)


def test_the_async_memory_of_one_user_has_the_same_guards() -> None:
    assert public(AsyncUserMemory) - {"user_id"} == public(UserMemory)
    lacks = public(AsyncMemSense) - public(AsyncUserMemory)
    assert lacks == WHOLE_MEMORY - {"embedder"} | {"over"}


def guarded(memory: MemSense, ada: UserMemory) -> dict[str, tuple[Callable[..., Any], set[str]]]:
    """Return every public method of a user's memory, with the names of all that it takes."""
    owners: list[tuple[str, Any, Any]] = [("", ada, memory)]
    owners += [(f"{name}.", getattr(ada, name), getattr(memory, name)) for name in WHOLE_RESOURCES]
    found: dict[str, tuple[Callable[..., Any], set[str]]] = {}
    for prefix, own, whole in owners:
        for name, method in inspect.getmembers(own, inspect.ismethod):
            if not name.startswith("_"):
                parameters = inspect.signature(method).parameters
                taken = {*parameters}
                if any(item.kind is item.VAR_KEYWORD for item in parameters.values()):
                    taken |= {*inspect.signature(getattr(whole, name)).parameters}
                found[f"{prefix}{name}"] = (method, taken)
    return found


def named(theirs: dict[str, Any], method: str) -> dict[str, Any]:
    """Return values for the parameters that may name something of another user."""
    chunk_id = theirs["chunk_id"]
    return {
        "chunk_id": chunk_id,
        "trace_id": theirs["trace_id"],
        "session_id": "bobs",
        "session_ids": ["bobs"],
        "message_id": "bobs message",
        "project": "garden",
        "name": "Porto" if method.startswith("entities") else "garden",
        "user_id": "bob",
        "all_users": True,
        "agent_id": "bobs agent",
        "exclude": [chunk_id, "bobs message"],
        "chunk_ids": [chunk_id],
        "older": chunk_id,
        "newer": chunk_id,
        "tags": ["mill"],
        "key": "bobs key",
        "query": "the secret garden behind the mill",
        "prompt": "the secret garden behind the mill",
        "queries": ["the secret garden behind the mill"],
    }


def told(found: Any) -> str:
    """Return everything in a result as one text."""
    if isinstance(found, list | tuple):
        return " ".join(map(told, cast("list[Any]", found)))
    if callable(getattr(found, "as_dict", None)):
        return json.dumps(found.as_dict(), default=str)
    return repr(found)


BOBS = """
SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {} AS t
WHERE scope_id = (SELECT scope_id FROM memsense.scopes WHERE user_id = 'bob')
"""


def of_bob(url: str) -> Any:
    """Return the rows of another user in every table."""
    with psycopg.connect(url) as conn:
        tables = conn.execute(
            "SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
            " WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p')"
            " AND a.attname = 'scope_id' AND NOT c.relispartition ORDER BY 1"
        ).fetchall()
        assert len(tables) > 8
        return [
            conn.execute(sql.SQL(BOBS).format(sql.Identifier("memsense", name))).fetchone()
            for (name,) in tables
        ]


def test_no_method_shows_or_changes_what_is_another_user_s_by_any_id(
    memory: MemSense, theirs: dict[str, Any], module_database_url: str, tmp_path: Path
) -> None:
    memory.promote(theirs["chunk_id"], key="bobs key")
    eve = memory.for_user("eve")
    [own] = eve.add([{"role": "user", "content": OWN}], session_id="eves")
    log = tmp_path / "log.jsonl"
    log.write_text('{"session_id": "x", "role": "user", "content": "A log."}')
    trace_id = eve.search("tea", trace=True).trace_id
    memory.traces.flush()
    mine: dict[str, Any] = {
        "chunk_id": own.chunk_id, "trace_id": trace_id, "session_id": "eves", "query": "tea",
        "prompt": "tea", "queries": ["tea"], "helpful": True, "name": "tea",
        "path": tmp_path / "export.jsonl",
        "words": ["teas"], "lexemes": ["tea"], "project": "garden",
        "chunk_ids": [own.chunk_id], "older": own.chunk_id, "newer": own.chunk_id,
        "decision": "set",
        "messages": [{"role": "user", "content": "More tea."}],
        "sessions": [{"session_id": "more", "messages": [{"role": "user", "content": "Tea?"}]}],
    }  # fmt: skip
    before, tried = of_bob(module_database_url), 0
    for name, (method, taken) in guarded(memory, eve).items():
        usual = {
            item.name: mine[item.name]
            for item in inspect.signature(method).parameters.values()
            if item.default is item.empty
            and item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL)
        }
        given = [log] if "paths" in taken else []
        others = {item: it for item, it in named(theirs, name).items() if item in taken}
        if name in {"erase", "delete"}:  # under a key alone they would erase eve's own memory
            others.pop("key", None)
        for parameter in others or [""]:
            tried += 1
            asked = {item: others[item] for item in others if item == parameter}
            try:
                found = told(method(*given, **{**usual, **asked}))
            except MemSenseError as error:
                found = str(error).replace("'bob'", "").replace("'bobs'", "")
            assert "Porto" not in found.replace("'Porto'", ""), (name, parameter)
            assert "bob" not in re.sub(r"bobs? (key|message|agent)", "", found) or (
                parameter in ("session_id", "session_ids") and "user_id='bob'" not in found
            ), (name, parameter)
            memory.traces.flush()
            assert of_bob(module_database_url) == before, (name, parameter)
    assert tried > 60
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    assert OWN in written
    assert SECRET not in written


def test_no_note_suggests_the_name_of_another_user(memory: MemSense, ada: UserMemory) -> None:
    assert ada.user_id == "ada"  # it is stored, as bob is
    hint = "no user 'adda' is stored here; did you mean 'ada'?"
    assert hint in memory.search("tea", user_id="adda").notes
    assert hint in memory.context("Where is my tea?", user_id="adda").notes
    adda = memory.for_user("adda")
    traced = adda.search("tea", trace=True)
    memory.traces.flush()
    assert traced.trace_id
    assert hint in memory.traces.get(traced.trace_id).notes
    answers = [
        traced,
        *adda.search_many(["tea", "garden"]),
        adda.context("Where is my tea?"),
        adda.traces.get(traced.trace_id),
        adda.traces.replay(traced.trace_id),
    ]
    for answer in answers:
        assert answer.notes
        assert not [note for note in answer.notes if "'ada'" in note]
    assert str(adda.context("Where is my tea?")) == ""
