"""An HTTP server that answers OpenAI's and Anthropic's requests from a script."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

Call = tuple[str, str]
"""Name of a tool that the model calls, and the id of the call."""


class ScriptedModels:
    """Answers in order: a text, a call of a tool, or an HTTP status for a failure.

    `bodies` are the requests that came, `paths` their addresses. A stream that breaks off waits
    for `goes_on` before it does.
    """

    def __init__(self) -> None:
        self.script: list[str | Call | int] = []
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.url = ""
        self.goes_on = Event()
        self.goes_on.set()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, str | list[Any]]:
        """Return the status, and the JSON or the events of a stream."""
        self.paths.append(path)
        self.bodies.append(body)
        step = self.script.pop(0)
        if isinstance(step, int):
            return step, json.dumps({"type": "error", "error": {"type": "x", "message": "no"}})
        write = {"/chat/completions": chat, "/responses": responses}.get(path, messages)
        whole, events = write(step, len(self.bodies))
        return 200, events if body.get("stream") else json.dumps(whole)


@contextmanager
def serve_models() -> Generator[ScriptedModels]:
    """Yield a server, on a free port of this machine."""
    models = ScriptedModels()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, content = models.answer(self.path.partition("?")[0], json.loads(body))
            text = content if isinstance(content, str) else write_events(content)
            data = text.encode()
            self.send_response(status)
            kind = "application/json" if isinstance(content, str) else "text/event-stream"
            self.send_header("Content-Type", kind)
            # A stream that the script breaks off promises more than it sends.
            broken = not isinstance(content, str) and BREAK in content
            self.send_header("Content-Length", str(len(data) + (1000 if broken else 0)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
            if broken:
                models.goes_on.wait()
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Be quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        models.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield models
        finally:
            server.shutdown()
            thread.join()


BREAK = "BREAK"
"""In an answer: its stream ends there, without an end."""


def write_events(events: Sequence[Any]) -> str:
    """Return events as they are sent, up to one that breaks off."""
    lines: list[str] = []
    for event in events:
        if event == BREAK:
            break
        name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        data = event if isinstance(event, str) else json.dumps(event)
        lines.append(f"{name}data: {data}\n\n")
    return "".join(lines)


def pieces(text: str) -> list[str]:
    """Return a text in the pieces in which a model says it."""
    *words, last = text.split(" ")
    return [*(f"{word} " for word in words), last]


def with_breaks(events: list[Any]) -> list[Any]:
    """Return the events, of which one that holds BREAK breaks the stream off."""
    return [BREAK if BREAK in json.dumps(event) else event for event in events]


def chat(step: str | Call, number: int) -> tuple[Any, list[Any]]:
    """Return an answer of Chat Completions, whole and as events."""
    base = {"id": f"chat-{number}", "created": 1, "model": "scripted"}
    if isinstance(step, str):
        message: Any = {"role": "assistant", "content": step}
        deltas: list[Any] = [{"role": "assistant"}, *({"content": it} for it in pieces(step))]
    else:
        name, call_id = step
        function = {"name": name, "arguments": "{}"}
        call = {"id": call_id, "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        deltas = [{"role": "assistant", "tool_calls": [{"index": 0, **call}]}]
    reason = "stop" if isinstance(step, str) else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    chunk = {**base, "object": "chat.completion.chunk"}
    chunks = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    last: Any = {"index": 0, "delta": {}, "finish_reason": reason}
    end = {**chunk, "choices": [last]}
    whole = {**base, "object": "chat.completion", "choices": [choice]}
    return whole, [*with_breaks(chunks), end, "[DONE]"]


def responses(step: str | Call, number: int) -> tuple[Any, list[Any]]:
    """Return an answer of Responses, whole and as events."""
    base: Any = {
        "id": f"resp-{number}",
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    thought = {
        "type": "reasoning",
        "id": "r",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "zanzibarword"}],
    }
    place = {"item_id": "m", "output_index": 1, "content_index": 0}
    deltas: list[Any] = []
    if isinstance(step, str):
        part: Any = {"type": "output_text", "text": step, "annotations": []}
        message = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
        item: Any = {**message, "content": [part]}
        added: Any = {**message, "content": []}
        empty = {**part, "text": ""}
        deltas = [
            {"type": "response.content_part.added", **place, "part": empty},
            *(
                {"type": "response.output_text.delta", **place, "delta": it, "logprobs": []}
                for it in pieces(step)
            ),
        ]
    else:
        name, call_id = step
        item = {"type": "function_call", "id": "f", "call_id": call_id, "name": name}
        item = added = {**item, "arguments": "{}", "status": "completed"}
    whole = {**base, "status": "completed", "output": [thought, item]}
    running: Any = {**base, "status": "in_progress", "output": []}
    events: list[Any] = [
        {"type": "response.created", "response": running},
        {"type": "response.output_item.added", "output_index": 0, "item": thought},
        {"type": "response.output_item.added", "output_index": 1, "item": added},
        *with_breaks(deltas),
        {"type": "response.completed", "response": whole},
    ]
    for sequence, event in enumerate(events):
        if event != BREAK:
            event["sequence_number"] = sequence
    return whole, events


def messages(step: str | Call, number: int) -> tuple[Any, list[Any]]:
    """Return an answer of Anthropic's Messages, whole and as events."""
    base = {"id": f"msg-{number}", "type": "message", "role": "assistant", "model": "scripted"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    thought = {"type": "thinking", "thinking": "zanzibarword", "signature": "s"}
    if isinstance(step, str):
        block: Any = {"type": "text", "text": step}
        start: Any = {"type": "text", "text": ""}
        deltas: list[Any] = [{"type": "text_delta", "text": it} for it in pieces(step)]
    else:
        block = start = {"type": "tool_use", "id": step[1], "name": step[0], "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": "{}"}]
    reason = "end_turn" if isinstance(step, str) else "tool_use"
    end = {"stop_reason": reason, "stop_sequence": None}
    whole = {**base, **end, "content": [thought, block], "usage": usage}
    opened: Any = {
        **base,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    thinking = [{"type": "thinking_delta", "thinking": "zanzibarword"}]
    first = {"type": "thinking", "thinking": "", "signature": ""}
    events: list[Any] = [{"type": "message_start", "message": opened}]
    for index, (begun, changes) in enumerate([(first, thinking), (start, deltas)]):
        events += [
            {"type": "content_block_start", "index": index, "content_block": begun},
            *(
                {"type": "content_block_delta", "index": index, "delta": change}
                for change in changes
            ),
            {"type": "content_block_stop", "index": index},
        ]
    events += [
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return whole, with_breaks(events)
