"""Exports, imports and uploaded logs: streamed, or made in the background as resources.

A resource has an address, which its key can ask for its state, and fetch an export from in parts.
It belongs to this process, and goes an hour after its end.
"""

import shutil
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import UUID, uuid4
from weakref import finalize

import anyio
from anyio import from_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastapi import Request, Response
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.types import Receive, Scope, Send

from memsense.errors import InvalidInputError, MemSenseError
from memsense.inputs import Checker, Name
from memsense.server.problems import BodyTooLargeError, ProblemError

LINES = "application/x-ndjson"

PIECE_BYTES = 64 * 1024
"""Bytes that an export collects before it sends them."""

SEND_SECONDS = 60.0
"""Time in which a client must take a piece of an export; then its connection ends."""

KEPT_SECONDS = 3600.0
MOST_KEPT = 100
MOST_RUNNING, MOST_OF_TENANT = 4, 2
"""Exports, imports or ingests that one process runs at once, for all tenants and for each one."""

Kind = Literal["export", "import", "ingest"]
Status = Literal["running", "done", "failed"]


# Streams -----------------------------------------------------------------------------------------


class _Pipe:
    """File that a thread writes, and whose pieces a response sends."""

    def __init__(self, pieces: MemoryObjectSendStream[bytes]) -> None:
        self._pieces = pieces
        self._buffer = bytearray()
        self._has_begun = False

    def write(self, text: str) -> None:
        """Pass text on; raises once the client is gone, which ends the writer's work."""
        self._buffer += text.encode()
        # The first line goes at once: it says that the export has begun.
        if len(self._buffer) >= PIECE_BYTES or not self._has_begun:
            self._has_begun = True
            self.flush()

    def take(self) -> bytes:
        """Return what was collected and not sent yet."""
        piece, self._buffer = bytes(self._buffer), bytearray()
        return piece

    def flush(self) -> None:
        """Send what was collected, and wait until there is room for it."""
        from_thread.run(self._pieces.send, self.take())


Export = Callable[[Any], Any]
"""Coroutine function that writes an export to an open file."""


class ExportResponse(Response):
    """Response that sends an export while it is written; its work ends when the client leaves."""

    media_type = LINES

    def __init__(self, export: Export) -> None:
        super().__init__(
            media_type=LINES, headers={"Content-Disposition": 'attachment; filename="memory.jsonl"'}
        )
        del self.headers["content-length"]
        self._export = export

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the headers with the first piece, so that an early error is still a problem."""
        pieces_in, pieces_out = anyio.create_memory_object_stream[bytes](2)
        failure: list[MemSenseError] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._write, pieces_in, failure)
            group.start_soon(_cancel_when_gone, receive, group.cancel_scope)
            await self._send(pieces_out, failure, send)
            group.cancel_scope.cancel()
        if failure:
            raise failure[0]

    async def _write(
        self, pieces: MemoryObjectSendStream[bytes], failure: list[MemSenseError]
    ) -> None:
        pipe = _Pipe(pieces)
        async with pieces:
            try:
                await self._export(pipe)
                await pieces.send(pipe.take())
            except MemSenseError as error:
                failure.append(error)

    async def _send(
        self, pieces: MemoryObjectReceiveStream[bytes], failure: list[MemSenseError], send: Send
    ) -> None:
        has_begun = False
        async with pieces:
            async for piece in pieces:
                if not has_begun:
                    start = {"type": "http.response.start", "status": 200}
                    await send({**start, "headers": self.raw_headers})
                    has_begun = True
                with anyio.fail_after(SEND_SECONDS):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        # An export that failed half-way has no end: the client sees that it was cut off.
        if has_begun and not failure:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


# Uploads -----------------------------------------------------------------------------------------


async def open_upload(request: Request, largest: int) -> tuple[str, AsyncIterator[bytes]]:
    """Return the name and the bytes of an uploaded file: the body, or the one file of a form.

    The name of a body is empty. Reading raises BodyTooLargeError after `largest` bytes.

    Raises:
        ProblemError: If the form can't be read, or holds no file.
        InvalidInputError: If the form's file has a name that can't be stored.
    """
    body = _limit(request.stream(), largest)
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        return "", body
    # Not by a parameter of the route: FastAPI would store the file before it checks the key.
    try:
        form = await MultiPartParser(request.headers, body, max_files=1).parse()
    except MultiPartException as error:
        raise ProblemError(400, f"the form can't be read: {error.message}") from error
    file = next((item for item in form.values() if isinstance(item, UploadFile)), None)
    if file is None:
        raise ProblemError(422, "file is missing: send the form's file as `curl -F file=@chat.txt`")
    try:
        return _read_file_name(file.filename), _pieces_of(file)
    except InvalidInputError:
        await file.close()
        raise


_read_file_name = Checker(Name, "the name of the form's file")


async def _limit(body: AsyncIterator[bytes], largest: int) -> AsyncGenerator[bytes]:
    size = 0
    async for piece in body:
        size += len(piece)
        if size > largest:
            raise BodyTooLargeError(largest)
        yield piece


async def _pieces_of(file: UploadFile) -> AsyncIterator[bytes]:
    """Yield the bytes of a form's file, whose temporary file goes with the last of them."""
    try:
        while piece := await file.read(PIECE_BYTES):
            yield piece
    finally:
        await file.close()


# Resources ---------------------------------------------------------------------------------------


class Owner(NamedTuple):
    """The memory that a key opens: of a tenant's namespace, all or one user's."""

    tenant: str
    namespace: str
    user_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """State of an export or import.

    Keys of another `owner` than that of the key that created it do not see it.
    """

    transfer_id: UUID
    kind: Kind
    owner: Owner
    status: Status
    created_at: datetime
    ended_at: datetime | None = None
    bytes: int = 0
    report: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str | None = None


class _Cancelled(Exception):  # noqa: N818 (no error: a request deleted the resource)
    """The resource was deleted while its work ran."""


class _Counted:
    """File that counts what is written, and refuses more once its resource is gone."""

    def __init__(self, file: Any, is_wanted: Callable[[int], bool]) -> None:
        self._file = file
        self._is_wanted = is_wanted
        self._size = 0

    def write(self, text: str) -> None:
        """Write text."""
        self._size += len(text.encode())
        if not self._is_wanted(self._size):
            raise _Cancelled
        self._file.write(text)


class Transfers:
    """Exports and imports of this process, each in a thread of its own."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._items: dict[UUID, Transfer] = {}
        self._ends: dict[UUID, float] = {}
        self._keys: dict[tuple[Kind, Owner, str], UUID] = {}
        self._directory: Path | None = None

    def path(self, transfer_id: UUID) -> Path:
        """Return the file of an export or import."""
        with self._lock:
            if self._directory is None:
                self._directory = Path(tempfile.mkdtemp(prefix="memsense-transfers-"))
                # Also where the server is not closed: the files hold memories.
                finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
            return self._directory / f"{transfer_id}.jsonl"

    def find(self, kind: Kind, transfer_id: UUID, owner: Owner) -> Transfer:
        """Return one of these keys' own; raise ProblemError for any other id."""
        self._drop_old()
        item = self._items.get(transfer_id)
        if item is None or (item.kind, item.owner) != (kind, owner):
            raise ProblemError(404, f"no {kind} {transfer_id}; it may have been dropped")
        return item

    def list(self, kind: Kind, owner: Owner) -> list[Transfer]:
        """Return these keys' own, the latest first."""
        self._drop_old()
        items = self._items.values()
        return [it for it in items if (it.kind, it.owner) == (kind, owner)][::-1]

    def find_repeated(self, kind: Kind, owner: Owner, key: str | None) -> Transfer | None:
        """Return what an earlier request under this Idempotency-Key has created, if anything."""
        if key is None:
            return None
        return self._items.get(self._keys.get((kind, owner, key), UUID(int=0)))

    def delete(self, item: Transfer) -> None:
        """Forget one; its work ends."""
        with self._lock:
            self._forget(item.transfer_id)

    def begin(self, kind: Kind, owner: Owner, key: str | None) -> Transfer:
        """Return a new one; raise ProblemError if too many are running."""
        self._drop_old()
        with self._lock:
            same = [item for item in self._items.values() if item.kind == kind]
            running = [item for item in same if item.status == "running"]
            own = [item for item in running if item.owner.tenant == owner.tenant]
            if len(running) >= MOST_RUNNING or len(own) >= MOST_OF_TENANT:
                raise ProblemError(
                    429,
                    f"other {kind}s are running: wait until one has ended, or delete one",
                    {"Retry-After": "5"},
                )
            item = Transfer(
                transfer_id=uuid4(),
                kind=kind,
                owner=owner,
                status="running",
                created_at=datetime.now(UTC),
            )
            self._items[item.transfer_id] = item
            if key is not None:
                self._keys[kind, owner, key] = item.transfer_id
            if len(self._items) > MOST_KEPT:
                self._forget(next(iter(self._ends), next(iter(self._items))))
        return item

    def run_export(self, item: Transfer, export: Callable[[Any], Any]) -> None:
        """Write an export in a thread; `export` writes to an open file and returns its report."""
        path = self.path(item.transfer_id)

        def work() -> Mapping[str, Any]:
            with path.open("w", encoding="utf-8") as file:
                counted = _Counted(file, lambda size: self._change(item, bytes=size))
                report = export(counted)
            return {"users": report.users, "chunks": report.chunks}

        self._start(item, work)

    def run_import(
        self, item: Transfer, read: Callable[[Path, Callable[[Any], None]], Any]
    ) -> None:
        """Import an uploaded file in a thread; `read` calls back after each session."""
        path = self.path(item.transfer_id)

        def note(report: Any) -> None:
            if not self._change(item, report=report.as_dict()):
                raise _Cancelled

        def work() -> Mapping[str, Any]:
            try:
                return read(path, note).as_dict()
            finally:
                path.unlink(missing_ok=True)

        self._start(item, work)

    async def store(self, item: Transfer, body: AsyncIterator[bytes]) -> None:
        """Store an upload."""
        size = 0
        try:
            async with await anyio.open_file(self.path(item.transfer_id), "wb") as file:
                async for piece in body:
                    size += await file.write(piece)
        except BaseException:  # a client that leaves, too
            self.delete(item)
            raise
        self._change(item, bytes=size)

    def close(self) -> None:
        """Forget all of them, and remove their files."""
        with self._lock:
            for transfer_id in [*self._items]:
                self._forget(transfer_id)
            if self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)
                self._directory = None

    def _start(self, item: Transfer, work: Callable[[], Mapping[str, Any]]) -> None:
        def run() -> None:
            # However the work ends: one that ran for ever would keep its place among the running.
            changes: dict[str, Any] = {"status": "failed", "error": "it ended unexpectedly"}
            try:
                changes = {"status": "done", "report": work()}
            except _Cancelled:
                return
            except (MemSenseError, OSError) as error:
                changes["error"] = str(error)
            finally:
                self._end(item, **changes)

        # In the request's context, which names the actor of what an import writes.
        threading.Thread(
            target=copy_context().run, args=(run,), name=f"memsense-{item.kind}", daemon=True
        ).start()

    def _end(self, item: Transfer, **changes: Any) -> None:
        if self._change(item, ended_at=datetime.now(UTC), **changes):
            with self._lock:
                self._ends[item.transfer_id] = self._clock()

    def _change(self, item: Transfer, **changes: Any) -> bool:
        """Change the state; return False if the resource is gone."""
        with self._lock:
            present = self._items.get(item.transfer_id)
            if present is not None:
                self._items[item.transfer_id] = replace(present, **changes)
        return present is not None

    def _drop_old(self) -> None:
        with self._lock:
            now = self._clock()
            for transfer_id in [it for it, end in self._ends.items() if now - end > KEPT_SECONDS]:
                self._forget(transfer_id)

    def _forget(self, transfer_id: UUID) -> None:
        self._items.pop(transfer_id, None)
        self._ends.pop(transfer_id, None)
        for name in [name for name, value in self._keys.items() if value == transfer_id]:
            del self._keys[name]
        if self._directory is not None:
            (self._directory / f"{transfer_id}.jsonl").unlink(missing_ok=True)
