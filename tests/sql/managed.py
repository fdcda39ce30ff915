"""Database on a managed server without superusers: its owner may create roles, but no more."""

import os
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

ROLES = ("memsense_owner", "memsense_app", "memsense_index")


def as_user(url: str, user: str) -> str:
    """Return the URL of the same database for another user."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))


@dataclass(frozen=True)
class Managed:
    """Database with the `url` of its owner, and the `support_url` of the provider's superuser."""

    url: str
    support_url: str
    owner: str


@contextmanager
def open_managed(server_url: str, name: str | None = None) -> Generator[Managed]:
    """Yield an empty database with its own owner; both are dropped at the end.

    Roles belong to the whole server, so they may exist already; a test of their creation needs its
    own server. Skips the test on a Citus cluster, whose nodes use no policies.
    """
    if "MEMSENSE_TEST_CITUS_URL" in os.environ:
        pytest.skip("of policies, which a Citus cluster does not use")
    owner = f"boss_{uuid.uuid4().hex[:8]}"
    name = name or f"memsense_{owner}"
    url = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    with psycopg.connect(server_url, autocommit=True) as connection:
        who, what = sql.Identifier(owner), sql.Identifier(name)
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER CREATEROLE").format(who))
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(what, who))
        try:
            with psycopg.connect(url, autocommit=True) as inside:
                inside.execute("CREATE EXTENSION vector")
            let_make_roles(connection, owner)
            yield Managed(as_user(url, owner), url, owner)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(what))
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(who))
            connection.execute(sql.SQL("DROP ROLE {}").format(who))


def let_make_roles(connection: psycopg.Connection, owner: str) -> None:
    """Grant existing roles to an owner, as if it had created them."""
    is_new = connection.info.server_version >= 160000
    option = sql.SQL("ADMIN TRUE, INHERIT FALSE, SET FALSE" if is_new else "ADMIN OPTION")
    for role in ROLES:
        given = {
            "role": sql.Identifier(role),
            "owner": sql.Identifier(owner),
            "option": option,
        }
        with suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            connection.execute(sql.SQL("CREATE ROLE {role}").format(**given))
        connection.execute(sql.SQL("GRANT {role} TO {owner} WITH {option}").format(**given))
