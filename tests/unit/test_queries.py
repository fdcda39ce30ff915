"""SQL files: named statements, and parts with placeholders."""

import pytest

from memsense.db.queries import (
    SQL_ROOT,
    fill,
    load_views,
    number_parameters,
    query,
    statement_names,
)
from memsense.errors import ConfigurationError


def test_a_named_statement_is_found_without_its_name() -> None:
    text = query("find_tenant").as_string()
    assert text.startswith("SELECT tenant_id")
    assert "-- name" not in text


def test_an_unknown_statement_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="drop_everything"):
        query("drop_everything")


def test_every_statement_has_a_verb_and_a_noun_and_ends_in_a_semicolon() -> None:
    names = list(statement_names())
    assert len(names) > 20
    for name in names:
        assert "_" in name or name == "reactivate"
        assert query(name).as_string().endswith(";")


def test_a_hole_is_filled_and_its_further_lines_keep_the_indentation() -> None:
    holes = {"materialized": "MATERIALIZED", "in_scope": "true", "conditions": "one\nAND two"}
    text = fill("filtered", "recall.sql", **holes)
    assert text.startswith("filtered AS MATERIALIZED (\n")
    assert "\n      AND one\n      AND two\n" in text


def test_a_hole_that_nothing_fills_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no text for the hole conditions"):
        fill("filtered", "recall.sql", materialized="MATERIALIZED", in_scope="true")


def test_parameters_are_numbered_as_they_first_come() -> None:
    statement = number_parameters("a = %(x)s AND b LIKE '%%' AND c = %(y)s OR d = %(x)s")
    assert statement.text == b"a = $1 AND b LIKE '%' AND c = $2 OR d = $1"
    assert statement.arguments({"y": 2, "x": 1, "z": 3}) == [1, 2]


def test_the_views_are_all_created_in_the_memsense_schema() -> None:
    assert load_views().count("CREATE VIEW memsense.") == load_views().count("CREATE VIEW ")
    assert (SQL_ROOT / "views.sql").is_file()
