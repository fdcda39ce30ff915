"""Entities of chunks: kept correct by every write, listed, shown, drawn, rebuilt."""

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import psycopg
import pytest
from typer.testing import CliRunner

from memsense import MemSense
from memsense.cli.app import root
from memsense.errors import ConfigurationError, InvalidInputError, NotFoundError
from memsense.graph.extraction.model import Occurrence, find_mentions
from memsense.graph.extraction.rules import RuleExtractor
from memsense.types import IngestMode

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)
NAMES = ["Ada", "Lisbon", "Porto", "Maria Silva", "WAT-517", "Plagwitz", "TikTok", "gauges.py"]


def say(names: Sequence[str]) -> str:
    return f"we spoke of {' and '.join(names)} again" if names else "nothing to say here"


def add(memory: MemSense, hour: int, user: str, assistant: str = "", **options: Any) -> int:
    """Add a turn and return its id."""
    at = MAY + timedelta(hours=hour)
    messages = [{"role": "user", "content": user, "at": at}]
    if assistant:
        messages.append({"role": "assistant", "content": assistant, "at": at})
    given: dict[str, Any] = {"user_id": "ada", "session_id": "one", **options}
    return memory.add(messages, **given)[0].chunk_id


def write_log(path: Path, texts: Sequence[tuple[str, str]]) -> Path:
    """Write a log of exchanges between two people."""
    lines = [
        json.dumps(
            {
                "session_id": "log",
                "id": f"m{number}-{side}",
                "role": "user" if side == 0 else "assistant",
                "name": ("Ben", "Cleo")[side],
                "content": text,
                "timestamp": (MAY + timedelta(minutes=number)).isoformat(),
            }
        )
        for number, exchange in enumerate(texts)
        for side, text in enumerate(exchange)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def recount(conn: psycopg.Connection[Any]) -> dict[str, Any]:
    """Count mentions, entities and edges by key, from the texts of the active turns."""
    mentions: dict[tuple[int, int, str], tuple[str, str, int]] = {}
    entities: Counter[tuple[int, str]] = Counter()
    edges: Counter[tuple[int, str, str]] = Counter()
    rows = conn.execute(
        "SELECT c.scope_id, chunk_id, user_text, assistant_text, user_speaker, assistant_speaker,"
        " s.speakers FROM memsense.chunks AS c JOIN memsense.scopes AS s"
        " USING (tenant_id, scope_id) WHERE status = 'active' AND granularity = 'turn'"
    ).fetchall()
    for scope, chunk_id, *texts, speakers in rows:
        sides = list(zip(texts[:2], texts[2:], strict=True))
        found = find_mentions(RuleExtractor(), sides, speakers)
        for item in found:
            mentions[scope, chunk_id, item.key] = (item.name, item.kind, item.count)
            entities[scope, item.key] += item.count
        keys = sorted(item.key for item in found)
        edges.update((scope, one, other) for one, other in combinations(keys, 2))
    return {"mentions": mentions, "entities": dict(entities), "edges": dict(edges)}


def kept(conn: psycopg.Connection[Any]) -> dict[str, Any]:
    """Return mentions, entities and edges as the three tables store them."""
    mentions = conn.execute(
        "SELECT m.scope_id, m.chunk_id, e.key, m.name, m.kind, m.mention_count"
        " FROM memsense.mentions AS m JOIN memsense.entities AS e"
        " USING (tenant_id, scope_id, entity_id)"
    ).fetchall()
    entities = conn.execute("SELECT scope_id, key, mention_count FROM memsense.entities").fetchall()
    edges = conn.execute(
        'SELECT d.scope_id, least(a.key, b.key COLLATE "C"), greatest(a.key, b.key COLLATE "C"),'
        " d.weight FROM memsense.edges AS d"
        " JOIN memsense.entities AS a"
        "  ON a.tenant_id = d.tenant_id AND a.scope_id = d.scope_id AND a.entity_id = d.entity_a"
        " JOIN memsense.entities AS b"
        "  ON b.tenant_id = d.tenant_id AND b.scope_id = d.scope_id AND b.entity_id = d.entity_b"
    ).fetchall()
    total = conn.execute("SELECT count(*) FROM memsense.edges").fetchone()
    assert total == (len(edges),)
    return {
        "mentions": {row[:3]: row[3:] for row in mentions},
        "entities": {row[:2]: row[2] for row in entities},
        "edges": {row[:3]: row[3] for row in edges},
    }


def assert_true(url: str) -> None:
    with psycopg.connect(url) as conn:
        assert kept(conn) == recount(conn)


def test_entities_of_turns_are_stored_with_their_pairs(memory: MemSense, database_url: str) -> None:
    add(memory, 0, "I met Ada in Lisbon, and then Ada left.", "Lisbon is lovely with Maria Silva!")
    add(memory, 1, "today it was Maria Silva alone")
    assert_true(database_url)
    with psycopg.connect(database_url) as conn:
        found = kept(conn)
    assert found["entities"] == {(1, "ada"): 2, (1, "lisbon"): 2, (1, "maria silva"): 2}
    assert found["edges"][1, "ada", "lisbon"] == 1
    assert len(found["edges"]) == 3


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_entities_stay_true_through_random_operations(
    memory: MemSense, database_url: str, tmp_path: Path, mode: IngestMode
) -> None:
    source = random.Random(f"entities {mode}")
    exchanges = [(say(source.sample(NAMES, 2)), say(source.sample(NAMES, 1))) for _ in range(8)]
    for step in range(30):
        chunks = [chunk.chunk_id for chunk in memory.recent(limit=50, all_users=True)]
        action = source.choice(["add", "edit", "retire", "restore"])
        if action == "add" or not chunks:
            text, answer = (say(source.sample(NAMES, source.randrange(4))) for _ in range(2))
            add(memory, step, text, answer, mode=mode, session_id=f"s{step % 3}")
        elif action == "edit":
            place = source.randrange(len(exchanges) + 1)
            exchanges[place : place + 1] = [(say(source.sample(NAMES, 3)), say([]))]
            memory.ingest(write_log(tmp_path / "log.jsonl", exchanges), user_id="ada", mode=mode)
        elif action == "retire":
            source.choice([memory.forget, memory.archive])(source.choice(chunks))
        else:
            with psycopg.connect(database_url) as conn:
                gone = conn.execute(
                    "SELECT chunk_id FROM memsense.chunks WHERE status <> 'active'"
                    " ORDER BY chunk_id"
                ).fetchall()
            if gone:
                memory.restore(source.choice(gone)[0])
        assert_true(database_url)


def test_forgetting_takes_an_entity_away_and_restoring_brings_it_back(
    memory: MemSense, database_url: str
) -> None:
    add(memory, 0, "we went to Lisbon with Ada")
    secret = add(memory, 1, "and then to Plagwitz with Ada")
    before = [
        (item.key, item.mentions, item.chunks) for item in memory.entities.list(all_users=True)
    ]
    memory.forget(secret)
    with psycopg.connect(database_url) as conn:
        assert kept(conn) == recount(conn)
        assert "plagwitz" not in repr(kept(conn))
    assert "plagwitz" not in [item.key for item in memory.entities.list(all_users=True)]
    memory.restore(secret)
    assert sorted(before) == sorted(
        (i.key, i.mentions, i.chunks) for i in memory.entities.list(all_users=True)
    )
    assert_true(database_url)


def test_an_edited_exchange_mentions_what_it_says_now(
    memory: MemSense, database_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    memory.ingest(write_log(log, [("I live in Lisbon now", "and I in Porto")]), user_id="ada")
    assert {item.key: item.kind for item in memory.entities.list(all_users=True)} == {
        "ben": "speaker",
        "cleo": "speaker",
        "lisbon": "name",
        "porto": "name",
    }
    memory.ingest(write_log(log, [("I live in Plagwitz now", "and I in Porto")]), user_id="ada")
    assert "plagwitz" in {item.key for item in memory.entities.list(all_users=True)}
    assert "lisbon" not in {item.key for item in memory.entities.list(all_users=True)}
    assert_true(database_url)


def test_entities_are_listed_by_frequency_under_their_usual_spelling(memory: MemSense) -> None:
    add(memory, 0, 'it was the alchemist? I mean "The Alchemist", of course')
    add(memory, 1, 'I read "The Alchemist" in Lisbon')
    add(memory, 2, "and WAT-517 is still open in Lisbon and Lisbon")
    listed = memory.entities.list(all_users=True)
    assert [(item.name, item.kind, item.mentions, item.chunks) for item in listed] == [
        ("Lisbon", "name", 3, 2),
        ("The Alchemist", "title", 2, 2),
        ("WAT-517", "identifier", 1, 1),
    ]
    assert [item.name for item in memory.entities.list(kind="identifier", all_users=True)] == [
        "WAT-517"
    ]
    assert [item.name for item in memory.entities.list(limit=1, all_users=True)] == ["Lisbon"]
    with pytest.raises(InvalidInputError):
        memory.entities.list(limit=0, all_users=True)


def test_each_user_has_entities_of_their_own(memory: MemSense) -> None:
    add(memory, 0, "we met in Lisbon")
    add(memory, 0, "we met in Lisbon, yes, Lisbon", user_id="ben")
    assert [(item.user_id, item.mentions) for item in memory.entities.list(all_users=True)] == [
        ("ben", 2),
        ("ada", 1),
    ]
    assert [item.mentions for item in memory.entities.list(user_id="ada")] == [1]
    assert memory.entities.get("lisbon", all_users=True).entity.user_id == "ben"
    assert memory.entities.get("lisbon", user_id="ada").entity.user_id == "ada"


def test_another_tenant_sees_none_of_the_entities(open_memory: OpenMemory) -> None:
    ours, theirs = open_memory(tenant="one"), open_memory(tenant="two")
    add(ours, 0, "we met Ada in Lisbon")
    add(theirs, 0, "we met Ben in Porto")
    assert {item.key for item in ours.entities.list(all_users=True)} == {"ada", "lisbon"}
    assert {item.key for item in theirs.entities.list(all_users=True)} == {"ben", "porto"}
    with pytest.raises(NotFoundError):
        theirs.entities.get("Lisbon", all_users=True)
    ours.entities.rebuild()
    assert {item.key for item in theirs.entities.list(all_users=True)} == {"ben", "porto"}


def test_an_entity_is_shown_with_its_chunks_and_neighbours(memory: MemSense) -> None:
    once = add(memory, 0, "I saw Ada in Lisbon")
    twice = add(memory, 1, "I saw Lisbon, Lisbon and Porto")
    add(memory, 2, "today I saw Ada in Porto")
    view = memory.entities.get("LISBON", all_users=True)
    assert [(item.chunk_id, item.mentions) for item in view.mentions] == [(twice, 2), (once, 1)]
    assert [chunk.chunk_id for chunk in view.chunks] == [twice, once]
    assert {near.key: near.weight for near in view.neighbours} == {"ada": 1, "porto": 1}
    assert sorted(weight for _, _, weight in view.edges) == [1, 1, 1]
    assert len(memory.entities.get("lisbon", limit=1, all_users=True).neighbours) == 1


@pytest.mark.parametrize("name", ["Lissbon", "Lisbn", "Lisbons"])
def test_a_misspelt_entity_is_answered_with_the_similar_one(memory: MemSense, name: str) -> None:
    add(memory, 0, "we went to Lisbon by train")
    with pytest.raises(NotFoundError, match="similar: lisbon"):
        memory.entities.get(name, all_users=True)


def test_entities_of_an_older_store_are_found_by_a_rebuild(
    memory: MemSense, database_url: str, tmp_path: Path
) -> None:
    exchanges = [(say(NAMES[n : n + 2]), say(NAMES[n : n + 1])) for n in range(6)]
    memory.ingest(write_log(tmp_path / "log.jsonl", exchanges), user_id="ada")
    gone = add(memory, 0, "we met in Kyoto", user_id="ben")
    memory.forget(gone)
    with psycopg.connect(database_url) as conn:
        before = kept(conn)
        conn.execute("TRUNCATE memsense.edges, memsense.mentions, memsense.entities")
        conn.execute("TRUNCATE memsense.chunk_entities")
    seen: list[tuple[str, int]] = []
    assert memory.entities.rebuild(on_user=lambda user, chunks: seen.append((user, chunks))) == 7
    assert seen == [("ada", 6), ("ben", 1)]
    with psycopg.connect(database_url) as conn:
        assert kept(conn) == before == recount(conn)
    memory.restore(gone)
    assert "kyoto" in {item.key for item in memory.entities.list(all_users=True)}
    assert memory.entities.rebuild(user_id="ada") == 6
    assert_true(database_url)
    with pytest.raises(NotFoundError):
        memory.entities.rebuild(user_id="nobody")


class Colours:
    """Extractor of colours."""

    name = "colours"

    def extract(self, text: str, speakers: Sequence[str]) -> Sequence[Occurrence]:  # noqa: ARG002
        return [Occurrence("tag", word) for word in text.split() if word in {"red", "green"}]


def test_another_extractor_may_be_given(open_memory: OpenMemory) -> None:
    memory = open_memory(extractor=Colours())
    add(memory, 0, "a red door in Lisbon and a green one")
    assert {item.key: item.kind for item in memory.entities.list(all_users=True)} == {
        "red": "tag",
        "green": "tag",
    }


def run(url: str, *arguments: str) -> Any:
    return CliRunner().invoke(root, ["--database-url", url, "entities", *arguments])


def test_the_command_lists_shows_and_rebuilds(memory: MemSense, database_url: str) -> None:
    add(memory, 0, "I saw Ada in Lisbon")
    listed = run(database_url, "-u", "ada", "--json", "--kind", "name")
    assert [item["name"] for item in json.loads(listed.stdout)] == ["Ada", "Lisbon"]
    assert "Lisbon" in run(database_url, "--all-users", "-n", "5").stdout
    shown = json.loads(run(database_url, "show", "lisbon", "-u", "ada", "--json").stdout)
    assert shown["neighbours"] == [{"key": "ada", "name": "Ada", "kind": "name", "weight": 1}]
    assert shown["edges"] == [{"between": ["ada", "lisbon"], "weight": 1}]
    assert "I saw Ada in Lisbon" in run(database_url, "show", "Lisbon", "--all-users").stdout
    assert run(database_url, "rebuild").stdout == "ada: read 1 memories\n"
    missing = run(database_url, "show", "Porto", "--all-users")
    assert (missing.exit_code, missing.stdout) == (1, "")


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_picture_of_a_neighbourhood_is_drawn(
    memory: MemSense, database_url: str, tmp_path: Path, ending: str
) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: make setup-all")
    add(memory, 0, "I saw Ada in Lisbon for $5, and Maria Silva too")
    picture = tmp_path / f"lisbon.{ending}"
    done = run(database_url, "show", "Lisbon", "--all-users", "--picture", str(picture))
    assert done.exit_code == 0, done.output
    data = picture.read_bytes()
    if ending == "png":
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(data) > 10_000
    else:
        tree = ET.fromstring(data)  # noqa: S314 (written a moment ago)
        assert tree.tag.endswith("svg")
        for name in (b"Lisbon", b"Ada", b"Maria Silva"):
            assert b"<!-- " + name in data


def test_a_picture_of_another_kind_or_without_its_libraries_is_refused(
    memory: MemSense, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memsense.graph import picture

    pytest.importorskip("matplotlib", reason="needs matplotlib: make setup-all")
    add(memory, 0, "I saw Ada in Lisbon")
    with pytest.raises(InvalidInputError, match="svg or .png"):
        picture.draw_neighbourhood(tmp_path / "a.gif", memory.entities.get("Ada", all_users=True))
    with pytest.raises(InvalidInputError, match="can't be written"):
        picture.draw_neighbourhood(
            tmp_path / "no" / "a.svg", memory.entities.get("Ada", all_users=True)
        )
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(ConfigurationError, match=r"memsense\[pictures\]"):
        picture.check_picture(tmp_path / "a.svg")
