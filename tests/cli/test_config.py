"""Settings on the command line: where each comes from, and what is never shown of them."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import command
import pytest

PASSWORD = "hunter2pw"
URL = f"postgresql://ada:{PASSWORD}@db.example:5433/memories"


def run(*arguments: str, **environment: str) -> CompletedProcess[str]:
    return command.run(None, *arguments, env=environment)


def shown(*arguments: str, **environment: str) -> dict[str, dict[str, Any]]:
    done = run("config", "show", "--json", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return {item.pop("name"): item for item in json.loads(done.stdout)}


def test_each_setting_is_shown_with_its_value_and_its_origin() -> None:
    found = shown("--tenant", "acme", MEMSENSE_NAMESPACE="work", memsense_pool_timeout="2.5")
    assert found["tenant"] == {"value": "acme", "origin": "option", "source": "--tenant"}
    assert found["namespace"] == {
        "value": "work",
        "origin": "environment",
        "source": "MEMSENSE_NAMESPACE",
    }
    assert found["pool_timeout"] == {
        "value": 2.5,
        "origin": "environment",
        "source": "memsense_pool_timeout",
    }
    assert found["embedder"] == {"value": "onnx", "origin": "default", "source": None}
    printed = run("config", "show", "--tenant", "acme", MEMSENSE_NAMESPACE="work").stdout
    lines = [line.split() for line in printed.splitlines()]
    assert ["tenant", "acme", "--tenant"] in lines
    assert ["namespace", "work", "MEMSENSE_NAMESPACE"] in lines
    assert ["embedder", "onnx", "default"] in lines


def test_an_option_wins_over_the_environment_and_is_said_to() -> None:
    found = shown("--tenant", "acme", MEMSENSE_TENANT="umbrella")
    assert found["tenant"] == {"value": "acme", "origin": "option", "source": "--tenant"}


def test_no_secret_is_shown_with_the_settings() -> None:
    secrets = {
        "MEMSENSE_DATABASE_URL": URL,
        "MEMSENSE_EMBEDDING_API_KEY": PASSWORD,
        "MEMSENSE_TAGGER_API_KEY": PASSWORD,
        "MEMSENSE_RERANKER_API_KEY": PASSWORD,
        "MEMSENSE_TAGGER_URL": f"https://ada:{PASSWORD}@llm.example/v1",
    }
    found = shown(**secrets)
    assert found["database_url"]["value"] == "postgresql://ada:***@db.example:5433/memories"
    assert found["tagger_url"]["value"] == "https://***@llm.example/v1"
    assert found["embedding_api_key"]["value"] == "***"
    assert PASSWORD not in run("config", "show", **secrets).stdout
    mistyped = run("config", "show", MEMSENSE_DATABASE_URL=f"postgres//ada:{PASSWORD}@db")
    assert PASSWORD not in mistyped.stdout + mistyped.stderr


@pytest.mark.parametrize("verb", ["stop", "start"])
@pytest.mark.parametrize("url", [URL, ""])
def test_a_database_of_ones_own_is_neither_started_nor_stopped(
    verb: str, url: str, tmp_path: Path
) -> None:
    done = run("db", verb, "--database-url", url, MEMSENSE_DATA_DIR=str(tmp_path / "data"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"memsense: --database-url: 'memsense db {verb}' is for the")
    assert "leave the option out" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_data_directory_is_an_error_and_not_this_directory(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (["search", "--all-users", "hi"], ["db", "stop"], ["config", "show"]):
        done = run(*arguments, MEMSENSE_DATA_DIR=empty)
        told = "memsense: MEMSENSE_DATA_DIR: it is empty; name a directory, or unset it\n"
        assert (done.returncode, done.stderr) == (2, told)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["postgres", "postgresql+psycopg", "postgresql+asyncpg"])
def test_every_scheme_of_postgresql_is_understood(scheme: str, database_url: str) -> None:
    url = database_url.replace("postgresql", scheme, 1)
    assert run("init", MEMSENSE_DATABASE_URL=url).returncode == 0
    assert run("recent", "--all-users", MEMSENSE_DATABASE_URL=url).returncode == 0
    assert run("doctor", MEMSENSE_DATABASE_URL=url).returncode == 0
    assert run("db", "url", MEMSENSE_DATABASE_URL=url).stdout == f"{database_url}\n"
