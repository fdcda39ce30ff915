"""Requests are counted by the tenant and user of their key."""

from embedders import HashingEmbedder
from fastapi.testclient import TestClient

from memsense import load_settings
from memsense.client.tenants import Tenants
from memsense.db import usage
from memsense.server.app import create_app
from memsense.server.options import ServerOptions

SAID = {"session_id": "s", "messages": [{"role": "user", "content": "I moved to Lisbon."}]}


def test_requests_count_for_the_tenant_and_the_user_of_their_key(database_url: str) -> None:
    settings = load_settings(database_url=database_url, metering=True)
    with Tenants.open(settings, embedder=HashingEmbedder()) as tenants:
        app = create_app(tenants, ServerOptions(needs_key=True))
        for tenant in ("acme", "other"):
            keys = tenants.memory(tenant).access_keys
            whole, own = keys.create(["read", "write"]), keys.create(["read"], user_id="ada")
            client = TestClient(app, headers={"Authorization": f"Bearer {whole.text}"})
            added = client.post("/v1/memories", json={**SAID, "user_id": "ada"})
            assert added.status_code == 201, added.text
            client = TestClient(app, headers={"Authorization": f"Bearer {own.text}"})
            for _ in range(2 if tenant == "acme" else 1):
                found = client.post("/v1/search", json={"query": "Lisbon"})
                assert found.status_code == 200, found.text
    for tenant, searches in (("acme", 2), ("other", 1)):
        by_verb = usage.measure_usage(database_url, tenant, by="verb").rows
        assert {it.name: it.calls for it in by_verb} == {"add": 1, "search": searches}
        [ada] = usage.measure_usage(database_url, tenant).rows
        assert (ada.name, ada.calls, ada.exchanges) == ("ada", 1 + searches, 1)
