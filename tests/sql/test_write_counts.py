"""Cost of a write, counted: statements, round trips, and embedded texts and tokens.

Times vary with the machine, these numbers only with the write.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from embedders import TokenHashingEmbedder
from wire import counting_wire

from memsense import MemSense

ADD = {"statements": 24, "round_trips": 17, "parsed": 1}
ANSWER = {"statements": 42, "round_trips": 31, "parsed": 1}
"""An answer writes its exchange anew, and what is known of its neighbours. It was 111 statements
in a session of ten exchanges, one more for each further exchange."""

EXCHANGES = 20

HOW_TO_SEE = (
    "what goes over the wire: tests/sql/wire.py; where more is meant, raise the ceiling here"
)


def said(number: int, roles: Sequence[str] = ("user", "assistant")) -> list[dict[str, Any]]:
    return [{"role": role, "content": f"{role} says thing{number} and more"} for role in roles]


class Written:
    """Memory whose traffic with the server and the embedder is counted."""

    def __init__(self, memory: MemSense, wire: Any, embedder: TokenHashingEmbedder) -> None:
        self.memory = memory
        self._wire = wire
        self.embedder = embedder

    def count(self, messages: list[dict[str, Any]]) -> dict[str, int]:
        """Count the traffic of adding the messages after warm-up."""
        before = self._wire.counts
        self.memory.add(messages, user_id="ada", session_id="chat")
        found = self._wire.counts.since(before)
        return {name: found[name] for name in ("statements", "round_trips", "parsed")}


@pytest.fixture
def written(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MEMSENSE_POOL_MAX_SIZE", "1")
    embedder = TokenHashingEmbedder()
    with (
        counting_wire(database_url) as (wired_url, wire),
        MemSense.open(wired_url, embedder=embedder) as memory,
    ):
        for number in range(10):
            memory.add(said(number), user_id="ada", session_id="chat")
        yield Written(memory, wire, embedder)


def check(found: dict[str, int], most: dict[str, int]) -> None:
    grown = {name: count for name, count in found.items() if count > most.get(name, 0)}
    assert not grown, f"a write takes {grown}, where it was {most}: {HOW_TO_SEE}"


def test_an_exchange_is_added_with_a_known_number_of_statements(written: Written) -> None:
    check(written.count(said(100)), ADD)


def test_an_answer_completes_its_exchange_with_a_known_number_of_statements(
    written: Written,
) -> None:
    found: dict[str, int] = {}
    for number in range(200, 210):
        written.count(said(number, ["user"]))
        found = written.count(said(number, ["assistant"]))
    check(found, ANSWER)


def test_twenty_exchanges_take_no_more_statements_than_one(written: Written) -> None:
    found: dict[str, int] = {}
    for first in range(300, 500, EXCHANGES):
        messages = [one for number in range(first, first + EXCHANGES) for one in said(number)]
        found = written.count(messages)
    check(found, ADD)


def test_an_exchange_is_read_once_for_all_its_vectors(written: Written) -> None:
    embedder = written.embedder
    embedder.passages.clear()
    written.count(said(600))
    assert embedder.passages == ["user says thing600 and more\nassistant says thing600 and more"]
    assert embedder.embedded == []


def test_an_answer_reads_its_own_exchange_alone(written: Written) -> None:
    written.count(said(650))
    written.count(said(651, ["user"]))
    embedder = written.embedder
    embedder.passages.clear()
    written.count(said(651, ["assistant"]))
    assert embedder.passages == ["\n".join(message["content"] for message in said(651))]
    assert embedder.embedded == []


def test_an_exchange_that_a_log_repeats_is_read_once(written: Written, tmp_path: Path) -> None:
    embedder = written.embedder
    embedder.passages.clear()
    lines = [
        f'{{"session_id": "s{number // 10}", "id": "{number}{role}", "role": "{role}",'
        f' "content": "{role} says thing{number % 10}",'
        f' "timestamp": "2026-01-{1 + number // 10:02d}T00:00:{number % 10:02d}Z"}}'
        for number in range(40)
        for role in ("user", "assistant")
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    report = written.memory.ingest(path, user_id="bo")
    assert report.stored == 40
    assert len(embedder.passages) == len(set(embedder.passages)) == 10
    assert embedder.embedded == []
