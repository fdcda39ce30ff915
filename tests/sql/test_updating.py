"""Updating an exchange: the store is then as if the new text had been added at first."""

import json
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from dumping import find_words
from embedders import TokenHashingEmbedder

from memsense import MemSense
from memsense.draft.facets.model import Facets
from memsense.errors import ConflictError, InvalidInputError, NotFoundError

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)

CONTENTS = """
SELECT to_jsonb(c) - ARRAY['chunk_id', 'scope_id', 'recorded_at', 'content_hash', 'dedup_window'] AS chunk,
    ARRAY(SELECT e.route || e.embedding::text FROM memsense.embeddings AS e
          WHERE e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id ORDER BY e.route) AS vectors,
    ARRAY(SELECT t.pieces::text || t.signs::text FROM memsense.token_vectors AS t
          WHERE t.scope_id = c.scope_id AND t.chunk_id = c.chunk_id) AS tokens,
    ARRAY(SELECT m.name || m.kind FROM memsense.mentions AS m
          WHERE m.scope_id = c.scope_id AND m.chunk_id = c.chunk_id ORDER BY 1) AS mentions
FROM memsense.chunks AS c JOIN memsense.scopes AS s USING (scope_id) WHERE s.user_id = %s
ORDER BY c.granularity, c.ordinal, c.part
"""  # noqa: E501


@pytest.fixture
def conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def contents(conn: psycopg.Connection[Any], user_id: str) -> list[str]:
    return [repr(row) for row in conn.execute(CONTENTS, [user_id]).fetchall()]


def tell(memory: MemSense, user_id: str, changes: dict[int, dict[str, Any]]) -> list[int]:
    """Add five exchanges, some with other texts; return their ids."""
    ids: list[int] = []
    for number in range(5):
        usual: dict[str, Any] = {
            "user": f"I like the number {number} of Lisbon.",
            "assistant": f"Noted: {number}, then.",
            "tags": [f"tag{number}"],
            "metadata": {"n": number},
            "at": MAY + timedelta(hours=number),
        }
        told = {**usual, **changes.get(number, {})}
        [chunk, *_] = memory.add(
            [
                {"role": "user", "content": told["user"], "at": told["at"]},
                {"role": "assistant", "content": told["assistant"], "at": told["at"]},
            ],
            user_id=user_id,
            session_id="one",
            mode="hybrid",
            tags=told["tags"],
            metadata=told["metadata"],
            facets=told.get("facets"),
        )
        ids.append(chunk.chunk_id)
    memory.indexes.make_sessions()
    return ids


@pytest.mark.parametrize("which", [0, 2, 4])
def test_an_updated_exchange_is_as_if_it_had_been_said_so(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], which: int
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    changed: dict[str, Any] = {
        "user": "I moved to Porto and I love the Douro.",
        "assistant": "Porto it is.",
        "tags": ["home"],
        "metadata": {"sure": True},
        "facets": {"events": "moved to Porto"},
    }
    tell(memory, "bo", {which: changed})
    ids = tell(memory, "ada", {})
    chunk = memory.update(
        ids[which],
        content={"user": changed["user"], "assistant": changed["assistant"]},
        tags=["home"],
        metadata={"sure": True},
        facets={"events": "moved to Porto"},
        reason="told us",
    )
    assert (chunk.chunk_id, chunk.user_text) == (ids[which], changed["user"])
    assert contents(conn, "ada") == contents(conn, "bo")
    assert_counted(conn)
    assert find_words(conn, f"number {which} of Lisbon") <= {
        ("traces", f"number {which} of Lisbon"),
        ("superseded_chunks", f"number {which} of Lisbon"),
    }
    [*_, event] = memory.history(ids[which])
    assert event.kind == "updated"
    changed_fields = ["content", "facets", "tags", "metadata"]
    assert event.detail == {"changed": changed_fields, "reason": "told us"}
    assert memory.search("Porto Douro", user_id="ada")[0].chunk_id == ids[which]
    [version] = memory.versions(ids[which])
    assert version.kept_until is not None


def write_report(*steps: str) -> str:
    """Return an answer with a paragraph of about 600 characters about each step."""
    return "\n\n".join(f"I love {step}. " + f"More about {step} follows. " * 24 for step in steps)


@pytest.mark.parametrize(
    ("before", "part", "new"),
    [
        # A short exchange becomes a long one, a long one a shorter one.
        (["rain"], 0, ["rain", "snow", "hail"]),
        (["rain", "snow", "hail", "wind"], 1, []),
        (["rain", "snow", "hail", "wind", "fog"], 1, ["sun"]),
        (["rain", "snow", "hail", "wind"], 2, ["sun", "dew", "ice"]),
    ],
)
def test_a_part_of_a_long_exchange_is_updated_as_if_it_had_been_said_so(
    open_memory: OpenMemory,
    conn: psycopg.Connection[Any],
    before: list[str],
    part: int,
    new: list[str],
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    told = {"user": "What will the weather be?", "tags": ["sky"]}
    tell(memory, "ada", {2: {**told, "assistant": write_report(*before), "tags": ["old"]}})
    parts = [it for it in memory.recent(user_id="ada", limit=50) if it.ordinal == 2]
    parts.sort(key=lambda it: it.part)
    memory.promote(parts[0].chunk_id)
    changed = parts[part]
    text = write_report(*new) if new else "Fine."
    # The blanks at its end keep a part's last word apart from the next part's first one.
    old = changed.assistant_text
    sides = [it.assistant_text for it in parts]
    sides[part] = text.rstrip() + old[len(old.rstrip()) :] if len(parts) > 1 else text
    whole = "".join(sides)
    tell(memory, "bo", {2: {**told, "assistant": whole}})
    [said, *_] = [it for it in memory.recent(user_id="bo", limit=50) if it.ordinal == 2]
    memory.promote(said.chunk_id)

    memory.update(changed.chunk_id, content={"assistant": text}, tags=["sky"])
    assert contents(conn, "ada") == contents(conn, "bo")
    assert_counted(conn)
    assert memory.get(parts[0].chunk_id).tags == ["sky"]
    for step in {*before, *new}:
        question = f"More about {step}"
        found = [hit for hit in memory.search(question, user_id="ada") if step in hit.content]
        assert bool(found) == (step in whole), step


def test_a_part_of_a_long_exchange_may_be_emptied(memory: MemSense) -> None:
    parts = memory.add(
        [
            {"role": "user", "content": "What will the weather be?"},
            {"role": "assistant", "content": write_report("rain", "snow", "hail", "wind")},
        ],
        user_id="ada", session_id="s",
    )  # fmt: skip
    rest = "".join(part.assistant_text for part in parts if part is not parts[1])
    memory.update(parts[1].chunk_id, content={"assistant": ""})
    kept = sorted(memory.recent(user_id="ada", limit=50), key=lambda it: it.part)
    assert "".join(part.assistant_text for part in kept).split() == rest.split()


def test_a_later_part_may_be_updated_with_or_without_its_opening(memory: MemSense) -> None:
    [_, later, *_] = memory.add(
        [
            {"role": "user", "content": "Look at the sky.\n" + write_report("rain", "snow", "fog")},
            {"role": "assistant", "content": "Wet."},
        ],
        user_id="ada", session_id="s",
    )  # fmt: skip
    assert later.opening_length > 0
    for text in (later.user_text, later.own_user_text):
        after = memory.update(later.chunk_id, content={"user": text.replace("snow", "hail")})
        assert after.user_text == later.user_text.replace("snow", "hail") != later.user_text
        after = memory.update(later.chunk_id, content={"user": text})
        assert after.user_text == later.user_text


def test_a_side_that_a_part_had_no_text_of_is_set_apart_from_its_neighbours(
    memory: MemSense,
) -> None:
    asked = "Any rain? " * 150
    answer = write_report("rain", "snow", "fog")
    parts = memory.add(
        [
            {"role": "user", "content": asked.strip()},
            {"role": "assistant", "content": answer},
        ],
        user_id="ada", session_id="s",
    )  # fmt: skip
    assert not parts[0].assistant_text
    assert not parts[-1].own_user_text
    memory.update(parts[0].chunk_id, content={"assistant": "Yes."})
    memory.update(parts[-1].chunk_id, content={"user": "Tell me."})
    stored = sorted(memory.recent(user_id="ada"), key=lambda it: it.part)
    assert "".join(it.own_user_text for it in stored) == f"{asked.strip()}\nTell me."
    assert "".join(it.assistant_text for it in stored) == f"Yes.\n{answer}"


def test_a_part_whose_own_text_begins_with_the_opening_keeps_it(memory: MemSense) -> None:
    message = "All work and no play makes Jack a dull boy.\n" * 60
    parts = memory.add(
        [{"role": "user", "content": message}, {"role": "assistant", "content": "Why?"}],
        user_id="ada", session_id="s",
    )  # fmt: skip
    opening = parts[1].user_text[: parts[1].opening_length]
    assert parts[1].own_user_text.startswith(opening)
    for part in parts[1:]:
        for text in (part.user_text, part.own_user_text):
            if text:
                memory.update(part.chunk_id, content={"user": text})
        if part.assistant_text:
            memory.update(part.chunk_id, content={"assistant": "Well."})
    memory.update(parts[1].chunk_id, content={"assistant": "Really?"})
    stored = sorted(memory.recent(user_id="ada"), key=lambda it: it.part)
    assert "".join(it.own_user_text for it in stored) == message


def test_an_update_changes_only_its_arguments(memory: MemSense) -> None:
    ids = tell(memory, "ada", {1: {"facets": {"personal_info": "of Lisbon"}}})
    before = memory.get(ids[1])
    later = MAY + timedelta(days=9)
    after = memory.update(ids[1], occurred_at=later)
    assert after.occurred_at == later
    same = ("user_text", "assistant_text", "tags", "metadata", "personal_info", "preferences")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert memory.search("Lisbon", user_id="ada", since=later)[0].chunk_id == ids[1]
    reworded = memory.update(ids[1], content={"assistant": "I hear you."})
    assert reworded.user_text == before.user_text
    assert reworded.assistant_text == "I hear you."
    assert reworded.personal_info == "of Lisbon"  # given by the caller: no rule found it
    without = memory.update(ids[1], facets={"personal_info": ""})
    assert without.personal_info is None


def test_facets_found_by_rules_follow_an_update_of_the_text(memory: MemSense) -> None:
    [chunk] = memory.add(
        [{"role": "user", "content": "I prefer tea to coffee."}], user_id="ada", session_id="s"
    )
    assert chunk.preferences
    changed = memory.update(chunk.chunk_id, content="I was born in Faro.")
    assert changed.preferences is None
    assert changed.personal_info
    spans = [changed.user_text[span["start"] : span["end"]] for span in changed.facet_spans]  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues]
    assert spans == ["I was born in Faro."]


def test_with_history_earlier_versions_are_kept_until_forgotten_or_erased(
    memory: MemSense, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"

    def ingest(text: str) -> None:
        line = {"session_id": "s", "id": "m1", "role": "user", "content": text}
        log.write_text(json.dumps(line))
        memory.ingest(log, user_id="ada")

    ingest("We met in Zanzibarword.")
    [chunk] = memory.recent(user_id="ada")
    memory.settings.set(history="on")
    memory.update(chunk.chunk_id, content="We met in Xylophoneword.", tags=["place"])
    ingest("We met in Krakatoaword.")
    versions = memory.versions(chunk.chunk_id)
    assert [(item.version, item.content["user_text"]) for item in versions] == [
        (1, "We met in Zanzibarword."),
        (2, "We met in Xylophoneword."),
    ]
    assert versions[1].content["tags"] == ["place"]
    for question in ("Zanzibarword", "Xylophoneword"):
        assert all("Krakatoaword" in hit.content for hit in memory.search(question, user_id="ada"))
    memory.settings.set(history="off")
    ingest("We met in Vesuviusword.")
    assert len(memory.versions(chunk.chunk_id)) == 2
    memory.forget(chunk.chunk_id)
    assert memory.versions(chunk.chunk_id) == []
    receipt = memory.delete(chunk.chunk_id)
    assert receipt.counts["superseded_chunks"] == 2
    assert find_words(conn, "Zanzibarword", "Xylophoneword", "Krakatoaword") == set()


def test_without_history_an_edit_can_be_undone_for_30_days(
    memory: MemSense, conn: psycopg.Connection
) -> None:
    [chunk] = memory.add([{"role": "user", "content": "In Zanzibarword."}], user_id="ada",
                         session_id="monday")  # fmt: skip
    for text in ("In Xylophoneword.", "In Krakatoaword."):
        memory.update(chunk.chunk_id, content=text)
    first, second = memory.versions(chunk.chunk_id)
    assert first.content["user_text"] == "In Zanzibarword."
    for version in (first, second):
        assert version.kept_until is not None
        kept = version.kept_until - version.superseded_at
        assert timedelta(days=29, hours=23) < kept < timedelta(days=30, minutes=1)
    lapse = "UPDATE memsense.superseded_chunks SET kept_until = now() WHERE version = 1"
    conn.execute(lapse)
    assert memory.versions(chunk.chunk_id) == [second]
    # The sweep is due when the days of the first version are over.
    conn.execute("UPDATE memsense.jobs SET run_at = now() WHERE kind = 'expire'")
    memory.jobs.run()
    assert find_words(conn, "Zanzibarword") == set()
    assert memory.versions(chunk.chunk_id) == [second], "its number stays"
    memory.update(chunk.chunk_id, content="In Vesuviusword.")
    assert [it.version for it in memory.versions(chunk.chunk_id)] == [2, 3]
    memory.erase(user_id="ada")
    assert find_words(conn, "Xylophoneword", "Krakatoaword", "Vesuviusword") == set()


def test_impossible_updates_are_refused_with_the_reason(memory: MemSense) -> None:
    ids = tell(memory, "ada", {})
    [session] = memory.recent(user_id="ada", granularity="session")
    memory.archive(ids[4])
    refused: list[tuple[int, dict[str, Any], str]] = [
        (ids[0], {}, "say what to change"),
        (ids[0], {"content": "one side"}, "which side"),
        (ids[0], {"content": {"users": "x"}}, "content has no 'users'; there are user, assistant"),
        (ids[0], {"content": {"user": " ", "assistant": ""}}, "empty: delete"),
        (ids[0], {"facets": {"moods": "x"}}, "facets has no 'moods'"),
        (ids[0], {"occurred_at": "yesterday"}, "occurred_at must be an ISO 8601 time"),
        (ids[4], {"tags": ["x"]}, "is archived: restore it first"),
        (session.chunk_id, {"tags": ["x"]}, "update one of these"),
    ]
    for chunk_id, options, words in refused:
        with pytest.raises(InvalidInputError, match=words):
            memory.update(chunk_id, **options)
    with pytest.raises(NotFoundError, match="chunk 999999"):
        memory.update(999999, tags=["x"])
    with pytest.raises(NotFoundError, match="no chunk 999999"):
        memory.versions(999999)


def test_an_update_of_a_chunk_that_has_changed_meanwhile_is_refused(
    open_memory: OpenMemory,
) -> None:
    other = open_memory()
    ids = tell(other, "ada", {})

    class Meddling:
        name = "rules"

        def tag(self, user_text: str, assistant_text: str) -> Facets:
            """Change the chunk, like another client, while the tagger works."""
            assert user_text or assistant_text
            other.update(ids[0], tags=[f"tag {user_text}"])
            return Facets()

    with pytest.raises(ConflictError, match="changed since it was read"):
        open_memory(tagger=Meddling()).update(ids[0], content={"user": "another text"})
    assert "another text" not in other.get(ids[0]).user_text
