"""Two tenants' keys tried crosswise on every route of the OpenAPI text: nothing leaks."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from serving import Served, add

SECRET = "zanzibarword"
SAID = [{"role": "user", "content": f"My {SECRET} is green tea."}]
EVE = {"user_id": "eve", "session_id": "s", "messages": [{"role": "user", "content": "x"}]}
OPEN_TO_ALL = {"/health/live", "/health/ready"}


class Store:
    """What a tenant has stored, to be named by another one."""

    def __init__(self, served: Served, tenant: str) -> None:
        self.tenant = tenant
        self.client = served.client(tenant)
        self.memory = served.tenants.memory(tenant)
        said = [*SAID, {"role": "assistant", "content": f"It is a thing of hidden{tenant}."}]
        own = {"messages": said, "project": f"project-{tenant}"}
        self.chunk_id = add(self.client, f"user-{tenant}", f"session-{tenant}", **own)
        asked = {"query": SECRET, "user_id": f"user-{tenant}", "trace": True}
        self.trace_id = self.client.post("/v1/search", json=asked).json()["trace_id"]
        later = add(self.client, f"user-{tenant}", "later", messages=SAID, embed="later")
        assert later
        self.job_id = self.client.get("/v1/jobs").json()["jobs"][0]["job_id"]
        self.user_id = f"user-{tenant}"

    def everything(self) -> Any:
        """All that another tenant must neither see nor change."""
        chunks = self.memory.list(all_users=True, statuses=["active", "archived", "deleted"])
        histories = [self.memory.history(chunk.chunk_id) for chunk in chunks]
        traces = [trace.trace_id for trace in self.memory.traces.list()]
        return chunks, histories, traces, self.memory.jobs.list(), self.memory.erasures.list()


def requests_for(schema: dict[str, Any], owner: Store) -> list[tuple[str, str, dict[str, Any]]]:
    """Every operation, with what the owner has in place of what is to be named."""
    bodies: dict[str, dict[str, Any]] = {
        "/v1/memories": EVE,
        "/v1/search": {"query": SECRET, "user_id": owner.user_id},
        "/v1/context": {"prompt": SECRET, "user_id": owner.user_id, "silence": 0},
        "/v1/why-not": {"query": SECRET, "user_id": owner.user_id, "chunk_id": owner.chunk_id},
        "/v1/memories/{chunk_id}/feedback": {"helpful": True},
        "/v1/jobs/retry": {"job_ids": [owner.job_id]},
        "/v1/jobs/drop": {"job_ids": [owner.job_id]},
    }
    named = {"chunk_id": owner.chunk_id, "trace_id": owner.trace_id, "user_id": owner.user_id}
    found: list[tuple[str, str, dict[str, Any]]] = []
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            options: dict[str, Any] = {}
            taken = {item["name"] for item in operation.get("parameters", ())}
            in_path = {
                item["name"] for item in operation.get("parameters", ()) if item["in"] == "path"
            }
            if "user_id" in taken - in_path:
                options["params"] = {"user_id": owner.user_id}
            if path == "/v1/left-off":
                options["params"] |= {"project": f"project-{owner.tenant}"}
            if method == "patch":
                options["json"] = {"tags": ["stolen"]}
            if method == "post" and path in bodies:
                options["json"] = bodies[path]
            found.append((method, path, {**options, "named": {n: named[n] for n in in_path}}))
    return found


@pytest.mark.parametrize("whose", ["read", "every"])
def test_no_key_reaches_another_tenant_s_memory(served: Served, whose: str) -> None:
    owner = Store(served, "a")
    Store(served, "b")
    scopes = ("read",) if whose == "read" else ()
    stranger = served.client("b", *scopes)  # pyright: ignore[reportArgumentType]
    before = owner.everything()
    schema = served.app.openapi()
    tried = 0
    for method, path, options in requests_for(schema, owner):
        named = options.pop("named")
        answer = stranger.request(method, path.format(**named), **options)
        told = f"{method} {path}: {answer.status_code} {answer.text[:200]}"
        assert str(owner.trace_id) not in answer.text or "no trace" in answer.text, told
        assert "session-a" not in answer.text, told
        if named:
            assert answer.status_code in {403, 404}, told
        else:
            assert answer.status_code in {200, 201, 403, 404}, told
        assert "hiddena" not in answer.text, told
        tried += 1
    assert tried == sum(len(operations) for operations in schema["paths"].values()) > 20
    assert owner.everything() == before


def test_a_user_s_id_narrows_what_every_id_reaches(served: Served) -> None:
    """Every operation of the OpenAPI text with an id in its path, a new one, too."""
    owner = Store(served, "a")
    client = owner.client
    client.post("/v1/memories", json={"user_id": "bob", "session_id": "s", "messages": SAID})
    assert client.get(f"/v1/memories/{owner.chunk_id}").status_code == 200
    schema, before, tried = served.app.openapi(), owner.everything(), 0
    for method, path, options in requests_for(schema, owner):
        named = options.pop("named")
        if not named.keys() - {"user_id"}:
            continue
        taken = {item["name"] for item in schema["paths"][path][method]["parameters"]}
        assert "user_id" in taken, f"{method} {path} can't be narrowed to one user"
        options["params"] = {"user_id": "bob"}
        answer = client.request(method, path.format(**named), **options)
        assert answer.status_code == 404, f"{method} {path}: {answer.text}"
        assert "hiddena" not in answer.text
        tried += 1
    body = {"query": SECRET, "user_id": "bob", "chunk_id": owner.chunk_id}
    assert client.post("/v1/why-not", json=body).status_code == 404
    assert tried >= 8
    assert owner.everything() == before


def test_every_route_but_health_asks_for_a_key(served: Served) -> None:
    anybody = TestClient(served.app)
    owner = Store(served, "a")
    for method, path, options in requests_for(served.app.openapi(), owner):
        named = options.pop("named")
        answer = anybody.request(method, path.format(**named), **options)
        expected = 200 if path in OPEN_TO_ALL else 401
        assert answer.status_code == expected, (method, path, answer.text)


def test_the_same_words_of_two_tenants_stay_apart(served: Served) -> None:
    one, other = Store(served, "a"), Store(served, "b")
    for store, stranger in ((one, other), (other, one)):
        answer = store.client.post("/v1/search", json={"query": SECRET, "all_users": True}).json()
        assert {hit["user_id"] for hit in answer["hits"]} == {store.user_id}
        lines = store.client.get("/v1/export", params={"all_users": True}).text
        assert store.user_id in lines
        assert stranger.user_id not in lines
