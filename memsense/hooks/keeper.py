"""The process that hooks ask: it has the memory open, and ends when none has asked for a while."""

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
from memsense.client.own import UserMemory
from memsense.errors import MemSenseError
from memsense.hooks.capturing import take_in, waiting
from memsense.hooks.place import SOCKET, Place, build
from memsense.hooks.recalling import Recaller

PATIENCE = 5.0
"""Seconds that a process waits for the one before it to end."""

AGAIN = 2.0
"""Seconds after which a memory that couldn't be opened, or written to, is tried again."""

_THREADS = 8
_TICK = 0.5
_LONGEST_LINE = 1 << 24

logger = logging.getLogger("memsense.hooks")


class Keeper:
    """Keeps one user's memory open for hooks.

    Keeper(place, open_memory, user_id="ada", idle=900).run()

    `lock` is the open file of a lock that whoever started this process holds for it.
    """

    def __init__(
        self,
        place: Place,
        open_memory: Callable[[], MemSense],
        *,
        user_id: str,
        idle: float,
        lock: int | None = None,
    ) -> None:
        self._place = place
        self._open_memory = open_memory
        self._user_id = user_id
        self._idle = idle
        self._lock = lock
        self._recaller = Recaller()
        self._memory: MemSense | None = None
        self._failure: tuple[float, MemSenseError] | None = None
        self._opening = threading.Lock()
        self._noted = threading.Event()
        self._ending = threading.Event()
        self._last_asked = time.monotonic()

    def run(self) -> None:
        """Answer until told to end, or idle; at once where another process answers."""
        self._place.make()
        os.chdir(self._place.folder)
        if self._lock is None:
            self._lock = _take(self._place)
        if self._lock is None:
            return
        os.set_inheritable(self._lock, False)
        try:
            self._answer()
        finally:
            self._ending.set()
            self._noted.set()
            if self._memory is not None:
                self._memory.close()
            os.close(self._lock)

    def _answer(self) -> None:
        self._place.folder.joinpath(SOCKET).unlink(missing_ok=True)
        taking = threading.Thread(target=self._take_in, name="memsense-capture")
        with socket.socket(socket.AF_UNIX) as listening, ThreadPoolExecutor(_THREADS) as threads:
            listening.bind(SOCKET)
            listening.listen(_THREADS)
            listening.settimeout(_TICK)
            taking.start()
            self._noted.set()
            try:
                while not self._is_over(taking):
                    try:
                        connection, _ = listening.accept()
                    except TimeoutError:
                        continue
                    self._last_asked = time.monotonic()
                    threads.submit(self._serve, connection).add_done_callback(_report)
            finally:
                self._place.folder.joinpath(SOCKET).unlink(missing_ok=True)
                self._ending.set()
                self._noted.set()
                taking.join()

    def _is_over(self, taking: threading.Thread) -> bool:
        is_idle = time.monotonic() - self._last_asked > self._idle
        has_work = self._noted.is_set() and taking.is_alive()
        return self._ending.is_set() or (is_idle and not has_work)

    # One question --------------------------------------------------------------------------------

    def _serve(self, connection: socket.socket) -> None:
        asked = time.monotonic()
        with connection:
            connection.settimeout(PATIENCE)
            try:
                with connection.makefile("rb") as asking:
                    request = json.loads(asking.readline(_LONGEST_LINE))
                answer, given = self._do(request)
                connection.sendall(json.dumps(answer).encode() + b"\n")
            except (OSError, ValueError) as error:
                logger.warning("a hook has gone: %s", error)
                return
        if given and time.monotonic() - asked < request["seconds"]:
            self._recaller.note_given(request["session_id"], given)

    def _do(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], set[int]]:
        if request["build"] != build():
            self._ending.set()
            return {"is_old": True}, set()
        if request["task"] == "stop":
            self._ending.set()
        if request["task"] == "capture":
            self._noted.set()
        if request.get("has_forgotten"):
            self._recaller.forget(request["session_id"])
        if request["task"] != "recall":
            return {}, set()
        try:
            context, given = self._recaller.recall(
                self._opened(),
                request["session_id"],
                request["prompt"],
                max_tokens=request["max_tokens"],
            )
        except MemSenseError as error:
            return {"error": str(error)}, set()
        return {"context": context}, given

    def _opened(self) -> UserMemory:
        """The memory, opened by whoever comes first; raises why it isn't."""
        with self._opening:
            if self._memory is None:
                if self._failure is not None and time.monotonic() < self._failure[0] + AGAIN:
                    raise self._failure[1]
                try:
                    self._memory = self._open_memory()
                except MemSenseError as error:
                    logger.warning("memory can't be opened: %s", error)
                    self._failure = time.monotonic(), error
                    raise
                self._failure = None
        return self._memory.for_user(self._user_id)

    # What was noted ------------------------------------------------------------------------------

    def _take_in(self) -> None:
        """Take in what is noted, whenever a hook says that something is; opens the memory first."""
        while not self._ending.is_set():
            self._noted.wait()
            try:
                memory = self._opened()
                for noted in waiting(self._place):
                    if not self._ending.is_set():
                        take_in(memory, noted)
            except MemSenseError as error:
                logger.warning("taken in later: %s", error)
                self._ending.wait(AGAIN)
                if time.monotonic() - self._last_asked > self._idle:
                    self._noted.clear()  # it stays noted for the next process
                continue
            if not waiting(self._place):
                self._noted.clear()


def _take(place: Place) -> int | None:
    """The lock as an open file, None if another process keeps it."""
    lock = os.open(place.lock, os.O_RDWR | os.O_CREAT, 0o600)
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends:
                os.close(lock)
                return None
            time.sleep(0.05)
        else:
            return lock


def _report(answered: "Future[None]") -> None:
    """Tell what no hook was told."""
    if error := answered.exception():
        logger.error("a hook got no answer", exc_info=error)
