import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memsense.errors import ConfigurationError, RerankerError
from memsense.search.rank import reranker as rerankers
from memsense.search.rank.reranker import HttpReranker, Reranker

Respond = Callable[[int, dict[str, Any]], tuple[int, object]]


class RerankServer(ThreadingHTTPServer):
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
        self.retry_after = "0"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: RerankServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.paths.append(self.path)
        self.server.keys.append(self.headers.get("Authorization"))
        status, answer = self.server.respond(len(self.server.bodies), body)
        payload = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        if status != 200:
            self.send_header("Retry-After", self.server.retry_after)
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def serving(respond: Respond) -> Generator[RerankServer]:
    server = RerankServer(respond)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def results(*scores: object) -> dict[str, Any]:
    pairs = [{"index": i, "relevance_score": score} for i, score in enumerate(scores)]
    return {"results": pairs}


def shared_words(_number: int, body: dict[str, Any]) -> tuple[int, object]:
    """Score texts by words shared with the question, best first, like a real server."""
    query = set(body["query"].split())
    scores = [len(query & set(text.split())) / len(query) for text in body["documents"]]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    return 200, {"results": [{"index": i, "relevance_score": scores[i]} for i in order]}


def test_scores_come_back_in_the_order_of_the_texts() -> None:
    texts = ["tea", "the red boat sails", "red boat"]
    with serving(shared_words) as server:
        reranker: Reranker = HttpReranker(server.url + "/", model="toy", api_key="secret")
        scores = reranker.rerank("the red boat", texts)
    assert scores == pytest.approx([0, 1, 2 / 3])
    assert reranker.name == "toy"
    assert server.paths == ["/rerank"]
    assert server.keys == ["Bearer secret"]
    assert server.bodies == [
        {"model": "toy", "query": "the red boat", "documents": texts, "top_n": 3}
    ]


def test_without_model_and_key_neither_is_sent() -> None:
    with serving(shared_words) as server:
        reranker = HttpReranker(server.url)
        reranker.rerank("a", ["a"])
    assert "model" not in server.bodies[0]
    assert server.keys == [None]
    assert reranker.name == server.url + "/rerank"


def test_no_texts_need_no_server() -> None:
    assert HttpReranker("http://127.0.0.1:9").rerank("a", []) == []


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(status: int) -> None:
    def busy_once(number: int, body: dict[str, Any]) -> tuple[int, object]:
        return shared_words(number, body) if number > 1 else (status, "busy")

    with serving(busy_once) as server:
        assert HttpReranker(server.url).rerank("a", ["a"]) == [1.0]
    assert len(server.bodies) == 2


def test_a_server_that_keeps_failing_is_an_error_after_the_retries() -> None:
    with serving(lambda _number, _body: (500, "disk full")) as server:
        reranker = HttpReranker(server.url, retries=2)
        with pytest.raises(RerankerError, match="500: disk full"):
            reranker.rerank("a", ["a"])
    assert len(server.bodies) == 3


def test_a_refused_request_is_not_repeated() -> None:
    with serving(lambda _number, _body: (401, "no key")) as server:
        reranker = HttpReranker(server.url)
        with pytest.raises(RerankerError, match="401: no key"):
            reranker.rerank("a", ["a"])
    assert len(server.bodies) == 1


def test_no_server_is_an_error_that_names_the_address() -> None:
    with serving(shared_words) as server:
        url = server.url
    with pytest.raises(RerankerError, match=url):
        HttpReranker(url, retries=1).rerank("a", ["a"])


def test_a_server_slower_than_the_timeout_is_an_error() -> None:
    released = threading.Event()

    def hang(number: int, body: dict[str, Any]) -> tuple[int, object]:
        released.wait(10)
        return shared_words(number, body)

    with serving(hang) as server:
        reranker = HttpReranker(server.url, timeout=0.1, retries=0)
        with pytest.raises(RerankerError, match="Timeout"):
            reranker.rerank("a", ["a"])
        released.set()


UNUSABLE: dict[str, object] = {
    "a score too few": results(0.1),
    "a score too many": results(0.1, 0.2, 0.3),
    "an index twice": {"results": [{"index": 0, "relevance_score": 1}] * 2},
    "a strange index": {
        "results": [{"index": 0, "relevance_score": 1}, {"index": 7, "relevance_score": 1}]
    },
    "NaN": results(0.1, float("nan")),
    "infinite": results(0.1, float("inf")),
    "a word": results(0.1, "high"),
    "null": results(0.1, None),
    "no score": {"results": [{"index": 0}, {"index": 1}]},
    "no results": {"message": "hello"},
    "results of another kind": {"results": 3},
    "an unhashable index": {"results": [{"index": [], "relevance_score": 1}] * 2},
    "a list": [0.1, 0.2],
    "no JSON": "<html>",
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unusable_answer_is_a_reranker_error(answer: object) -> None:
    with serving(lambda _number, _body: (200, answer)) as server:
        reranker = HttpReranker(server.url)
        with pytest.raises(RerankerError):
            reranker.rerank("a", ["a", "b"])


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "localhost:8080"},
        {"base_url": "http://localhost", "timeout": 0},
        {"base_url": "http://localhost", "retries": -1},
    ],
)
def test_unusable_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        HttpReranker(**settings)


@pytest.mark.parametrize(
    ("attempt", "retry_after", "seconds"),
    [
        (0, None, 0.2),
        (2, None, 0.8),
        (0, "3", 3),
        (0, "3600", 8),
        (0, "-1", 0.2),
        (1, "Wed, 21 Oct 2026 07:28:00 GMT", 0.4),
    ],
)
def test_the_wait_follows_the_server_within_bounds(
    attempt: int, retry_after: str | None, seconds: float
) -> None:
    assert rerankers._wait(attempt, retry_after) == seconds  # pyright: ignore[reportPrivateUsage]


def test_no_error_or_name_of_a_reranker_shows_its_key_or_password() -> None:
    def echo(_number: int, _body: dict[str, Any]) -> tuple[int, object]:
        return 401, "no such key: s3cret-key"

    with serving(echo) as server:
        url = server.url.replace("//", "//ada:s3cret-word@") + "/v1?key=s3cret-query"
        reranker = HttpReranker(url, api_key="s3cret-key")
        with pytest.raises(RerankerError, match="401: no such key: ") as caught:
            reranker.rerank("tea", ["tea"])
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in reranker.name


@pytest.mark.parametrize("url", ["http://ada:s3cret", "http://ada:s3cret@[::1/"])
def test_a_mistyped_url_is_reported_without_its_password(url: str) -> None:
    with pytest.raises((RerankerError, ConfigurationError)) as caught:
        HttpReranker(url, retries=0).rerank("tea", ["tea"])
    assert "s3cret" not in str(caught.value)
