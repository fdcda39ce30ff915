"""Namespaces over HTTP and in the page: chosen by a header, or refused."""

import re

from fastapi.testclient import TestClient
from serving import Served, add
from test_crosswise import Store, requests_for


def texts(client: TestClient, namespace: str | bytes | None = None) -> list[str]:
    named = namespace.encode() if isinstance(namespace, str) else namespace
    headers = {} if named is None else {b"Memsense-Namespace": named}
    answer = client.get("/v1/memories", params={"all_users": True}, headers=headers)
    assert answer.status_code == 200, answer.text
    return [memory["user_text"] for memory in answer.json()["memories"]]


def say(client: TestClient, text: str, namespace: str | None = None) -> int:
    client = TestClient(client.app, headers=dict(client.headers))
    if namespace is not None:
        client.headers["Memsense-Namespace"] = namespace
    return add(client, messages=text)


def test_a_header_chooses_the_namespace(served: Served) -> None:
    client, other = served.client("acme"), served.client("other")
    say(client, "I like tea.")
    chunk_id = say(client, "I like mate.", "caf%C3%A9")
    say(other, "I like milk.", "theirs")
    assert (texts(client), texts(client, "caf%C3%A9")) == (["I like tea."], ["I like mate."])
    assert texts(client, "café".encode()) == ["I like mate."]  # as curl sends it
    assert texts(client, "theirs") == texts(other, "caf%C3%A9") == []
    assert client.get(f"/v1/memories/{chunk_id}").status_code == 404
    asked = {"query": "mate", "all_users": True}
    there = {"Memsense-Namespace": "caf%C3%A9"}
    hits = client.post("/v1/search", json=asked, headers=there).json()["hits"]
    assert [hit["chunk_id"] for hit in hits] == [chunk_id]
    assert client.get("/v1/namespaces").json() == {
        "namespace": "default",
        "namespaces": ["café", "default"],
    }
    assert other.get("/v1/namespaces", headers={"Memsense-Namespace": "new"}).json() == {
        "namespace": "new",
        "namespaces": ["new", "theirs"],
    }
    wrong = client.get("/v1/namespaces", headers={"Memsense-Namespace": "%00"})
    assert (wrong.status_code, "Memsense-Namespace" in wrong.json()["detail"]) == (422, True)


def test_a_key_of_one_namespace_opens_no_other(served: Served) -> None:
    whole = served.client("acme")
    say(whole, "I like tea.")
    say(whole, "I like mate.", "second")
    created = whole.post(
        "/v1/access-keys", json={"scopes": ["read", "write"], "namespace": "second"}
    )
    assert created.json()["key"]["namespace"] == "second"
    bound = served.client(key=created.json()["text"])
    assert texts(bound) == texts(bound, "second") == ["I like mate."]
    assert bound.get("/v1/namespaces").json()["namespaces"] == ["second"]
    refused = bound.get("/v1/memories", headers={"Memsense-Namespace": "default"})
    told = "'default' is another namespace, but the key opens only 'second'"
    assert (refused.status_code, refused.json()["detail"]) == (403, told)
    admin = whole.post("/v1/access-keys", json={"scopes": ["admin"], "namespace": "second"})
    assert (admin.status_code, "namespace's" in admin.json()["detail"]) == (422, True)
    erased = bound.post("/v1/erasures/everywhere", json={"user_id": "ada"})
    assert (erased.status_code, "of one namespace" in erased.json()["detail"]) == (403, True)
    counted = bound.get("/v1/statistics")
    assert (counted.status_code, "all namespaces" in counted.json()["detail"]) == (403, True)
    # What one namespace's key has begun, another's does not see.
    made = whole.post("/v1/exports", json={"all_users": True}).headers["Location"]
    assert bound.get(made).status_code == 404
    assert (whole.get(made).status_code, bound.get("/v1/exports").json()) == (
        200,
        {"transfers": []},
    )


def test_a_key_of_one_user_stays_in_its_user_in_every_namespace(served: Served) -> None:
    whole = served.client("acme")
    say(whole, "I like mate.", "second")
    keys = served.tenants.memory("acme").access_keys
    bens = served.client(key=keys.create(["read"], user_id="ben").text)
    there = {"Memsense-Namespace": "second"}
    assert bens.get("/v1/memories", headers=there).json()["memories"] == []
    asked = bens.get("/v1/memories", params={"user_id": "ada"}, headers=there)
    assert asked.status_code == bens.get("/v1/namespaces").status_code == 403


def test_the_page_shows_and_chooses_the_namespace(served: Served) -> None:
    whole = served.client("acme")
    say(whole, "I like tea.")
    say(whole, "I like mate.", "second")
    page = TestClient(served.app, base_url="https://testserver")
    page.post("/ui/sign-in", data={"key": served.key("acme")})

    def token_of(text: str) -> str:
        return (re.findall(r'name="token" value="([^"]+)"', text) or [""])[0]

    first = page.get("/ui/memories")
    assert "I like tea." in first.text
    assert "<option selected>default</option><option>second</option>" in first.text
    second = page.get("/ui/memories", params={"ns": "second"})
    assert "I like mate." in second.text
    assert "I like tea." not in second.text
    assert "I like mate." in page.get("/ui/memories").text, "the session has forgotten it"
    said = {"user": "ada", "session": "monday", "user_text": "I like cocoa."}
    stale = page.post("/ui/add", data={**said, "token": token_of(first.text)})
    assert (stale.status_code, "out of date" in stale.text) == (403, True)
    stored = page.post("/ui/add", data={**said, "token": token_of(second.text)})
    assert stored.status_code < 400, stored.text
    assert texts(whole) == ["I like tea."]
    bound = served.tenants.memory("acme").access_keys.create(namespace="default").text
    page.post("/ui/sign-in", data={"key": bound})
    assert page.get("/ui/memories", params={"ns": "second"}).status_code == 403
    assert "I like tea." in page.get("/ui/memories").text


def test_a_namespace_that_holds_nothing_answers_as_the_text_says(served: Served) -> None:
    owner, schema = Store(served, "a"), served.app.openapi()
    owner.client.headers["Memsense-Namespace"] = "empty"
    for item in requests_for(schema, owner):
        answer = owner.client.request(item.method, item.url, **item.options)
        documented = schema["paths"][item.path][item.method]["responses"]
        assert str(answer.status_code) in documented, (item.method, item.path, answer.text)
