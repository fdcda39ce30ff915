"""A server without pgvector: the error says what to install."""

import psycopg
import pytest

from memsense.db.connection import check_server
from memsense.errors import ServerTooOldError


def test_the_package_of_debian_is_that_of_the_servers_version(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        # A view in front of PostgreSQL's own, for this session alone.
        connection.execute(
            "CREATE TEMPORARY VIEW pg_available_extensions AS"
            " SELECT * FROM pg_catalog.pg_available_extensions WHERE name <> 'vector'"
        )
        connection.execute("SET search_path = pg_temp, pg_catalog")
        package = f"postgresql-{connection.info.server_version // 10000}-pgvector"
        with pytest.raises(ServerTooOldError, match=f"no pgvector: .* package {package}, "):
            check_server(connection)
        connection.rollback()
