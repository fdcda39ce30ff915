"""Files of a release: the version, the changelog, pinned versions, the workflow, the image."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from memsense.cli.app import COMMANDS
from memsense.server.gate import FREE_PATHS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_newest_of_the_changelog_or_the_one_in_work() -> None:
    headings = re.findall(r"^## (\S+)(?: - (\S+))?$", read("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    released, day = headings[1]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    version = Version(PROJECT["version"])
    assert version == Version(released) or (version.is_devrelease and version > Version(released))


def test_a_released_version_keeps_its_schema() -> None:
    schemas: dict[str, str] = json.loads(read("tests/data/released.json"))
    headings = re.findall(r"^## (\d\S+) - ", read("CHANGELOG.md"), re.MULTILINE)
    assert sorted(schemas) == sorted(headings)
    revisions = [path.name[:4] for path in (ROOT / "alembic" / "versions").glob("*.py")]
    assert set(schemas.values()) <= set(revisions)
    if PROJECT["version"] in schemas:
        assert schemas[PROJECT["version"]] == max(revisions)


def test_every_dependency_is_pinned_at_a_version_that_its_bound_allows() -> None:
    lines = [line for line in read("constraints.txt").splitlines() if not line.startswith("#")]
    pins = {name: Version(version) for name, version in (line.split("==") for line in lines)}
    assert list(pins) == sorted(pins)
    for text in PROJECT["dependencies"]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), text


def test_a_release_is_published_by_its_tag_without_a_password() -> None:
    workflow: Any = yaml.safe_load(read(".github/workflows/publish.yml"))
    # YAML reads the key `on` as true.
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["permissions"]["id-token"] == "write"
    assert workflow["permissions"] == {"contents": "read"}
    assert "secrets." not in read(".github/workflows/publish.yml")
    targets = re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE)
    [made] = [step["run"] for step in build["steps"] if step.get("run", "").startswith("make ")]
    assert set(made.split()[1:]) <= set(targets)


def test_the_image_runs_the_server_without_rights_as_the_file_says() -> None:
    # Lines that end in a backslash go on.
    text = re.sub(r"\\\n\s*", "", read("Containerfile"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    steps = [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]
    last = dict(steps)
    first, other = (
        "FROM ARG LABEL WORKDIR COPY RUN USER ENV",
        "VOLUME EXPOSE HEALTHCHECK STOPSIGNAL",
    )
    known = {*first.split(), *other.split(), "ENTRYPOINT", "CMD"}
    assert {word for word, _ in steps} <= known
    assert [rest.split()[0] for word, rest in steps if word == "FROM"] == [
        "docker.io/library/python:3.13-slim"
    ] * 2
    assert int(last["USER"]) > 0
    assert json.loads(last["ENTRYPOINT"]) == [next(iter(PROJECT["scripts"]))]
    command = json.loads(last["CMD"])
    assert command[0] in COMMANDS
    assert command[command.index("--port") + 1] == last["EXPOSE"]
    health = json.loads(last["HEALTHCHECK"].partition("CMD ")[2])
    [path] = re.findall(rf"{last['EXPOSE']}(/[a-z/]+)", health[-1])
    assert path.startswith(FREE_PATHS)
    installs = [shlex.split(rest) for word, rest in steps if word == "RUN" and "pip" in rest]
    [extras] = [
        Requirement(f"memsense{word[1:]}").extras for word in installs[0] if word[:2] == ".["
    ]
    assert extras <= PROJECT["optional-dependencies"].keys()


def test_the_licences_of_bundled_data_are_in_the_distributions() -> None:
    # The words are memsense's own.
    bundled = {path.parent for path in (ROOT / "memsense" / "data").glob("*/*")}
    bundled -= {ROOT / "memsense" / "data" / "words"}
    named = {path.parent for name in PROJECT["license-files"] for path in ROOT.glob(name)}
    assert bundled <= named
