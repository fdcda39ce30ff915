import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from memsense.client.models import open_named_embedder
from memsense.config import load_settings
from memsense.embed import OpenAIEmbedder
from memsense.errors import ConfigurationError, EmbeddingError, InvalidInputError

pytest.importorskip("openai", reason="needs openai: make setup-all")

Answer = tuple[int, Any]
Respond = Callable[[int, dict[str, Any]], Answer]


class EmbeddingServer(ThreadingHTTPServer):
    """Server that answers each POST by `respond(number of the request, body)` and stores the
    requests.
    """

    daemon_threads = True

    def __init__(self, respond: Respond) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.respond = respond
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EmbeddingServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.paths.append(self.path)
        self.server.keys.append(self.headers.get("Authorization"))
        status, answer = self.server.respond(len(self.server.bodies), body)
        payload = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("Connection", "close")
        if status != 200:
            self.send_header("Retry-After-Ms", "1")
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def serving(respond: Respond) -> Generator[EmbeddingServer]:
    server = EmbeddingServer(respond)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def listing(vectors: list[Any]) -> dict[str, Any]:
    items = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    return {"object": "list", "data": items, "model": "toy", "usage": {}}


def lengths(_: int, body: dict[str, Any]) -> Answer:
    return 200, listing([[float(len(text)), 4.0, 0.0] for text in body["input"]])


def test_vectors_come_back_at_unit_length_in_the_order_of_their_texts() -> None:
    def backwards(number: int, body: dict[str, Any]) -> Answer:
        status, answer = lengths(number, body)
        return status, answer | {"data": answer["data"][::-1]}

    with serving(backwards) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url, api_key="secret")
        vectors = embedder.embed(["abc", "abcd"])
    expected = np.array([[3, 4, 0], [4, 4, 0]]) / [[5], [32**0.5]]
    assert np.allclose(vectors, expected, atol=1e-6)
    assert vectors.dtype == np.float32
    assert server.paths == ["/v1/embeddings"]
    assert server.bodies == [{"input": ["abc", "abcd"], "model": "toy", "encoding_format": "float"}]
    assert server.keys == ["Bearer secret"]


def test_texts_are_sent_in_batches() -> None:
    with serving(lengths) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url, batch_size=2)
        vectors = embedder.embed(["a", "bb", "ccc", "dddd", "eeeee"])
    sent = sorted(body["input"] for body in server.bodies)
    assert sent == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]
    assert np.allclose(vectors[:, 0] / vectors[:, 1] * 4, [1, 2, 3, 4, 5], atol=1e-5)


def test_at_most_a_number_of_requests_run_at_a_time() -> None:
    together, most, lock = threading.Barrier(3), [0, 0], threading.Lock()

    def wait_for_others(number: int, body: dict[str, Any]) -> Answer:
        with lock:
            most[0] += 1
            most[1] = max(most)
        if number > 1:  # the first one tells the vectors' length by itself
            together.wait(timeout=20)
        with lock:
            most[0] -= 1
        return lengths(number, body)

    texts = ["a" * length for length in range(1, 8)]
    with serving(wait_for_others) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url, batch_size=1, requests=3)
        vectors = embedder.embed(texts)
    assert most[1] == 3
    assert np.allclose(vectors[:, 0] / vectors[:, 1] * 4, range(1, 8), atol=1e-5)


def test_after_a_batch_has_failed_for_good_no_other_one_is_begun() -> None:
    def fail(number: int, body: dict[str, Any]) -> Answer:
        return lengths(number, body) if number == 1 else (400, {"error": {"message": "too long"}})

    with serving(fail) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url, batch_size=1, requests=2)
        with pytest.raises(EmbeddingError, match="too long"):
            embedder.embed(["abc"] * 40)
    assert len(server.bodies) < 20


def test_a_busy_server_is_asked_again() -> None:
    def busy_once(number: int, body: dict[str, Any]) -> Answer:
        return lengths(number, body) if number > 1 else (429, {"error": {"message": "slow down"}})

    with serving(busy_once) as server:
        vector = OpenAIEmbedder("toy", base_url=server.url).embed_query("abc")
    assert np.allclose(vector, [0.6, 0.8, 0])
    assert len(server.bodies) == 2


def test_a_server_that_keeps_failing_is_an_error_after_the_last_attempt() -> None:
    with serving(lambda _number, _body: (500, {"error": {"message": "disk full"}})) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url, attempts=3)
        with pytest.raises(EmbeddingError, match="disk full"):
            embedder.embed(["abc"])
    assert len(server.bodies) == 3


def test_a_refused_request_is_not_repeated() -> None:
    with serving(lambda _number, _body: (400, {"error": {"message": "too long"}})) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url)
        with pytest.raises(EmbeddingError, match="too long"):
            embedder.embed(["abc"])
    assert len(server.bodies) == 1


def test_no_server_is_an_embedding_error_that_names_the_address() -> None:
    with serving(lengths) as server:
        url = server.url
    with pytest.raises(EmbeddingError, match=url):
        OpenAIEmbedder("toy", base_url=url, attempts=1).embed(["abc"])


def test_a_server_slower_than_the_timeout_is_an_embedding_error() -> None:
    released = threading.Event()

    def hang(number: int, body: dict[str, Any]) -> Answer:
        released.wait(10)
        return lengths(number, body)

    with serving(hang) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url, timeout=0.1, attempts=1)
        with pytest.raises(EmbeddingError, match="timed out"):
            embedder.embed(["abc"])
        released.set()


def test_the_limit_ends_the_attempts_of_a_request() -> None:
    released = threading.Event()

    def hang(number: int, body: dict[str, Any]) -> Answer:
        released.wait(20)
        return lengths(number, body)

    with serving(hang) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url, timeout=0.3, attempts=99, limit=0.4)
        with pytest.raises(EmbeddingError, match="failed"):
            embedder.embed(["abc"])
        released.set()
    assert len(server.bodies) <= 2


def test_a_pause_that_the_server_asks_for_is_kept_unless_it_passes_the_limit() -> None:
    with serving(lambda _number, _body: (429, {"error": {"message": "busy"}})) as server:
        patient = OpenAIEmbedder("toy", base_url=server.url, attempts=5, limit=30)
        with pytest.raises(EmbeddingError, match="failed 5 times"):
            patient.embed(["abc"])
        assert len(server.bodies) == 5
        impatient = OpenAIEmbedder("toy", base_url=server.url, attempts=5, limit=0.0005)
        with pytest.raises(EmbeddingError):
            impatient.embed(["abc"])
    assert len(server.bodies) <= 6


def test_the_settings_bound_the_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _number, _body: (503, {"error": {"message": "later"}})) as server:
        settings = load_settings(
            embedder="openai",
            embedding_model="toy",
            embedding_url=server.url,
            embedding_attempts=2,
            embedding_timeout=5,
        )
        with pytest.raises(EmbeddingError, match="failed 2 times"):
            open_named_embedder(settings).embed(["abc"])
        assert len(server.bodies) == 2
        monkeypatch.setenv("MEMSENSE_EMBEDDING_ATTEMPTS", "1")
        again = settings.model_copy(
            update={"embedding_attempts": load_settings().embedding_attempts}
        )
        with pytest.raises(EmbeddingError):
            open_named_embedder(again).embed(["abc"])
    assert len(server.bodies) == 3


UNUSABLE = {
    "one vector too few": listing([[1.0, 0.0]]),
    "one vector too many": listing([[1.0, 0.0]] * 3),
    "an index twice": {
        "data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]
    },
    "no list": {"data": None},
    "no data": {"message": "hello"},
    "ragged": listing([[1.0, 0.0], [1.0]]),
    "numbers for vectors": listing([1.0, 2.0]),
    "words": listing([["one"], ["two"]]),
    "zero": listing([[1.0, 0.0], [0.0, 0.0]]),
    "NaN": listing([[1.0, 0.0], [float("nan"), 0.0]]),
    "infinite": listing([[1.0, 0.0], [float("inf"), 0.0]]),
    "null": listing([[1.0, 0.0], [None, 0.0]]),
    "empty vectors": listing([[], []]),
    "no JSON": "<html>",
    "a JSON list": [1],
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unusable_answer_is_an_embedding_error(answer: object) -> None:
    with serving(lambda _number, _body: (200, answer)) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url)
        with pytest.raises(EmbeddingError):
            embedder.embed(["abc", "abcd"])


def test_an_answer_of_another_dimension_is_an_error() -> None:
    with serving(lengths) as server, pytest.raises(EmbeddingError, match="shape"):
        OpenAIEmbedder("toy", base_url=server.url, dimension=4).embed(["abc"])


def test_the_dimension_is_learnt_from_the_server_once() -> None:
    with serving(lengths) as server:
        embedder = OpenAIEmbedder("toy", base_url=server.url)
        assert embedder.dimension == 3
        assert embedder.dimension == 3
        assert embedder.embed([]).shape == (0, 3)
    assert len(server.bodies) == 1


def test_a_given_dimension_needs_no_server() -> None:
    embedder = OpenAIEmbedder("toy", base_url="http://127.0.0.1:9/v1", dimension=7)
    assert embedder.dimension == 7
    assert embedder.embed([]).shape == (0, 7)


def test_a_key_of_the_environment_is_not_sent_to_another_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-private")
    with serving(lengths) as server:
        OpenAIEmbedder("toy", base_url=server.url).embed(["abc"])
    assert "sk-private" not in str(server.keys)


def test_a_missing_key_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_ADMIN_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        OpenAIEmbedder("toy")


def test_a_blank_text_is_never_sent() -> None:
    with serving(lengths) as server, pytest.raises(InvalidInputError):
        OpenAIEmbedder("toy", base_url=server.url).embed(["abc", " "])
    assert server.bodies == []


def test_a_batch_size_below_one_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        OpenAIEmbedder("toy", base_url="http://127.0.0.1:9/v1", batch_size=0)
    with pytest.raises(ConfigurationError):
        OpenAIEmbedder("toy", base_url="http://127.0.0.1:9/v1", requests=0)
