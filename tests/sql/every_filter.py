"""A store with memories inside and outside of each filter, and a value of each filter.

Every face of a search is asked with each of them: `test_every_filter.py` here, in `tests/server`
and in `tests/cli`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memsense import MemSense
from memsense.search.request import FILTER_NAMES

NAMES = (*FILTER_NAMES, "as_of")
"""What limits a search. A new filter needs a value in `Known.value`."""

QUERY = "What should one know about me?"
"""It holds no word of the memories, so that an answer has only those that it shows."""

RULES: Mapping[str, Any] = {"silence": 1, "max_tokens": 1_000}
"""Options of a context that has nothing but standing rules."""

CONTEXT: Mapping[str, Any] = {"silence": 0, "max_tokens": 1_000}
"""Options of a context that has a card, of any prompt."""

INSIDE, EARLY, LATE = "green tea", "walnuts", "Lisbon"
"""A word of each memory and of its rule: those outside are of another session, agent and so on, one
before and one after the one inside."""

SAID = {
    EARLY: (
        "I'm allergic to walnuts. Never use walnuts in any recipe.",
        "2025-06-01T10:00:00Z",
    ),
    INSIDE: (
        "I'm vegetarian and love green tea. Always serve green tea before every meeting.",
        "2026-01-05T10:00:00Z",
    ),
    LATE: (
        "My name is Ada Lisbon. Never book any hotel in Lisbon without a kitchen.",
        "2026-06-01T10:00:00Z",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Known:
    """The stored memories: the chunk of each word, and the moment when only one was stored."""

    chunks: Mapping[str, int]
    moment: str

    def value(self, name: str) -> tuple[Any, set[str]]:
        """Return a filter's value as JSON has it, with the words of the memories outside."""
        both = {EARLY, LATE}
        return {
            "session_ids": (["work"], both),
            "project": ("looms", both),
            "agent_id": ("desk", both),
            "since": ("2026-01-01T00:00:00Z", {EARLY}),
            "until": ("2026-02-01T00:00:00Z", {LATE}),
            "tags": (["tea"], both),
            "kinds": (["preference"], both),
            "metadata": ({"room": {"$lte": 1}, "floor": "first"}, both),
            "exclude": ([self.chunks[EARLY], "message of Lisbon"], both),
            "exclude_sessions": (["home"], both),
            "as_of": (self.moment, both),
        }[name]


def fill(memory: MemSense) -> Known:
    """Store the memories, the one inside first, with their history."""
    memory.settings.set(history="on")
    chunks: dict[str, int] = {}
    moment = ""
    for word in (INSIDE, EARLY, LATE):
        text, at = SAID[word]
        is_inside = word == INSIDE
        [chunk] = memory.add(
            [{"role": "user", "content": text, "at": at, "id": f"message of {word}"}],
            user_id="ada",
            session_id="work" if is_inside else "home",
            agent_id="desk" if is_inside else "phone",
            project="looms" if is_inside else "mills",
            tags=["tea"] if is_inside else ["life"],
            memory_kind="preference" if is_inside else "stable",
            metadata={"room": 1 if is_inside else 2, "floor": "first"},
        )
        chunks[word] = chunk.chunk_id
        moment = moment or chunk.recorded_at.isoformat()
    return Known(chunks=chunks, moment=moment)


def words_in(shown: object) -> set[str]:
    """Return the words of memories that an answer shows anywhere."""
    return {word for word in SAID if word in str(shown)}


def assert_inside(shown: object, outside: set[str]) -> None:
    """Assert that an answer shows the memories that pass the filter, and nothing of the others."""
    assert words_in(shown) == SAID.keys() - outside
