"""A model on loopback that says what a test tells it to, and keeps every request.

It speaks Anthropic's Messages API, in which it asks for one tool with given arguments as soon as a
request offers it, then ends its turn; and OpenAI's Responses and Gemini's API, in which it ends
every turn at once.
"""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DONE = "Done."
ENDED = {"stop_reason": "end_turn", "stop_sequence": None}


@dataclass(kw_only=True)
class ScriptedModel:
    """What it asks for, and the requests that it was sent."""

    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    address: str = ""

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The next block: a call of the tool, a wait for its server, or a word."""
        offered = {tool["name"] for tool in request.get("tools", ())}
        said = json.dumps(request["messages"])
        if self.tool in offered and "call-of-tool" not in said:
            return self._call("call-of-tool", self.tool, self.arguments)
        if (
            self.tool not in offered
            and "WaitForMcpServers" in offered
            and "call-to-wait" not in said
        ):
            return self._call("call-to-wait", "WaitForMcpServers", {})
        return {"type": "text", "text": DONE}

    def _call(self, name: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": tool, "input": dict(arguments)}


def _events(block: dict[str, Any], model: str) -> Generator[tuple[str, dict[str, Any]]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
    begun: dict[str, Any] = {**message, "content": [], **ENDED, "stop_reason": None, "usage": usage}
    yield "message_start", {"message": begun}
    if block["type"] == "text":
        delta = {"type": "text_delta", "text": block["text"]}
        yield "content_block_start", {"index": 0, "content_block": {**block, "text": ""}}
    else:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"index": 0, "content_block": {**block, "input": {}}}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
    ended = {"delta": {**ENDED, "stop_reason": reason}, "usage": {"output_tokens": 1}}
    yield "message_delta", ended
    yield "message_stop", {}


def _responses() -> Generator[tuple[str, dict[str, Any]]]:
    text: dict[str, Any] = {"type": "output_text", "text": DONE, "annotations": []}
    item: dict[str, Any] = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [text],
    }
    counted = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    begun: dict[str, Any] = {"id": "resp_1", "object": "response", "output": []}
    yield "response.created", {"response": {**begun, "status": "in_progress"}}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    ended = {**begun, "status": "completed", "output": [item], "usage": counted}
    yield "response.completed", {"response": ended}


def _candidate() -> dict[str, Any]:
    said = {"role": "model", "parts": [{"text": DONE}]}
    return {
        "candidates": [{"content": said, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }


@contextmanager
def scripted_model() -> Generator[ScriptedModel]:
    """A model that listens."""
    model = ScriptedModel()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            if path.endswith("/responses"):
                events = _responses()
            elif path.endswith(":streamGenerateContent"):
                events = iter([("", _candidate())])
            elif path.endswith("/messages") and given.get("stream"):
                events = _events(model.answer(given), given["model"])
            else:
                self.send_error(404)
                return
            model.requests.append(given)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for name, event in events:
                head = f"event: {name}\n" if name else ""
                told = json.dumps({"type": name, **event} if name else event)
                self.wfile.write(f"{head}data: {told}\n\n".encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    model.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
