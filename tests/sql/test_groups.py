"""Adds to one memory that wait for each other: stored together, as if one after the other."""

import asyncio
import random
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

import psycopg
import pytest
from counting import assert_counted
from embedders import TokenHashingEmbedder
from psycopg import sql
from waiting import wait_in_task, wait_until

from memsense import AsyncMemSense, MemSense
from memsense.actor import acting_as
from memsense.db.calls import Call, CallCancelled
from memsense.errors import CallTimeoutError, ConflictError, QuotaExceededError

ONE_SERVER = pytest.mark.one_server("a cluster's waits for locks are those of its nodes")
OpenMemory = Callable[..., MemSense]
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)

FIND = "SELECT tenant_id, scope_id FROM memsense.scopes WHERE user_id = %s"
# These two name the tenant, for a cluster.
LOCK = "SELECT FROM memsense.scopes WHERE tenant_id = %s AND scope_id = %s FOR UPDATE"
TRANSACTIONS = """
    SELECT array_agg(user_text ORDER BY chunk_id) FROM memsense.events AS e
    JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)
    WHERE e.tenant_id = %s AND e.scope_id = %s AND e.kind = 'added' AND session_id <> 'first'
    GROUP BY e.xmin::text ORDER BY min(chunk_id)
"""
LOCKED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
TABLES = """
    SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT c.relispartition AND a.attname = 'scope_id' ORDER BY 1
"""
CHANCE = {"scope_id", "user_id", "recorded_at", "event_id", "job_id", "run_at", "found_at"}
"""Columns that differ between two memories of the same content."""

CHUNKS = {"chunk_id", "older_id", "previous_chunk_id", "by"}
ENTITIES = {"entity_id", "entity_a", "entity_b"}


def find_memory(connection: psycopg.Connection[Any], user_id: str) -> tuple[int, int]:
    """Return the tenant and the scope of a user."""
    [found] = connection.execute(FIND, [user_id]).fetchall()
    return found


@contextmanager
def holding(database_url: str, user_id: str) -> Generator[None]:
    """Lock a memory, as a write of another process does."""
    with psycopg.connect(database_url) as connection:
        connection.execute(LOCK, find_memory(connection, user_id))
        yield


def call_at_once(
    memory: MemSense, database_url: str, user_id: str, calls: Sequence[Callable[[], Any]]
) -> list[Any]:
    """Run calls whose first waits for the memory's lock, until all others wait behind it, in order.

    Returns their results, or their errors.
    """
    queues = memory._context.groups._queues  # pyright: ignore[reportPrivateUsage]
    with ThreadPoolExecutor(len(calls)) as threads:
        with holding(database_url, user_id):
            running: list[Future[Any]] = []
            for number, call in enumerate(calls, start=1):
                running.append(threads.submit(call))
                wait_until(
                    lambda n=number: len(queues.get(user_id, ())) == n,
                    f"call {number} in the queue",
                )
        ended = [one.exception() or one.result() for one in running]
    assert not queues
    return ended


@contextmanager
def blocked_group(
    memory: MemSense, database_url: str, calls: Sequence[Callable[[], Any]]
) -> Generator[list[Future[Any]]]:
    """Run calls of which all but the first wait for the memory's lock as one group."""
    groups = memory._context.groups  # pyright: ignore[reportPrivateUsage]
    queues, guard = groups._queues, groups._guard  # pyright: ignore[reportPrivateUsage]
    with (
        psycopg.connect(database_url, autocommit=True) as watcher,
        psycopg.connect(database_url) as later,
        ThreadPoolExecutor(len(calls) + 1) as threads,
    ):

        def wait_for_locks(count: int) -> None:
            wait_until(
                lambda: watcher.execute(LOCKED).fetchone() == (count,), f"{count} waits for a lock"
            )

        with psycopg.connect(database_url) as earlier:
            ada = find_memory(earlier, "ada")
            earlier.execute(LOCK, ada)
            running = [threads.submit(calls[0])]
            wait_for_locks(1)
            locked = threads.submit(later.execute, LOCK, ada)
            wait_for_locks(2)
            for number, call in enumerate(calls[1:], start=2):
                running.append(threads.submit(call))
                wait_until(lambda n=number: len(queues["ada"]) == n, f"call {number} in the queue")
            # Locks of rows are not granted in order: the group may not begin before `later` has it.
            with guard:
                earlier.rollback()
                locked.result()
        running[0].result()
        wait_for_locks(1)
        yield running
        later.rollback()


def said(text: str, *, hours: int = 0) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, "at": NOON + timedelta(hours=hours)}]


def adder(memory: MemSense, text: str, **options: Any) -> Callable[[], Any]:
    return partial(memory.add, said(text), **{"user_id": "ada", "session_id": text, **options})


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    memory = open_memory(embedder=TokenHashingEmbedder())
    memory.add(said("It begins."), user_id="ada", session_id="first")
    return memory


def transactions(database_url: str, user_id: str = "ada") -> list[list[str]]:
    with psycopg.connect(database_url) as connection:
        found = connection.execute(TRANSACTIONS, find_memory(connection, user_id))
        return [row for (row,) in found.fetchall()]


# The same as one after the other -----------------------------------------------------------------


def contents(connection: psycopg.Connection[Any], user_id: str) -> dict[str, list[str]]:
    """Return the rows of a user in every table, with places for the numbers of chunks."""
    _, scope_id = find_memory(connection, user_id)
    names: dict[str, dict[Any, Any]] = {"chunk": {}, "entity": {}}
    for place, (chunk_id,) in enumerate(
        connection.execute(
            "SELECT chunk_id FROM memsense.chunks WHERE scope_id = %s ORDER BY 1", [scope_id]
        ).fetchall()
    ):
        names["chunk"][chunk_id] = place
    names["entity"] |= connection.execute(
        "SELECT entity_id, key FROM memsense.entities WHERE scope_id = %s", [scope_id]
    ).fetchall()

    def named(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {name: named(name, one) for name, one in sorted(fields.items())}
        if key in CHUNKS:
            return names["chunk"].get(value, value)
        return names["entity"][value] if key in ENTITIES else value

    found: dict[str, list[str]] = {}
    for (table,) in connection.execute(TABLES).fetchall():
        rows = connection.execute(
            sql.SQL("SELECT to_jsonb(t) FROM {} AS t WHERE scope_id = %s").format(
                sql.Identifier("memsense", table)
            ),
            [scope_id],
        ).fetchall()
        found[table] = sorted(
            str([(key, named(key, row[key])) for key in sorted(row.keys() - CHANCE)])
            for (row,) in rows
        )
    return found


PLACES = ("Lisbon", "Porto", "Bergen", "Graz")
DRINKS = ("tea", "coffee", "cider")


def make_script(choose: random.Random, length: int, *, is_plain: bool) -> list[dict[str, Any]]:
    """Make calls of few sessions and few words: questions, repeats and new facts.

    Unless it is plain, also what is stored alone: answers, what is embedded later, and session z.
    """

    def sentence() -> str:
        place, drink, other = choose.choice(PLACES), *choose.sample(DRINKS, 2)
        return choose.choice([
            f"I live in {place}.",
            f"I moved to {place} last week, I no longer live where I did.",
            f"I don't drink {drink} any more, I switched to {other}.",
            f"My favourite drink is {drink} from {place}.",
            "Danke, ich wohne jetzt in der Stadt und trinke gerne Wasser.",
            "ok",
        ])  # fmt: skip

    script: list[dict[str, Any]] = []
    for number in range(length):
        roles = choose.choice(["u", "ua", "uaua"] if is_plain else ["u", "a", "ua"])
        at = NOON + timedelta(hours=choose.choice([number, number, length - number]))
        messages = [
            {
                "role": "user" if role == "u" else "assistant",
                "content": sentence() if role == "u" else f"Noted: {sentence()}",
                "at": at + timedelta(minutes=minute),
                "name": choose.choice([None, None, "Ada", "Ben"]),
            }
            for minute, role in enumerate(roles)
        ]
        if script and choose.random() < 0.2:
            messages = choose.choice(script)["messages"]
        options: dict[str, Any] = {
            "session_id": choose.choice("xyv" if is_plain else "xyz"),
            "messages": messages,
        }
        if choose.random() < 0.2:
            options["key"] = f"key {choose.randrange(1000)}"
        if choose.random() < 0.2:
            options["mode"] = "hybrid"
        if not is_plain and choose.random() < 0.2:
            options["embed"] = "later"
        if choose.random() < 0.1:
            options["tags"] = ["seldom"]
        script.append(options)
    return script


@pytest.mark.parametrize(("seed", "is_plain"), [(0, True), (1, True), (2, False)])
def test_waiting_adds_leave_the_memory_that_single_adds_leave(
    open_memory: OpenMemory, database_url: str, is_long: bool, seed: int, is_plain: bool
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    choose = random.Random(seed)
    for number in range(10 if is_long else 1):
        users = f"single {number}", f"waiting {number}"
        for user_id in users:
            # That session goes on without turns.
            memory.add(said("It begins."), user_id=user_id, session_id="z", mode="session")
        script = make_script(choose, 14, is_plain=is_plain)
        single_results = [memory.add(user_id=users[0], **options) for options in script]
        calls = [partial(memory.add, user_id=users[1], **options) for options in script]
        results = [
            result
            for first in range(0, len(calls), 7)
            for result in call_at_once(memory, database_url, users[1], calls[first : first + 7])
        ]
        for one, other in zip(single_results, results, strict=True):
            assert [it.content for it in one] == [it.content for it in other]
            assert (one.notes, one.deferred) == (other.notes, other.deferred)
        with psycopg.connect(database_url) as connection:
            single, waiting = (contents(connection, user_id) for user_id in users)
            assert waiting == single
            assert seed != 1 or single["supersessions"]
            memory.jobs.run()  # what was to be embedded later
            assert_counted(connection)
        sizes = [len(each) for each in transactions(database_url, users[1])]
        assert not is_plain or max(sizes) > 3, sizes


# Groups ------------------------------------------------------------------------------------------


def test_adds_that_wait_are_one_transaction_in_the_order_of_their_arrival(
    memory: MemSense, database_url: str
) -> None:
    texts = [f"Number {number}." for number in range(6)]
    added = call_at_once(memory, database_url, "ada", [adder(memory, text) for text in texts])
    assert [[it.user_text for it in one] for one in added] == [[text] for text in texts]
    assert transactions(database_url) == [texts[:1], texts[1:]]


def test_adds_without_a_session_are_stored_together_and_follow_each_other(
    memory: MemSense, database_url: str
) -> None:
    texts = [f"Number {number}." for number in range(6)]
    calls = [adder(memory, text, session_id=None) for text in texts]
    call_at_once(memory, database_url, "ada", calls)
    assert [len(one) for one in transactions(database_url)] == [1, 5]
    day = memory.list(user_id="ada", session_ids=["2026-05-01"])
    stored = sorted(day, key=lambda it: it.chunk_id)
    assert [it.user_text for it in stored] == texts
    assert [it.next_user_text for it in stored] == [*texts[1:], None]
    assert [it.ordinal for it in stored] == list(range(6))


def test_a_bad_add_fails_alone(memory: MemSense, database_url: str) -> None:
    memory.add(said("Before."), user_id="ada", session_id="first", key="taken")
    calls = [adder(memory, f"Number {number}.") for number in range(5)]
    calls[2] = adder(memory, "Another text.", key="taken")
    added = call_at_once(memory, database_url, "ada", calls)
    assert isinstance(added.pop(2), ConflictError)
    assert [len(one) for one in added] == [1] * 4
    assert [len(one) for one in transactions(database_url)] == [1] * 4


def test_a_key_in_a_group_stores_once(memory: MemSense, database_url: str) -> None:
    calls = [adder(memory, f"Number {number}.", key=f"key {number}") for number in range(4)]
    added = call_at_once(memory, database_url, "ada", [*calls, calls[2], calls[0]])
    assert [[it.chunk_id for it in one] for one in added[4:]] == [
        [it.chunk_id for it in added[number]] for number in (2, 0)
    ]
    assert [len(one) for one in transactions(database_url)] == [1, 3]
    assert [list(call()) for call in calls] == [list(one) for one in added[:4]]


@pytest.mark.parametrize("on_quota", ["refuse", "archive"])
def test_each_add_of_a_group_has_the_quota_that_those_before_it_leave(
    memory: MemSense, database_url: str, on_quota: str
) -> None:
    memory.settings.set(user_quota=4, on_quota=on_quota)
    texts = [f"Number {number}." for number in range(6)]
    added = call_at_once(memory, database_url, "ada", [adder(memory, text) for text in texts])
    refused = [isinstance(one, QuotaExceededError) for one in added]
    assert refused == [False] * 3 + [on_quota == "refuse"] * 3
    left = [it.user_text for it in memory.list(user_id="ada")]
    assert sorted(left) == (texts[2:] if on_quota == "archive" else ["It begins.", *texts[:3]])


def test_the_history_names_the_actor_of_each_add(memory: MemSense, database_url: str) -> None:
    def add_as(actor: str, text: str) -> Any:
        with acting_as(actor):
            return memory.add(said(text), user_id="ada", session_id=text)

    actors = ["key:a", "key:a", "key:b", "key:b", "key:a"]
    calls = [partial(add_as, actor, f"Number {at}.") for at, actor in enumerate(actors)]
    added = call_at_once(memory, database_url, "ada", calls)
    histories = [memory.history(one[0].chunk_id) for one in added]
    assert [it[0].actor for it in histories] == actors
    assert [len(one) for one in transactions(database_url)] == [1, 1, 2, 1]


def test_a_question_and_its_answer_of_two_callers_become_one_exchange(
    memory: MemSense, database_url: str
) -> None:
    answer = [{"role": "assistant", "content": "Bergen.", "at": NOON}]
    calls = [
        adder(memory, "Where is Ada?", session_id="talk"),
        partial(memory.add, answer, user_id="ada", session_id="talk"),
        adder(memory, "Where is Ben?", session_id="talk"),
    ]
    call_at_once(memory, database_url, "ada", calls)
    talk = sorted(memory.list(user_id="ada", session_ids=["talk"]), key=lambda it: it.ordinal)
    sides = [(it.user_text, it.assistant_text) for it in talk]
    assert sides == [("Where is Ada?", "Bergen."), ("Where is Ben?", "")]


# Ends --------------------------------------------------------------------------------------------


def test_an_add_that_waits_ends_at_its_deadline_and_is_not_written(
    memory: MemSense, database_url: str
) -> None:
    with ThreadPoolExecutor(3) as threads:
        with holding(database_url, "ada"):
            first = threads.submit(adder(memory, "Number 0."))
            queues = memory._context.groups._queues  # pyright: ignore[reportPrivateUsage]
            wait_until(lambda: queues.get("ada"), "a leader")
            late = threads.submit(adder(memory, "Number 1.", timeout=0.05))
            with pytest.raises(CallTimeoutError, match="nothing was written"):
                late.result()
            last = threads.submit(adder(memory, "Number 2."))
        assert [len(one.result()) for one in (first, last)] == [1, 1]
    stored = [text for texts in transactions(database_url) for text in texts]
    assert stored == ["Number 0.", "Number 2."]


@ONE_SERVER
def test_a_cancelled_call_ends_its_add_in_a_group_that_waits_and_no_other(
    memory: MemSense, database_url: str
) -> None:
    # A timeout cancels the call, too.
    texts, call = [f"Number {number}." for number in range(5)], Call()
    calls = [adder(memory, text) for text in texts]
    calls[2] = partial(call.run, calls[2])
    with blocked_group(memory, database_url, calls) as running:
        call.cancel()
        assert isinstance(running[2].exception(), CallCancelled)
        assert not any(running[number].done() for number in (1, 3, 4))
    stored = [text for each in transactions(database_url) for text in each]
    assert stored == [*texts[:2], *texts[3:]]


@ONE_SERVER
def test_a_group_whose_connection_is_lost_is_stored_once(
    memory: MemSense, database_url: str
) -> None:
    texts = [f"Number {number}." for number in range(5)]
    calls = [adder(memory, text) for text in texts]
    with (
        blocked_group(memory, database_url, calls),
        psycopg.connect(database_url, autocommit=True) as connection,
    ):
        connection.execute(LOCKED.replace("count(*)", "pg_terminate_backend(pid)").encode())
    assert transactions(database_url) == [texts[:1], texts[1:]]


def test_a_cancelled_task_that_waits_writes_nothing(database_url: str) -> None:
    async def work() -> None:
        async with AsyncMemSense.open(database_url, embedder=TokenHashingEmbedder()) as memory:
            await memory.add(said("It begins."), user_id="ada", session_id="first")
            queues = memory._sync._context.groups._queues  # pyright: ignore[reportPrivateUsage]
            tasks: list[asyncio.Task[Any]] = []
            with holding(database_url, "ada"):
                for number in range(3):
                    text = f"Number {number}."
                    call = memory.add(said(text), user_id="ada", session_id=text)
                    tasks.append(asyncio.create_task(call))
                    await wait_in_task(
                        lambda n=number: len(queues.get("ada", ())) > n, f"call {number}"
                    )
                tasks[1].cancel()
                with pytest.raises(asyncio.CancelledError):
                    await tasks[1]
            await tasks[0]
            await tasks[2]

    asyncio.run(work())
    assert transactions(database_url) == [["Number 0."], ["Number 2."]]
