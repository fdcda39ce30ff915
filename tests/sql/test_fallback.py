"""Searches without words, and searches while the embedder is down."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from embedders import HashingEmbedder
from test_searching import recorded_statements

from memsense import MemSense
from memsense.embed import OpenAIEmbedder
from memsense.errors import EmbeddingError, ModelMismatchError
from memsense.search.hits import SearchResult
from memsense.search.profiles import VECTOR_ROUTES

pytest.importorskip("openai", reason="needs openai: make setup-all")

OpenMemory = Callable[..., MemSense]

MODEL = HashingEmbedder()


class EmbeddingServer(ThreadingHTTPServer):
    """Server of the hashing embedder, which answers with `status`."""

    daemon_threads = True
    status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vectors = MODEL.embed(body["input"]).tolist()
        items = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        answer = {"data": items, "model": "hashing"} if self.server.status == 200 else {}
        payload = json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def serving() -> Generator[EmbeddingServer]:
    server = EmbeddingServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def embedder_at(url: str, dimension: int | None = MODEL.dimension) -> OpenAIEmbedder:
    return OpenAIEmbedder("hashing", base_url=url, dimension=dimension, attempts=1, timeout=5)


@pytest.fixture
def memory(memory: MemSense) -> MemSense:
    texts = ["I drink tea in Lisbon.", "The lantern is blue.", "Ben repairs bicycles."]
    for number, text in enumerate(texts):
        at = datetime(2026, 5, 1 + number, tzinfo=UTC)
        message = {"role": "user", "content": text, "at": at}
        memory.add([message], user_id="ada", session_id=f"s{number}", mode="turn")
    return memory


def found_by(result: SearchResult) -> set[str]:
    return {route.route for hit in result for route in hit.explain.routes}


def test_a_question_without_words_is_ranked_by_vectors_alone_and_says_so(memory: MemSense) -> None:
    result = memory.search("who is it?", user_id="ada")
    assert result
    assert found_by(result) <= set(VECTOR_ROUTES)
    assert result.notes == ["the question has no searchable words: ranked by vectors alone"]


def test_words_and_vectors_together_leave_no_note(memory: MemSense) -> None:
    result = memory.search("blue lantern", user_id="ada")
    assert found_by(result) & {"lexical"}
    assert found_by(result) & set(VECTOR_ROUTES)
    assert result.notes == []


def fail_by_500(server: EmbeddingServer) -> None:
    server.status = 500


def fail_by_going_down(server: EmbeddingServer) -> None:
    server.shutdown()
    server.server_close()


FAILURES = [fail_by_500, fail_by_going_down]


@pytest.mark.parametrize("fail", FAILURES)
def test_a_failing_embedder_fails_the_search_by_default(
    memory: MemSense, open_memory: OpenMemory, fail: Callable[[EmbeddingServer], None]
) -> None:
    with serving() as server:
        other = open_memory(embedder=embedder_at(server.url))
        before = other.search("blue lantern", user_id="ada")
        assert before[0].chunk_id == memory.search("blue lantern", user_id="ada")[0].chunk_id
        fail(server)
        with pytest.raises(EmbeddingError, match="embedding server at"):
            other.search("a green lantern", user_id="ada")


@pytest.mark.parametrize("fail", FAILURES)
def test_a_setting_allows_search_by_words_only_and_the_result_says_so(
    memory: MemSense, open_memory: OpenMemory, fail: Callable[[EmbeddingServer], None]
) -> None:
    with serving() as server:
        other = open_memory(embedder=embedder_at(server.url))
        with_vectors = other.search("blue lantern", user_id="ada")
        memory.settings.set(embedder_failure="lexical")
        fail(server)
        result = other.search("a green lantern", user_id="ada")
    assert "vec_full" in found_by(with_vectors)
    assert [hit.content for hit in result] == ["user: The lantern is blue."]
    assert found_by(result) == {"lexical"}
    [note] = result.notes
    assert note.startswith("ranked by words alone; the embedding server at")
    assert result.as_dict()["notes"] == [note]


def test_words_alone_rank_as_the_same_profile_without_vectors(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    memory.settings.set(embedder_failure="lexical")
    without: dict[str, object] = dict.fromkeys(VECTOR_ROUTES, 0.0)
    with serving() as server:
        server.status = 500
        degraded = open_memory(embedder=embedder_at(server.url)).search(
            "tea lantern", user_id="ada"
        )
    plain = memory.search("tea lantern", user_id="ada", overrides=without)
    assert [(hit.chunk_id, hit.score) for hit in degraded] == [
        (hit.chunk_id, hit.score) for hit in plain
    ]


def test_the_search_after_the_embedder_is_back_uses_vectors_again(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    memory.settings.set(embedder_failure="lexical")
    with serving() as server:
        other = open_memory(embedder=embedder_at(server.url))
        server.status = 500
        assert found_by(other.search("blue lantern", user_id="ada")) == {"lexical"}
        server.status = 200
        result = other.search("blue lantern", user_id="ada")
    assert "vec_full" in found_by(result)
    assert result.notes == []


def test_an_embedder_that_never_said_its_dimension_may_be_down_too(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    memory.settings.set(embedder_failure="lexical")
    with serving() as server:
        server.status = 500
        other = open_memory(embedder=embedder_at(server.url, dimension=None))
        result = other.search("blue lantern", user_id="ada")
    assert found_by(result) == {"lexical"}


def test_taking_the_setting_back_makes_failures_errors_again(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    memory.settings.set(embedder_failure="lexical")
    with serving() as server:
        server.status = 500
        other = open_memory(embedder=embedder_at(server.url))
        assert other.search("blue lantern", user_id="ada")
        memory.settings.reset("embedder_failure")
        with pytest.raises(EmbeddingError):
            other.search("blue lantern", user_id="ada")


def test_a_profile_without_words_can_not_do_without_the_embedder(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    memory.settings.set(embedder_failure="lexical")
    with serving() as server:
        server.status = 500
        other = open_memory(embedder=embedder_at(server.url))
        with pytest.raises(EmbeddingError, match="'semantic' has no weight for words"):
            other.search("blue lantern", user_id="ada", profile="semantic")


def test_another_models_vectors_are_no_failure_to_be_made_up_for(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    memory.settings.set(embedder_failure="lexical")
    other = open_memory(embedder=HashingEmbedder(dimension=32, model="another"))
    with pytest.raises(ModelMismatchError):
        other.search("blue lantern", user_id="ada")


def test_neither_words_nor_a_vector_finds_nothing_and_says_so(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    memory.settings.set(embedder_failure="lexical")
    with serving() as server:
        server.status = 500
        result = open_memory(embedder=embedder_at(server.url)).search("who is it?", user_id="ada")
    assert not result
    assert result.notes[1:] == ["the question has no searchable words: nothing can be found"]


def test_a_working_embedder_costs_no_further_statement(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.settings.set(embedder_failure="lexical")
    memory.search("blue lantern", user_id="ada")
    with recorded_statements(monkeypatch) as statements:
        memory.search("blue lantern", user_id="ada")
    assert len(statements) == 2


def test_why_not_judges_the_search_that_words_alone_answered(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    memory.settings.set(embedder_failure="lexical")
    [tea] = [hit.chunk_id for hit in memory.search("tea in Lisbon", user_id="ada", top_k=1)]
    with serving() as server:
        server.status = 500
        other = open_memory(embedder=embedder_at(server.url))
        verdict = other.why_not("blue lantern", tea, user_id="ada")
    assert verdict.step == "no_route"
