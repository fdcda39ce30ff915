"""Near-duplicates: found by vectors of the beginning of a text, then by whole texts."""

from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from embedders import HashingEmbedder, Vectors
from test_searching import recorded_statements

from memsense.client.memory import MemSense

BEGINNING = "Here is the weekly report on the harbour as always. "
ENDINGS = ("The crane was repaired by Odile.", "A storm sank two dinghies at night.")


class ShortSighted(HashingEmbedder):
    """Embedder that reads only the first nine words, like a model with a limit."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return super().embed([" ".join(text.split()[:9]) for text in texts])


@pytest.fixture
def memory(database_url: str) -> Generator[MemSense]:
    with MemSense.open(database_url, embedder=ShortSighted()) as opened:
        yield opened


def tell(memory: MemSense, texts: Sequence[str]) -> list[int]:
    told: list[int] = []
    for number, text in enumerate(texts):
        message = {"role": "user", "content": text, "at": datetime(2026, 1, 1 + number, tzinfo=UTC)}
        added = memory.add([message], user_id="ada", session_id=f"s{number}", mode="turn")
        told += [chunk.chunk_id for chunk in added]
    return told


def ask(memory: MemSense, **options: Any) -> Any:
    return memory.search(
        "weekly report on the harbour", user_id="ada", granularity="turn", **options
    )


def test_texts_that_begin_alike_are_no_duplicates(memory: MemSense) -> None:
    tell(memory, [BEGINNING + ending for ending in ENDINGS] + ["The harbour is old."])
    vectors = ShortSighted().embed([BEGINNING + ending for ending in ENDINGS])
    assert np.allclose(vectors[0], vectors[1])
    by_vectors = ask(memory, overrides={"duplicate_overlap": 0.0})
    assert [hit.explain.selection.duplicate for hit in by_vectors] == [False, False, True]
    assert "old" in by_vectors[1].content
    result = ask(memory)
    assert not any(hit.explain.selection.duplicate for hit in result)
    assert result[0].explain.selection.max_redundancy == 0


def test_the_same_text_again_is_a_duplicate_however_it_is_written(memory: MemSense) -> None:
    text = BEGINNING + ENDINGS[0]
    told = tell(memory, [text, text.upper(), "The harbour is old."])
    result = ask(memory, top_k=2)
    assert "old" in result[1].content
    gone = ({*told[:2]} - {hit.chunk_id for hit in result}).pop()
    verdict = memory.why_not(
        "weekly report on the harbour", gone, user_id="ada", granularity="turn", top_k=2
    )
    assert verdict.step == "duplicate"


def test_why_not_lays_a_text_that_only_begins_alike_to_mmr_or_score(memory: MemSense) -> None:
    told = tell(memory, [BEGINNING + ending for ending in ENDINGS])
    (hit,) = ask(memory, top_k=1)
    (other,) = {*told} - {hit.chunk_id}
    verdict = memory.why_not(
        "weekly report on the harbour", other, user_id="ada", granularity="turn", top_k=1
    )
    assert verdict.step == "outranked"


def test_texts_are_read_only_where_vectors_are_close(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(memory, ["The harbour is old.", "Weekly soup of leeks."])
    ask(memory)
    with recorded_statements(monkeypatch) as plain:
        ask(memory)
    tell(memory, [BEGINNING + ending for ending in ENDINGS])
    ask(memory)
    with recorded_statements(monkeypatch) as close:
        ask(memory)
    assert len(close) == len(plain) + 1
