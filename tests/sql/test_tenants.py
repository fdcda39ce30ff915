"""An operator lists, suspends, drops, copies and moves whole tenants."""

import random
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import psycopg
import pytest
from embedders import HashingEmbedder
from psycopg import sql
from test_row_security import as_app, fill

from memsense import MemSense, acting_as
from memsense.db import migrate, tenants
from memsense.errors import (
    ConfigurationError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    TenantSuspendedError,
)


def open_tenant(url: str, tenant: str) -> MemSense:
    return MemSense.open(url, embedder=HashingEmbedder(), tenant=tenant)


def answer(url: str, tenant: str) -> list[tuple[Any, ...]]:
    """Return hits with their scores, the history of the first, settings and keys of a tenant."""
    with open_tenant(url, tenant) as memory:
        hits = memory.search("green tea in Lisbon", user_id="ada", trace=True)
        history = memory.history(hits[0].chunk_id)
        return [
            *((hit.content, round(hit.score, 9)) for hit in hits),
            *((event.kind, event.actor, event.recorded_at) for event in history),
            *((it.profile.name, it.origin) for it in memory.profiles.list()),
            *((key.key_id, key.scopes) for key in memory.access_keys.list()),
            *((it.name, it.session_ids) for it in memory.projects.list()),
        ]


@pytest.fixture
def two(database_url: str) -> str:
    for tenant in ("acme", "other"):
        fill(database_url, tenant)
        with open_tenant(database_url, tenant) as memory:
            memory.access_keys.create(["read"], name="reader")
    return database_url


@pytest.fixture
def elsewhere(empty_database_url: str) -> str:
    """Return another database, whose numbers of tenants, models and chunks are in use already."""
    migrate.upgrade(empty_database_url)
    with MemSense.open(
        empty_database_url, embedder=HashingEmbedder(32, "another"), tenant="there"
    ) as memory:
        memory.add([{"role": "user", "content": "There."}], user_id="ada", session_id="s")
    return empty_database_url


@pytest.mark.one_server("its nodes use no policies")
def test_a_user_whom_the_policies_hold_is_refused_and_sees_no_empty_list(two: str) -> None:
    migrate.make_roles(two)
    refused = "'memsense_app' sees one tenant at a time"
    with pytest.raises(ConfigurationError, match=refused):
        tenants.list_tenants(as_app(two))
    with pytest.raises(ConfigurationError, match=refused):
        tenants.suspend_tenant(as_app(two), "acme")


def test_tenants_are_listed_and_measured(two: str) -> None:
    assert [it.name for it in tenants.list_tenants(two)] == ["acme", "other"]
    tenant = tenants.find_tenant(two, "acme")
    assert (tenant.users, tenant.namespaces, tenant.suspended_at) == (1, 1, None)
    size = tenants.measure_tenant(two, "acme")
    with psycopg.connect(two) as conn:
        row = conn.execute(
            "SELECT count(*), count(*) FILTER (WHERE status = 'active') FROM memsense.chunks"
            " WHERE tenant_id = %s",
            [tenant.tenant_id],
        ).fetchone()
    assert (size.rows["chunks"], tenant.chunks) == row
    assert size.bytes["chunks"] > 0
    with pytest.raises(NotFoundError, match="no tenant 'nobody'"):
        tenants.find_tenant(two, "nobody")


def test_a_suspended_tenant_is_refused_and_another_one_is_not(
    two: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memsense.db.session.TENANT_SECONDS", 0.0)
    with open_tenant(two, "acme") as memory:
        assert memory.search("tea", user_id="ada")
        tenants.suspend_tenant(two, "acme")
        with pytest.raises(TenantSuspendedError, match="memsense tenant resume"):
            memory.search("tea", user_id="ada")
        with pytest.raises(TenantSuspendedError):
            memory.add([{"role": "user", "content": "Tea."}], user_id="ada", session_id="s")
        assert answer(two, "other")
        tenants.suspend_tenant(two, "acme", resume=True)
        assert memory.search("tea", user_id="ada")


def test_dropping_leaves_nothing_of_a_tenant_and_everything_of_another(two: str) -> None:
    before, tenant = answer(two, "other"), tenants.find_tenant(two, "acme")
    with pytest.raises(ConflictError, match="suspend it first"):
        tenants.drop_tenant(two, "acme")
    tenants.suspend_tenant(two, "acme")
    rows = tenants.measure_tenant(two, "acme").rows
    with acting_as("cli:operator"):
        receipt = tenants.drop_tenant(two, "acme")
    assert (receipt.rows, receipt.by) == (rows, "cli:operator")
    with psycopg.connect(two) as conn:
        for table in rows:
            found = conn.execute(
                sql.SQL("SELECT count(*) FROM memsense.{} WHERE tenant_id = %s").format(
                    sql.Identifier(table)
                ),
                [tenant.tenant_id],
            ).fetchone()
            assert found == (0,), table
    assert answer(two, "other") == before


def test_a_restored_tenant_answers_as_before_and_goes_on_writing(
    two: str, elsewhere: str, tmp_path: Path
) -> None:
    archive, before = tmp_path / "acme.memsense", answer(two, "acme")
    tenants.back_up_tenant(two, "acme", archive)
    with pytest.raises(ConflictError, match="already"):
        tenants.restore_tenant(two, archive)
    receipt = tenants.restore_tenant(elsewhere, archive)
    tenants.restore_tenant(two, archive, "again")
    for url, name in ((elsewhere, "acme"), (two, "again")):
        restored = answer(url, name)
        assert restored == before
        assert receipt.rows["chunks"] > 0
        with open_tenant(url, name) as memory:
            said = [{"role": "user", "content": "Something new about cats."}]
            [chunk] = memory.add(said, user_id="ada", session_id="new", mode="hybrid")
            assert memory.search("cats", user_id="ada")[0].chunk_id == chunk.chunk_id
            memory.erase(user_id="ada")


def test_a_moved_tenant_is_there_and_no_longer_here(
    two: str, elsewhere: str, tmp_path: Path
) -> None:
    before, other = answer(two, "acme"), answer(two, "other")
    tenants.move_tenant(two, "acme", elsewhere, tmp_path / "acme.memsense")
    assert answer(elsewhere, "acme") == before
    assert [it.name for it in tenants.list_tenants(two)] == ["other"]
    assert answer(two, "other") == other


def test_a_damaged_archive_stores_nothing(two: str, elsewhere: str, tmp_path: Path) -> None:
    whole, damaged = tmp_path / "whole", tmp_path / "damaged"
    before = answer(two, "acme")
    tenants.back_up_tenant(two, "acme", whole)
    with ZipFile(whole) as source, ZipFile(damaged, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, b"" if name == "events.copy" else data)
    for path in (damaged, tmp_path / "missing"):
        with pytest.raises(InvalidInputError, match="damaged|can't be read"):
            tenants.restore_tenant(elsewhere, path)
    tmp_path.joinpath("text").write_text("no archive")
    with pytest.raises(InvalidInputError, match="can't be read"):
        tenants.restore_tenant(elsewhere, tmp_path / "text")
    original, draw = whole.read_bytes(), random.Random(7)
    for number in range(20):
        place = draw.randrange(len(original))
        flipped = bytes([*original[:place], original[place] ^ 0xFF, *original[place + 1 :]])
        damaged.write_bytes(flipped)
        # A bit that says nothing of a member's content may be any.
        with suppress(InvalidInputError):
            tenants.restore_tenant(elsewhere, damaged, f"copy {number}")
            assert answer(elsewhere, f"copy {number}") == before
            tenants.suspend_tenant(elsewhere, f"copy {number}")
            tenants.drop_tenant(elsewhere, f"copy {number}")
    assert [it.name for it in tenants.list_tenants(elsewhere)] == ["there"]


def test_an_archive_appears_when_it_is_complete(two: str, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        tenants.back_up_tenant(two, "nobody", tmp_path / "nobody")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidInputError, match="can't be written: No such file or directory"):
        tenants.back_up_tenant(two, "acme", tmp_path / "missing" / "acme")
    tenants.back_up_tenant(two, "acme", tmp_path / "acme")
    assert [it.name for it in tmp_path.iterdir()] == ["acme"]
    with pytest.raises(ConflictError, match="exists already"):
        tenants.back_up_tenant(two, "acme", tmp_path / "acme")
