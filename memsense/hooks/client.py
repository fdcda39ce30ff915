"""Client side of a hook: queues sessions for ingestion, and asks the daemon for memories."""

import fcntl
import hashlib
import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from memsense.hooks.agents import ANSWERED, Event
from memsense.hooks.folder import OPENING, SOCKET, HookFolder, build_id

PAUSE = 0.02
"""Seconds between attempts to connect to a daemon that is starting."""

_LARGEST_LOG = 1 << 20


class Deadline:
    """Time by which a hook must answer, on the clock of `time.monotonic`.

    `timeout` seconds count while the memory is open. `wait_for_opening` moves the time to
    `opening_timeout` seconds after the start, if that is later.
    """

    def __init__(self, timeout: float, opening_timeout: float = 0) -> None:
        started_at = time.monotonic()
        self.at = started_at + timeout
        self._opening_at = started_at + max(timeout, opening_timeout)

    @property
    def seconds(self) -> float:
        """Seconds that are left."""
        return self.at - time.monotonic()

    @property
    def opening_seconds(self) -> float:
        """Seconds that are left if the memory is still being opened."""
        return self._opening_at - time.monotonic()

    def wait_for_opening(self) -> None:
        """Allow the time for which a prompt waits while the memory is being opened."""
        self.at = self._opening_at


def respond(
    event: Event,
    folder: HookFolder,
    daemon: Sequence[str],
    *,
    environment: Mapping[str, str],
    max_tokens: int,
    deadline: Deadline,
) -> str:
    """Return the memories for the event's prompt, or an empty text for other events.

    `daemon` is the command that starts the daemon if none runs, `environment` its additional
    variables. Moves the deadline if the memory is still being opened. Raises TimeoutError, OSError,
    and ValueError with the text of an error that the daemon reports.
    """
    if event.task is None:
        return ""
    folder.create()
    os.chdir(folder.path)
    if event.task == "capture":
        # The queue is a folder of files, so a session is not lost while no daemon runs.
        enqueue(event, folder)
    request = {
        "build": build_id(),
        "task": event.task,
        "session_id": event.session_id,
        "prompt": event.prompt,
        "project": event.project,
        "has_forgotten": event.has_forgotten,
        "max_tokens": max_tokens,
    }
    is_started = False
    while True:
        answer = _request(request, deadline)
        if answer is not None and not answer.get("is_old"):
            if error := answer.get("error"):
                raise ValueError(error)
            return str(answer.get("context") or "")
        if not is_started:
            _start_daemon(daemon, folder, environment, is_replacement=answer is not None)
            is_started = True
        # The others need no answer. A new daemon reads the queue by itself.
        if event.task not in ANSWERED:
            return ""
        deadline.wait_for_opening()
        if deadline.seconds < PAUSE:
            raise TimeoutError("memsense is still starting: this prompt gets no memories")
        time.sleep(PAUSE)


def enqueue(event: Event, folder: HookFolder) -> None:
    """Queue the event's session for ingestion, in place of an earlier entry for it."""
    if event.log is None and event.session is None:
        return
    entry = {
        "agent": event.agent,
        "log": event.log,
        "project": event.project,
        "session": event.session,
    }
    name = hashlib.sha256(f"{event.agent}:{event.session_id}".encode()).hexdigest()[:16]
    # Write under a temporary name, so that the daemon never reads half an entry.
    file = folder.queue / f".{name}.{os.getpid()}"
    file.write_text(json.dumps(entry))
    file.replace(folder.queue / f"{name}.json")


def send_task(task: str, folder: HookFolder, deadline: Deadline) -> bool:
    """Send a task without an event to the daemon; return False if no daemon runs."""
    if not folder.path.exists():
        return False
    os.chdir(folder.path)
    return _request({"build": build_id(), "task": task}, deadline) is not None


def _request(request: Mapping[str, Any], deadline: Deadline) -> dict[str, Any] | None:
    """Return the daemon's answer, or None if no daemon listens.

    The answer is `{"is_old": true}` if the daemon ends in favour of a newer installation.
    """
    # The daemon records memories as seen only if its answer comes within these.
    limits = {"seconds": deadline.seconds, "opening_seconds": deadline.opening_seconds}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(max(deadline.seconds, PAUSE))
        try:
            connection.connect(SOCKET)
            connection.sendall(json.dumps({**request, **limits}).encode() + b"\n")
            with connection.makefile("rb") as stream:
                line = stream.readline()
                if line == OPENING:
                    deadline.wait_for_opening()
                    connection.settimeout(max(deadline.seconds, PAUSE))
                    line = stream.readline()
        except (FileNotFoundError, ConnectionError):
            return None
    return json.loads(line) if line else None


def _start_daemon(
    command: Sequence[str],
    folder: HookFolder,
    environment: Mapping[str, str],
    *,
    is_replacement: bool,
) -> None:
    """Start the daemon unless another one is starting; it outlives the hook and the agent.

    The daemon inherits the lock that is taken here. A replacement instead waits for the lock until
    the old daemon has ended.
    """
    # Imported here: most calls find a daemon and need no subprocess.
    import subprocess

    folder.log.touch(mode=0o600)
    log_mode = "wb" if folder.log.stat().st_size > _LARGEST_LOG else "ab"
    with folder.lock.open("ab") as lock, folder.log.open(log_mode) as log:
        inherited = [] if is_replacement else [lock.fileno()]
        try:
            for number in inherited:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        subprocess.Popen(  # noqa: S603 (our own program)
            [*command, *(f"--lock={number}" for number in inherited)],
            pass_fds=inherited,
            cwd=folder.path,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Signals to the agent's process group must not end the daemon.
            start_new_session=True,
        )
