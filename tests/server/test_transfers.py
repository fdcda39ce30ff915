"""Exports and imports: streamed, as resources with addresses, and ended when nobody reads."""

import asyncio
import json
from errno import ENOSPC
from typing import Any

import pytest
from fastapi.testclient import TestClient
from serving import SAID, Serve, Served, add
from waiting import wait_in_task, wait_until

from memsense.server.transfers import MOST_OF_TENANT, ExportResponse, Owner, Transfers

OWNER = Owner("acme", "default", None)
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
        item = transfers.begin("export", OWNER, None)
        transfers.run_export(item, fill_disk)
        name = item.transfer_id
        wait_until(
            lambda name=name: transfers.find("export", name, OWNER).ended_at,
            "the end of the export",
        )
        state = transfers.find("export", name, OWNER)
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
    named["user_id"] = "ada"
    named |= dict.fromkeys(("erasure_id", "transfer_id", "key_id"), named["trace_id"])
    for path, operations in served.app.openapi()["paths"].items():
        if "get" in operations:
            client.get(path.format(**named), params={"user_id": "ada"})
            tried += 1
    assert tried > 30
    assert everything() == before


CHAT = """\
[03.04.24, 10:12:00] Ada: I have moved to Lisbon.
[03.04.24, 10:13:00] Ben: How do you like it?
[03.04.24, 10:14:00] Ada: The hills are steep.
[03.04.24, 10:15:00] Ben: And the tram is slow.
"""
ASKED = {"user_id": "ada", "user_speaker": "Ada", "name": "exports/chat.txt"}


def texts_of(client: TestClient, **whose: str) -> list[str]:
    memories = client.get("/v1/memories", params=whose or {"all_users": True}).json()["memories"]
    return [memory["user_text"] for memory in memories]


@pytest.mark.parametrize("form", [False, True])
def test_a_log_is_uploaded_as_a_body_or_a_form_and_stored_once(served: Served, form: bool) -> None:
    client = served.client("acme")
    file: dict[str, Any] = {"files": {"file": ("chat.txt", CHAT)}} if form else {"content": CHAT}
    asked = ASKED if not form else {key: ASKED[key] for key in ("user_id", "user_speaker")}
    seen = client.post("/v1/ingest", params={**asked, "dry_run": True}, **file).json()
    assert (seen["dry_run"], seen["stored"] > 0, texts_of(client)) == (True, True, [])
    first = client.post("/v1/ingest", params={**asked, "tags": ["moved"]}, **file).json()
    assert first["stored"] == first["exchanges"] == seen["stored"]
    assert first["users"] == ["ada"]
    again = client.post("/v1/ingest", params=asked, **file).json()
    assert (again["stored"], again["repeated"]) == (0, first["stored"])
    [memory, *_] = client.get("/v1/memories", params={"user_id": "ada"}).json()["memories"]
    assert memory["tags"] == ["moved"]
    folder = "upload" if form else "exports"
    assert memory["session_id"].startswith(f"{folder}/chat")
    # Nothing of where the server had put the file is answered or stored.
    assert "memsense-transfers" not in f"{seen}{first}{again}{memory}"
    assert list(first["detected"]) == [f"{folder}/chat.txt"]


def test_an_upload_says_what_it_needs(serve: Serve) -> None:
    served = serve(largest_import=1_000)
    client = served.client("acme", "write")
    wanted: list[tuple[dict[str, Any], bytes, int, str]] = [
        ({"name": None}, b"x", 422, "name must be the name of the file, such as ?name=chat.txt"),
        ({"name": "../chat.txt"}, b"x", 422, "name must be"),
        ({"name": "/etc/passwd"}, b"x", 422, "name must be"),
        ({"name": "x" * 256}, b"x", 422, "name must be"),
        ({}, b"x" * 1_001, 413, "larger than 1,000 bytes"),
        ({"format": "/etc/theirs.toml"}, b"x", 422, "format: string should match pattern"),
        ({"format": "chatgbt"}, b"x", 422, "unknown format 'chatgbt'"),
        ({"timezone": "Lisbon"}, b"x", 422, "such as 'Europe/Lisbon'"),
        ({"formt": "chatgpt"}, b"x", 422, "did you mean 'format'"),
        ({}, b"\x00\x01", 422, "exports/chat.txt"),
    ]
    for changes, content, status, detail in wanted:
        asked = {key: value for key, value in {**ASKED, **changes}.items() if value is not None}
        answer = client.post("/v1/ingest", params=asked, content=content)
        assert (answer.status_code, detail in answer.json()["detail"]) == (status, True), (
            answer.text
        )
        assert "memsense-transfers" not in answer.text
    empty = client.post("/v1/ingest", params=ASKED, files={"other": (None, "text")})
    assert (empty.status_code, "curl -F file=@" in empty.json()["detail"]) == (422, True)
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n--x--'
    sent: dict[str, Any] = {"headers": {"Content-Type": "Multipart/Form-Data; boundary=x"}}
    sent["content"] = form % (b"a\0b", CHAT.encode())
    nul = client.post("/v1/ingest", params={"user_id": "ada"}, **sent)
    assert (nul.status_code, "NUL" in nul.json()["detail"]) == (422, True)
    reader = served.client("acme", "read")
    assert reader.post("/v1/ingest", params=ASKED, content=CHAT).status_code == 403
    assert list(served.app.state.server.transfers.path("x").parent.iterdir()) == []


def test_a_log_that_a_key_of_one_user_uploads_is_that_user_s(served: Served) -> None:
    whole = served.client()
    keys = served.tenants.memory("acme").access_keys
    own = served.client(key=keys.create(["write"], user_id="ben").text)
    named = '{"user_id": "ada", "messages": [{"role": "user", "content": "I like tea."}]}'
    assert own.post("/v1/ingest", params=ASKED, content=named).status_code == 403
    report = own.post("/v1/ingest", params={"name": "log.jsonl"}, content=named)
    assert report.json()["users"] == ["ben"], report.text
    assert texts_of(whole, user_id="ben") == ["I like tea."]
    assert texts_of(whole, user_id="ada") == []
