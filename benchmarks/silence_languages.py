"""Which prompts in other languages than English get memories, and which get nothing.

    python -m benchmarks.silence_languages
    MEMSENSE_MULTILINGUAL=off python -m benchmarks.silence_languages

tests/data/silence_languages.jsonl has 40 facts of one person in each of six languages, 12 prompts
that ask for one of them, and 8 that concern nothing of them. Their writer has not seen the weights,
and no weight was chosen by them. The facts are stored once, in the namespace `silence-languages`.
"""

import json
from collections import Counter
from pathlib import Path

from memsense import MemSense

DATA = Path(__file__).parents[1] / "tests" / "data" / "silence_languages.jsonl"


def main() -> None:
    """Store the facts, ask for a context with each prompt, and print the shares."""
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    with MemSense.open(namespace="silence-languages") as memory:
        facts = [row for row in rows if row["kind"] == "fact"]
        for fact in facts:
            message = {"role": "user", "content": fact["text"]}
            place = {"user_id": fact["language"], "session_id": fact["id"]}
            memory.add([message], **place, key=f"silence/{fact['id']}")
        for row in rows:
            if row["kind"] == "fact":
                continue
            is_answered = bool(memory.context(row["text"], user_id=row["language"]))
            for language in (row["language"], "all"):
                total[language, row["kind"]] += 1
                right[language, row["kind"]] += is_answered == (row["kind"] == "known")
    for language in (*dict.fromkeys(row["language"] for row in rows), "all"):
        known, unrelated = (language, "known"), (language, "unrelated")
        print(
            f"{language}: {right[known]} of {total[known]} known questions answered,"
            f" {right[unrelated]} of {total[unrelated]} unrelated prompts silent"
        )


if __name__ == "__main__":
    main()
