"""A client that is killed at work: run as a process, it tells in a file what it was acknowledged.

DIR is the directory of an embedded server, or the URL of another one: there each life is a tenant.

client.py talk DIR NAME SEED     adds and searches, exchanges and sessions, until it is ended; its
                                 threads' adds wait for each other
client.py import DIR USER LOG    ingests the log, forgets, makes session chunks, optimises, and ends
client.py live DIR USER LOG      a life in a namespace of the user's name: ingests, adds, erases,
                                 re-indexes, goes over to another model, drops the first, and ends;
                                 says what it is at
client.py work DIR NAMESPACE     does jobs until it is ended
client.py redact DIR USER LAST   redacts a user's memory, kills itself at statement LAST, and else
                                 ends with the number of statements
"""

import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from embedders import HashingEmbedder, TokenHashingEmbedder, Vectors

from memsense import MemSense
from memsense.client import redacting, worker
from memsense.config import Settings
from memsense.errors import (
    ConnectionFailedError,
    DatabaseError,
    EmbeddingError,
    NotFoundError,
)
from memsense.store import reindexing
from memsense.types import Chunk, EmbedWhen

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
FAILING = 0.05
SEARCHING = 0.3
ASKING_FOR_SESSIONS = 0.05
TALKERS = 6
SESSION = 12


class FlakyEmbedder(HashingEmbedder):
    """Fails at times, and comes back."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance = chance

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors, or an EmbeddingError."""
        if self.chance.random() < FAILING:
            raise EmbeddingError("out for a moment")
        return super().embed(texts)


def open_memory(
    data_dir: str, embedder: HashingEmbedder, namespace: str = "default", **options: Any
) -> MemSense:
    is_url = "://" in data_dir
    values = {"database_url": data_dir if is_url else None, "pool_timeout": 120, "job_lease": 1}
    place = {"tenant": namespace} if is_url else {"data_dir": data_dir, "namespace": namespace}
    # Every memory is indexed, however many kills there are.
    changes = {"index_threshold": 20, "index_users": 10_000, "worker": "off", **place}
    settings = Settings.model_validate({**values, **changes})
    return MemSense.open(settings=settings, embedder=embedder, **options)


def open_life(data_dir: str, user_id: str) -> MemSense:
    """A memory that may be searched with either of two models."""
    others = [second_model()]
    return open_memory(data_dir, TokenHashingEmbedder(), user_id, other_embedders=others)


def second_model() -> TokenHashingEmbedder:
    return TokenHashingEmbedder(32, "second")


def said_by(name: str, number: int) -> str:
    return f"Message {number} of {name} about tea."


def acknowledged_by(data_dir: str | Path, name: str) -> list[Path]:
    """The files in which the threads of a client tell what they know to be stored."""
    return [Path(data_dir) / f"{name}.{thread}.acknowledged" for thread in range(TALKERS)]


def talk(data_dir: str, name: str, seed: str) -> None:
    """Talk in several threads to one memory, so that their adds are stored together."""
    chance = random.Random(seed)
    with (
        open_memory(data_dir, FlakyEmbedder(chance)) as memory,
        ThreadPoolExecutor(TALKERS) as threads,
    ):
        files = acknowledged_by(data_dir, name)
        talking = [threads.submit(talk_on, memory, told, chance) for told in files]
        wait(talking, return_when=FIRST_EXCEPTION)
        for one in talking:
            if one.done() and one.exception():
                traceback.print_exception(one.exception())
                os._exit(1)


def talk_on(memory: MemSense, told: Path, chance: random.Random) -> None:
    """Go on behind the last acknowledged message; the one after it may be stored already."""
    name = told.stem
    number = len(told.read_text().splitlines()) if told.exists() else 0
    with told.open("a") as file:
        while True:
            said = said_by(name, number)
            message = {"role": "user", "content": said, "at": START + timedelta(hours=number)}
            try:
                session_id = f"{name}/{number // SESSION}"
                mode = "hybrid" if number // SESSION % 2 else "turn"
                memory.add([message], user_id="ada", session_id=session_id, mode=mode)
            except (EmbeddingError, ConnectionFailedError):
                continue  # or a group has lost three connections, one after the other
            file.write(f"{said}\n")
            file.flush()
            number += 1
            with suppress(EmbeddingError, ConnectionFailedError):
                if chance.random() < SEARCHING and not memory.search(said, user_id="ada", top_k=3):
                    raise AssertionError(f"{said} was not found")
                if chance.random() < ASKING_FOR_SESSIONS:
                    # What is left marked is made by the next one.
                    memory.search(said, user_id="ada", granularity="session", top_k=1)


def bring_in(data_dir: str, user_id: str, log: str) -> None:
    """Every step may be repeated: what is done already is left alone."""
    with open_memory(data_dir, HashingEmbedder()) as memory:
        memory.ingest(log, user_id=user_id, mode="hybrid")
        print("ingested", flush=True)
        for chunk in memory.recent(limit=1000, user_id=user_id):
            if "secret" in chunk.user_text:
                memory.forget(chunk.chunk_id)
        print("forgotten", flush=True)
        memory.indexes.make_sessions(user_id)
        print("sessions made", flush=True)
        memory.indexes.optimise()
    print("done", flush=True)


def live(data_dir: str, user_id: str, log: str) -> None:
    """As `bring_in`, with all that may be left for later and all that has a key, then with another
    model; what it is at is said before it is done."""
    with open_life(data_dir, user_id) as memory:
        for name, step in STEPS.items():
            print(name, flush=True)
            step(memory, user_id, log)
    print("done", flush=True)


def ingest(memory: MemSense, user_id: str, log: str) -> None:
    memory.ingest(log, user_id=user_id, mode="hybrid", embed="later")


def add(memory: MemSense, user_id: str, _: str) -> None:
    for number in range(8):
        say_once(memory, user_id, "talk", number, "later" if number % 2 else "now")


def forget(memory: MemSense, user_id: str, _: str) -> None:
    for chunk in sorted(memory.recent(limit=1000, user_id=user_id), key=place):
        if "secret" in chunk.user_text:
            memory.forget(chunk.chunk_id, key=f"{user_id}/forget/{chunk.chunk_id}")
        elif chunk.session_id == "talk" and chunk.ordinal < 8:
            memory.promote(chunk.chunk_id, key=f"{user_id}/promote/{chunk.chunk_id}")


def erase(memory: MemSense, user_id: str, _: str) -> None:
    say_once(memory, user_id, "trash", 0, "later")
    with suppress(NotFoundError):
        memory.erase(user_id=user_id, session_id="trash")


def optimise(memory: MemSense, user_id: str, _: str) -> None:
    memory.indexes.make_sessions(user_id)
    patiently(memory.indexes.optimise)


def settle(memory: MemSense, user_id: str, log: str) -> None:
    """What is written to an indexed memory is taken into its indexes by a job."""
    for number in range(8):
        say_once(memory, user_id, "fresh", number, "later" if number % 4 == 3 else "now")
    do_what_waits(memory, user_id, log)


def reindex(memory: MemSense, _user_id: str, _: str) -> None:
    patiently(memory.indexes.rebuild)


def do_what_waits(memory: MemSense, _user_id: str, _: str) -> None:
    """Together with the worker beside."""
    while (counts := memory.jobs.count()).waiting or counts.running:
        memory.jobs.run(limit=16)
        time.sleep(0.05)


def add_model(memory: MemSense, user_id: str, _: str) -> None:
    patiently(partial(memory.models.add, second_model(), later=True))
    say_once(memory, user_id, "talk", 8, "now")


def switch_model(memory: MemSense, user_id: str, log: str) -> None:
    """To the second, back if the first is there yet, and to the second."""
    memory.models.switch("second")
    say_once(memory, user_id, "talk", 9, "later")
    with suppress(NotFoundError):
        memory.models.back()
    say_once(memory, user_id, "talk", 10, "now")
    do_what_waits(memory, user_id, log)
    memory.models.switch("second")
    if not memory.search("talk says 9 of cake", user_id=user_id):
        raise AssertionError("nothing was found with the second model")


def drop_model(memory: MemSense, user_id: str, _: str) -> None:
    with suppress(NotFoundError):
        patiently(partial(memory.models.drop, "hashing"))
    say_once(memory, user_id, "talk", 11, "now")


STEPS: Mapping[str, Callable[[MemSense, str, str], None]] = {
    "ingest": ingest,
    "add": add,
    "forget": forget,
    "erase": erase,
    "optimise": optimise,
    "settle": settle,
    "reindex": reindex,
    "embed": do_what_waits,
    "model add": add_model,
    "model fill": do_what_waits,
    "model switch": switch_model,
    "model drop": drop_model,
    "rest": do_what_waits,
}
"""What a life consists of, in its order. Each may be repeated, whatever came after it."""


def place(chunk: Chunk) -> tuple[str, int]:
    return chunk.session_id, chunk.ordinal


def say_once(
    memory: MemSense, user_id: str, session_id: str, number: int, embed: EmbedWhen
) -> None:
    at = START + timedelta(hours=number)
    memory.add(
        [{"role": "user", "content": f"{session_id} says {number} of cake.", "at": at}],
        user_id=user_id,
        session_id=session_id,
        mode="turn",
        embed=embed,
        key=f"{user_id}/{session_id}/{number}",
    )


def patiently(work: Callable[[], object]) -> None:
    """Do what is not done again by itself, such as building indexes: again where the server went
    away meanwhile, and as soon as the server has noticed that who did it before was killed."""
    while True:
        try:
            work()
        except DatabaseError as error:
            lost = isinstance(error, ConnectionFailedError)
            if not lost and "another optimisation" not in str(error):
                raise
            time.sleep(0.2)
        else:
            return


def do_jobs(data_dir: str, user_id: str) -> None:
    """Looks for jobs often, so that there is work to be killed at."""
    worker.POLL_SECONDS = 0.1
    reindexing.AT_ONCE = 5
    with open_life(data_dir, user_id) as memory:
        memory.jobs.work(threading.Event())


def redact(data_dir: str, user_id: str, last: str) -> None:
    """In small batches, so that there are many places to be killed at."""
    redacting.AT_ONCE = 3
    run, count = psycopg.Cursor.execute, 0

    def run_counted(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == int(last):
            os.kill(os.getpid(), signal.SIGKILL)
        return run(*arguments, **options)

    with open_memory(data_dir, HashingEmbedder()) as memory:
        setattr(psycopg.Cursor, "execute", run_counted)  # noqa: B010 (its type is not this one's)
        memory.erasures.redact(user_id=user_id)
    print(count)


COMMANDS: Mapping[str, Callable[..., None]] = {
    "talk": talk, "import": bring_in, "live": live, "work": do_jobs, "redact": redact,
}  # fmt: skip

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
