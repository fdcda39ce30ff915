"""Connections: what is sent too slowly, or without end, is closed, and holds no slot meanwhile."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest
import uvicorn
from serving import Serve, Served, add
from waiting import wait_until

from memsense.server import guards, run
from memsense.server.run import QuickProtocol

SHORT = 0.3
"""Seconds that the server waits in these tests."""

LONG = 30.0
"""Seconds after which a test gives up."""


@contextmanager
def listening(served: Served) -> Generator[int]:
    """Run the server in a thread; yield its port."""
    config = uvicorn.Config(served.app, port=0, http=QuickProtocol, log_level="critical")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            wait_until(lambda: server.started, "the server's start")
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(LONG)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=LONG)


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the server closes the connection."""
    parts: list[bytes] = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def head(served: Served, length: int) -> bytes:
    lines = [
        "POST /v1/search HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {served.key('acme')}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /health/live HTTP/1.1\r\nHost: local", b"GET /health/live HTTP/1.1\r\nX: "],
    ids=["nothing", "half a head", "a head that goes on"],
)
def test_a_head_that_comes_too_slowly_ends_the_connection(
    served: Served, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(run, "REQUEST_SECONDS", SHORT)
    with listening(served) as port, connect(port) as connection:
        connection.sendall(sent)
        if sent.endswith(b"X: "):
            # A byte now and then earns no more time.
            connection.settimeout(SHORT / 6)
            try:
                for _ in range(1_000):
                    with suppress(TimeoutError):
                        assert connection.recv(1) == b""
                        return
                    connection.sendall(b"x")
            except ConnectionError:
                return  # the server closed between a byte and the next
            raise AssertionError("the connection stays open while bytes come")
        assert read_all(connection) == b""


def test_a_head_without_end_closes_the_connection(served: Served) -> None:
    with listening(served) as port, connect(port) as connection:
        line = b"X-Long: " + b"x" * 1_000 + b"\r\n"
        connection.sendall(b"GET /health/live HTTP/1.1\r\n")
        sent = 0
        with suppress(ConnectionError):
            while sent < 100 * run.LARGEST_HEAD:
                connection.sendall(line)
                sent += len(line)
        assert sent < 100 * run.LARGEST_HEAD


def test_a_body_that_comes_too_slowly_is_told_so(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "BODY_SECONDS", SHORT)
    with listening(served) as port, connect(port) as connection:
        connection.sendall(head(served, 100) + b'{"query"')
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"8 bytes so far" in answer


def test_a_slow_body_holds_no_slot(serve: Serve) -> None:
    served = serve(slots=1)
    with listening(served) as port, connect(port) as slow:
        slow.sendall(head(served, 100) + b'{"query"')
        client = served.client()
        add(client)
        body = {"query": "Lisbon", "user_id": "ada"}
        assert client.post("/v1/search", json=body).status_code == 200
        # The rest of the body is still welcome.
        rest = b': "Lisbon", "user_id": "ada"}'
        slow.sendall(rest.ljust(100 - len(b'{"query"')))
        assert slow.recv(65536).startswith(b"HTTP/1.1 200 ")
