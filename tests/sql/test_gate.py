"""Public methods either accept their arguments or raise one of memsense's errors."""

import inspect
import json
from collections.abc import Callable, Generator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from embedders import HashingEmbedder
from psycopg import sql
from servers import TestServer

from memsense import MemSense, MemSenseError, load_settings
from memsense.errors import EmbeddingError, InvalidInputError

RESOURCES = (
    "settings",
    "profiles",
    "projects",
    "traces",
    "entities",
    "indexes",
    "erasures",
    "jobs",
    "access_keys",
    "items",
    "histories",
)
FAR = timezone(timedelta(hours=23, minutes=59))


def nest(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


JUNK: tuple[Any, ...] = (
    None,
    True,
    2.5,
    float("nan"),
    -1,
    10**400,
    b"abc",
    Unprintable(),
    "",
    "a\x00b",
    "a\ud800",
    "x" * 100_000,
    [None],
    [""],
    {"a": {1, 2}},
    {1: 2},
    {"a": nest(100_000)},
    nest(100_000),
    datetime.min.replace(tzinfo=FAR),
)

USUAL: Mapping[str, Any] = {
    "messages": [{"role": "user", "content": "I moved to Lisbon."}],
    "user_id": "eve",
    "session_id": "friday",
    "query": "Where does Ada live?",
    "prompt": "Where does Ada live?",
    "queries": ["Where does Ada live?"],
    "sessions": [{"session_id": "friday", "messages": [{"role": "user", "content": "Yes."}]}],
    "chunk_id": 1,
    "chunk_ids": [1],
    "older": 1,
    "newer": 2,
    "decision": "rejected",
    "helpful": True,
    "name": "kitchen",
    "path": "/dev/null",
    "collection": "app",
    "operations": [],
    "said": [],
    "session_ids": ["monday"],
    "project": "kitchen",
    "trace_id": "00000000-0000-0000-0000-000000000000",
    "words": ["tea"],
    "lexemes": ["tea"],
}
"""What the user and a parameter without a default are given while another one gets junk."""


def public_methods(memory: MemSense) -> Mapping[str, Callable[..., Any]]:
    """Return every public method of a memory and its resources, by its readable name."""
    owners: dict[str, Any] = {f"{name}.": getattr(memory, name) for name in RESOURCES}
    names = {(prefix, name) for prefix, owner in owners.items() for name in dir(owner)}
    names |= {("", name) for name in dir(memory)}
    owners[""] = memory
    return {
        f"{prefix}{name}": getattr(owners[prefix], name)
        for prefix, name in sorted(names)
        if inspect.isfunction(inspect.getattr_static(owners[prefix], name))
        and not name.startswith("_")
        and name != "close"
    }


def calls(method: Callable[..., Any]) -> Generator[tuple[str, list[Any], dict[str, Any]]]:
    """Yield calls of a method with an invalid value for one argument each."""
    parameters = inspect.signature(method).parameters.values()
    required = [
        item.name
        for item in parameters
        if item.name == "user_id"
        or (item.default is item.empty and item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD))
    ]
    for item in parameters:
        for junk in JUNK:
            usual = {name: USUAL[name] for name in required if name != item.name}
            if item.kind is item.VAR_POSITIONAL:
                yield item.name, [junk], usual
            elif item.kind is item.VAR_KEYWORD:
                yield item.name, [], {**usual, "lexical": junk}
            else:
                yield item.name, [], {**usual, item.name: junk}


class Watch:
    """Observer of changes to the tables of the schema."""

    def __init__(self, url: str) -> None:
        self._conn = psycopg.connect(url, autocommit=True)
        rows = self._conn.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'memsense'"
            " AND tablename NOT LIKE 'embeddings\\_%' ORDER BY tablename"
        ).fetchall()
        hashes = [
            sql.SQL("(SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {} AS t)").format(
                sql.Identifier("memsense", name)
            )
            for (name,) in rows
        ]
        self._contents = sql.SQL("SELECT {}").format(sql.SQL(", ").join(hashes))

    def contents(self) -> Any:
        return self._conn.execute(self._contents).fetchone()

    def close(self) -> None:
        self._conn.close()


@pytest.fixture(scope="module")
def memory(module_database_url: str) -> Generator[MemSense]:
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as opened:
        for user_id in ("ada", "bo"):
            opened.add(USUAL["messages"], user_id=user_id, session_id="monday")
        opened.projects.create("kitchen", ["monday"])
        yield opened


@pytest.fixture(scope="module")
def watch(module_database_url: str) -> Generator[Watch]:
    made = Watch(module_database_url)
    yield made
    made.close()


def test_every_public_method_refuses_junk_in_its_own_words_and_changes_nothing(
    memory: MemSense, watch: Watch, server: TestServer, is_long: bool
) -> None:
    # All tables are read after each call: on a cluster that takes a hundred times as long.
    step = 20 if server.is_cluster else 1 if is_long else 4
    refused = 0
    before = watch.contents()
    for told, method in public_methods(memory).items():
        for name, arguments, keywords in list(calls(method))[::step]:
            try:
                method(*arguments, **keywords)
            except MemSenseError:
                refused += 1
                assert watch.contents() == before, (told, name)
            else:
                memory.traces.flush()
                before = watch.contents()
    assert refused > 500 // step


LONGEST_ID = "".join(chr(0x1F300 + number) for number in range(500))
"""The longest id there is, in the longest characters, in no order that packs well."""


def test_the_longest_ids_are_stored_wherever_there_are_ids(
    memory: MemSense, tmp_path: Path
) -> None:
    ids = LONGEST_ID
    message = {"role": "user", "content": "The longest of names.", "id": ids, "name": ids}
    added = memory.add(
        [message], user_id=ids, session_id=ids, agent_id=ids, tags=[ids], task_tag=ids
    )
    assert added[0].message_ids == [ids]
    project = memory.projects.create(ids[:150], [ids])
    assert project.session_ids == [ids]
    found = memory.search("longest names", user_id=ids, project=ids[:150], session_ids=[ids])
    assert [hit.session_id for hit in found] == [ids] * len(found)
    log = tmp_path / "log.jsonl"
    line = {"session_id": ids, "id": ids, "role": "user", "content": "The longest of logs."}
    log.write_text(json.dumps(line))
    for stored in (1, 0):
        assert memory.ingest(log, user_id=ids).stored == stored


def test_impossible_messages_of_a_log_are_skipped_one_by_one(
    memory: MemSense, tmp_path: Path
) -> None:
    lines = [
        {"session_id": "s1", "id": "m1", "role": "user", "content": "The first is kept."},
        {"session_id": "s1", "id": "a\x00", "role": "user", "content": "A NUL in an id."},
        {"session_id": "s1", "id": "b" * 501, "role": "user", "content": "A long id."},
        {"session_id": "s1", "id": "m4", "role": "assistant", "content": "A NUL \x00 in a text."},
        {"session_id": "c" * 20_000, "id": "m5", "role": "user", "content": "A long session."},
        {"session_id": "d\x00", "id": "m6", "role": "user", "content": "A NUL in a session."},
        {"session_id": "s2", "id": "m7", "role": "user", "content": "The last is kept."},
    ]
    (tmp_path / "1.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "2.jsonl").write_text(
        json.dumps({"session_id": "s3", "role": "user", "content": "Another log."})
    )
    report = memory.ingest(tmp_path, user_id="logs")
    assert report.failed == []
    assert report.read.skip_counts == {
        "message whose id holds a NUL character": 1,
        "message whose id is longer than 500 characters": 1,
        "conversation whose id is longer than 500 characters": 1,
        "conversation whose id holds a NUL character": 1,
    }
    chunks = memory.recent(user_id="logs", limit=100)
    stored = {text for chunk in chunks for text in (chunk.user_text, chunk.assistant_text) if text}
    assert stored == {
        "The first is kept.",
        "A NUL \ufffd in a text.",
        "The last is kept.",
        "Another log.",
    }


class Spoilt(HashingEmbedder):
    """Embedder that applies `spoil` to its vectors."""

    def __init__(self, spoil: Callable[[Any], Any]) -> None:
        super().__init__()
        self._spoil = spoil

    def embed(self, texts: Any) -> Any:
        """Return the spoilt vectors."""
        return self._spoil(super().embed(texts))

    def embed_query(self, text: str) -> Any:
        """Return the spoilt vector."""
        return self._spoil(super().embed_query(text))


def as_lists(found: Any) -> Any:
    return found.tolist()


def nothing(_: Any) -> Any:
    return None


def ragged(_: Any) -> Any:
    return [[1.0], [1.0, 2.0]]


def words(_: Any) -> Any:
    return "vectors"


def shorter(found: Any) -> Any:
    return found[..., :-1]


def times(factor: float) -> Callable[[Any], Any]:
    def spoil(found: Any) -> Any:
        return found * factor

    return spoil


@pytest.mark.parametrize("cache", [0, 8])
@pytest.mark.parametrize(
    "spoil",
    [as_lists, times(304_717), times(1e-6)],
    ids=["lists", "too long", "too short"],
)
def test_an_embedder_may_return_lists_and_vectors_of_any_length(
    memory: MemSense, module_database_url: str, cache: int, spoil: Callable[[Any], Any]
) -> None:
    expected = [
        (hit.chunk_id, round(hit.score, 4)) for hit in memory.search("Lisbon", all_users=True)
    ]
    settings = load_settings(query_cache_size=cache)
    with MemSense.open(module_database_url, embedder=Spoilt(spoil), settings=settings) as other:
        assert [
            (hit.chunk_id, round(hit.score, 4)) for hit in other.search("Lisbon", all_users=True)
        ] == expected
        added = other.add(USUAL["messages"], user_id="spoilt", session_id="monday")
        assert other.search("Lisbon", user_id="spoilt")[0].chunk_id in {
            chunk.chunk_id
            for chunk in [*added, *other.recent(granularity="session", all_users=True)]
        }
        assert other.forget(added[0].chunk_id)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (shorter, "shape"),
        (times(np.nan), "NaN or infinite"),
        (times(np.inf), "NaN or infinite"),
        (times(0), "length zero"),
        (nothing, "shape|no vectors|NaN"),
        (ragged, "no vectors|shape"),
        (words, "no vectors"),
    ],
)
def test_vectors_that_are_none_are_refused_and_store_nothing(
    watch: Watch, module_database_url: str, spoil: Callable[[Any], Any], words: str
) -> None:
    with MemSense.open(module_database_url, embedder=Spoilt(spoil)) as other:
        before = watch.contents()
        with pytest.raises(EmbeddingError, match=words):
            other.add(USUAL["messages"], user_id="none", session_id="monday", embed="strict")
        with pytest.raises(EmbeddingError, match=words):
            other.search("Lisbon", all_users=True)
        assert watch.contents() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"namespace": "a\x00"}, "namespace holds a NUL character"),
        ({"namespace": ""}, "namespace is empty"),
        ({"namespace": 1.5}, "namespace must be a text"),
        ({"tenant": "t" * 501}, "tenant is longer than 500 characters"),
        ({"profile": 3}, "profile must be a profile or its name"),
        ({"embedder": object()}, "embedder must be an object with model, dimension, embed"),
        ({"embedder": HashingEmbedder}, "embedder must be an object with"),
        ({"reranker": 3}, "reranker must be an object with name, rerank"),
        ({"tagger": "rules"}, "tagger must be an object with name, tag"),
        ({"extractor": []}, "extractor must be an object with name, extract"),
        ({"settings": {}}, "settings: .*, not {}"),
    ],
)
def test_a_memory_is_opened_with_usable_arguments(
    module_database_url: str, options: Mapping[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        MemSense.open(module_database_url, **options)


@pytest.mark.parametrize("url", ["", 5, b"postgresql://", "a\x00"])
def test_an_url_that_is_none_starts_no_embedded_server(url: Any) -> None:
    with pytest.raises(InvalidInputError, match="url"):
        MemSense.open(url)


class Labelled:
    """Hashing embedder with any attributes."""

    model: Any = "hashing"
    dimension: Any = 48
    embed = HashingEmbedder().embed
    embed_query = HashingEmbedder().embed_query


def test_an_unusable_model_or_dimension_is_named(module_database_url: str) -> None:
    for name, value in (("model", ""), ("model", 5), ("dimension", 0), ("dimension", 2.5)):
        embedder = Labelled()
        setattr(embedder, name, value)
        with (
            MemSense.open(module_database_url, embedder=embedder) as other,
            pytest.raises(InvalidInputError, match=f"the embedder's {name} "),
        ):
            other.add(USUAL["messages"], user_id="ada", session_id="monday")


QUESTIONS = (
    "What happened last week?",
    "What did we say 12 years ago?",
    "What did I buy a few months ago?",
    "What happened last winter?",
    "Who came on 29 February?",
    "What happened between December 30 and 2 January?",
)


@pytest.mark.parametrize("moment", ["0100-01-01", "9899-12-31T23:59:59", "2025-01-01T00:00+23:59"])
def test_the_first_and_the_last_time_there_is_can_be_said_and_asked_from(
    memory: MemSense, moment: str
) -> None:
    message = {**USUAL["messages"][0], "at": moment}
    added = memory.add([message], user_id=f"at {moment}", session_id="monday")
    assert added[0].occurred_at is not None
    for question in QUESTIONS:
        memory.search(question, asked_at=moment, since=moment, user_id=f"at {moment}", trace=True)
    memory.traces.flush()
    assert memory.traces.failures == 0
