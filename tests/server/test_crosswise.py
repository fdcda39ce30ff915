"""Every kind of key tried crosswise on every route of the OpenAPI text: nothing leaks."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import pytest
from fastapi.testclient import TestClient
from serving import Served, add

from memsense.server.routes import memories, operating, searches
from memsense.store.access import SCOPES, KeyScope

SECRET = "zanzibarword"
SAID = [{"role": "user", "content": f"My {SECRET} is green tea."}]
OPEN_TO_ALL = {"/health/live", "/health/ready"}
ROW_IDS = {"chunk_id", "trace_id", "older", "newer"}
LINES = {"Content-Type": "application/x-ndjson"}


class Store:
    """What a tenant has stored, to be named by another one."""

    def __init__(self, served: Served, tenant: str) -> None:
        self.tenant = tenant
        self.user_id = f"user-{tenant}"
        self.client = served.client(tenant)
        self.memory = served.tenants.memory(tenant)
        said = [*SAID, {"role": "assistant", "content": f"It is a thing of hidden{tenant}."}]
        own = {"messages": said, "project": f"project-{tenant}"}
        self.chunk_id = add(self.client, self.user_id, f"session-{tenant}", **own)
        asked = {"query": SECRET, "user_id": self.user_id}
        self.trace_id = self.client.post("/v1/traces", json=asked).json()["trace_id"]
        later = add(self.client, self.user_id, "later", messages=SAID, embed="later")
        assert later
        self.job_id = self.client.get("/v1/jobs").json()["jobs"][0]["job_id"]
        add(self.client, "gone", "gone")
        erased = self.client.post("/v1/erasures", json={"user_id": "gone"}).json()
        self.memory.profiles.create(f"profile-{tenant}")
        key = self.memory.access_keys.create(name=f"key-{tenant}")
        self.in_path: dict[str, Any] = {
            "user_id": self.user_id,
            "chunk_id": self.chunk_id,
            "older": self.chunk_id,
            "newer": later,
            "trace_id": self.trace_id,
            "erasure_id": erased["erasure_id"],
            "key_id": key.key.key_id,
            "transfer_id": "00000000-0000-4000-8000-000000000000",
        }
        self.in_body: dict[str, Any] = {
            "user_id": self.user_id,
            "chunk_id": self.chunk_id,
            "session_id": f"session-{tenant}",
            "session_ids": [f"session-{tenant}"],
            "job_ids": [self.job_id],
            "project": f"project-{tenant}",
            "query": SECRET,
            "prompt": SECRET,
        }

    def name_for(self, path: str) -> str:
        """What stands for `{name}` in a path."""
        return f"{'profile' if 'profiles' in path else 'project'}-{self.tenant}"

    def everything(self) -> Any:
        """All that another tenant must neither see nor change."""
        memory = self.memory
        chunks = memory.list(all_users=True, statuses=["active", "archived", "deleted"])
        histories = [memory.history(chunk.chunk_id) for chunk in chunks]
        traces = [trace.trace_id for trace in memory.traces.list()]
        keys = [(key.key_id, key.revoked_at) for key in memory.access_keys.list()]
        settings = memory.settings.show(), memory.profiles.list(), memory.projects.list()
        return chunks, histories, traces, memory.jobs.list(), memory.erasures.list(), keys, settings


class Try(NamedTuple):
    """A request to one operation, with the names and ids of an owner's things."""

    method: str
    path: str
    names: set[str]
    url: str
    options: dict[str, Any]


def requests_for(schema: dict[str, Any], owner: Store) -> Iterator[Try]:
    """Every operation, with what the owner has in place of what is to be named."""
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            parameters = operation.get("parameters", ())
            # The header of the namespace is a reference.
            in_path = {item["name"] for item in parameters if item.get("in") == "path"}
            in_path -= {"user_id"}  # each tenant may have a user of this name
            in_query = {item["name"] for item in parameters if item.get("in") == "query"}
            options: dict[str, Any] = {"params": {}}
            for name in in_query & (owner.in_body.keys() - {"session_id", "session_ids"}):
                options["params"][name] = owner.in_body[name]
            if (body := operation.get("requestBody")) is not None:
                if "application/json" in body["content"]:
                    options["json"] = body_for(schema, body, owner)
                else:
                    options |= {"content": "x", "headers": LINES}
            named = {**owner.in_path, "name": owner.name_for(path)}
            yield Try(method, path, in_path, path.format(**named), options)


def body_for(schema: dict[str, Any], body: dict[str, Any], owner: Store) -> dict[str, Any]:
    """The example of a body, with the owner's ids in it."""
    content = body["content"]["application/json"]["schema"]
    content = content.get("anyOf", [content])[0]
    model = schema["components"]["schemas"][content["$ref"].rpartition("/")[2]]
    [example, *_] = model.get("examples", [{}])
    needed = {"name": "one", "words": ["tea"], "lexemes": ["tea"]}
    given = {name: needed[name] for name in model.get("required", ()) if name in needed}
    fields = model["properties"].keys()
    ids = {name: owner.in_body[name] for name in fields & owner.in_body.keys() & example.keys()}
    more = {"user_id": owner.user_id} if "user_id" in fields else {}
    return {**given, **example, **more, **ids}


@pytest.mark.parametrize("whose", ["read", "every"])
def test_no_key_reaches_another_tenant_s_memory(served: Served, whose: str) -> None:
    owner = Store(served, "a")
    Store(served, "b")
    scopes = ("read",) if whose == "read" else ()
    stranger = served.client("b", *scopes)  # pyright: ignore[reportArgumentType]
    before, tried = owner.everything(), 0
    schema = served.app.openapi()
    for item in requests_for(schema, owner):
        answer = stranger.request(item.method, item.url, **item.options)
        summary = f"{item.method} {item.path}: {answer.status_code} {answer.text[:200]}"
        assert str(owner.trace_id) not in answer.text or "no trace" in answer.text, summary
        assert "hiddena" not in answer.text, summary
        # Each tenant has users of its own, whatever their names are.
        if item.names - {"user_id"}:
            assert answer.status_code in {403, 404}, summary
        else:
            assert answer.status_code < 500, summary
        tried += 1
    assert tried == sum(len(operations) for operations in schema["paths"].values()) > 70
    assert owner.everything() == before


def test_a_user_s_id_narrows_what_every_id_reaches(served: Served) -> None:
    """Every operation of the OpenAPI text with a row's id in its path, a new one, too."""
    owner = Store(served, "a")
    client = owner.client
    client.post("/v1/memories", json={"user_id": "bob", "session_id": "s", "messages": SAID})
    assert client.get(f"/v1/memories/{owner.chunk_id}").status_code == 200
    schema, before, tried = served.app.openapi(), owner.everything(), 0
    for item in requests_for(schema, owner):
        if not item.names & ROW_IDS:
            continue
        taken = {it.get("name") for it in schema["paths"][item.path][item.method]["parameters"]}
        assert "user_id" in taken, f"{item.method} {item.path} can't be narrowed to one user"
        options: dict[str, Any] = {**item.options, "params": {"user_id": "bob"}}
        answer = client.request(item.method, item.url, **options)
        assert answer.status_code == 404, f"{item.method} {item.path}: {answer.text}"
        assert "hiddena" not in answer.text
        tried += 1
    body = {"query": SECRET, "user_id": "bob", "chunk_id": owner.chunk_id}
    assert client.post("/v1/why-not", json=body).status_code == 404
    assert tried >= 8
    assert owner.everything() == before


def test_every_route_but_health_asks_for_a_key(served: Served) -> None:
    anybody = TestClient(served.app)
    owner = Store(served, "a")
    for item in requests_for(served.app.openapi(), owner):
        answer = anybody.request(item.method, item.url, **item.options)
        expected = 200 if item.path in OPEN_TO_ALL else 401
        assert answer.status_code == expected, (item.method, item.path, answer.text)


def test_the_same_words_of_two_tenants_stay_apart(served: Served) -> None:
    one, other = Store(served, "a"), Store(served, "b")
    for store, stranger in ((one, other), (other, one)):
        answer = store.client.post("/v1/search", json={"query": SECRET, "all_users": True}).json()
        assert {hit["user_id"] for hit in answer["hits"]} == {store.user_id}
        lines = store.client.get("/v1/export", params={"all_users": True}).text
        assert store.user_id in lines
        assert stranger.user_id not in lines


NEEDED = {
    (item.method.lower(), f"/v1{item.path.replace(':path', '')}"): item.scope
    for item in (*memories.OPERATIONS, *searches.OPERATIONS, *operating.OPERATIONS)
}
_OTHERS: list[KeyScope] = [scope for scope in SCOPES if scope != "read"]
WITHOUT_READ: list[Any] = [
    # The most and the least that such a key may do; keys with other scopes repeat their requests.
    tuple(_OTHERS),
    ("forget",),
    *(
        pytest.param(scopes, marks=pytest.mark.full)
        for count in (1, 2)
        for scopes in combinations(_OTHERS, count)
        if scopes != ("forget",)
    ),
]


@pytest.mark.parametrize("scopes", WITHOUT_READ, ids=",".join)
def test_a_key_that_may_not_read_is_told_nothing_that_is_stored(
    served: Served, scopes: tuple[KeyScope, ...]
) -> None:
    """All kinds of keys without the scope read, on every operation of their own tenant."""
    store = Store(served, "a")
    client, tried = served.client("a", *scopes), 0
    stored = ("hiddena", "green tea", "project-a")
    for item in requests_for(served.app.openapi(), store):
        answer = client.request(item.method, item.url, **item.options)
        summary = f"{item.method} {item.path}: {answer.status_code} {answer.text[:300]}"
        scope = NEEDED.get((item.method, item.path))
        if scope is not None and scope not in scopes:
            assert answer.status_code == 403, summary
        said = str(item.options) + item.url
        for text in stored:
            assert text not in answer.text or text in said, summary
        tried += answer.status_code < 300
    assert tried >= 3


def test_a_write_of_a_key_that_may_not_read_answers_with_ids_alone(served: Served) -> None:
    chunk_id = add(served.client())
    writer = served.client("acme", "write")
    path = f"/v1/memories/{chunk_id}"
    assert writer.patch(path, json={"tags": ["tea"]}).json() == {"chunk_ids": [chunk_id]}
    assert writer.post(f"{path}/promote").json() == {"chunk_ids": [chunk_id]}
    again = {"user_id": "ada", "session_id": "s", "messages": SAID}
    added = writer.post("/v1/memories", json=again)
    assert added.status_code == 201
    assert added.json().keys() == {"chunk_ids"}
    many = {"user_id": "ada", "sessions": [{"session_id": "t", "messages": SAID}]}
    assert writer.post("/v1/memories/many", json=many).json().keys() == {"chunk_ids"}


def test_a_key_can_t_create_one_that_may_do_more(served: Served) -> None:
    admin = served.client("acme", "admin")
    assert admin.post("/v1/access-keys", json={"scopes": ["admin"]}).status_code == 201
    refused = admin.post("/v1/access-keys", json={"scopes": ["read"]})
    assert refused.status_code == 403
    assert "scope read" in refused.json()["detail"]
