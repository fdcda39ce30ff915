"""What spans and metrics are called, beside the conventions as their own package has them."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("opentelemetry.semconv", reason="needs opentelemetry-semantic-conventions")

from opentelemetry.semconv.attributes.db_attributes import DbSystemNameValues

from memsense import telemetry

PLACES = (
    "opentelemetry.semconv",
    "opentelemetry.semconv._incubating.attributes",
    "opentelemetry.semconv._incubating.metrics",
)
"""Where the package has what is stable, and what is not yet."""

PACKAGE = Path(telemetry.__file__).parent
NAME = re.compile(r'"((?:gen_ai|db|error|memsense)\.[a-z_.]*[a-z_])"')

PROPOSED = {
    "gen_ai.memory.store.id",
    "gen_ai.memory.record.count",
    "gen_ai.memory.query.text",
    "gen_ai.memory.records",
}
"""Names of a proposal (semantic-conventions-genai, pull request 140): no release has them yet."""

OWN = "memsense."
NO_NAMES = {"error.html"}


def published() -> Iterator[str]:
    """Every name that the installed package knows: of attributes and of metrics."""
    for place in PLACES:
        paths = importlib.import_module(place).__path__
        for module in pkgutil.walk_packages(paths, f"{place}."):
            if module.name.endswith(("attributes", "metrics")):
                values = vars(importlib.import_module(module.name)).values()
                yield from (value for value in values if isinstance(value, str))


def told() -> set[str]:
    """Every name in the package's source."""
    found = {name for file in PACKAGE.rglob("*.py") for name in NAME.findall(file.read_text())}
    return {name for name in found - NO_NAMES if not name.startswith(OWN)}


def test_every_name_is_one_of_the_conventions_or_proposed_for_them() -> None:
    known = set(published())
    assert {"db.system.name", "db.client.operation.duration", "gen_ai.request.model"} <= known
    names = told()
    assert len(names) > 8
    assert names - known == PROPOSED


def test_the_database_is_named_as_the_conventions_name_it() -> None:
    assert telemetry.DATABASE["db.system.name"] == DbSystemNameValues.POSTGRESQL.value
