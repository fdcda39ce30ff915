"""MCP on the server: a key and a user in the address say whose memory it is."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from test_serve import run, serving

MODES = ("auto", "legacy", "2026-07-28")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
Work = Callable[[Client], Awaitable[None]]


def make_key(url: str, tenant: str, scopes: str) -> str:
    done = run(url, "--tenant", tenant, "key", "create", "--scope", scopes)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def call(address: str, key: str | None, work: Work, *, user: str, mode: str = "auto") -> None:
    async def main() -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as sender:
            place = f"{address}/mcp?user={user}"
            transport = streamable_http_client(place, http_client=sender)
            async with Client(transport, mode=mode) as client:
                await work(client)

    anyio.run(main)


async def ask(client: Client, tool: str, **arguments: object) -> tuple[bool, str, dict[str, Any]]:
    found = await client.call_tool(tool, arguments)
    assert isinstance(found, CallToolResult)
    [content] = found.content
    assert isinstance(content, TextContent)
    return bool(found.is_error), content.text, found.structured_content or {}


def test_a_key_opens_its_tenant_and_the_address_one_user_of_it(database_url: str) -> None:
    acme, rival = (make_key(database_url, tenant, "read,write") for tenant in ("acme", "rival"))
    reader = make_key(database_url, "acme", "read")

    async def remember(client: Client) -> None:
        refused, _, answer = await ask(client, "remember", text="I drink tea in Lisbon.")
        assert (refused, answer["user"]) == (False, "ada")

    async def find(client: Client) -> None:
        _, told, answer = await ask(client, "recall", question="tea")
        assert len(answer["memories"]) == 1
        assert "> user: I drink tea in Lisbon." in told

    async def find_nothing(client: Client) -> None:
        refused, _, answer = await ask(client, "recall", question="tea")
        assert (refused, answer["memories"]) == (False, [])
        refused, told, _ = await ask(client, "forget", chunk_id=1)
        assert refused
        assert "needs a key with the scope 'forget'" in told

    async def only_read(client: Client) -> None:
        await find(client)
        refused, told, _ = await ask(client, "remember", text="I drink milk.")
        assert refused
        assert "needs a key with the scope 'write'; yours has read" in told

    with serving(database_url, "--require-keys") as address:
        for mode in MODES:
            call(address, acme, remember, user="ada", mode=mode)
            call(address, acme, find, user="ada", mode=mode)
        call(address, reader, only_read, user="ada")
        call(address, acme, find_nothing, user="bob")
        call(address, rival, find_nothing, user="ada")


def test_who_shows_no_key_or_names_no_user_is_told(database_url: str) -> None:
    key = make_key(database_url, "default", "read")
    headers = {"Authorization": f"Bearer {key}", **ACCEPT}
    with serving(database_url) as address:
        place = f"{address}/mcp?user=ada"
        assert httpx.post(place, json=PING, headers=headers).status_code == 200
        none = httpx.post(place, json=PING, headers=ACCEPT)
        assert none.status_code == 401
        assert none.headers["www-authenticate"].startswith("Bearer")
        wrong = {**ACCEPT, "Authorization": f"Bearer {key[:-1]}x"}
        assert httpx.post(place, json=PING, headers=wrong).status_code == 401
        nobody = httpx.post(f"{address}/mcp", json=PING, headers=headers)
        assert (nobody.status_code, nobody.json()["detail"]) == (
            422,
            "name the user in the address: /mcp?user=NAME",
        )
        assert httpx.post(f"{address}/mcp?user=", json=PING, headers=headers).status_code == 422
        other = {**headers, "Origin": "http://evil.example"}
        assert httpx.post(place, json=PING, headers=other).status_code == 403
        run(database_url, "key", "revoke", key.split("_")[2])
        assert httpx.post(place, json=PING, headers=headers).status_code == 401


def test_without_keys_only_this_machine_is_answered(database_url: str) -> None:
    async def remember(client: Client) -> None:
        refused, _, _ = await ask(client, "remember", text="I drink tea.")
        assert not refused

    with serving(database_url) as address:
        call(address, None, remember, user="ada")
        named = {**ACCEPT, "Host": "evil.example"}
        assert httpx.post(f"{address}/mcp?user=ada", json=PING, headers=named).status_code == 403
