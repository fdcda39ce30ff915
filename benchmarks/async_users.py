"""Fifty users on one event loop beside fifty threads: searches a second, and the loop's lag.

    python -m benchmarks.async_users [--users 50] [--searches 20] [--chunks 1000] [--rounds 3]

Both search the same memory through one pool, in turns, and the tasks once more in asyncio's debug
mode, of which all but the searches a second are. The lag is how much later than asked a task
wakes that sleeps for a millisecond; callbacks are those that asyncio's debug mode calls slow. Both
count the time in which the machine, or Python's lock, was another's: a callback's own work is the
processor time of the loop's thread within it.
"""

import argparse
import asyncio
import gc
import logging
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import SESSION_LENGTH, load_corpus
from memsense import AsyncMemSense, MemSense
from memsense.db.embedded import EmbeddedServer
from memsense.embed import OnnxEmbedder

SLOW_SECONDS = 0.05
NAP_SECONDS = 0.001
_RUN = "_run"
"""What asyncio calls of each callback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: searches a second, the loop's lag, the time of its own callbacks, and slow ones."""

    throughput: float
    lags_ms: Sequence[float] = ()
    work_ms: Sequence[float] = ()
    slow: int = 0


def main() -> None:
    """Measure both by turns; print their medians and the ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.async_users", description=__doc__)
    parser.add_argument("--users", type=int, default=50, help="users at once")
    parser.add_argument("--searches", type=int, default=20, help="searches of each")
    parser.add_argument("--chunks", type=int, default=1000, help="exchanges of the memory")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="memsense-bench-") as directory,
        EmbeddedServer(Path(directory)) as server,
    ):
        threads, tasks, watched = measure(server.url, options)
    lags = sorted(lag for run in watched for lag in run.lags_ms)
    one, other = (statistics.median(run.throughput for run in runs) for runs in (threads, tasks))
    print(f"{options.users} threads: {one:.1f} searches/s")
    print(f"{options.users} tasks:   {other:.1f} searches/s, {other / one:.2f} times as many")
    p95 = lags[round(0.95 * (len(lags) - 1))]
    print(f"the loop's lag: p95 {p95:.1f} ms, largest {lags[-1]:.1f} ms")
    work = max(each for run in watched for each in run.work_ms)
    print(f"a callback's own work: at most {work:.1f} ms")
    print(f"callbacks above {1000 * SLOW_SECONDS:.0f} ms: {sum(run.slow for run in watched)}")


def measure(url: str, options: argparse.Namespace) -> tuple[list[Run], list[Run], list[Run]]:
    """Measure threads, tasks, and tasks in debug mode, by turns."""
    from memsense.db.migrate import upgrade

    upgrade(url)
    embedder = OnnxEmbedder()
    corpus = load_corpus(embedder)
    threads: list[Run] = []
    tasks: list[Run] = []
    watched: list[Run] = []
    with MemSense.open(url, embedder=embedder) as memory:
        fill(memory, corpus.messages, options.chunks)
        questions = corpus.questions[: options.searches]
        search_in_threads(memory, list(asked_by(options.users, questions, "warm")))
        gc.collect()
        gc.freeze()  # the corpus is no part of what a service holds
        for number in range(options.rounds):
            user_questions = [
                list(asked_by(options.users, questions, f"{one}{number}")) for one in "abc"
            ]
            threads.append(search_in_threads(memory, user_questions[0]))
            tasks.append(asyncio.run(search_in_tasks(memory, user_questions[1])))
            watched.append(asyncio.run(search_in_tasks(memory, user_questions[2]), debug=True))
    return threads, tasks, watched


def fill(memory: MemSense, messages: Sequence[str], chunks: int) -> None:
    """Store so many exchanges of one user, two messages each."""
    texts = [messages[number % len(messages)] for number in range(2 * chunks)]
    exchange = [
        {"role": ("user", "assistant")[number % 2], "content": text, "id": str(number)}
        for number, text in enumerate(texts)
    ]
    size = 2 * SESSION_LENGTH
    memory.add_many(
        [
            {"session_id": f"s{at}", "messages": exchange[at : at + size]}
            for at in range(0, len(exchange), size)
        ],
        user_id="ada",
    )


def asked_by(users: int, questions: Sequence[str], run: str) -> Iterator[list[str]]:
    """Return each user's questions; all differ, so that every one is embedded."""
    for user in range(users):
        yield [f"{question} {run} {user}" for question in questions]


def search_in_threads(memory: MemSense, user_questions: Sequence[Sequence[str]]) -> Run:
    """Search with a thread for each user, one question after the other."""

    def ask(questions: Sequence[str]) -> None:
        for question in questions:
            memory.search(question, user_id="ada")

    started = time.perf_counter()
    with ThreadPoolExecutor(len(user_questions)) as pool:
        list(pool.map(ask, user_questions))
    return Run(throughput=sum(map(len, user_questions)) / (time.perf_counter() - started))


async def search_in_tasks(blocking: MemSense, user_questions: Sequence[Sequence[str]]) -> Run:
    """Search with a task of one loop for each user, and measure the loop's lag meanwhile."""
    memory = AsyncMemSense.over(blocking)
    loop = asyncio.get_running_loop()
    loop.slow_callback_duration = SLOW_SECONDS
    slow = _CountSlow()
    logging.getLogger("asyncio").addHandler(slow)
    lags: list[float] = []
    work: list[float] = []
    run_callback = getattr(asyncio.Handle, _RUN)

    def timed(handle: asyncio.Handle) -> None:
        worked = time.thread_time()
        run_callback(handle)
        work.append(1000 * (time.thread_time() - worked))

    setattr(asyncio.Handle, _RUN, timed)

    async def watch() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(NAP_SECONDS)
            lags.append(1000 * (time.perf_counter() - started - NAP_SECONDS))

    async def ask(questions: Sequence[str]) -> None:
        for question in questions:
            await memory.search(question, user_id="ada")

    watcher = asyncio.create_task(watch())
    started = time.perf_counter()
    await asyncio.gather(*map(ask, user_questions))
    took = time.perf_counter() - started
    watcher.cancel()
    setattr(asyncio.Handle, _RUN, run_callback)
    logging.getLogger("asyncio").removeHandler(slow)
    return Run(
        throughput=sum(map(len, user_questions)) / took, lags_ms=lags, work_ms=work, slow=slow.count
    )


class _CountSlow(logging.Handler):
    """Log handler that counts callbacks that asyncio's debug mode calls slow."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += "took" in record.getMessage()


if __name__ == "__main__":
    main()
