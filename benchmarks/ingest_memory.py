"""Reading of a large ChatGPT export: peak memory of a fresh process, and the rate.

    python benchmarks/ingest_memory.py [--megabytes 200] [--layout line|pretty]

The export is made of synthetic conversations in the export's format; nothing real is in it.
"""

import argparse
import itertools
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from memsense.ingest import ReadReport, expand_paths, pair_exchanges, read_source
from memsense.types import Conversation

TURNS = 20
VOCABULARY = (
    "river garden lantern recipe weather violin travel budget kitchen morning report puzzle "
    "window bicycle letter market forest teacher harbor engine copper silver"
)


def make_conversation(number: int, chance: random.Random) -> dict[str, object]:
    """Return a conversation of 20 messages, its tree with a hidden head and an abandoned answer."""
    session = f"c{number:06d}"
    mapping: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None}}
    parent = "root"
    for turn in range(TURNS):
        role = "assistant" if turn % 2 else "user"
        node = f"{session}-{turn}"
        mapping[node] = make_node(node, parent, role, sentence(chance, 60 if turn % 2 else 15))
        parent = node
    abandoned = f"{session}-old"
    mapping[abandoned] = make_node(abandoned, f"{session}-0", "assistant", sentence(chance, 40))
    return {
        "conversation_id": session,
        "title": sentence(chance, 4),
        "create_time": 1_700_000_000 + number * 60,
        "current_node": parent,
        "mapping": mapping,
    }


def make_node(node: str, parent: str, role: str, text: str) -> dict[str, object]:
    message: dict[str, object] = {
        "id": node,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1_700_000_000.5,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {"request_id": node, "timestamp_": "absolute", "citations": []},
        "recipient": "all",
    }
    return {"id": node, "message": message, "parent": parent, "children": []}


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(VOCABULARY.split(), k=words)).capitalize() + "."


def write_export(path: Path, megabytes: int, layout: str) -> int:
    """Write the array until it is large enough; return the number of conversations."""
    indent = 1 if layout == "pretty" else None
    chance = random.Random(7)
    with path.open("w") as stream:
        written = stream.write("[")
        for number in itertools.count():
            if number:
                written += stream.write(",\n" if layout == "pretty" else ",")
            written += stream.write(json.dumps(make_conversation(number, chance), indent=indent))
            if written >= megabytes * 1_000_000:
                stream.write("]")
                return number + 1
    raise AssertionError("unreachable")


def read_export(path: Path) -> dict[str, float]:
    """Read and pair everything, keeping nothing; return counts, seconds and peak memory in MB."""
    started = time.perf_counter()
    report = ReadReport()
    exchanges = sum(len(pair_exchanges(c)) for c in _conversations(path, report))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "conversations": report.conversations,
        "messages": report.messages_kept,
        "exchanges": exchanges,
        "seconds": seconds,
        "peak_mb": peak / (1e6 if sys.platform == "darwin" else 1e3),
    }


def _conversations(path: Path, report: ReadReport) -> Iterator[Conversation]:
    for source in expand_paths([path]):
        yield from read_source(source, report=report)


def measure(path: Path) -> dict[str, float]:
    """Do the same in a fresh process, so that making the file does not count."""
    command = [sys.executable, __file__, "--read", str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--layout", choices=("line", "pretty"), default="line")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        print(json.dumps(read_export(arguments.read)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.json"
        count = write_export(path, arguments.megabytes, arguments.layout)
        size = path.stat().st_size / 1e6
        result = measure(path)
    if result["conversations"] != count:
        raise SystemExit(f"{count} conversations written, {result['conversations']} read")
    print(f"{size:.0f} MB, {count} conversations, {result['messages']:.0f} messages")
    print(f"peak memory {result['peak_mb']:.0f} MB, {size / result['seconds']:.0f} MB/s")


if __name__ == "__main__":
    main()
