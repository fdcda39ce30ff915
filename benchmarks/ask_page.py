"""Processor time of the page Ask, as a multiple of a search in Python, in one run.

    python -m benchmarks.ask_page --database-url postgresql://... [--tenant acme] [--rounds 20]

Starts `memsense serve` on the database, which must hold memories, and asks the same questions of
the page and of `memory.search` in turns, block by block, so that whatever else the machine does
meets both alike. The page's time is that of the server's process, without its client; the search's
is that of this process. Both leave out PostgreSQL, which does the same for either.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import psutil

from benchmarks.trace_overhead import read_words
from memsense import MemSense

BLOCK = 10
WARM = 3


def sign_in(address: str, key: str) -> OpenerDirector:
    browser = build_opener(HTTPCookieProcessor())
    with browser.open(f"{address}/ui/sign-in", urlencode({"key": key}).encode()):
        return browser


def ask_page(browser: OpenerDirector, address: str, question: str) -> None:
    with browser.open(f"{address}/ui/?{urlencode({'q': question})}") as answer:
        text = answer.read()
    assert b'class="memory"' in text, "the page shows no hit: is the database empty?"


def measure(
    memory: MemSense, browser: OpenerDirector, address: str, server: psutil.Process, rounds: int
) -> dict[str, float]:
    """Return medians of processor milliseconds for a search and a page, and their ratio."""
    source, words = random.Random(1), read_words()
    spent: dict[str, list[float]] = {"search": [], "page": []}
    for number in range(rounds + WARM):
        questions = [" ".join(source.sample(words, k=6)) + "?" for _ in range(BLOCK)]
        for kind in source.sample(["search", "page"], k=2):
            if kind == "search":
                before = time.process_time()
                for question in questions:
                    memory.search(question, all_users=True, trace=False)
                used = time.process_time() - before
            else:
                times = server.cpu_times()
                for question in questions:
                    ask_page(browser, address, question)
                after = server.cpu_times()
                used = after.user + after.system - times.user - times.system
            if number >= WARM:
                spent[kind].append(1000 * used / BLOCK)
    search, page = (statistics.median(spent[kind]) for kind in ("search", "page"))
    return {
        "search_ms": round(search, 2),
        "page_ms": round(page, 2),
        "ratio": round(page / search, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--tenant", default="default")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    program = Path(sys.executable).with_name("memsense")
    command = [program, "--database-url", options.database_url, "--tenant", options.tenant]
    limits = ["--rate", "1000000", "--burst", "1000000"]
    with MemSense.open(options.database_url, tenant=options.tenant) as memory:
        key = memory.access_keys.create(["read"], name="benchmark")
        server = subprocess.Popen(
            [*command, "serve", "--port", "0", *limits], stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            address = next(word for word in line.split() if word.startswith("http"))
            browser = sign_in(address, key.text)
            process = psutil.Process(server.pid)
            print(json.dumps(measure(memory, browser, address, process, options.rounds)))
        finally:
            server.terminate()
            server.wait()
            memory.access_keys.revoke(key.key.key_id)


if __name__ == "__main__":
    main()
