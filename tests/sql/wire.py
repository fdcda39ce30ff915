"""Proxy between a client and PostgreSQL that counts the traffic."""

import socket
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

PORT = 5432


@dataclass(slots=True)
class Counts:
    """Traffic of all connections: statements run and parsed, round trips, bytes.

    A round trip is a Sync, after which a client waits for the answer. A late flush is one without
    effect, because it comes right after a Sync.
    """

    statements: int = 0
    parsed: int = 0
    round_trips: int = 0
    late_flushes: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0

    def since(self, earlier: "Counts") -> dict[str, int]:
        """Return the difference to earlier counts, by name."""
        return {name: getattr(self, name) - getattr(earlier, name) for name in self.__slots__}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportAttributeAccessIssue]


class Wire:
    """Counts so far; see `counting_wire`."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._counts = Counts()
        self._lock = threading.Lock()

    @property
    def counts(self) -> Counts:
        """Return a copy of the counts so far."""
        with self._lock:
            return replace(self._counts)

    def serve(self, client: socket.socket) -> None:
        """Pass on what a client and the server say, until one of them has ended."""
        server = self._connect()
        reader = _Messages(self._count)
        for source, target, note in (
            (client, server, reader.read),
            (server, client, self._count_received),
        ):
            threading.Thread(target=_pass_on, args=(source, target, note), daemon=True).start()

    def _count(self, kind: bytes, length: int, previous: bytes) -> None:
        with self._lock:
            self._counts.bytes_sent += length
            self._counts.statements += kind in (b"E", b"Q")
            self._counts.parsed += kind == b"P"
            self._counts.round_trips += kind in (b"S", b"Q")
            self._counts.late_flushes += kind == b"H" and previous == b"S"

    def _count_received(self, data: bytes) -> None:
        with self._lock:
            self._counts.bytes_received += len(data)


class _Messages:
    """Parser of a client's messages: a type, and a length that includes itself."""

    def __init__(self, tell: Callable[[bytes, int, bytes], None]) -> None:
        self._tell = tell
        self._rest = b""
        self._has_begun = False
        self._previous = b""

    def read(self, data: bytes) -> None:
        """Take more of what was sent."""
        self._rest += data
        while True:
            typed = 1 if self._has_begun else 0  # the first message has no type
            if len(self._rest) < typed + 4:
                return
            length = typed + int.from_bytes(self._rest[typed : typed + 4], "big")
            if len(self._rest) < length:
                return
            kind = self._rest[:typed]
            self._tell(kind, length, self._previous)
            self._rest, self._has_begun, self._previous = self._rest[length:], True, kind


def _pass_on(source: socket.socket, target: socket.socket, note: Callable[[bytes], None]) -> None:
    with source, target:
        try:
            while data := source.recv(1 << 16):
                note(data)
                target.sendall(data)
        except OSError:
            return  # the other one has ended


@contextmanager
def counting_wire(url: str) -> Generator[tuple[str, Wire]]:
    """Yield the database's URL through a wire, and the wire."""
    with psycopg.connect(url) as known:
        host, port = known.info.host, known.info.port

    def connect() -> socket.socket:
        if host.startswith("/"):
            unix = socket.socket(socket.AF_UNIX)
            unix.connect(f"{host}/.s.PGSQL.{port}")
            return unix
        return socket.create_connection((host, port))

    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="wire-"))
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(Path(folder) / f".s.PGSQL.{PORT}"))
        listener.listen()
        wire = Wire(connect)

        def accept() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return  # closed
                wire.serve(client)

        threading.Thread(target=accept, daemon=True).start()
        named = {name: str(value) for name, value in conninfo_to_dict(url).items()}
        yield make_conninfo(**{**named, "host": folder, "port": str(PORT)}), wire
        listener.shutdown(socket.SHUT_RDWR)
