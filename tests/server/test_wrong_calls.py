"""Wrong calls in every face: each error names the wrong value and what to do instead."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from embedders import HashingEmbedder
from fastapi.testclient import TestClient
from serving import Served

from memsense import AsyncMemSense, MemSense, load_settings
from memsense.errors import MemSenseError

sys.path.append(str(Path(__file__).parents[1] / "cli"))

PYTHON: list[tuple[Callable[[MemSense], object], str, str]] = [
    (lambda m: m.search("tea", user_id="ada", top_k=0), "0", "1 to 1,000"),
    (lambda m: m.search("tea", user_id="ada", top_k="many"), "'many'", "whole number"),  # pyright: ignore[reportArgumentType]
    (lambda m: m.search("tea"), "user_id", "all_users"),
    (lambda m: cast("Any", m).search("tea", user_id="ada", limit=3), "limit", "top_k"),
    (lambda m: m.search("tea", user_id="ada", since="yesteryear"), "'yesteryear'", "ISO 8601"),
    (lambda m: m.search("tea", user_id="ada", profile="nosuch"), "'nosuch'", "balanced"),
    (lambda m: m.search("tea", user_id="ada", overrides={"lexicl": 1}), "lexicl", "lexical"),
    (lambda m: m.add([{"role": "robot", "content": "Hm."}], user_id="ada"), "'robot'", "'user'"),
    (lambda m: m.add([{"role": "user"}], user_id="ada"), "content", "messages.0"),
    (lambda m: m.add("tea", user_id=""), "user_id", "empty"),
    (lambda m: m.add("tea", user_id="ada", ttl="forever"), "'forever'", "30d"),
    (lambda m: m.get(999_999), "'default'", "nothing is stored"),
    (lambda m: m.settings.set(nosuch=3), "nosuch", "settings"),
    (lambda m: m.settings.set(redact="maybe"), "'maybe'", "all or logs or off"),
    (lambda m: m.access_keys.create(["foo"]), "'foo'", "'read'"),  # pyright: ignore[reportArgumentType]
]
"""A call, the wrong value or argument, and the remedy, as they must be in the error."""

COMMANDS = [
    ("search tea --user ada --limit 5", "--limit", "--top-k"),
    ("search tea --user ada --top-k many", "'many'", "whole number"),
    ("search tea --user ada --since yesteryear", "'yesteryear'", "ISO 8601"),
    ("search tea --user ada --profile nosuch", "'nosuch'", "balanced"),
    ("context tea --user ada --max-tokens -5", "-5", "1 to 1,000,000"),
    ("ingest nofile.json", "nofile.json", "no such file"),
    ("ingest {log} --format nosuch", "'nosuch'", "chatgpt"),
    ("show abc", "'abc'", "whole number"),
    ("forget 999999", "'default'", "nothing is stored"),
    ("changes reject x 2", "'x'", "whole number"),
    ("settings set nosuch=3", "nosuch", "settings"),
    ("settings set redact=maybe", "'maybe'", "all or logs or off"),
    ("key create --scope foo", "'foo'", "'read'"),
    ("export out.jsonl --output xml", "'xml'", "json"),
    ("erase --user ada", "'ada'", "--yes"),
    ("add tea --user ada --metadata notjson", "'notjson'", "JSON"),
    ("serve --port 99999", "99999", "65535"),
    ("serch tea", "'serch'", "search"),
]

REQUESTS = [
    ("POST", "/v1/search", {"query": "tea", "user_id": "ada", "limit": 3}, "limit", "top_k"),
    ("POST", "/v1/search", {"query": "tea", "user_id": "ada", "top_k": "many"}, "'many'", "whole"),
    ("POST", "/v1/search", '{"query": tea}', "line 1", "JSON"),
    ("POST", "/v1/memories", {"messages": "tea"}, "user_id", "user_id"),
    ("GET", "/v1/memory", None, "/v1/memory", "/v1/memories"),
    ("PUT", "/v1/search", None, "PUT", "POST"),
    ("GET", "/v1/memories/999999", None, "'default'", "nothing is stored"),
]

TOOLS: list[tuple[str, dict[str, Any], str, str]] = [
    ("recall", {"query": "tea"}, "query", "question"),
    ("recall", {"question": "tea", "top_k": 0}, "0", "1"),
    ("forget", {"chunk_ids": [999_999]}, "chunk_ids", "chunk_id'"),
]


def check(text: str, wrong: str, remedy: str) -> None:
    """Check that an error names both, in words of ours and without a traceback."""
    assert wrong in text, text
    assert remedy in text, text
    for foreign in ("Value error", "Input should", "Aborted!", "Traceback", "docs/"):
        assert foreign not in text, text


@pytest.mark.parametrize(("call", "wrong", "remedy"), PYTHON)
def test_python(
    served: Served, call: Callable[[MemSense], object], wrong: str, remedy: str
) -> None:
    with pytest.raises((MemSenseError, TypeError)) as failure:
        call(served.tenants.memory("acme"))
    check(str(failure.value), wrong, remedy)


@pytest.mark.parametrize(("line", "wrong", "remedy"), COMMANDS)
def test_commands(database_url: str, tmp_path: Path, line: str, wrong: str, remedy: str) -> None:
    from command import run

    log = tmp_path / "log.json"
    log.write_text("[]")
    done = run(database_url, *line.format(log=log).split())
    assert done.returncode not in (0, 1) or "namespace" in done.stderr, done
    check(done.stderr, wrong, remedy)


@pytest.mark.parametrize(("method", "path", "body", "wrong", "remedy"), REQUESTS)
def test_requests(
    client: TestClient, method: str, path: str, body: Any, wrong: str, remedy: str
) -> None:
    content = body if isinstance(body, str) or body is None else json.dumps(body)
    headers = {"Content-Type": "application/json"}
    answer = client.request(method, path, headers=headers, content=content)
    assert 400 <= answer.status_code < 500
    check(f"{answer.text} {answer.headers.get('allow', '')}", wrong, remedy)


@pytest.mark.parametrize(("tool", "arguments", "wrong", "remedy"), TOOLS)
def test_tools(
    database_url: str, tool: str, arguments: dict[str, Any], wrong: str, remedy: str
) -> None:
    pytest.importorskip("mcp")
    from mcp import Client
    from mcp_answers import call, text_of

    from memsense.mcp.scope import OneScope, Scope
    from memsense.mcp.server import build_server

    async def ask() -> str:
        settings = load_settings(database_url=database_url)
        memory = AsyncMemSense.open(settings=settings, embedder=HashingEmbedder())
        async with OneScope(settings, Scope(user_id="ada"), memory) as find:
            async with Client(build_server(find)) as client:
                answer = await call(client, tool, **arguments)
        assert answer.is_error
        return text_of(answer)

    check(asyncio.run(ask()), wrong, remedy)
