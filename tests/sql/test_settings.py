"""Settings and stored profiles: applied by every process's next search, never lost, recorded."""

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import numpy as np
import psycopg
import pytest
from embedders import BrokenEmbedder, HashingEmbedder, Vectors
from plans import explain_recall, walk
from psycopg.types.json import Jsonb
from test_searching import besides_texts, recorded_statements
from traced import fill

from memsense import MemSense, Profile
from memsense.actor import user_name
from memsense.config import Settings
from memsense.db import Pool
from memsense.doctor.checkup import check_up
from memsense.doctor.findings import Finding
from memsense.errors import ConfigurationError, ConflictError, InvalidInputError, NotFoundError
from memsense.search.profiles import BALANCED, PROFILES, ROUTES, VECTOR_ROUTES, read_profile
from memsense.search.recall.run import RecallRequest
from memsense.search.settings import REMOVED, SETTING_NAMES
from memsense.text.lexemes import ask_lexemes

OpenMemory = Callable[..., MemSense]

QUESTION = "apple and river tea"

# Changes a constant of its own and one that all change, ten times, in a process of its own.
CHANGER = """
import sys
from memsense import MemSense

url, name, constant = sys.argv[1:]
with MemSense.open(url) as memory:
    for number in range(1, 11):
        memory.settings.set(by=name, rrf_k=number, **{constant: number / 10})
"""


@pytest.fixture
def filled(memory: MemSense) -> MemSense:
    fill(memory, sessions=3)
    return memory


def in_use(memory: MemSense, **options: Any) -> Profile:
    """Return the profile of a search, all constants included."""
    result = memory.search(QUESTION, user_id="ada", trace=True, **options)
    assert result.hits
    assert result.trace_id is not None
    return read_profile(memory.traces.get(result.trace_id).profile)


def run_command(url: str, *arguments: str) -> str:
    """Run a command in a process of its own."""
    command = [sys.executable, "-W", "error", "-c", "from memsense.cli import main; main()"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMSENSE_")}
    done = subprocess.run(
        [*command, "--database-url", url, *arguments],
        capture_output=True,
        text=True,
        env=kept,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# In force


def test_a_change_in_one_process_takes_effect_in_anothers_next_search(
    filled: MemSense, database_url: str
) -> None:
    assert in_use(filled) == BALANCED
    run_command(database_url, "settings", "set", "profile=vector_heavy", "lexical=1.5")
    changed = in_use(filled)
    assert changed.name == "vector_heavy (lexical=1.5)"
    assert changed.override(name="vector_heavy", lexical=1.0) == PROFILES["vector_heavy"]
    run_command(database_url, "settings", "reset", "--all")
    assert in_use(filled) == BALANCED


def test_a_changed_weight_is_the_one_that_the_hits_are_scored_with(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    other = open_memory()
    filled.search(QUESTION, user_id="ada")
    other.settings.set(lexical=0.5, vec_full=0.0)
    for hit in filled.search(QUESTION, user_id="ada"):
        weights = {route.route: route.weight for route in hit.explain.routes}
        assert weights.get("lexical", 0.5) == 0.5
        assert "vec_full" not in weights


def test_a_change_takes_effect_in_a_search_of_all_users(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    filled.search(QUESTION, all_users=True)
    open_memory().settings.set(profile="lexical")
    assert filled.search(QUESTION, all_users=True).profile == "lexical"


def test_a_search_with_settings_is_two_statements_once_they_are_known(
    filled: MemSense, open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_memory()
    other.profiles.create("mine", base="semantic")
    other.settings.set(profile="mine", rrf_k=30)
    assert filled.search(QUESTION, user_id="ada").profile == "mine (rrf_k=30)"
    cases: list[dict[str, Any]] = [{}, {"profile": "mine"}, {"overrides": {"lexical": 1}}]
    for options in cases:
        with recorded_statements(monkeypatch) as statements:
            assert filled.search(QUESTION, user_id="ada", **options)
        assert len(besides_texts(statements)) == 2
        assert "vec_full AS" in statements[0]


def test_the_settings_come_with_the_namespace_and_cost_no_statement_of_their_own(
    filled: MemSense, open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.settings.set(profile="memsense")
    fresh = open_memory()
    with recorded_statements(monkeypatch) as statements:
        assert fresh.search(QUESTION, user_id="ada").profile == "memsense"
    names = ("find_tenant", "find_namespace", "find_scope", "recall", "hits")
    assert len(statements) == len(names)


def test_an_outdated_setting_costs_two_statements_once(
    filled: MemSense, open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.search(QUESTION, user_id="ada")
    open_memory().settings.set(lexical=1)
    with recorded_statements(monkeypatch) as statements:
        assert filled.search(QUESTION, user_id="ada").profile == "balanced (lexical=1)"
    assert len(besides_texts(statements, searches=2)) == 2 + 2
    with recorded_statements(monkeypatch) as statements:
        filled.search(QUESTION, user_id="ada")
    assert len(besides_texts(statements)) == 2


def test_a_setting_that_changes_no_ranking_does_not_search_again(
    filled: MemSense, open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.search(QUESTION, user_id="ada")
    open_memory().settings.set(embedder_failure="lexical")
    with recorded_statements(monkeypatch) as statements:
        filled.search(QUESTION, user_id="ada")
    assert sum("vec_full AS" in text for text in statements) == 1


def test_settings_belong_to_one_namespace_of_one_tenant(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    filled.settings.set(profile="lexical")
    filled.profiles.create("mine")
    for place in ({"namespace": "work"}, {"tenant": "other"}):
        other = open_memory(**place)
        fill(other, sessions=1)
        assert in_use(other) == BALANCED
        assert other.settings.show().version == 0
        assert other.settings.history() == []
        with pytest.raises(NotFoundError, match="no profile named 'mine'"):
            other.search(QUESTION, profile="mine", all_users=True)
    assert in_use(filled) == PROFILES["lexical"]


# Which profile counts


def test_the_profile_of_a_call_is_taken_as_it_is(filled: MemSense) -> None:
    filled.settings.set(profile="vector_heavy", rrf_k=60)
    assert in_use(filled, profile="balanced") == BALANCED
    own = BALANCED.override(name="own", mmr_lambda=1.0)
    assert in_use(filled, profile=own) == own


def test_the_profile_of_open_goes_before_the_setting(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    filled.settings.set(profile="vector_heavy", rrf_k=60)
    assert in_use(open_memory(profile="memsense")) == PROFILES["memsense"]
    filled.profiles.create("mine", mmr_lambda=0.5)
    assert in_use(open_memory(profile="mine")).mmr_lambda == 0.5
    with pytest.raises(NotFoundError, match="there are balanced, .*mine"):
        open_memory(profile="yours")


def test_the_setting_goes_before_the_environment(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    settings = Settings(database_url=database_url, profile="memsense")
    memory = open_memory(settings=settings)
    assert in_use(memory) == PROFILES["memsense"]
    filled.settings.set(lexical=3.0)
    changed = in_use(memory)
    assert (changed.weights["lexical"], changed.relevance) == (3.0, "raw")
    filled.settings.set(profile="semantic")
    assert in_use(memory).override(name="semantic", lexical=0.0) == PROFILES["semantic"]


def test_a_profile_of_the_environment_may_be_stored_but_not_unknown(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    memory = open_memory(settings=Settings(database_url=database_url, profile="best"))
    with pytest.raises(ConfigurationError, match="MEMSENSE_PROFILE: no profile named 'best'"):
        memory.search(QUESTION, user_id="ada")
    assert memory.search(QUESTION, user_id="ada", profile="memsense")
    filled.profiles.create("best", lexical=3)
    assert in_use(memory).weights["lexical"] == 3


def test_overrides_change_one_search_whatever_profile_it_has(filled: MemSense) -> None:
    filled.settings.set(lexical=3.0)
    changed = in_use(filled, overrides={"lexical": 1.25, "mmr_lambda": 1.0})
    assert (changed.weights["lexical"], changed.mmr_lambda) == (1.25, 1.0)
    assert changed.name == "balanced (lexical=3.0) (lexical=1.25, mmr_lambda=1.0)"
    named = in_use(filled, profile="memsense", overrides={"rrf_k": 60})
    assert named.override(name="memsense", rrf_k=15.0) == PROFILES["memsense"]
    assert in_use(filled).weights["lexical"] == 3.0


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"lexical": 5.1}, "weight of lexical must be between 0 and 5"),
        ({"lexical": True}, "weight of lexical"),
        (
            {"lexcal": 1},
            "no constant or route named lexcal; did you mean 'lexical'",
        ),
        ({"name": "x"}, "no constant or route named name"),
        ({"candidate_factor": 2.5}, "candidate_factor must be a whole number"),
        ({"names_removed": 1}, "names_removed must be true or false"),
        ({"quoted": "perhaps"}, "quoted must be off or should or must"),
    ],
)
def test_an_unusable_override_or_setting_is_refused_by_name(
    filled: MemSense, overrides: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        filled.search(QUESTION, overrides=overrides, all_users=True)
    with pytest.raises(ConfigurationError, match=said.replace("constant or route", "setting")):
        filled.settings.set(**overrides)
    assert filled.settings.show().version == 0


# Weights of zero


@pytest.fixture
def corpus(filled: MemSense, database_url: str) -> Generator[psycopg.Connection[Any]]:  # noqa: ARG001
    """Yield a connection set up as recall's are."""
    pool = Pool(database_url, min_size=1, max_size=1, timeout=10)
    with pool, pool.connection() as connection:
        yield connection


@pytest.mark.parametrize("route", ["vec_full", "vec_user", "facet_events"])
def test_a_route_whose_weight_is_set_to_zero_is_never_executed(
    filled: MemSense, corpus: psycopg.Connection[Any], route: str
) -> None:
    weights: dict[str, Any] = {route: 0}
    filled.settings.set(profile="memsense", **weights)
    request = RecallRequest(
        tenant_id=1,
        namespace="default",
        user_id="ada",
        granularities=("turn", "session"),
        model_id=1,
        query_vector=HashingEmbedder().embed_query(QUESTION),
        terms=ask_lexemes(QUESTION, "en", ()),
        profile=in_use(filled),
        top_k=8,
    )
    plan = explain_recall(corpus, request)
    found = {node.get("Alias") for node in walk(plan)} & {*VECTOR_ROUTES}
    assert route not in found
    assert found == {name for name in VECTOR_ROUTES if in_use(filled).weights[name]}


def test_a_question_is_not_embedded_when_every_vector_weight_is_zero(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    def fail(_: Vectors) -> Vectors:
        return np.full((1, 48), np.nan, dtype=np.float32)

    fill(memory, sessions=2)
    weights: dict[str, Any] = dict.fromkeys(VECTOR_ROUTES, 0)
    memory.settings.set(**weights)
    assert open_memory(embedder=BrokenEmbedder(fail)).search(QUESTION, user_id="ada")


# Changing


def test_a_namespace_can_be_tuned_before_anything_is_stored(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    memory.settings.set(profile="memsense")
    assert not memory.search(QUESTION, user_id="ada")
    other = open_memory(embedder=HashingEmbedder(dimension=32, model="other"))
    fill(other, sessions=1)
    assert in_use(other) == PROFILES["memsense"]
    with pytest.raises(Exception, match="holds vectors of other"):
        memory.search(QUESTION, user_id="ada")


def test_every_setting_is_listed_with_its_source(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    before = datetime.now().astimezone()
    filled.settings.set(by="ada", lexical=1.5, embedder_failure="lexical")
    found = filled.settings.show()
    assert found.version == 1
    assert {setting.name for setting in found.settings} >= {"profile", *ROUTES, "mmr_lambda"}
    assert (found["profile"].value, found["profile"].origin) == ("balanced", "default")
    assert (found["vec_full"].value, found["vec_full"].origin) == (
        BALANCED.weights["vec_full"],
        "profile",
    )
    lexical = found["lexical"]
    assert (lexical.value, lexical.origin, lexical.changed_by) == (1.5, "database", "ada")
    assert lexical.changed_at is not None
    assert lexical.changed_at >= before
    assert found["embedder_failure"].value == "lexical"
    by_environment = open_memory(settings=Settings(database_url=database_url, profile="semantic"))
    assert by_environment.settings.show()["profile"].origin == "environment"
    given = open_memory(profile="memsense").settings.show()
    assert (given["profile"].origin, given["lexical"].value) == ("argument", 1.0)
    assert given["embedder_failure"].origin == "database"


def test_a_reset_takes_back_what_was_set_by_name_or_all_of_it(filled: MemSense) -> None:
    filled.settings.set(profile="memsense", lexical=1.5, rrf_k=60, names_removed=False)
    assert filled.settings.reset("lexical", "mmr_lambda")["lexical"].origin == "profile"
    assert in_use(filled).weights["lexical"] == 1.0
    assert in_use(filled).rrf_k == 60
    found = filled.settings.reset()
    assert "database" not in {setting.origin for setting in found.settings}
    assert in_use(filled) == BALANCED
    with pytest.raises(ConfigurationError, match="no setting named lexcal"):
        filled.settings.reset("lexcal")


def test_the_history_records_who_changed_which_value(filled: MemSense) -> None:
    filled.settings.set(by="ada", lexical=1.5, rrf_k=60)
    filled.settings.set(lexical=0.5)
    filled.settings.set(by="bob", lexical=0.5)
    filled.settings.reset("lexical", by="bob")
    told = [
        (change.version, change.name, change.before, change.after, change.changed_by)
        for change in filled.settings.history()
    ]
    assert told == [
        (3, "lexical", 0.5, None, "bob"),
        (2, "lexical", 1.5, 0.5, user_name()),
        (1, "lexical", None, 1.5, "ada"),
        (1, "rrf_k", None, 60, "ada"),
    ]
    times = {change.version: change.changed_at for change in filled.settings.history()}
    assert times[1] < times[2] < times[3]
    assert len(filled.settings.history(limit=1)) == 1


def test_a_change_is_made_as_a_whole_or_not_at_all(filled: MemSense) -> None:
    with pytest.raises(ConfigurationError):
        filled.settings.set(lexical=1.5, rrf_k=-1)
    with pytest.raises(ConfigurationError, match="no profile named 'best'"):
        filled.settings.set(lexical=1.5, profile="best")
    assert filled.settings.history() == []
    assert in_use(filled) == BALANCED


def test_changes_of_several_processes_lose_none(filled: MemSense, database_url: str) -> None:
    constants = {"ada": "b", "bob": "mmr_lambda", "cem": "tag_redundancy"}
    changers = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", CHANGER, database_url, name, constant],
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, constant in constants.items()
    ]
    for changer in changers:
        assert changer.communicate(timeout=120)[1] == ""
    found = filled.settings.show()
    assert [found[constant].value for constant in constants.values()] == [1.0, 1.0, 1.0]
    history = filled.settings.history(limit=1000)[::-1]
    for name, constant in constants.items():
        own = [change.after for change in history if change.name == constant]
        assert own == [number / 10 for number in range(1, 11)]
        assert {change.changed_by for change in history if change.name == constant} == {name}
    assert sorted({change.version for change in history}) == list(range(1, found.version + 1))
    contended = [change for change in history if change.name == "rrf_k"]
    assert [change.before for change in contended] == [
        None,
        *(change.after for change in contended[:-1]),
    ]


def test_of_two_changes_that_expect_the_same_version_one_is_made(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    memories = [filled, *(open_memory() for _ in range(3))]

    def change(number: int) -> bool:
        try:
            memories[number].settings.set(expected_version=0, rrf_k=number + 1)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(change, range(4))) == 1
    assert len(filled.settings.history()) == 1
    with pytest.raises(ConflictError, match="at version 1, not 0: someone changed them"):
        filled.settings.reset(expected_version=0)


def test_a_setting_of_another_version_is_said_to_be_unusable_with_the_remedy(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    assert filled.settings.show().version == 0
    with psycopg.connect(database_url) as conn:
        conn.execute(
            "INSERT INTO memsense.settings (tenant_id, namespace_id, name, value, changed_by)"
            " SELECT tenant_id, namespace_id, 'tomorrow', '1', 'ada' FROM memsense.namespaces"
        )
    memory = open_memory()
    with pytest.raises(ConfigurationError, match=r"named tomorrow .*settings reset NAME"):
        memory.search(QUESTION, all_users=True)
    told = [item for item in examine(database_url) if item.check == "settings"]
    assert [(item.severity, "tomorrow" in item.text) for item in told] == [("error", True)]
    memory.settings.reset("tomorrow")
    assert memory.search(QUESTION, all_users=True)
    assert [item for item in examine(database_url) if item.check == "settings"] == []


def test_constants_that_left_memsense_change_no_search_and_the_doctor_names_them(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    filled.profiles.create("mine", base="memsense", rrf_k=7.0)
    filled.settings.set(profile="mine", lexical=1.5)
    with psycopg.connect(database_url) as conn:
        conn.execute(
            "INSERT INTO memsense.settings (tenant_id, namespace_id, name, value, changed_by)"
            " SELECT tenant_id, namespace_id, unnest(%s::text[]), '0.5', 'ada'"
            " FROM memsense.namespaces",
            [["neighbour_weight", "speaker_bonus"]],
        )
        conn.execute(
            "UPDATE memsense.profiles SET constants = constants || %s",
            [Jsonb({"asks_weight": -0.3})],
        )
    memory = open_memory()
    ranked = in_use(memory)
    assert (ranked.rrf_k, ranked.weights["lexical"]) == (7.0, 1.5)
    assert memory.profiles.get("mine") == PROFILES["memsense"].override(name="mine", rrf_k=7.0)
    assert "neighbour_weight" not in {item.name for item in memory.settings.show().settings}
    [finding] = [item for item in examine(database_url) if item.check == "settings"]
    assert finding.severity == "warning"
    assert "neighbour_weight, speaker_bonus" in finding.text
    assert finding.remedy == "run 'memsense settings reset neighbour_weight speaker_bonus'"
    with pytest.raises(ConfigurationError, match="no setting named neighbour_weight"):
        memory.settings.set(neighbour_weight=0.5)
    memory.settings.reset("neighbour_weight", "speaker_bonus")
    assert [item for item in examine(database_url) if item.check == "settings"] == []
    assert in_use(memory) == ranked


def test_no_constant_in_use_counts_as_one_that_left_memsense() -> None:
    assert not REMOVED & set(SETTING_NAMES)


def examine(url: str) -> Sequence[Finding]:
    report = check_up(url, settings=Settings(database_url=url), embedder=HashingEmbedder())
    return report.findings


# Stored profiles


def test_a_stored_profile_is_found_by_every_process_and_changes_nothing_else(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    other = open_memory()
    other.search(QUESTION, user_id="ada")
    made = filled.profiles.create("mine", base="vector_heavy", lexical=0.0, mmr_lambda=1.0)
    assert made == PROFILES["vector_heavy"].override(name="mine", lexical=0.0, mmr_lambda=1.0)
    assert other.profiles.get("mine") == made
    assert in_use(other, profile="mine") == made
    assert in_use(other) == BALANCED
    listed = {item.profile.name: item for item in other.profiles.list()}
    assert list(listed) == [*PROFILES, "mine"]
    assert (listed["mine"].origin, listed["mine"].created_by) == ("stored", user_name())
    assert listed["balanced"].origin == "shipped"


def test_a_stored_profile_keeps_every_constant(filled: MemSense, database_url: str) -> None:
    filled.profiles.create("mine", base="memsense")
    with psycopg.connect(database_url) as conn:
        row = conn.execute("SELECT constants FROM memsense.profiles").fetchone()
    assert row is not None
    assert row[0] == PROFILES["memsense"].override(name="mine").as_dict()


def test_a_profile_made_anew_under_its_name_counts_at_the_next_search(
    filled: MemSense, open_memory: OpenMemory
) -> None:
    other = open_memory()
    other.profiles.create("mine", rrf_k=30)
    assert in_use(filled, profile="mine").rrf_k == 30
    other.profiles.delete("mine")
    other.profiles.create("mine", rrf_k=40)
    assert in_use(filled, profile="mine").rrf_k == 40


def test_a_profile_in_use_cannot_be_deleted(filled: MemSense) -> None:
    filled.profiles.create("mine")
    filled.settings.set(profile="mine")
    with pytest.raises(InvalidInputError, match="'mine' is in use; set another one or reset"):
        filled.profiles.delete("mine")
    filled.settings.reset("profile")
    filled.profiles.delete("mine", by="ada")
    with pytest.raises(NotFoundError, match="no profile named 'mine'"):
        filled.profiles.get("mine")
    deleted = filled.settings.history()[0]
    assert (deleted.kind, deleted.name, deleted.after) == ("profile", "mine", None)
    assert deleted.before["name"] == "mine"
    assert deleted.changed_by == "ada"


def test_a_profile_s_name_is_its_own(filled: MemSense) -> None:
    filled.profiles.create("mine")
    for name, said in (
        ("balanced", "memsense ships a profile named 'balanced'"),
        ("mine", "there is already a profile named 'mine'"),
        ("two words", "no name for a profile"),
        ("", "name is empty"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            filled.profiles.create(name)
    with pytest.raises(InvalidInputError, match="is shipped with memsense"):
        filled.profiles.delete("balanced")
    with pytest.raises(NotFoundError, match="no profile named 'yours'"):
        filled.profiles.create("theirs", base="yours")
    with pytest.raises(ConfigurationError, match="weight of lexical"):
        filled.profiles.create("theirs", lexical=6)


def test_a_recorded_search_is_replayed_with_its_own_constants_after_a_change(
    filled: MemSense,
) -> None:
    filled.profiles.create("mine", base="semantic")
    trace_id = filled.search(QUESTION, user_id="ada", trace=True).trace_id
    assert trace_id is not None
    filled.settings.set(profile="lexical", rrf_k=60)
    assert filled.traces.replay(trace_id).is_unchanged
    assert filled.traces.replay(trace_id, profile="mine").new_profile == "mine"


def test_settings_and_projects_go_with_their_namespace(
    filled: MemSense, open_memory: OpenMemory, database_url: str
) -> None:
    other = open_memory(namespace="other")
    for memory in (filled, other):
        memory.settings.set(rrf_k=60)
        memory.profiles.create("mine")
        memory.projects.create("pool", ["s0"])
    with psycopg.connect(database_url) as conn:
        conn.execute("DELETE FROM memsense.namespaces WHERE name = 'other'")
    assert filled.settings.show()["rrf_k"].value == 60
    assert [project.name for project in filled.projects.list()] == ["pool"]
    fresh = open_memory(namespace="other")
    assert fresh.settings.show().version == 0
    assert fresh.projects.list() == []


def test_a_search_of_an_empty_memory_refuses_wrong_names_too(memory: MemSense) -> None:
    with pytest.raises(NotFoundError, match="no profile named 'nosuch'"):
        memory.search(QUESTION, user_id="ada", profile="nosuch")
    with pytest.raises(ConfigurationError, match="lexicl"):
        memory.search(QUESTION, user_id="ada", overrides={"lexicl": 1})
    assert not memory.search(QUESTION, user_id="ada").hits
