"""CONTRIBUTING is current: the layers, and all places of a filter, a route and a term."""

import inspect
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from memsense.client.memory import MemSense
from memsense.db.queries import SQL_ROOT, fill, reasons
from memsense.declaration import parameters_of
from memsense.evaluation.variants import PARTS
from memsense.explain.why_not import FILTER_REASONS
from memsense.search.profiles import PROFILES, ROUTES, Profile
from memsense.search.recall.statement import Shape, compose
from memsense.search.request import FILTER_NAMES

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """Return the text under a heading, up to the next heading."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


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
    named = set(re.findall(r"`((?:memsense|sql|tests|docs)/[\w/]+\.(?:py|sql|md))`", listed))
    assert len(named) > 12
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("name", FILTER_NAMES)
def test_a_filter_is_a_condition_with_its_reason_and_a_parameter(name: str) -> None:
    condition = fill(name, "filters.sql")
    sent = set(re.findall(r"%\((\w+)\)s", condition)) - {"tenant_id"}
    assert sent
    if name != "exclude":  # chunks and messages arrive apart
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
    steps = list(compose(Shape(optional=("graph",))))
    [step] = [text for text in steps if text.startswith(f"{name} AS (")]
    for column in ("turns", "turn_scores", "sessions", "session_scores"):
        assert f"AS {column}" in step
    assert f"`{name}`" in section(
        (ROOT / "docs/how/index.md").read_text(encoding="utf-8"), "Routes: eight ranked lists"
    )


OF_SESSIONS = {"rrf_weight", "second_turn_weight", "session_chunk_weight"}
WEIGHTS = [spec.name for spec in fields(Profile) if spec.name.endswith("_weight")]


@pytest.mark.parametrize("weight", [name for name in WEIGHTS if name not in OF_SESSIONS])
def test_a_terms_weight_is_at_all_its_places(weight: str) -> None:
    assert f"profile.{weight}" in "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "memsense/search").rglob("*.py")
    )
    assert re.search(rf"^ *{weight}: ", inspect.getdoc(Profile) or "", re.MULTILINE)
    term = weight.removesuffix("_weight")
    assert term in (ROOT / "docs/how/retrieval.md").read_text(encoding="utf-8")
    if weight in {"coverage_weight", "similarity_weight", "date_weight", "neighbour_weight"}:
        assert any(weight in changes for changes in PARTS.values())


def test_the_header_of_recall_describes_its_parameters() -> None:
    text = (SQL_ROOT / "recall.sql").read_text(encoding="utf-8")
    head, parts = text.split("-- name:", 1)
    told = set(re.findall(r"\w+", head))
    used = set(re.findall(r"%\((\w+)\)s", parts))
    assert {name for name in used if not name.startswith(("weight_", "ef_search_"))} <= told
