"""The HTTP API: what goes in, what comes out, and how it fails."""

import inspect
import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient
from serving import SAID, Serve, Served, add

from memsense import MemSense, load_settings
from memsense.client.tenants import Tenants
from memsense.client.traces import TracesResource
from memsense.errors import ConfigurationError
from memsense.server import guards
from memsense.server.app import create_app
from memsense.server.options import ServerOptions
from tools.parity import OPERATIONS

PROBLEM = {"type", "title", "status", "detail"}


def problem(answer: Any, status: int) -> str:
    """The detail of a problem, whose form is checked."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told.keys() - {"errors"} == PROBLEM
    for fault in told.get("errors", ()):
        assert fault["argument"] in fault["detail"]
    assert told["status"] == status
    return told["detail"]


def test_memories_go_in_and_answers_come_out(client: TestClient) -> None:
    chunk_id = add(client, tags=["home"])
    found = client.post("/v1/search", json={"query": "Where is tea from?", "user_id": "ada"})
    assert found.status_code == 200, found.text
    [hit] = found.json()["hits"]
    assert (hit["chunk_id"], hit["tags"]) == (chunk_id, ["home"])
    parts = hit["explain"]["parts"]
    assert math.isclose(math.fsum(parts.values()), hit["score"], abs_tol=1e-9)
    one = client.get(f"/v1/memories/{chunk_id}").json()
    assert one["content"] == f"user: {SAID[0]['content']}\nassistant: {SAID[1]['content']}"
    history = client.get(f"/v1/memories/{chunk_id}/history").json()
    assert [event["kind"] for event in history["events"]] == ["added"]


def test_the_end_of_the_last_session_in_a_project_is_a_text_for_a_prompt(
    client: TestClient,
) -> None:
    chunk_id = add(client, project="tea")
    asked = {"user_id": "ada", "project": "tea"}
    answer = client.get("/v1/left-off", params=asked).json()
    assert answer["chunk_ids"] == [chunk_id]
    assert f"memory {chunk_id}, user: {SAID[0]['content']}" in answer["text"]
    assert answer["tokens"] <= 300
    nothing = client.get("/v1/left-off", params={**asked, "project": "wine"}).json()
    assert nothing == {"text": "", "chunk_ids": [], "tokens": 0}
    assert "user_id" in problem(client.get("/v1/left-off", params={"project": "tea"}), 422)


def test_an_add_beyond_the_quota_is_a_507_that_names_the_limit(client: TestClient) -> None:
    changed = client.patch("/v1/settings", json={"user_quota": 1})
    assert changed.status_code == 200, changed.text
    add(client)
    body = {"messages": "I drink coffee.", "user_id": "ada", "session_id": "other"}
    refused = client.post("/v1/memories", json=body)
    assert "user 'ada' may have 1 exchanges" in problem(refused, 507)
    assert client.patch("/v1/settings", json={"user_quota": "some"}).status_code == 422


def test_a_memory_is_changed_archived_and_erased(served: Served) -> None:
    client = served.client()
    served.tenants.memory("acme").settings.set(history="on")
    chunk_id = add(client)
    at = f"/v1/memories/{chunk_id}"
    said = {"content": {"assistant": "It is from Assam."}, "tags": ["tea"], "ttl": "30d"}
    changed = client.patch(at, json=said, headers={"Idempotency-Key": "k1"})
    assert changed.status_code == 200, changed.text
    assert changed.json()["assistant_text"] == "It is from Assam."
    assert (changed.json()["user_text"], changed.json()["tags"]) == (SAID[0]["content"], ["tea"])
    expires = datetime.fromisoformat(changed.json()["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29) < expires < timedelta(days=31)
    again = client.patch(at, json=said, headers={"Idempotency-Key": "k1"})
    assert again.json() == changed.json()
    [version] = client.get(f"{at}/versions").json()["versions"]
    assert version["content"]["assistant_text"] == SAID[1]["content"]
    assert "ttl" in problem(client.patch(at, json={"ttl": "soon"}), 422)
    problem(client.patch(at, json={"user_id": "eve"}), 422)
    problem(client.patch(at, json={"tags": []}, params={"user_id": "eve"}), 404)
    archived = client.post(f"{at}/archive", json={"reason": "outdated"})
    assert archived.json() == {"chunk_ids": [chunk_id]}
    assert client.get(at).json()["status"] == "archived"
    problem(client.delete(at, params={"user_id": "eve"}), 404)
    receipt = client.delete(at)
    assert receipt.status_code == 200, receipt.text
    problem(client.get(at), 404)
    problem(client.delete(at), 404)


def test_changing_needs_the_key_for_it(served: Served) -> None:
    at = f"/v1/memories/{add(served.client())}"
    assert "scope write" in problem(served.client("acme", "read").patch(at, json={}), 403)
    writer = served.client("acme", "read", "write")
    assert "scope forget" in problem(writer.post(f"{at}/archive"), 403)
    assert "scope admin" in problem(writer.delete(at), 403)
    assert writer.get(f"{at}/versions").status_code == 200


def test_an_answer_is_that_of_the_python_api(served: Served) -> None:
    client = served.client()
    add(client)
    add(client, "ada", "tuesday", messages=[{"role": "user", "content": "Lisbon is warm."}])
    body = {
        "query": "Lisbon tea",
        "user_id": "ada",
        "asked_at": "2026-05-01T12:00:00Z",
        "matches": True,
    }
    over_http = client.post("/v1/search", json=body).json()
    result = served.tenants.memory("acme").search(
        "Lisbon tea", user_id="ada", asked_at="2026-05-01T12:00:00Z"
    )
    in_python = json.loads(json.dumps(result.as_dict(), default=lambda it: it.isoformat()))
    assert [hit["explain"] for hit in over_http["hits"]] == [
        hit["explain"] for hit in in_python["hits"]
    ]
    assert over_http["question"] == in_python["question"]
    # Word matches are computed only if they are asked for; all else is there without asking.
    brief = client.post("/v1/search", json={**body, "matches": False}).json()
    for hit in over_http["hits"]:
        assert hit["explain"].pop("matches") is not None
    assert brief["hits"] == over_http["hits"]


def test_why_not_tells_the_step_that_lost_a_memory(client: TestClient) -> None:
    chunk_id = add(client)
    body = {"query": "tea", "user_id": "ada", "chunk_id": chunk_id}
    assert client.post("/v1/why-not", json=body).json()["step"] == "hit"
    prompt = {"prompt": body["query"], "user_id": "ada", "silence": 0}
    context = client.post("/v1/context", json=prompt).json()
    assert context["text"].startswith("<memsense-context>")
    assert context["lines"] is None
    explained = client.post("/v1/context", json={**prompt, "explain": True}).json()
    assert {line["chunk_id"] for line in explained["lines"]} == set(explained["chunk_ids"])
    verdict = client.post("/v1/why-not", json={**body, "min_score": 100}).json()
    assert verdict["step"] == "below_min_score"
    assert "below min_score" in verdict["text"]


def test_a_recorded_search_is_listed_shown_and_replayed(client: TestClient) -> None:
    add(client)
    asked = {"query": "tea", "user_id": "ada", "trace": True}
    trace_id = client.post("/v1/search", json=asked).json()["trace_id"]
    [line] = client.get("/v1/traces").json()["traces"]
    assert (line["trace_id"], line["question"], line["hit_count"]) == (trace_id, "tea", 1)
    trace = client.get(f"/v1/traces/{trace_id}").json()
    [candidate] = trace["candidates"]
    assert math.isclose(sum(candidate["parts"].values()), candidate["final_score"], abs_tol=1e-6)
    assert client.post(f"/v1/traces/{trace_id}/replay").json()["unchanged"] is True
    body = {"overrides": {"lexical": 3.0}}
    changed = client.post(f"/v1/traces/{trace_id}/replay", json=body).json()
    assert changed["unchanged"] is False
    body = {"overrides": {"trace_id": trace_id}}
    assert "no constant" in problem(client.post(f"/v1/traces/{trace_id}/replay", json=body), 422)
    assert client.get("/v1/traces", params={"empty": True}).json()["traces"] == []


def test_what_becomes_of_a_memory(client: TestClient) -> None:
    chunk_id = add(client)
    path = f"/v1/memories/{chunk_id}"
    assert client.post(f"{path}/promote").json()["memory_score"] == pytest.approx(0.65)
    assert client.post(f"{path}/demote").json()["memory_score"] == pytest.approx(0.5)
    assert client.post(f"{path}/feedback", json={"helpful": True}).status_code == 204
    forgotten = client.post(f"{path}/forget", json={"reason": "moved"})
    assert forgotten.json() == {"chunk_ids": [chunk_id]}
    assert client.get(path).json()["content"] == ""
    assert client.post("/v1/search", json={"query": "tea", "user_id": "ada"}).json()["hits"] == []
    assert client.post(f"{path}/restore").json() == {"chunk_ids": [chunk_id]}
    kinds = [event["kind"] for event in client.get(f"{path}/history").json()["events"]]
    assert len(kinds) == 6


def test_erasing_leaves_a_receipt_that_names_the_key(client: TestClient) -> None:
    chunk_id = add(client)
    answer = client.post("/v1/erasures", json={"user_id": "ada"})
    receipt = answer.json()
    assert answer.status_code == 201, answer.text
    assert (receipt["kind"], receipt["counts"]["chunks"]) == ("user", 1)
    assert receipt["erased_by"].startswith("unnamed (")
    problem(client.get(f"/v1/memories/{chunk_id}"), 404)
    problem(client.post("/v1/erasures", json={"user_id": "ada"}), 404)


def test_secrets_leave_what_is_stored(client: TestClient) -> None:
    said = {"messages": "My PIN is 4821.", "user_id": "ada", "session_id": "pin", "redact": False}
    [chunk_id] = client.post("/v1/memories", json=said).json()["chunk_ids"]
    body = {"user_id": "ada", "kinds": "pin"}
    planned = client.post("/v1/erasures/redact", json={**body, "dry_run": True})
    assert planned.json() == {"redacted": {"pin": 1}, "erasure_id": None}
    done = client.post("/v1/erasures/redact", json=body).json()
    assert done["redacted"] == {"pin": 1}
    assert client.get(f"/v1/memories/{chunk_id}").json()["user_text"] == "My PIN is [redacted:pin]."
    receipt = client.get(f"/v1/erasures/{done['erasure_id']}").json()
    assert (receipt["kind"], receipt["counts"]) == ("secrets", {"pin": 1})
    assert receipt["erased_by"].startswith("unnamed (")
    problem(client.post("/v1/erasures/redact", json={"user_id": "eve"}), 404)
    assert "user_id" in problem(client.post("/v1/erasures/redact", json={}), 422)
    problem(client.post("/v1/erasures/redact", json={**body, "kinds": "pim"}), 422)


def test_receipts_of_erasures_have_addresses(client: TestClient) -> None:
    add(client)
    add(client, "team/bob b")
    answer = client.post("/v1/erasures", json={"user_id": "ada"})
    receipt = answer.json()
    assert client.get(answer.headers["Location"]).json() == receipt
    other = client.post("/v1/erasures", json={"user_id": "team/bob b"}).json()
    assert client.get("/v1/erasures").json() == {"erasures": [other, receipt]}
    about = client.get("/v1/erasures", params={"about": "ada"}).json()
    assert about == {"erasures": [receipt]}
    problem(client.get(f"/v1/erasures/{'0' * 8}-0000-4000-8000-000000000000"), 404)
    problem(client.get("/v1/erasures/none"), 422)


def test_an_erasure_that_is_tried_again_under_its_key_gives_the_same_receipt(
    client: TestClient,
) -> None:
    chunk_id = add(client)
    add(client, "bob")
    headers = {"Idempotency-Key": "k1"}
    one = client.delete(f"/v1/memories/{chunk_id}", headers=headers)
    again = client.delete(f"/v1/memories/{chunk_id}", headers=headers)
    assert (again.status_code, again.json()) == (200, one.json())
    body = {"user_id": "bob"}
    headers = {"Idempotency-Key": "k2"}
    first = client.post("/v1/erasures", json=body, headers=headers)
    second = client.post("/v1/erasures", json=body, headers=headers)
    assert (second.status_code, second.json()) == (201, first.json())
    other = client.post("/v1/erasures", json={**body, "session_id": "x"}, headers=headers)
    assert "another erasure" in problem(other, 409)
    assert len(client.get("/v1/erasures").json()["erasures"]) == 2


def test_an_export_is_what_import_takes(served: Served) -> None:
    client = served.client()
    add(client)
    answer = client.get("/v1/export", params={"user_id": "ada"})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert any(SAID[0]["content"] in json.dumps(line) for line in lines)
    assert "missing" in problem(client.get("/v1/export"), 422)


def test_jobs_are_listed_retried_and_dropped(client: TestClient) -> None:
    add(client, embed="later")
    assert client.get("/v1/jobs/count").json()["waiting"] == 1
    [job] = client.get("/v1/jobs").json()["jobs"]
    job_id = job["job_id"]
    assert client.post("/v1/jobs/retry", json={"job_ids": [job_id]}).json() == {"job_ids": [job_id]}
    assert client.post("/v1/jobs/drop", json={"job_ids": [job_id]}).json() == {"job_ids": [job_id]}
    problem(client.post("/v1/jobs/drop", json={"job_ids": [job_id]}), 404)


def test_a_key_that_may_not_read_sees_jobs_without_whose_they_are(served: Served) -> None:
    writer = served.client()
    add(writer, embed="later")
    [job] = writer.get("/v1/jobs").json()["jobs"]
    [blank] = served.client("acme", "admin").get("/v1/jobs").json()["jobs"]
    assert job["user_id"] is not None
    names = ("user_id", "session_id", "chunk_id")
    assert blank == {**job, **dict.fromkeys(names)}


def test_pages_hold_each_item_once(client: TestClient) -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    for number in range(5):
        at = (start + timedelta(hours=number)).isoformat()
        said = [{"role": "user", "content": f"Tea number {number}.", "at": at}]
        add(client, "ada", f"s{number}", messages=said)
        asked = {"query": f"tea {number}", "user_id": "ada", "trace": True}
        client.post("/v1/search", json=asked)
    for path, name, key in (
        ("/v1/memories", "memories", "chunk_id"),
        ("/v1/sessions", "sessions", "session_id"),
        ("/v1/traces", "traces", "trace_id"),
    ):
        params: dict[str, Any] = {"user_id": "ada"}
        every = [item[key] for item in client.get(path, params=params).json()[name]]
        paged: list[Any] = []
        while params.get("cursor", "") is not None:
            page = client.get(path, params={**params, "limit": 2}).json()
            paged += [item[key] for item in page[name]]
            params["cursor"] = page["next_cursor"]
        assert len(every) == 5
        assert paged == every


CURSORS = (
    "", "x", "=", "%00", "e30", "W10", "WyJjIl0", "bnVsbA", "😀", "A" * 20_000, "W251bGwsMV0",
    "WyJuZXdlc3QiLG51bGwsLTFd", "WyJuZXdlc3QiLCJ4IiwxXQ", "WyJuZXdlc3QiLG51bGwsMWU5OTldCg",
)  # fmt: skip


def test_projects_are_listed_with_what_a_search_in_each_reaches(client: TestClient) -> None:
    add(client, "ada", "one", project="github.com/ada/looms")
    add(client, "ada", "two", project="github.com/ada/looms")
    add(client, "bob", "three", project="github.com/bob/boats")
    every = client.get("/v1/projects").json()["projects"]
    assert [(item["name"], item["sessions"]) for item in every] == [
        ("github.com/ada/looms", 2),
        ("github.com/bob/boats", 1),
    ]
    [own] = client.get("/v1/projects", params={"user_id": "ada"}).json()["projects"]
    assert (own["name"], own["exchanges"], own["session_ids"]) == ("github.com/ada/looms", 2, [])
    assert own["created_at"] is None
    assert client.get("/v1/projects", params={"user_id": "eve"}).json() == {"projects": []}


def test_labels_make_a_set_of_questions_that_is_asked_with_other_weights(served: Served) -> None:
    client, memory = served.client(), served.tenants.memory("acme")
    teas = ("green", "mint")
    ids = [add(client, session_id=name, messages=f"I like {name} tea") for name in teas]
    question = {"question": "which tea?", "user_id": "ada"}
    for chunk_id, right in zip(ids, (True, False), strict=True):
        body = {**question, "chunk_id": chunk_id, "right": right}
        assert client.post("/v1/questions/label", json=body).status_code == 204
    labels = [{"chunk_id": ids[0], "right": True}, {"chunk_id": ids[1], "right": False}]
    assert client.get("/v1/questions/labels", params=question).json() == {"labels": labels}
    assert client.get("/v1/questions").json() == {"questions": [{**question, "labels": labels}]}
    assert client.get("/v1/question-sets").json() == {
        "sets": [{"name": "questions", "questions": 1, "labels": 2}]
    }
    overrides = {"overrides": {"lexical": 0.0}}
    compared = client.post("/v1/questions/compare", json=overrides).json()
    assert compared == memory.questions.compare(overrides={"lexical": 0.0}).as_dict()
    assert compared["before"]["recall"] == 1.0
    assert compared["questions"][0]["wrong"] == [1, 1]
    body = {**question, "chunk_id": ids[1]}
    assert client.post("/v1/questions/unlabel", json=body).status_code == 204
    assert client.post("/v1/questions/remove", json=question).json() == {"labels": 1}
    assert client.get("/v1/question-sets").json() == {"sets": []}
    # Labels belong to the tenant: a key of one user neither reads nor writes them.
    own = served.client(key=memory.access_keys.create(["read", "write"], user_id="ada").text)
    label = {**question, "chunk_id": ids[0], "right": True}
    problem(own.post("/v1/questions/label", json=label), 403)
    problem(own.get("/v1/questions"), 403)
    problem(client.post("/v1/questions/label", json={**label, "user_id": "eve"}), 422)
    problem(client.post("/v1/questions/label", json={**label, "chunk_id": 10**9}), 404)


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/sessions", "/v1/traces", "/v1/users"])
def test_a_cursor_that_is_none_is_a_400(client: TestClient, path: str) -> None:
    whose = {} if path == "/v1/users" else {"user_id": "ada"}
    for cursor in CURSORS:
        answer = client.get(path, params={**whose, "cursor": cursor})
        assert "cursor must be" in problem(answer, 400), cursor
    add(client, "ada", "one")
    add(client, "ada", "two")
    other = "/v1/sessions" if path != "/v1/sessions" else "/v1/memories"
    cursor = client.get(other, params={"user_id": "ada", "limit": 1}).json()["next_cursor"]
    assert cursor
    problem(client.get(path, params={**whose, "cursor": cursor}), 400)


def test_secrets_are_redacted_unless_told_otherwise_and_counted(client: TestClient) -> None:
    said = "the wifi password is Blaubeere77 <private>and so on</private>"
    body = {"user_id": "ada", "session_id": "s", "messages": [{"role": "user", "content": said}]}
    told = client.post("/v1/memories", json={**body, "redact": False}).json()
    assert "Blaubeere77" in told["memories"][0]["content"]
    assert told["redacted"] == {"private": 1}
    told = client.post("/v1/memories", json={**body, "user_id": "bob"}).json()
    assert told["memories"][0]["user_text"].strip() == "the wifi password is [redacted:password]"
    assert told["redacted"] == {"password": 1, "private": 1}
    assert told["notes"][-1] == ("1 secret redacted: 1 password; 1 private passage left out")


def test_a_write_is_done_once_under_its_idempotency_key(client: TestClient) -> None:
    headers = {"Idempotency-Key": "k1"}
    body = {"user_id": "ada", "session_id": "s", "messages": SAID}
    first = client.post("/v1/memories", json=body, headers=headers).json()
    assert client.post("/v1/memories", json=body, headers=headers).json() == first
    path = f"/v1/memories/{first['memories'][0]['chunk_id']}/promote"
    assert "another write" in problem(client.post(path, headers=headers), 409)
    scores = {client.post(path, headers={"Idempotency-Key": "k2"}).text for _ in range(3)}
    assert len(scores) == 1


def test_a_delete_is_repeated_under_its_key_for_the_user_that_it_names(client: TestClient) -> None:
    chunk_id, path = add(client), "/v1/memories/{}?user_id={}"
    headers = {"Idempotency-Key": "k1"}
    first = client.delete(path.format(chunk_id, "ada"), headers=headers).json()
    assert first["kind"] == "chunk"
    again = client.delete(path.format(chunk_id, "ada"), headers=headers)
    assert again.json() == first
    add(client, "bob")
    problem(client.delete(path.format(chunk_id, "bob"), headers=headers), 404)
    problem(client.delete(path.format(chunk_id, "ada"), headers={"Idempotency-Key": "k2"}), 404)
    problem(client.delete(path.format(chunk_id, "ada")), 404)


@pytest.mark.parametrize(
    "messages",
    [
        "I like tea",
        {"role": "user", "content": "I like tea"},
        [{"role": "user", "content": "I like tea"}],
    ],
)
def test_words_alone_are_added_to_the_day(client: TestClient, messages: Any) -> None:
    answer = client.post("/v1/memories", json={"user_id": "ada", "messages": messages})
    [chunk] = answer.json()["memories"]
    assert (answer.status_code, chunk["user_text"]) == (201, "I like tea")
    assert chunk["session_id"] == chunk["occurred_at"][:10]


@pytest.mark.parametrize("messages", ["", " ", [], {}, 7, None, ["I like tea"]])
def test_messages_without_words_are_unprocessable(client: TestClient, messages: Any) -> None:
    answer = client.post("/v1/memories", json={"user_id": "ada", "messages": messages})
    assert "messages" in problem(answer, 422)


def test_wrong_requests_are_told_as_problems(client: TestClient) -> None:
    add(client)
    assert "user_id is missing" in problem(client.post("/v1/search", json={"query": "x"}), 422)
    assert "query" in problem(client.post("/v1/search", json={}), 422)
    wrong = {"query": "x", "user_id": "ada", "top": 1}
    assert problem(client.post("/v1/search", json=wrong), 422) == (
        "top is unknown; did you mean 'top_k'?"
    )
    as_json = {"Content-Type": "application/json"}
    broken = client.post("/v1/search", content='{"query":\n "tea" 1}', headers=as_json)
    assert problem(broken, 422) == (
        "the body is not JSON: line 2, column 8: Expecting ',' delimiter"
    )
    wrong = {"query": 7, "user_id": "ada", "top_k": 0, "profle": "lexical"}
    answer = client.post("/v1/search", json=wrong)
    told = problem(answer, 422)
    for part in ("query must be a text", "top_k must be", "profle is unknown; did you mean"):
        assert part in told
    assert [it["argument"] for it in answer.json()["errors"]] == ["query", "top_k", "profle"]
    assert problem(client.get("/v1/nothing"), 404) == "no route GET /v1/nothing"
    nearest = "no route GET /v1/memory; did you mean /v1/memories?"
    assert problem(client.get("/v1/memory"), 404) == nearest
    nearest = "no route POST /v1/memories/42/forgt; did you mean /v1/memories/42/forget?"
    assert problem(client.post("/v1/memories/42/forgt"), 404) == nearest
    problem(client.get("/v1/search"), 405)
    refused = client.put("/v1/memories/42")
    assert problem(refused, 405) == (
        "no route PUT /v1/memories/42; the path has DELETE, GET, PATCH"
    )
    assert refused.headers["Allow"] == "DELETE, GET, PATCH"
    problem(client.get("/v1/memories/0"), 422)
    problem(client.get("/v1/memories/9223372036854775807"), 404)
    body = {"query": "x", "user_id": "ada", "profile": "nothing"}
    assert "no profile" in problem(client.post("/v1/search", json=body), 404)
    body = {"query": "x", "user_id": "ada", "overrides": {"lexcal": 1}}
    assert "lexcal" in problem(client.post("/v1/search", json=body), 422)
    body = {"user_id": "a\x00b", "session_id": "s", "messages": SAID}
    assert "NUL" in problem(client.post("/v1/memories", json=body), 422)


def test_a_body_has_a_limit_whether_or_not_it_says_its_length(serve: Serve) -> None:
    served = serve(largest_body=2_000)
    client = served.client()
    text = [{"role": "user", "content": "x" * 3_000}]
    body = {"user_id": "ada", "session_id": "s", "messages": text}
    assert "2,000 bytes" in problem(client.post("/v1/memories", json=body), 413)

    def chunks() -> Any:
        yield from (json.dumps(body)[i : i + 100].encode() for i in range(0, 3_200, 100))

    headers = {"Content-Type": "application/json"}
    problem(client.post("/v1/memories", content=chunks(), headers=headers), 413)
    add(client)


def test_bodies_that_fill_the_memory_are_refused_and_leave_no_trace(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "MOST_BUFFERED", 2_000)
    client = serve().client()
    text = [{"role": "user", "content": "x" * 3_000}]
    body = {"user_id": "ada", "session_id": "s", "messages": text}
    for _ in range(2):
        answer = client.post("/v1/memories", json=body)
        assert "too many bodies" in problem(answer, 503)
        assert answer.headers["Retry-After"] == "1"
    add(client)


def test_a_key_that_asks_too_often_waits(serve: Serve) -> None:
    served = serve(rate=0.5, burst=3)
    client, other = served.client(), served.client()
    assert [client.get("/v1/traces").status_code for _ in range(3)] == [200] * 3
    answer = client.get("/v1/traces")
    assert "too many requests" in problem(answer, 429)
    assert 1 <= int(answer.headers["Retry-After"]) <= 2
    assert other.get("/v1/traces").status_code == 200


def test_keys_open_what_their_scopes_say(served: Served) -> None:
    chunk_id = add(served.client())
    needed = {
        "read": ("GET", f"/v1/memories/{chunk_id}"),
        "write": ("POST", f"/v1/memories/{chunk_id}/promote"),
        "forget": ("POST", f"/v1/memories/{chunk_id}/forget"),
        "admin": ("GET", "/v1/jobs"),
    }
    for shown in needed:
        client = served.client("acme", shown)  # pyright: ignore[reportArgumentType]
        for scope, (method, path) in needed.items():
            answer = client.request(method, path)
            if scope == shown:
                assert answer.status_code == 200, answer.text
            else:
                assert f"needs the scope {scope}" in problem(answer, 403)


def test_without_a_usable_key_nothing_is_open(served: Served) -> None:
    client = TestClient(served.app)
    answer = client.get("/v1/traces")
    assert "send a key" in problem(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    for shown in ("", "x", "ms_1_0123456789ab_" + "a" * 43, "é", "a b"):
        headers = {b"Authorization": f"Bearer {shown}".encode()}
        problem(client.get("/v1/traces", headers=headers), 401)
    problem(client.get("/v1/traces", headers={"Authorization": "Basic eDp5"}), 401)


def test_who_shows_wrong_keys_waits(served: Served) -> None:
    client = served.client(key="ms_1_0123456789ab_" + "a" * 43)
    statuses = [client.get("/v1/traces").status_code for _ in range(25)]
    assert statuses[:20] == [401] * 20
    assert statuses[-1] == 429
    assert served.client().get("/v1/traces").status_code == 200


def test_a_revoked_key_opens_nothing_from_the_next_request_on(served: Served) -> None:
    key = served.key("acme")
    client = served.client(key=key)
    assert client.get("/v1/traces").status_code == 200
    served.tenants.memory("acme").access_keys.revoke(key.split("_")[2])
    problem(client.get("/v1/traces"), 401)


def test_without_keys_only_this_machine_is_served(serve: Serve) -> None:
    served = serve(needs_key=False)
    client = TestClient(served.app, base_url="http://localhost:8321")
    assert client.get("/v1/traces").status_code == 200
    stranger = TestClient(served.app, base_url="http://rebound.example:8321")
    assert "only requests to localhost" in problem(stranger.get("/v1/traces"), 403)
    for host in ("0.0.0.0", "192.168.1.4", "::", "example.org"):  # noqa: S104
        with pytest.raises(ConfigurationError, match="not a loopback address"):
            create_app(served.tenants, ServerOptions(host=host))
    for host in ("127.0.0.1", "::1", "localhost"):
        create_app(served.tenants, ServerOptions(host=host))


def test_what_another_site_sends_changes_nothing(serve: Serve) -> None:
    client = TestClient(serve(needs_key=False).app, base_url="http://localhost:8321")
    chunk_id = add(client)
    path = f"/v1/memories/{chunk_id}/promote"
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert "other web sites" in problem(client.post(path, headers=headers), 403)
    same = {"Origin": "http://localhost:8321", "Sec-Fetch-Site": "same-origin"}
    assert client.post(path, headers=same).status_code == 200
    form = client.post(
        "/v1/search", content='{"query":"x"}', headers={"Content-Type": "text/plain"}
    )
    assert "'Content-Type: application/json'" in problem(form, 415)


def test_health_and_metrics(served: Served) -> None:
    client, operator = served.client(), served.client(served.tenants.settings.tenant)
    assert client.get("/health/live").json() == {"status": "live"}
    assert TestClient(served.app).get("/health/ready").json() == {"status": "ready"}
    add(client, "ada-the-user")
    # They count all tenants' requests.
    assert "the server's tenant" in problem(client.get("/metrics"), 403)
    text = operator.get("/metrics").text
    assert 'route="/v1/memories",status="201"' in text
    assert 'memsense_pool_connections{state="most"}' in text
    assert "memsense_foreign_sessions_total 0.0" in text
    assert "ada" not in text
    assert "acme" not in text
    problem(TestClient(served.app).get("/metrics"), 401)


def test_without_its_database_the_server_lives_and_is_not_ready(database_url: str) -> None:
    settings = load_settings(database_url=database_url, pool_timeout=1)
    with Tenants.open(settings) as tenants:
        client = TestClient(create_app(tenants, ServerOptions()), base_url="http://localhost")
        assert client.get("/health/ready").status_code == 200
        tenants.close()
        assert "does not answer" in problem(client.get("/health/ready"), 503)
        assert client.get("/health/live").status_code == 200
        answer = client.get("/v1/traces")
        problem(answer, 503)
        assert answer.headers["Retry-After"]


def test_a_fault_of_the_server_s_own_is_counted_and_tells_nothing(served: Served) -> None:
    client = served.client()

    @served.app.get("/broken")
    def broken() -> None:
        raise RuntimeError("a secret of the server's")

    told = problem(client.get("/broken"), 500)
    assert "secret" not in told
    operator = served.client(served.tenants.settings.tenant)
    assert 'route="/broken",status="500"' in operator.get("/metrics").text


@pytest.mark.parametrize(
    ("method", "operation", "besides"),
    [
        (MemSense.add, "add", {"key", "connection"}),
        (MemSense.search, "search", set[str]()),
        (MemSense.why_not, "why_not", set[str]()),
        (TracesResource.replay, "traces_replay", {"trace_id"}),
    ],
)
def test_a_body_has_what_the_python_api_takes(
    method: Any, operation: str, besides: set[str]
) -> None:
    [body] = [item.body_type for item in OPERATIONS if item.operation_name == operation]
    assert body is not None
    taken = inspect.signature(method).parameters.keys() - {"self"} - besides
    assert body.model_fields.keys() - {*body.beside} == taken


def test_a_memory_expires_when_its_body_says(client: TestClient, database_url: str) -> None:
    def find() -> dict[str, Any]:
        answer = client.post("/v1/search", json={"query": "tea", "user_id": "ada"})
        return {hit["session_id"]: hit["expires_at"] for hit in answer.json()["hits"]}

    add(client, session_id="long", ttl="30d")
    soon = datetime.now(UTC) + timedelta(hours=1)
    add(client, session_id="short", expires_at=soon.isoformat())
    found = find()
    assert datetime.fromisoformat(found["short"]) == soon
    days = (datetime.fromisoformat(found["long"]) - datetime.now(UTC)) / timedelta(days=1)
    assert days == pytest.approx(30, abs=0.01)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE memsense.chunks SET expires_at = expires_at - interval '1 hour'")
    assert find().keys() == {"long"}


def test_a_hit_has_the_attributes_that_a_search_filters_by(client: TestClient) -> None:
    add(client, metadata={"room": 7}, ttl="30d", facets={"preferences": "green tea"})
    [hit] = client.post(
        "/v1/search",
        json={"query": "Where is tea from?", "user_id": "ada", "metadata": {"room": 7}},
    ).json()["hits"]
    assert hit["metadata"] == {"room": 7}
    assert hit["preferences"] == "green tea"
    assert hit["expires_at"] is not None
    assert {"source", "personal_info", "events"} <= hit.keys()


@pytest.mark.parametrize(
    ("method", "path", "extra"),
    [
        ("POST", "/v1/search", {"json": {"query": "tea", "user_id": "ada", "tagz": ["home"]}}),
        ("POST", "/v1/why-not", {"json": {"query": "tea", "chunk_id": 1, "tagz": ["home"]}}),
        ("POST", "/v1/memories", {"json": {"session_id": "a", "messages": SAID, "tagz": []}}),
    ],
)
def test_an_unknown_argument_is_named_with_the_nearest_one(
    client: TestClient, method: str, path: str, extra: dict[str, Any]
) -> None:
    answer = client.request(method, path, **extra)
    assert problem(answer, 422) == "tagz is unknown; did you mean 'tags'?"


def test_a_single_value_that_is_given_twice_is_refused_and_a_list_is_not(
    client: TestClient,
) -> None:
    add(client)
    answer = client.get("/v1/memories?user_id=ada&user_id=ben")
    assert problem(answer, 422) == "user_id is given 2 times; give it once"
    assert client.get("/v1/memories?user_id=ada&tags=one&tags=two").json()["memories"] == []


def test_a_call_past_its_time_is_a_documented_problem(served: Served) -> None:
    text = served.app.openapi()
    for path, operations in text["paths"].items():
        for operation in operations.values():
            names = {item.get("name") for item in operation.get("parameters", ())}
            if "timeout" in names:
                assert "504" in operation["responses"], path


def test_memories_are_listed_by_any_characters_of_their_text(client: TestClient) -> None:
    texts = ["To be or not to be: THE question.", "Grüße aus Köln, 100% sicher.", "Nothing else."]
    for number, text in enumerate(texts):
        client.post(
            "/v1/memories", json={"user_id": "ada", "session_id": str(number), "messages": text}
        )
    long = "Hive and bees. " * 300 + "The last word is zebra."
    client.post("/v1/memories", json={"user_id": "ada", "session_id": "long", "messages": long})

    def find(contains: str, **more: object) -> list[str]:
        asked = {"user_id": "ada", "contains": contains, **more}
        answer = client.get("/v1/memories", params=asked)  # pyright: ignore[reportArgumentType]
        assert answer.status_code == 200, answer.text
        return [item["user_text"] for item in answer.json()["memories"]]

    # Words that the index drops, parts of words, other cases, and characters of patterns.
    assert find("the Question") == [texts[0]]
    assert find("RÜSSE") == []
    assert find("GRÜßE AUS k") == [texts[1]]
    assert find("100% s") == [texts[1]]
    assert find("n_t") == find("n.t") == []
    # The opening that later parts repeat is no text of theirs.
    [last] = find("zebra")
    assert last.startswith("Hive and bees.")
    assert len(find("hive and bees. hive and bees.")) == len(find("hive"))
    assert find("zebra", user_id="ben") == []
    first = client.get(
        "/v1/memories", params={"user_id": "ada", "contains": "o", "limit": 1}
    ).json()
    cursor = first["next_cursor"]
    rest = find("o", cursor=cursor)
    assert len(rest) >= 2
    assert first["memories"][0]["user_text"] not in rest
    [forgotten] = client.get("/v1/memories", params={"user_id": "ada", "contains": "köln"}).json()[
        "memories"
    ]
    client.post(f"/v1/memories/{forgotten['chunk_id']}/forget")
    assert find("köln", statuses=["active", "deleted"]) == []
    assert client.get("/v1/memories", params={"user_id": "ada", "contains": ""}).status_code == 422
