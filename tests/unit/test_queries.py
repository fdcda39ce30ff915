"""Reading the SQL texts: named statements, and lines chosen by markers."""

import pytest

from memsense.errors import ConfigurationError
from memsense.queries import (
    SQL_ROOT,
    load_views,
    query,
    recall_query,
    recall_text,
    select_lines,
    statement_names,
)

MARKED = """\
always
only a --: a
a and b --: a b
--: begin c
in c
in c with a --: a
--: end c
last"""


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        ("", "always|last"),
        ("a", "always|only a|last"),
        ("ab", "always|only a|a and b|last"),
        ("c", "always|in c|last"),
        ("ac", "always|only a|in c|in c with a|last"),
    ],
)
def test_lines_are_kept_whose_every_marker_is_a_flag(flags: str, kept: str) -> None:
    assert select_lines(MARKED, frozenset(flags)) == kept.replace("|", "\n")


@pytest.mark.parametrize(
    "text",
    ["--: begin a\nx", "x\n--: end a", "--: begin a\n--: begin b\n--: end a\n--: end b"],
)
def test_a_block_that_is_not_closed_in_order_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="block"):
        select_lines(text, frozenset("ab"))


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


def test_a_promoted_scope_stands_in_the_text_as_a_number() -> None:
    text = recall_query(frozenset({"ann", "bm25f"}), 17, 384).as_string()
    assert "scope_id = 17" in text
    assert "halfvec(384)" in text
    assert "{" not in text.replace("'{", "")


def test_the_filters_lines_come_with_their_flags_only() -> None:
    plain = recall_text(frozenset({"exact", "bm25f", "one_user"}))
    assert "%(session_ids)s" not in plain
    filtered = recall_text(frozenset({"exact", "bm25f", "one_user", "filtered", "by_session"}))
    assert "c.session_id = ANY" in filtered
    assert "c.agent_id =" not in filtered


def test_the_views_are_all_created_in_the_memsense_schema() -> None:
    assert load_views().count("CREATE VIEW memsense.") == load_views().count("CREATE VIEW ")
    assert (SQL_ROOT / "views.sql").is_file()
