"""The example agents, run as a reader would run them, against a model that follows a script."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memsense import MemSense, load_settings

pytest.importorskip("openai", reason="needs memsense[openai]")
pytest.importorskip("fastapi", reason="needs memsense[server]")

EXAMPLES = Path(__file__).parents[2] / "examples"
LONGEST = 60

Request = Mapping[str, Any]


@dataclass
class Model:
    """An endpoint that answers as a script says, and keeps what it was asked."""

    url: str = ""
    asked: list[Request] = field(default_factory=list[Request])


def completion(message: Mapping[str, Any]) -> bytes:
    told = {
        "id": "session-of-the-model",
        "object": "chat.completion",
        "created": 1,
        "model": "script",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
        ],
    }
    return json.dumps(told).encode()


@contextmanager
def scripted(answer: Callable[[Request], Mapping[str, Any]]) -> Generator[Model]:
    model = Model()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.asked.append(asked)
            body = completion(answer(asked))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def environment() -> Generator[dict[str, str]]:
    """A data directory of its own, whose server stays up between the runs of an example."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMSENSE_")}
    with tempfile.TemporaryDirectory(prefix="memsense-examples-") as folder:
        settings = load_settings(data_dir=Path(folder))
        with MemSense.open(settings=settings):
            yield {**kept, "MEMSENSE_DATA_DIR": folder, "OPENAI_API_KEY": "none"}


def run(
    script: str, *arguments: str, model: Model, env: Mapping[str, str], cwd: Path, said: str = ""
) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *arguments],
        input=said,
        env={**env, "OPENAI_BASE_URL": model.url},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_example_is_short() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*.py")}
    assert lengths.keys() == {"chat.py", "service.py", "coding_agent.py"}
    assert max(lengths.values()) < LONGEST


def test_the_chat_knows_in_one_run_what_was_said_in_another(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with scripted(lambda _: {"content": "Noted."}) as model:
        said = "I am allergic to peanuts.\n\nMy sister lives in Porto.\n"
        told = run("chat.py", "ada", model=model, env=environment, cwd=tmp_path, said=said)
        assert told == "Noted.\nNoted.\n"
        assert "memsense-context>" not in json.dumps(model.asked[0])
        run("chat.py", "ada", model=model, env=environment, cwd=tmp_path, said="What can I eat?")
        run("chat.py", "ben", model=model, env=environment, cwd=tmp_path, said="What can I eat?")
    of_ada, of_ben = (asked["messages"][-1]["content"] for asked in model.asked[-2:])
    assert "allergic to peanuts" in of_ada
    assert "peanuts" not in of_ben


def test_the_service_keeps_tenants_and_users_apart(environment: dict[str, str]) -> None:
    keys: dict[str, str] = {}
    for tenant in ("acme", "bolt"):
        settings = load_settings(data_dir=Path(environment["MEMSENSE_DATA_DIR"]), tenant=tenant)
        with MemSense.open(settings=settings) as memory:
            keys[tenant] = memory.access_keys.create(["read", "write"]).text
    test = """
import sys
from fastapi.testclient import TestClient
from service import app
acme, bolt = ({"Authorization": f"Bearer {key}"} for key in sys.argv[1:3])
with TestClient(app) as client:
    said = [{"role": "user", "content": "The launch code is 4711."}]
    assert client.post("/ada/sessions/one", json=said, headers=acme).json()["chunk_ids"]
    def known(user, key):
        answer = client.get(f"/{user}/context", params={"question": "launch code"}, headers=key)
        return "4711" in answer.json()["context"]
    print(known("ada", acme), known("ben", acme), known("ada", bolt))
    assert client.post("/ada/sessions/one", json="I like tea", headers=acme).json()["chunk_ids"]
    for wrong in ("", [], [{"role": "robot", "content": "x"}], [{"role": "user"}], 7):
        refused = client.post("/ada/sessions/one", json=wrong, headers=acme)
        assert (refused.status_code, bool(refused.json()["detail"])) == (422, True), wrong
    for params in ({"question": " "}, {"question": "x" * 9_000}, {}):
        refused = client.get("/ada/context", params=params, headers=acme)
        assert (refused.status_code, bool(refused.json()["detail"])) == (422, True), params
    nobody = {"Authorization": "Bearer x"}
    print(client.get("/ada/context", params={"question": "x"}, headers=nobody).status_code)
"""
    done = subprocess.run(
        [sys.executable, "-c", test, *keys.values()],
        env={**environment, "PYTHONPATH": str(EXAMPLES)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True False False\n401\n"


def call(name: str, **arguments: str) -> Mapping[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": f"call-{name}", "type": "function", "function": function}]}


def test_the_coding_agent_recalls_what_it_found_out_in_this_folder(
    environment: dict[str, str], tmp_path: Path
) -> None:
    def answer(asked: Request) -> Mapping[str, Any]:
        last = asked["messages"][-1]
        if last["role"] == "user":
            learning = "build" in last["content"]
            return (
                call("shell", text="echo the build needs make -j2")
                if learning
                else call("recall", text="How is it built?")
            )
        return {"content": f"It said: {last['content']}"}

    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    with scripted(answer) as model:

        def ask(task: str, folder: Path) -> str:
            return run("coding_agent.py", task, model=model, env=environment, cwd=folder)

        assert "exit code 0\nthe build needs make -j2" in ask("Find out how to build it.", here)
        assert "make -j2" in ask("How was that done?", here)
        assert "make -j2" not in ask("How was that done?", elsewhere)
