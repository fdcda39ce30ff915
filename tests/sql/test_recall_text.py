"""Each statement that recall may send parses, filters every table by tenant, and can be printed.

`tests/data/recall/` holds the steps of some of them, so that a change is reviewed as SQL:
`MEMSENSE_REWRITE=1 pytest tests/sql/test_recall_text.py` writes them anew.
"""

import os
import re
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from difflib import unified_diff
from itertools import combinations, product
from pathlib import Path
from typing import Literal, get_args

import psycopg
import pytest
from embedders import HashingEmbedder
from pairwise import pairwise_rows
from pgvector.psycopg import register_vector
from typer.testing import CliRunner

from memsense.cli.sql import app
from memsense.db.queries import as_sql, query, statement_names
from memsense.errors import ConfigurationError
from memsense.search.profiles import BALANCED, ROUTES, VECTOR_ROUTES, Route
from memsense.search.question import analyse_question
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.search.recall.run import OtherQuestion, RecallRequest, query_values
from memsense.search.recall.statement import (
    CONDITIONS,
    Indexed,
    Shape,
    Whose,
    compose,
    recall_statement,
    recall_text,
)
from memsense.search.request import FILTER_NAMES, QUOTED, Filters
from memsense.text.lexemes import ask_lexemes
from memsense.types import EmbeddingModel

INDEXED = Indexed(17, 3, 48, (4, 64))
WHOSE: list[Whose] = ["one_user", "all_users", INDEXED]
LEXICAL: tuple[Literal["bm25f", "ts_rank"], ...] = ("bm25f", "ts_rank")
FLAGS = (
    "identified",
    "worded",
    "tokens",
    "turns_only",
    "lookups",
    "one_list",
    "all_sessions",
    "superseding",
    "rarest",
    "is_past",
    "two_models",
)
OPTIONAL: list[tuple[Route, ...]] = [(), ("graph", "time")]
SILENT: list[tuple[Route, ...]] = [(), ("vec_next_user", "facet_preferences"), VECTOR_ROUTES]
DATED = analyse_question("Did I drink tea on 3 March 2024?")
FILTER_SETS: list[tuple[str, ...]] = [(), *((name,) for name in CONDITIONS), CONDITIONS]

SHOWN = {
    "one_user": Shape(),
    "all_users": Shape(whose="all_users"),
    "indexed": Shape(whose=INDEXED),
    "filtered": Shape(filters=("since", "tags")),
    "indexed_filtered": Shape(whose=INDEXED, filters=CONDITIONS),
    "ts_rank": Shape(lexical="ts_rank"),
    "graph": Shape(optional=("graph",), filters=("kinds",)),
    "time": Shape(optional=("time",), turns_only=True, hides_expired=False),
    "time_two_models": Shape(optional=("time",), two_models=True, whose="all_users"),
    "wording": Shape(identified=True, worded=True, turns_only=True),
    "least": Shape(turns_only=True, hides_expired=False, silent=("vec_next_user", "facet_events")),
    "tokens": Shape(tokens=True),
    "two_models": Shape(two_models=True, tokens=True),
    "two_models_indexed": Shape(whose=INDEXED, two_models=True, filters=("since",)),
    "superseding": Shape(tokens=True, superseding=True),
    "long": Shape(rarest=True),
    "long_indexed": Shape(whose=INDEXED, rarest=True, silent=SILENT[1]),
    "lookups": Shape(
        filters=("tags", "quoted"), optional=("graph",), identified=True, lookups=True
    ),
    "lookups_ts_rank": Shape(whose=INDEXED, lexical="ts_rank", filters=("tags",), lookups=True),
}


def pairwise_shapes() -> list[Shape]:
    """Return shapes in which any two of their options occur together."""
    flags = [(False, True)] * (len(FLAGS) + 1)
    rows = pairwise_rows([WHOSE, LEXICAL, OPTIONAL, SILENT, FILTER_SETS, *flags])
    return [
        Shape(
            whose=whose,
            lexical=lexical,
            optional=optional,
            silent=silent,
            filters=filters,
            hides_expired=hides_expired,
            **dict(zip(FLAGS, chosen, strict=True)),
        )
        for whose, lexical, optional, silent, filters, hides_expired, *chosen in rows
    ]


def all_shapes() -> Iterator[Shape]:
    """Yield every shape; of what may expire or is silent, each beside either flag."""
    for whose, lexical, optional, filters in product(WHOSE, LEXICAL, OPTIONAL, FILTER_SETS):
        for flags in product((False, True), repeat=len(FLAGS)):
            yield replace(
                Shape(whose=whose, lexical=lexical, optional=optional, filters=filters),
                **dict(zip(FLAGS, flags, strict=True)),
                hides_expired=sum(flags) % 2 == 0,
                silent=SILENT[sum(flags) % len(SILENT)],
            )


def name_of(shape: Shape) -> str:
    whose = "indexed" if shape.indexed else str(shape.whose)
    flags = (flag for flag in (*FLAGS, "hides_expired") if getattr(shape, flag))
    silent = (f"no_{route}" for route in shape.silent)
    return "-".join(
        [
            whose,
            shape.lexical,
            *shape.optional,
            *shape.filters,
            *flags,
            *silent,
        ]
    )


@pytest.fixture(params=["pairwise", pytest.param("all", marks=pytest.mark.full)])
def shapes(request: pytest.FixtureRequest) -> Iterable[Shape]:
    """Return the shapes to check: every pair of options, or all 319,488 with `--all`."""
    return pairwise_shapes() if request.param == "pairwise" else all_shapes()


def body_of(part: str) -> tuple[str, str]:
    found = re.match(r"(\w+) AS (?:(?:NOT )?MATERIALIZED )?\(\n(.*)\n\)\Z", part, re.DOTALL)
    assert found, part
    return found[1], found[2]


def test_the_shapes_tried_are_all_that_the_type_admits() -> None:
    assert {field.name for field in fields(Shape)} == {
        "whose",
        "lexical",
        "filters",
        "optional",
        "silent",
        "hides_expired",
        "of_other",  # of the parts of a shape with two models
        *FLAGS,
    }
    assert [(), tuple(OPTIONAL_ROUTES)] == OPTIONAL
    assert get_args(get_args(Whose)[0]) == ("one_user", "all_users")
    assert get_args(Whose)[1] is Indexed
    assert {*FILTER_NAMES, QUOTED} == set(CONDITIONS)
    assert EVERY_FILTER.names == FILTER_NAMES


def test_any_two_options_meet_in_a_shape() -> None:
    columns = [(1, 2, 3), "ab", (True, False), "xyz", range(7)]
    rows = pairwise_rows(columns)
    assert len(rows) < 30
    for one, two in combinations(range(len(columns)), 2):
        assert {(row[one], row[two]) for row in rows} == {*product(columns[one], columns[two])}
    assert len(pairwise_shapes()) < 100


EVERY_FILTER = Filters(
    session_ids=["s1"],
    project="kitchen",
    agent_id="sales",
    since=datetime(2026, 1, 1, tzinfo=UTC),
    until=datetime(2026, 2, 1, tzinfo=UTC),
    tags=["tea"],
    kinds=["stable"],
    metadata={"n": 1},
    exclude=[1, "m1"],
    exclude_sessions=["s2"],
)


def test_every_shape_is_planned_by_the_server(
    conn: psycopg.Connection, shapes: Iterable[Shape]
) -> None:
    register_vector(conn)
    values = query_values(
        RecallRequest(
            tenant_id=1,
            namespace="default",
            user_id="ada",
            granularities=("turn",),
            model_id=1,
            query_vector=HashingEmbedder().embed_query("tea"),
            other=OtherQuestion(
                EmbeddingModel(model_id=4, name="wide", dimension=64),
                HashingEmbedder(64).embed_query("tea"),
            ),
            terms=ask_lexemes("tea", "en", ()),
            profile=BALANCED,
            top_k=8,
            filters=EVERY_FILTER,
            optional={name: route.ask(DATED) or {} for name, route in OPTIONAL_ROUTES.items()},
        )
    )
    conn.execute("SET geqo_threshold = 2")
    for shape in shapes:
        try:
            conn.execute(as_sql(f"EXPLAIN {recall_text(shape)}"), values)
        except psycopg.Error as error:
            error.add_note(name_of(shape))
            raise


def test_a_question_of_few_words_has_the_statement_that_leaves_none_out() -> None:
    short, long = recall_text(Shape()), recall_text(Shape(rarest=True))
    for part in ("rarest AS", "'left_out'", "question_words"):
        assert part not in short
        assert part in long


def test_each_step_that_reads_a_table_names_the_tenant(shapes: Iterable[Shape]) -> None:
    tables = re.compile(r"\b(?:FROM|JOIN) memsense\.(?!\w+\()\w+(?: AS (\w+))?")
    for shape in shapes:
        steps = [body_of(part) for part in compose(shape)]
        assert len(steps) > 15
        for name, body in steps:
            for alias in tables.findall(body):
                column = f"{alias}.tenant_id" if alias else "tenant_id"
                condition = rf"(?<![.\w]){re.escape(column)} = %\(tenant_id\)s"
                assert re.search(condition, body), (name, name_of(shape))


def test_the_statement_is_sent_without_comments_holes_or_what_it_does_not_need(
    shapes: Iterable[Shape],
) -> None:
    for shape in shapes:
        assert_holds_what_it_needs(shape)


def assert_holds_what_it_needs(shape: Shape) -> None:
    text = recall_text(shape)
    assert "--" not in text
    assert not re.search(r"\{[a-z_]+\}", text)
    assert ("filtered AS" in text) == bool(shape.filters)
    assert ("token_vectors" in text) == shape.tokens
    assert ("ts_rank_cd(" in text) == (shape.lexical == "ts_rank" and not shape.lookups)
    assert (re.search(r"memsense\.find_(postings|ranked)\(", text) is not None) == shape.lookups
    assert not (shape.lookups and re.search(r"scope_(lexemes|spellings)\([^)]*\)\s*(&&|@>)", text))
    scans = set(shape.silent) < {*VECTOR_ROUTES}
    assert ("scope_id = 17" in text) == ("halfvec(48)" in text)
    assert ("scope_id = 17" in text) == (shape.indexed is not None and scans)
    assert ("s.user_id = " in text) == (shape.whose != "all_users")
    for name in FILTER_NAMES:
        parameter = {"exclude": "exclude_chunks"}.get(name, name)
        assert (f"%({parameter})s" in text) == (name in shape.filters)
    names = set(re.findall(r"%\((\w+)\)s", text))
    statement = recall_statement(shape)
    assert set(statement.names) == names
    assert statement.text.count(b"%") == 0


def test_every_route_is_fused_under_its_place_in_the_order_of_routes(
    shapes: Iterable[Shape],
) -> None:
    fused = re.compile(r"SELECT (\d+) AS route, .* %\(weight_(\w+)\)s::float8 .* FROM (\w+)")
    numbered = dict(enumerate(ROUTES, start=1))
    for shape in shapes:
        text, name = recall_text(shape), name_of(shape)
        found = fused.findall(text)
        assert [(int(n), route, cte) for n, route, cte in found] == [
            (n, route, f"{prefix}{route}")
            for n, route in numbered.items()
            if route in shape.routes
            for prefix in (("", "other_") if shape.two_models and route in VECTOR_ROUTES else ("",))
        ], name
        assert set(shape.routes) == {*VECTOR_ROUTES, "lexical", *shape.optional} - {*shape.silent}
        assert set(re.findall(r"^(vec_\w+|facet_\w+) AS \(", text, re.MULTILINE)) == {
            route for route in shape.routes if route in VECTOR_ROUTES
        }, name
        has_one_list = shape.turns_only or shape.one_list
        assert ("session_scores" in text) != has_one_list or bool(shape.optional), name
        assert ("lapsed AS" in text) == shape.hides_expired, name


def test_the_statements_of_many_memories_keep_little() -> None:
    shapes = [
        Shape(whose=Indexed(scope_id, 1, 384), filters=filters, worded=worded)
        for scope_id in range(200)
        for filters in ((), ("since", "until"))
        for worded in (False, True)
    ] + [Shape(whose=Indexed(scope_id, 1, 384), filters=CONDITIONS) for scope_id in range(200)]
    recall_statement.cache_clear()
    tracemalloc.start()
    try:
        for shape in shapes:
            recall_statement(shape)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(shapes) == 1000
    assert kept < 10_000_000


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (Shape(filters=("since", "colour")), "there is no filter colour; known: .*since"),
        (Shape(optional=("lexical",)), "there is no optional route lexical; known: graph"),
        (Shape(silent=("lexical",)), "there is no vector route lexical; known: vec_full"),
    ],
)
def test_a_shape_with_an_unknown_name_is_refused(shape: Shape, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        recall_text(shape)


def golden_texts() -> dict[str, str]:
    """Return the files' texts: a statement's steps, but for those that an earlier file shows."""
    shown_in: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, shape in SHOWN.items():
        text, steps = recall_text(shape), list(compose(shape))
        before, _, answer = text.partition(",\n".join(steps))
        assert before == "/* recall */ WITH "
        steps.append(f"answer AS (\n{answer.strip()}\n)")
        parts = [
            step if (first := shown_in.setdefault(step, name)) == name
            # A line for each step keeps their order under review, too.
            else f"-- {body_of(step)[0]}: as in {first}.sql"
            for step in steps
        ]  # fmt: skip
        texts[name] = "\n".join(parts) + "\n"
    return texts


PART = re.compile(
    r"^(?:-- )?(\w+)(?: AS (?:(?:NOT )?MATERIALIZED )?\(|: as in \w+\.sql)$", re.MULTILINE
)


def parts_of(text: str) -> dict[str, list[str]]:
    """Return the lines of each part of a golden file, by the part's name."""
    _, *pieces = PART.split(text)
    starts = [found[0] for found in PART.finditer(text)]
    return {
        name: [start, *body.strip("\n").splitlines()]
        for start, name, body in zip(starts, pieces[::2], pieces[1::2], strict=True)
    }


def changes_between(stored: Mapping[str, str], composed: Mapping[str, str]) -> str:
    """Return each change of lines once, below the names of the parts that it is in."""
    places: dict[tuple[str, ...], list[str]] = {}
    shown: dict[tuple[str, ...], list[str]] = {}
    for file, text in composed.items():
        before, after = parts_of(stored[file]), parts_of(text)
        for part in before | after:
            lines = before.get(part, []), after.get(part, [])
            diff = [*unified_diff(*lines, n=1, lineterm="")][2:]
            if change := tuple(line for line in diff if line[0] in "+-"):
                places.setdefault(change, []).append(f"{file}.sql {part}")
                shown.setdefault(change, diff)
    return "\n".join(
        "\n".join([", ".join(where), *shown[change]]) for change, where in places.items()
    )


def test_the_golden_files_show_a_changed_part_as_sql() -> None:
    folder = Path(__file__).parents[1] / "data" / "recall"
    texts = golden_texts()
    if os.environ.get("MEMSENSE_REWRITE"):
        for name, text in texts.items():
            (folder / f"{name}.sql").write_text(text, encoding="utf-8")
    stored = {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert stored.keys() == texts.keys()
    changes = changes_between(stored, texts)
    assert not changes, changes
    assert stored == texts  # the order of the parts, too


def test_the_parts_of_a_golden_file_are_all_of_it() -> None:
    for text in golden_texts().values():
        lines = [line for part in parts_of(text).values() for line in part]
        assert "\n".join(lines) + "\n" == text


def test_a_change_of_several_parts_is_shown_once_with_their_names() -> None:
    near = "near AS (\n    SELECT 1\n    LIMIT 9\n)\n"
    same = "same AS MATERIALIZED (\n    SELECT 2\n)\n"
    before = {"one": same + near, "other": near.replace("near", "far") + "-- same: as in one.sql\n"}
    after = {file: text.replace("LIMIT 9", "LIMIT 8") for file, text in before.items()}
    assert changes_between(before, before) == ""
    assert changes_between(before, after).splitlines() == [
        "one.sql near, other.sql far",
        "@@ -2,3 +2,3 @@",
        "     SELECT 1",
        "-    LIMIT 9",
        "+    LIMIT 8",
        " )",
    ]
    assert changes_between(before, {"one": near}).splitlines() == [
        "one.sql same",
        "@@ -1,3 +0,0 @@",
        "-same AS MATERIALIZED (",
        "-    SELECT 2",
        "-)",
    ]


def arguments_of(shape: Shape) -> list[str]:
    found: list[str] = []
    if shape.indexed:
        *own, other = shape.indexed
        found += ["--indexed", *map(str, own)]
        if other is not None:
            found += ["--other-indexed", *map(str, other)]
    elif shape.whose == "all_users":
        found.append("--all-users")
    for name in shape.filters:
        found += ["--filter", name]
    for name in shape.optional:
        found += ["--route", name]
    found += ["--lexical", shape.lexical]
    for name in shape.silent:
        found += ["--without", name]
    found.append("--lapsed" if shape.hides_expired else "--none-lapsed")
    found += [f"--{flag.replace('_', '-')}" for flag in FLAGS if getattr(shape, flag)]
    return found


@pytest.mark.parametrize("name", SHOWN)
def test_any_shape_is_printed_on_the_command_line(name: str) -> None:
    done = CliRunner().invoke(app, ["recall", *arguments_of(SHOWN[name])])
    assert done.exit_code == 0
    assert done.stdout == recall_text(SHOWN[name]) + "\n"


def test_every_statement_of_the_store_names_the_tenant() -> None:
    without = {
        "find_tenant",
        "ensure_tenant",
        "claim_model",
        "find_model",
    }
    named = {name for name in statement_names() if "tenant_id" in query(name).as_string()}
    assert set(statement_names()) - named == without - {"find_tenant"}
