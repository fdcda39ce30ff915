"""Exports and imports: streamed, as resources with addresses, and ended when nobody reads."""

import asyncio
import json
from errno import ENOSPC
from typing import Any

import pytest
from fastapi.testclient import TestClient
from serving import SAID, Serve, Served, add
from waiting import wait_in_task, wait_until

from memsense.server.transfers import MOST_OF_TENANT, ExportResponse, Transfers

LINES = {"Content-Type": "application/x-ndjson"}


def wait_for(client: TestClient, answer: Any) -> dict[str, Any]:
    """The state of an export or import, once it has ended."""
    assert answer.status_code == 201, answer.text

    def ended() -> dict[str, Any] | None:
        state = client.get(answer.headers["Location"]).json()
        return None if state["status"] == "running" else state

    return wait_until(ended, "the end of the transfer") or {}


def test_an_export_is_fetched_in_parts_and_imported_elsewhere(served: Served) -> None:
    client, other = served.client("acme"), served.client("other")
    add(client)
    add(client, "bob")
    created = client.post("/v1/exports", json={"all_users": True})
    state = wait_for(client, created)
    assert (state["status"], state["report"]) == ("done", {"users": 2, "chunks": 2})
    lines = f"{created.headers['Location']}/lines"
    whole = client.get(lines)
    first = client.get(lines, headers={"Range": "bytes=0-99"})
    rest = client.get(lines, headers={"Range": "bytes=100-"})
    assert (first.status_code, rest.status_code) == (206, 206)
    assert first.content + rest.content == whole.content
    assert state["bytes"] == len(whole.content)
    assert other.get(created.headers["Location"]).status_code == 404
    imported = wait_for(other, other.post("/v1/imports", content=whole.content, headers=LINES))
    assert imported["report"]["stored"] == 2
    again = wait_for(other, other.post("/v1/imports", content=whole.content, headers=LINES))
    assert (again["report"]["stored"], again["report"]["repeated"]) == (0, 2)
    assert len(other.get("/v1/memories", params={"all_users": True}).json()["memories"]) == 2
    assert client.delete(created.headers["Location"]).status_code == 204
    assert client.get(lines).status_code == 404


def test_a_repeated_request_returns_the_same_export(served: Served) -> None:
    client = served.client()
    add(client)
    headers, body = {"Idempotency-Key": "k"}, {"user_id": "ada"}
    one = client.post("/v1/exports", json=body, headers=headers).json()
    two = client.post("/v1/exports", json=body, headers=headers).json()
    assert one["transfer_id"] == two["transfer_id"]
    assert len(client.get("/v1/exports").json()["transfers"]) == 1
    imported = client.post("/v1/imports", content=b"", headers={**LINES, **headers})
    assert imported.status_code == 201, imported.text
    assert imported.headers["Location"].startswith("/v1/imports/")


def test_an_export_that_finds_the_disk_full_has_failed_and_frees_its_place() -> None:
    transfers = Transfers()

    def fill_disk(_: Any) -> None:
        raise OSError(ENOSPC, "No space left on device")

    for _ in range(MOST_OF_TENANT + 1):
        item = transfers.begin("export", "acme", None, None)
        transfers.run_export(item, fill_disk)
        name = item.transfer_id
        wait_until(
            lambda name=name: transfers.find("export", name, "acme", None).ended_at,
            "the end of the export",
        )
        state = transfers.find("export", name, "acme", None)
        assert (state.status, state.error) == (
            "failed",
            f"[Errno {ENOSPC}] No space left on device",
        )
    transfers.close()


def test_an_upload_that_can_t_be_used_is_refused_or_says_why(serve: Serve) -> None:
    client = serve(largest_import=100).client()
    assert client.post("/v1/imports", content="x").status_code == 415
    assert client.post("/v1/imports", content="x" * 101, headers=LINES).status_code == 413
    state = wait_for(client, client.post("/v1/imports", content="no export", headers=LINES))
    assert state["status"] == "failed"
    assert state["error"]


def test_only_an_admin_imports_settings(served: Served) -> None:
    writer = served.client("acme", "write")
    asked = {"settings": True}
    refused = writer.post("/v1/imports", params=asked, content="x", headers=LINES)
    assert (refused.status_code, "scope admin" in refused.json()["detail"]) == (403, True)


def test_the_work_of_an_export_ends_when_its_client_leaves() -> None:
    written: list[int] = []
    ended: list[type[BaseException]] = []

    def export(file: Any) -> None:
        try:
            for number in range(10_000):
                file.write("x" * 70_000)
                written.append(number)
        except BaseException as error:
            ended.append(type(error))
            raise

    async def write(file: Any) -> None:
        await asyncio.to_thread(lambda: None)
        from anyio import to_thread

        await to_thread.run_sync(export, file, abandon_on_cancel=True)

    sent: list[Any] = []
    left = asyncio.Event()

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) == 3:
            left.set()
            await asyncio.Event().wait()  # a client that takes nothing more

    async def receive() -> Any:
        await left.wait()
        return {"type": "http.disconnect"}

    async def main() -> None:
        await ExportResponse(write)({"type": "http"}, receive, send)
        # The loop goes on, as a server's does: the thread asks it whether the client is there.
        await wait_in_task(lambda: ended, "the end of the export's thread")

    asyncio.run(main())
    assert sent[0]["type"] == "http.response.start"
    assert len(written) < 20
    assert ended


def test_an_export_begins_before_it_is_complete(served: Served) -> None:
    client = served.client()
    add(client)
    with client.stream("GET", "/v1/export", params={"user_id": "ada"}) as answer:
        lines = [json.loads(line) for line in answer.iter_lines()]
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert "content-length" not in answer.headers
    assert lines[-1] == {"chunks": 1}


def test_answers_of_the_api_are_compressed_and_pages_are_not(serve: Serve) -> None:
    served = serve(needs_key=False)
    client = TestClient(served.app, base_url="http://localhost")
    for number in range(5):
        add(client, "ada", f"s{number}")
    listed = client.get("/v1/memories", params={"user_id": "ada"})
    assert listed.headers["content-encoding"] == "gzip"
    assert len(listed.json()["memories"]) == 5
    assert "content-encoding" not in client.get("/ui/", params={"q": "tea"}).headers


@pytest.mark.parametrize("origin", ["https://app.example", "https://evil.example"])
def test_listed_sites_alone_may_call_the_api(serve: Serve, origin: str) -> None:
    served = serve(origins=("https://app.example",))
    client = served.client()
    is_listed = origin == "https://app.example"
    body = {"user_id": "ada", "session_id": "s", "messages": SAID}
    headers = {"Origin": origin, "Sec-Fetch-Site": "cross-site"}
    asked = {**headers, "Access-Control-Request-Method": "POST"}
    preflight = client.options("/v1/memories", headers=asked)
    assert (preflight.status_code == 200) is is_listed
    added = client.post("/v1/memories", json=body, headers=headers)
    assert added.status_code == (201 if is_listed else 403)
    assert added.headers.get("access-control-allow-origin") == (origin if is_listed else None)
    # Never the page, which a cookie opens.
    assert client.post("/ui/sign-in", data={}, headers=headers).status_code == 403


def test_a_get_writes_nothing(served: Served) -> None:
    """Every GET of the API leaves all that a memory holds as it was."""
    client = served.client()
    chunk_id = add(client)
    asked = {"query": "tea", "user_id": "ada"}
    recorded = client.post("/v1/traces", json=asked)
    assert recorded.headers["Location"] == f"/v1/traces/{recorded.json()['trace_id']}"
    memory = served.tenants.memory("acme")

    def everything() -> Any:
        chunks = memory.list(all_users=True)
        traces = [trace.trace_id for trace in memory.traces.list()]
        return chunks, memory.history(chunk_id), traces, memory.jobs.list(), memory.settings.show()

    before, tried = everything(), 0
    named = {"chunk_id": chunk_id, "trace_id": recorded.json()["trace_id"], "name": "tea"}
    named |= dict.fromkeys(("erasure_id", "transfer_id", "key_id"), named["trace_id"])
    for path, operations in served.app.openapi()["paths"].items():
        if "get" in operations:
            client.get(path.format(**named), params={"user_id": "ada"})
            tried += 1
    assert tried > 30
    assert everything() == before
