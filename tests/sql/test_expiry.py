"""Expiry: from that moment on no read returns the memory, and a job erases it."""

import json
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest
from counting import assert_counted
from dumping import find_words
from embedders import TokenHashingEmbedder
from wire import counting_wire

from memsense import MemSense
from memsense.config import load_settings
from memsense.errors import ConfigurationError, InvalidInputError, NotFoundError
from memsense.search.profiles import PROFILES, ROUTES
from memsense.types import Chunk, IngestMode

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)

SECRET = "Xylophoneword"

EVERY_ROUTE = PROFILES["balanced"].override(**dict.fromkeys(ROUTES, 1.0))


@pytest.fixture
def conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def tell(
    memory: MemSense,
    text: str,
    number: int,
    *,
    mode: IngestMode = "hybrid",
    session_id: str = "s",
    **options: Any,
) -> Chunk:
    at = MAY + timedelta(minutes=number)
    said = [
        {"role": "user", "content": text, "id": f"m{session_id}{number}", "at": at},
        {"role": "assistant", "content": f"so it is, number {number}", "at": at},
    ]
    return memory.add(said, user_id="ada", session_id=session_id, mode=mode, **options)[0]


def tell_all(memory: MemSense, **options: Any) -> list[Chunk]:
    """Add three exchanges about tea; the middle one contains a secret and expires."""
    first = tell(memory, "I drink tea in Lisbon.", 0, **options)
    secret = tell(
        memory,
        f"I prefer {SECRET} tea from Quentinella.",
        1,
        ttl="1h",
        tags=["Krakatoatag"],
        facets={"events": f"met {SECRET}", "personal_info": f"of {SECRET}"},
        **options,
    )
    last = tell(memory, "I drink tea at five.", 2, **options)
    return [first, secret, last]


def let_expire(conn: psycopg.Connection[Any], chunk_id: int | None = None) -> None:
    """Let an hour pass for memories that expire."""
    conn.execute(
        "UPDATE memsense.chunks SET expires_at = now() - interval '1 second'"
        " WHERE expires_at IS NOT NULL AND coalesce(chunk_id = %s, true)",
        [chunk_id],
    )
    conn.execute("UPDATE memsense.jobs SET run_at = now() WHERE kind = 'expire'")


def shown(memory: MemSense, path: Path) -> str:
    """Return the results of every read of ada's memory as one text."""
    said: list[Any] = []
    questions = (SECRET, "tea", "Quentinella Krakatoatag", "Lisbon five")
    for question in questions:
        for granularity in ("turn", "session"):
            for profile in ("balanced", "memsense", EVERY_ROUTE):
                whose: dict[str, Any] = {"user_id": "ada", "profile": profile}
                found = memory.search(question, granularity=granularity, **whose)
                said += [hit.as_dict() for hit in found]
                said.append(memory.search(question, since=MAY, **whose).to_prompt())
    said += memory.search("tea", all_users=True, tags=["Krakatoatag"])
    for granularity in ("turn", "session"):
        said += memory.recent(user_id="ada", granularity=granularity)
        said += memory.list(user_id="ada", granularity=granularity, order="oldest")
    said += memory.sessions(user_id="ada")
    for chunk_id in range(1, 12):
        try:
            said += [memory.get(chunk_id), memory.versions(chunk_id)]
        except NotFoundError:
            continue
    memory.export_to(path / "out.jsonl", all_users=True)
    said.append((path / "out.jsonl").read_text(encoding="utf-8"))
    said += memory.entities.list(user_id="ada")
    if memory.entities.list(user_id="ada"):
        said.append(memory.entities.get(memory.entities.list(user_id="ada")[0].name, user_id="ada"))
    return repr(said)


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_no_read_shows_expired_chunks_before_they_are_swept(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], tmp_path: Path, mode: IngestMode
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    memory.settings.set(history="on")
    chunks = tell_all(memory, mode=mode)
    memory.indexes.make_sessions()
    before = shown(memory, tmp_path)
    assert SECRET in before
    assert "Quentinella" in before
    let_expire(conn)
    after = shown(memory, tmp_path)
    assert [word for word in (SECRET, "Quentinella", "Krakatoatag") if word in after] == []
    assert SECRET in repr(find_words(conn, SECRET))  # it is there still
    assert "Lisbon" in after
    secret = chunks[1]
    gone = memory.get(secret.chunk_id)
    assert gone.expires_at is not None
    assert gone.expires_at < datetime.now(UTC)
    assert (gone.user_text, gone.tags, gone.preferences) == ("", (), None)
    if mode != "session":
        verdict = memory.why_not(f"{SECRET} tea", secret.chunk_id, user_id="ada")
        assert verdict.step == "expired"
        assert f"expired at {gone.expires_at:%Y-%m-%dT%H:%M}" in verdict.text
        assert all(SECRET not in memory.get(chunk.chunk_id).context for chunk in chunks)
    [stats] = memory.stats(user_id="ada")
    assert (stats.expiring, stats.expired) == (0, 1)


def test_expiry_between_two_searches_makes_only_the_next_one_look_again(
    database_url: str, conn: psycopg.Connection[Any]
) -> None:
    embedder = TokenHashingEmbedder()
    with (
        counting_wire(database_url) as (url, wire),
        MemSense.open(url, embedder=embedder) as memory,
    ):
        tell_all(memory)

        def ask() -> tuple[int, bool]:
            before = wire.counts
            found = memory.search(f"{SECRET} tea", user_id="ada")
            statements = wire.counts.since(before)["statements"]
            return statements, SECRET in repr([hit.as_dict() for hit in found])

        ask()
        assert ask() == (4, True)
        let_expire(conn)
        assert [ask() for _ in range(3)] == [(6, False), (4, False), (4, False)]
        assert memory.ttl.sweep().chunks > 0
        assert [ask() for _ in range(2)][1] == (4, False)


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_a_sweep_leaves_the_store_as_if_the_expired_text_had_never_been_added(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], mode: IngestMode
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    memory.settings.set(history="on")
    tell_all(memory, mode=mode)
    memory.indexes.make_sessions()
    memory.search(SECRET, user_id="ada", trace=True)
    assert memory.ttl.sweep().chunks == 0
    let_expire(conn)
    done = memory.ttl.sweep()
    assert (done.chunks > 0, done.memories, done.forgotten) == (True, 1, False)
    assert find_words(conn, SECRET, "Quentinella", "Krakatoatag") == set()
    assert_counted(conn) if mode != "session" else None
    [receipt] = memory.erasures.list(about="ada")
    assert (receipt.kind, receipt.erased_by) == ("expired", "ttl")
    assert receipt.counts["chunks"] == done.chunks
    assert "ingested_messages" not in receipt.counts
    assert len(memory.search("tea", user_id="ada")) == (1 if mode == "session" else 2)
    assert memory.ttl.sweep().chunks == 0
    if mode == "hybrid":
        [session] = memory.recent(user_id="ada", granularity="session")
        assert "Lisbon" in session.session_text
        assert "five" in session.session_text


def test_a_worker_sweeps_when_it_is_time_and_the_job_comes_again(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    first = tell(memory, "soon gone", 0, ttl="1h")
    second = tell(memory, "later gone", 1, ttl=timedelta(days=1))
    tell(memory, "here to stay", 2)
    [job] = memory.jobs.list(kind="expire")
    assert (job.run_at, job.status, job.user_id) == (first.expires_at, "waiting", "ada")
    counts = memory.jobs.count()
    assert (counts.waiting, counts.scheduled, counts.oldest_at) == (0, 1, None)
    assert memory.jobs.run().done == 0
    let_expire(conn, first.chunk_id)
    assert memory.jobs.count().waiting == 1
    assert memory.jobs.run().done == 1
    assert [chunk.user_text for chunk in memory.recent(user_id="ada")] == [
        "here to stay",
        "later gone",
    ]
    [job] = memory.jobs.list(kind="expire")
    assert job.run_at == second.expires_at
    let_expire(conn)
    assert memory.jobs.run().done == 1
    assert memory.jobs.list() == []
    assert find_words(conn, "soon gone", "later gone") == set()


def test_a_setting_forgets_expired_chunks_which_can_be_restored(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    memory.settings.set(on_expiry="forget")
    chunks = tell_all(memory)
    let_expire(conn)
    assert memory.ttl.sweep().forgotten
    assert memory.get(chunks[1].chunk_id).status == "deleted"
    assert memory.history(chunks[1].chunk_id)[-1].detail == {"reason": "expired"}
    assert memory.erasures.list() == []
    assert memory.ttl.sweep().chunks == 0
    assert memory.restore(chunks[1].chunk_id) == [chunks[1].chunk_id]
    assert SECRET in memory.get(chunks[1].chunk_id).user_text
    assert_counted(conn)


def test_a_call_wins_over_a_tag_and_a_tag_over_the_namespace(memory: MemSense) -> None:
    memory.ttl.set("30d")
    memory.ttl.set("1d", tag="scratch")
    memory.ttl.set("2h", tag="now")

    def kept(number: int, **options: Any) -> float | None:
        chunk = tell(memory, f"memory {number}", number, **options)
        if chunk.expires_at is None:
            return None
        return round((chunk.expires_at - datetime.now(UTC)) / timedelta(hours=1), 1)

    assert kept(0) == 720
    assert kept(1, tags=["scratch", "other"]) == 24
    assert kept(2, tags=["scratch", "now"]) == 2
    assert kept(3, tags=["now"], ttl="4w") == 672
    assert kept(4, tags=["now"], ttl="never") is None
    end = datetime(2099, 1, 1, 9, tzinfo=UTC)
    assert tell(memory, "far", 5, expires_at="2099-01-01T10:00+01:00").expires_at == end
    chunk = tell(memory, "changing", 6, ttl="never")
    assert memory.update(chunk.chunk_id, content={"user": "changed"}).expires_at is None
    tagged = memory.update(chunk.chunk_id, tags=["now"])
    assert tagged.expires_at is not None
    assert memory.update(chunk.chunk_id, ttl="never").expires_at is None
    assert memory.update(chunk.chunk_id, expires_at=end).expires_at == end
    assert memory.update(chunk.chunk_id, content={"user": "again"}).expires_at == end
    rules = [(rule.tag, rule.ttl) for rule in memory.ttl.list()]
    assert rules == [
        (None, timedelta(days=30)),
        ("now", timedelta(hours=2)),
        ("scratch", timedelta(days=1)),
    ]
    memory.settings.reset()
    memory.ttl.unset(tag="now")
    memory.ttl.unset()
    assert [rule.tag for rule in memory.ttl.list()] == ["scratch"]
    assert tell(memory, "kept", 7).expires_at is None
    changes = [change.name for change in memory.settings.history()]
    assert changes == ["ttl"] * 5


@pytest.mark.parametrize("hours", [-2, 2])
def test_memories_expire_by_the_clock_of_the_server_whatever_the_client_has(
    memory: MemSense,
    conn: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
    hours: int,
) -> None:
    class WrongClock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(hours=hours)

    memory.ttl.set("1h", tag="tea")
    for module in ("draft.expiry", "draft.drafting", "store.scopes", "store.updating"):
        monkeypatch.setattr(f"memsense.{module}.datetime", WrongClock)
    tell(memory, "I moved to Lisbon.", 1, ttl="1h")
    tell(memory, "I drink tea at five.", 2, tags=["tea"])
    memory.update(tell(memory, "Where is the harbour?", 3).chunk_id, ttl="1h")
    memory.add("And the garden?", user_id="ada", session_id="t", ttl="2h")
    answer = [{"role": "assistant", "content": "Behind the house."}]
    [completed] = memory.add(answer, user_id="ada", session_id="t", ttl="1h")
    assert completed.user_text == "And the garden?"
    assert len(memory.recent(user_id="ada")) == 4
    left = "SELECT extract(epoch FROM expires_at - now()) FROM memsense.chunks"
    seconds = [row[0] for row in conn.execute(left + " WHERE granularity = 'turn'")]
    assert len(seconds) == 4
    assert all(3000 < number <= 3600 for number in seconds)


def test_a_rule_applies_to_stored_memories_only_on_request(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    ids = [tell(memory, f"old {number}", number, tags=["log"]).chunk_id for number in range(3)]
    other = tell(memory, "other", 3)
    soon = tell(memory, "soon", 4, tags=["log"], ttl="1h")
    conn.execute(
        "UPDATE memsense.chunks SET recorded_at = now() - interval '40 days'"
        " WHERE chunk_id = ANY (%s)",
        [ids[:2]],
    )
    memory.ttl.set("30d", tag="log")
    assert memory.stats()[0].expired == 0
    assert memory.ttl.set("30d", tag="log", existing=True) == 3
    [stats] = memory.stats()
    assert (stats.expired, stats.expiring) == (2, 2)
    assert memory.get(soon.chunk_id).expires_at == soon.expires_at
    assert memory.get(other.chunk_id).expires_at is None
    assert memory.jobs.run().done == 1
    left = {chunk.user_text for chunk in memory.recent(user_id="ada")}
    assert left == {"old 2", "other", "soon"}


def test_expired_memories_of_a_log_do_not_return_with_the_log(
    memory: MemSense, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"

    def ingest(*texts: str) -> int:
        lines = [
            {"session_id": "s", "id": f"{role}{number}", "role": role, "content": said}
            for number, text in enumerate(texts)
            for role, said in (("user", text), ("assistant", f"noted {number}"))
        ]
        log.write_text("\n".join(map(json.dumps, lines)))
        return memory.ingest(log, user_id="ada").stored

    memory.ttl.set("1h")
    assert ingest("one", SECRET) == 2
    memory.ttl.unset()
    for sweep in (False, True):
        let_expire(conn)
        assert memory.ttl.sweep().chunks == 2 if sweep else True
        assert ingest("one", SECRET) == 0
        assert memory.recent(user_id="ada") == []
    assert ingest("one", SECRET, "three") == 1
    assert ingest("one", SECRET, "three") == 0
    assert [chunk.user_text for chunk in memory.recent(user_id="ada")] == ["three"]
    for _ in range(2):
        ingest("one", f"{SECRET} edited", "three")
    assert {chunk.user_text for chunk in memory.recent(user_id="ada")} == {
        "three",
        f"{SECRET} edited",
    }


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
@pytest.mark.parametrize("sweep", [False, True])
def test_an_expired_exchange_that_is_said_again_is_stored_again(
    memory: MemSense, conn: psycopg.Connection[Any], mode: IngestMode, sweep: bool
) -> None:
    first = tell(memory, "say it again", 0, mode=mode, ttl="1h")
    assert tell(memory, "say it again", 0, mode=mode).chunk_id == first.chunk_id
    let_expire(conn)
    if sweep:
        memory.ttl.sweep()
    again = tell(memory, "say it again", 0, mode=mode)
    assert again.chunk_id != first.chunk_id
    assert again.expires_at is None
    memory.ttl.sweep()
    assert [hit.chunk_id for hit in memory.search("say it again", user_id="ada")] == [
        again.chunk_id
    ]
    assert tell(memory, "say it again", 0, mode=mode).chunk_id == again.chunk_id


def test_expiring_and_lasting_exchanges_never_share_a_session_chunk(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    tell_all(memory, mode="session")
    tell(memory, "and a biscuit", 3, mode="session")
    texts = [
        chunk.session_text.count("so it is")
        for chunk in memory.recent(user_id="ada", granularity="session")
    ]
    assert sorted(texts) == [1, 1, 2]
    let_expire(conn)
    tell(memory, f"{SECRET} again", 4, mode="session", ttl="1h")
    memory.ttl.sweep()
    [*_, newest] = sorted(
        memory.recent(user_id="ada", granularity="session"), key=lambda it: it.ordinal
    )
    assert newest.expires_at is not None
    assert f"{SECRET} again" in newest.session_text


def test_an_export_keeps_when_things_expire_and_an_import_brings_nothing_that_has(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    memory, other = open_memory(), open_memory(namespace="elsewhere")
    chunks = tell_all(memory)
    memory.indexes.make_sessions()
    path = tmp_path / "out.jsonl"
    memory.export_to(path, user_id="ada")
    other.import_from(path)
    there = other.search(SECRET, user_id="ada")[0].chunk
    assert there.expires_at == chunks[1].expires_at
    assert [job.run_at for job in other.jobs.list(kind="expire")] == [chunks[1].expires_at]
    past = chunks[1].expires_at.isoformat() if chunks[1].expires_at else ""
    old = path.read_text().replace(past, (datetime.now(UTC) - timedelta(hours=1)).isoformat())
    path.write_text(old)
    third = open_memory(namespace="third")
    third.import_from(path)
    third.indexes.make_sessions()
    hits = third.search(f"{SECRET} tea", user_id="ada", granularity="session")
    assert hits
    assert SECRET not in repr([hit.as_dict() for hit in hits])
    assert SECRET not in repr(third.recent(user_id="ada", granularity="session"))
    let_expire(conn)
    memory.export_to(path, user_id="ada")
    fourth = open_memory(namespace="fourth")
    fourth.import_from(path)
    fourth.indexes.make_sessions()
    [session] = fourth.recent(user_id="ada", granularity="session")
    assert "Lisbon" in session.session_text
    assert SECRET not in session.session_text


def test_impossible_arguments_are_refused_with_the_reason(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"ttl": "30"}, "ttl must be a timedelta, or a text such as 45s.*or 'never', not '30'"),
        ({"ttl": timedelta(0)}, "ttl must be longer than nothing"),
        ({"ttl": "999999d"}, "at most 100 years"),
        ({"ttl": 3600}, "ttl must be a timedelta"),
        ({"expires_at": "soon"}, "expires_at must be an ISO 8601 time"),
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, "must lie in the future: 2020-01-01"),
        ({"expires_at": "2099-01-01", "ttl": "1d"}, "exclude each other"),
    ]
    chunk = tell(memory, "here", 0)
    for options, words in refused:
        with pytest.raises(InvalidInputError, match=words):
            tell(memory, "there", 1, **options)
        with pytest.raises(InvalidInputError, match=words):
            memory.update(chunk.chunk_id, **options)
    for wrong in ("never", "1y", 5):
        with pytest.raises(InvalidInputError, match="ttl must be a timedelta"):
            memory.ttl.set(wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotFoundError, match="tag 'scratch' has no rule; 'memsense ttl list'"):
        memory.ttl.unset(tag="scratch")
    with pytest.raises(ConfigurationError, match="memsense ttl set"):
        memory.settings.set(ttl=5)
    with pytest.raises(ConfigurationError, match="on_expiry must be erase or forget"):
        memory.settings.set(on_expiry="hide")
    memory.update(chunk.chunk_id, ttl="1h")
    memory.forget(chunk.chunk_id)
    let_expire(conn)
    with pytest.raises(InvalidInputError, match="has expired: it can't be restored"):
        memory.restore(chunk.chunk_id)
    other = tell(memory, "elsewhere", 2, ttl="1h")
    let_expire(conn)
    with pytest.raises(InvalidInputError, match="has expired: add the exchange again"):
        memory.update(other.chunk_id, tags=["x"])


def test_all_parts_of_a_long_exchange_expire_together(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    said = [{"role": "user", "content": f"{SECRET} and many words " * 400, "at": MAY}]
    parts = memory.add(said, user_id="ada", session_id="s")
    assert len(parts) > 2
    memory.update(parts[1].chunk_id, ttl="1h")
    let_expire(conn)
    assert not list(memory.search(SECRET, user_id="ada"))
    assert memory.ttl.sweep().chunks == len(parts)
    assert find_words(conn, SECRET) == set()


def test_a_memory_of_thousands_is_swept_in_batches(
    memory: MemSense, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memsense.store.expiring.BATCH", 7)
    for number in range(20):
        tell(memory, f"trifle {number}", number, mode="turn", session_id=f"s{number % 3}", ttl="1h")
    let_expire(conn)
    assert memory.ttl.sweep().chunks == 20
    assert len(memory.erasures.list()) == 3
    assert_counted(conn)


def test_swept_chunks_are_found_through_no_hnsw_index(
    open_memory: OpenMemory, conn: psycopg.Connection[Any]
) -> None:
    memory = open_memory(settings=load_settings().model_copy(update={"index_threshold": 1}))
    for number in range(30):
        tell(memory, f"trifle {number}", number, mode="turn", session_id=f"s{number % 3}")
    secret = tell(memory, f"a {SECRET} trifle", 40, mode="turn", ttl="1h")
    assert memory.indexes.optimise()
    for since in (None, MAY):
        found = memory.search(f"{SECRET} trifle", user_id="ada", since=since)
        assert found[0].chunk_id == secret.chunk_id
    let_expire(conn)
    for since in (None, MAY):
        found = memory.search(f"{SECRET} trifle", user_id="ada", top_k=40, since=since)
        assert len(found) == 30
        assert secret.chunk_id not in [hit.chunk_id for hit in found]


def test_an_answer_that_comes_later_expires_with_its_question(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    def say(role: str, text: str, **options: Any) -> Chunk:
        said = [{"role": role, "content": text, "at": MAY}]
        return memory.add(said, user_id="ada", session_id="s", **options)[0]

    question = say("user", f"Where is {SECRET}?", ttl="1h")
    whole = say("assistant", "In Faro.", ttl="2h")
    assert (whole.chunk_id, whole.expires_at) == (question.chunk_id, question.expires_at)
    say("user", "And Quentinella?", ttl="1h")
    let_expire(conn)
    alone = say("assistant", "She is well.")
    assert (alone.user_text, alone.expires_at) == ("", None)
    memory.ttl.sweep()
    assert [chunk.chunk_id for chunk in memory.recent(user_id="ada")] == [alone.chunk_id]
