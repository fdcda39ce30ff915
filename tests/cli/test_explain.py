"""The explaining commands as people meet them: their output, formats and exit codes."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner, Result

from memsense import MemSense
from memsense.cli.app import hoist_global_options, root
from memsense.errors import MemSenseError

EXCHANGES = [
    ("I moved to Lisbon last spring.", "How do you like the city?"),
    ("My dog Rex needs a vet.", "There is a good vet near the river."),
    ("I am allergic to walnuts, please note.", "Noted: no walnuts in recipes."),
    ("We <b>want</b> to paint the kitchen | green.", "Green goes well with oak & copper."),
]


@pytest.fixture(scope="module")
def url(module_database_url: str) -> str:
    """A database of this module's own, with a few exchanges in it."""
    fill(module_database_url)
    return module_database_url


def fill(url: str) -> None:
    with MemSense.open(url, tenant="cli-explain") as memory:
        for number, (user, assistant) in enumerate(EXCHANGES):
            memory.add(
                [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}],
                user_id="ada",
                session_id=f"s{number}",
            )


def run(url: str, *arguments: str) -> Result:
    given = ["--database-url", url, "--tenant", "cli-explain", *arguments]
    result = CliRunner().invoke(root, hoist_global_options(given))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run_json(url: str, *arguments: str) -> Any:
    result = run(url, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def trace_id(url: str) -> str:
    found = run_json(url, "search", "What is Ada allergic to?", "--user", "ada", "--trace")
    assert found["hits"]
    return found["trace_id"]


def test_a_traced_search_names_its_trace_and_lists_it(url: str) -> None:
    result = run(url, "search", "a vet for the dog", "--user", "ada", "--trace")
    found = re.search(r"trace ([0-9a-f-]{36})", result.stdout)
    assert found is not None
    listed = run_json(url, "trace", "list", "--user", "ada")
    assert listed[0]["trace_id"] == found[1]
    assert listed[0]["question"] == "a vet for the dog"
    assert found[1] in run(url, "trace", "list").stdout
    assert "trace_id" in run_json(url, "search", "a vet", "--user", "ada")


def test_a_trace_is_shown_with_bars_that_add_up(url: str, trace_id: str) -> None:
    shown = run(url, "trace", "show", trace_id).stdout
    assert "What is Ada allergic to?" in shown
    assert "Hit 1: chunk" in shown
    assert "walnuts" in shown
    assert "█" in shown
    first = shown.split("Hit 2")[0]
    adds = re.findall(r"^ +([a-z_]+) .*? (-?\d\.\d{4})(?: +█*)? *$", first, re.MULTILINE)
    *parts, (name, total) = adds
    assert name == "score"
    assert sum(float(value) for _, value in parts) == pytest.approx(float(total), abs=1e-9)
    assert "MMR: relevance" in shown


def test_a_trace_as_json_holds_every_candidate_and_its_parts(url: str, trace_id: str) -> None:
    found = json.loads(run(url, "trace", "show", trace_id, "--format", "json").stdout)
    assert found["trace_id"] == trace_id
    assert len(found["candidates"]) == found["candidate_count"] > 0
    for item in found["candidates"]:
        assert sum(item["parts"].values()) == pytest.approx(item["final_score"], abs=1e-9)


def test_a_trace_as_markdown_has_a_table_per_hit_and_no_markup_of_the_texts(
    url: str,
) -> None:
    question = "paint the kitchen | green"
    found = run_json(url, "search", question, "--user", "ada", "--trace")
    text = run(url, "trace", "show", found["trace_id"], "--format", "markdown").stdout
    assert text.startswith("# paint the kitchen \\| green\n")
    assert text.count("| part | how | adds | |") == len(found["hits"])
    assert "<b>" not in text
    for line in text.splitlines():
        if line.startswith("| "):
            assert len(re.findall(r"(?<!\\)\|", line)) == 5


class Page(HTMLParser):
    """Collects tags, and every attribute that could reach out to the network."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]


def test_a_trace_as_html_needs_no_network_and_runs_nothing(url: str) -> None:
    question = "<script>alert(1)</script> kitchen"
    found = run_json(url, "search", question, "--user", "ada", "--trace")
    text = run(url, "trace", "show", found["trace_id"], "--format", "html").stdout
    page = Page()
    page.feed(text)
    assert page.links == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert "url(" not in text
    assert "@import" not in text
    assert "&lt;script&gt;" in text
    assert page.tags.count("h2") >= len(found["hits"])


def test_a_replay_shows_both_lists(url: str, trace_id: str) -> None:
    same = run_json(url, "replay", trace_id)
    assert same["unchanged"]
    assert "the same list" in run(url, "replay", trace_id).stdout
    changed = run_json(url, "replay", trace_id, "--set", "lexical=0.5", "--without", "vec_full")
    assert changed["changed"]["lexical"][1] == 0.5
    assert changed["changed"]["vec_full"][1] == 0.0
    told = run(url, "replay", trace_id, "--profile", "memsense").stdout
    assert "-> memsense" in told
    assert "before" in told


def test_traces_are_compared(url: str, trace_id: str) -> None:
    found = run_json(url, "compare", "-n", "3", "--profile", "semantic")
    assert 1 <= found["traces"] <= 3
    assert found["replays"][0]["trace_id"] == trace_id
    told = run(url, "compare", "-n", "2", "--set", "mmr_lambda=1.0").stdout
    assert "first hit" in told
    assert "of the hits kept" in told


def test_why_not_gives_a_verdict_with_numbers(url: str) -> None:
    found = run_json(url, "search", "a vet for the dog", "--user", "ada", "-k", "1")
    hit = found["hits"][0]["chunk_id"]
    verdict = run_json(url, "why-not", "a vet for the dog", str(hit), "--user", "ada", "-k", "1")
    assert verdict["step"] == "hit"
    scope = run(url, "why-not", "a vet", str(hit), "--user", "ada", "--since", "2099-01-01")
    assert scope.exit_code == 0
    assert "out of the search's scope" in " ".join(scope.stdout.split())
    missing = CliRunner().invoke(
        root,
        ["--database-url", url, "--tenant", "cli-explain", "why-not", "-u", "ada", "a vet", "9999"],
    )
    assert missing.exit_code == 1


def test_a_least_score_may_leave_nothing_and_says_so_everywhere(url: str) -> None:
    question = ("a vet for the dog", "--user", "ada")
    best = run_json(url, "search", *question)["hits"][0]
    found = run_json(url, "search", *question, "--min-score", f"{best['score']!r}")
    assert [hit["chunk_id"] for hit in found["hits"]] == [best["chunk_id"]]
    least = ("--min-score", "99.5")
    result = run(url, "search", *question, *least, "--trace")
    told = " ".join(result.stdout.split())
    assert result.exit_code == 0
    assert "Nothing found. note: nothing scored at least 99.5; the best was" in told
    assert f"chunk {best['chunk_id']}" in told
    verdict = run_json(url, "why-not", question[0], str(best["chunk_id"]), *question[1:], *least)
    assert verdict["step"] == "below_min_score"
    recorded = run_json(url, "search", *question, *least, "--trace")["trace_id"]
    assert run_json(url, "trace", "show", recorded)["min_score"] == 99.5
    page = " ".join(run(url, "trace", "show", recorded).stdout.split())
    assert "min_score: 99.5" in page
    assert "below min_score: place 1 by score" in page
    refused = run(url, "search", *question, "--min-score", "nan")
    assert refused.exit_code != 0


def test_old_traces_are_pruned(url: str, trace_id: str) -> None:
    assert run(url, "trace", "prune", "--days", "1").stdout == "0 traces deleted.\n"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "UPDATE memsense.traces SET recorded_at = now() - interval '2 days'"
            " WHERE trace_id = %s",
            [trace_id],
        )
    assert run(url, "trace", "prune", "--days", "1").stdout == "1 trace deleted.\n"
    result = CliRunner().invoke(
        root, ["--database-url", url, "--tenant", "cli-explain", "trace", "show", trace_id]
    )
    assert result.exit_code == 1


def test_doctor_exits_by_severity(url: str) -> None:
    healthy = run(url, "doctor")
    assert "The database is healthy." in healthy.stdout
    assert healthy.exit_code == 0
    assert "lexical: chunks" in healthy.stdout
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "UPDATE memsense.lexemes SET document_frequency = document_frequency + 1"
        )
    ill = run(url, "doctor", "--json")
    assert ill.exit_code == 2
    findings = json.loads(ill.stdout)["findings"]
    assert {item["check"] for item in findings if item["severity"] == "error"} == {"statistics"}
    assert run(url, "doctor", "--repair").exit_code == 0
    assert run(url, "doctor").exit_code == 0


def test_an_unknown_trace_is_told_in_one_line(url: str) -> None:
    for given, code in (("00000000-0000-0000-0000-000000000000", 1), ("nonsense", 2)):
        result = CliRunner().invoke(
            root, ["--database-url", url, "--tenant", "cli-explain", "replay", given]
        )
        assert result.exit_code == code
        assert not isinstance(result.exception, MemSenseError)
