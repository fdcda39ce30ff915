"""Gold per token: the share of gold turns whose text stands in a prompt of so many tokens."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

LONG_TEXT = 500
"""Characters of a longer text that are enough for it to count as carried."""

STRETCH = 50
"""Characters of the shortest stretch of a long text that counts."""

UNRELATED = Path(__file__).with_name("unrelated.jsonl")

_QUOTE_MARKS = re.compile(r"^(?:[ \t]*> ?)+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrelatedPrompt:
    """Prompt that concerns nothing that a memory could hold.

    Attributes:
        kind: One of ten kinds, such as "small talk".
        prompt: The text.
    """

    kind: str
    prompt: str


def read_unrelated(path: Path = UNRELATED) -> Sequence[UnrelatedPrompt]:
    """Read the prompts of a file, by default the 200 that ship with memsense."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [UnrelatedPrompt(**json.loads(line)) for line in lines]


@lru_cache(maxsize=256)
def normalise(text: str) -> str:
    """Return the text without quote marks at line starts and HTML escapes, on one line."""
    return " ".join(html.unescape(_QUOTE_MARKS.sub("", text)).split())


def carried(prompt: str, text: str) -> bool:
    """Return whether the text stands in the prompt, however it is quoted.

    A text of more than 500 characters needs 500 of them: its first, or stretches of at least 50
    characters that have 500 together.

    Args:
        prompt: The prompt.
        text: The text of a turn.
    """
    prompt, text = normalise(prompt), normalise(text)
    if text[:LONG_TEXT] in prompt:
        return bool(text)
    if len(text) <= LONG_TEXT:
        return False
    # A character counts if a window around it stands in the prompt. Windows in a set instead of
    # a search for the longest common stretches: prompts and turns have thousands of characters.
    windows = {prompt[start : start + STRETCH] for start in range(len(prompt) - STRETCH + 1)}
    count = end = 0
    for start in range(len(text) - STRETCH + 1):
        if text[start : start + STRETCH] in windows:
            count += start + STRETCH - max(start, end)
            end = start + STRETCH
    return count >= LONG_TEXT
