"""`python -m benchmarks.fair_shares`: what one key's flood does to another key's searches.

Clients of two keys search over HTTP, in turns without and with a flood: 5 clients of one key, each
with a pause between two searches, and 45 of the other without any. Beside them `/health/live` is
asked ten times a second. At the end one client's searches are counted in processor time, over HTTP
and in Python, in the same run.
"""

import argparse
import json
import random
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks import stores
from benchmarks.corpus import SAMPLE, SAMPLE_QUESTIONS
from benchmarks.http_load import USER, serving
from memsense import MemSense, load_settings
from memsense.db.embedded import EmbeddedServer

PAUSE = 0.5
"""Mean seconds that a client of the calm key waits between two searches."""

LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


@dataclass
class Seen:
    """Times in ms and statuses of one kind of client."""

    times: list[float] = field(default_factory=list[float])
    statuses: Counter[int] = field(default_factory=Counter[int])

    def describe(self) -> dict[str, Any]:
        """Return the number of requests, percentiles of the successful ones, and the statuses."""
        times = sorted(self.times) or [0.0]
        pick = {
            name: times[min(len(times) - 1, int(share * len(times)))] for name, share in _SHARES
        }
        return {
            **{name: round(value, 1) for name, value in pick.items()},
            "statuses": dict(self.statuses),
        }


_SHARES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("most", 1.0))


def main() -> None:
    """Fill a store, run both turns, and print the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fair_shares", description=__doc__)
    parser.add_argument("--calm", type=int, default=5, help="clients of the calm key")
    parser.add_argument("--flood", type=int, default=45, help="clients of the other key")
    parser.add_argument("--seconds", type=float, default=60, help="of each of the two ways")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--searches", type=int, default=200, help="counted in processor time")
    options = parser.parse_args()
    questions = [json.loads(line)["question"] for line in SAMPLE_QUESTIONS.open(encoding="utf-8")]
    with (
        tempfile.TemporaryDirectory(prefix="memsense-shares-") as directory,
        EmbeddedServer(Path(directory)) as own,
        stores.new_database(own.url, "memsense_bench_shares") as url,
    ):
        print(json.dumps(measure(url, questions, options), indent=1))


def measure(url: str, questions: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Return the times of both keys and of liveness, and processor times of a search."""
    with MemSense.open(settings=load_settings(database_url=url, pool_timeout=60)) as memory:
        memory.ingest(SAMPLE, user_id=USER)
        keys = [memory.access_keys.create(name=name).text for name in ("calm", "flood")]
        seen = {name: Seen() for name in ("calm alone", "calm", "flood", "live alone", "live")}
        with serving(url, 8) as (address, process):
            for _ in range(options.turns):
                share = options.seconds / options.turns
                run(address, keys, (options.calm, 0), share, questions, seen)
                run(address, keys, (options.calm, options.flood), share, questions, seen)
            cost = compare_cost(address, process, keys[0], memory, questions, options.searches)
    result: dict[str, Any] = {name: it.describe() for name, it in seen.items()}
    ratio = result["calm"]["p95"] / result["calm alone"]["p95"]
    return {**result, "p95 with flood / without": round(ratio, 2), "search": cost}


def run(  # noqa: PLR0917 (a script's own function)
    address: str,
    keys: list[str],
    clients: tuple[int, int],
    seconds: float,
    questions: list[str],
    seen: dict[str, Seen],
) -> None:
    """Let the clients of both keys search until time is up."""
    calm, flood = clients
    until, lock = time.perf_counter() + seconds, threading.Lock()

    def search(client: httpx.Client, key: str, choose: random.Random) -> httpx.Response:
        body = {"query": choose.choice(questions), "user_id": USER}
        return client.post("/v1/search", json=body, headers={"Authorization": f"Bearer {key}"})

    def work(number: int, key: str, place: Seen, pause: float) -> None:
        choose = random.Random(f"{number} {until}")
        with httpx.Client(base_url=address, timeout=60, limits=LIMITS) as client:
            while time.perf_counter() < until:
                started = time.perf_counter()
                answer = search(client, key, choose)
                took = 1000 * (time.perf_counter() - started)
                with lock:
                    place.statuses[answer.status_code] += 1
                    if answer.is_success:
                        place.times.append(took)
                if "Retry-After" in answer.headers:
                    time.sleep(float(answer.headers["Retry-After"]))
                elif pause:
                    time.sleep(choose.uniform(0, 2 * pause))

    def live(place: Seen) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            while time.perf_counter() < until:
                started = time.perf_counter()
                place.statuses[client.get("/health/live").status_code] += 1
                place.times.append(1000 * (time.perf_counter() - started))
                time.sleep(0.1)

    alone = "" if flood else " alone"
    with ThreadPoolExecutor(calm + flood + 1) as threads:
        running = [threads.submit(live, seen[f"live{alone}"])]
        running += [
            threads.submit(work, n, keys[0], seen[f"calm{alone}"], PAUSE) for n in range(calm)
        ]
        running += [threads.submit(work, n, keys[1], seen["flood"], 0) for n in range(flood)]
        for one in running:
            one.result()


def compare_cost(  # noqa: PLR0917 (a script's own function)
    address: str, process: int, key: str, memory: MemSense, questions: list[str], count: int
) -> dict[str, float]:
    """Return processor ms of a search in the server's process and in this one, by turns."""
    headers = {"Authorization": f"Bearer {key}"}
    http = python = 0.0
    with httpx.Client(base_url=address, timeout=60, headers=headers) as client:
        for turn in range(2 * count // 50):
            batch = [questions[(turn * 50 + at) % len(questions)] for at in range(50)]
            started = cpu_seconds(process)
            for question in batch:
                client.post("/v1/search", json={"query": question, "user_id": USER})
            middle, own = cpu_seconds(process), time.process_time()
            for question in batch:
                memory.search(question, user_id=USER)
            if turn >= count // 50:  # the first half only warms up
                http += middle - started
                python += time.process_time() - own
    return {
        "http cpu ms": round(1000 * http / count, 2),
        "python cpu ms": round(1000 * python / count, 2),
        "http / python": round(http / python, 2),
    }


def cpu_seconds(process: int) -> float:
    """Return the processor time that a process of this machine has used (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    main()
