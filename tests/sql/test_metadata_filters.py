"""Filters of metadata with operators: each finds what the same condition in Python keeps."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from memsense import MemSense
from memsense.errors import InvalidInputError

MISSING = object()
QUESTION = "Which note?"

STORED: Mapping[str, dict[str, Any]] = {
    "apple": {"priority": 1, "topic": "garden", "tags": ["a", "b"], "author": {"name": "Ada"}},
    "birch": {"priority": 3, "topic": "kitchen", "done": True, "tags": ["b", 3]},
    "cedar": {"priority": 3.0, "topic": "Garden path", "done": False, "author": {"age": 36}},
    "daisy": {"priority": 8, "topic": None, "tags": [], "author": {"name": "Ben", "age": 50}},
    "elder": {"priority": "3", "topic": 'a "quoted" $v0 . text', "done": 1},
    "ferns": {"priority": [1, 3], "topic": ["garden"], "author": "Ada"},
    "grape": {"topic": "garden", "due": "2026-03-01", "a.b": 1, 'it\'s "x"': "y"},
    "hazel": {"due": "2026-11-20", "author": {"name": "Ada", "age": 20}, "or": "else"},
    "ivies": {"priority": -2.5, "topic": "Gärten ☕", "in": 3, "not": {"x": 1}},
    "jujub": {},
}

Row = Any


def at(row: Row, *path: str) -> Any:
    """Return the value at a path, MISSING if there is none."""
    for key in path:
        try:
            row = row[key]
        except (KeyError, TypeError):  # no such key, or no object
            return MISSING
    return row


def same(one: Any, other: Any) -> bool:
    """Return whether two single values are equal as JSON: 1 is neither true nor "1"."""
    kinds = [isinstance(it, bool) for it in (one, other)]
    return kinds[0] == kinds[1] and one == other


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Case:
    """A filter, and the same in Python."""

    metadata: dict[str, Any]
    keeps: Callable[[Row], bool]


CASES = [
    Case({"priority": {"eq": 3}}, lambda row: same(at(row, "priority"), 3)),
    Case({"priority": {"$eq": "3"}}, lambda row: same(at(row, "priority"), "3")),
    Case({"topic": {"eq": None}}, lambda row: at(row, "topic") is None),
    Case({"done": {"eq": True}}, lambda row: at(row, "done") is True),
    Case({"priority": {"ne": 3}}, lambda row: not same(at(row, "priority"), 3)),
    Case({"topic": {"$ne": "garden"}}, lambda row: at(row, "topic") != "garden"),
    Case(
        {"priority": {"gt": 1}},
        lambda row: is_number(at(row, "priority")) and row["priority"] > 1,
    ),
    Case(
        {"priority": {"$gte": 3, "$lt": 8}},
        lambda row: is_number(at(row, "priority")) and 3 <= row["priority"] < 8,
    ),
    Case(
        {"priority": {"lt": 3}}, lambda row: is_number(at(row, "priority")) and row["priority"] < 3
    ),
    Case(
        {"priority": {"lte": 3.0}},
        lambda row: is_number(at(row, "priority")) and row["priority"] <= 3,
    ),
    Case(
        {"due": {"gte": "2026-06-01"}},
        lambda row: isinstance(at(row, "due"), str) and row["due"] >= "2026-06-01",
    ),
    Case(
        {"priority": {"in": [8, "3", None]}},
        lambda row: any(same(at(row, "priority"), it) for it in (8, "3", None)),
    ),
    Case({"topic": {"in": []}}, lambda _: False),
    Case(
        {"priority": {"$nin": [1, 3]}},
        lambda row: not any(same(at(row, "priority"), it) for it in (1, 3)),
    ),
    Case({"topic": {"exists": True}}, lambda row: at(row, "topic") is not MISSING),
    Case({"author": {"$exists": False}}, lambda row: at(row, "author") is MISSING),
    Case(
        {"tags": {"contains": 3}},
        lambda row: isinstance(at(row, "tags"), list) and any(same(it, 3) for it in row["tags"]),
    ),
    Case(
        {"topic": {"contains": "arden"}},
        lambda row: isinstance(at(row, "topic"), str) and "arden" in row["topic"],
    ),
    Case(
        {"topic": {"contains": '"quoted" $v0 .'}},
        lambda row: isinstance(at(row, "topic"), str) and '"quoted" $v0 .' in row["topic"],
    ),
    Case(
        {"author": {"name": "Ada", "age": {"gt": 18}}},
        lambda row: (
            at(row, "author", "name") == "Ada"
            and is_number(at(row, "author", "age"))
            and row["author"]["age"] > 18
        ),
    ),
    Case(
        {"or": [{"priority": {"gt": 5}}, {"topic": "garden", "tags": ["a"]}]},
        lambda row: (
            (is_number(at(row, "priority")) and row["priority"] > 5)
            or (at(row, "topic") == "garden" and "a" in (row.get("tags") or ()))
        ),
    ),
    Case(
        {"$not": {"author": {"name": "Ada"}}, "priority": {"exists": True}},
        lambda row: at(row, "author", "name") != "Ada" and "priority" in row,
    ),
    Case(
        {"AND": [{"topic": {"contains": "a"}}, {"NOT": [{"done": True}, {"done": False}]}]},
        lambda row: (
            isinstance(at(row, "topic"), (str, list))
            and "a" in row["topic"]
            and not isinstance(at(row, "done"), bool)
        ),
    ),
    Case(
        {"a.b": {"eq": 1}, 'it\'s "x"': {"in": ["y"]}},
        lambda row: same(at(row, "a.b"), 1) and at(row, 'it\'s "x"') == "y",
    ),
    # Not operators: keys that are called so, and nested metadata.
    Case({"or": "else"}, lambda row: at(row, "or") == "else"),
    Case({"author": {"name": "Ada"}}, lambda row: at(row, "author", "name") == "Ada"),
    Case({"author": {}}, lambda row: isinstance(at(row, "author"), dict)),
    Case({}, lambda _: True),
]


@pytest.fixture(scope="module")
def memory(module_database_url: str) -> Generator[MemSense]:
    """Yield a memory with a note for each of `STORED`, and as many of another user."""
    with MemSense.open(module_database_url, embedder=None) as opened:
        for user in ("ada", "ben"):
            for word, metadata in STORED.items():
                said = {"role": "user", "content": f"A note about the {word}."}
                opened.add([said], user_id=user, session_id=word, metadata=metadata)
        yield opened


def words_of(texts: list[str]) -> set[str]:
    return {word for word in STORED for text in texts if word in text}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.metadata))
def test_each_verb_finds_what_the_condition_in_python_keeps(memory: MemSense, case: Case) -> None:
    expected = {word for word, metadata in STORED.items() if case.keeps(metadata)}
    asked: dict[str, Any] = {"user_id": "ada", "metadata": case.metadata}
    [many] = memory.search_many([QUESTION], top_k=20, **asked)
    context = memory.context(QUESTION, max_tokens=2_000, silence=0, **asked)

    assert words_of([hit.content for hit in memory.search(QUESTION, top_k=20, **asked)]) == expected
    assert words_of([hit.content for hit in many]) == expected
    assert words_of([context]) == expected
    listed = list(memory.list(limit=20, **asked))
    assert words_of([chunk.content for chunk in listed]) == expected
    for chunk in memory.list(user_id="ada", limit=20):
        verdict = memory.why_not(QUESTION, chunk.chunk_id, top_k=20, **asked)
        is_out = verdict.numbers.get("filters") == ["metadata"]
        assert is_out != (words_of([chunk.content]) <= expected)


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"priority": {"$regex": "x"}}, r"unknown operator '\$regex'; known are eq, ne, gt, gte"),
        ({"$nor": []}, r"unknown operator '\$nor'.*at the top and, or, not"),
        ({"author": {"name": {"$or": []}}}, r"unknown operator '\$or'"),
        ({"tags": [{"$gt": 1}]}, r"unknown operator '\$gt'"),
        ({"priority": {"$gt": 1, "x": 2}}, r"holds 'x' next to the operator '\$gt'"),
        ({"priority": {"gt": True}}, "'gt' with True; it takes a number or a text"),
        ({"priority": {"in": 3}}, "'in' with 3; it takes a list"),
        ({"priority": {"exists": 1}}, "'exists' with 1; it takes true or false"),
        ({"author": {"eq": {"name": "Ada"}}}, "write it without an operator"),
        ({"$or": {"priority": 1}}, "it takes a list of filters"),
        ({"or": [{"tags": [[1]]}]}, "within a join"),
        ({"and": [{f"k{n}": {"eq": n}} for n in range(101)]}, "more than 100 conditions"),
        (
            {"not": {"a": {"in": [*range(600)]}, "b": {"nin": [*range(401)]}}},
            "more than 1,000 values",
        ),
    ],
)
def test_a_wrong_filter_is_an_error_that_says_what_is_known(
    memory: MemSense, metadata: dict[str, Any], text: str
) -> None:
    for ask in (memory.search, memory.context):
        with pytest.raises(InvalidInputError, match=f"metadata.*{text}"):
            ask(QUESTION, user_id="ada", metadata=metadata)
    with pytest.raises(InvalidInputError, match=text):
        memory.list(user_id="ada", metadata=metadata)


def test_an_empty_answer_says_that_a_value_has_another_type(memory: MemSense) -> None:
    def notes(metadata: dict[str, Any]) -> list[str]:
        found = memory.search(QUESTION, user_id="ada", metadata=metadata)
        assert not found.hits
        return [note for note in found.notes if note.kind == "filters"]

    assert notes({"topic": {"gt": 7}}) == [
        "topic is a text in 6 memories, and the filter asks for a number",
        "topic is a list in 1 memory, and the filter asks for a number",
        "topic is null in 1 memory, and the filter asks for a number",
    ]
    assert notes({"due": 20260301}) == [
        "due is a text in 2 memories, and the filter asks for a number"
    ]
    assert notes({"or": [{"due": {"in": [7, True]}}]}) == [
        "due is a text in 2 memories, and the filter asks for a number or true or false"
    ]
    assert len(notes({"priority": {"gt": 100}})) == 2
    assert notes({"author": {"age": {"gt": 100}}}) == [
        "author is a text in 1 memory, and the filter asks for an object"
    ]
    assert not notes({"nowhere": {"eq": 1}})


def test_containment_can_use_an_index_and_conditions_can_not_change_that(
    memory: MemSense, module_database_url: str
) -> None:
    from memsense.db.queries import as_sql
    from memsense.search.request import Filters
    from memsense.store.conditions import join_conditions

    del memory
    text = f"EXPLAIN SELECT FROM memsense.chunks AS c WHERE {join_conditions(['metadata'])}"
    with psycopg.connect(module_database_url) as connection:
        connection.execute("CREATE INDEX ON memsense.chunks USING gin (metadata jsonb_path_ops)")
        connection.execute("SET LOCAL enable_seqscan = off")
        for metadata in ({"topic": "garden"}, {"topic": "garden", "priority": {"gt": 0}}):
            rows = connection.execute(as_sql(text), Filters(metadata=metadata).parameters())
            plan = "\n".join(row[0] for row in rows)
            assert "Bitmap Index Scan on chunks_metadata_idx" in plan
            # Without operators, the plan has no condition of them at all.
            assert ("jsonb_path_exists" in plan) == ("priority" in metadata)
        connection.rollback()
