"""Statements are run by name, and rows are returned in the requested form."""

import functools
import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from memsense.db.queries import number_parameters
from memsense.db.rows import (
    Named,
    execute,
    execute_numbered,
    fetch_all,
    fetch_numbered,
    fetch_one,
    fetch_value,
    fetch_values,
    find_one,
    find_value,
)
from memsense.db.wire import as_number_array, as_text_array, as_texts_of_arrays
from memsense.errors import DatabaseError
from memsense.inputs import DEEPEST_JSON

NUMBERS = SQL("SELECT n, n * n AS square FROM generate_series(1, %(last)s) AS n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    n: int
    square: int


@pytest.fixture
def connection(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as opened:
        yield opened


def test_rows_are_tuples_or_of_a_class_or_by_name(connection: psycopg.Connection[Any]) -> None:
    values = {"last": 2}
    assert fetch_all(connection, NUMBERS, values) == [(1, 1), (2, 4)]
    assert fetch_all(connection, NUMBERS, values, of=Square)[1] == Square(n=2, square=4)
    assert fetch_all(connection, NUMBERS, values, of=Named)[1] == {"n": 2, "square": 4}
    assert fetch_values(connection, NUMBERS, values) == [1, 2]


def test_one_row_that_may_be_missing_is_found_or_none(connection: psycopg.Connection[Any]) -> None:
    assert find_one(connection, NUMBERS, {"last": 1}, of=Square) == Square(n=1, square=1)
    assert find_one(connection, NUMBERS, {"last": 0}) is None
    assert find_value(connection, "find_tenant", {"name": "nobody"}) is None


def test_one_row_that_must_be_there_is_fetched_or_refused(
    connection: psycopg.Connection[Any],
) -> None:
    assert fetch_one(connection, NUMBERS, {"last": 1}) == (1, 1)
    assert fetch_value(connection, NUMBERS, {"last": 1}) == 1
    with pytest.raises(DatabaseError, match="find_tenant returned 0 rows instead of one"):
        fetch_value(connection, "find_tenant", {"name": "nobody"})
    with pytest.raises(DatabaseError, match="returned 2 rows instead of one"):
        fetch_one(connection, NUMBERS, {"last": 2})


def test_an_executed_statement_returns_how_many_rows_it_wrote(
    connection: psycopg.Connection[Any],
) -> None:
    assert execute(connection, "ensure_tenant", {"name": "acme"}) == 1
    assert execute(connection, "ensure_tenant", {"name": "acme"}) == 0


def test_a_numbered_statement_takes_and_gives_numpy_arrays(
    connection: psycopg.Connection[Any],
) -> None:
    given = np.array([3, 1, 2])
    ((same, mapped, empty),) = fetch_numbered(
        connection,
        number_parameters("""SELECT %(given)s, '{"a": [1]}'::jsonb, '[]'::jsonb"""),
        {"given": given},
    )
    assert same.dtype == np.int64
    assert same.tolist() == [3, 1, 2]
    assert (mapped, empty) == ({"a": [1]}, [])
    made = number_parameters("INSERT INTO memsense.tenants (name) VALUES (%(name)s)")
    assert execute_numbered(connection, made, {"name": "acme"}) == 1


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5, None, True], "b": {"c": "d"}},
        [0.1, 5e-324, 1.7976931348623157e308, 123456789.123456789, -0.3333333333333333],
        [2**64, -(10**400)],
        'Łódź \U0001f600 "said" \\ \n\u2028',
        functools.reduce(lambda inner, _: [inner], range(DEEPEST_JSON), "deep"),
        None,
    ],
)
def test_jsonb_is_read_as_python_reads_it(
    connection: psycopg.Connection[Any], value: object
) -> None:
    statement = number_parameters("SELECT %(value)s::jsonb, %(value)s::jsonb::text")
    ((read, text),) = fetch_numbered(connection, statement, {"value": Jsonb(value)})
    assert repr(read) == repr(json.loads(text))


def test_arrays_as_texts_are_read_back_as_they_were(connection: psycopg.Connection[Any]) -> None:
    texts = ["", "a b", 'said "no"', "back\\slash", "{1,2}", "NULL", "Łódź\n", "it's, so"]
    for given in (texts, []):
        values = {"texts": as_text_array(given)}
        assert fetch_value(connection, SQL("SELECT %(texts)s::text[]"), values) == given
    numbers = {"numbers": as_number_array([3, -1, 2**40])}
    assert fetch_value(connection, SQL("SELECT %(numbers)s::bigint[]"), numbers) == [3, -1, 2**40]
    lists = {"lists": as_texts_of_arrays([[1, 2], [], [3]])}
    each = SQL("SELECT one::bigint[] FROM unnest(%(lists)s::text[]) AS one")
    assert fetch_values(connection, each, lists) == [[1, 2], [], [3]]
