"""Access keys: shown once, stored as hashes, looked up without a tenant."""

from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from hmac import compare_digest
from typing import Self

import psycopg
import pytest
from embedders import HashingEmbedder
from wire import counting_wire

from memsense import MemSense, load_settings
from memsense.client.tenants import Tenants
from memsense.errors import InvalidInputError, NotFoundError
from memsense.store import access
from memsense.store.access import KNOWN_SECONDS, KnownKeys, ShownKey

OpenMemory = Callable[..., MemSense]


@pytest.fixture
def tenants(database_url: str) -> Generator[Tenants]:
    settings = load_settings(database_url=database_url, pool_max_size=2)
    with Tenants.open(settings, embedder=HashingEmbedder()) as found:
        yield found


def test_a_key_opens_its_tenant_and_is_stored_as_a_hash(
    tenants: Tenants, database_url: str
) -> None:
    made = tenants.memory("acme").access_keys.create(["write", "read"], name="chat")
    found = tenants.verify(made.text)
    assert found is not None
    assert (found.tenant, found.scopes, found.name) == ("acme", ["read", "write"], "chat")
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT k::text FROM memsense.access_keys AS k").fetchall()
    assert made.text.rpartition("_")[2] not in str(rows)
    assert made.text not in repr(tenants.memory("acme").access_keys.list())


def test_a_key_of_one_tenant_finds_nothing_as_another_s(tenants: Tenants) -> None:
    one = tenants.memory("a").access_keys.create().text
    other = tenants.memory("b").access_keys.create().text
    prefix, number, key_id, *secret = one.split("_", 3)
    assert number != other.split("_")[1]
    assert tenants.verify("_".join([prefix, other.split("_")[1], key_id, *secret])) is None
    assert tenants.verify("_".join([*other.split("_", 3)[:3], *secret])) is None
    assert tenants.verify(one[:-1] + ("A" if one[-1] != "A" else "B")) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ms_",
        "ms_1_2_3",
        "x" * 100_000,
        "ms_1_0123456789ab_" + "é" * 43,
        "ms_1_0123456789ab_" + "a" * 43 + "\n",
        *(f"ms_{number}_0123456789ab_{'a' * 43}" for number in ("0", "1", 2**32, 10**10, "\u0661")),
    ],
)
def test_an_invalid_key_opens_nothing(tenants: Tenants, text: str) -> None:
    assert tenants.verify(text) is None


def test_a_revoked_or_expired_key_opens_nothing(tenants: Tenants, database_url: str) -> None:
    keys = tenants.own.access_keys
    kept, revoked = keys.create(name="kept"), keys.create(name="revoked")
    expiring = keys.create(name="expiring", expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert tenants.verify(expiring.text)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE memsense.access_keys SET expires_at = now() - interval '1 s'"
            " WHERE expires_at IS NOT NULL"
        )
    keys.revoke(revoked.key.key_id)
    assert tenants.verify(kept.text)
    assert tenants.verify(revoked.text) is None
    assert tenants.verify(expiring.text) is None
    assert [key.name for key in keys.list()] == ["kept", "revoked", "expiring"]


def test_a_checked_key_is_known_for_a_second_unless_it_expires_or_is_revoked_here(
    tenants: Tenants,
) -> None:
    now = 100.0
    known = KnownKeys(clock=lambda: now)
    made = tenants.own.access_keys.create()
    shown = ShownKey.read(made.text)
    assert shown is not None
    known.put(made.key)
    assert known.find(shown) == made.key
    now += KNOWN_SECONDS
    assert known.find(shown) is None
    known.put(made.key)
    known.drop(made.key)
    assert known.find(shown) is None
    known.put(replace(made.key, expires_at=made.key.read_at - timedelta(seconds=1)))
    assert known.find(shown) is None
    assert tenants.verify(made.text)
    assert tenants.find_known(made.text) is not None
    tenants.own.access_keys.revoke(made.key.key_id)
    assert tenants.find_known(made.text) is None


def test_a_key_expires_by_the_servers_clock_and_not_by_that_of_the_process(
    tenants: Tenants, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tenants.own.access_keys.create(expires_at=datetime.now(UTC) + timedelta(hours=1))
    soon = tenants.own.access_keys.create(expires_at=datetime.now(UTC) + timedelta(hours=1))

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2001 if is_slow else 2999, 1, 1, tzinfo=tz)

    monkeypatch.setattr(access, "datetime", Wrong)
    is_slow = False
    assert tenants.verify(made.text) is not None
    assert tenants.find_known(made.text) is not None
    is_slow = True
    assert tenants.verify(soon.text) is not None
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE memsense.access_keys SET expires_at = now() WHERE key_id = %s",
            [soon.key.key_id],
        )
    assert tenants.verify(soon.text) is None


def test_a_known_key_expires_within_the_second_for_which_it_is_known(tenants: Tenants) -> None:
    now = 100.0
    known = KnownKeys(clock=lambda: now)
    made = tenants.own.access_keys.create()
    shown = ShownKey.read(made.text)
    assert shown is not None
    known.put(replace(made.key, expires_at=made.key.read_at + timedelta(seconds=0.5)))
    now += 0.4
    assert known.find(shown) is not None
    now += 0.2
    assert known.find(shown) is None


def test_a_keys_last_use_is_recorded_once_a_minute(tenants: Tenants, database_url: str) -> None:
    keys = tenants.own.access_keys
    made = keys.create()
    assert made.key.last_used_at is None
    tenants.verify(made.text)
    [first] = keys.list()
    assert first.last_used_at is not None
    tenants.verify(made.text)
    assert keys.list() == [first]
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE memsense.access_keys SET last_used_at = last_used_at - interval '2 minutes'"
        )
    tenants.verify(made.text)
    [second] = keys.list()
    assert second.last_used_at is not None
    assert second.last_used_at >= first.last_used_at


def test_a_wrong_secret_costs_what_an_unknown_key_does(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return compare_digest(one, other)

    monkeypatch.setattr("memsense.store.access.compare_digest", compare)
    with counting_wire(database_url) as (wired_url, wire):
        settings = load_settings(database_url=wired_url, pool_max_size=1)
        with Tenants.open(settings, embedder=HashingEmbedder()) as tenants:
            made = tenants.own.access_keys.create().text
            known = made[:-43] + "A" * 43
            unknown = f"{'_'.join(made.split('_')[:2])}_{'0' * 12}_{'A' * 43}"
            costs: list[dict[str, int]] = []
            for text in (known, unknown, known, unknown):
                before = wire.counts
                assert tenants.verify(text) is None
                costs.append(wire.counts.since(before))
    sent = [{**cost, "bytes_received": 0} for cost in costs]  # the one key's row is read
    assert sent[2] == sent[3]
    assert compared == [(32, 32)] * 4


def test_no_other_tenant_revokes_or_lists_a_key(open_memory: OpenMemory) -> None:
    made = open_memory(tenant="a").access_keys.create()
    other = open_memory(tenant="b").access_keys
    assert other.list() == []
    with pytest.raises(NotFoundError, match="no key"):
        other.revoke(made.key.key_id)
    other.create()
    with pytest.raises(NotFoundError, match="no key"):
        other.revoke(made.key.key_id)
    assert len(other.list()) == 1


def test_impossible_keys_are_refused(memory: MemSense) -> None:
    with pytest.raises(InvalidInputError, match="scopes"):
        memory.access_keys.create([])
    with pytest.raises(InvalidInputError, match="scopes"):
        memory.access_keys.create(["all"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInputError, match="has passed"):
        memory.access_keys.create(expires_at="2020-01-01")


def test_memories_of_many_tenants_share_the_pool_and_the_model(tenants: Tenants) -> None:
    for name in ("a", "b", "c", "d"):
        said = [{"role": "user", "content": f"I am {name} and drink tea."}]
        tenants.memory(name).add(said, user_id="ada", session_id="one")
    for name in ("a", "b", "c", "d"):
        [hit] = tenants.memory(name).search("tea", user_id="ada")
        assert hit.chunk.user_text == f"I am {name} and drink tea."
    assert tenants.pool_sizes()["open"] <= 2
    assert tenants.memory("a").embedder is not tenants.memory("b").embedder


def test_a_key_of_one_user_s_says_whose_it_is(tenants: Tenants) -> None:
    keys = tenants.memory("acme").access_keys
    made = keys.create(["forget", "read"], user_id="ada")
    found = tenants.verify(made.text)
    assert found is not None
    assert (found.user_id, found.scopes) == ("ada", ["read", "forget"])
    whole = tenants.verify(keys.create().text)
    assert whole is not None
    assert whole.user_id is None
    assert [key.as_dict()["user_id"] for key in keys.list()] == ["ada", None]


def test_a_key_of_one_user_s_never_has_the_scope_admin(memory: MemSense, database_url: str) -> None:
    with pytest.raises(
        InvalidInputError, match=r"of one user's \('ada'\) can't have the scope admin"
    ):
        memory.access_keys.create(["read", "admin"], user_id="ada")
    with pytest.raises(InvalidInputError, match="user_id"):
        memory.access_keys.create(user_id=" ")
    assert memory.access_keys.list() == []
    memory.access_keys.create(["admin"])
    with psycopg.connect(database_url) as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute("UPDATE memsense.access_keys SET user_id = 'ada'")


def test_an_erased_user_s_keys_go_with_the_last_memory_of_that_user(
    open_memory: OpenMemory,
) -> None:
    one, other = open_memory(namespace="one"), open_memory(namespace="other")
    said = [{"role": "user", "content": "I drink tea."}]
    for memory in (one, other):
        memory.add(said, user_id="ada", session_id="s")
        memory.add(said, user_id="bob", session_id="s")
    for user_id in ("ada", "bob", None):
        one.access_keys.create(user_id=user_id)
    assert "access_keys" not in one.erase(user_id="ada").counts
    assert len(one.access_keys.list()) == 3
    assert other.erase(user_id="ada").counts["access_keys"] == 1
    assert [key.user_id for key in one.access_keys.list()] == ["bob", None]
    one.access_keys.create(user_id="carl")
    assert one.erase(user_id="carl").counts == {"access_keys": 1}
