"""What the server's tests share: a server with its tenants, and one exchange to store."""

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import FastAPI
from fastapi.testclient import TestClient

from memsense.client.tenants import Tenants
from memsense.store.access import SCOPES, KeyScope

SAID = [
    {"role": "user", "content": "I moved to Lisbon in March, and drink my tea green."},
    {"role": "assistant", "content": "Noted, Maria Silva."},
]


@dataclass(frozen=True, kw_only=True)
class Served:
    """A server and its tenants; `client` shows a key of a tenant, with these scopes."""

    app: FastAPI
    tenants: Tenants

    def key(self, tenant: str, *scopes: KeyScope) -> str:
        return self.tenants.memory(tenant).access_keys.create(scopes or SCOPES).text

    def client(self, tenant: str = "acme", *scopes: KeyScope, key: str | None = None) -> TestClient:
        shown = key or self.key(tenant, *scopes)
        headers = {"Authorization": f"Bearer {shown}"}
        return TestClient(self.app, headers=headers, raise_server_exceptions=False)


Serve = Callable[..., Served]


def add(
    client: TestClient, user_id: str = "ada", session_id: str = "monday", **given: object
) -> int:
    """Store one exchange; its id."""
    body = {"user_id": user_id, "session_id": session_id, "messages": SAID, **given}
    answer = client.post("/v1/memories", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["memories"][0]["chunk_id"]
