"""Switching to another embedding model and back while searches and writes continue."""

from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder, TokenHashingEmbedder, Vectors

from memsense import MemSense
from memsense.config import Settings, load_settings
from memsense.errors import (
    EmbeddingError,
    InvalidInputError,
    ModelMismatchError,
    NotFoundError,
)
from memsense.store import models

OpenMemory = Callable[..., MemSense]

WORDS = ("lisbon", "cello", "garden", "train", "soup", "novel", "harbour", "violin", "market")
OLD, NEW = TokenHashingEmbedder(48, "old"), TokenHashingEmbedder(32, "new")


def fill(memory: MemSense, sessions: int = 6, user_id: str = "ada") -> None:
    for number in range(sessions):
        messages = [
            {"role": role, "content": f"The {word} and the {WORDS[(i + number) % 9]} {number}."}
            for i, word in enumerate(WORDS)
            for role in ("user", "assistant")
        ]
        mode: Any = ("turn", "hybrid", "session")[number % 3]
        memory.add(
            messages,
            user_id=user_id,
            session_id=f"s{number}",
            mode=mode,
            facets={"preferences": f"likes {WORDS[number]}"},
        )
    memory.indexes.make_sessions()


VECTORS = """
SELECT user_id, session_id, granularity, ordinal, part, route, embedding::text, previous
FROM (
    SELECT s.user_id, c.session_id, c.granularity, c.ordinal, c.part, e.route, e.embedding,
        (SELECT b.ordinal FROM memsense.chunks AS b
         WHERE b.chunk_id = e.previous_chunk_id) AS previous
    FROM memsense.embeddings AS e
    JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)
    JOIN memsense.scopes AS s USING (tenant_id, scope_id)
    JOIN memsense.models AS m USING (model_id)
    WHERE m.name = %(model)s
    UNION ALL
    SELECT s.user_id, c.session_id, c.granularity, c.ordinal, c.part,
        encode(t.pieces || t.signs, 'hex'), NULL, t.user_pieces
    FROM memsense.token_vectors AS t
    JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)
    JOIN memsense.scopes AS s USING (tenant_id, scope_id)
    JOIN memsense.models AS m USING (model_id)
    WHERE m.name = %(model)s
) AS found
ORDER BY 1, 2, 3, 4, 5, 6
"""


def vectors_of(url: str, model: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(VECTORS, {"model": model}).fetchall()


def hits(memory: MemSense, question: str) -> list[tuple[int, float]]:
    return [(hit.chunk_id, hit.score) for hit in memory.search(question, user_id="ada")]


@pytest.fixture
def filled(open_memory: OpenMemory) -> MemSense:
    memory = open_memory(embedder=OLD, other_embedders=[NEW])
    fill(memory)
    return memory


def test_a_model_that_is_added_gets_the_vectors_of_a_fresh_ingest(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    added = filled.models.add(NEW)
    assert (added.name, added.dimension, added.state) == ("new", 32, "ready")
    assert (added.lacking, added.unindexed) == (0, 0)
    fresh = open_memory(embedder=TokenHashingEmbedder(32, "fresh"), namespace="fresh")
    fill(fresh)
    expected = vectors_of(database_url, "fresh")
    assert vectors_of(database_url, "new") == expected
    assert len(expected) > added.vectors > 0
    old = next(item for item in filled.models.status() if item.name == "old")
    assert (old.state, old.vectors) == ("in use", added.vectors)


def test_a_worker_continues_jobs_that_another_left(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    fill(filled, user_id="bob")
    added = filled.models.add(NEW, later=True)
    assert (added.state, added.vectors, added.done_share) == ("adding", 0, 0)
    assert [(job.kind, job.user_id) for job in filled.jobs.list()] == [
        ("fill", "ada"),
        ("fill", "bob"),
    ]
    with pytest.raises(InvalidInputError, match="not ready"):
        filled.models.switch("new")
    filled.jobs.run(limit=40)
    begun = filled.models.status()[1]
    assert 0 < begun.done_share < 1
    assert begun.lacking + begun.vectors == added.lacking
    other = open_memory(embedder=OLD, other_embedders=[NEW])
    assert other.jobs.run().failed == 0
    ready = other.models.status()[1]
    assert (ready.state, ready.vectors, ready.done_share) == ("ready", added.lacking, 1)
    assert other.jobs.list() == []
    fresh = open_memory(embedder=TokenHashingEmbedder(32, "fresh"), namespace="fresh")
    fill(fresh)
    fill(fresh, user_id="bob")
    assert vectors_of(database_url, "new") == vectors_of(database_url, "fresh")
    other.models.switch("new")


def test_new_writes_are_embedded_before_older_chunks(filled: MemSense) -> None:
    filled.models.add(NEW, later=True)
    filled.jobs.run(limit=1)
    filled.add([{"role": "user", "content": "tea"}], user_id="ada", session_id="tea", embed="later")
    filled.jobs.run(limit=2)  # of each model
    assert {job.kind for job in filled.jobs.list()} == {"fill"}


def test_a_text_that_the_added_model_refuses_is_named_and_the_rest_is_made(
    open_memory: OpenMemory,
) -> None:
    class Refusing(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            if any("soup" in text for text in texts):
                raise EmbeddingError("no soup")
            return super().embed(texts)

    refusing = Refusing(32, "new")
    settings = load_settings(job_attempts=1)
    memory = open_memory(embedder=OLD, other_embedders=[refusing], settings=settings)
    memory.add([{"role": "user", "content": "soup"}], user_id="ada", session_id="soup")
    memory.add([{"role": "user", "content": "tea"}], user_id="ada", session_id="tea")
    memory.models.add(refusing, later=True)
    assert memory.jobs.run().dead == 1
    assert [(job.session_id, job.last_error) for job in memory.jobs.list()] == [("soup", "no soup")]
    assert memory.models.status()[1].vectors == 2


def test_dropping_a_model_takes_its_jobs_along(filled: MemSense) -> None:
    filled.models.add(NEW, later=True)
    filled.jobs.run(limit=1)
    filled.models.drop("new")
    assert filled.jobs.list() == []
    assert [item.name for item in filled.models.status()] == ["old"]


def test_writes_after_adding_a_model_have_vectors_of_both(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    filled.models.add(NEW)
    fill(filled, 8)
    edited = filled.search("the cello and the garden", user_id="ada").hits[0].chunk_id
    filled.forget(edited)
    filled.restore(edited)
    fresh = open_memory(embedder=TokenHashingEmbedder(32, "fresh"), namespace="fresh")
    fill(fresh, 8)
    assert vectors_of(database_url, "new") == vectors_of(database_url, "fresh")
    assert all(item.lacking == 0 for item in filled.models.status())


def test_a_process_without_news_of_an_added_model_writes_both(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    other = open_memory(embedder=OLD, other_embedders=[NEW])
    other.add([{"role": "user", "content": "tea"}], user_id="ada", session_id="tea")
    filled.models.add(NEW)
    other.add([{"role": "user", "content": "A cup of tea."}], user_id="ada", session_id="tea")
    assert [item.lacking for item in filled.models.status()] == [0, 0]
    last = vectors_of(database_url, "new")
    assert sum(row[1] == "tea" for row in last) == 2 * 3  # full, user and tokens of two


def test_adding_does_not_change_what_searches_find(filled: MemSense) -> None:
    questions = [f"the {word} and the garden" for word in WORDS]
    before = [hits(filled, question) for question in questions]
    filled.models.add(NEW)
    assert [hits(filled, question) for question in questions] == before


def test_a_search_after_a_switch_equals_that_of_a_store_of_the_new_model(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    elsewhere = open_memory(embedder=OLD, other_embedders=[NEW])
    question = "the lisbon train"
    before = hits(filled, question)
    assert hits(elsewhere, question) == before
    filled.models.add(NEW)
    assert filled.models.switch("new").state == "in use"
    fresh = open_memory(embedder=TokenHashingEmbedder(32, "new"), namespace="fresh")
    fill(fresh)
    expected = [score for _, score in hits(fresh, question)]
    for memory in (filled, elsewhere):
        found = hits(memory, question)
        assert [score for _, score in found] == pytest.approx(expected)
        assert found != before
    filled.models.back()
    for memory in (filled, elsewhere):
        assert hits(memory, question) == before


def test_going_back_embeds_nothing_and_takes_turns(filled: MemSense) -> None:
    filled.models.add(NEW)
    filled.models.switch("new")
    embedded = len(OLD.embedded), len(NEW.embedded)
    assert filled.models.back().name == "old"
    assert filled.models.back().name == "new"
    assert (len(OLD.embedded), len(NEW.embedded)) == embedded


def test_there_is_nothing_to_go_back_to_before_a_switch_or_after_a_drop(filled: MemSense) -> None:
    with pytest.raises(NotFoundError, match="no model to go back to"):
        filled.models.back()
    filled.models.add(NEW)
    with pytest.raises(NotFoundError, match="no model to go back to"):
        filled.models.back()
    filled.models.switch("new")
    filled.models.drop("old")
    with pytest.raises(NotFoundError, match="no model to go back to"):
        filled.models.back()


def test_dropping_leaves_no_vector_and_no_row(filled: MemSense, database_url: str) -> None:
    added = filled.models.add(NEW)
    filled.models.switch("new")
    assert filled.models.drop("old") == added.vectors
    assert vectors_of(database_url, "old") == []
    assert [item.name for item in filled.models.status()] == ["new"]
    before = len(OLD.embedded)
    filled.add([{"role": "user", "content": "More tea."}], user_id="ada", session_id="late")
    assert len(OLD.embedded) == before


def test_the_model_in_use_is_not_dropped(filled: MemSense) -> None:
    filled.models.add(NEW)
    with pytest.raises(InvalidInputError, match="searches use old"):
        filled.models.drop("old")
    with pytest.raises(NotFoundError, match=r"no vectors of a model 'none', but of old \(48"):
        filled.models.drop("none")


class FailingEmbedder(HashingEmbedder):
    """Embedder that fails after a number of texts."""

    def __init__(self, texts: int) -> None:
        super().__init__(32, "new")
        self.left = texts

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors, or raise EmbeddingError."""
        self.left -= len(texts)
        if self.left < 0:
            raise EmbeddingError("the server is gone")
        return super().embed(texts)


def test_an_addition_that_broke_off_is_not_switched_to_and_completed_by_the_next(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "BATCH", 16)
    failing = FailingEmbedder(60)
    memory = open_memory(embedder=OLD, other_embedders=[failing])
    fill(memory)
    with pytest.raises(EmbeddingError, match="server is gone"):
        memory.models.add(failing)
    _, broken = memory.models.status()
    assert broken.state == "adding"
    assert broken.vectors > 0
    with pytest.raises(InvalidInputError, match=f"{broken.lacking} texts lack its vectors"):
        memory.models.switch("new")
    memory.add([{"role": "user", "content": "More tea."}], user_id="ada", session_id="late")
    assert memory.models.status()[1].lacking == broken.lacking + 2
    failing.left = 10_000
    done: list[int] = []
    assert memory.models.add(failing, on_texts=done.append).lacking == 0
    assert sum(done) == broken.lacking + 2
    assert {item.vectors for item in memory.models.status()} == {
        broken.lacking + broken.vectors + 2
    }
    memory.models.switch("new")


def test_a_model_without_an_embedder_here_is_refused_with_the_remedy(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    filled.models.add(NEW)
    alone = open_memory(embedder=OLD)
    with pytest.raises(ModelMismatchError, match=r"holds vectors of new \(32 dimensions\)"):
        alone.models.switch("new")
    alone.add([{"role": "user", "content": "More tea."}], user_id="ada", session_id="late")
    assert [item.lacking for item in filled.models.status()] == [0, 2]
    assert hits(alone, "more tea")
    filled.models.add(NEW)
    filled.models.switch("new")
    with pytest.raises(ModelMismatchError, match="memsense model add"):
        hits(alone, "more tea")
    with pytest.raises(ModelMismatchError):
        alone.add([{"role": "user", "content": "No tea."}], user_id="ada", session_id="late")


def test_a_process_of_the_new_model_alone_writes_and_searches_after_the_switch(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    filled.models.add(NEW)
    alone = open_memory(embedder=NEW)
    with pytest.raises(ModelMismatchError):
        hits(alone, "the cello")
    filled.models.switch("new")
    assert hits(alone, "the cello") == hits(filled, "the cello")


def test_a_process_with_its_own_embedder_opens_the_shipped_model_for_its_vectors(
    database_url: str,
) -> None:
    with MemSense.open(database_url, other_embedders=[NEW]) as memory:
        memory.add("I drink green tea.", user_id="ada")
        memory.models.add(NEW)
        memory.models.switch(NEW.model)
    settings = Settings(embedding_api_key="of another server", embedding_dimension=NEW.dimension)
    with MemSense.open(database_url, embedder=NEW, settings=settings) as memory:
        memory.add("I drink black coffee.", user_id="ada")
        assert [(one.vectors > 0, one.lacking) for one in memory.models.status()] == [(True, 0)] * 2


def test_large_memories_get_indexes_of_each_model(
    open_memory: OpenMemory, database_url: str
) -> None:
    memory = open_memory(
        embedder=OLD, other_embedders=[NEW], settings=load_settings(index_threshold=20)
    )
    fill(memory)
    memory.indexes.optimise()

    def models_indexed() -> set[int]:
        with psycopg.connect(database_url) as connection:
            return {
                int(name.split("_model_")[1].split("_")[0])
                for (name,) in connection.execute(
                    "SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%hnsw%'"
                )
            }

    assert models_indexed() == {1}
    memory.models.add(NEW)
    assert models_indexed() == {1, 2}
    assert memory.indexes.optimise() == []
    memory.models.switch("new")
    assert hits(memory, "the cello")
    memory.models.drop("old")
    assert models_indexed() == {2}


def test_another_namespace_keeps_its_model(filled: MemSense, open_memory: OpenMemory) -> None:
    work = open_memory(embedder=OLD, namespace="work")
    fill(work, 2)
    before = hits(work, "the cello")
    filled.models.add(NEW)
    filled.models.switch("new")
    filled.models.drop("old")
    assert hits(work, "the cello") == before
    assert [item.name for item in work.models.status()] == ["old"]


def test_recorded_searches_are_compared_under_both(filled: MemSense) -> None:
    filled.models.add(NEW)
    questions = ["the lisbon train", "the cello", "soup at the market"]
    recorded = [filled.search(question, user_id="ada", trace=True) for question in questions]
    comparison = filled.models.compare("new")
    assert (comparison.one, comparison.other) == ("old", "new")
    assert [item.question for item in comparison.traces] == questions[::-1]
    for item, result in zip(comparison.traces, recorded[::-1], strict=True):
        assert item.one.is_unchanged
        assert [hit.chunk_id for hit in item.one.new] == [hit.chunk_id for hit in result]
    filled.models.switch("new")
    for item, question in zip(comparison.traces, questions[::-1], strict=True):
        assert hits(filled, question) == [(hit.chunk_id, hit.score) for hit in item.other.new]
    shares = [
        len({h.chunk_id for h in item.one.new} & {h.chunk_id for h in item.other.new})
        / len(item.one.new)
        for item in comparison.traces
    ]
    assert comparison.mean_overlap == pytest.approx(sum(shares) / 3)
    assert comparison.as_dict()["traces"] == 3


def test_before_anything_is_stored_there_is_no_model_to_add(memory: MemSense) -> None:
    assert memory.models.status() == []
    with pytest.raises(NotFoundError, match="nothing is stored"):
        memory.models.add(NEW)
