"""The manifest of the schema is current: a new database has its objects, on every kind of server.

`make manifest` writes it anew.
"""

import json
import os
import re
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest
from managed import open_managed
from servers import TestServer

from memsense.db import migrate
from memsense.doctor.objects import (
    ABSENT,
    MANIFEST,
    Objects,
    list_expected,
    list_objects,
    read_manifest,
)

KEY = "0123456789abcdef" * 2
BASE = "PostgreSQL 18"
HIDES_POLICIES = "its nodes use no policies"


@contextmanager
def sealed(server: TestServer, template: str) -> Generator[str]:
    with server.new_database(template) as url:
        migrate.seal(url, KEY)
        yield url


@contextmanager
def without_superuser(server: TestServer, _: str) -> Generator[str]:
    with open_managed(server.url) as managed:
        migrate.upgrade(managed.url)
        migrate.make_roles(managed.url)
        yield managed.url


@contextmanager
def plain(server: TestServer, template: str) -> Generator[str]:
    with server.new_database(template) as url:
        migrate.make_roles(url)
        yield url


@contextmanager
def untouched(server: TestServer, template: str) -> Generator[str]:
    # On a cluster it may be older than the roles, which give it nothing then.
    with server.new_database(template) as url:
        yield url


def write(layer: str, found: Objects) -> None:
    """Write the objects to the manifest: those of a new database, or how others differ from it."""
    layers = dict(read_manifest()) if MANIFEST.exists() else {}
    base: Objects = {} if layer == BASE else layers[BASE]
    layers[layer] = {
        key: found.get(key, ABSENT)
        for key in sorted(found.keys() | base.keys())
        if found.get(key) != base.get(key)
    }
    grouped: dict[str, dict[str, dict[str, list[str]]]] = {}
    for name in sorted(layers, key=lambda it: (it != BASE, it)):
        for (kind, item), definition in layers[name].items():
            kinds = grouped.setdefault(name, {}).setdefault(kind, {})
            kinds.setdefault(definition, []).append(item)
    # A line for each definition: all on one, a change would be hard to see.
    text = re.sub(r"\n {4,}(?=\")", " ", json.dumps(grouped, indent=1))
    text = re.sub(r"\n {3}\](,?)", r"]\1", text).replace(": [ ", ": [")
    MANIFEST.write_text(f"{text}\n", encoding="utf-8")
    read_manifest.cache_clear()


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(plain),
        pytest.param(untouched),
        pytest.param(sealed, marks=pytest.mark.one_server(HIDES_POLICIES)),
        pytest.param(without_superuser, marks=pytest.mark.one_server(HIDES_POLICIES)),
    ],
    ids=lambda place: place.__name__,
)
def test_a_new_database_has_the_objects_of_the_manifest(
    server: TestServer,
    template_database: str,
    place: Callable[[TestServer, str], AbstractContextManager[str]],
) -> None:
    with place(server, template_database) as url, psycopg.connect(url) as connection:
        major = connection.info.server_version // 10000
        found = list_objects(connection)
        connection.execute("SET search_path = memsense, public")
        assert list_objects(connection) == found
    if os.environ.get("MEMSENSE_REWRITE") and place != untouched:
        is_plain = place == plain and not server.is_cluster
        layer = "citus" if server.is_cluster else place.__name__
        write(f"PostgreSQL {major}" if is_plain else layer, found)
    expected = list_expected(found)
    assert {key: found.get(key) for key in found.keys() | expected.keys()} == expected
