"""A key of one user's, tried on every route, page and tool with another user's ids: nothing leaks.

Each route and each of its parameters stands in a table below with what it is to a key of one
user's; one that is new fails here until somebody decides.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from typing import Any, Literal, LiteralString

import psycopg
import pytest
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from psycopg import sql
from pydantic import BaseModel
from serving import Served
from starlette.routing import Route
from waiting import wait_until

from memsense.search.settings import SETTING_NAMES
from memsense.server.app import create_app
from memsense.server.mcp import KeyedMcp
from memsense.server.options import ServerOptions

SECRETS = ("zanzibarword", "bobshidden")
BOB = "bob-the-builder"
BASE = "http://localhost:8321"
ABSENT = 10**9
NO_TRACE = "00000000-0000-4000-8000-000000000000"

Decision = Literal["own", "whole", "open"]
"""Of one user's memory; about the whole tenant, and refused; of no memory at all."""

ROUTES: dict[str, Decision] = {
    "POST /v1/memories": "own",
    "GET /v1/memories": "own",
    "GET /v1/sessions": "own",
    "GET /v1/projects": "own",
    "GET /v1/left-off": "own",
    "GET /v1/users": "whole",
    "GET /v1/memories/{chunk_id}": "own",
    "GET /v1/memories/{chunk_id}/history": "own",
    "GET /v1/memories/{chunk_id}/versions": "own",
    "PATCH /v1/memories/{chunk_id}": "own",
    "DELETE /v1/memories/{chunk_id}": "whole",
    "POST /v1/memories/{chunk_id}/archive": "own",
    "POST /v1/memories/{chunk_id}/forget": "own",
    "POST /v1/memories/{chunk_id}/restore": "own",
    "POST /v1/memories/{chunk_id}/promote": "own",
    "POST /v1/memories/{chunk_id}/demote": "own",
    "POST /v1/memories/{chunk_id}/feedback": "own",
    "POST /v1/search": "own",
    "POST /v1/context": "own",
    "POST /v1/why-not": "own",
    "GET /v1/traces": "own",
    "GET /v1/traces/{trace_id}": "own",
    "POST /v1/traces/{trace_id}/replay": "own",
    "POST /v1/memories/many": "own",
    "GET /v1/memories/recent": "own",
    "GET /v1/memories/get-many": "own",
    "GET /v1/memories/superseded-facts": "own",
    "GET /v1/changes": "own",
    "PUT /v1/changes/{older}/{newer}": "own",
    "GET /v1/stats": "own",
    "GET /v1/users/{user_id:path}/life": "own",
    "GET /v1/growth": "whole",
    "GET /v1/statistics": "whole",
    "POST /v1/erasures": "whole",
    "POST /v1/erasures/everywhere": "whole",
    "POST /v1/erasures/redact": "whole",
    "GET /v1/erasures": "whole",
    "GET /v1/erasures/{erasure_id}": "whole",
    "GET /v1/question-sets": "whole",
    "GET /v1/questions": "whole",
    "GET /v1/questions/labels": "whole",
    "POST /v1/questions/label": "whole",
    "POST /v1/questions/unlabel": "whole",
    "POST /v1/questions/remove": "whole",
    "POST /v1/questions/compare": "whole",
    "POST /v1/projects": "whole",
    "GET /v1/projects/{name:path}": "own",
    "POST /v1/projects/{name:path}/add": "whole",
    "POST /v1/projects/{name:path}/remove": "whole",
    "DELETE /v1/projects/{name:path}": "whole",
    "GET /v1/entities": "own",
    "GET /v1/entities/{name:path}": "own",
    "POST /v1/entities/rebuild": "whole",
    "POST /v1/search/many": "own",
    "POST /v1/matching-words": "own",
    "POST /v1/traces": "own",
    "GET /v1/traces/statistics": "own",
    "POST /v1/traces/compare": "own",
    "POST /v1/traces/prune": "whole",
    "GET /v1/export": "own",
    "POST /v1/exports": "own",
    "GET /v1/exports": "own",
    "GET /v1/exports/{transfer_id}": "own",
    "GET /v1/exports/{transfer_id}/lines": "own",
    "DELETE /v1/exports/{transfer_id}": "own",
    "POST /v1/imports": "whole",
    "GET /v1/imports": "whole",
    "POST /v1/ingest": "own",
    "GET /v1/namespaces": "whole",
    "GET /v1/imports/{transfer_id}": "whole",
    "DELETE /v1/imports/{transfer_id}": "whole",
    "GET /v1/settings": "whole",
    "PATCH /v1/settings": "whole",
    "POST /v1/settings/reset": "whole",
    "GET /v1/settings/history": "whole",
    "GET /v1/profiles": "whole",
    "POST /v1/profiles": "whole",
    "GET /v1/profiles/{name}": "whole",
    "DELETE /v1/profiles/{name}": "whole",
    "GET /v1/ttl": "whole",
    "PUT /v1/ttl": "whole",
    "POST /v1/ttl/unset": "whole",
    "POST /v1/ttl/sweep": "whole",
    "GET /v1/access-keys": "whole",
    "POST /v1/access-keys": "whole",
    "DELETE /v1/access-keys/{key_id}": "whole",
    "GET /v1/jobs": "whole",
    "GET /v1/jobs/count": "whole",
    "POST /v1/jobs/retry": "whole",
    "POST /v1/jobs/drop": "whole",
    "POST /v1/jobs/run": "whole",
    "GET /v1/models": "whole",
    "POST /v1/models/compare": "whole",
    "POST /v1/models/switch": "whole",
    "POST /v1/models/back": "whole",
    "POST /v1/models/drop": "whole",
    "POST /v1/indexes/make-sessions": "whole",
    "POST /v1/indexes/optimise": "whole",
    "POST /v1/indexes/fill-tokens": "whole",
    "POST /v1/indexes/link-facts": "whole",
    "POST /v1/indexes/find-rules": "whole",
    "POST /v1/indexes/rebuild": "whole",
    "GET /v1/openapi.json": "open",
    "GET /health/live": "open",
    "GET /health/ready": "open",
    "GET /metrics": "whole",
    "GET /": "open",
    "GET /ui": "open",
    "GET /ui/static/{name}": "open",
    "GET /favicon.ico": "open",
    "GET /ui/sign-in": "open",
    "POST /ui/sign-in": "open",
    "POST /ui/sign-out": "open",
    "GET /ui/": "own",
    "POST /ui/record": "own",
    "GET /ui/context": "own",
    "GET /ui/memories": "own",
    "GET /ui/memories/export": "own",
    "GET /ui/memories/session": "own",
    "GET /ui/memories/{chunk_id}": "own",
    "GET /ui/memories/{chunk_id}/text": "own",
    "POST /ui/memories/{chunk_id}/edit": "own",
    "POST /ui/memories/{chunk_id}/not-a-change": "own",
    "POST /ui/memories/{chunk_id}/undo": "own",
    "POST /ui/memories/bulk/{action}": "own",
    "GET /ui/add": "own",
    "POST /ui/add": "own",
    "POST /ui/memories/{chunk_id}/{action}": "own",
    "POST /ui/memories/erase": "whole",
    "GET /ui/traces": "own",
    "GET /ui/traces/compare": "own",
    "GET /ui/traces/{trace_id}": "own",
    "GET /ui/traces/{trace_id}/replay": "own",
    "GET /ui/traces/{trace_id}/difference": "own",
    "GET /ui/users/{user:path}": "own",
    "GET /ui/questions": "whole",
    "GET /ui/questions/set": "whole",
    "POST /ui/questions/label": "whole",
    "POST /ui/questions/remove": "whole",
    "GET /ui/settings": "whole",
    "POST /ui/settings": "whole",
    "POST /ui/settings/profiles": "whole",
    "POST /ui/settings/profiles/delete": "whole",
    "GET /ui/keys": "whole",
    "POST /ui/keys": "whole",
    "POST /ui/keys/revoke": "whole",
    "GET /ui/erasures": "whole",
    "GET /ui/erasures/{erasure_id}": "whole",
    "GET /ui/health": "whole",
    "POST /ui/health/jobs/{action}": "whole",
    "GET /ui/{path:path}": "open",
}  # fmt: skip

MCP = "/mcp"

NAMES_NOTHING = {
    "agent_id", "mode", "task_tag", "facets", "memory_kind", "confidence", "metadata", "expires_at",
    "ttl", "embed", "since", "until", "kind", "kinds", "granularity", "status", "limit", "content",
    "occurred_at", "reason", "top_k", "min_score", "asked_at", "profile", "overrides", "as_of",
    "content_budget", "trace", "empty", "slower_than", "as_of_then", "vectors", "helpful", "note",
    "prompt_kind", "contains", "user_speaker", "new_session", "dry_run",
    "if_version", "if-match", "if-none-match",
    "question", "query", "q", "messages", "hits", "show", "one", "other", "action", "text",
    "answer", "explain", "idempotency-key", "max_tokens", "redact",
    "prompt", "silence", "on_purpose", "rules", "card", "format", "key", "tokens", "layout", "done",
    "count",
    "added",
    "place", "marks", "user_text", "assistant_text", "at", "back", "value",
    "days", "scope-read", "saved", "about", "erasure_id", "statuses", "order", "queries", "words",
    "state", "step", "span", "decision", "again", "version",
    "lexemes", "settings", "namespace", "Memsense-Namespace", "ns",
     "names", "expected_version", "base", "existing", "scopes",
    "dimension", "incomplete", "language", "matches", "key_id", *SETTING_NAMES,
    "set", "label", "timeout", "exchange_gap", "set_name", "right", "before", "after",
}  # fmt: skip
"""Parameters that say nothing of whose memory it is, or which of it."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What a user has stored, by the names of the parameters that may name it."""

    user_id: str
    chunk_id: int
    later_id: int
    trace_id: str
    job_id: int
    cursor: dict[str, str]
    transfer_id: str = NO_TRACE

    def values(self) -> dict[str, Any]:
        return {
            "user_id": self.user_id,
            "user": self.user_id,
            "chunk_id": self.chunk_id,
            "chunk_ids": [self.chunk_id],
            "chunk": self.chunk_id,
            "older": self.chunk_id,
            "newer": self.later_id,
            "a": self.chunk_id,
            "b": self.later_id,
            "decision": "set",
            "why": str(self.chunk_id),
            "trace_id": self.trace_id,
            "transfer_id": self.transfer_id,
            "name": f"{self.user_id}-project",
            "sessions": [
                {
                    "user_id": self.user_id,
                    "session_id": f"{self.user_id}-session",
                    "messages": [{"role": "user", "content": "Green tea."}],
                }
            ],
            "session_id": f"{self.user_id}-session",
            "session_ids": [f"{self.user_id}-session"],
            "exclude_sessions": [f"{self.user_id}-session"],
            "message_id": f"{self.user_id}-message",
            "session": f"{self.user_id}-session",
            "project": f"{self.user_id}-project",
            "tag": f"{self.user_id}-tag",
            "tags": [f"{self.user_id}-tag"],
            "exclude": [self.chunk_id, f"{self.user_id}-message"],
            "job_ids": [self.job_id],
            "job": str(self.job_id),
        }


def key_of(user_id: str, route: str) -> str:
    """The Idempotency-Key that a user has given to a write."""
    return f"{user_id}-{route.replace(' ', '')}"


def store(served: Served, user_id: str, *words: str) -> Stored:
    """One exchange with these words, in a session of a project, searched for, and a job."""
    memory = served.tenants.memory("acme")
    said = [
        {"role": "user", "content": f"My {words[0]} is green tea.", "id": f"{user_id}-message"},
        {"role": "assistant", "content": f"It is a thing of {words[1]}."},
    ]
    place: dict[str, Any] = {"user_id": user_id, "session_id": f"{user_id}-session"}
    [chunk] = memory.add(said, **place, tags=[f"{user_id}-tag"], agent_id=f"{user_id}-agent")
    answer = f"It is a thing of {words[1]}, which was said before."
    memory.update(chunk.chunk_id, content={"assistant": answer})
    again = [{"role": "user", "content": f"Green tea again with Maria Silva, said {words[1]}."}]
    [later_chunk] = memory.add(again, user_id=user_id, session_id=f"{user_id}-later")
    memory.projects.create(f"{user_id}-project", [f"{user_id}-session"])
    trace = memory.search("green tea", user_id=user_id, trace=True)
    memory.search("tea", user_id=user_id, trace=True)
    memory.traces.flush()
    later = [{"role": "user", "content": "Later, green tea."}]
    [last] = memory.add(later, user_id=user_id, session_id=f"{user_id}-later", embed="later")
    for newer in (later_chunk, last):
        memory.decide_change(chunk.chunk_id, newer.chunk_id, "set")
    memory.feedback(chunk.chunk_id, helpful=True)
    job_ids = [job.job_id for job in memory.jobs.list()]
    sessions = memory.sessions(user_id=user_id, limit=1).next_cursor
    traces = memory.traces.list(user_id=user_id, limit=1).next_cursor
    cursors = {
        "/v1/memories": memory.list(user_id=user_id, limit=1).next_cursor,
        "/ui/memories/session": memory.list(user_id=user_id, limit=1, order="oldest").next_cursor,
        "/v1/sessions": sessions,
        "/ui/memories": sessions,
        "/v1/traces": traces,
        "/v1/changes": memory.changes(user_id=user_id, limit=1).next_cursor,
        "/ui/traces": traces,
    }
    assert all(cursors.values())
    return Stored(
        user_id=user_id,
        chunk_id=chunk.chunk_id,
        later_id=later_chunk.chunk_id,
        trace_id=str(trace.trace_id),
        job_id=max(job_ids),
        cursor={name: cursor or "" for name, cursor in cursors.items()},
    )


TABLES = """
SELECT c.relname, array_agg(a.attname::text)
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT c.relispartition AND a.attnum > 0 AND c.relname <> 'alembic_version'
GROUP BY c.relname
"""

CHANGED_BY_ADA = {"access_keys", "write_keys", "search_minutes", "slow_searches"}
"""Tables of which no row says whose it is, and that every use of a key, or search, changes."""


def of_bob(url: str) -> dict[str, Any]:
    """The rows of bob's in each table that says whose they are; all rows of each other table."""
    wheres: dict[str, LiteralString] = {
        "scope_id": "scope_id IN (SELECT scope_id FROM memsense.scopes WHERE user_id = %(user)s)",
        "user_id": "user_id = %(user)s",
        "trace_id": "trace_id IN (SELECT trace_id FROM memsense.traces WHERE user_id = %(user)s)",
    }
    found: dict[str, Any] = {}
    with psycopg.connect(url) as connection:
        for table, columns in connection.execute(TABLES).fetchall():
            if table in CHANGED_BY_ADA:
                continue
            found_by: list[LiteralString] = [it for name, it in wheres.items() if name in columns]
            where: LiteralString = found_by[0] if found_by else "true"
            rows = sql.SQL("SELECT t::text FROM {} AS t WHERE {} ORDER BY 1").format(
                sql.Identifier("memsense", table), sql.SQL(where)
            )
            found[table] = connection.execute(rows, {"user": BOB}).fetchall()
    assert len(found) > 20
    return found


@dataclass(frozen=True, kw_only=True)
class Acting:
    """Ada and bob with what they stored, and a key of hers, shown to the API and to the page."""

    served: Served
    key: str
    ada: Stored
    bob: Stored
    api: TestClient
    page: TestClient
    token: str


ADAS = "adas-thing"


@pytest.fixture
def acting(served: Served) -> Iterator[Acting]:
    app = create_app(
        served.tenants,
        ServerOptions(needs_key=True, rate=1e6, burst=1_000_000),
        mounts={MCP: KeyedMcp()},
    )
    served = Served(app=app, tenants=served.tenants)
    bob = store(served, BOB, *SECRETS)
    ada = store(served, "ada", ADAS, "quartz")
    keys = served.tenants.memory("acme").access_keys
    key = keys.create(["read", "write", "forget"], user_id="ada", name="hers").text
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as page:
        assert page.post("/ui/sign-in", data={"key": key}).status_code == 200
        token = re.search(r'name="token" value="([^"]+)"', page.get("/ui/").text)
        assert token
        api = served.client(key=key)
        others = keys.create(["read"], user_id=BOB).text
        ada = replace(ada, transfer_id=export(api))
        bob = replace(bob, transfer_id=export(served.client(key=others)))
        yield Acting(served=served, key=key, ada=ada, bob=bob, api=api, page=page, token=token[1])


def export(client: TestClient) -> str:
    """Id of an export of all that a key opens, once it is done."""
    created = client.post("/v1/exports", json={})
    assert created.status_code == 201, created.text
    where = created.headers["Location"]
    wait_until(lambda: client.get(where).json()["status"] != "running", "the end of the export")
    state = client.get(where).json()
    assert state["status"] == "done", state
    return state["transfer_id"]


# Routes ------------------------------------------------------------------------------------------


def all_routes(routes: Any) -> Iterator[Route]:
    """Each route, those of included routers too."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from all_routes(inner.routes)
        else:
            assert isinstance(route, Route), f"{route} is of no kind that is known here"
            yield route


def routes_of(served: Served) -> dict[str, Route]:
    """Every route of the app by its method and path, but for the one of MCP."""
    return {
        f"{method} {route.path}": route
        for route in all_routes(served.app.routes)
        if route.path != MCP
        for method in (route.methods or {"ANY"}) - {"HEAD"}
    }


FORMS = {
    "/ui/memories/{chunk_id}/{action}": {"reason", "note"},
    "/ui/memories/erase": {"user", "session", "confirmed"},
    "/ui/memories/bulk/{action}": {"chunk", "tag", "reason", "back"},
    "/ui/memories/{chunk_id}/not-a-change": {"older", "newer"},
    "/ui/memories/{chunk_id}/undo": {"version"},
    "/ui/memories/{chunk_id}/edit": {"user_text", "assistant_text", "tags", "reason"},
    "/ui/record": {"q", "user", "session", "since", "until", "tag", "hits", "profile"},
    "/ui/add": {"user", "session", "user_text", "assistant_text", "tags", "at", "key"},
    "/ui/questions/label": {"q", "user", "set", "chunk", "label", "back"},
    "/ui/questions/remove": {"set", "q"},
    "/ui/settings": {"name", "value"},
    "/ui/settings/profiles": {"name", "trace", "lexical"},
    "/ui/settings/profiles/delete": {"name"},
    "/ui/keys": {"name", "user", "days", "scope-read"},
    "/ui/keys/revoke": {"key"},
    "/ui/health/jobs/{action}": {"job"},
}
"""Fields that are read from a form by hand."""


def parameters_of(route: Route) -> dict[str, str]:
    """Where each parameter of a route stands: path, query, header, json, form."""
    assert isinstance(route, APIRoute)
    flat: list[Any] = list(get_flat_params(route.dependant))
    found: dict[str, str] = {item.alias: item.field_info.in_.value for item in flat}
    for item in route.dependant.body_params:
        kind: Any = item.field_info.annotation
        models = [it for it in (kind, *getattr(kind, "__args__", ())) if isinstance(it, type)]
        bodies = [it for it in models if issubclass(it, BaseModel)]
        for model in bodies:
            found |= dict.fromkeys(model.model_fields, "json")
        if not bodies:
            found[item.alias] = "form"
    is_form = "POST" in (route.methods or ())
    return found | dict.fromkeys(FORMS.get(route.path, ()) if is_form else (), "form")


def usual(method: str, route: Route, ada: Stored, where: dict[str, str]) -> dict[str, Any]:
    """What the route needs: ada's own, without her name."""
    values: dict[str, Any] = {
        "chunk_id": ada.chunk_id, "trace_id": ada.trace_id, "user_id": "ada", "action": "promote",
        "query": "green tea", "q": "green tea", "helpful": True, "one": "balanced",
        "prompt": "green tea", "queries": ["green tea", "quartz"], "words": ["teas"],
        "lexemes": ["tea"], "transfer_id": ada.transfer_id,
        "name": "questions", "question": "Which tea?", "right": True, "set": "questions",
        "sessions": [{"session_id": "adas-new", "messages": [{"role": "user", "content": "Hm."}]}],
        "key_id": "none", "chunk_ids": [ada.chunk_id],
        "other": "lexical", "messages": [{"role": "user", "content": "A cup of tea."}],
        "session_id": "adas-new", "session": "ada-session", "tags": ["new"], "job": "1",
        "confirmed": "ada-session", "user": "ada", "project": "ada-project", "chunk": ada.chunk_id,
        "tag": "new", "user_text": "Green tea.", "erasure_id": NO_TRACE,
        "older": ada.chunk_id, "newer": ada.later_id, "decision": "set",
        "a": ada.chunk_id, "b": ada.later_id, "version": "1",
    }  # fmt: skip
    if route.path == "/ui/memories/bulk/{action}":
        values["action"] = "tag"
    if route.path.startswith("/v1/"):
        values["name"] = "Maria Silva" if "entities" in route.path else "ada-project"
    needed = {
        "POST /v1/memories": {"session_id", "messages"},
        "POST /v1/memories/many": {"sessions"},
        "POST /v1/ingest": {"name"},
        "POST /v1/search/many": {"queries"},
        "POST /v1/matching-words": {"words", "lexemes"},
        "POST /v1/traces": {"query"},
        "GET /v1/memories/get-many": {"chunk_ids"},
        "GET /v1/memories/superseded-facts": {"chunk_ids"},
        "PUT /v1/changes/{older}/{newer}": {"decision"},
        "GET /v1/questions/labels": {"question"},
        "POST /v1/questions/label": {"question", "chunk_id", "right"},
        "POST /v1/questions/unlabel": {"question", "chunk_id"},
        "POST /v1/questions/remove": {"question"},
        "PATCH /v1/memories/{chunk_id}": {"tags"},
        "POST /v1/why-not": {"query", "chunk_id"},
        "POST /v1/search": {"query"},
        "POST /v1/context": {"prompt"},
        "GET /v1/left-off": {"project"},
        "POST /v1/memories/{chunk_id}/feedback": {"helpful"},
        "GET /ui/": {"q"},
        "GET /ui/memories/session": {"session"},
        "GET /ui/context": {"q"},
        "GET /ui/questions/set": {"name"},
        "POST /ui/record": {"q"},
        "POST /ui/questions/remove": {"set", "q"},
        "POST /ui/add": {"session", "user_text"},
        "POST /ui/memories/bulk/{action}": {"chunk", "tag"},
        "POST /ui/memories/{chunk_id}/edit": {"tags"},
        "POST /ui/memories/{chunk_id}/not-a-change": {"older", "newer"},
        "POST /ui/memories/{chunk_id}/undo": {"version"},
        "GET /ui/traces/{trace_id}/difference": {"a", "b"},
        "GET /ui/traces/compare": {"one", "other"},
        "POST /ui/memories/erase": {"user", "session", "confirmed"},
    }.get(f"{method} {route.path}", set())
    in_path = {name for name, place in where.items() if place == "path"}
    return {name: values[name] for name in in_path | needed}


def send(acting: Acting, method: str, route: Route, given: dict[str, Any]) -> Any:
    """Send a request with these parameters, each at its place."""
    where = parameters_of(route)
    places: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "header": {}, "json": {}}
    places["form"] = {"token": acting.token} if route.path.startswith("/ui") else {}
    for name, value in given.items():
        place = where[name]
        places[place][name] = value
    path = re.sub(r"{(\w+)(:path)?}", lambda it: str(places["path"][it[1]]), route.path)
    client = acting.page if route.path.startswith("/ui") else acting.api
    body: dict[str, Any] = {"json": places["json"]} if places["json"] else {}
    if route.path == "/v1/ingest":
        body = {"content": '{"messages": [{"role": "user", "content": "Black tea."}]}'}
    if method == "POST" and route.path.startswith("/ui"):
        body = {"data": places["form"]}
    return client.request(method, path, params=places["query"], headers=places["header"], **body)


def check_tells_nothing(answer: Any, told: str, *sent: Any) -> None:
    """Nothing of bob's is in an answer but what was sent."""
    text = answer if isinstance(answer, str) else answer.text
    for value in re.findall(rf"{BOB}-[\w:/{{}}-]+", str(sent)) + [it for it in sent if it == BOB]:
        text = text.replace(value, "")
    assert BOB not in text, f"{told}: {text[:3000]}"
    for secret in SECRETS:
        assert secret not in text, f"{told}: {text[:3000]}"


def test_every_route_is_decided(acting: Acting) -> None:
    assert routes_of(acting.served).keys() == ROUTES.keys()
    documented = {
        f"{method.upper()} {path}"
        for path, operations in acting.served.app.openapi()["paths"].items()
        for method in operations
    }
    assert documented <= {name.replace(":path", "") for name in ROUTES}
    named = acting.bob.values().keys() | NAMES_NOTHING | {"all_users", "cursor", "confirmed"}
    for name, route in routes_of(acting.served).items():
        if ROUTES[name] != "open":
            assert parameters_of(route).keys() <= named, name


def test_a_key_of_one_user_s_does_what_is_of_that_user_alone(acting: Acting) -> None:
    for name, route in routes_of(acting.served).items():
        method = name.partition(" ")[0]
        if ROUTES[name] == "own":
            given = usual(method, route, acting.ada, parameters_of(route))
            answer = send(acting, method, route, given)
            assert answer.status_code < 300, (name, answer.text)
            check_tells_nothing(answer, name)
            if "user_id" in parameters_of(route):
                again = send(acting, method, route, given | {"user_id": "ada"})
                assert again.status_code < 300, (name, again.text)
    found = acting.api.post("/v1/search", json={"query": "green tea", "trace": True}).json()
    assert {hit["user_id"] for hit in found["hits"]} == {"ada"}
    assert ADAS in acting.api.get("/v1/export").text
    assert ADAS in acting.page.get("/ui/", params={"q": "green tea"}).text
    assert "2 sessions" not in acting.page.get("/ui/memories").text


def test_what_is_the_whole_tenant_s_is_refused_and_says_why(
    acting: Acting, database_url: str
) -> None:
    before = of_bob(database_url)
    for name, route in routes_of(acting.served).items():
        if ROUTES[name] != "whole":
            continue
        method, where = name.partition(" ")[0], parameters_of(route)
        for user in (acting.ada, acting.bob):
            given = usual(method, route, acting.ada, where)
            given |= {key: it for key, it in user.values().items() if key in where}
            answer = send(acting, method, route, given)
            assert answer.status_code == 403, (name, answer.text)
            told = unescape(answer.text)
            why = "concerns the whole tenant, but|which a key of one user can't have"
            assert re.search(why, told), (name, told)
            check_tells_nothing(answer, name, *given.values())
    assert of_bob(database_url) == before


def test_no_route_shows_or_changes_what_is_another_user_s(
    acting: Acting, database_url: str
) -> None:
    memory = acting.served.tenants.memory("acme")
    for name in ROUTES:  # each write of bob's is tried under a key that was used
        memory.feedback(acting.bob.chunk_id, helpful=True, key=key_of(BOB, name))
    tried, before, sent = 0, of_bob(database_url), list[Any]()
    absent: dict[str, Any] = {"chunk_id": ABSENT, "trace_id": NO_TRACE, "transfer_id": NO_TRACE}
    for name, route in routes_of(acting.served).items():
        if ROUTES[name] != "own":
            continue
        method, where = name.partition(" ")[0], parameters_of(route)
        needed = usual(method, route, acting.ada, where)
        named = {key: it for key, it in acting.bob.values().items() if key in where}
        named |= {"all_users": True} if "all_users" in where else {}
        named |= {"idempotency-key": key_of(BOB, name)} if "idempotency-key" in where else {}
        if "cursor" in where:
            named["cursor"] = acting.bob.cursor[route.path]
        for parameter, value in named.items():
            tried, told = tried + 1, f"{name}, {parameter}"
            given = needed | {parameter: value}
            answer = send(acting, method, route, given)
            sent.append(value)  # from now on a name of ada's, too: of a session, or a tag
            check_tells_nothing(answer, told, *sent)
            if parameter in absent:
                assert answer.status_code == 404, (told, answer.text)
                missing = send(acting, method, route, given | {parameter: absent[parameter]})
                same = missing.text.replace(str(absent[parameter]), str(value))
                assert (answer.status_code, answer.text) == (missing.status_code, same), told
            elif parameter in {"user_id", "user", "all_users"}:
                sent.remove(value)
                assert answer.status_code == 403, (told, answer.text)
                assert "the key opens only the memory of " in answer.text
            elif parameter == "idempotency-key":
                assert answer.status_code < 300, (told, answer.text)
            else:
                assert answer.status_code < 500, (told, answer.text)
            assert of_bob(database_url) == before, told
        filters = named.keys() - absent.keys() - {"user_id", "user", "all_users", "cursor"}
        everything = needed | {parameter: named[parameter] for parameter in filters}
        answer = send(acting, method, route, everything)
        check_tells_nothing(answer, name, *sent, *everything.values())
        assert of_bob(database_url) == before, name
    assert tried > 60


def test_every_action_of_the_page_spares_another_user_s_memory(
    acting: Acting, database_url: str
) -> None:
    from memsense.server.page.memories import ACTIONS

    before = of_bob(database_url)
    for action in ACTIONS:
        answer = acting.page.post(
            f"/ui/memories/{acting.bob.chunk_id}/{action}", data={"token": acting.token}
        )
        assert answer.status_code == 404, answer.text
        check_tells_nothing(answer, action)
        own = f"/ui/memories/{acting.ada.chunk_id}/{action}"
        assert acting.page.post(own, data={"token": acting.token}).status_code == 200
    assert of_bob(database_url) == before


def test_the_page_of_one_user_offers_no_other(acting: Acting) -> None:
    for path in ("/ui/", "/ui/memories", "/ui/traces"):
        text = acting.page.get(path).text
        assert 'name="user"' not in text
        assert "<bdi>ada</bdi>" in text
        assert "/ui/health" not in text
        assert BOB not in text
    assert "ada-session" in acting.page.get("/ui/memories").text
    session = acting.page.get("/ui/memories/session", params={"session": f"{BOB}-session"})
    assert "Nothing is stored here" in session.text
    whole = acting.served.client("acme")
    assert whole.get("/v1/users").json()["users"]


def test_a_trace_of_everybody_s_is_not_one_user_s(acting: Acting) -> None:
    memory = acting.served.tenants.memory("acme")
    trace = memory.search("green tea", all_users=True, trace=True)
    memory.traces.flush()
    assert acting.api.get(f"/v1/traces/{trace.trace_id}").status_code == 404
    assert acting.page.get(f"/ui/traces/{trace.trace_id}").status_code == 404
    listed = acting.api.get("/v1/traces").json()["traces"]
    assert {item["user_id"] for item in listed} == {"ada"}


# MCP ---------------------------------------------------------------------------------------------

READ_BY_ADDRESS = {"memsense://chunk/{chunk_id}", "memsense://trace/{trace_id}"}


def ask(acting: Acting, method: str, path: str = MCP, **params: Any) -> Any:
    """What the server of MCP answers to a request that shows ada's key."""
    headers = {
        "Authorization": f"Bearer {acting.key}",
        "Accept": "application/json, text/event-stream",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return acting.page.post(path, json=body, headers=headers)


def test_the_key_s_user_holds_whatever_the_address_says(acting: Acting) -> None:
    for path in (MCP, f"{MCP}?user=ada"):
        answer = ask(acting, "tools/call", path, name="recent", arguments={})
        [content] = answer.json()["result"]["content"]
        assert "The latest memories of ada, " in content["text"]
        assert ADAS in answer.text
        check_tells_nothing(answer, path)
    for path in (f"{MCP}?user={BOB}", f"{MCP}?user={BOB}&user=ada", f"{MCP}?user=ada&user={BOB}"):
        answer = ask(acting, "tools/call", path, name="recent", arguments={})
        if answer.status_code == 200:  # the last of the two names
            assert path.endswith("ada")
            check_tells_nothing(answer, path)
        else:
            assert answer.status_code == 403
            assert answer.json()["detail"] == (
                f"'{BOB}' is another user, but the key opens only the memory of 'ada'"
            )


def test_no_tool_shows_or_changes_what_is_another_user_s(acting: Acting, database_url: str) -> None:
    before, tried = of_bob(database_url), 0
    named = acting.bob.values()
    tools = ask(acting, "tools/list").json()["result"]["tools"]
    assert len(tools) >= 7
    for tool in tools:
        taken, needed = tool["inputSchema"]["properties"], tool["inputSchema"].get("required", [])
        assert taken.keys() <= named.keys() | NAMES_NOTHING, tool["name"]
        values: dict[str, Any] = {"question": "green tea", "helpful": True, "text": "A cup."}
        values["chunk_id"] = acting.ada.chunk_id
        given = {name: values[name] for name in needed}
        own = ask(acting, "tools/call", name=tool["name"], arguments=given).json()["result"]
        assert not own.get("isError"), (tool["name"], own)
        for parameter in taken.keys() & named.keys() or {""}:
            asked = given | ({parameter: named[parameter]} if parameter else {})
            if parameter == "exclude":
                asked["exclude"] = [acting.bob.chunk_id]
            answer = ask(acting, "tools/call", name=tool["name"], arguments=asked)
            assert answer.status_code == 200
            result = answer.json()["result"]
            check_tells_nothing(json.dumps(result), tool["name"], named.get(parameter, ""))
            if parameter == "chunk_id":
                absent = asked | {"chunk_id": ABSENT}
                other = ask(acting, "tools/call", name=tool["name"], arguments=absent)
                same = other.text.replace(str(ABSENT), str(asked["chunk_id"]))
                assert result["isError"]
                assert answer.text == same
            tried += 1
        assert of_bob(database_url) == before, tool["name"]
    assert tried > len(tools)


def test_no_resource_or_prompt_shows_what_is_another_user_s(acting: Acting) -> None:
    listed = ask(acting, "resources/templates/list").json()["result"]["resourceTemplates"]
    assert {item["uriTemplate"] for item in listed} == READ_BY_ADDRESS
    assert ask(acting, "resources/list").json()["result"]["resources"] == []
    absent = {"chunk_id": ABSENT, "trace_id": NO_TRACE}
    for template in READ_BY_ADDRESS:
        own = ask(acting, "resources/read", uri=template.format(**acting.ada.values()))
        assert "ada" in own.json()["result"]["contents"][0]["text"]
        values = acting.bob.values()
        theirs = ask(acting, "resources/read", uri=template.format(**values))
        missing = ask(acting, "resources/read", uri=template.format(**absent))
        assert "error" in theirs.json()
        [name] = re.findall(r"{(\w+)}", template)
        assert theirs.text == missing.text.replace(str(absent[name]), str(values[name]))
    for prompt in ask(acting, "prompts/list").json()["result"]["prompts"]:
        assert {item["name"] for item in prompt.get("arguments") or ()} <= {"question"}
        given = {"question": "green tea"} if prompt.get("arguments") else {}
        answer = ask(acting, "prompts/get", name=prompt["name"], arguments=given)
        assert "result" in answer.json()
        check_tells_nothing(answer, prompt["name"])


# Keys themselves ---------------------------------------------------------------------------------


def test_a_key_ends_with_the_memory_of_its_user(served: Served) -> None:
    memory: Any = served.tenants.memory("acme")
    store(served, "ada", ADAS, "quartz")
    key = memory.access_keys.create(user_id="ada").text
    client = served.client(key=key)
    assert client.get("/v1/memories").status_code == 200
    assert memory.erase(user_id="ada").counts["access_keys"] == 1
    assert client.get("/v1/memories").status_code == 401
    assert memory.access_keys.list() == []


def test_what_is_asked_of_a_whole_key_stays_as_it_was(served: Served) -> None:
    client = served.client("acme")
    message = [{"role": "user", "content": "Tea."}]
    body = {"session_id": "s", "messages": message}
    nobody = client.post("/v1/memories", json=body)
    assert nobody.status_code == 422
    assert "user_id" in nobody.json()["detail"]
    assert client.post("/v1/memories", json=body | {"user_id": "ada"}).status_code == 201
    assert client.get("/v1/memories").status_code == 422
    assert client.get("/v1/memories", params={"all_users": True}).status_code == 200


def test_the_history_names_the_key_that_a_request_showed(acting: Acting) -> None:
    answer = ask(acting, "tools/call", name="remember", arguments={"text": "I drink tea."})
    assert not answer.json()["result"].get("isError"), answer.text
    key_id = acting.key.split("_")[2]
    listed = acting.page.get("/v1/memories", headers={"Authorization": f"Bearer {acting.key}"})
    [chunk_id] = [
        it["chunk_id"] for it in listed.json()["memories"] if "drink tea" in it["content"]
    ]
    headers = {"Authorization": f"Bearer {acting.key}"}
    acting.page.post(f"/v1/memories/{chunk_id}/promote", headers=headers, json={})
    history = acting.page.get(f"/v1/memories/{chunk_id}/history", headers=headers)
    assert {(it["kind"], it["actor"]) for it in history.json()["events"]} == {
        ("added", f"key:{key_id}"),
        ("promoted", f"key:{key_id}"),
    }
