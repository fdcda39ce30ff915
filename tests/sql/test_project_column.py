"""The project that a memory is about: stored, filtered by, listed, exported, kept by changes."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memsense import MemSense
from memsense.draft.drafting import Annotations
from memsense.errors import NotFoundError

OpenMemory = Callable[..., MemSense]

LOOMS, BOATS = "github.com/ada/looms", "/work/boats"
SESSIONS: dict[str, tuple[str, str | None]] = {
    "s-looms": ("The loom needs a red warp.", LOOMS),
    "s-boats": ("The boat needs a red sail.", BOATS),
    "s-none": ("The kitchen needs a red lamp.", None),
}


@pytest.fixture
def filled(memory: MemSense) -> MemSense:
    """Store a session about each project, and one about none."""
    for session_id, (text, project) in SESSIONS.items():
        memory.add(
            [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}],
            user_id="ada",
            session_id=session_id,
            project=project,
        )
    return memory


def sessions_of(memory: MemSense, project: str, **options: Any) -> set[str]:
    result = memory.search("What is red?", user_id="ada", project=project, top_k=20, **options)
    return {hit.session_id for hit in result}


def test_a_project_is_a_column_a_pool_or_both_under_one_name(filled: MemSense) -> None:
    assert sessions_of(filled, LOOMS) == {"s-looms"}
    filled.projects.create("pool", ["s-looms", "s-none"])
    assert sessions_of(filled, "pool") == {"s-looms", "s-none"}
    filled.projects.create(BOATS, ["s-none"])
    assert sessions_of(filled, BOATS) == {"s-boats", "s-none"}
    listed = filled.list(user_id="ada", project=BOATS)
    assert {chunk.session_id for chunk in listed} == {"s-boats", "s-none"}
    counted = filled.sessions(user_id="ada", project=LOOMS)
    assert [(item.session_id, item.exchanges) for item in counted] == [("s-looms", 1)]


@pytest.mark.parametrize("mode", ["turn", "session", "hybrid"])
@pytest.mark.parametrize("granularity", ["turn", "session"])
def test_a_session_about_two_projects_shows_each_what_is_its_own(
    memory: MemSense, mode: Any, granularity: Any
) -> None:
    for project, text in ((LOOMS, "The loom is red."), (BOATS, "The boat is red.")):
        messages = [{"role": "user", "content": text}]
        memory.add(messages, user_id="ada", session_id="one", project=project, mode=mode)
    for project, own, other in ((LOOMS, "loom", "boat"), (BOATS, "boat", "loom")):
        result = memory.search(
            "What is red?", user_id="ada", project=project, granularity=granularity
        )
        shown = " ".join(hit.content for hit in result)
        if mode == "session" and granularity == "turn":
            assert not result or own in shown
        else:
            assert own in shown
        assert other not in shown


def test_hits_chunks_and_json_have_the_project(filled: MemSense) -> None:
    [hit] = filled.search("What is red?", user_id="ada", project=LOOMS)
    assert hit.chunk.project == hit.as_dict()["project"] == LOOMS
    assert filled.get(hit.chunk_id).as_dict()["project"] == LOOMS
    assert {item.project for item in filled.recent(user_id="ada")} == {LOOMS, BOATS, None}


def test_why_not_says_that_a_memory_is_of_another_project(filled: MemSense) -> None:
    [boat] = filled.list(user_id="ada", project=BOATS)
    verdict = filled.why_not("What is red?", boat.chunk_id, user_id="ada", project=LOOMS)
    assert verdict.text.endswith("neither it nor its session is in the project asked for")


def test_an_unknown_project_is_an_error_only_if_no_memory_or_pool_has_it(filled: MemSense) -> None:
    with pytest.raises(NotFoundError) as refused:
        filled.search("What is red?", user_id="ada", project="github.com/ada/loms")
    assert str(refused.value) == (
        "no project 'github.com/ada/loms' in namespace 'default'; there are /work/boats,"
        " github.com/ada/looms; did you mean 'github.com/ada/looms'?"
    )
    # Another user's project is unknown in this memory, and is not suggested.
    with pytest.raises(NotFoundError) as refused:
        filled.search("What is red?", user_id="bob", project=LOOMS)
    assert str(refused.value).endswith("there are none")
    assert not filled.search("red", user_id="ada", project=LOOMS, tags=["none"])


def test_projects_are_listed_with_what_a_search_in_them_reaches(filled: MemSense) -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    filled.add(
        [
            {"role": "user", "content": "A blue warp.", "at": at},
            {"role": "assistant", "content": "Fine."},
            {"role": "user", "content": "And a green one.", "at": at},
        ],
        user_id="bob",
        session_id="s-looms",
        project=LOOMS,
    )
    filled.projects.create("pool", ["s-none", "later"])
    filled.projects.create("empty")
    rows = filled.projects.list()
    assert [(it.name, it.sessions, it.exchanges, list(it.session_ids)) for it in rows] == [
        (BOATS, 1, 1, []),
        ("empty", 0, 0, []),
        (LOOMS, 2, 3, []),
        ("pool", 1, 1, ["later", "s-none"]),
    ]
    assert [it.name for it in rows if it.created_at is None] == [BOATS, LOOMS]
    assert filled.projects.get(LOOMS) == rows[2]
    for_bob = filled.for_user("bob").projects.list()
    assert [(it.name, it.exchanges, it.last_at) for it in for_bob] == [(LOOMS, 2, at)]
    for_ada = filled.for_user("ada")
    assert [it.name for it in for_ada.projects.list()] == [BOATS, LOOMS, "pool"]
    assert {hit.session_id for hit in for_ada.search("red", project=LOOMS)} == {"s-looms"}
    with pytest.raises(NotFoundError, match="no project '/work/boats' with sessions of 'bob'"):
        filled.for_user("bob").search("red", project=BOATS)


def test_a_view_of_one_user_stores_memories_of_a_new_project(filled: MemSense) -> None:
    bob = filled.for_user("bob")
    bob.add([{"role": "user", "content": "A red tar."}], session_id="t", project="tar")
    assert [hit.chunk.project for hit in bob.search("red", project="tar")] == ["tar"]


def test_changes_of_a_memory_keep_its_project(filled: MemSense) -> None:
    [chunk] = filled.list(user_id="ada", project=LOOMS)
    filled.update(chunk.chunk_id, content={"user": "The loom needs a blue warp."})
    assert filled.get(chunk.chunk_id).project == LOOMS
    filled.forget(chunk.chunk_id)
    filled.restore(chunk.chunk_id)
    assert filled.get(chunk.chunk_id).project == LOOMS
    # An answer that comes later completes the question in its project.
    filled.add(
        [{"role": "user", "content": "Which loom?"}],
        user_id="ada",
        session_id="later",
        project=LOOMS,
    )
    filled.add(
        [{"role": "assistant", "content": "The tall one."}], user_id="ada", session_id="later"
    )
    [completed] = filled.recent(user_id="ada", session_id="later")
    assert (completed.project, completed.assistant_text) == (LOOMS, "The tall one.")


def test_a_search_as_of_an_earlier_moment_knows_the_project(memory: MemSense) -> None:
    memory.settings.set(history="on")
    [chunk] = memory.add(
        [{"role": "user", "content": "The loom is red."}],
        user_id="ada",
        session_id="s",
        project=LOOMS,
    )
    before = datetime.now(UTC)
    memory.update(chunk.chunk_id, content="The loom is blue.")
    [hit] = memory.search("loom", user_id="ada", project=LOOMS, as_of=before)
    assert (hit.chunk.user_text, hit.chunk.project) == ("The loom is red.", LOOMS)


def test_an_export_and_its_import_keep_the_project(
    filled: MemSense, open_memory: OpenMemory, tmp_path: Path
) -> None:
    [forgotten] = filled.list(user_id="ada", project=BOATS)
    filled.forget(forgotten.chunk_id)
    filled.export_to(tmp_path / "all.jsonl", user_id="ada")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    # Of what is forgotten, nothing but its place is written.
    assert [line["project"] for line in lines if "project" in line] == [LOOMS]
    other = open_memory(namespace="other")
    other.import_from(tmp_path / "all.jsonl")
    assert sessions_of(other, LOOMS) == {"s-looms"}


def test_add_many_takes_a_project_for_each_session(memory: MemSense) -> None:
    memory.add_many(
        [
            {"session_id": name, "messages": [{"role": "user", "content": text}], "project": it}
            for name, (text, it) in SESSIONS.items()
        ],
        user_id="ada",
    )
    assert sessions_of(memory, BOATS) == {"s-boats"}


def test_the_overview_of_chunks_shows_the_project(filled: MemSense, database_url: str) -> None:
    assert filled
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT session_id, project FROM memsense.chunk_overview ORDER BY session_id"
        ).fetchall()
    assert rows == [("s-boats", BOATS), ("s-looms", LOOMS), ("s-none", None)]


def test_an_expired_memory_is_of_no_project(filled: MemSense, database_url: str) -> None:
    [chunk] = filled.list(user_id="ada", project=BOATS)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE memsense.chunks SET expires_at = %s WHERE chunk_id = %s",
            (datetime.now(UTC) - timedelta(days=1), chunk.chunk_id),
        )
    assert [item.name for item in filled.projects.list()] == [LOOMS]


def write_log(path: Path, *folders: str) -> None:
    lines: list[dict[str, Any]] = []
    for number, folder in enumerate(folders):
        for role in ("user", "assistant"):
            lines.append(
                {
                    "type": role,
                    "uuid": f"{role}{number}",
                    "parentUuid": lines[-1]["uuid"] if lines else None,
                    "sessionId": "s",
                    "cwd": folder,
                    "timestamp": f"2026-03-01T10:{number:02}:00Z",
                    "message": {"role": role, "content": f"The {role} says {number}."},
                }
            )
    path.write_text("\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize("mode", ["turn", "hybrid"])
def test_a_log_that_is_read_again_names_the_projects_of_what_is_stored(
    memory: MemSense, database_url: str, tmp_path: Path, mode: Any
) -> None:
    write_log(tmp_path / "s.jsonl", "/work/looms", "/work/boats")
    stored = memory.ingest(tmp_path / "s.jsonl", user_id="ada", mode=mode)
    assert stored.stored == 2
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE memsense.chunks SET project = NULL")
    again = memory.ingest(tmp_path / "s.jsonl", user_id="ada", mode=mode)
    assert (again.stored, again.replaced, again.repeated) == (0, 0, 2)
    about = [chunk.project for chunk in memory.recent(user_id="ada")]
    assert about == ["/work/boats", "/work/looms"]
    # A project that somebody has chosen stays.
    chosen = Annotations(project="mine")
    memory.ingest(tmp_path / "s.jsonl", user_id="ada", mode=mode, annotations=chosen)
    assert [chunk.project for chunk in memory.recent(user_id="ada")] == about


def test_a_chosen_project_wins_over_the_folder_of_a_log(memory: MemSense, tmp_path: Path) -> None:
    write_log(tmp_path / "s.jsonl", "/work/looms")
    chosen = Annotations(project="mine")
    memory.ingest(tmp_path / "s.jsonl", user_id="ada", annotations=chosen)
    assert [chunk.project for chunk in memory.recent(user_id="ada")] == ["mine"]
