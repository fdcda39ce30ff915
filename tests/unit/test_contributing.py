"""CONTRIBUTING is current: layers, and places of filters, routes, terms, formats, checks, jobs."""

import inspect
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from memsense.client.job_kinds import KINDS
from memsense.client.memory import MemSense
from memsense.db.queries import SQL_ROOT, fill, reasons
from memsense.declaration import parameters_of
from memsense.doctor import contents, exchanges, indexes, objects, sizes
from memsense.doctor.checks import CHECKS
from memsense.evaluation.variants import PARTS
from memsense.explain.why_not import FILTER_REASONS
from memsense.ingest.mapping.format_map import BUILT_IN, list_format_files
from memsense.search.profiles import PROFILES, ROUTES, Profile
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.search.recall.statement import Shape, compose
from memsense.search.request import FILTER_NAMES

ROOT = Path(__file__).parents[2]


def read(path: str) -> str:
    """Return the text of a file of this repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def first_cells(table: str) -> list[str]:
    """Return what is in the first column of a table, without its heading."""
    return [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][2:]


def section(text: str, title: str) -> str:
    """Return the text under a heading, up to the next heading."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


CONTRIBUTING = read("CONTRIBUTING.md")


def test_the_layers_are_those_that_are_checked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [
        contract
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["name"] == "layers"
    ]
    [block] = re.findall(r"(?:^    .+\n)+", section(CONTRIBUTING, "Layers"), re.MULTILINE)
    written = [layer.strip() for layer in " ".join(block.split()).split("->")]
    assert written == contract["layers"]


def test_every_file_that_the_lists_name_exists() -> None:
    listed = section(CONTRIBUTING, "How to add ...")
    path = r"(?:memsense|sql|tests|docs|alembic)/[\w/]+"
    named = set(re.findall(rf"`({path}\.\w+)`", listed))
    assert len(named) > 40
    assert [name for name in named if not (ROOT / name).is_file()] == []
    folders = set(re.findall(rf"`({path})`", listed))
    assert "tests/sql" in folders
    assert [name for name in folders if not (ROOT / name).is_dir()] == []


@pytest.mark.parametrize("name", FILTER_NAMES)
def test_a_filter_is_a_condition_with_its_reason_and_a_parameter(name: str) -> None:
    condition = fill(name, "filters.sql")
    sent = set(re.findall(r"%\((\w+)\)s", condition)) - {"tenant_id"}
    assert sent
    if name == "metadata":  # conditions with operators arrive with their values
        assert sent == {"metadata", "metadata_path", "metadata_values"}
    elif name != "exclude":  # chunks and messages arrive apart
        assert sent == {name}
    assert reasons("filters.sql")[name] == FILTER_REASONS[name]
    declared = parameters_of(MemSense.search)[name]
    assert declared.text
    for verb in ("search_many", "why_not", "context"):
        if (verb, name) not in EXCEPTIONS:
            assert parameters_of(getattr(MemSense, verb))[name] == declared
    for verb in ("list", "sessions"):
        listed = parameters_of(getattr(MemSense, verb))
        assert (name in listed) == ((verb, name) not in EXCEPTIONS)
        assert listed.get(name, declared) == declared


PROMPT_HAS = "it names what a prompt has already; a list has no prompt"
EXCEPTIONS = {
    ("context", "project"): "the prompt's own project comes first, and others may follow",
    ("list", "exclude"): PROMPT_HAS,
    ("list", "exclude_sessions"): PROMPT_HAS,
    ("sessions", "exclude"): PROMPT_HAS,
    ("sessions", "exclude_sessions"): PROMPT_HAS,
    ("sessions", "session_ids"): "who knows the sessions lists what is in them",
    ("sessions", "metadata"): "a summary of a session has no metadata; `list` filters by it",
}
"""Verbs that take a filter otherwise than `search`, or not at all, each with the reason. Commands,
the HTTP API and MCP's tools are made from the verbs: they have no exceptions."""


@pytest.mark.parametrize("name", ROUTES)
def test_a_route_is_at_all_its_places(name: str) -> None:
    assert all(name in profile.weights for profile in PROFILES.values())
    steps = list(compose(Shape(optional=tuple(OPTIONAL_ROUTES))))
    [step] = [text for text in steps if text.startswith(f"{name} AS (")]
    for column in ("turns", "turn_scores", "sessions", "session_scores"):
        assert f"AS {column}" in step
    assert f"`{name}`" in section(read("docs/how/index.md"), "Routes: eight ranked lists")
    views = read("sql/views.sql")
    listed = re.search(r"CROSS JOIN unnest\(ARRAY\[(.*?)\]\) AS route", views, re.DOTALL)
    assert listed
    assert f"'{name}'" in listed[1]


OF_SESSIONS = {"rrf_weight", "second_turn_weight", "session_chunk_weight"}
WEIGHTS = [spec.name for spec in fields(Profile) if spec.name.endswith("_weight")]


@pytest.mark.parametrize("weight", [name for name in WEIGHTS if name not in OF_SESSIONS])
def test_a_terms_weight_is_at_all_its_places(weight: str) -> None:
    assert f"profile.{weight}" in "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "memsense/search").rglob("*.py")
    )
    assert re.search(rf"^ *{weight}: ", inspect.getdoc(Profile) or "", re.MULTILINE)
    assert any(weight in changes for changes in PARTS.values())
    table = section(read("docs/how/terms.md"), "Terms")
    assert weight.removesuffix("_weight") in first_cells(table) or f"`{weight}`" in table


def test_the_reference_names_every_part_that_can_be_left_out() -> None:
    told = re.search(r"\nParts are (.*?)\n\n", read("docs/reference/gold-format.md"), re.DOTALL)
    assert told
    assert set(re.findall(r"`(\w+)`", told[1])) == PARTS.keys() - set(ROUTES)


def test_the_reference_lists_every_format_that_is_a_file() -> None:
    text = section(read("docs/reference/formats.md"), "Formats that are files")
    listed = re.findall(r"^- `(\w+)`: ", text, re.MULTILINE)
    assert listed == sorted(dict(list_format_files(BUILT_IN)))


def test_each_check_is_declared_once() -> None:
    modules = (contents, exchanges, indexes, objects, sizes)
    written = {name for module in modules for name in vars(module) if name.startswith("examine_")}
    assert sorted(check.examine.__name__ for check in CHECKS) == sorted(written)
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_each_kind_of_job_has_its_line() -> None:
    text = read("memsense/store/jobs.py")
    named = re.findall(r'^[A-Z]+ = "(\w+)"\n"""The kind of job', text, re.MULTILINE)
    assert sorted(named) == sorted(KINDS)


def test_the_header_of_recall_describes_its_parameters() -> None:
    text = (SQL_ROOT / "recall.sql").read_text(encoding="utf-8")
    head, parts = text.split("-- name:", 1)
    told = set(re.findall(r"\w+", head))
    used = set(re.findall(r"%\((\w+)\)s", parts))
    assert {name for name in used if not name.startswith(("weight_", "ef_search_"))} <= told
