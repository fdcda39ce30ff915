"""Language-model tagger with a real HTTP server for /chat/completions."""

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from memsense.draft.facets.model import Facets, FacetTagger
from memsense.errors import ConfigurationError

pytest.importorskip("openai", reason="needs memsense[llm]: make setup-all")

from memsense.draft.facets.llm import LLMTagger

EMPTY: dict[str, object] = {
    "personal_info": [],
    "preferences": [],
    "events": [],
    "memory_kind": "ephemeral",
}


class ChatEndpoint(BaseHTTPRequestHandler):
    """Server that answers each request with the next of `replies`: (status, content), or with
    nothing for None.
    """

    replies: ClassVar[list[tuple[int, str] | None]] = []
    over: ClassVar[threading.Event]
    requests: ClassVar[list[dict[str, object]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.requests.append(
            {"path": self.path, "key": self.headers["Authorization"], "body": json.loads(body)}
        )
        reply = self.replies.pop(0)
        if reply is None:
            self.over.wait()
            return
        status, content = reply
        failure = {"error": {"message": content}}
        payload = json.dumps(_completion(content) if status == 200 else failure).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base's name)
        pass


def _completion(content: str) -> Mapping[str, object]:
    message = {"role": "assistant", "content": content}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": "tiny",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }


@pytest.fixture
def endpoint() -> Iterator[str]:
    ChatEndpoint.replies.clear()
    ChatEndpoint.requests.clear()
    ChatEndpoint.over = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), ChatEndpoint) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        ChatEndpoint.over.set()
        server.shutdown()
        thread.join()


def tag(url: str, user: str, assistant: str = "", *, timeout_seconds: float = 5.0) -> Facets:
    with LLMTagger(
        base_url=url, model="tiny", api_key="k", timeout_seconds=timeout_seconds
    ) as tagger:
        return tagger.tag(user, assistant)


def reply(content: object, *, status: int = 200) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    ChatEndpoint.replies.append((status, text))


def test_quotes_become_spans_with_their_offsets_and_side(endpoint: str) -> None:
    reply(
        {
            "personal_info": [{"side": "user", "quote": "I live in Leipzig."}],
            "preferences": [],
            "events": [{"side": "assistant", "quote": "We met on 3 April."}],
            "memory_kind": "stable",
        }
    )
    facets = tag(endpoint, "Hello. I live in Leipzig.", "Right. We met on 3 April.")
    home, met = facets.spans
    assert (home.start, home.end, home.side, home.rule) == (7, 25, "user", "llm:tiny")
    assert (met.facet, met.start, met.side) == ("events", 7, "assistant")
    assert (facets.personal_info, facets.preferences) == ("I live in Leipzig.", None)
    assert facets.memory_kind == "stable"


def test_the_request_names_model_key_both_sides_and_the_wanted_schema(endpoint: str) -> None:
    reply(EMPTY)
    tag(endpoint, 'She said "hi".', "Hi!")
    (request,) = ChatEndpoint.requests
    body = json.loads(json.dumps(request["body"]))
    assert (request["path"], request["key"]) == ("/v1/chat/completions", "Bearer k")
    assert (body["model"], body["temperature"]) == ("tiny", 0)
    exchange = json.loads(body["messages"][1]["content"])
    assert exchange == {"user": 'She said "hi".', "assistant": "Hi!"}
    schema = body["response_format"]["json_schema"]["schema"]
    assert set(schema["required"]) == set(EMPTY)
    assert schema["additionalProperties"] is False


def test_a_quote_that_its_side_does_not_contain_is_left_out(endpoint: str) -> None:
    quotes = [{"side": "assistant", "quote": "I love tea."}, {"side": "user", "quote": " "}]
    reply(EMPTY | {"preferences": quotes})
    assert tag(endpoint, "I love tea.").spans == ()


@pytest.mark.parametrize(
    "content",
    [
        "Here are the facets:",
        "",
        {"personal_info": []},
        EMPTY | {"mood": "good"},
        EMPTY | {"memory_kind": "important"},
        EMPTY | {"events": [{"side": "both", "quote": "x"}]},
    ],
)
def test_an_answer_that_is_not_the_wanted_json_is_an_error(endpoint: str, content: object) -> None:
    reply(content)
    with pytest.raises(ConfigurationError, match="did not answer with the JSON"):
        tag(endpoint, "I love tea.")


def test_a_busy_endpoint_is_asked_again(endpoint: str) -> None:
    reply("busy", status=503)
    reply("slow down", status=429)
    reply(EMPTY)
    assert tag(endpoint, "Hello.") == Facets()
    assert len(ChatEndpoint.requests) == 3


def test_a_refused_key_is_an_error_that_names_endpoint_and_model_at_once(endpoint: str) -> None:
    reply("bad key", status=401)
    with pytest.raises(ConfigurationError, match=rf"tiny at {endpoint} can't be used.*bad key"):
        tag(endpoint, "Hello.")
    assert len(ChatEndpoint.requests) == 1


def test_an_endpoint_that_never_answers_in_time_is_an_error(endpoint: str) -> None:
    ChatEndpoint.replies += [None] * 3
    with pytest.raises(ConfigurationError, match="timed out"):
        tag(endpoint, "Hello.", timeout_seconds=0.1)


def test_an_unreachable_endpoint_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="can't be used"):
        tag("http://127.0.0.1:9/v1", "Hello.")


def test_it_is_a_facet_tagger(endpoint: str) -> None:
    tagger: FacetTagger = LLMTagger(base_url=endpoint, model="tiny")
    assert tagger.name == "llm:tiny"


def test_no_error_shows_the_key_or_the_password(endpoint: str) -> None:
    reply("no such key: s3cret-key", status=401)
    url = endpoint.replace("//", "//ada:s3cret-word@")
    with (
        LLMTagger(base_url=url, model="tiny", api_key="s3cret-key") as tagger,
        pytest.raises(ConfigurationError, match="can't be used") as caught,
    ):
        tagger.tag("Hello.", "")
    assert "s3cret" not in str(caught.value)
