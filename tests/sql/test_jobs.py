"""Deferred vectors: words find chunks at once, jobs embed them once, bad chunks are reported."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from counting import assert_counted
from embedders import HashingEmbedder, TokenHashingEmbedder, Vectors

from memsense import MemSense
from memsense.client.job_kinds import PROBE
from memsense.client.worker import Worker, backoff
from memsense.config import Settings
from memsense.embed import Passage, Reading
from memsense.errors import EmbeddingError, ModelMismatchError, NotFoundError
from memsense.store.jobs import Job
from memsense.types import EmbedWhen, IngestMode

OpenMemory = Callable[..., MemSense]
PATIENCE = 60

CONTENTS = """
SELECT c.session_id, c.granularity, c.ordinal, c.part, c.user_text, c.session_text, c.context,
    e.route, e.embedding::text, p.ordinal AS previous, t.pieces, t.signs, t.user_pieces
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
LEFT JOIN memsense.embeddings AS e USING (tenant_id, scope_id, chunk_id)
LEFT JOIN memsense.chunks AS p ON p.chunk_id = e.previous_chunk_id
LEFT JOIN memsense.token_vectors AS t ON t.chunk_id = c.chunk_id
WHERE s.user_id = %s AND c.status = 'active' ORDER BY 1, 2, 3, 4, 8
"""


class Fickle(TokenHashingEmbedder):
    """Embedder that is down at times, never embeds some texts, and counts its work."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.down = False
        self.poison = "poison"
        self.failure: Exception = EmbeddingError("the embedding server is down")
        self.asked = 0
        self.counted: Counter[str] = Counter()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors, or raise EmbeddingError."""
        self._meet(texts)
        return super().embed(texts)

    def read(self, passages: Sequence[Passage]) -> list[Reading]:
        """Return vectors and tokens, or raise EmbeddingError."""
        self._meet([passage.text for passage in passages])
        return super().read(passages)

    def _meet(self, texts: Sequence[str]) -> None:
        self.asked += 1
        if self.down:
            raise self.failure
        if any(self.poison in text for text in texts):
            raise EmbeddingError("the embedding server refuses a text")
        self.counted.update(texts)


def say(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]


def add(memory: MemSense, text: str, **options: Any) -> Any:
    given: dict[str, Any] = {"user_id": "ada", "session_id": "one", **options}
    return memory.add(say(text), **given)


def write_log(path: Path, *, poisoned: Sequence[int] = ()) -> Path:
    lines = [
        {
            "session_id": f"s{number % 3}",
            "id": f"{role} {number}",
            "role": role,
            "content": f"{role} has cup {number} of tea"
            + (" poison" if number in poisoned and role == "user" else ""),
            "timestamp": f"2026-03-01T10:{number:02}:00Z",
        }
        for number in range(20)
        for role in ("user", "assistant")
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def fetch(url: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(cast("Any", statement), values)
        return cursor.fetchall() if cursor.description else []


def make_due(url: str) -> None:
    fetch(url, "UPDATE memsense.jobs SET run_at = now() WHERE dead_at IS NULL")


# Storing without vectors -------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["now", "later"])
@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_chunks_without_vectors_are_found_by_words_and_say_so(
    open_memory: OpenMemory, when: EmbedWhen, mode: IngestMode
) -> None:
    embedder = Fickle()
    embedder.down = True
    memory = open_memory(embedder=embedder)
    added = add(memory, "I moved to Lisbon.", embed=when, mode=mode)
    assert [chunk.granularity for chunk in added] == ["session" if mode == "session" else "turn"]
    assert added.deferred == 1
    because = "server is down" if when == "now" else "made later"
    assert len(added.notes) == 1
    assert because in added.notes[0]
    assert "memsense worker" in added.notes[0]
    assert embedder.asked == (when == "now")
    embedder.down = False
    found = memory.search("Where is Lisbon?", user_id="ada")
    assert [hit.chunk_id for hit in found] == [added[0].chunk_id]
    assert any("wait for their vectors" in note for note in found.notes)
    assert [job.chunk_id for job in memory.jobs.list()] == [added[0].chunk_id]
    assert memory.jobs.run().done == 1
    found = memory.search("Where is Lisbon?", user_id="ada")
    assert "vec_full" in {route.route for route in found[0].explain.routes}
    assert not any("wait for" in note for note in found.notes)
    assert memory.jobs.list() == []


class ReadTimeout(Exception):  # noqa: N818 (as libraries of HTTP call theirs)
    """Error of a library, unknown to memsense."""


FAILURES = (RuntimeError("out of memory"), OSError(113, "No route to host"), ReadTimeout())


@pytest.mark.parametrize("failure", FAILURES, ids=repr)
def test_any_error_of_an_embedder_defers_a_write_and_is_reported(
    open_memory: OpenMemory, failure: Exception
) -> None:
    embedder = Fickle()
    embedder.down, embedder.failure = True, failure
    memory = open_memory(embedder=embedder)
    added = add(memory, "I moved to Lisbon.")
    assert added.deferred == 1
    assert f"the embedder failed: {type(failure).__name__}" in added.notes[0]
    assert str(failure) in added.notes[0]
    assert memory.jobs.run().stopped_by is not None
    assert [job.attempts for job in memory.jobs.list()] == [0]
    embedder.down = False
    assert memory.jobs.run().done == 1


@pytest.mark.parametrize("failure", FAILURES, ids=repr)
def test_strict_raises_any_embedder_error_as_embedding_error(
    open_memory: OpenMemory, database_url: str, failure: Exception
) -> None:
    embedder = Fickle()
    embedder.down, embedder.failure = True, failure
    memory = open_memory(embedder=embedder)
    with pytest.raises(EmbeddingError, match=type(failure).__name__) as raised:
        add(memory, "I moved to Lisbon.", embed="strict")
    assert raised.value.__cause__ is failure
    assert fetch(database_url, "SELECT count(*) FROM memsense.chunks") == [(0,)]


def test_an_embedders_error_for_one_text_affects_only_that_text(
    open_memory: OpenMemory,
) -> None:
    class Refusing(Fickle):
        def _meet(self, texts: Sequence[str]) -> None:
            if any(self.poison in text for text in texts):
                raise ValueError("the text is too odd")
            super()._meet(texts)

    memory = open_memory(embedder=Refusing())
    poisoned = add(memory, "poison", embed="later")
    add(memory, "I drink tea.", embed="later")
    done = memory.jobs.run()
    assert (done.done, done.failed) == (1, 1)
    [job] = memory.jobs.list()
    assert job.chunk_id == poisoned[0].chunk_id
    assert "ValueError: the text is too odd" in str(job.last_error)


def test_strict_raises_and_stores_nothing(open_memory: OpenMemory, database_url: str) -> None:
    embedder = Fickle()
    embedder.down = True
    memory = open_memory(embedder=embedder)
    with pytest.raises(EmbeddingError, match="down"):
        add(memory, "I moved to Lisbon.", embed="strict")
    strict = open_memory(embedder=embedder, settings=Settings(embed="strict"))
    with pytest.raises(EmbeddingError, match="down"):
        add(strict, "I moved to Lisbon.")
    assert fetch(database_url, "SELECT chunk_id FROM memsense.chunks") == []
    assert fetch(database_url, "SELECT job_id FROM memsense.jobs") == []


def test_an_embedder_that_works_leaves_nothing_for_later(memory: MemSense) -> None:
    added = add(memory, "I moved to Lisbon.")
    assert (added.notes, added.deferred, memory.jobs.list()) == ([], 0, [])


class Remote(Fickle):
    """Embedder that reports its dimension only while it is up."""

    @property
    def dimension(self) -> int:
        """Return the dimension, which a server reports."""
        if self.down:
            raise self.failure
        return 48

    @dimension.setter
    def dimension(self, value: int) -> None:
        pass


@pytest.mark.parametrize("embed", ["now", "later"])
def test_the_first_write_needs_no_dimension(
    open_memory: OpenMemory, database_url: str, embed: EmbedWhen
) -> None:
    embedder = Remote()
    embedder.down = True
    memory = open_memory(embedder=embedder)
    assert add(memory, "I moved to Lisbon.", embed=embed).deferred == 1
    assert add(memory, "I moved to Porto.", embed=embed).deferred == 1
    assert memory.jobs.run().stopped_by == "the embedding server is down"
    memory.settings.set(embedder_failure="lexical")
    assert "Lisbon" in memory.search("Lisbon", user_id="ada")[0].content
    embedder.down = False
    assert memory.jobs.run().done == 2
    assert memory.search("Lisbon", user_id="ada").notes == []
    assert fetch(database_url, "SELECT name, dimension FROM memsense.models") == [("hashing", 48)]


def test_jobs_of_another_model_wait_for_its_worker(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=Fickle())
    add(memory, "I moved to Lisbon.")
    add(memory, "I moved to Porto.", embed="later")
    other = open_memory(embedder=HashingEmbedder(model="other"))
    with pytest.raises(ModelMismatchError):
        add(other, "I moved to Rome.", embed="later")
    done = other.jobs.run()
    assert (done.done, done.failed) == (0, 0)
    assert "holds vectors of hashing" in str(done.stopped_by)
    assert memory.jobs.run().done == 1


# An embedder that is down for a whole ingest -----------------------------------------------------


def test_an_outage_stops_no_ingest_and_everything_is_embedded_once_afterwards(
    open_memory: OpenMemory, database_url: str, tmp_path: Path
) -> None:
    log = write_log(tmp_path / "log.jsonl")
    open_memory(embedder=TokenHashingEmbedder()).ingest(log, user_id="whole", mode="turn")
    embedder = Fickle()
    embedder.down = True
    memory = open_memory(embedder=embedder)
    report = memory.ingest(log, user_id="ada", mode="turn")
    assert (report.stored, report.deferred, report.failed) == (20, 20, [])
    assert "down" in str(report.deferred_because)
    assert memory.ingest(log, user_id="ada", mode="turn").repeated == 20
    memory.settings.set(embedder_failure="lexical")
    for number in range(20):
        [hit, *_] = memory.search(f"cup {number}", user_id="ada")
        assert f"cup {number} " in hit.chunk.user_text
    done = memory.jobs.run()
    assert (done.done, done.failed, done.stopped_by) == (0, 0, "the embedding server is down")
    assert {job.attempts for job in memory.jobs.list()} == {0}
    assert {job.last_error for job in memory.jobs.list()} == {"the embedding server is down"}
    embedder.down = False
    assert memory.jobs.run().done == 20
    assert memory.jobs.count().waiting == 0
    assert {text: n for text, n in embedder.counted.items() if n != 1 and text != PROBE} == {}
    assert fetch(database_url, CONTENTS, "ada") == fetch(database_url, CONTENTS, "whole")
    with psycopg.connect(database_url) as connection:
        assert_counted(connection)


def test_a_poisoned_text_ends_dead_and_named_and_the_rest_is_done(
    open_memory: OpenMemory, database_url: str, tmp_path: Path
) -> None:
    embedder = Fickle()
    memory = open_memory(
        embedder=embedder, settings=Settings(database_url=database_url, job_attempts=3)
    )
    report = memory.ingest(
        write_log(tmp_path / "log.jsonl", poisoned=[4, 11]), user_id="ada", mode="turn"
    )
    assert (report.stored, report.deferred) == (20, 20)
    done = memory.jobs.run()
    assert (done.done, done.failed, done.dead, done.stopped_by) == (18, 2, 0, None)
    for _ in range(2):
        make_due(database_url)
        done = memory.jobs.run()
    assert (done.done, done.failed, done.dead) == (0, 2, 2)
    dead = memory.jobs.list("dead")
    named = sorted(memory.get(job.chunk_id or 0).user_text for job in dead)
    assert named == ["user has cup 11 of tea poison", "user has cup 4 of tea poison"]
    for job in dead:
        assert (job.user_id, job.attempts, len(job.errors)) == ("ada", 3, 3)
        assert {error["error"] for error in job.errors} == {"the embedding server refuses a text"}
    assert {text: n for text, n in embedder.counted.items() if n != 1 and text != PROBE} == {}
    assert memory.search("cup 4", user_id="ada")
    assert memory.jobs.run().done == 0
    embedder.poison = "harmless now"
    assert memory.jobs.retry() == sorted(job.job_id for job in dead)
    assert memory.jobs.run().done == 2
    assert fetch(database_url, "SELECT count(*) FROM memsense.pending_embeddings") == [(0,)]


def test_a_failing_job_waits_longer_each_time(open_memory: OpenMemory, database_url: str) -> None:
    memory = open_memory(embedder=Fickle())
    add(memory, "poison")
    for attempt in range(1, 8):
        memory.jobs.run()
        [(waits,)] = fetch(
            database_url,
            "SELECT extract(epoch FROM run_at - (errors -> -1 ->> 'at')::timestamptz)"
            " FROM memsense.jobs",
        )
        assert 2**attempt / 2 <= float(waits) <= 2**attempt
        assert memory.jobs.run().failed == 0
        make_due(database_url)


def test_the_wait_is_capped_and_spread() -> None:
    waits = [backoff(40) for _ in range(100)]
    assert all(150 <= wait <= 300 for wait in waits)
    assert len(set(waits)) > 1


# What changes while it waits ---------------------------------------------------------------------


def test_forgotten_chunks_are_not_embedded(open_memory: OpenMemory, database_url: str) -> None:
    embedder = Fickle()
    memory = open_memory(embedder=embedder)
    [chunk] = add(memory, "My code is 4711.", embed="later")
    add(memory, "I drink tea.", embed="later")
    memory.forget(chunk.chunk_id)
    memory.jobs.run()
    assert not [text for text in embedder.counted if "4711" in text]
    memory.restore(chunk.chunk_id)
    memory.jobs.run()
    assert fetch(database_url, "SELECT count(*) FROM memsense.pending_embeddings") == [(0,)]


def test_a_chunk_edited_before_its_job_is_embedded_with_the_new_text(
    open_memory: OpenMemory, database_url: str, tmp_path: Path
) -> None:
    log = write_log(tmp_path / "log.jsonl")
    memory = open_memory(embedder=Fickle())
    memory.ingest(log, user_id="ada", embed="later", mode="turn")
    log.write_text(log.read_text().replace("user has cup 7 of tea", "user has cup 7 of mate"))
    assert memory.ingest(log, user_id="ada", embed="later", mode="turn").replaced == 1
    open_memory(embedder=TokenHashingEmbedder()).ingest(log, user_id="whole", mode="turn")
    assert memory.jobs.run().done == 20
    assert fetch(database_url, CONTENTS, "ada") == fetch(database_url, CONTENTS, "whole")


def test_a_chunk_that_is_edited_while_it_is_embedded_gets_the_vectors_of_its_new_text(
    open_memory: OpenMemory, database_url: str, tmp_path: Path
) -> None:
    log = write_log(tmp_path / "log.jsonl")
    other = open_memory(embedder=TokenHashingEmbedder())

    class Slow(Fickle):
        def _meet(self, texts: Sequence[str]) -> None:
            super()._meet(texts)
            if "of tea" in log.read_text():
                log.write_text(log.read_text().replace("of tea", "of mate"))
                other.ingest(log, user_id="ada", mode="turn", embed="later")

    memory = open_memory(embedder=Slow())
    memory.ingest(log, user_id="ada", embed="later", mode="turn")
    memory.jobs.run()
    assert memory.jobs.list() == []
    other.ingest(log, user_id="whole", mode="turn")
    assert fetch(database_url, CONTENTS, "ada") == fetch(database_url, CONTENTS, "whole")


# Leases ------------------------------------------------------------------------------------------


def test_workers_share_the_jobs_and_none_is_done_twice(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(embedder=Fickle())
    for user in ("ada", "ben", "cas"):
        memory.ingest(write_log(tmp_path / "l.jsonl"), user_id=user, embed="later", mode="turn")
    embedders = [Fickle() for _ in range(4)]
    memories = [open_memory(embedder=embedder) for embedder in embedders]
    with ThreadPoolExecutor(4) as calls:
        done = [calls.submit(item.jobs.run, limit=15) for item in memories]
        assert [item.result(PATIENCE).done for item in done] == [15] * 4
    assert memory.jobs.count().waiting == 0


class Hanging(Fickle):
    """Embedder that makes a worker wait until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.go = threading.Event()

    def _meet(self, texts: Sequence[str]) -> None:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        super()._meet(texts)


def test_a_lease_keeps_others_off_and_is_renewed(
    open_memory: OpenMemory, database_url: str
) -> None:
    embedder = Hanging()
    settings = Settings(database_url=database_url, job_lease=1)
    memory = open_memory(embedder=embedder, settings=settings)
    add(memory, "I drink tea.", embed="later")
    until = "SELECT leased_until FROM memsense.jobs"
    with ThreadPoolExecutor(1) as calls:
        running = calls.submit(memory.jobs.run)
        assert embedder.begun.wait(PATIENCE)
        [job] = memory.jobs.list("running")
        assert job.lease_owner
        first = fetch(database_url, until)
        while fetch(database_url, until) == first:
            assert not running.done()
        assert open_memory(embedder=Fickle()).jobs.run().done == 0
        embedder.go.set()
        assert running.result(PATIENCE).done == 1


def test_a_worker_that_dies_costs_an_attempt_and_finally_the_job(
    open_memory: OpenMemory, database_url: str
) -> None:
    memory = open_memory(
        embedder=Fickle(), settings=Settings(database_url=database_url, job_attempts=2)
    )
    add(memory, "I drink tea.", embed="later")
    lapse = "UPDATE memsense.jobs SET leased_until = now() - interval '1 s', lease_owner = 'host:1'"
    fetch(database_url, lapse)
    fetch(database_url, "UPDATE memsense.jobs SET attempts = 1")
    done = memory.jobs.run()
    assert (done.done, done.failed, done.dead) == (0, 1, 1)
    [job] = memory.jobs.list("dead")
    assert job.last_error == "host:1 ended without a word"
    assert [error["error"] for error in job.errors] == ["host:1 ended without a word"]
    assert memory.jobs.retry([job.job_id]) == [job.job_id]
    fetch(database_url, lapse)
    assert memory.jobs.run().done == 1


def test_an_interrupted_worker_gives_its_leases_back(
    open_memory: OpenMemory, database_url: str
) -> None:
    class Interrupted(Fickle):
        def _meet(self, texts: Sequence[str]) -> None:  # noqa: ARG002
            raise KeyboardInterrupt

    memory = open_memory(embedder=Interrupted())
    add(memory, "I drink tea.", embed="later")
    with pytest.raises(KeyboardInterrupt):
        Worker(memory._context).run()  # pyright: ignore[reportPrivateUsage]
    assert fetch(database_url, "SELECT leased_until, attempts FROM memsense.jobs") == [(None, 0)]


# A worker in the background ----------------------------------------------------------------------


def test_an_open_memory_runs_jobs_in_the_background_if_enabled(
    open_memory: OpenMemory, database_url: str
) -> None:
    embedder = Fickle()
    settings = Settings(database_url=database_url, worker="on")
    memory = open_memory(embedder=embedder, settings=settings)
    add(memory, "I drink tea.", embed="later")
    deadline = threading.Event()
    for _ in range(PATIENCE * 20):
        if not memory.jobs.list():
            break
        deadline.wait(0.05)
    assert memory.jobs.list() == []
    assert memory.search("tea", user_id="ada").notes == []


def test_over_an_external_server_no_worker_starts_without_a_request(memory: MemSense) -> None:
    add(memory, "I drink tea.", embed="later")
    memory.search("tea", user_id="ada")
    assert "memsense-worker" not in {thread.name for thread in threading.enumerate()}


# Indexing ---------------------------------------------------------------------------------------


def indexed(url: str) -> list[tuple[Any, ...]]:
    return fetch(
        url,
        "SELECT s.user_id, s.indexed, (SELECT count(*) > 0 FROM pg_indexes WHERE indexname LIKE"
        r" 'embeddings\_full\_settled\_model\_%%\_scope\_' || s.scope_id)"
        " FROM memsense.scopes AS s ORDER BY s.user_id",
    )


def test_a_worker_builds_and_drops_indexes_if_the_setting_allows_it(
    open_memory: OpenMemory, database_url: str
) -> None:
    settings = Settings(database_url=database_url, index_threshold=6, auto_index=True)
    memory = open_memory(settings=settings)
    for number in range(6):
        add(memory, f"I have cup {number} of tea.")
    add(memory, "I drink coffee.", user_id="bo")
    before = [hit.content for hit in memory.search("which tea?", user_id="ada")]
    assert memory.jobs.run().done == 1
    assert indexed(database_url) == [("ada", True, True), ("bo", False, False)]
    assert [hit.content for hit in memory.search("which tea?", user_id="ada")] == before
    assert memory.jobs.run().done == 0
    for chunk in memory.recent(user_id="ada")[:4]:
        memory.forget(chunk.chunk_id)
    assert memory.jobs.run().done == 1
    assert indexed(database_url) == [("ada", False, False), ("bo", False, False)]


def test_no_index_is_built_without_a_request(open_memory: OpenMemory, database_url: str) -> None:
    settings = Settings(database_url=database_url, index_threshold=1)
    memory = open_memory(settings=settings)
    add(memory, "I have tea.")
    assert memory.jobs.run().done == 0
    assert indexed(database_url) == [("ada", False, False)]


def test_indexing_waits_for_another_without_blame(
    open_memory: OpenMemory, database_url: str
) -> None:
    settings = Settings(database_url=database_url, index_threshold=1, auto_index=True)
    memory = open_memory(settings=settings)
    add(memory, "I have tea.")
    with psycopg.connect(database_url) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtext('memsense indexing'))")
        assert "another optimisation" in (memory.jobs.run().stopped_by or "")
    [job] = memory.jobs.list(kind="index")
    assert (job.attempts, job.user_id, job.status) == (0, "ada", "waiting")
    assert memory.jobs.run().done == 1


@pytest.mark.one_server("tests/cluster/test_roles.py has the roles of a cluster")
def test_indexing_without_the_permission_leaves_the_job_with_the_reason(
    open_memory: OpenMemory, database_url: str
) -> None:
    owned = open_memory()
    add(owned, "I have tea.")
    parts = urlsplit(database_url)
    place = f"memsense_app@{parts.netloc.rpartition('@')[2]}"
    app_url = urlunsplit(parts._replace(netloc=place))
    settings = Settings(database_url=app_url, index_threshold=1, auto_index=True)
    with MemSense.open(settings=settings, embedder=HashingEmbedder()) as memory:
        assert memory.jobs.run().failed == 1
        [job] = memory.jobs.list(kind="index")
        assert "only the owner of a table" in (job.last_error or "")
        assert memory.search("tea", user_id="ada")
    settings = Settings(database_url=database_url, index_threshold=1, auto_index=True)
    owner = open_memory(settings=settings)
    owner.jobs.retry([job.job_id])
    assert owner.jobs.run().done == 1
    assert indexed(database_url) == [("ada", True, True)]


# Looking at jobs ---------------------------------------------------------------------------------


def test_jobs_are_listed_retried_and_dropped(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=Fickle())
    assert memory.jobs.list() == []
    assert memory.jobs.count().waiting == 0
    assert memory.jobs.run().done == 0
    first, second = (
        add(memory, text, embed="later")[0].chunk_id for text in ("I drink tea.", "poison")
    )
    assert memory.jobs.count().waiting == 2
    assert memory.jobs.run().done == 1
    [job] = memory.jobs.list("waiting", kind="embed")
    assert isinstance(job, Job)
    assert (job.chunk_id, job.session_id, job.attempts) == (second, "one", 1)
    assert first != second
    assert memory.jobs.retry([job.job_id]) == [job.job_id]
    assert memory.jobs.run().failed == 1
    assert memory.jobs.drop() == []
    with pytest.raises(NotFoundError, match="no job 999"):
        memory.jobs.drop([job.job_id, 999])
    assert memory.jobs.drop([job.job_id]) == [job.job_id]
    assert memory.jobs.list() == []
    assert memory.get(second).status == "active"


def test_jobs_of_another_namespace_are_not_seen(open_memory: OpenMemory) -> None:
    memory, other = open_memory(embedder=Fickle()), open_memory(namespace="other")
    add(memory, "I drink tea.", embed="later")
    add(other, "I drink mate.", embed="later")
    [job] = memory.jobs.list()
    for call in (other.jobs.retry, other.jobs.drop):
        with pytest.raises(NotFoundError):
            call([job.job_id])
    assert other.jobs.run().done == 1
    assert memory.jobs.count().waiting == 1
