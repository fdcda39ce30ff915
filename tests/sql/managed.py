"""A database on a server that gives nobody a superuser: its owner may make roles, and no more."""

import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

ROLES = ("memsense_owner", "memsense_app", "memsense_index")


def as_user(url: str, user: str) -> str:
    """The same database, for who logs in as that user."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))


@dataclass(frozen=True)
class Managed:
    """`url` is the owner's; `support_url` a superuser's, as the provider's support has."""

    url: str
    support_url: str
    owner: str


@contextmanager
def open_managed(server_url: str, name: str | None = None) -> Generator[Managed]:
    """An empty database of an owner of its own, both dropped at the end.

    The roles are the cluster's, and may be made: their making is told by a cluster of its own.
    """
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
    """Let an owner take the roles that others have made, as if it had made them."""
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
