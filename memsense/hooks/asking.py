"""The hook's own side: it notes what is to be taken in, asks for memories, and waits for little."""

import fcntl
import hashlib
import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from memsense.hooks.agents import Event
from memsense.hooks.place import SOCKET, Place, build

PAUSE = 0.02
"""Seconds between attempts to reach a process that is about to listen."""

_LARGEST_LOG = 1 << 20


def respond(
    event: Event,
    place: Place,
    keeper: Sequence[str],
    *,
    environment: Mapping[str, str],
    max_tokens: int,
    until: float,
) -> str:
    """The memories for the event's prompt, empty for other events.

    `keeper` is the command of the process that answers, which is started where none does; `until`
    is a time of `time.monotonic`. Raises TimeoutError, OSError, and ValueError for an answer that
    is an error.
    """
    if event.task is None:
        return ""
    place.make()
    os.chdir(place.folder)
    if event.task == "capture":
        note(event, place)
    request = {
        "build": build(),
        "task": event.task,
        "session_id": event.session_id,
        "prompt": event.prompt,
        "has_forgotten": event.has_forgotten,
        "max_tokens": max_tokens,
        "seconds": until - time.monotonic(),
    }
    started = False
    while True:
        answer = _ask(request, until)
        if answer is not None and not answer.get("is_old"):
            return _context(answer)
        if not started:
            _start(keeper, place, environment, in_turn=answer is not None)
            started = True
        if event.task != "recall":
            return ""
        if time.monotonic() + PAUSE > until:
            raise TimeoutError("memory is being opened: too late for this prompt")
        time.sleep(PAUSE)


def note(event: Event, place: Place) -> None:
    """Leave a session to be taken in, in place of what was left of it before."""
    if event.log is None and event.session is None:
        return
    told = {"agent": event.agent, "log": event.log, "session": event.session}
    name = hashlib.sha256(f"{event.agent}:{event.session_id}".encode()).hexdigest()[:16]
    made = place.queue / f".{name}.{os.getpid()}"
    made.write_text(json.dumps(told))
    made.replace(place.queue / f"{name}.json")


def tell(task: str, place: Place, until: float) -> bool:
    """Have the process that answers do a task without an event; False if there is none."""
    if not place.folder.exists():
        return False
    os.chdir(place.folder)
    return _ask({"build": build(), "task": task}, until) is not None


def _ask(request: Mapping[str, Any], until: float) -> dict[str, Any] | None:
    """The answer, `is_old` of who makes room for a newer installation; None if nobody is there."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(max(until - time.monotonic(), PAUSE))
        try:
            connection.connect(SOCKET)
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as answering:
                line = answering.readline()
        except (FileNotFoundError, ConnectionError):
            return None
    return json.loads(line) if line else None


def _context(answer: Mapping[str, Any]) -> str:
    if error := answer.get("error"):
        raise ValueError(error)
    return str(answer.get("context") or "")


def _start(
    keeper: Sequence[str], place: Place, environment: Mapping[str, str], *, in_turn: bool
) -> None:
    """Start the process that answers, unless one is starting.

    It outlives the hook and whoever started that. It inherits the lock; `in_turn`, it waits for it.
    """
    import subprocess

    with place.lock.open("ab") as lock, _log(place.log) as log:
        held = [] if in_turn else [lock.fileno()]
        try:
            for number in held:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        subprocess.Popen(  # noqa: S603 (our own program)
            [*keeper, *(f"--lock={number}" for number in held)],
            pass_fds=held,
            cwd=place.folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _log(path: Path) -> IO[bytes]:
    """The log, begun anew where it has grown long."""
    path.touch(mode=0o600)
    return path.open("wb" if path.stat().st_size > _LARGEST_LOG else "ab")
