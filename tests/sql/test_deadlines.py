"""`timeout=` ends a whole call at its deadline: embedding, statements and waits.

What a call waits for, an embedder or a lock, is let go only after the call has ended: a call that
ends has ended by its deadline.
"""

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence

# pyright: reportPrivateUsage=false
import psycopg
import pytest
from embedders import HashingEmbedder, TokenHashingEmbedder, Vectors
from waiting import wait_until

from memsense import AsyncMemSense, MemSense
from memsense.config import Settings
from memsense.db import calls
from memsense.deadline import remaining
from memsense.embed import Passage, QuestionTokens, Reading
from memsense.errors import (
    CallTimeoutError,
    ConnectionFailedError,
    EmbeddingError,
    InvalidInputError,
)

OpenMemory = Callable[..., MemSense]

SECONDS = 0.5
PATIENT_SECONDS = 10 * SECONDS
"""A fifth of it is left to a call whose embedder hangs, which must do on a busy machine."""
PATIENCE = 20
"""Seconds: the least that would be waited for otherwise; a busy machine needs the rest."""

SAID = [{"role": "user", "content": "I drink tea."}]


class HangingEmbedder(HashingEmbedder):
    """Embedder that doesn't answer while it hangs, as a server behind a broken network."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = threading.Event()
        self.goes_on.set()

    def embed(self, texts: Sequence[str]) -> Vectors:
        assert self.goes_on.wait(3 * PATIENCE)
        return super().embed(texts)

    def embed_query(self, text: str) -> Vectors:
        assert self.goes_on.wait(3 * PATIENCE)
        return super().embed_query(text)


class HangingTokenEmbedder(TokenHashingEmbedder):
    """Embedder with token vectors that doesn't answer while it hangs."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = threading.Event()
        self.goes_on.set()

    def read(self, passages: Sequence[Passage]) -> list[Reading]:
        assert self.goes_on.wait(3 * PATIENCE)
        return super().read(passages)

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        assert self.goes_on.wait(3 * PATIENCE)
        return super().embed_question(text)


@pytest.fixture(
    params=[HangingEmbedder, pytest.param(HangingTokenEmbedder, marks=pytest.mark.full)]
)
def embedder(request: pytest.FixtureRequest) -> Generator[HangingEmbedder | HangingTokenEmbedder]:
    embedder = request.param()
    yield embedder
    embedder.goes_on.set()


def test_an_embedder_that_hangs_ends_no_write_and_delays_it_no_further_than_its_deadline(
    open_memory: OpenMemory, embedder: HangingEmbedder | HangingTokenEmbedder
) -> None:
    memory = open_memory(embedder=embedder)
    memory.add(SAID, user_id="ada", session_id="monday")
    embedder.goes_on.clear()
    later = [{"role": "user", "content": "I drink coffee."}]
    added = memory.add(later, user_id="ada", session_id="tuesday", timeout=PATIENT_SECONDS)
    assert (len(added), added.deferred) == (1, 1)
    with pytest.raises(EmbeddingError, match="timeout"):
        memory.search("Who drinks tea?", user_id="ada", timeout=SECONDS)
    memory.settings.set(embedder_failure="lexical")
    result = memory.search("Who drinks tea?", user_id="ada", timeout=PATIENT_SECONDS)
    assert result[0].chunk.user_text == "I drink tea."
    assert any("ranked by words alone" in note for note in result.notes)


CALLS: dict[str, Callable[[MemSense], object]] = {
    "add": lambda it: it.add(SAID, user_id="ada", session_id="tuesday", timeout=SECONDS),
    "promote": lambda it: it.promote(1, timeout=SECONDS),
    "forget": lambda it: it.forget(1, timeout=SECONDS),
    "search": lambda it: it.search("tea", user_id="ada", timeout=SECONDS),
    "context": lambda it: it.context("Who drinks tea?", user_id="ada", timeout=SECONDS),
    "recent": lambda it: it.recent(user_id="ada", timeout=SECONDS),
    "for_user": lambda it: it.for_user("ada").search("tea", timeout=SECONDS),
}


@pytest.mark.parametrize("verb", CALLS)
def test_a_call_that_waits_for_a_lock_ends_at_its_deadline_and_writes_nothing(
    open_memory: OpenMemory, database_url: str, verb: str
) -> None:
    memory = open_memory()
    memory.add(SAID, user_id="ada", session_id="monday")
    memory.search("tea", user_id="ada")
    with psycopg.connect(database_url) as holder:
        holder.execute("LOCK TABLE memsense.chunks, memsense.scopes IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(CallTimeoutError, match="timeout") as failure:
            CALLS[verb](memory)
        assert failure.value.committed is False
    # Connections are free again, and a call without a deadline is not cancelled.
    assert [chunk.session_id for chunk in memory.recent(user_id="ada")] == ["monday"]


def test_a_deadline_holds_for_a_wait_for_a_connection_and_in_a_task(
    open_memory: OpenMemory, database_url: str
) -> None:
    settings = Settings(database_url=database_url, pool_max_size=1, pool_timeout=3 * PATIENCE)
    memory = open_memory(settings=settings)
    memory.add(SAID, user_id="ada", session_id="monday")
    with memory._context.pool.connection(), pytest.raises(CallTimeoutError):
        memory.recent(user_id="ada", timeout=SECONDS)

    async def recall() -> None:
        with psycopg.connect(database_url) as holder:
            holder.execute("LOCK TABLE memsense.chunks IN ACCESS EXCLUSIVE MODE")
            await AsyncMemSense.over(memory).recent(user_id="ada", timeout=SECONDS)

    with pytest.raises(CallTimeoutError):
        asyncio.run(recall())
    with pytest.raises(InvalidInputError, match="timeout"):
        memory.recent(user_id="ada", timeout=0)


def test_a_call_is_late_by_the_clock_even_if_its_timer_has_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unhurried(threading.Timer):
        def run(self) -> None:
            self.finished.wait()

    def take_no_connection() -> None:
        wait_until(lambda: remaining() == 0, "the deadline")
        raise ConnectionFailedError("no connection became free")

    monkeypatch.setattr(calls, "Timer", Unhurried)
    with pytest.raises(CallTimeoutError, match="timeout of 0.1 s"):
        calls.run_in_time(take_no_connection, 0.1)

    def fail() -> None:
        raise ConnectionFailedError("the server is away")

    with pytest.raises(ConnectionFailedError):
        calls.run_in_time(fail, float(PATIENCE))


def test_unknown_names_are_noted_up_to_a_number_and_compared_while_that_is_cheap(
    memory: MemSense,
) -> None:
    memory.add(SAID, user_id="ada", session_id="monday")
    names = ["mondey", *(f"unknown {number}" for number in range(10_000))]
    result = memory.search("tea", user_id="ada", session_ids=names)
    assert result.notes[-21] == "no session 'mondey' is stored here; did you mean 'monday'?"
    assert result.notes[-2:] == [
        "no session 'unknown 18' is stored here",
        "9981 more sessions are not stored here",
    ]
