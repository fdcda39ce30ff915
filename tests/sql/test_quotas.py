"""The setting `user_quota`: the most exchanges that each user of a namespace may have."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from memsense import MemSense
from memsense.db.queries import query
from memsense.errors import ConfigurationError, QuotaExceededError

OpenMemory = Callable[..., MemSense]


def say(memory: MemSense, number: int, *, user_id: str = "ada", **options: Any) -> list[int]:
    """Add one exchange of a session of its own, said on that day."""
    said = [
        {"role": "user", "content": f"My lucky number is {number}.", "at": f"2026-01-{number:02}"},
        {"role": "assistant", "content": f"I will remember {number}."},
    ]
    options = {"session_id": f"day {number}", **options}
    return [chunk.chunk_id for chunk in memory.add(said, user_id=user_id, **options)]


def count(memory: MemSense, user_id: str = "ada", granularity: Any = "turn") -> int:
    return len(memory.list(user_id=user_id, granularity=granularity, limit=100))


def test_an_add_beyond_the_quota_is_refused_and_writes_nothing(memory: MemSense) -> None:
    memory.settings.set(user_quota=2)
    say(memory, 1)
    say(memory, 2)
    with pytest.raises(QuotaExceededError) as caught:
        say(memory, 3)
    text = str(caught.value)
    assert "user 'ada' may have 2 exchanges" in text
    assert "would have 3 with session 'day 3'" in text
    assert "memsense settings set user_quota=N" in text
    assert count(memory) == 2
    assert say(memory, 2)  # it is stored already, and adds nothing
    say(memory, 3, user_id="bob")  # each user has the whole quota


def test_all_sessions_of_a_call_are_refused_together(memory: MemSense) -> None:
    memory.settings.set(user_quota=2)
    sessions = [
        {"session_id": str(n), "messages": [{"role": "user", "content": f"I said {n}."}]}
        for n in range(3)
    ]
    with pytest.raises(QuotaExceededError, match="with session '2'"):
        memory.add_many(sessions, user_id="ada")
    assert count(memory) == 0


def test_forgetting_makes_room_and_restoring_needs_it(memory: MemSense) -> None:
    memory.settings.set(user_quota=1)
    [first] = say(memory, 1)
    memory.forget(first)
    [second] = say(memory, 2)
    with pytest.raises(QuotaExceededError):
        memory.restore(first)
    memory.archive(second)
    assert memory.restore(first) == [first]


def test_a_quota_of_0_is_no_limit_and_is_the_default(memory: MemSense) -> None:
    assert memory.settings.show()["user_quota"].value == 0
    assert memory.settings.show()["on_quota"].value == "refuse"
    memory.settings.set(user_quota=1)
    say(memory, 1)
    memory.settings.set(user_quota=0)
    say(memory, 2)
    memory.settings.set(user_quota=1)
    memory.settings.reset("user_quota")
    say(memory, 3)
    assert count(memory) == 3


@pytest.mark.parametrize("value", [-1, 1.5, "many", True, None])
def test_a_quota_is_a_whole_number(memory: MemSense, value: object) -> None:
    with pytest.raises(ConfigurationError, match="user_quota must be a whole number"):
        memory.settings.set(user_quota=value)


def test_of_two_adds_at_once_one_is_refused(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.settings.set(user_quota=5)
    say(memory, 1)

    def attempt(number: int) -> bool:
        try:
            say(memory, number)
        except QuotaExceededError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        stored = list(pool.map(attempt, range(2, 18)))
    assert stored.count(True) == 4
    assert count(memory) == 5


def test_sessions_stored_as_a_whole_count_too(memory: MemSense) -> None:
    memory.settings.set(user_quota=1)
    say(memory, 1, mode="session")
    with pytest.raises(QuotaExceededError):
        say(memory, 2, mode="session")
    memory.settings.set(on_quota="archive")
    say(memory, 2, mode="session")
    [chunk] = memory.list(user_id="ada", granularity="session")
    assert chunk.session_id == "day 2"


def test_the_oldest_exchanges_are_archived_but_not_promoted_ones(memory: MemSense) -> None:
    memory.settings.set(user_quota=3, on_quota="archive")
    [first], [third], [second] = say(memory, 1), say(memory, 3), say(memory, 2)
    memory.promote(first)
    say(memory, 4)
    active = {chunk.chunk_id for chunk in memory.list(user_id="ada")}
    assert active >= {first, third}
    assert second not in active
    event = memory.history(second)[-1]
    assert (event.kind, event.detail) == ("archived", {"reason": "quota of 3 exchanges"})
    assert not any(hit.chunk_id == second for hit in memory.search("lucky 2", user_id="ada").hits)


def test_a_long_exchange_counts_once_however_many_parts_it_is_stored_in(memory: MemSense) -> None:
    memory.settings.set(user_quota=2, on_quota="archive")
    said = [{"role": "user", "content": "A long story. " * 300, "at": "2026-01-01"}]
    long = memory.add(said, user_id="ada", session_id="long")
    assert len(long) > 2
    [kept] = say(memory, 2)
    say(memory, 3)
    active = {chunk.chunk_id for chunk in memory.list(user_id="ada")}
    assert kept in active
    assert not active & {chunk.chunk_id for chunk in long}
    memory.settings.set(on_quota="refuse")
    with pytest.raises(QuotaExceededError, match="would have 3"):
        memory.add("Another long story. " * 300, user_id="ada", session_id="another")


def test_what_a_call_adds_is_never_archived_by_it(memory: MemSense) -> None:
    memory.settings.set(user_quota=2, on_quota="archive")
    [kept] = say(memory, 1)
    said = [
        {"role": role, "content": f"{role} says fact {n}."}
        for n in range(3)
        for role in ("user", "assistant")
    ]
    with pytest.raises(QuotaExceededError, match="would have"):
        memory.add(said, user_id="ada", session_id="long")
    assert [chunk.chunk_id for chunk in memory.list(user_id="ada")] == [kept]


def test_a_promoted_memory_leaves_no_room(memory: MemSense) -> None:
    memory.settings.set(user_quota=1, on_quota="archive")
    [first] = say(memory, 1)
    memory.promote(first)
    with pytest.raises(QuotaExceededError):
        say(memory, 2)
    assert count(memory) == 1


def test_archiving_makes_session_chunks_anew(memory: MemSense) -> None:
    memory.settings.set(user_quota=2, on_quota="archive")
    for number in (1, 2, 3):
        say(memory, number, session_id="one", mode="hybrid")
        memory.indexes.make_sessions()
    [whole] = memory.list(user_id="ada", granularity="session")
    assert count(memory) == 2
    assert "number is 1" not in whole.session_text
    assert "number is 3" in whole.session_text


def test_ingest_reports_the_sessions_that_are_refused(memory: MemSense, tmp_path: Path) -> None:
    memory.settings.set(user_quota=2)
    lines = [
        f'{{"session_id": "s{n}", "role": "user", "content": "I saw {n} birds.",'
        f' "timestamp": "2026-01-0{n}T10:00:00Z"}}'
        for n in (1, 2, 3)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
    report = memory.ingest(tmp_path / "log.jsonl", user_id="ada")
    assert (report.stored, report.refused) == (2, 1)
    assert any("s3" in str(failure) and "may have 2" in str(failure) for failure in report.failed)


def test_an_import_stops_at_the_quota_and_continues_when_it_is_raised(
    open_memory: OpenMemory,
) -> None:
    source, target = open_memory(), open_memory(namespace="other")
    for number in (1, 2, 3):
        say(source, number)
    file = io.StringIO()
    source.export_to(file, all_users=True)
    target.settings.set(user_quota=2)
    file.seek(0)
    with pytest.raises(QuotaExceededError, match="namespace 'other'"):
        target.import_from(file, settings=False)
    assert count(target) == 2
    target.settings.set(user_quota=3)
    file.seek(0)
    target.import_from(file, settings=False)
    assert count(target) == 3


def test_a_quota_in_the_callers_transaction_undoes_only_the_add(
    memory: MemSense, database_url: str
) -> None:
    memory.settings.set(user_quota=1)
    with psycopg.connect(database_url) as connection:
        say(memory, 1, connection=connection)
        with pytest.raises(QuotaExceededError):
            say(memory, 2, connection=connection)
    assert count(memory) == 1


def test_the_oldest_are_read_from_the_index(memory: MemSense, database_url: str) -> None:
    say(memory, 1)
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        statement = sql.SQL("EXPLAIN ") + query("select_oldest")
        values = {"tenant_id": 1, "scope_id": 1, "granularity": "turn", "spared": [0], "limit": 1}
        plan = connection.execute(statement, values).fetchall()
    assert "chunks_occurred_at" in str(plan)
