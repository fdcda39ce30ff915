"""Reads logs out of memory, or the shared samples where they are at hand."""

import io
import os
import sys
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

import pytest

from memsense.ingest import ReadOptions, ReadReport, Source, expand_paths, read_source
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

sys.path.append(str(Path(__file__).parent))  # modules beside the tests

SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", Path(__file__).resolve().parents[4] / "shared"))


@pytest.fixture(scope="module", autouse=True)
def no_own_formats(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Read logs without the formats of whoever runs the tests, in whose home each read looks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMSENSE_FORMATS_DIR", str(tmp_path_factory.mktemp("formats")))
        yield


@pytest.fixture
def read_log() -> ReadLog:
    """Reads text or bytes as a file of that name: (conversations, report)."""

    def read(
        content: str | bytes, options: ReadOptions | None = None, name: str = "log.jsonl"
    ) -> tuple[list[Conversation], ReadReport]:
        data = content.encode() if isinstance(content, str) else content
        source = Source(label=name, name=name, opener=partial(io.BytesIO, data), size=len(data))
        report = ReadReport()
        return list(read_source(source, options, report)), report

    return read


@pytest.fixture
def read_path() -> ReadLog:
    """Reads whatever is behind paths: (conversations, report)."""

    def read(
        *paths: Path, options: ReadOptions | None = None
    ) -> tuple[list[Conversation], ReadReport]:
        report = ReadReport()
        found = [
            conversation
            for source in expand_paths(paths, report)
            for conversation in read_source(source, options, report)
        ]
        return found, report

    return read


@pytest.fixture
def samples() -> Path:
    """Return the folder of sample logs of many programs; they are not part of the project."""
    folder = SHARED / "samples"
    if not folder.is_dir():
        pytest.skip(f"no sample logs in {folder}")
    return folder
