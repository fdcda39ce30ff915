"""Daemon that keeps a memory open for hooks, and ends after a time without requests."""

import fcntl
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from memsense.client.memory import MemSense
from memsense.client.user_memory import UserMemory
from memsense.errors import MemSenseError
from memsense.hooks.agents import ANSWERED
from memsense.hooks.capture import ingest_entry, list_queue
from memsense.hooks.folder import OPENING, SOCKET, HookFolder, build_id
from memsense.hooks.recall import Recaller

LOCK_TIMEOUT = 5.0
"""Seconds that a daemon waits for its predecessor to end, and for a client's request."""

RETRY_SECONDS = 2.0
"""Seconds after which opening the memory, or writing to it, is tried again."""

LONGEST_OPENING = 10.0
"""Seconds after the start during which prompts wait longer; later the database is at fault."""

WARM_UP = "Where did we leave off?"
"""Question of the search that loads the model and prepares statements before the first prompt."""

_THREADS = 8
_TICK = 0.5
_LONGEST_LINE = 1 << 24

logger = logging.getLogger("memsense.hooks")


class Daemon:
    """Keeps one user's memory open for hooks.

        Daemon(folder, open_memory, user_id="ada", idle=900).run()

    `idle` is the number of seconds without a request after which it ends. `lock` is the descriptor
    of a locked file that the daemon inherits from the hook that started it.
    """

    def __init__(
        self,
        folder: HookFolder,
        open_memory: Callable[[], MemSense],
        *,
        user_id: str,
        idle: float,
        lock: int | None = None,
    ) -> None:
        self._folder = folder
        self._open_memory = open_memory
        self._user_id = user_id
        self._idle = idle
        self._lock = lock
        self._recaller = Recaller()
        self._memory: MemSense | None = None
        self._failure: tuple[float, MemSenseError] | None = None
        self._opening = threading.Lock()
        self._has_queue = threading.Event()
        self._ending = threading.Event()
        # A first search loads the model and prepares statements, which takes as long as opening.
        self._has_searched = threading.Event()
        self._has_prompt = threading.Event()
        self._has_warmed_up = False
        self._started_at = time.monotonic()
        self._last_request = time.monotonic()

    def run(self) -> None:
        """Serve requests until stopped or idle; return at once if another daemon runs."""
        self._folder.create()
        os.chdir(self._folder.path)
        if self._lock is None:
            self._lock = _acquire_lock(self._folder)
        if self._lock is None:
            return
        # A child process, such as an embedded PostgreSQL, must not hold the lock after our end.
        os.set_inheritable(self._lock, False)
        try:
            self._serve()
        finally:
            self._ending.set()
            self._has_queue.set()
            if self._memory is not None:
                self._memory.close()
            os.close(self._lock)

    def _serve(self) -> None:
        # The holder of the lock owns the socket: an existing file was left by a killed daemon.
        self._folder.path.joinpath(SOCKET).unlink(missing_ok=True)
        capture = threading.Thread(target=self._ingest_queue, name="memsense-capture")
        with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(_THREADS) as threads:
            listener.bind(SOCKET)
            listener.listen(_THREADS)
            listener.settimeout(_TICK)
            capture.start()
            # The queue may hold sessions of a time when no daemon ran.
            self._has_queue.set()
            try:
                while not self._ending.is_set():
                    is_idle = time.monotonic() - self._last_request > self._idle
                    has_work = self._has_queue.is_set() and capture.is_alive()
                    if is_idle and not has_work:
                        break
                    try:
                        connection, _ = listener.accept()
                    except TimeoutError:
                        continue
                    self._last_request = time.monotonic()
                    threads.submit(self._answer, connection).add_done_callback(_log_failure)
            finally:
                self._folder.path.joinpath(SOCKET).unlink(missing_ok=True)
                self._ending.set()
                self._has_queue.set()
                capture.join()

    # Requests ------------------------------------------------------------------------------------

    def _answer(self, connection: socket.socket) -> None:
        received_at = time.monotonic()
        with connection:
            connection.settimeout(LOCK_TIMEOUT)
            try:
                with connection.makefile("rb") as stream:
                    request = json.loads(stream.readline(_LONGEST_LINE))
                limit = request.get("seconds", 0)
                if request["task"] in ANSWERED and self._is_opening():
                    if request["task"] == "recall":
                        self._has_prompt.set()
                    connection.sendall(OPENING)
                    limit = request["opening_seconds"]
                answer, chunk_ids = self._handle(request)
                # Recorded before the answer is sent, because the next prompt may follow at once.
                # A hook that has given up prints nothing: its session has not seen the memories.
                elapsed = time.monotonic() - received_at
                is_seen = bool(chunk_ids) and elapsed < limit
                if is_seen:
                    self._recaller.mark_seen(request["session_id"], chunk_ids)
                try:
                    connection.sendall(json.dumps(answer).encode() + b"\n")
                except OSError:
                    if is_seen:
                        self._recaller.unmark_seen(request["session_id"], chunk_ids)
                    raise
            except (OSError, ValueError) as error:
                logger.warning("a hook has disconnected: %s", error)

    def _handle(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], set[int]]:
        """Return the answer to a request, and the chunks that it holds."""
        if request["build"] != build_id():
            self._ending.set()
            return {"is_old": True}, set()
        if request["task"] == "stop":
            self._ending.set()
        if request["task"] == "capture":
            self._has_queue.set()
        if request.get("has_forgotten"):
            self._recaller.reset(request["session_id"])
        if request["task"] not in ANSWERED:
            return {}, set()
        session_id, max_tokens = request["session_id"], request["max_tokens"]
        try:
            memory = self._open()
            if request["task"] == "start":
                context, chunk_ids = self._recaller.start(
                    memory, session_id, request["project"], max_tokens=max_tokens
                )
            else:
                context, chunk_ids = self._recaller.recall(
                    memory,
                    session_id,
                    request["prompt"],
                    project=request["project"],
                    max_tokens=max_tokens,
                )
                self._has_searched.set()
        except MemSenseError as error:
            return {"error": str(error)}, set()
        return {"context": context}, chunk_ids

    def _is_opening(self) -> bool:
        """Return whether prompts may wait for the memory to be opened and searched once."""
        is_new = time.monotonic() < self._started_at + LONGEST_OPENING
        return is_new and not self._has_searched.is_set()

    def _open(self) -> UserMemory:
        """Return the memory, opened at the first call; raises the error of opening it."""
        with self._opening:
            if self._memory is None:
                # With the database down, prompts fail at once instead of each waiting for it.
                if self._failure is not None:
                    failed_at, failure = self._failure
                    if time.monotonic() < failed_at + RETRY_SECONDS:
                        raise failure
                try:
                    self._memory = self._open_memory()
                except MemSenseError as error:
                    logger.warning("memory can't be opened: %s", error)
                    self._failure = time.monotonic(), error
                    raise
                self._failure = None
        return self._memory.for_user(self._user_id)

    # Queue ---------------------------------------------------------------------------------------

    def _ingest_queue(self) -> None:
        """Ingest queued sessions whenever a hook has queued one, until the daemon ends."""
        while not self._ending.is_set():
            self._has_queue.wait()
            try:
                # Also without a queue: so the memory is open before the first prompt.
                memory = self._open()
                if not self._has_warmed_up:
                    self._warm_up(memory)
                for entry in list_queue(self._folder):
                    if not self._ending.is_set():
                        ingest_entry(memory, entry)
            except MemSenseError as error:
                logger.warning("ingestion is retried later: %s", error)
                self._ending.wait(RETRY_SECONDS)
                if time.monotonic() - self._last_request > self._idle:
                    # Let an idle daemon end; the next one finds the sessions in the queue.
                    self._has_queue.clear()
                continue
            if not list_queue(self._folder):
                self._has_queue.clear()

    def _warm_up(self, memory: UserMemory) -> None:
        """Search once, unless a prompt waits that searches by itself: this would delay it."""
        self._has_warmed_up = True
        if not self._has_prompt.is_set():
            memory.search(WARM_UP, top_k=1, trace=False)
            self._has_searched.set()
        logger.info("the memory is open")


def _acquire_lock(folder: HookFolder) -> int | None:
    """Return the descriptor of the locked file, or None if another daemon holds it."""
    lock = os.open(folder.lock, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                return None
            time.sleep(0.05)
        else:
            return lock


def _log_failure(future: "Future[None]") -> None:
    """Log an unexpected error of a request, which its thread would otherwise swallow."""
    if error := future.exception():
        logger.error("a hook's request failed", exc_info=error)
