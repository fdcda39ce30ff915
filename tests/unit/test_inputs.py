"""Types of the argument checks: accepted values, conversions, and errors for all others."""

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.client.verbs import Memory
from memsense.declaration import parameters_of, takes
from memsense.draft.drafting import Annotations
from memsense.errors import InvalidInputError
from memsense.ingest import ReadOptions
from memsense.inputs import (
    DEEPEST_JSON,
    Checker,
    ChunkId,
    ChunksAndMessages,
    Id,
    Ids,
    Limit,
    Metadata,
    Name,
    Note,
    Share,
    Switch,
    Text,
    Time,
    shorten,
)

FAR = timezone(timedelta(hours=23, minutes=59))


def nested(levels: int) -> dict[str, Any]:
    inner: Any = {}
    for _ in range(levels - 1):
        inner = {"a": inner}
    return inner


def read_argument(name: str, value: Any) -> Any:
    """The value as `search` reads it for this parameter."""
    return Checker(parameters_of(Memory.search)[name].type, name)(value)


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


JUNK: list[Any] = [
    None,
    True,
    2.5,
    float("nan"),
    b"abc",
    bytearray(b"abc"),
    object(),
    Unprintable(),
    10**400,
    -(10**5000),
    "x" * 100_000,
    "a\x00b",
    "a\ud800",
    "",
    nested(100_000),
    [[["a"]]],
    {1, 2},
    np.ones(3),
    date(2025, 1, 1),
]


@pytest.mark.parametrize("value", JUNK, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "kind",
    [Id, Name, Note, Ids, ChunksAndMessages, ChunkId, Limit, Share, Switch, Time, Metadata],
)
def test_a_type_takes_a_value_or_refuses_it_by_its_name(kind: Any, value: Any) -> None:
    told = "thing"
    try:
        Checker(kind, "thing")(value)
    except InvalidInputError as error:
        told = str(error)
    assert told.startswith("thing")
    assert len(told) < 300


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a\x00b", r"user_id holds a NUL character: 'a\\x00b'"),
        ("a\ud800", "user_id holds half a surrogate pair"),
        ("", "user_id is empty: ''"),
        (" \n", "user_id is empty"),
        ("x" * 501, "user_id is longer than 500 characters: 'xxx"),
        (True, "user_id must be a text or a whole number, not True"),
        (1.0, "user_id must be a text or a whole number, not 1.0"),
        (b"ada", "user_id must be a text or a whole number, not b'ada'"),
        (10**400, "user_id must be a text or a whole number of 64 bits, not a number of 1,329"),
    ],
)
def test_an_id_is_refused_with_what_came_and_what_is_taken(value: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        Checker(Id, "user_id")(value)


def test_a_whole_number_is_an_id_and_500_characters_are() -> None:
    read = Checker(Id, "user_id")
    assert (read(42), read(np.int64(42)), read("ä" * 500)) == ("42", "42", "ä" * 500)


def test_users_with_invalid_ids_are_not_merged() -> None:
    for user_id in ("a\x00", "a\ud800", "a\udfff"):
        with pytest.raises(InvalidInputError, match="user_id holds"):
            read_argument("user_id", user_id)


def test_a_text_is_cleaned() -> None:
    assert Checker(Text, "content")("a\x00b\ud800c") == "a\ufffdb\ufffdc"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"top_k": 2.5}, "top_k must be a whole number from 1 to 1,000, not 2.5"),
        ({"top_k": True}, "top_k must be a whole number from 1 to 1,000, not True"),
        ({"top_k": 0}, "top_k must be a whole number from 1 to 1,000, not 0"),
        ({"min_score": float("nan")}, "min_score must be a finite number, not nan"),
        ({"min_score": float("inf")}, "min_score must be a finite number, not inf"),
        ({"min_score": True}, "min_score must be a finite number, not True"),
        ({"min_score": "1.2"}, "min_score must be a finite number, not '1.2'"),
        ({"min_score": 10**400}, "min_score must be a finite number, not a number of 1,329 bits"),
        ({"tags": "abc"}, "tags must be a list, not 'abc'"),
        ({"exclude": "abc"}, "exclude must be a list, not 'abc'"),
        ({"exclude": [True]}, "exclude.0 must be a whole number"),
        ({"exclude": [""]}, "exclude.0 is empty"),
        ({"session_ids": "s1"}, "session_ids must be a list, not 's1'"),
        ({"session_ids": ["s1", ""]}, "session_ids.1 is empty"),
        ({"session_ids": ["s1", "a\x00"]}, "session_ids.1 holds a NUL character"),
        ({"kinds": ["stabel"]}, "kinds.0: input should be 'stable', .*, not 'stabel'"),
        ({"kinds": "stable"}, "kinds must be a list"),
        ({"metadata": [1]}, "metadata must be a mapping"),
        ({"metadata": {"a": {1, 2}}}, "metadata takes texts, numbers, .*, not {1, 2}"),
        ({"since": 17}, "since must be a datetime or an ISO 8601 text, not 17"),
        ({"since": "0001-01-01"}, "since must lie in the years 100 to 9899"),
        ({"until": datetime.max.replace(tzinfo=FAR)}, "until must lie in the years 100 to 9899"),
        (
            {"asked_at": datetime.min.replace(tzinfo=FAR)},
            "asked_at must lie in the years 100",
        ),
        ({"agent_id": 1.5}, "agent_id must be a text or a whole number"),
        ({"project": ""}, "project is empty"),
        ({"profile": 3}, "profile must be a profile or its name, not 3"),
        ({"overrides": [1]}, "overrides must be a mapping"),
        ({"query": 5}, "query must be a text, not 5"),
    ],
)
def test_a_search_says_which_argument_is_wrong(options: Mapping[str, Any], words: str) -> None:
    search: Any = Memory.search
    # Arguments are checked before the memory is used: only its meter is asked for.
    unused = SimpleNamespace(_context=SimpleNamespace(meter=None))
    with pytest.raises(InvalidInputError, match=words):
        search(unused, **{"query": "tea", "user_id": "ada", **options})


def test_numbers_of_another_library_are_numbers() -> None:
    assert read_argument("top_k", np.int64(3)) == 3
    assert read_argument("exclude", [np.int32(7), "m1"]) == (7, "m1")


def test_a_time_far_from_utc_is_the_moment_that_it_names() -> None:
    since = read_argument("since", datetime(2025, 1, 1, tzinfo=FAR))
    assert since == datetime(2024, 12, 31, 0, 1, tzinfo=UTC)
    assert since.utcoffset() == timedelta(0)


def test_the_moment_of_a_question_keeps_its_zone_whose_days_it_means() -> None:
    asked_at = datetime(2025, 1, 1, 1, tzinfo=timezone(timedelta(hours=9)))
    assert read_argument("asked_at", asked_at).day == 1


def test_the_moment_of_a_question_without_a_zone_stays_a_wall_clock() -> None:
    assert read_argument("asked_at", "2025-01-01T01:00") == datetime(2025, 1, 1, 1)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"a": {1}}, "metadata takes texts, numbers, True, False, None, lists and mappings, not"),
        ({"a": datetime(2025, 1, 1, tzinfo=UTC)}, "metadata takes texts"),
        ({"a": date(2025, 1, 1)}, "metadata takes texts"),
        ({"a": b"x"}, "metadata takes texts"),
        ({"a": float("nan")}, "metadata holds nan, which is no number of JSON"),
        ({"a": float("-inf")}, "metadata holds -inf, which is no number of JSON"),
        ({"a": 10**400}, "which is no number of JSON"),
        ({1: "a"}, "metadata holds the key 1; a key is a text"),
        ({"a\x00": 1}, "metadata holds the key"),
        (nested(100_000), "metadata is nested more than 32 levels deep"),
        ({"a": "x" * 1_000_001}, "metadata is too large: at most 1,000,000"),
        ("{}", "metadata must be a mapping, not '{}'"),
    ],
)
def test_metadata_is_what_json_can_hold_within_limits(metadata: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        Annotations(metadata=metadata)


def test_metadata_that_holds_itself_is_too_deep_and_one_that_multiplies_too_large() -> None:
    itself: dict[str, Any] = {}
    itself["a"] = itself
    shared: list[Any] = ["x"]
    for _ in range(DEEPEST_JSON - 2):
        shared = [shared] * 10
    for metadata in (itself, {"a": shared}):
        with pytest.raises(InvalidInputError, match="metadata is"):
            Annotations(metadata=metadata)


def test_metadata_of_the_deepest_kind_is_copied_and_its_texts_cleaned() -> None:
    given = {"deep": nested(DEEPEST_JSON - 1), "text": "a\x00", "pair": (1, 2.5), "n": np.int64(3)}
    read = Annotations(metadata=given).metadata
    assert read == {
        "deep": nested(DEEPEST_JSON - 1),
        "text": "a\ufffd",
        "pair": [1, 2.5],
        "n": 3,
    }
    assert read["deep"] is not given["deep"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc"), JSON, max_size=4))
def test_metadata_that_json_can_hold_comes_out_as_it_is(metadata: dict[str, Any]) -> None:
    assert Checker(Metadata, "metadata")(metadata) == metadata


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tags": "abc"}, "tags must be a list"),
        ({"tags": [3]}, "tags.0 must be a text, not 3"),
        ({"facets": {"mood": "x"}}, "facets has no facet 'mood'; there are personal_info, "),
        ({"facets": {"events": 3}}, "facets.events must be a text"),
        ({"memory_kind": "bogus"}, "memory_kind: input should be 'stable', .*, not 'bogus'"),
        ({"confidence": 2}, "confidence must be a number from 0 to 1, not 2"),
        ({"confidence": True}, "confidence must be a number from 0 to 1, not True"),
        ({"confidence": float("nan")}, "confidence must be a number from 0 to 1, not nan"),
        ({"agent_id": ""}, "agent_id is empty"),
        ({"task_tag": 5}, "task_tag must be a text"),
        ({"mood": 5}, "mood is unknown"),
    ],
)
def test_annotations_are_checked_when_they_are_made(options: Mapping[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        Annotations(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timezone": "Europe/Lisbon"}, "timezone: .*, not 'Europe/Lisbon'"),
        ({"date_order": "dym"}, "date_order: input should be"),
        ({"columns": "role=who"}, "columns must be a mapping"),
        ({"bots": 1}, "bots: input should be a valid boolean"),
    ],
)
def test_read_options_are_checked_when_they_are_created(
    options: Mapping[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        ReadOptions(**options)


def test_a_function_gets_its_arguments_checked_by_the_types_of_its_signature() -> None:
    @takes
    def join(name: Id, *rest: Id, sep: Name = "-") -> str:
        return sep.join([name, *rest])

    call: Callable[..., str] = join
    assert call(1, 2, "c", sep="+") == "1+2+c"
    with pytest.raises(InvalidInputError, match="name is empty"):
        call("")
    with pytest.raises(InvalidInputError, match="rest.1 is empty"):
        call("a", "b", "")
    with pytest.raises(TypeError, match="name"):
        call()


def test_an_unknown_argument_is_named_with_the_nearest_one() -> None:
    @takes
    def greet(name: Id, *, loudly: bool = False) -> str:
        return name if loudly else name.lower()

    call: Callable[..., str] = greet
    for kind in (InvalidInputError, TypeError):
        with pytest.raises(kind, match="loudli is unknown; did you mean 'loudly'"):
            call("Ada", loudli=True)
    with pytest.raises(InvalidInputError, match="loudly: input should be a valid boolean"):
        call("Ada", loudly=1)


def test_a_public_parameter_of_a_plain_type_is_a_programmers_mistake() -> None:
    def greet(name: str) -> str:
        return name

    with pytest.raises(TypeError, match="checks nothing"):
        takes(greet)


def test_help_shows_plain_types_and_every_parameter_with_its_text() -> None:
    shown = str(inspect.signature(Memory.search))
    assert "top_k: int = 8" in shown
    assert "Annotated" not in shown
    for name, parameter in parameters_of(Memory.search).items():
        assert parameter.text
        assert f"{name}: {parameter.text[:40]}" in " ".join((Memory.search.__doc__ or "").split())


@pytest.mark.parametrize("value", JUNK, ids=lambda value: type(value).__name__)
def test_any_value_is_shortened_for_an_error(value: Any) -> None:
    assert len(shorten(value)) <= 60
