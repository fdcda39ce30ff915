"""`memsense jobs` and `memsense worker`: output, JSON fields, exit codes, signals."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from memsense.cli.app import hoist_global_options, root

LOG = [
    {
        "session_id": "s",
        "id": f"{role} {number}",
        "role": role,
        "content": f"{role} says tea {number}",
    }
    for number in range(3)
    for role in ("user", "assistant")
]


def run(url: str, *arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(root, hoist_global_options(["--database-url", url, *arguments]))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def run_json(url: str, *arguments: str, code: int = 0) -> Any:
    return json.loads(run(url, *arguments, "--json", code=code))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, LOG)))
    return path


def test_what_is_left_for_later_is_listed_done_retried_and_dropped(
    database_url: str, log: Path
) -> None:
    assert "0 waiting" in run(database_url, "jobs", "list")
    report = run_json(database_url, "ingest", str(log), "--user", "ada", "--embed", "later")
    assert (report["stored"], report["deferred"]) == (3, 3)
    assert report["deferred_because"] == "vectors are made later"
    listed = run(database_url, "jobs", "list")
    assert "3 waiting, 0 running, 0 dead" in listed
    jobs = run_json(database_url, "jobs", "list")
    assert {(job["kind"], job["status"], job["user_id"]) for job in jobs} == {
        ("embed", "waiting", "ada")
    }
    ids = [str(job["job_id"]) for job in jobs]
    assert "1 job is due now" in run(database_url, "jobs", "retry", ids[0])
    assert run_json(database_url, "jobs", "drop", ids[0]) == {"jobs": [int(ids[0])]}
    done = run_json(database_url, "worker", "--once", "--limit", "1")
    assert done == {"done": 1, "failed": 0, "dead": 0, "stopped_by": None}
    assert "1 done, 0 failed" in run(database_url, "worker", "--once")
    assert "0 jobs are dropped" in run(database_url, "jobs", "drop", "--dead")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("jobs", "retry"), 2, "ids of jobs, or --dead"),
        (("jobs", "drop", "1", "--dead"), 2, "ids of jobs, or --dead"),
        (("jobs", "drop", "99"), 1, "no job 99"),
        (("worker", "--limit", "3"), 2, "--once"),
    ],
)
def test_wrong_use_is_told(
    database_url: str, arguments: tuple[str, ...], code: int, told: str
) -> None:
    assert told in run(database_url, *arguments, code=code)


def test_the_summary_of_an_ingest_says_what_waits(database_url: str, log: Path) -> None:
    told = run(database_url, "ingest", str(log), "--user", "ada", "--embed", "later")
    assert "3 stored without vectors" in " ".join(told.split())


def test_doctor_tells_dead_jobs_and_those_that_nobody_does(database_url: str, log: Path) -> None:
    run(database_url, "ingest", str(log), "--user", "ada", "--embed", "later")
    findings = [
        "UPDATE memsense.jobs SET run_at = now() - interval '1 hour'",
        "UPDATE memsense.jobs SET dead_at = now(), last_error = 'too odd a text'",
    ]
    told: list[str] = []
    doctor = ["--database-url", database_url, "doctor"]
    with psycopg.connect(database_url, autocommit=True) as connection:
        for statement in findings:
            connection.execute(statement.encode())
            told.append(CliRunner().invoke(root, [*doctor, "--json"]).output)
    assert "3 jobs of default/default wait for a worker" in told[0]
    assert "3 jobs of default/default are dead" in told[1]
    assert "too odd a text" in told[1]
