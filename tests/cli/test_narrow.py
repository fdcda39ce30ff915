"""At 60 columns: no number is cut or wrapped, and what is printed is what --json holds."""

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql
from typer.testing import CliRunner

from memsense import MemSense
from memsense.cli.app import hoist_global_options, root

WIDTH = 60
QUESTION = "What did the kayak cost?"
SAID = (
    ("The red kayak cost 1234567.89 crowns, order 90210447713.", "Noted: 1234567.89 crowns."),
    ("My dentist is at 48151623 Harbour Road, every 37 weeks, says ada.", "Every 37 weeks."),
    ("The kayak weighs 2718.28 kg with its 31415926 rivets and paint.", "That is heavy."),
)

COMMANDS = (
    "search {question} --user ada -k 3 --explain",
    "search {question} --user ada -k 3",
    "search {question} --user ada -g session",
    "recent --all-users --limit 2",
    "show {chunk}",
    "history {chunk}",
    "why-not {question} {chunk} --user ada -k 1",
    "trace list",
    "replay {trace}",
    "settings show",
    "settings history",
    "profile list",
    "profile show balanced",
    "project list",
    "project show boats",
    "entities --all-users",
    "stats",
    "formats",
    "config show",
    "doctor",
    "db status",
    "compare --user ada",
)
"""What prints the same when it is asked again."""

UNTIMED = re.compile(r"\d+(?:\.\d+)?\s+ms|\d+\.\d+ of \d+\s+ms")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
CONSTANTS = {"15"}
"""k of the fusion, which stands in every formula and is no field of a hit."""

PART = re.compile(r"^ +([a-z_]+)(?::.*)? +(-?\d+\.\d{4}) *$", re.MULTILINE)


class Place:
    """A namespace with a few memories full of numbers, a trace, a project and a changed setting."""

    def __init__(self, url: str) -> None:
        self.given = ["--database-url", url, "--namespace", "narrow"]
        with MemSense.open(url, namespace="narrow") as memory:
            for number, (user, assistant) in enumerate(SAID):
                messages = [
                    {"role": "user", "content": user, "at": f"2025-03-0{number + 1}T10:00:00Z"},
                    {"role": "assistant", "content": assistant},
                ]
                memory.add(messages, user_id="ada", session_id=f"s{number}")
            memory.projects.create("boats", ["s0", "s2"])
            memory.settings.set(mmr_lambda=0.8125)
            found = memory.search(QUESTION, user_id="ada", trace=True)
        self.values = {"chunk": str(found[0].chunk_id), "trace": str(found.trace_id)}

    def run(self, command: str, *more: str) -> str:
        values = {"question": QUESTION, **self.values}
        words = [word.format(**values) for word in command.split()]
        asked = hoist_global_options([*self.given, *words, *more])
        result = CliRunner(env={"COLUMNS": str(WIDTH), "NO_COLOR": "1"}).invoke(root, asked)
        assert result.exit_code == 0, result.output
        return result.stdout


@pytest.fixture(scope="module")
def place(server_url: str, template_database: str) -> Iterator[Place]:
    name = f"memsense_test_{uuid.uuid4().hex[:12]}"
    names = {"name": sql.Identifier(name), "template": sql.Identifier(template_database)}
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {name} TEMPLATE {template}").format(**names))
        yield Place(urlunsplit(urlsplit(server_url)._replace(path=f"/{name}")))
        server.execute(sql.SQL("DROP DATABASE {name} WITH (FORCE)").format(**names))


def values_of(data: Any) -> Iterator[float]:
    """Every number of the data: as a value, in a text, or as how many things a list holds."""
    if isinstance(data, dict):
        for name, value in cast("dict[str, Any]", data).items():
            yield from values_of(name)
            yield from values_of(value)
    elif isinstance(data, list):
        items = cast("list[Any]", data)
        yield len(items)
        for item in items:
            yield from values_of(item)
    elif isinstance(data, int | float):
        yield abs(float(data))
    elif isinstance(data, str):
        yield from map(float, NUMBER.findall(data))


def is_held(shown: str, values: set[float]) -> bool:
    """Whether it is one of the values, rounded as it is shown; parts are rounded to their total."""
    number, decimals = float(shown), len(shown.partition(".")[2])
    if decimals:
        return any(abs(number - value) <= 1.01 * 10.0**-decimals for value in values)
    return any(number in (value, round(value), 100 * value) for value in values)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_number_is_cut_or_wrapped(place: Place, command: str) -> None:
    told = place.run(command)
    values = set(values_of(json.loads(place.run(command, "--json"))))
    values |= {float(number) for pair in SAID for said in pair for number in NUMBER.findall(said)}
    timeless = UNTIMED.sub("", told)
    strange = {number for number in NUMBER.findall(timeless) if not is_held(number, values)}
    assert strange - CONSTANTS == set(), told
    assert not re.search(r"\d\.?…|…\.?\d", told)
    broad = [line for line in told.splitlines() if len(line) > WIDTH]
    assert [line for line in broad if max(map(len, line.split())) < WIDTH // 2] == []


def test_the_printed_parts_of_each_hit_add_up_to_its_printed_score(place: Place) -> None:
    command = "search {question} --user ada -k 3 --explain"
    hits = re.split(r"^\d\. (?=\d)", place.run(command), flags=re.MULTILINE)[1:]
    assert len(hits) == 3
    for hit in hits:
        *parts, (name, total) = PART.findall(hit)
        assert name == "score"
        assert len(parts) >= 4
        assert round(sum(float(value) for _, value in parts), 4) == float(total)
        assert hit.startswith(f"{total} ")
