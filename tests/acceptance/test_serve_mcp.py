"""MCP on the server: a key and a user in the address say whose memory it is."""

import time
from collections.abc import Awaitable, Callable

import anyio
import httpx
import httpx2
import mcp_answers
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_answers import ask, ids_in, text_of
from mcp_processes import FIRST_SDK
from test_serve import run, serving

from memsense.store.access import KNOWN_SECONDS

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


def test_a_key_opens_its_tenant_and_the_address_one_user_of_it(database_url: str) -> None:
    acme, rival = (make_key(database_url, tenant, "read,write") for tenant in ("acme", "rival"))
    reader = make_key(database_url, "acme", "read")

    async def remember(client: Client) -> None:
        told = await ask(client, "remember", text="I drink tea in Lisbon.")
        assert told.startswith("Remembered for ada: ")

    async def find(client: Client) -> None:
        told = await ask(client, "recall", question="tea")
        assert len(ids_in(told)) == 1
        assert "user: I drink tea in Lisbon." in told

    async def find_nothing(client: Client) -> None:
        assert ids_in(await ask(client, "recall", question="tea")) == []
        refused = await mcp_answers.call(client, "forget", chunk_id=1)
        assert refused.is_error
        assert "needs a key with the scope 'forget'" in text_of(refused)

    async def only_read(client: Client) -> None:
        await find(client)
        refused = await mcp_answers.call(client, "remember", text="I drink milk.")
        assert refused.is_error
        assert "needs a key with the scope 'write'; yours has read" in text_of(refused)

    with serving(database_url, "--require-keys") as address:
        for mode in MODES:
            call(address, acme, remember, user="ada", mode=mode)
            call(address, acme, find, user="ada", mode=mode)
        call(address, reader, only_read, user="ada")
        call(address, acme, find_nothing, user="bob")
        call(address, rival, find_nothing, user="ada")


@pytest.mark.skipif(not FIRST_SDK.exists(), reason="`make setup-dev` installs the SDK for it")
def test_a_key_opens_its_tenant_on_the_first_generation_of_the_sdk_too(database_url: str) -> None:
    key = make_key(database_url, "acme", "read,write")

    async def work(client: Client) -> None:
        [chunk] = ids_in(await ask(client, "remember", text="I drink tea in Lisbon."))
        assert ids_in(await ask(client, "recall", question="tea")) == [chunk]
        [content] = (await client.read_resource(f"memsense://chunk/{chunk}")).contents
        assert "Lisbon" in getattr(content, "text", "")
        [message] = (await client.get_prompt("recall", {"question": "tea"})).messages
        assert "user: I drink tea in Lisbon." in getattr(message.content, "text", "")

    variables = {"PYTHONPATH": str(FIRST_SDK)}
    with serving(database_url, "--require-keys", **variables) as address:
        call(address, key, work, user="ada", mode="legacy")
        assert httpx.post(f"{address}/mcp?user=ada", json=PING, headers=ACCEPT).status_code == 401


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
        # Another process revoked it: until then the server may know it as valid.
        time.sleep(KNOWN_SECONDS)
        assert httpx.post(place, json=PING, headers=headers).status_code == 401


def test_without_keys_only_this_machine_is_answered(database_url: str) -> None:
    async def remember(client: Client) -> None:
        await ask(client, "remember", text="I drink tea.")

    with serving(database_url) as address:
        call(address, None, remember, user="ada")
        named = {**ACCEPT, "Host": "evil.example"}
        assert httpx.post(f"{address}/mcp?user=ada", json=PING, headers=named).status_code == 403
