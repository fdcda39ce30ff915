"""Reading of large Claude Code logs, compared with `json.loads` of each line: processor time.

    python benchmarks/reading_speed.py [--megabytes 500] [--profile]

The log is made of synthetic lines in the program's form: mostly calls of tools and their results,
some of them twice, as the program writes them; about one line in five holds words. Both sides
run in turns in this process, and the ratio of their best times is printed. Garbage is collected as
rarely as in the command `memsense`: the lines of a session stay in memory until its end.
"""

import argparse
import cProfile
import gc
import itertools
import json
import pstats
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memsense.ingest import ReadReport, expand_paths, read_source

WORDS = "river garden lantern recipe violin travel budget kitchen report puzzle window bicycle"
ROUNDS = 3
GARBAGE_THRESHOLD = 50_000
"""That of memsense/cli/__init__.py."""


def write_log(path: Path, megabytes: int) -> None:
    """Write a session of about so many megabytes."""
    chance = random.Random(7)
    written = 0
    with path.open("w", encoding="utf-8") as stream:
        for number in itertools.count():
            written += stream.write(json.dumps(make_line(number, chance)) + "\n")
            if written >= megabytes * 1_000_000:
                return


def make_line(number: int, chance: random.Random) -> dict[str, object]:
    kind = chance.random()
    line: dict[str, object] = {
        "parentUuid": f"{number - 1:036d}" if number else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/looms",
        "sessionId": "11111111-2222-4333-8444-555555555555",
        "version": "2.1.0",
        "gitBranch": "main",
        "type": "user" if kind < 0.45 else "assistant",
        "uuid": f"{number:036d}",
        "timestamp": "2026-01-01T10:00:00.000Z",
    }
    if kind < 0.4:
        output = source_code(chance, chance.randint(1, 90))
        block = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": output}
        line["message"] = {"role": "user", "content": [block]}
        line["toolUseResult"] = {"stdout": output, "stderr": "", "interrupted": False}
    elif kind < 0.45:
        line["message"] = {"role": "user", "content": sentence(chance, 25)}
    else:
        block = {"type": "text", "text": sentence(chance, 60)}
        if kind < 0.85:
            code = source_code(chance, chance.randint(1, 20))
            edit = {"file_path": "/home/ada/looms/a.py", "old_string": code, "new_string": code}
            block = {"type": "tool_use", "id": f"t{number}", "name": "Edit", "input": edit}
        usage = {"input_tokens": 4, "cache_read_input_tokens": 90_000, "output_tokens": 250}
        line["message"] = {"id": f"msg_{number}", "role": "assistant", "content": [block]} | {
            "model": "claude-opus-4-5",
            "usage": usage,
        }
    return line


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS.split(), k=words)).capitalize() + "."


def source_code(chance: random.Random, lines: int) -> str:
    return "\n".join(f'\tname = "{sentence(chance, 6)}"' for _ in range(lines))


def load_lines(path: Path) -> None:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            json.loads(line)


def read_log(path: Path) -> None:
    report = ReadReport()
    for source in expand_paths([path]):
        for _ in read_source(source, report=report):
            pass


def processor_seconds(call: Callable[[Path], None], path: Path) -> float:
    started = time.process_time()
    call(path)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--profile", action="store_true", help="show where reading spends its time")
    arguments = parser.parse_args()
    gc.set_threshold(GARBAGE_THRESHOLD)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_log(path, arguments.megabytes)
        if arguments.profile:
            with cProfile.Profile() as profile:
                read_log(path)
            pstats.Stats(profile).sort_stats("tottime").print_stats(15)
            return
        rounds = [
            (processor_seconds(load_lines, path), processor_seconds(read_log, path))
            for _ in range(ROUNDS)
        ]
    loading, reading = (min(times) for times in zip(*rounds, strict=True))
    print(f"{arguments.megabytes} MB: json.loads {loading:.2f} s, memsense {reading:.2f} s", end="")
    print(f" of processor, ratio {reading / loading:.2f}")


if __name__ == "__main__":
    main()
