"""Errors and speed of the built-in counter of tokens, beside a real tokenizer.

    pip install bpe_openai
    python -m benchmarks.token_counter --text code=src/a.py --text Chinese=notes.txt

Without `--text`: the texts of tests/data/token_counts.jsonl, which are short. Each kind's texts
are joined and cut at line ends into prompts of 200, 1,000 and 2,000 tokens; a kind that is shorter
than a size is one prompt. The real tokenizer is o200k_base of bpe_openai or of tiktoken, whichever
is installed; tiktoken downloads its vocabulary when it is first used.
"""

import argparse
import importlib
import json
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from memsense.text.tokens import count_tokens, make_counter

SAMPLES = Path(__file__).parents[1] / "tests/data/token_counts.jsonl"
TOKENIZERS = ("bpe_openai", "tiktoken")
SIZES = (200, 1_000, 2_000)
ROUNDS = 5


def load_tokenizer() -> tuple[str, Callable[[str], int]]:
    """Return the name of the first tokenizer that is installed, and its counter."""
    for name in TOKENIZERS:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        try:
            return name, make_counter(module.get_encoding("o200k_base"))
        except OSError as error:
            print(f"{name} could not load o200k_base: {type(error).__name__}")
    raise SystemExit(f"No tokenizer to compare with: pip install {' or '.join(TOKENIZERS)}")


def read_texts(arguments: list[str]) -> dict[str, str]:
    """Return the text of each kind: of files given as KIND=PATH, or of the committed samples."""
    texts: dict[str, list[str]] = defaultdict(list)
    if not arguments:
        for line in SAMPLES.read_text("utf-8").splitlines():
            sample = json.loads(line)
            texts[sample["kind"]].append(sample["text"])
    for argument in arguments:
        kind, equals, path = argument.partition("=")
        if not equals:
            raise SystemExit(f"--text must be KIND=PATH, not {argument!r}")
        texts[kind].append(Path(path).read_text("utf-8"))
    return {kind: "\n\n".join(parts) for kind, parts in texts.items()}


def cut_prompts(text: str, size: int, count: Callable[[str], int]) -> Iterator[str]:
    """Yield stretches of whole lines of about `size` tokens; a rest below half of it is left out.

    The first stretch is yielded however short it is.
    """
    characters = size * len(text) / max(1, count(text))
    prompt = ""
    is_first = True
    for line in text.splitlines(keepends=True):
        prompt += line
        if len(prompt) >= characters:
            yield prompt
            prompt, is_first = "", False
    if prompt and (is_first or len(prompt) >= characters / 2):
        yield prompt


def milliseconds(count: Callable[[str], int], prompts: list[str]) -> float:
    """Return the median time of one count."""
    times: list[float] = []
    for _ in range(ROUNDS):
        for prompt in prompts:
            start = time.perf_counter()
            count(prompt)
            times.append(1_000 * (time.perf_counter() - start))
    return statistics.median(times)


def main() -> None:
    """Print one line for each kind and size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--text", action="append", default=[], metavar="KIND=PATH")
    texts = read_texts(parser.parse_args().text)
    name, count = load_tokenizer()
    print(f"errors against o200k_base of {name}; times for one prompt, counted again and again")
    print(
        f"{'kind':16} {'size':>5} {'prompts':>7} {'sum':>7} {'mean':>6} {'p95':>6} {'ms':>6}"
        f" {name} ms"
    )
    for kind, text in texts.items():
        for size in SIZES:
            prompts = list(cut_prompts(text, size, count))
            actual = [max(1, count(prompt)) for prompt in prompts]
            estimates = [count_tokens(prompt) for prompt in prompts]
            errors = sorted(
                abs(guess / real - 1) for guess, real in zip(estimates, actual, strict=True)
            )
            print(
                f"{kind:16} {size:5} {len(prompts):7} {sum(estimates) / sum(actual) - 1:+7.1%}"
                f" {statistics.mean(errors):6.1%} {errors[math.ceil(0.95 * len(errors)) - 1]:6.1%}"
                f" {milliseconds(count_tokens, prompts):6.2f} {milliseconds(count, prompts):.2f}"
            )


if __name__ == "__main__":
    main()
