import dataclasses

import pytest

from memsense.search.profiles import BALANCED, MEMSENSE, Profile
from memsense.search.recall.run import TEXT_INDEXES
from memsense.search.recall.statement import Shape, recall_text


def test_the_profile_chooses_the_text_index() -> None:
    assert TEXT_INDEXES[BALANCED.lexical_mode].name == "bm25f"
    assert TEXT_INDEXES[MEMSENSE.lexical_mode].name == "ts_rank"


def test_bm25f_has_the_profiles_constants() -> None:
    profile = BALANCED.override(
        k1=0.9,
        b=0.4,
        weight_user=2.0,
        weight_assistant=0.5,
        weight_tag=3.0,
        weight_context=0.1,
        postings_budget=7,
    )
    assert TEXT_INDEXES[profile.lexical_mode].parameters(profile) == {
        "k1": 0.9,
        "b": 0.4,
        "weight_user": 2.0,
        "weight_assistant": 0.5,
        "weight_tag": 3.0,
        "weight_context": 0.1,
        "postings_budget": 7,
    }


@pytest.mark.parametrize("profile", [BALANCED, MEMSENSE], ids=lambda profile: profile.name)
def test_a_text_index_has_the_parameters_of_its_parts_of_the_recall_statement(
    profile: Profile,
) -> None:
    index = TEXT_INDEXES[profile.lexical_mode]
    text = recall_text(Shape(lexical=profile.lexical_mode))
    assert ("'ceiling'" in text) == (index.name == "bm25f")
    assert len(TEXT_INDEXES["bm25f"].constants) == 7
    for name in TEXT_INDEXES["bm25f"].constants:
        assert (f"%({name})s" in text) == (name in index.parameters(profile))


def test_every_lexical_mode_has_a_text_index() -> None:
    kinds = {field.name: field.type for field in dataclasses.fields(Profile)}
    assert "bm25f" in str(kinds["lexical_mode"])
    for mode in ("bm25f", "ts_rank"):
        assert TEXT_INDEXES[mode].name == mode
    assert len(TEXT_INDEXES) == 2
