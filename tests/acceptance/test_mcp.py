"""`memsense mcp` as hosts meet it: a process on stdin and stdout, or one on HTTP for many."""

import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import anyio
import psycopg
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_answers import ask, call, ids_in, text_of
from mcp_processes import (
    COMMAND,
    FIRST_SDK,
    PATIENCE,
    environment,
    http_server,
    started,
    stdio,
)
from starlette.applications import Starlette

from memsense import MemSense, load_settings
from memsense.mcp.scope import OneScope, Scope
from memsense.mcp.server import build_server
from memsense.mcp.transports import build_app, is_loopback

MODES = ("auto", "legacy", "2026-07-28")


async def remember_and_recall(client: Client, mode: str) -> None:
    text = f"I drink tea in mode {mode}."
    [chunk] = ids_in(await ask(client, "remember", text=text))
    assert chunk in ids_in(await ask(client, "recall", question=text))


def test_a_host_that_starts_the_server_recalls_what_it_remembered(database_url: str) -> None:
    async def main() -> None:
        async with Client(stdio(database_url)) as client:
            await remember_and_recall(client, "auto")
        async with Client(stdio(database_url), mode="legacy") as client:
            await remember_and_recall(client, "legacy")

    anyio.run(main)
    with MemSense.open(database_url) as memory:
        # Each process is a conversation of its own.
        assert len({chunk.session_id for chunk in memory.recent(user_id="ada")}) == 2


def test_one_http_server_answers_every_mode_of_the_client(database_url: str) -> None:
    async def main(address: str) -> None:
        for mode in MODES:
            async with Client(address, mode=mode) as client:
                await remember_and_recall(client, mode)

    with http_server(database_url) as address:
        anyio.run(main, address)


@pytest.mark.skipif(not FIRST_SDK.exists(), reason="`make setup-dev` installs the SDK for it")
def test_both_generations_of_the_sdk_serve_the_same(database_url: str) -> None:
    """CrewAI brings the first along, other programs the second."""

    async def describe(client: Client) -> list[Any]:
        lists = [
            *(await client.list_tools()).tools,
            *(await client.list_prompts()).prompts,
            *(await client.list_resource_templates()).resource_templates,
        ]
        return [client.instructions, *(it.model_dump(exclude={"meta"}) for it in lists)]

    async def check(client: Client, mode: str) -> None:
        await remember_and_recall(client, mode)
        explained = await call(client, "recall", question="tea", explain=True)
        assert explained.structured_content is not None
        assert explained.structured_content["memories"]
        refused = await call(client, "recall", question="tea", tagz=["tea"])
        assert refused.is_error
        assert text_of(refused).endswith("recall: tagz is unknown; did you mean 'tags'?")
        [message] = (await client.get_prompt("recall", {"question": "tea"})).messages
        assert "user: I drink tea" in getattr(message.content, "text", "")
        with pytest.raises(MCPError, match="quest is unknown; did you mean 'question'"):
            await client.get_prompt("recall", {"quest": "tea"})
        [content] = (await client.read_resource("memsense://chunk/1")).contents
        assert "I drink tea" in getattr(content, "text", "")
        with pytest.raises(MCPError, match="no chunk 99 in this namespace"):
            await client.read_resource("memsense://chunk/99")

    async def main(address: str) -> None:
        async with Client(stdio(database_url), mode="legacy") as client:
            second = await describe(client)
        async with Client(stdio(database_url, first_sdk=True), mode="legacy") as client:
            assert await describe(client) == second
            await check(client, "first, legacy")
        async with Client(stdio(database_url, first_sdk=True)) as client:
            await check(client, "first, auto")
        async with Client(address, mode="legacy") as client:
            await check(client, "first, HTTP")

    with http_server(database_url, first_sdk=True) as address:
        anyio.run(main, address)
        assert post(address, {"Host": "evil.example"}) == 421
        assert post(address, {"Origin": "http://evil.example"}) == 403


AGENTS, EACH = 10, 12


def say(number: int, count: int) -> str:
    return f"Agent {number} has sent the parcel p{number}x{count} away."


def test_ten_agents_on_one_memory_at_once_lose_nothing(database_url: str) -> None:
    """Four that start a server of their own and six on one of HTTP, all in one session."""
    options = ("--session", "shared")

    async def agent(server: StdioServerParameters | str, number: int) -> None:
        async with Client(server) as client:
            for count in range(EACH):
                text = say(number, count)
                [chunk] = ids_in(await ask(client, "remember", text=text))
                if count % 4 == 0:
                    assert chunk in ids_in(await ask(client, "recall", question=text, top_k=20))

    async def main(address: str) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(AGENTS):
                own = stdio(database_url, *options)
                tasks.start_soon(agent, own if number < 4 else address, number)

    with http_server(database_url, *options) as address:
        anyio.run(main, address)
    with psycopg.connect(database_url) as conn:
        found = conn.execute(
            "SELECT user_text, ordinal, status FROM memsense.chunks"
            " WHERE session_id = 'shared' AND granularity = 'turn'"
        ).fetchall()
        vectors = conn.execute(
            "SELECT count(DISTINCT chunk_id) FROM memsense.embeddings"
        ).fetchone()
    assert {text for text, _, _ in found} == {
        say(number, count) for number in range(AGENTS) for count in range(EACH)
    }
    assert sorted(ordinal for _, ordinal, _ in found) == list(range(AGENTS * EACH))
    assert {status for _, _, status in found} == {"active"}
    assert vectors == (AGENTS * EACH,)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_whose_stdin_stays_open(database_url: str, number: int) -> None:
    with started(database_url) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.stdout.readline().startswith('{"jsonrpc":"2.0","id":1')
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
        told = "interrupted" if number == signal.SIGINT else "terminated"
        assert process.stderr.read() == f"memsense: {told}\n"
        assert process.stdout.read() == ""


def test_a_server_whose_stdin_ends_ends_well_and_prints_nothing_else(database_url: str) -> None:
    with started(database_url) as process:
        told, errors = process.communicate("no JSON\n", timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
        assert all(line.startswith("{") for line in told.splitlines())


def refusal(url: str, *options: str) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, *options],
        env=environment(url),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_server_listens_on_this_machine_alone(database_url: str) -> None:
    for host in ("127.0.0.1", "127.0.0.7", "::1", "localhost"):
        assert is_loopback(host)
    for host in ("0.0.0.0", "192.168.1.7", "example.com", "::", "localhost.example.com"):  # noqa: S104
        assert not is_loopback(host)
    code, told = refusal(database_url, "--user", "ada", "--http", "--host", "192.168.1.7")
    assert code == 2
    assert told.startswith("memsense: --host 192.168.1.7: without keys the server listens only on")


def test_what_keeps_a_server_from_starting_is_told_in_one_line(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, told = refusal(database_url, "--user", "ada", "--http", "--port", port)
    assert code == 2
    assert told.startswith(f"memsense: can't listen on 127.0.0.1, port {port}: ")
    gone = database_url.replace("/memsense_test_", "/gone_")
    code, told = refusal(gone, "--user", "ada", "--http", "--port", "0")
    assert code == 2
    assert told.startswith("memsense: ")
    assert "does not exist" in told
    assert len(told.splitlines()) == 1
    code, told = refusal(database_url, "--user", " ")
    assert (code, told) == (2, "memsense: --user is empty: ' '\n")
    code, told = refusal(database_url, "--port", "many")
    assert code == 2
    assert "--port" in told


def test_a_missing_library_is_named_with_what_installs_it(database_url: str) -> None:
    without = "import sys; sys.modules['mcp'] = None; from memsense.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", without, "mcp", "--user", "ada"],
        env=environment(database_url),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.endswith("pip install 'memsense[mcp]'\n")


def post(address: str, headers: dict[str, str]) -> int:
    """The status of a request for the list of tools."""
    place = urlsplit(address)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)
    body = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    accepted = "application/json, text/event-stream"
    given = {"Content-Type": "application/json", "Accept": accepted, **headers}
    connection.request("POST", place.path, body, given)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_page_of_another_name_gets_no_answer(database_url: str) -> None:
    with http_server(database_url) as address:
        assert post(address, {}) == 200
        assert post(address, {"Origin": "http://localhost:3000"}) == 200
        assert post(address, {"Host": "evil.example"}) == 421
        assert post(address, {"Origin": "http://evil.example"}) == 403


def test_another_application_takes_the_server_in(database_url: str) -> None:
    """As a service with a memory of its own would, whose lifespan runs this one's."""
    find = OneScope(load_settings(database_url=database_url), Scope(user_id="ada"))
    inner = build_app(build_server(find))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with find, inner.router.lifespan_context(inner):
            yield

    outer = Starlette(routes=inner.routes, lifespan=lifespan)

    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            server = uvicorn.Server(uvicorn.Config(outer, log_level="error"))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve, [listening])
                async with Client(address) as client:
                    await remember_and_recall(client, "mounted")
                server.should_exit = True

    anyio.run(main)
