"""`memsense key`: output, JSON fields, exit codes."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from memsense.cli.app import hoist_global_options, root


def run(url: str, *arguments: str, code: int = 0) -> Any:
    arguments = ("--database-url", url, "--tenant", "acme", *arguments)
    result = CliRunner().invoke(root, hoist_global_options(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def test_a_key_is_made_shown_once_listed_and_revoked(database_url: str) -> None:
    assert "has no keys" in run(database_url, "key", "list").output
    made = run(database_url, "key", "create", "--scope", "read,write", "--expires", "90d")
    text = made.stdout.strip()
    assert text.startswith("ms_")
    assert "opens read, write until" in made.stderr
    [listed] = json.loads(run(database_url, "key", "list", "--json").output)
    assert (listed["tenant"], listed["scopes"]) == ("acme", ["read", "write"])
    assert text not in json.dumps(listed)
    key_id = text.split("_")[2]
    assert listed["key_id"] == key_id
    assert key_id in run(database_url, "key", "list").output
    run(database_url, "key", "revoke", key_id)
    [revoked] = json.loads(run(database_url, "key", "list", "--json").output)
    assert revoked["revoked_at"]


@pytest.mark.parametrize(
    "options",
    [
        ["--scope", "read", "--scope", "write"],
        ["--scope", "write, read"],
        ["--scope", "write,read", "--scope", "read"],
    ],
)
def test_scopes_are_repeated_or_separated_by_commas(database_url: str, options: list[str]) -> None:
    assert "opens read, write until" in run(database_url, "key", "create", *options).stderr


def test_wrong_use_is_told(database_url: str) -> None:
    told = run(database_url, "key", "create", "--scope", "all", code=2).output
    assert "scopes" in told
    assert "'all'" in told
    assert all(f"'{scope}'" in told for scope in ("read", "write", "forget", "admin"))
    assert "ISO 8601" in run(database_url, "key", "create", "--expires", "soon", code=2).output
    assert "no key" in run(database_url, "key", "revoke", "0123456789ab", code=1).output
    assert "key's id" in run(database_url, "key", "revoke", "ms_1_x_y", code=2).output


def test_a_key_of_one_user_s_is_made_and_listed_as_such(database_url: str) -> None:
    made = run(database_url, "key", "create", "--user", "ada", "--name", "hers")
    assert "opens read of user ada alone until it is revoked" in made.stderr
    run(database_url, "key", "create", "--name", "all")
    listed = json.loads(run(database_url, "key", "list", "--json").output)
    assert [key["user_id"] for key in listed] == ["ada", None]
    told = run(database_url, "key", "create", "--user", "ada", "--scope", "admin", code=2).output
    assert "can't have the scope admin" in " ".join(told.split())


@pytest.mark.parametrize("width", [40, 60, 200])
def test_the_list_says_whose_keys_they_are_at_any_width(
    database_url: str, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    run(database_url, "key", "create", "--user", "ada-of-the-green-tea-house", "--name", "hers")
    run(database_url, "key", "create", "--name", "all")
    monkeypatch.setenv("COLUMNS", str(width))
    told = run(database_url, "key", "list").output
    assert "ada-of-the-green-tea-house" in told
    assert told.count("everybody's") == 1
    assert max(map(len, told.splitlines())) <= width
