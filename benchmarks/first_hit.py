"""Cost of the way from an empty directory to the first explained hit, step by step.

    python -m benchmarks.first_hit                 build the wheel first
    python -m benchmarks.first_hit --wheel FILE    take this one

Creates an environment of its own, installs the wheel as a user would, adds a sentence and asks for
it. Prints for each step seconds by the clock, seconds of processor time and what it added to the
disk; at the end the largest packages. Exits with 1 if the hit isn't the sentence, or its parts
don't add up to its score.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SENTENCE, QUESTION = "I moved to Lisbon in March.", "Where do I live?"
LARGEST = 12


def size(folder: Path) -> float:
    """Return the megabytes of a folder's files."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6


class Steps:
    """Commands that run one after the other, measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        hidden = ("MEMSENSE_", "PYTHON")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self._environment = {**kept, "MEMSENSE_DATA_DIR": str(folder / "data")}

    def run(self, name: str, *command: str | Path) -> str:
        """Run a command, print what it cost, and return its output."""
        size_before, before = size(self.folder), resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        done = subprocess.run(
            [str(part) for part in command],
            env=self._environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        clock = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        added = size(self.folder) - size_before
        print(f"{name:34} {clock:7.1f} s {busy:7.1f} s processor {added:+8.1f} MB")
        return done.stdout


def main() -> None:
    """Run the steps and print what each cost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheel", type=Path, help="the wheel; default: built from this checkout")
    wheel: Path | None = parser.parse_args().wheel
    with tempfile.TemporaryDirectory(prefix="memsense-first-hit-") as name:
        folder = Path(name)
        # The embedded server that root starts runs as another user.
        folder.chmod(0o755)
        steps = Steps(folder)
        if wheel is None:
            steps.run(
                "build the wheel", sys.executable, "-m", "build", "--wheel", "-o", folder, ROOT
            )
            [wheel] = folder.glob("*.whl")
        steps.run("python -m venv env", sys.executable, "-m", "venv", "env")
        binaries = folder / "env" / "bin"
        pip = (binaries / "python", "-m", "pip", "install", "--quiet")
        steps.run("pip install memsense", *pip, wheel.resolve())
        # The first command creates the database, too.
        steps.run('memsense add "..." (first)', binaries / "memsense", "add", SENTENCE, "-u", "ada")
        search = (binaries / "memsense", "search", QUESTION, "-u", "ada", "--json")
        output = steps.run('memsense search "..."', *search)
        steps.run('memsense search "..." (again)', *search)
        [packages] = (binaries.parent / "lib").glob("*/site-packages")
        sizes = {path.name: size(path) for path in packages.iterdir() if path.is_dir()}
        print("largest packages, MB installed:")
        for package in sorted(sizes, key=sizes.__getitem__, reverse=True)[:LARGEST]:
            print(f"  {package:32} {sizes[package]:7.1f}")
    [hit] = json.loads(output)["hits"]
    parts = hit["explain"]["parts"]
    print(f"hit: {hit['content']!r}, {hit['score']:.3f} = sum of {len(parts)} parts")
    if SENTENCE not in hit["content"] or not math.isclose(sum(parts.values()), hit["score"]):
        sys.exit("the first hit is not the sentence, or its parts don't add up")


if __name__ == "__main__":
    main()
