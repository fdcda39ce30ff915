"""Settings, profiles and projects on the command line: output, JSON fields, exit codes."""

import json
import uuid
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memsense import MemSense
from memsense.cli.app import hoist_global_options, root
from memsense.search.profiles import PROFILES, TUNABLE
from memsense.search.settings import NAMESPACE_DEFAULTS


class Place:
    """A namespace of one test's own, and the command line on it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.namespace = uuid.uuid4().hex

    def run(self, *arguments: str, code: int = 0) -> str:
        given = ["--database-url", self.url, "--namespace", self.namespace, *arguments]
        result: Result = CliRunner().invoke(root, hoist_global_options(given))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result.stdout if code == 0 else result.stderr

    def run_json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))

    def fill(self) -> None:
        with MemSense.open(self.url, namespace=self.namespace) as memory:
            for session, text in (("s1", "We paint the kitchen green."), ("s2", "Tea is green.")):
                message = {"role": "user", "content": text}
                memory.add([message], user_id="ada", session_id=session, mode="turn")


@pytest.fixture
def place(module_database_url: str) -> Place:
    return Place(module_database_url)


def test_settings_are_shown_set_and_reset(place: Place) -> None:
    assert "default" in place.run("settings", "show")
    shown = place.run(
        "settings", "set", "profile=vector_heavy", "lexical=1.5", "names_removed=no", "--by", "ada"
    )
    assert "vector_heavy" in shown
    assert "version 1 of the settings" in shown
    found = place.run_json("settings", "show")
    assert found["version"] == 1
    settings = {item["name"]: item for item in found["settings"]}
    assert settings.keys() == {"profile", *NAMESPACE_DEFAULTS, *TUNABLE}
    assert settings["lexical"].items() >= {"value": 1.5, "origin": "database"}.items()
    assert settings["lexical"]["changed_by"] == "ada"
    assert settings["lexical"]["changed_at"]
    assert settings["names_removed"]["value"] is False
    assert (
        settings["vec_full"].items()
        >= {"value": PROFILES["vector_heavy"].weights["vec_full"], "origin": "profile"}.items()
    )
    assert "mmr_lambda" not in place.run("settings", "show")
    assert "mmr_lambda" in place.run("settings", "show", "--all")
    assert "lexical" in place.run("settings", "reset", "lexical")
    left = place.run_json("settings", "reset", "--all")
    assert {item["origin"] for item in left["settings"]} == {"default", "profile"}


def test_the_history_lists_who_changed_what_the_latest_first(place: Place) -> None:
    assert "No setting was ever changed here." in place.run("settings", "history")
    place.run("settings", "set", "lexical=1.5", "--by", "ada")
    place.run("profile", "create", "mine", "--by", "bob")
    place.run("settings", "reset", "lexical", "--by", "cem")
    found = place.run_json("settings", "history")
    assert [
        (item["version"], item["kind"], item["name"], item["before"], item["changed_by"])
        for item in found
    ] == [
        (3, "setting", "lexical", 1.5, "cem"),
        (2, "profile", "mine", None, "bob"),
        (1, "setting", "lexical", None, "ada"),
    ]
    assert found[1]["after"]["name"] == "mine"
    shown = place.run("settings", "history", "-n", "2")
    assert "profile mine" in shown
    assert "ada" not in shown


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("settings", "set", "lexical=9"), 2, "between 0 and 5"),
        (
            ("settings", "set", "lexcal=1"),
            2,
            "no setting named lexcal; did you mean 'lexical'",
        ),
        (("settings", "set", "lexical"), 2, "is not NAME=VALUE"),
        (("settings", "set", "lexical=much"), 2, "lexical takes float"),
        (("settings", "set", "profile=best"), 2, "there are balanced"),
        (("settings", "set", "embedder_failure=maybe"), 2, "must be error or lexical"),
        (("settings", "set", "user_quota=-1"), 2, "must be a whole number of exchanges"),
        (("settings", "set", "on_quota=ignore"), 2, "must be refuse or archive"),
        (("settings", "set", "lexical=1", "--expected-version", "7"), 1, "at version 0, not 7"),
        (("settings", "reset"), 2, "--all"),
        (("settings", "reset", "--all", "lexical"), 2, "--all"),
        (("settings", "reset", "lexcal"), 2, "no setting named lexcal"),
        (("profile", "show", "best"), 1, "there are balanced"),
        (("profile", "create", "balanced"), 2, "memsense ships a profile named"),
        (("profile", "create", "mine", "--from", "best"), 2, "there are balanced"),
        (("profile", "create", "mine", "--set", "k1=99"), 2, "k1 must be between"),
        (("profile", "delete", "balanced"), 2, "is shipped"),
        (("profile", "delete", "best"), 1, "no profile named"),
        (("project", "create", ""), 2, "name is empty"),
        (("project", "create", "a\nb"), 2, "no name for a project"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    place: Place, arguments: tuple[str, ...], code: int, said: str
) -> None:
    assert said in " ".join(place.run(*arguments, code=code).split())
    assert place.run_json("settings", "history") == []


def test_an_add_beyond_the_quota_ends_with_code_2_and_names_the_remedy(place: Place) -> None:
    place.run("settings", "set", "user_quota=1", "on_quota=refuse")
    place.run("add", "I drink tea.", "--user", "quota", "--session", "one")
    said = place.run("add", "I drink coffee.", "--user", "quota", "--session", "two", code=2)
    assert "memsense settings set user_quota=N" in said
    place.run("settings", "reset", "user_quota", "on_quota")


def test_profiles_are_created_listed_used_and_deleted(place: Place) -> None:
    place.fill()
    made = place.run_json(
        "profile", "create", "mine", "--from", "memsense", "--set", "k1=2", "--without", "vec_user"
    )
    assert (made["name"], made["constants"]["k1"], made["constants"]["vec_user"]) == ("mine", 2, 0)
    assert place.run_json("profile", "show", "mine") == made
    assert place.run_json("search", "--all-users", "tea", "--profile", "mine")["profile"] == "mine"
    place.run("settings", "set", "profile=mine")
    found = place.run_json("profile", "list")
    assert [item["name"] for item in found] == [*PROFILES, "mine"]
    assert [item["name"] for item in found if item["in_use"]] == ["mine"]
    assert {item["origin"] for item in found} == {"shipped", "stored"}
    assert "k1=2" in place.run("profile", "list")
    assert place.run_json("search", "--all-users", "tea")["profile"] == "mine"
    assert "in use" in place.run("profile", "delete", "mine", code=2)
    place.run("settings", "set", "profile=balanced")
    assert "deleted" in place.run("profile", "delete", "mine")
    assert "there are balanced" in place.run(
        "search", "--all-users", "tea", "--profile", "mine", code=2
    )


def test_a_search_takes_settings_and_its_own_changes_on_top(place: Place) -> None:
    place.fill()
    place.run("settings", "set", "lexical=3")
    found = place.run_json(
        "search",
        "--all-users",
        "green tea",
        "--prompt-kind",
        "question",
        "--set",
        "rrf_k=60",
        "--without",
        "vec_user",
    )
    assert found["profile"] == "balanced (lexical=3) (rrf_k=60, vec_user=0.0)"
    weights = {
        item["route"]: item["weight"] for hit in found["hits"] for item in hit["explain"]["routes"]
    }
    assert weights["lexical"] == 3
    assert "vec_user" not in weights


def test_the_end_of_the_last_session_in_a_project_is_printed(place: Place) -> None:
    place.fill()
    place.run("project", "create", "kitchen", "s1")
    [chunk] = place.run_json("recent", "--all-users", "--session", "s1")
    own = ("left-off", "--user", chunk["user_id"], "--project")
    printed = place.run(*own, "kitchen")
    assert f"memory {chunk['chunk_id']}, user: {chunk['user_text']}" in printed
    assert place.run_json(*own, "kitchen")["chunk_ids"] == [chunk["chunk_id"]]
    assert place.run(*own, "garden").strip() == "Nothing is known of garden."
    assert place.run_json(*own, "garden")["text"] == ""


def test_projects_are_kept_and_searched_in(place: Place) -> None:
    place.fill()
    assert "No projects" in place.run("project", "list")
    assert "project kitchen has 1 session" in place.run("project", "create", "kitchen", "s1")
    found = place.run_json("search", "--all-users", "green", "--project", "kitchen")
    assert [hit["session_id"] for hit in found["hits"]] == ["s1"]
    added = place.run_json("project", "add", "kitchen", "s2", "s9")
    assert added["session_ids"] == ["s1", "s2", "s9"]
    assert place.run("project", "show", "kitchen").split() == ["s1", "s2", "s9"]
    assert place.run_json("project", "remove", "kitchen", "s1", "s9")["session_ids"] == ["s2"]
    assert [item["name"] for item in place.run_json("project", "list")] == ["kitchen"]
    assert "kitchen" in place.run("project", "list")
    outside = place.run_json("recent", "--all-users")[1]["chunk_id"]
    verdict = place.run_json(
        "why-not", "--all-users", "green", str(outside), "--project", "kitchen"
    )
    assert verdict["step"] == "scope"
    assert "is deleted" in place.run("project", "delete", "kitchen")
    assert "no project 'kitchen'" in place.run("project", "show", "kitchen", code=1)
    assert "no project 'kitchen'" in place.run(
        "search", "--all-users", "green", "--project", "kitchen", code=1
    )
