"""`memsense tenant usage`: the calls and bytes of a tenant, as a table, as JSON, and pruned."""

import json

import pytest
from command import run

METERED = {"MEMSENSE_METERING": "1"}


@pytest.fixture
def used_url(database_url: str) -> str:
    """Return the URL of a store that two counted commands have used."""
    for arguments in (("add", "I like tea", "-u", "ada"), ("search", "tea", "-u", "ada")):
        done = run(database_url, *arguments, env=METERED)
        assert done.returncode == 0, done.stderr
    return database_url


def test_usage_is_shown_by_user_with_a_total(used_url: str) -> None:
    done = run(used_url, "tenant", "usage", "default")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0] == ["user", "calls", "failures", "mean", "ms", "exchanges", "chunks", "bytes"]
    assert lines[-2][:3] == ["ada", "2", "0"]
    assert lines[-2][4:6] == ["1", "1"]
    assert lines[-1][:3] == ["all", "2", "0"]


def test_usage_as_json_has_the_columns_of_its_rows(used_url: str) -> None:
    by_user = json.loads(run(used_url, "tenant", "usage", "default", "--json").stdout)
    assert (by_user["tenant"], by_user["by"]) == ("default", "user")
    [ada] = by_user["rows"]
    assert set(ada) == {"name", "calls", "failures", "mean_ms", "exchanges", "chunks", "bytes"}
    assert ada["bytes"] > 0
    by_verb = json.loads(
        run(used_url, "tenant", "usage", "default", "--by", "verb", "--json").stdout
    )
    assert [(it["name"], it["calls"]) for it in by_verb["rows"]] == [("add", 1), ("search", 1)]
    assert set(by_verb["total"]) == {"calls", "failures", "mean_ms"}
    assert "bytes" not in by_verb["rows"][0]


def test_old_sums_are_deleted_by_prune(used_url: str) -> None:
    kept = run(used_url, "tenant", "usage", "default", "--prune", "1")
    assert kept.stdout.startswith("tenant 'default': 0 sums of calls before")
    pruned = json.loads(
        run(used_url, "tenant", "usage", "default", "--prune", "0", "--json").stdout
    )
    assert (pruned["tenant"], pruned["deleted"]) == ("default", 2)
    left = json.loads(run(used_url, "tenant", "usage", "default", "--json").stdout)
    assert left["total"] == {"calls": 0, "failures": 0, "mean_ms": None}


def test_an_unknown_tenant_has_no_usage(used_url: str) -> None:
    done = run(used_url, "tenant", "usage", "nobody")
    assert done.returncode == 1
    assert "no tenant 'nobody'" in done.stderr
