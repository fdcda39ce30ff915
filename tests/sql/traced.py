"""A small memory with near-duplicates, and random searches over it, the same in every run."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from memsense import MemSense

WORDS = [
    "apple",
    "river",
    "lantern",
    "Lisbon",
    "guitar",
    "winter",
    "saffron",
    "bicycle",
    "ledger",
    "harbour",
    "violin",
    "tea",
    "market",
    "rain",
    "garden",
    "letter",
    "bridge",
    "coffee",
    "train",
    "window",
    "copper",
    "meadow",
    "pepper",
    "sailor",
    "thimble",
    "walnut",
]
START = datetime(2026, 1, 1, tzinfo=UTC)


def some_text(source: random.Random) -> str:
    return " ".join(source.choices(WORDS, k=source.choice([3, 6, 12])))


def fill(
    memory: MemSense, *, user_id: str = "ada", sessions: int = 9, mode: Any = "hybrid"
) -> None:
    """Add sessions of five exchanges; every fourth one nearly repeats one of another session."""
    source = random.Random(f"{user_id}{sessions}")
    said: list[tuple[str, str]] = []
    for session in range(sessions):
        messages: list[dict[str, Any]] = []
        for turn in range(5):
            sides = (some_text(source), some_text(source))
            if said and turn == 3:
                user, assistant = source.choice(said)
                sides = (user, f"{assistant} {source.choice(WORDS)}")
            said.append(sides)
            at = START + timedelta(days=session, minutes=turn)
            messages += [
                {"role": "user", "content": sides[0], "at": at},
                {"role": "assistant", "content": sides[1], "at": at},
            ]
        memory.add(
            messages,
            user_id=user_id,
            session_id=f"s{session}",
            mode=mode,
            tags=source.choice([(), ("river",), ("winter", "tea")]),
            task_tag=source.choice([None, "violin lesson"]),
        )
    memory.indexes.make_sessions(user_id)


@dataclass(frozen=True)
class Asked:
    """A random question with random options of `MemSense.search`."""

    question: str
    options: dict[str, Any]


def random_searches(count: int, seed: int = 5) -> Iterator[Asked]:
    """Return questions over all profiles, granularities, list lengths and some filters."""
    source = random.Random(seed)
    for _ in range(count):
        options: dict[str, Any] = {
            "user_id": source.choice(["ada", "ada", "ada", "bob", None]),
            "top_k": source.randint(1, 8),
            "granularity": source.choice([None, "turn", "session", "session"]),
            "profile": source.choice(["balanced", "balanced", "memsense", "lexical", "semantic"]),
            "asked_at": START + timedelta(days=source.randrange(9)),
        }
        options["all_users"] = options["user_id"] is None
        if source.random() < 0.2:
            options["since"] = START + timedelta(days=source.randrange(4))
        if source.random() < 0.2:
            options["tags"] = ["tea", "river"]
        question = " ".join(source.choices(WORDS, k=source.randint(1, 6)))
        yield Asked(question + source.choice(["", "", " on 3 January 2026"]), options)
