"""A new filter and a new verb, added as CONTRIBUTING says, are found in every face.

The test adds both to a copy of the checkout, runs `tools/generate.py` there, and asks Python, the
asynchronous class, the view of one user, HTTP, the command line and MCP for them.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

Edits = Mapping[str, Sequence[tuple[str, str]]]

FILTER: Edits = {
    "sql/filters.sql": [
        (
            "-- name: quoted\n",
            "-- name: min_ordinal\n"
            "-- because: it stands too early in its session\n"
            "c.ordinal >= %(min_ordinal)s\n\n"
            "-- name: quoted\n",
        )
    ],
    "memsense/search/request.py": [
        (
            "    exclude_sessions: Sequence[str] = ()\n",
            "    exclude_sessions: Sequence[str] = ()\n    min_ordinal: int | None = None\n",
        )
    ],
    "memsense/client/verbs.py": [
        (
            "        exclude_sessions: ExcludedSessions = (),\n",
            "        exclude_sessions: ExcludedSessions = (),\n"
            "        min_ordinal: Annotated[Limit, about('Only from this exchange on.')]"
            " | None = None,\n",
        ),
        (
            "exclude_sessions=exclude_sessions,\n            ),",
            "exclude_sessions=exclude_sessions, min_ordinal=min_ordinal,\n            ),",
        ),
    ],
}
"""Three files; the fourth of a real filter is its test."""

VERB: Edits = {
    "memsense/client/user_view.py": [
        (
            '        "demote": _ONE_CHUNK,\n',
            '        "demote": _ONE_CHUNK,\n        "pin": _ONE_CHUNK,\n',
        )
    ],
    "memsense/client/aio.py": [
        (
            f"    demote = awaited({owner}.demote)\n",
            f"    demote = awaited({owner}.demote)\n    pin = awaited({owner}.pin)\n",
        )
        for owner in ("Memory", "UserMemory")
    ],
    "memsense/client/verbs.py": [
        (
            "    @takes\n    def demote(",
            "    @takes\n"
            "    def pin(self, chunk_id: MemoryId, *, reason: Reason | None = None) -> float:\n"
            '        """Pin a memory to the highest score."""\n'
            "        assert reason is None\n"
            "        return self._changes.move_score(chunk_id, 1.0, None)\n\n"
            "    @takes\n    def demote(",
        )
    ],
    "memsense/server/routes/memories.py": [
        (
            'for verb in ("archive", "forget", "restore")',
            'for verb in ("archive", "forget", "restore", "pin")',
        )
    ],
    "memsense/mcp/tools.py": [
        (
            "    @pass_texts_on\n    async def restore(",
            "    @pass_texts_on\n"
            "    async def pin(self, request: Request, *, chunk_id: ChunkId) -> float:\n"
            '        """Pin a memory."""\n'
            '        access = (await self._find(request)).require("write")\n'
            "        return await access.memory.pin(chunk_id)\n\n"
            "    @pass_texts_on\n    async def restore(",
        ),
        (
            '        _make_tool(tools.restore, "Restore", repeatable=True),\n',
            '        _make_tool(tools.restore, "Restore", repeatable=True),\n'
            '        _make_tool(tools.pin, "Pin"),\n',
        ),
    ],
    "memsense/cli/chunks.py": [
        (
            "def demote(",
            "def pin(ctx: typer.Context, chunks: ChunkIds, *, output: Output = 'table') -> None:\n"
            '    """Pin memories."""\n'
            "    _change(ctx, chunks, lambda it, chunk: {'score': it.pin(chunk)}, output)\n\n\n"
            "def demote(",
        )
    ],
    "memsense/cli/app.py": [
        (
            '    "demote": (',
            '    "pin": ("chunks:pin", "Pin memories."),\n    "demote": (',
        )
    ],
}

FIND = """
import inspect, json, sys
from memsense import AsyncMemSense, MemSense
from memsense.client.user_memory import UserMemory
from memsense.client.aio import AsyncUserMemory
from memsense.explain.why_not import FILTER_REASONS
from memsense.mcp.tools import make_tools
from tools.parity import OPERATIONS
from memsense.server.routes.memories import router

classes = (MemSense, AsyncMemSense, UserMemory, AsyncUserMemory)
tools = make_tools(None, read_only=False)
print(json.dumps({
    "search": [sorted(inspect.signature(it.search).parameters) for it in classes],
    "why_not": [sorted(inspect.signature(it.why_not).parameters) for it in classes],
    "verbs": [sorted(dir(it)) for it in classes],
    "pin": [str(inspect.signature(it.pin)) for it in classes if hasattr(it, "pin")],
    "documented": "min_ordinal: Only from" in UserMemory.search.__doc__,
    "reasons": sorted(FILTER_REASONS),
    "bodies": {
        item.operation_name: item.body_type.model_json_schema()["properties"]
        for item in OPERATIONS
        if item.operation_name in ("search", "search_many", "context", "why_not")
    },
    "paths": sorted(route.path for route in router.routes),
    "tools": {tool.name: sorted(tool.parameters["properties"]) for tool in tools},
}))
"""


def run(checkout: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(checkout), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def add(checkout: Path, edits: Edits) -> None:
    for name, changes in edits.items():
        path = checkout / name
        text = path.read_text(encoding="utf-8")
        for before, after in changes:
            assert before in text, (name, before)
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the checkout's sources with the filter and the verb, generated anew."""
    copy = tmp_path_factory.mktemp("checkout")
    skipped = shutil.ignore_patterns("__pycache__", "*.onnx")
    for name in ("memsense", "sql", "alembic", "tools"):
        shutil.copytree(ROOT / name, copy / name, ignore=skipped)
    shutil.copy(ROOT / "pyproject.toml", copy)
    add(copy, FILTER)
    add(copy, VERB)
    run(copy, "tools/generate.py")
    return copy


@pytest.fixture(scope="module")
def found(checkout: Path) -> dict[str, Any]:
    """Return what every face of the copy knows."""
    return json.loads(run(checkout, "-c", FIND))


def test_a_new_filter_is_in_every_face(checkout: Path, found: dict[str, Any]) -> None:
    for names in [*found["search"], *found["why_not"], *map(list, found["bodies"].values())]:
        assert "min_ordinal" in names
    assert found["bodies"]["search"]["min_ordinal"]["description"].startswith("Only from")
    assert "min_ordinal" in found["reasons"]
    assert found["documented"]
    for tool in ("recall", "why_not"):
        assert "min_ordinal" in found["tools"][tool]
    for command in ("search", "context", "why-not"):
        assert "--min-ordinal" in run(checkout, "-m", "memsense", command, "--help")


def test_a_new_verb_is_in_every_face(checkout: Path, found: dict[str, Any]) -> None:
    assert all("pin" in names for names in found["verbs"])
    assert len(found["pin"]) == 4
    assert all("chunk_id" in text and "reason" in text for text in found["pin"])
    assert "/v1/memories/{chunk_id}/pin" in found["paths"]
    assert found["tools"]["pin"] == ["chunk_id"]
    assert "Pin memories." in run(checkout, "-m", "memsense", "pin", "--help")
