"""Versions of a memory: ETag, If-Match and If-None-Match, and `if_version` in Python."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from serving import Serve, Served, add

from memsense.errors import VersionConflictError


def test_a_memory_that_the_caller_has_already_is_not_sent_again(client: TestClient) -> None:
    path = f"/v1/memories/{add(client)}"
    first = client.get(path)
    etag = first.headers["ETag"]
    assert etag == f'"{first.json()["version"]}"'
    for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        unchanged = client.get(path, headers={"If-None-Match": known})
        assert (unchanged.status_code, unchanged.content) == (304, b""), known
        assert unchanged.headers["ETag"] == etag
    changed = client.patch(path, json={"tags": ["tea"]})
    assert changed.headers["ETag"] != etag
    again = client.get(path, headers={"If-None-Match": etag})
    assert again.status_code == 200
    assert again.headers["ETag"] == changed.headers["ETag"]


def test_lists_and_adds_say_the_same_version_as_the_memory_alone(client: TestClient) -> None:
    said = {"user_id": "ada", "messages": "I like tea.", "metadata": {"a": {"c": 1, "b": [2]}}}
    [added] = client.post("/v1/memories", json=said).json()["memories"]
    [listed] = client.get("/v1/memories", params={"user_id": "ada"}).json()["memories"]
    alone = client.get(f"/v1/memories/{added['chunk_id']}").json()
    assert added["version"] == listed["version"] == alone["version"]
    # A neighbour changes what the memory's context is, but not the memory.
    client.post("/v1/memories", json={**said, "messages": "Green tea."})
    assert client.get(f"/v1/memories/{added['chunk_id']}").json() == alone


@pytest.mark.parametrize(
    "change", [{"tags": ["tea"]}, {"metadata": {"a": 1}}, {"content": {"user": "I moved."}}]
)
def test_of_two_changes_of_one_version_one_is_done(
    client: TestClient, change: dict[str, object]
) -> None:
    path = f"/v1/memories/{add(client)}"
    etag = client.get(path).headers["ETag"]

    def send(body: dict[str, object]) -> Any:
        return client.patch(path, json=body, headers={"If-Match": etag})

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(send, [change, {"tags": ["coffee"]}]))
    assert sorted(answer.status_code for answer in answers) == [200, 412]
    [done] = [answer for answer in answers if answer.status_code == 200]
    [refused] = [answer for answer in answers if answer.status_code == 412]
    assert client.get(path).headers["ETag"] == done.headers["ETag"]
    assert done.headers["ETag"].strip('"') in refused.json()["detail"]
    for known in (done.headers["ETag"], "*"):
        repeated = client.patch(path, json={"tags": [known]}, headers={"If-Match": known})
        assert repeated.status_code == 200
    wrong = client.patch(path, json=change, headers={"If-Match": "no-quotes"})
    assert wrong.status_code == 422


def test_a_change_that_is_repeated_under_its_key_is_no_conflict(client: TestClient) -> None:
    path = f"/v1/memories/{add(client)}"
    headers = {"If-Match": client.get(path).headers["ETag"], "Idempotency-Key": "k"}
    first = client.patch(path, json={"tags": ["tea"]}, headers=headers)
    again = client.patch(path, json={"tags": ["tea"]}, headers=headers)
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json() == first.json()


def test_a_key_that_may_not_read_learns_no_version(served: Served) -> None:
    path = f"/v1/memories/{add(served.client())}"
    changed = served.client("acme", "write").patch(path, json={"tags": ["tea"]})
    assert changed.status_code == 200
    assert "ETag" not in changed.headers


def test_in_python_an_update_names_the_version_that_it_changes(served: Served) -> None:
    ada = served.tenants.memory("acme").for_user("ada")
    [chunk] = ada.add("I moved to Lisbon.")
    assert ada.get(chunk.chunk_id).version == chunk.version
    changed = ada.update(chunk.chunk_id, tags=["home"], if_version=chunk.version)
    with pytest.raises(VersionConflictError, match=changed.version):
        ada.update(chunk.chunk_id, tags=["away"], if_version=chunk.version)
    ada.promote(chunk.chunk_id)
    assert ada.get(chunk.chunk_id).version != changed.version
    assert list(ada.get(chunk.chunk_id).tags) == ["home"]


def test_a_memory_is_erased_only_as_it_was_read(client: TestClient) -> None:
    path = f"/v1/memories/{add(client)}"
    etag = client.get(path).headers["ETag"]
    changed = client.patch(path, json={"tags": ["tea"]}).headers["ETag"]
    refused = client.delete(path, headers={"If-Match": etag})
    assert (refused.status_code, changed.strip('"') in refused.json()["detail"]) == (412, True)
    assert client.get(path).status_code == 200
    headers = {"If-Match": changed, "Idempotency-Key": "k"}
    first, again = (client.delete(path, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert client.get(path).status_code == 404


def test_settings_are_changed_only_as_they_were_read(client: TestClient) -> None:
    add(client)
    read = client.get("/v1/settings")
    etag = read.headers["ETag"]
    assert client.get("/v1/settings", headers={"If-None-Match": etag}).status_code == 304

    def change(lexical: float) -> Any:
        headers = {"If-Match": etag}
        return client.patch("/v1/settings", json={"lexical": lexical}, headers=headers)

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(change, [1.5, 2.5]))
    assert sorted(answer.status_code for answer in answers) == [200, 412]
    [done] = [answer for answer in answers if answer.status_code == 200]
    assert client.get("/v1/settings").headers["ETag"] == done.headers["ETag"] != etag
    other = client.post("/v1/settings/reset", headers={"If-Match": '"other"'})
    assert (other.status_code, "read them again" in other.json()["detail"]) == (412, True)
    reset = client.post("/v1/settings/reset", headers={"If-Match": done.headers["ETag"]})
    assert reset.status_code == 200


def test_a_profile_has_an_etag_that_its_constants_change(client: TestClient) -> None:
    def create(lexical: float) -> str:
        client.post("/v1/profiles", json={"name": "mine", "lexical": lexical})
        return client.get("/v1/profiles/mine").headers["ETag"]

    etag = create(1.5)
    known = {"If-None-Match": etag}
    assert client.get("/v1/profiles/mine", headers=known).status_code == 304
    assert client.delete("/v1/profiles/mine").status_code == 204
    assert create(2.5) != etag
    assert client.get("/v1/profiles/mine", headers=known).status_code == 200


def test_each_answer_says_how_many_requests_are_left(serve: Serve) -> None:
    client = serve(rate=0.01, burst=2).client()
    answers = [client.get("/v1/settings") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert {answer.headers["RateLimit-Policy"] for answer in answers} == {'"key";q=2;w=200'}
    assert [answer.headers["RateLimit"].partition(";t=")[0] for answer in answers] == [
        *('"key";r=1', '"key";r=0', '"key";r=0'),
    ]
    assert 100 <= int(answers[1].headers["RateLimit"].rpartition("=")[2]) <= 200
    assert int(answers[2].headers["Retry-After"]) <= 100
