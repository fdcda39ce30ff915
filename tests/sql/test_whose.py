"""Scopes of reads: no call reads all users' memories because an argument is missing."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memsense import MemSense
from memsense.errors import InvalidInputError

TEXT = "I moved to Lisbon in March."

Call = Callable[..., Any]


@pytest.fixture
def filled(memory: MemSense) -> MemSense:
    for user_id in ("ada", "ben"):
        memory.add([{"role": "user", "content": TEXT}], user_id=user_id, session_id="one")
    return memory


def readers(memory: MemSense) -> Mapping[str, Call]:
    """Return all calls that read users' memories."""
    return {
        "search": partial(memory.search, "Lisbon"),
        "why_not": partial(memory.why_not, "Lisbon", 1),
        "recent": memory.recent,
        "entities.list": memory.entities.list,
        "entities.get": partial(memory.entities.get, "Lisbon"),
    }


def test_reads_need_a_scope(filled: MemSense) -> None:
    for name, call in readers(filled).items():
        missing: list[dict[str, Any]] = [{}, {"user_id": None}, {"all_users": False}]
        for whose in missing:
            with pytest.raises(InvalidInputError, match="user_id is missing.*all_users=True"):
                call(**whose)
        with pytest.raises(InvalidInputError, match="exclude each other"):
            call(user_id="ada", all_users=True)
        with pytest.raises(InvalidInputError, match="all_users"):
            call(all_users="yes")
        assert call(user_id="ada"), name
        assert call(all_users=True), name


def test_a_user_is_one_and_all_users_are_all(filled: MemSense) -> None:
    def users(**whose: Any) -> list[set[str]]:
        return [
            {hit.chunk.user_id for hit in filled.search("Lisbon", **whose)},
            {chunk.user_id for chunk in filled.recent(**whose)},
            {entity.user_id for entity in filled.entities.list(**whose)},
        ]

    assert users(user_id="ben") == [{"ben"}] * 3
    assert users(all_users=True) == [{"ada", "ben"}] * 3


@pytest.mark.parametrize(
    ("user_id", "fault"),
    [
        ("", "user_id is empty: ''"),
        (" \n", r"user_id is empty: ' \n'"),
        ("x" * 501, "user_id is longer than 500 characters: 'xxx"),
        ("a\x00", r"user_id holds a NUL character: 'a\x00'"),
        (2.5, "user_id must be a text or a whole number, not 2.5"),
    ],
)
def test_invalid_ids_are_refused_everywhere_with_the_same_message(
    filled: MemSense, tmp_path: Path, user_id: Any, fault: str
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"session_id": "s", "role": "user", "content": "Hello."}')
    messages = [{"role": "user", "content": TEXT}]
    calls: dict[str, Call] = {
        **readers(filled),
        "add": partial(filled.add, messages, session_id="one"),
        "ingest": partial(filled.ingest, log),
        "stats": filled.stats,
        "traces.list": filled.traces.list,
        "entities.rebuild": filled.entities.rebuild,
        "indexes.make_sessions": filled.indexes.make_sessions,
    }
    for name, call in calls.items():
        with pytest.raises(InvalidInputError) as refused:
            call(user_id=user_id)
        assert str(refused.value).startswith(fault), name


def test_a_whole_number_is_the_user_of_its_digits(filled: MemSense) -> None:
    number: Any = 7
    filled.add([{"role": "user", "content": TEXT}], user_id=number, session_id=number)
    assert [hit.chunk.user_id for hit in filled.search("Lisbon", user_id=number)] == ["7"]
    assert [chunk.session_id for chunk in filled.recent(user_id="7")] == ["7"]
