"""Files of .github: the workflow of tests, forms of issues, updates of dependencies."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from memsense.cli import app

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
FORMS = sorted(path.name for path in GITHUB.glob("ISSUE_TEMPLATE/*.yml") if path.stem != "config")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def parse(name: str) -> Any:
    return yaml.safe_load(read(name))


WORKFLOW = parse(".github/workflows/test.yml")
JOBS = WORKFLOW["jobs"]
NIGHTLY = {"whole", "timing", "coverage"}
TARGETS = {*re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE)}


def made_by(*jobs: str) -> set[str]:
    """Return the targets that the jobs make."""
    commands = [step.get("run", "") for job in jobs for step in JOBS[job]["steps"]]
    words = [word for command in commands if command[:5] == "make " for word in command.split()[1:]]
    return {word for word in words if not word.startswith("-")}


def test_the_workflow_of_tests_makes_targets_that_are_there() -> None:
    assert {"test-all", "test-timing", "docs"} <= made_by(*JOBS) <= TARGETS
    [whole] = [step["run"] for step in JOBS["whole"]["steps"] if "run" in step]
    [left_out] = re.findall(r"--old-file=(\S+)", whole)
    assert left_out in made_by("timing")


@pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="a source distribution has no .ci")
def test_each_push_makes_all_that_the_gate_makes() -> None:
    gate = set(re.findall(r"^timed make ([a-z-]+)", read(".ci/run"), re.MULTILINE))
    assert len(gate) > 3
    assert gate - {"setup-dev"} <= made_by(*JOBS.keys() - NIGHTLY)


def test_only_the_long_jobs_wait_for_the_night_or_a_person() -> None:
    # YAML reads the key `on` as true.
    assert WORKFLOW[True].keys() == {"push", "pull_request", "schedule", "workflow_dispatch"}
    assert {name for name, job in JOBS.items() if "if" in job} == NIGHTLY
    for name in NIGHTLY:
        events = set(re.findall(r"github\.event_name == '(\w+)'", JOBS[name]["if"]))
        assert events == {"schedule", "workflow_dispatch"}


def test_the_gate_runs_on_each_python_of_the_classifiers() -> None:
    classifiers = tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    versions = re.findall(r"Python :: (3\.\d+)$", "\n".join(classifiers), re.MULTILINE)
    assert JOBS["gate"]["strategy"]["matrix"]["python"] == versions
    used = {step["with"]["python-version"] for job in JOBS.values() for step in job["steps"][1:2]}
    assert used - {"${{ matrix.python }}"} <= {*versions}


def test_a_job_may_only_read_and_has_an_end() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "secrets." not in read(".github/workflows/test.yml")
    assert WORKFLOW["concurrency"]["cancel-in-progress"] is True
    assert "github.ref" in WORKFLOW["concurrency"]["group"]
    for job in JOBS.values():
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 360
        assert job["steps"][0]["with"]["persist-credentials"] is False
        setting = job["steps"][1]["with"]
        assert setting["cache"] == "pip"
        assert setting["cache-dependency-path"].split() == ["pyproject.toml", "constraints.txt"]


def test_both_workflows_use_the_same_versions_of_actions() -> None:
    texts = [path.read_text(encoding="utf-8") for path in GITHUB.glob("workflows/*.yml")]
    assert len(texts) == 2
    used = set(re.findall(r"uses: (\S+)@(\S+)", "\n".join(texts)))
    assert len({name for name, _ in used}) == len(used)
    assert all(re.fullmatch(r"v\d+|release/v\d+", version) for _, version in used)


def test_a_server_that_the_tests_are_given_is_a_service_of_its_version() -> None:
    [run] = [step for step in JOBS["whole"]["steps"] if "run" in step]
    urls = {name: url for name, url in run["env"].items() if name.startswith("MEMSENSE_")}
    assert urls.keys() == {"MEMSENSE_TEST_PG15_URL", "MEMSENSE_TEST_PG16_URL"}
    for name, url in urls.items():
        [version] = re.findall(r"\d+", name)
        assert f"PG{version}" in read("Makefile")
        service = JOBS["whole"]["services"][f"pg{version}"]
        assert service["image"] == f"pgvector/pgvector:pg{version}"
        [port] = re.findall(r"localhost:(\d+)/", url)
        assert service["ports"] == [f"{port}:5432"]


@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_an_issue_has_named_fields_of_known_types(name: str) -> None:
    form = parse(f".github/ISSUE_TEMPLATE/{name}")
    assert form.keys() == {"name", "description", "labels", "body"}
    fields = [item for item in form["body"] if item["type"] != "markdown"]
    assert {item["type"] for item in fields} <= {"input", "textarea", "dropdown"}
    assert len({item["id"] for item in fields}) == len(fields)
    assert len({item["attributes"]["label"] for item in fields}) == len(fields)
    assert any(item.get("validations", {}).get("required") for item in fields)
    for item in fields:
        assert bool(item["attributes"].get("options")) is (item["type"] == "dropdown")
        # A rendered field takes no files.
        attaches = "Attach" in item["attributes"].get("description", "")
        assert not (attaches and "render" in item["attributes"])


def test_forms_and_config_are_all_there_and_a_log_is_asked_for_without_private_content() -> None:
    assert FORMS == ["bug.yml", "format.yml", "question.yml"]
    assert parse(".github/ISSUE_TEMPLATE/config.yml") == {"blank_issues_enabled": False}
    assert "no private content" in read(".github/ISSUE_TEMPLATE/format.yml")
    assert "CHANGELOG.md" in read(".github/PULL_REQUEST_TEMPLATE.md")


def test_templates_name_files_targets_and_commands_that_are_there() -> None:
    paths = [path for path in GITHUB.rglob("*") if path.suffix in {".yml", ".md"}]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    files = re.findall(r"(?<![\w/.])((?:docs/[\w/-]+|[A-Z]+)\.md)", text)
    assert {"SECURITY.md", "CHANGELOG.md", "docs/guides/mappings.md"} <= {*files}
    assert [name for name in files if not (ROOT / name).is_file()] == []
    assert {*re.findall(r"`make ([a-z-]+)`", text)} <= TARGETS
    root: Any = typer.main.get_command(app.root)
    commands = [shlex.split(command) for command in re.findall(r"`memsense ([^`]+)`", text)]
    assert ["ingest", "FILE", "--audit"] in commands
    for name, *words in commands:
        command = root.get_command(None, name) if name in app.COMMANDS else root
        options = {option for param in command.params for option in param.opts}
        named = {word for word in (name, *words) if word.startswith("-")}
        assert name in app.COMMANDS or name in named
        assert named <= options


def test_updates_are_looked_for_wherever_versions_are_pinned() -> None:
    updates = parse(".github/dependabot.yml")["updates"]
    folders = {
        item["package-ecosystem"]: item.get("directories") or [item["directory"]]
        for item in updates
    }
    assert folders.keys() == {"pip", "github-actions", "npm"}
    packages = sorted((ROOT / "tests" / "npm").glob("*/package.json"))
    assert packages
    assert folders["npm"] == [f"/{path.parent.relative_to(ROOT).as_posix()}" for path in packages]
