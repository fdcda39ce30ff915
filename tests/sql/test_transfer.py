"""Exports and imports: an imported memory gives the same hits, and is stored once."""

import base64
import io
import json
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from embedders import HashingEmbedder, TokenHashingEmbedder

from memsense import MemSense, load_settings
from memsense.errors import ConfigurationError, IngestError, InvalidInputError
from memsense.types import IngestMode

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUESTIONS = ("tea with Ada", "topic 3 and the harbour", "what of the green door?", "topic7")

CONTENTS = """
SELECT s.user_id, s.speakers,
    to_jsonb(c) - ARRAY['chunk_id', 'scope_id', 'recorded_at', 'tsv',
        CASE WHEN c.status <> 'active' THEN 'context' ELSE '' END,
        CASE WHEN c.status <> 'active' THEN 'next_user_text' ELSE '' END] AS chunk,
    c.tsv::text, c.recorded_at,
    ARRAY(SELECT e.route || e.embedding::text FROM memsense.embeddings AS e
          WHERE e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id ORDER BY e.route) AS vectors,
    ARRAY(SELECT t.pieces::text || t.signs::text FROM memsense.token_vectors AS t
          WHERE t.scope_id = c.scope_id AND t.chunk_id = c.chunk_id) AS tokens,
    ARRAY(SELECT m.name || m.kind FROM memsense.mentions AS m
          WHERE m.scope_id = c.scope_id AND m.chunk_id = c.chunk_id ORDER BY 1) AS mentions
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (scope_id)
JOIN memsense.namespaces AS n USING (namespace_id)
WHERE n.name = %s AND c.status <> 'deleted'
ORDER BY s.user_id, c.session_id, c.granularity, c.ordinal, c.part
"""


@pytest.fixture
def conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def contents(conn: psycopg.Connection[Any], namespace: str) -> list[str]:
    return [repr(row) for row in conn.execute(CONTENTS, [namespace]).fetchall()]  # pyright: ignore[reportArgumentType, reportCallIssue]


def fill(memory: MemSense, mode: IngestMode = "hybrid") -> None:
    """Store two users' sessions with something of every kind, and one long exchange."""
    for number in range(5):
        sessions: list[dict[str, object]] = []
        for user_id, session in product(("ada", "bo"), range(2)):
            at = MAY + timedelta(days=session, hours=number)
            said = f"topic {number} by {user_id} at the harbour"
            said += " and tea" * (number + 5 * session)
            own = {"id": f"m{session}{number}", "name": "Ada", "at": at}
            door = f"the green door {number}" * (150 if number == 2 else 1)
            sessions.append(
                {
                    "messages": [
                        {"role": "user", "content": said, **own},
                        {"role": "assistant", "content": door, "at": at},
                    ],
                    "user_id": user_id,
                    "session_id": f"s{session}",
                    "mode": mode,
                    "tags": [f"topic{number}"],
                    "facets": {"preferences": f"likes door {number}"},
                    "metadata": {"number": number},
                }
            )
        memory.add_many(sessions)
    memory.indexes.make_sessions()


def answers(memory: MemSense) -> list[Any]:
    """Return results of all kinds of searches, without ids, which differ in every database.

    The order is left out: of two equal scores either may come first, because the plan decides the
    order of summation.
    """
    found: list[Any] = []
    for question in QUESTIONS:
        for options in (
            {"user_id": "ada"},
            {"all_users": True},
            {"user_id": "bo", "granularity": "session"},
        ):
            result = memory.search(question, asked_at=MAY, top_k=50, **options)  # pyright: ignore[reportArgumentType]
            found.append(
                sorted(
                    (
                        hit.chunk.user_id,
                        hit.session_id,
                        hit.chunk.ordinal,
                        hit.chunk.part,
                        round(hit.score, 9),
                        hit.content,
                        [neighbor.chunk.content for neighbor in hit.neighbors],
                    )
                    for hit in result
                )
            )
    return found


def export_text(memory: MemSense, user_id: str | None = None, *, vectors: bool = False) -> str:
    file = io.StringIO()
    memory.export_to(file, user_id=user_id, all_users=user_id is None, vectors=vectors)
    return file.getvalue()


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_an_export_imported_elsewhere_is_the_same_and_searches_the_same(
    open_memory: OpenMemory,
    conn: psycopg.Connection[Any],
    tmp_path: Path,
    mode: IngestMode,
    vectors: bool,
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    fill(memory, mode)
    latest = memory.recent(user_id="ada", granularity="session" if mode == "session" else "turn")
    memory.promote(latest[0].chunk_id)
    memory.feedback(latest[0].chunk_id, helpful=True, note="good")
    if mode != "session":
        memory.archive(latest[1].chunk_id, reason="old")
    path = tmp_path / "all.jsonl"
    report = memory.export_to(path, all_users=True, vectors=vectors)
    assert report.users == 2
    assert report.chunks == len(path.read_text().splitlines()) - 4
    other = open_memory(embedder=TokenHashingEmbedder(), namespace="other")
    done = other.import_from(path)
    assert (done.sessions, done.repeated, done.skipped) == (4, 0, 0)
    assert contents(conn, "other") == contents(conn, "default")
    assert answers(other) == answers(memory)
    assert_counted(conn)
    stored = contents(conn, "other")
    again = other.import_from(path)
    assert (again.stored, again.repeated) == (0, done.stored)
    assert contents(conn, "other") == stored
    [was] = [
        c
        for c in other.recent(user_id="ada", granularity=latest[0].granularity, limit=99)
        if (c.session_id, c.ordinal, c.part)
        == (latest[0].session_id, latest[0].ordinal, latest[0].part)
    ]
    assert [event.kind for event in other.history(was.chunk_id)][:1] == ["added"]
    assert [event.kind for event in other.history(was.chunk_id)][-2:] == ["feedback", "imported"]


def test_vectors_in_an_export_spare_the_embedder(open_memory: OpenMemory) -> None:
    memory = open_memory()
    fill(memory)
    text = export_text(memory, vectors=True)
    embedder = HashingEmbedder()
    open_memory(embedder=embedder, namespace="other").import_from(io.StringIO(text))
    assert embedder.embedded == []
    stranger = HashingEmbedder(model="another")
    open_memory(embedder=stranger, namespace="third").import_from(io.StringIO(text))
    assert stranger.embedded


TEXTS = {
    "Mein Stammlokal heißt Ka\u0308sku\u0308che, nicht Käsküche.": "de",
    "Вчера мы купили ёлку и сты\u0301рили игрушки.": "ru",
    "我上个月在杭州买了一辆自行车,ＫＸ４０９３。": "zh",
    "新しいカメラを買いました。ｶﾒﾗ": "ja",
    "أخي أحـمد يَعمل في المطار.": "ar",
    "My 👩🏽\u200d🚒 neighbour\u00adhood has a ☂\ufe0f.": "en",
}


def test_an_import_keeps_languages_and_every_byte_of_texts(open_memory: OpenMemory) -> None:
    memory, other = open_memory(), open_memory(namespace="other")
    for number, text in enumerate(TEXTS):
        message = {"role": "user", "content": text}
        memory.add([message], user_id="ada", session_id=f"s{number}", mode="turn")
    other.import_from(io.StringIO(export_text(memory)))
    for stored in (memory, other):
        chunks = stored.recent(user_id="ada")
        assert {chunk.user_text: chunk.language for chunk in chunks} == TEXTS


def test_an_import_into_the_exported_memory_changes_nothing(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    fill(memory)
    before = contents(conn, "default")
    done = memory.import_from(io.StringIO(export_text(memory)))
    assert done.stored == 0
    assert contents(conn, "default") == before


def test_forgotten_exchanges_are_exported_without_text_and_stay_forgotten(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    memory = open_memory()
    log = tmp_path / "log.jsonl"
    lines = [
        {"session_id": "s", "id": f"{role}{n}", "role": role, "content": f"{role} says word{n}"}
        for n in range(4)
        for role in ("user", "assistant")
    ]
    log.write_text("\n".join(map(json.dumps, lines)))
    memory.ingest(log, user_id="ada")
    first = memory.recent(user_id="ada")[-1]
    secret = next(word for word in first.content.split() if word.startswith("word"))
    memory.forget(first.chunk_id, reason=f"{secret} was wrong")
    text = export_text(memory)
    assert secret not in text
    other = open_memory(namespace="other")
    other.import_from(io.StringIO(text))
    assert other.ingest(log, user_id="ada").stored == 0
    chunks = other.recent(user_id="ada")
    assert secret not in repr(chunks)
    other.forget(chunks[0].chunk_id)
    assert other.import_from(io.StringIO(text)).stored == 0
    assert len(other.recent(user_id="ada")) == len(chunks) - 1
    assert_counted(conn)


def test_an_import_into_a_grown_session_goes_behind_its_last_exchange(
    open_memory: OpenMemory, conn: psycopg.Connection[Any]
) -> None:
    memory = open_memory()
    fill(memory)
    other = open_memory(namespace="other")
    other.add(
        [{"role": "user", "content": "something else altogether", "at": MAY}],
        user_id="ada",
        session_id="s0",
    )
    done = other.import_from(io.StringIO(export_text(memory, user_id="ada")))
    assert (done.users, done.sessions, done.stored) == ({"ada"}, 2, 10)
    ordinals = [
        c.ordinal for c in other.recent(user_id="ada", session_id="s0", limit=99) if c.part == 0
    ]
    assert sorted(ordinals) == list(range(6))
    other.indexes.make_sessions()
    assert_counted(conn)
    again = other.import_from(io.StringIO(export_text(memory)))
    assert (again.stored, again.repeated) == (10, 10)  # bo's are new


def tune(memory: MemSense) -> None:
    memory.profiles.create("mine", base="lexical", mmr_lambda=1.0)
    memory.settings.set(profile="mine", rrf_k=20, history="on")
    memory.ttl.set("90d")
    memory.ttl.set("1d", tag="scratch")


def test_an_export_includes_the_namespaces_settings(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(settings=load_settings(language="german"))
    plain = answers_of_default(memory)
    tune(memory)
    assert answers(memory) != plain
    memory.export_to(tmp_path / "all.jsonl", all_users=True)
    other = open_memory(namespace="other")
    taken = ["mine", "history", "rrf_k", "profile", "ttl"]
    for expected in (taken, []):
        done = other.import_from(tmp_path / "all.jsonl")
        assert (sorted(done.settings_taken), done.settings_left) == (sorted(expected), [])
    assert answers(other) == answers(memory)
    assert {one.profile.name for one in other.profiles.list()} > {"mine"}
    assert [(rule.tag, rule.ttl) for rule in other.ttl.list()] == [
        (rule.tag, rule.ttl) for rule in memory.ttl.list()
    ]
    assert other.indexes.rebuild().language == "de"
    kept = {item.name: item.value for item in memory.settings.show().settings}
    assert {item.name: item.value for item in other.settings.show().settings} == kept
    assert len(other.settings.history()) == len(taken)


def answers_of_default(memory: MemSense) -> list[Any]:
    fill(memory)
    return answers(memory)


def test_an_import_changes_no_search_of_existing_users_unless_requested(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory, other = open_memory(), open_memory(namespace="other")
    fill(memory, "turn")
    tune(memory)
    memory.export_to(tmp_path / "ada.jsonl", user_id="ada")
    fill(other, "turn")
    other.settings.set(rrf_k=30)
    other.profiles.create("mine", base="semantic")
    before = answers(other)
    done = other.import_from(tmp_path / "ada.jsonl")
    assert done.settings_taken == []
    assert sorted(done.settings_left) == ["history", "mine", "profile", "rrf_k", "ttl"]
    assert answers(other) == before
    assert other.import_from(tmp_path / "ada.jsonl", settings=False).settings_taken == []
    done = other.import_from(tmp_path / "ada.jsonl", settings=True)
    assert sorted(done.settings_taken) == ["history", "ttl"]
    assert sorted(done.settings_left) == ["mine", "profile", "rrf_k"]
    assert other.settings.show()["rrf_k"].value == 30


def test_settings_of_constants_that_left_memsense_are_left_out_of_an_import(
    open_memory: OpenMemory,
) -> None:
    memory, other = open_memory(), open_memory(namespace="other")
    fill(memory, "turn")
    header, *lines = export_text(memory).splitlines(keepends=True)
    settings = {"rrf_k": 20, "speaker_bonus": 0.4}
    text = json.dumps({**json.loads(header), "settings": settings}) + "\n" + "".join(lines)
    done = other.import_from(io.StringIO(text))
    assert (done.settings_taken, done.settings_left) == (["rrf_k"], ["speaker_bonus"])


def test_an_export_of_the_first_version_is_read(open_memory: OpenMemory) -> None:
    memory, other = open_memory(), open_memory(namespace="other")
    fill(memory)
    header, *lines = export_text(memory).splitlines(keepends=True)
    values = json.loads(header)
    first = {name: values[name] for name in values if name not in ("settings", "profiles")}
    text = json.dumps({**first, "memsense_export": 1}) + "\n" + "".join(lines)
    assert other.import_from(io.StringIO(text)).sessions == 4
    assert answers(other) == answers(memory)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"settings": {"flavour": "mild"}}, "flavour"),
        ({"settings": {"lexical": "much"}}, "lexical"),
        ({"settings": {"ttl": {"": -1}}}, "no rules by which memories expire"),
        ({"settings": {"ttl": 5}}, "no rules by which memories expire"),
        ({"profiles": {"mine": {}}}, "'mine' is no profile"),
        ({"profiles": {"mine": {"name": "mine", "mmr_lambda": 9}}}, "mmr_lambda"),
    ],
)
def test_unknown_fields_of_an_export_are_refused_and_nothing_is_stored(
    open_memory: OpenMemory, given: dict[str, Any], words: str
) -> None:
    memory, other = open_memory(), open_memory(namespace="other")
    fill(memory, "turn")
    header, *lines = export_text(memory).splitlines(keepends=True)
    text = json.dumps({**json.loads(header), **given}) + "\n" + "".join(lines)
    with pytest.raises(ConfigurationError, match=words):
        other.import_from(io.StringIO(text))
    assert list(other.users()) == []


def test_a_file_that_is_no_export_or_breaks_off_is_named(memory: MemSense, tmp_path: Path) -> None:
    fill(memory, "turn")
    lines = export_text(memory).splitlines(keepends=True)
    for broken, words in (
        ([], "no export"),
        (['{"role": "user"}\n'], "no export"),
        (["what\n"], "line 1 is no JSON"),
        (lines[:-1], "breaks off"),
        ([*lines[:4], "{\n"], "line 5: "),
        ([*lines[:4], '{"chunk": 1}\n'], "line 5: .*missing"),
        ([lines[0].replace(":3,", ":4,", 1), *lines[1:]], "version 4.*upgrade"),
        ([lines[0], *lines[2:]], "whose it is"),
    ):
        with pytest.raises(IngestError, match=words):
            memory.import_from(io.StringIO("".join(broken)))
    with pytest.raises(IngestError, match="No such file"):
        memory.import_from(tmp_path / "nowhere.jsonl")
    with pytest.raises(InvalidInputError, match="user_id"):
        memory.export_to(tmp_path / "x.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(IngestError, match="UTF-8"):
        memory.import_from(tmp_path / "binary")


def damage(chunk: dict[str, Any], /, **changes: Any) -> str:
    return json.dumps({**chunk, **changes})


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    "vector",
    ["AAAA", "!", base64.b64encode(b"\x00\x7e" * 48).decode(), base64.b64encode(b"\x00\x7c" * 48)],
    ids=["short", "no base64", "NaN", "infinite"],
)
def test_damaged_vectors_of_an_export_are_made_again(
    open_memory: OpenMemory, vector: str | bytes
) -> None:
    lines = export_two(open_memory())
    chunk = json.loads(lines[2])
    text = vector if isinstance(vector, str) else vector.decode()
    lines[2] = damage(chunk, vectors=dict.fromkeys(chunk["vectors"], text))
    other = open_memory(namespace="other")
    assert other.import_from(io.StringIO("\n".join(lines))).stored == 2
    hits = other.search("Lisbon", user_id="ada")
    assert hits[0].session_id == "s"
    assert [hit.score for hit in hits] == [
        hit.score for hit in open_memory().search("Lisbon", user_id="ada")
    ]


SPAN = {"facet": "events", "rule": "moved", "side": "user", "start": 0, "end": 7}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"end": 1_000}, r"facet_spans\.0 of chunk 1 goes from 0 to 1000.* 18 characters"),
        ({"start": 7}, "from 7 to 7"),
        ({"side": "assistant"}, "the assistant's text has 0 characters"),
        ({"start": -1}, "start"),
        ({"start": "0"}, "start"),
        ({"side": "nobody"}, "side"),
        ({"facet": "shoes"}, "facet"),
        ({"rule": None}, "rule"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_facet_spans_of_an_export_that_fit_no_text_are_refused_by_name(
    open_memory: OpenMemory, changes: dict[str, Any], words: str | None
) -> None:
    lines = export_two(open_memory())
    lines[2] = damage(json.loads(lines[2]), facet_spans=[{**SPAN, **changes}])
    other, text = open_memory(namespace="other"), io.StringIO("\n".join(lines))
    if words is None:
        assert other.import_from(text).stored == 2
        return
    with pytest.raises(IngestError, match=f"line 3: .*{words}"):
        other.import_from(text)
    assert not other.recent(user_id="ada")


@pytest.mark.parametrize("field", ["metadata", "history", "facet_spans"])
def test_an_export_that_is_nested_too_deeply_is_refused_by_its_line(
    open_memory: OpenMemory, field: str
) -> None:
    lines = export_two(open_memory())
    lines[2] = f'{lines[2][:-1]},"{field}":{nested(100_000)}}}'
    with pytest.raises(IngestError, match="line 3: JSON is nested too deeply"):
        open_memory(namespace="other").import_from(io.StringIO("\n".join(lines)))


def test_lines_that_an_export_repeats_are_stored_once(open_memory: OpenMemory) -> None:
    header, user, first, second, session, _ = export_two(open_memory())
    again = damage(json.loads(first), ordinal=2, last_ordinal=2, chunk=9)
    chunks = [first, first, second, session, first, session, again]
    text = "\n".join([header, user, *chunks, json.dumps({"chunks": len(chunks)})])
    other = open_memory(namespace="other")
    report = other.import_from(io.StringIO(text))
    assert (report.stored, report.repeated) == (2, 1)
    assert len(other.recent(user_id="ada")) == 2
    assert len(other.recent(user_id="ada", granularity="session")) == 1


def test_two_chunks_of_an_export_with_one_place_are_refused_by_name(
    open_memory: OpenMemory,
) -> None:
    lines = export_two(open_memory())
    lines[3] = damage(json.loads(lines[3]), ordinal=0, last_ordinal=0)
    with pytest.raises(IngestError, match="chunks 1 and 2 of the export have the same place"):
        open_memory(namespace="other").import_from(io.StringIO("\n".join(lines)))


def export_two(memory: MemSense) -> list[str]:
    """Return the lines of an export of one session: header, user, two exchanges, chunk, footer."""
    for text in ("I moved to Lisbon.", "I drink tea."):
        said = [{"role": "user", "content": text, "at": MAY}]
        memory.add(said, user_id="ada", session_id="s", mode="hybrid")
    memory.indexes.make_sessions()
    out = io.StringIO()
    memory.export_to(out, all_users=True, vectors=True)
    lines = out.getvalue().splitlines()
    assert len(lines) == 6
    return lines
