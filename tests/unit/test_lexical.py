import dataclasses

import pytest

from memsense.search.profiles import BALANCED, MEMSENSE, Profile
from memsense.search.recall.lexical import Bm25f, TsRank, text_index
from memsense.search.recall.statement import Shape, recall_text


def test_the_profile_chooses_the_text_index() -> None:
    assert isinstance(text_index(BALANCED), Bm25f)
    assert isinstance(text_index(MEMSENSE), TsRank)


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
    assert text_index(profile).parameters() == {
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
    index = text_index(profile)
    text = recall_text(Shape(lexical=profile.lexical_mode))
    assert ("'ceiling'" in text) == index.has_ceiling
    for name in Bm25f.of(profile).parameters():
        assert (f"%({name})s" in text) == (name in index.parameters())


def test_every_lexical_mode_has_a_text_index() -> None:
    kinds = {field.name: field.type for field in dataclasses.fields(Profile)}
    assert "bm25f" in str(kinds["lexical_mode"])
    for mode in ("bm25f", "ts_rank"):
        assert text_index(BALANCED.override(lexical_mode=mode)).name == mode
