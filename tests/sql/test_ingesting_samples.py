"""Every sample log is stored once, however often it is ingested."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from embedders import HashingEmbedder

from memsense import MemSense, MemSenseError

SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", Path(__file__).parents[2].parent / "shared"))
SAMPLES = SHARED / "samples"
LOGS = sorted(
    path
    for path in SAMPLES.rglob("*")
    if path.is_file() and path.suffix != ".md" and not {"slack", "logs3"} & set(path.parts)
)

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")


@pytest.fixture(scope="module")
def memory(module_database_url: str) -> Generator[MemSense]:
    """Yield a memory for all samples, with a user for each: to empty it takes longer than a log."""
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as memory:
        yield memory


def ingest(memory: MemSense, path: Path, user: str) -> tuple[int, int]:
    """Return the number of new or changed exchanges, and of unchanged ones; zeros if unreadable."""
    try:
        report = memory.ingest(path, user_id=user)
    except MemSenseError:
        return 0, 0
    return report.stored + report.replaced, report.repeated


@pytest.mark.parametrize("path", [*LOGS, SAMPLES / "slack" / "testarchive"], ids=lambda p: p.name)
def test_a_log_that_is_ingested_again_adds_nothing(memory: MemSense, path: Path) -> None:
    user = str(path.relative_to(SAMPLES))
    new, known = ingest(memory, path, user)
    before = memory.stats()
    assert known == 0
    assert ingest(memory, path, user) == (0, new)
    assert memory.stats() == before
    if "malformed" not in path.parts:
        assert new > 0


def test_a_message_of_350_000_characters_is_stored_whole_and_found(memory: MemSense) -> None:
    words = " ".join(f"filler{number % 977}" for number in range(36_000))
    text = f"{words[:250_000]} quixotic {words[250_000:]}"
    assert len(text) > 349_000
    memory.add([{"role": "user", "content": text}], user_id="ada", session_id="long")
    chunks = memory.recent(user_id="ada", limit=1000)
    parts = sorted(chunks, key=lambda chunk: chunk.part)
    assert "".join(chunk.own_user_text for chunk in parts) == text
    [hit, *_] = memory.search("quixotic", user_id="ada", granularity="turn", profile="lexical")
    assert "quixotic" in hit.content
