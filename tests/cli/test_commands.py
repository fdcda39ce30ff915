"""Commands as people and scripts meet them: their output and their exit codes."""

import gzip
import json
import re
from collections.abc import Generator, Sequence
from datetime import datetime
from pathlib import Path

import psycopg
import pytest
from command import assert_one_line, run, run_json
from logs import exchange, write_rows

import memsense

SAMPLE = Path(memsense.__path__[0]) / "data" / "sample_conversation.jsonl"
EXCHANGES = 177

SESSION_KEYS = {"recall@1", "recall@3", "recall@5", "recall@10", "mrr", "ndcg@10"}
TURN_KEYS = {f"{name}@{k}" for name in ("recall", "shown") for k in (5, 10, 20)} | {"recall@1"}


@pytest.fixture(scope="module")
def url(module_database_url: str) -> str:
    """A migrated database with the sample log in it, for all tests of this file."""
    report = run_json(module_database_url, "ingest", SAMPLE, "--user", "ines", "--tag", "sample")
    assert (report["stored"], report["skipped"]) == (EXCHANGES, {})
    return module_database_url


# Looking at memory


def trace_of(url: str, *arguments: str, zone: str) -> dict[str, object]:
    """Return the trace of a search on a machine of this zone."""
    search = ("search", "the trip last week", "--user", "ines", "--trace", *arguments)
    done = run(url, *search, "--json", env={"TZ": zone})
    assert (done.returncode, done.stderr) == (0, "")
    return run_json(url, "trace", "show", json.loads(done.stdout)["trace_id"])


def test_a_search_without_a_zone_is_asked_in_that_of_the_machine(url: str) -> None:
    wall_clock = ("--asked-at", "2026-11-27T01:00")
    trace = trace_of(url, *wall_clock, zone="Asia/Tokyo")
    assert (trace["timezone"], trace["asked_at"]) == ("Asia/Tokyo", "2026-11-26T16:00:00+00:00")
    trace = trace_of(url, *wall_clock, "--timezone", "Europe/Lisbon", zone="Asia/Tokyo")
    assert (trace["timezone"], trace["asked_at"]) == ("Europe/Lisbon", "2026-11-27T01:00:00+00:00")
    assert trace_of(url, *wall_clock, zone="UTC")["timezone"] == "UTC"


@pytest.mark.parametrize(
    "command",
    [
        ("search", "tea", "--all-users", "--timezone", "Lisbon"),
        ("context", "tea", "--all-users", "--timezone", "Lisbon"),
        ("settings", "set", "timezone=Lisbon"),
    ],
)
def test_an_unknown_time_zone_is_refused_with_the_nearest_name(
    url: str, command: Sequence[str]
) -> None:
    done = run(url, *command)
    assert_one_line(done, 2)
    assert "did you mean 'Europe/Lisbon'?" in done.stderr


def test_search_prints_each_hit_with_the_routes_that_found_it(url: str) -> None:
    done = run(url, "search", "Which nut makes Joost ill?", "--user", "ines", "-k", "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "walnuts" in done.stdout
    assert "lexical 1" in done.stdout
    assert "s03-20250206" in done.stdout
    assert "3 hits, profile balanced" in done.stdout


def test_explained_hits_in_json_add_up_to_their_scores(url: str) -> None:
    found = run_json(
        url, "search", "--all-users", "What did Ines plan for Japan in March?", "-k", "4"
    )
    assert len(found["hits"]) == 4
    for hit in found["hits"]:
        explain = hit["explain"]
        assert sum(explain["parts"].values()) == pytest.approx(hit["score"], abs=1e-9)
        assert datetime.fromisoformat(hit["occurred_at"]).tzinfo is not None


def test_explain_prints_parts_that_add_up_to_the_printed_score(url: str) -> None:
    question = "What hot drink replaced her morning espresso?"
    options = ("--all-users", "-k", "2", "-g", "turn", "--explain", "-p", "memsense")
    done = run(url, "search", question, *options)
    assert (done.returncode, done.stderr) == (0, "")
    totals = 0
    parts: list[float] = []
    for line in done.stdout.splitlines():
        words = line.replace("█", " ").split()
        if words[:1] == ["score"] and words[1] != "where":
            assert round(sum(parts), 4) == float(words[-1])
            totals, parts = totals + 1, []
        elif words and words[0].startswith(("vec_", "lexical", "facet_", "memory_score")):
            parts += [float(words[-1])] if "." in words[-1] else []
    assert totals == 2
    assert "MMR, choice 2: 0.78 · relevance" in done.stdout
    assert "(hit 1)" in done.stdout


def test_filters_profile_and_weights_reach_the_search(url: str) -> None:
    found = run_json(
        url, "search", "--all-users", "coffee", "-g", "turn", "--since", "2025-03-06",
        "--until", "2025-03-07", "--tag", "sample", "--session", "s16-20250306",
        "--set", "lexical=0.5", "--without", "vec_user", "--no-neighbors",
    )  # fmt: skip
    assert found["profile"] == "balanced (lexical=0.5, vec_user=0.0)"
    assert {hit["session_id"] for hit in found["hits"]} == {"s16-20250306"}
    routes = [route for hit in found["hits"] for route in hit["explain"]["routes"]]
    assert {route["weight"] for route in routes if route["route"] == "lexical"} == {0.5}
    assert "vec_user" not in {route["route"] for route in routes}
    assert "neighbors" not in found["hits"][0]


def test_excluded_chunks_and_messages_are_not_found(url: str) -> None:
    first = run_json(url, "search", "--all-users", "walnuts", "-g", "turn", "-k", "2")["hits"]
    rest = run_json(
        url, "search", "--all-users", "walnuts", "-g", "turn", "-k", "2",
        "--exclude", str(first[0]["chunk_id"]), "--exclude", first[1]["message_ids"][0],
    )  # fmt: skip
    assert not {hit["chunk_id"] for hit in first} & {hit["chunk_id"] for hit in rest["hits"]}


def test_context_prints_what_a_model_is_given_or_says_that_nothing_is_known(url: str) -> None:
    asked = ("context", "Which nut makes Joost ill?", "--user", "ines", "--max-tokens", "300")
    done = run(url, *asked)
    assert done.returncode == 0
    assert done.stdout.startswith("<memsense-context>\n")
    assert "walnuts" in done.stdout
    assert "something known concerns the prompt" in done.stderr
    told = run_json(url, *asked, "--explain")
    assert {line["chunk_id"] for line in told["lines"]} == set(told["chunk_ids"])
    assert all(line["because"] for line in told["lines"])
    small = run(url, "context", "thanks!", "--user", "ines")
    assert (small.returncode, small.stdout) == (0, "")
    assert "small talk" in small.stderr


def test_a_search_prints_what_goes_into_a_prompt_and_nothing_else(url: str) -> None:
    asked = ("search", "Which nut makes Joost ill?", "--user", "ines", "-k", "9", "--prompt", "300")
    done = run(url, *asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<memsense-context>\n")
    assert done.stdout.endswith("</memsense-context>\n")
    assert "walnuts" in done.stdout
    told = run_json(url, *asked, "--prompt-format", "xml")
    assert told["prompt"].startswith("<memsense-context>\n")
    assert told["tokens"] <= 300
    assert len(told["chunk_ids"]) + len(told["left_out"]) == 9
    messages = json.loads(run(url, *asked, "--prompt-format", "messages").stdout)
    assert {message["role"] for message in messages} == {"user"}


def test_an_answer_without_hits_says_so_and_is_no_error(url: str) -> None:
    done = run(url, "search", "--all-users", "anything", "--namespace", "nobodys")
    assert done.returncode == 0
    assert "Nothing found." in done.stdout
    assert "nothing is stored in this namespace yet" in done.stdout


def test_global_options_may_stand_before_or_after_the_command(url: str) -> None:
    before = run(None, "--database-url", url, "stats", "--json")
    after = run(None, "stats", "--json", f"--database-url={url}")
    assert before.stdout == after.stdout
    assert json.loads(after.stdout)[0]["turns"] == EXCHANGES


def test_recent_show_history_and_stats_print_what_json_holds(url: str) -> None:
    latest = run_json(url, "recent", "-n", "2", "--user", "ines")
    assert [chunk["session_id"] for chunk in latest] == sorted(
        (chunk["session_id"] for chunk in latest), reverse=True
    )
    chunk = run_json(url, "show", str(latest[0]["chunk_id"]))
    assert chunk["content"].startswith("user: ")
    assert datetime.fromisoformat(chunk["recorded_at"]).tzinfo is not None
    events = run_json(url, "history", str(latest[0]["chunk_id"]))
    assert events[0]["kind"] == "added"
    (scope,) = run_json(url, "stats", "--user", "ines")
    assert (scope["user_id"], scope["turns"]) == ("ines", EXCHANGES)
    shown = run(url, "show", str(latest[0]["chunk_id"]))
    assert chunk["user_text"].split()[0] in shown.stdout
    assert "memory score" in shown.stdout


# Changing memory


def test_a_forgotten_chunk_is_not_found_until_it_is_restored(url: str) -> None:
    asked = ("search", "--all-users", "pantoprazole 20 mg", "-g", "turn", "-k", "1")
    chunk = str(run_json(url, *asked)["hits"][0]["chunk_id"])
    done = run(url, "forget", chunk, "--reason", "asked to")
    assert (done.returncode, done.stdout) == (0, f"chunk {chunk}: changed {chunk}\n")
    assert run_json(url, *asked)["hits"][0]["chunk_id"] != int(chunk)
    assert run_json(url, "history", chunk)[-1]["detail"]["reason"] == "asked to"
    assert run_json(url, "restore", chunk) == [{"chunk_id": int(chunk), "changed": [int(chunk)]}]
    assert run_json(url, *asked)["hits"][0]["chunk_id"] == int(chunk)
    assert run_json(url, "archive", chunk)[0]["changed"] == [int(chunk)]
    assert run_json(url, "show", chunk)["status"] == "archived"
    run_json(url, "restore", chunk)


def test_promote_demote_and_feedback_leave_their_mark(url: str) -> None:
    chunk = str(run_json(url, "recent", "--all-users", "-n", "1")[0]["chunk_id"])
    assert run_json(url, "promote", chunk)[0]["memory_score"] == pytest.approx(0.65)
    assert run_json(url, "demote", chunk)[0]["memory_score"] == pytest.approx(0.5)
    assert run_json(url, "feedback", chunk, "--unhelpful", "--question", "why?") == [
        {"chunk_id": int(chunk), "helpful": False}
    ]
    kinds = [event["kind"] for event in run_json(url, "history", chunk)]
    assert kinds[-1] == "feedback"


def test_chunks_that_are_not_there_end_in_1_and_the_others_are_changed(url: str) -> None:
    chunk = str(run_json(url, "recent", "--all-users", "-n", "1")[0]["chunk_id"])
    done = run(url, "promote", "999999", chunk)
    assert_one_line(done, 1)
    assert done.stdout == f"chunk {chunk}: memory score is now 0.65\n"
    run_json(url, "demote", chunk)


# Ingesting


def test_an_ingest_redacts_secrets_unless_told_otherwise(database_url: str) -> None:
    said = "the wifi password is Blaubeere77 <private>and so on</private>"
    log = json.dumps({"role": "user", "content": said, "session_id": "monday"})
    command = (database_url, "ingest", "-", "--user")
    done = run(*command, "ada", stdin=log)
    assert "note: 1 secret redacted: 1 password; 1 private passage left out" in done.stdout
    report = run_json(*command, "bob", stdin=log)
    assert report["redacted"] == {"password": 1, "private": 1}
    report = run_json(*command, "eve", "--no-redact", stdin=log)
    assert report["redacted"] == {"private": 1}
    [stored] = run_json(database_url, "recent", "--user", "eve")
    assert "Blaubeere77" in stored["content"]


def test_the_same_log_again_adds_nothing_and_is_no_error(url: str) -> None:
    done = run(url, "ingest", SAMPLE, "--user", "ines")
    assert done.returncode == 0
    assert "rows with role and content" in done.stdout
    report = run_json(url, "ingest", SAMPLE, "--user", "ines")
    assert (report["stored"], report["repeated"]) == (0, EXCHANGES)


def test_a_dry_run_tells_and_stores_nothing(url: str) -> None:
    done = run(url, "ingest", SAMPLE, "--dry-run", "--namespace", "dry")
    assert done.returncode == 0
    assert "would store" in done.stdout
    assert run_json(url, "stats", "--namespace", "dry") == []


def test_a_log_is_read_from_stdin(url: str) -> None:
    rows = exchange("piped", 1, "I sing in a choir on Mondays.", "Which voice?")
    log = "".join(json.dumps(row) + "\n" for row in rows)
    done = run(url, "ingest", "-", "--namespace", "stdin", "--json", stdin=log)
    report = json.loads(done.stdout)
    assert (report["stored"], report["users"]) == (1, ["default"])


def test_columns_zone_and_tags_reach_what_is_stored(url: str, tmp_path: Path) -> None:
    log = tmp_path / "chat.csv"
    log.write_text(
        "who,said,moment\n"
        "user,I keep bees behind the barn.,2025-05-01 10:00\n"
        "assistant,How many hives?,2025-05-01 10:01\n"
    )
    options = ("--map", "role=who", "--map", "content=said", "--map", "time=moment")
    run_json(
        url, "ingest", log, *options, "--timezone", "Europe/Lisbon", "--tag", "hobby",
        "--task-tag", "bees", "--agent", "helper", "--project", "hives",
        "--namespace", "mapped",
    )  # fmt: skip
    (chunk,) = run_json(url, "recent", "--all-users", "--namespace", "mapped")
    assert datetime.fromisoformat(chunk["occurred_at"]).timestamp() == 1746090000
    assert (chunk["tags"], chunk["task_tag"], chunk["agent_id"]) == (["hobby"], "bees", "helper")
    assert chunk["project"] == "hives"
    (project,) = run_json(url, "project", "list", "--namespace", "mapped")
    assert (project["name"], project["exchanges"], project["created_at"]) == ("hives", 1, None)
    assert "hives" in run(url, "project", "list", "--namespace", "mapped").stdout
    assert run_json(
        url, "project", "list", "--user", chunk["user_id"], "--namespace", "mapped"
    ) == [project]
    assert run_json(url, "project", "list", "--user", "nobody", "--namespace", "mapped") == []


def test_strict_fails_when_a_record_was_skipped(url: str, tmp_path: Path) -> None:
    log = write_rows(tmp_path / "log.jsonl", exchange("s1", 1, "I own a red kayak.", "Nice."))
    with log.open("a") as file:
        file.write('{"session_id": "s1", "role": "user", "content": ""}\nnot json\n')
    lenient = run(url, "ingest", log, "--namespace", "strict")
    assert lenient.returncode == 0
    assert f"{log}:4" in lenient.stdout.replace("\n", "").replace(" ", "")
    assert run(url, "ingest", log, "--namespace", "strict", "--strict").returncode == 1


@pytest.fixture
def refused(url: str) -> Generator[str]:
    """A text that this server refuses to store."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(
            "ALTER TABLE memsense.chunks ADD CONSTRAINT refused"
            " CHECK (user_text <> 'Cup b.' OR 1 / (length(user_text) - 6) > 0)"
        )
        yield "Cup b."
        conn.execute("ALTER TABLE memsense.chunks DROP CONSTRAINT refused")


def test_logs_that_fail_end_in_1_and_are_named_and_the_others_are_stored(
    url: str, tmp_path: Path, refused: str
) -> None:
    for name, text in (("a", "Cup a."), ("b", refused), ("c", "Cup c.")):
        write_rows(tmp_path / f"{name}.jsonl", exchange(name, 1, text, "Nice."))
    packed = gzip.compress((tmp_path / "a.jsonl").read_bytes())
    (tmp_path / "d.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    place = ("ingest", tmp_path, "--namespace", "failing")
    done = run(url, *place)
    assert (done.returncode, done.stderr) == (1, "")
    told = " ".join(done.stdout.split())
    assert " 3 6 of 6 3 2 0 0 " in told  # sessions, messages, exchanges, stored, ...
    failures = told.partition("failed: ")[2]
    assert "d.jsonl.gz: " in failures
    assert "b.jsonl, session 'b': " in failures
    again = run_json(url, *place, code=1)
    counts = {name: again[name] for name in ("exchanges", "stored", "repeated", "refused")}
    assert counts == {"exchanges": 3, "stored": 0, "repeated": 2, "refused": 1}
    assert len(again["failed"]) == 2
    stored = run_json(url, "recent", "--all-users", "--namespace", "failing")
    assert {chunk["user_text"] for chunk in stored} == {"Cup a.", "Cup c."}


# What goes wrong


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("search", "--all-users", "hi", "--database-url", "postgresql://x@127.0.0.1:1/x"),
            "--database-url",
        ),
        (("search", "--all-users", "hi", "--database-url", "nonsense"), "--database-url"),
        (("search", "--all-users", "  "), "query is empty"),
        (("search", "--all-users", "hi", "--profile", "nope"), "there are balanced"),
        (("search", "--all-users", "hi", "--set", "nope=1"), "nope"),
        (("search", "--all-users", "hi", "--since", "yesterday"), "ISO 8601"),
    ],
)
def test_what_the_caller_must_change_is_one_line_and_exit_code_2(
    url: str, arguments: Sequence[str], said: str
) -> None:
    # What can't be reached is tried again for this long; what can be needs more on a busy machine.
    patience = {"MEMSENSE_POOL_TIMEOUT": "0.1"} if "--database-url" in arguments else {}
    done = run(url, *arguments, env=patience)
    assert_one_line(done, 2)
    assert said in done.stderr


def test_wrong_usage_ends_in_2_without_a_traceback(url: str) -> None:
    done = run(url, "ingest", "no/such/file.json")
    assert done.returncode == 2
    assert "Error: Invalid value for PATHS: no/such/file.json" in done.stderr


@pytest.mark.parametrize("value", ["x", "0"])
def test_a_wrong_value_is_named(url: str, value: str) -> None:
    done = run(url, "changes", "reject", value, "2")
    assert (done.returncode, f", not '{value}'" in done.stderr) == (2, True), done.stderr


def test_a_database_without_the_schema_says_init_and_init_prepares_it(
    empty_database_url: str,
) -> None:
    done = run(empty_database_url, "search", "--all-users", "hi")
    assert_one_line(done, 2)
    assert "memsense init" in done.stderr
    prepared = run_json(empty_database_url, "init")
    assert (prepared["revision_before"], prepared["embedded"]) == (None, False)
    assert run(empty_database_url, "db", "upgrade").stdout.startswith("the schema is up to date")
    assert run(empty_database_url, "search", "--all-users", "hi").returncode == 0


def test_json_that_no_reader_knows_ends_in_1_and_names_the_file(url: str, tmp_path: Path) -> None:
    log = tmp_path / "other.json"
    log.write_text('{"temperature": [1, 2, 3]}')
    done = run(url, "ingest", log)
    assert_one_line(done, 1)
    assert str(log) in done.stderr


# The rest


def test_the_text_index_can_be_made_anew_in_another_language(url: str) -> None:
    known = run_json(url, "db", "reindex")
    assert known["language"] == "auto"
    assert known["chunks"] >= EXCHANGES
    done = run(url, "db", "reindex", "--language", "german")
    assert done.stdout.endswith("memories anew, in de\n")
    refused = run(url, "db", "reindex", "--language", "klingon")
    assert_one_line(refused, 2)
    assert "auto, ar" in refused.stderr
    assert run_json(url, "db", "reindex", "--language", "auto") == known


def test_links_between_changed_facts_are_made_for_memories_without_them(url: str) -> None:
    linked = run_json(url, "db", "link")
    assert [line["user_id"] for line in linked] == ["ines"]
    assert run(url, "db", "link", "--user", "ines").stdout == "ines: 0 new links\n"
    refused = run(url, "db", "link", "--user", "nobody")
    assert_one_line(refused, 1)
    assert "nothing is stored for user 'nobody'" in refused.stderr


def test_the_database_commands_tell_where_memory_is(url: str) -> None:
    assert run(url, "db", "url").stdout.strip() == url
    status = run_json(url, "db", "status")
    assert status["running"]
    assert status["schema"] == status["schema_needed"]


def test_an_embedded_server_that_does_not_run_is_told_by_status_and_url(tmp_path: Path) -> None:
    for arguments, code in ((("db", "status"), 1), (("db", "url"), 2)):
        done = run(None, *arguments, env={"MEMSENSE_DATA_DIR": str(tmp_path)})
        assert done.returncode == code


def test_the_recall_query_is_printed_with_the_lines_asked_for() -> None:
    default = run(None, "sql", "recall").stdout
    filtered = run(None, "sql", "recall", "--filtered", "--all-users").stdout
    assert "%(user_id)s" in default
    assert "%(since)s" not in default
    assert "c.occurred_at >= %(since)s" in filtered
    assert "scope_id = ANY (ARRAY(SELECT scope_id FROM scope))" in filtered
    assert "s.user_id = %(user_id)s" not in filtered


def test_formats_lists_every_reader() -> None:
    from memsense.ingest.registry import readers

    done = run(None, "formats", "--json")
    assert [found["format"] for found in json.loads(done.stdout)] == list(readers())


def test_locomo_is_ingested_and_measured_in_the_documented_shape(url: str, tmp_path: Path) -> None:
    said = ("I adopted a greyhound called Comet.", "My sister moved to Porto.", "I bake rye bread.")
    turns = [
        {"speaker": "Ann" if i % 2 == 0 else "Bo", "dia_id": f"D1:{i + 1}", "text": text}
        for i, text in enumerate(said)
    ]
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": turns,
    }
    questions = [
        {"question": "What is the greyhound called?", "evidence": ["D1:1"], "category": 4},
        {"question": "Where did Bo's sister move?", "evidence": ["D1:2"], "category": 1},
        {"question": "Unanswerable", "evidence": ["D"], "category": 5},
    ]
    sample = {"sample_id": "conv-1", "conversation": conversation, "qa": questions}
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([sample]))
    lines = tmp_path / "questions.jsonl"
    place = ("--namespace", "locomo")
    found = run_json(
        url, *place, "eval", "locomo", file, "--ingest", "--questions-out", lines
    )  # fmt: skip
    assert set(found) == {"profile", "splits"}
    for split in found["splits"].values():
        assert set(split) == {
            "questions", "skipped", "session", "turn", "by_category", "search_ms"
        }  # fmt: skip
    everything = found["splits"]["all"]
    assert (everything["questions"], everything["skipped"]) == (2, 1)
    assert set(everything["session"]) == SESSION_KEYS
    assert set(everything["turn"]) == TURN_KEYS
    assert everything["turn"]["recall@5"] == 1
    assert set(everything["by_category"]) == {"1", "4"}
    assert len(lines.read_text().splitlines()) == 2
    several = run_json(url, *place, "eval", "locomo", file, "-p", "lexical", "-p", "semantic")
    assert [summary["profile"] for summary in several] == ["lexical", "semantic"]
    shown = run(url, *place, "eval", "locomo", file).stdout
    assert "nDCG" in shown
    assert "category 4" in shown


def test_the_demo_explains_its_hits_and_a_second_one_stores_nothing_twice(url: str) -> None:
    first, second = run(None, "demo", "--database-url", url), run(url, "demo")
    assert (first.returncode, second.returncode) == (0, 0)
    assert "Starting PostgreSQL" not in first.stderr
    for expected in ("walnuts", "MMR, choice 1", "memsense.chunk_overview", "What to type next"):
        assert expected in first.stdout
    assert "Exactly once" not in first.stdout
    assert "Exactly once" in second.stdout


def test_searches_are_counted_in_a_table_and_their_lack_is_told(database_url: str) -> None:
    before = run(database_url, "stats", "--searches", "1")
    assert before.stdout == "Nothing was searched for in this time.\n"
    run(database_url, "add", "I live in Lisbon.", "--user", "ada")
    run(database_url, "search", "Where do I live?", "--user", "ada", "--tag", "home")
    table = run(database_url, "stats", "--searches", "1").stdout
    assert re.search(r"total +1 +1 +0 ", table)
    assert "tags" in table
    told = run_json(database_url, "stats", "--searches", "1")
    assert (told["total"]["searches"], told["slowest"][0]["filters"]) == (1, ["tags"])
