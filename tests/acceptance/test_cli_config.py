"""Settings on the command line: where each comes from, and what is never shown of them."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-W", "error", "-c", "from memsense.cli import main; main()"]
PASSWORD = "hunter2pw"
URL = f"postgresql://ada:{PASSWORD}@db.example:5433/memories"
PSQL = """#!/bin/sh
tr '\\0' '\\n' < /proc/$$/cmdline > "$RECORD/arguments"
env > "$RECORD/environment"
"""


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMSENSE_")}
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**kept, "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


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


def test_psql_gets_the_password_by_its_environment(tmp_path: Path) -> None:
    program = tmp_path / "psql"
    program.write_text(PSQL)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    path = f"{tmp_path}:{os.environ['PATH']}"
    url = f"{URL}?sslmode=require&application_name=me"
    done = run(
        "db", "psql", "-c", "SELECT 1", PATH=path, RECORD=str(tmp_path), MEMSENSE_DATABASE_URL=url
    )
    assert (done.returncode, done.stderr) == (0, "")
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert PASSWORD not in "".join(arguments)
    assert arguments[-2:] == ["-c", "SELECT 1"]
    for part in ("user=ada", "host=db.example", "port=5433", "dbname=memories", "sslmode=require"):
        assert part in arguments[-3].split()
    environment = (tmp_path / "environment").read_text().splitlines()
    assert f"PGPASSWORD={PASSWORD}" in environment


@pytest.mark.parametrize("command", ["stop", "start"])
@pytest.mark.parametrize("url", [URL, ""])
def test_a_database_of_ones_own_is_neither_started_nor_stopped(
    command: str, url: str, tmp_path: Path
) -> None:
    done = run("db", command, "--database-url", url, MEMSENSE_DATA_DIR=str(tmp_path / "data"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"memsense: --database-url: 'memsense db {command}' is for the")
    assert "leave the option out" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_data_directory_is_an_error_and_not_this_directory(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["search", "--all-users", "hi"], ["db", "stop"], ["config", "show"]):
        done = run(*command, MEMSENSE_DATA_DIR=empty)
        told = "memsense: MEMSENSE_DATA_DIR: it is empty; name a directory, or unset it\n"
        assert (done.returncode, done.stderr) == (2, told)
    assert list(tmp_path.iterdir()) == []


def test_the_demo_starts_no_server_where_one_is_given(database_url: str) -> None:
    done = run("demo", "--database-url", database_url)
    assert done.returncode == 0
    assert "Starting PostgreSQL" not in done.stderr


@pytest.mark.parametrize("scheme", ["postgres", "postgresql+psycopg", "postgresql+asyncpg"])
def test_every_scheme_of_postgresql_is_understood(scheme: str, database_url: str) -> None:
    url = database_url.replace("postgresql", scheme, 1)
    assert run("init", MEMSENSE_DATABASE_URL=url).returncode == 0
    assert run("recent", "--all-users", MEMSENSE_DATABASE_URL=url).returncode == 0
    assert run("doctor", MEMSENSE_DATABASE_URL=url).returncode == 0
    assert run("db", "url", MEMSENSE_DATABASE_URL=url).stdout == f"{database_url}\n"
