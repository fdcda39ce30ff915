"""A log of any format is stored once; when it has grown, only its new part is stored."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.ingest import ReadOptions

sys.path.append(str(Path(__file__).parents[1] / "unit" / "ingest"))

from foreign_databases import PROGRAMS, write_database
from small_logs import LOGS

INJECTED = "<hook_context>\na secret from before\n</hook_context>"
TEXTS = (f"{INJECTED}where is the boat?", "at the pier")
GROWN = (*TEXTS, "and the oars?", "in the shed")
SUFFIXES = {"rows": "csv", "text": "txt", "transcript": "txt", "aider": "md"}
# New, changed and known exchanges: at first, again, with a question, with its answer, again.
OF_A_CHAT = [(1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1), (0, 0, 2)]
OF_PROSE = [(1, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1)]
DATABASES = [f"{form} database" for form in PROGRAMS]


@pytest.fixture(scope="module")
def memory(module_database_url: str) -> Generator[MemSense]:
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as memory:
        yield memory


def write(folder: Path, kind: str, texts: tuple[str, ...]) -> tuple[Path, ReadOptions]:
    """Write these texts as the log, in place of its contents; return how it is read."""
    form, _, database = kind.partition(" ")
    if database:
        path = folder / PROGRAMS[form][0]
        path.unlink(missing_ok=True)
        return write_database(folder, form, *texts), ReadOptions()
    path = folder / f"log.{SUFFIXES.get(form, 'json')}"
    path.write_text(LOGS[form](texts))
    return path, ReadOptions(format="text") if form == "text" else ReadOptions()


@pytest.mark.parametrize("kind", [*LOGS, *DATABASES])
def test_a_log_is_stored_once_and_its_tail_when_it_grew(
    kind: str, memory: MemSense, tmp_path: Path
) -> None:
    user = kind.replace(" ", "-")
    counts: list[tuple[int, int, int]] = []
    for texts in (TEXTS, TEXTS, GROWN[:3], GROWN, GROWN):
        path, options = write(tmp_path, kind, texts)
        report = memory.ingest(path, user_id=user, options=options)
        assert report.read.messages_kept == len(texts)
        counts.append((report.stored, report.replaced, report.repeated))
    stored = memory.recent(user_id=user, limit=100)
    said = "\n".join(f"{chunk.user_text}\n{chunk.assistant_text}" for chunk in stored)
    assert "secret" not in said
    assert all(said.count(text) == 1 for text in ("where is the boat?", *GROWN[1:]))
    assert counts == (OF_PROSE if kind == "text" else OF_A_CHAT)
