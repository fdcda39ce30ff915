"""The upgrade page and `db upgrade` say what to run, by the marks in the changelog."""

import json

import pytest
from command import run

from memsense.cli.db import list_next
from memsense.db import migrate
from tools import upgrades

STEPS = upgrades.read_steps()
COMMANDS = sorted({command for step in STEPS for command in step.commands})


def test_the_page_and_the_commands_are_those_of_the_changelog() -> None:
    for path, text in upgrades.make_files().items():
        assert path.read_text(encoding="utf-8") == text, "make generate"


def test_each_mark_says_something() -> None:
    changelog = (upgrades.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    text = " ".join(changelog.split())
    assert sum(bool(step.commands) for step in STEPS) == text.count(" Run: ") > 0
    assert sum(bool(step.callers) for step in STEPS) == text.count(" Callers: ") > 0
    # What a store needs depends on its revision.
    assert all(step.revision for step in STEPS if step.commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_exists(command: str) -> None:
    done = run(None, *command.split()[1:], "--help")
    assert done.returncode == 0, done.stderr


def test_an_upgrade_says_what_to_run_next(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url, "0041")
    expected = list_next("0041")
    assert expected == ["memsense db link --again"]
    done = run(empty_database_url, "db", "upgrade")
    assert f"run next, for each namespace: {', '.join(expected)}\n" in done.stdout
    again = run(empty_database_url, "db", "upgrade", "--json")
    assert json.loads(again.stdout)["run_next"] == []


def test_a_new_store_needs_nothing() -> None:
    assert list_next(None) == []
    assert list_next(migrate.head_revision()) == []
    older = list_next("0030")
    assert len(older) == len(set(older)) > 1
