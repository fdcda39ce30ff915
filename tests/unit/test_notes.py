"""A note is a text for everyone who shows it, and keeps its kind in every copy."""

import copy
import json
import pickle
from dataclasses import replace

import pytest

from memsense.search.hits import SearchResult
from memsense.types import Note

NOTE = Note("unknown user", "no user 'adda' is stored here; did you mean 'ada'?")


def test_a_note_is_its_text() -> None:
    assert NOTE == "no user 'adda' is stored here; did you mean 'ada'?"
    assert f"note: {NOTE}".startswith("note: no user 'adda'")
    assert type(str(NOTE)) is str
    assert json.loads(json.dumps({"notes": [NOTE]})) == {"notes": [str(NOTE)]}
    assert SearchResult(notes=[NOTE]).as_dict()["notes"] == [str(NOTE)]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_note_survives_pickling(protocol: int) -> None:
    again = pickle.loads(pickle.dumps(NOTE, protocol))  # noqa: S301 (its own bytes)
    assert (again, type(again), again.kind) == (NOTE, Note, "unknown user")


def test_a_note_survives_copies() -> None:
    result = SearchResult(notes=[NOTE])
    for again in (copy.copy(result), copy.deepcopy(result), replace(result, profile="lexical")):
        assert [note.kind for note in again.notes] == ["unknown user"]


@pytest.mark.parametrize("noun", ["user", "session", "agent", "tag"])
def test_a_recorded_note_on_an_unknown_user_is_known_again(noun: str) -> None:
    note = Note.unknown(noun, "adda", "; did you mean 'ada'?")
    assert note.kind == f"unknown {noun}"
    assert Note.read(str(note)).kind == ("unknown user" if noun == "user" else "recorded")
    assert Note.read(str(note)) == note
