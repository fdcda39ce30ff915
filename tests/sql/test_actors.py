"""The history names who or what caused each event."""

import asyncio
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder

from memsense import AsyncMemSense, MemSense, acting_as
from memsense.actor import user_name
from memsense.hooks.capture import ingest_entry
from memsense.hooks.folder import HookFolder

OpenMemory = Callable[..., MemSense]


def tell(memory: MemSense, session_id: str = "monday", **options: Any) -> int:
    said = [{"role": "user", "content": f"I drink tea on {session_id}."}]
    return memory.add(said, user_id="ada", session_id=session_id, **options)[0].chunk_id


def actors(memory: MemSense, chunk_id: int) -> list[tuple[str, str | None]]:
    return [(event.kind, event.actor) for event in memory.history(chunk_id)]


def test_each_change_of_a_memory_names_the_actor_of_its_call(memory: MemSense) -> None:
    chunk_id = tell(memory)
    changes: dict[str, Callable[[], object]] = {
        "promoted": lambda: memory.promote(chunk_id),
        "demoted": lambda: memory.demote(chunk_id),
        "feedback": lambda: memory.feedback(chunk_id, helpful=True),
        "updated": lambda: memory.update(chunk_id, tags=["tea"]),
        "archived": lambda: memory.archive(chunk_id),
        "restored": lambda: memory.restore(chunk_id),
    }
    for kind, change in changes.items():
        with acting_as(f"python:{kind}"):
            change()
    by_default = ("added", f"python:{user_name()}")
    assert actors(memory, chunk_id) == [by_default, *((it, f"python:{it}") for it in changes)]
    memory.promote(chunk_id)
    assert actors(memory, chunk_id)[-1] == ("promoted", f"python:{user_name()}")


def test_tasks_of_one_program_are_actors_of_their_own(memory: MemSense) -> None:
    async def add(name: str) -> int:
        with acting_as(f"python:{name}"):
            said = [{"role": "user", "content": f"{name} says hello."}]
            chunks = await AsyncMemSense.over(memory).add(said, user_id=name, session_id="s")
        return chunks[0].chunk_id

    async def add_all() -> list[int]:
        return await asyncio.gather(*(add(name) for name in ("ada", "ben", "cyd")))

    added = asyncio.run(add_all())
    said = [actors(memory, chunk_id) for chunk_id in added]
    assert said == [[("added", f"python:{name}")] for name in ("ada", "ben", "cyd")]


def test_a_job_is_the_actor_of_what_it_does(memory: MemSense, database_url: str) -> None:
    memory.settings.set(on_expiry="forget")
    chunk_id = tell(memory, expires_at=datetime.now(UTC) + timedelta(hours=1))
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("UPDATE memsense.chunks SET expires_at = now()")
        conn.execute("UPDATE memsense.jobs SET run_at = now() - interval '1 second'")
        memory.jobs.run()
        row = conn.execute(
            "SELECT kind, actor FROM memsense.events WHERE chunk_id = %s ORDER BY event_id",
            [chunk_id],
        ).fetchall()
    assert row == [("added", f"python:{user_name()}"), ("deleted", "job:expire")]


def test_a_hook_is_the_actor_of_the_sessions_that_it_brings(
    memory: MemSense, tmp_path: Path
) -> None:
    folder = HookFolder(tmp_path)
    folder.create()
    log, entry = tmp_path / "s1.jsonl", folder.queue / "session.json"
    line = {
        "type": "user",
        "sessionId": "s1",
        "uuid": "u1",
        "timestamp": "2026-05-01T12:00:00Z",
        "message": {"role": "user", "content": "My cat is called Miso."},
    }
    log.write_text(json.dumps(line) + "\n")
    entry.write_text(json.dumps({"agent": "claude-code", "session": None, "log": str(log)}))
    ingest_entry(memory.for_user("ada"), entry)
    [chunk] = memory.recent(user_id="ada")
    assert actors(memory, chunk.chunk_id) == [("added", "hook:claude-code")]


def test_an_export_keeps_the_actors_of_the_past(open_memory: OpenMemory) -> None:
    memory, other = open_memory(), open_memory(namespace="other", embedder=HashingEmbedder())
    with acting_as("key:ms_1"):
        tell(memory)
    exported = io.StringIO()
    memory.export_to(exported, user_id="ada")
    with acting_as("cli:ben"):
        other.import_from(io.StringIO(exported.getvalue()))
    [chunk] = other.recent(user_id="ada")
    assert actors(other, chunk.chunk_id) == [("added", "key:ms_1"), ("imported", "cli:ben")]


@pytest.mark.parametrize("erased", [False, True])
def test_the_view_audit_lists_events_with_their_actors(
    memory: MemSense, database_url: str, erased: bool
) -> None:
    with acting_as("cli:ada"):
        chunk_id = tell(memory)
        other_id = tell(memory, "tuesday")
    if erased:
        memory.delete(other_id)
    with psycopg.connect(database_url) as conn:
        rows = conn.execute(
            "SELECT tenant, namespace, user_id, kind, chunk_id, session_id FROM memsense.audit"
            " WHERE actor = 'cli:ada' ORDER BY event_id"
        ).fetchall()
    place = ("default", "default", "ada", "added")
    kept = [] if erased else [(*place, other_id, "tuesday")]
    assert rows == [(*place, chunk_id, "monday"), *kept]
