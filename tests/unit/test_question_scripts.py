import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.text.scripts import MOST_MARKS, is_unspaced, unify_forms


@pytest.mark.parametrize(
    "text",
    ["", "plain English, v2.10", "한국어 문장입니다", "Привет мир", "مرحبا", "12 ฿", "。、・"],
)
def test_other_text_has_blanks(text: str) -> None:
    assert not is_unspaced(text)


@pytest.mark.parametrize("text", ["用Python", "カメラ", "ｶﾒﾗ", "日々〇", "ฉันกิน", "ກິນ", "茶"])
def test_scripts_without_blanks_are_known(text: str) -> None:
    assert is_unspaced(text)


@given(st.lists(st.text("กが゙\u0e48\u0e38\u0301ｶﾞa", max_size=MOST_MARKS), max_size=4).map("ก".join))
def test_forms_are_unified_as_unicode_says(text: str) -> None:
    assert unify_forms(text) == unicodedata.normalize("NFKC", text)


def test_of_many_marks_in_a_row_each_thirty_are_put_in_order() -> None:
    marks = "\u0e48\u0e38" * 15
    assert unify_forms("ก" + 3 * marks) == "ก" + 3 * ("\u0e38" * 15 + "\u0e48" * 15)
