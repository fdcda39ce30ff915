"""Every filter of a search, and `as_of`, holds in every operation of the HTTP API that searches."""

from collections.abc import Generator, Mapping
from typing import Any

import pytest
from embedders import HashingEmbedder
from every_filter import CONTEXT, NAMES, QUERY, Known, assert_inside, fill
from fastapi.testclient import TestClient
from serving import Served

from memsense import load_settings
from memsense.client.tenants import Tenants
from memsense.server.app import create_app
from memsense.server.options import ServerOptions

BODIES: Mapping[str, Mapping[str, Any]] = {
    "/v1/search": {"query": QUERY},
    "/v1/search/many": {"queries": [QUERY, QUERY]},
    "/v1/context": {"prompt": QUERY, "explain": True, **CONTEXT},
    "/v1/traces": {"query": QUERY},
}


@pytest.fixture(scope="module")
def asked(module_database_url: str) -> Generator[tuple[TestClient, Known]]:
    settings = load_settings(database_url=module_database_url)
    with Tenants.open(settings, embedder=HashingEmbedder()) as tenants:
        known = fill(tenants.memory("acme"))
        options = ServerOptions(needs_key=True, rate=1e6, burst=1_000_000)
        yield Served(app=create_app(tenants, options), tenants=tenants).client(), known


@pytest.mark.parametrize("path", BODIES)
def test_without_a_filter_everything_is_shown(asked: tuple[TestClient, Known], path: str) -> None:
    answer = asked[0].post(path, json={**BODIES[path], "user_id": "ada"})
    assert answer.is_success, answer.text
    assert_inside(answer.text, set())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("path", BODIES)
def test_nothing_outside_of_a_filter_is_shown(
    asked: tuple[TestClient, Known], path: str, name: str
) -> None:
    client, known = asked
    value, outside = known.value(name)
    answer = client.post(path, json={**BODIES[path], "user_id": "ada", name: value})
    assert answer.is_success, answer.text
    assert_inside(answer.text, outside)


@pytest.mark.parametrize("name", NAMES)
def test_why_not_applies_the_filter(asked: tuple[TestClient, Known], name: str) -> None:
    client, known = asked
    value, outside = known.value(name)
    for word, chunk_id in known.chunks.items():
        body = {"query": QUERY, "chunk_id": chunk_id, "user_id": "ada", name: value}
        verdict = client.post("/v1/why-not", json=body).json()
        assert (verdict["step"] == "hit") == (word not in outside)
