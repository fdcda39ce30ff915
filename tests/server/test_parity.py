"""HTTP has what Python has: the table of docs/reference/http.md is complete and current."""

from pathlib import Path

from memsense.server import parity

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "http.md"
BEGIN, END = "<!-- routes: begin -->\n", "\n<!-- routes: end -->"


def test_every_public_method_has_a_route_or_a_reason() -> None:
    methods = set(parity.list_methods())
    routes = parity.list_routes().keys()
    assert len(methods) > 90
    assert methods - routes == parity.WITHOUT_ROUTE.keys()
    assert routes <= methods


def test_the_table_of_the_docs_is_current() -> None:
    text = DOCS.read_text(encoding="utf-8")
    shown = text.partition(BEGIN)[2].partition(END)[0]
    assert shown == parity.render_table(), "run: python -m memsense.server.parity"
