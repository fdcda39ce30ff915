import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.text.scripts import MOST_MARKS, is_unspaced, segment_scripts, unify_forms

UNSPACED = st.text("中国人東京に行きたいカメラไทยพูดได้ລາວខ្មែរမြန်မာ", min_size=1)


@pytest.mark.parametrize(
    ("text", "segmented"),
    [
        ("我喜欢喝绿茶", "我喜 喜欢 欢喝 喝绿 绿茶"),
        ("我 喜欢茶。很好!", "我 喜欢 欢茶 。 很好 !"),
        ("東京に行った", "東京 京に に行 行っ った"),
        ("カメラを買う", "カメ メラ ラを を買 買う"),
        ("ｶﾒﾗ", "カメ メラ"),
        ("日々〇", "日々 々〇"),
        ("用Python写代码v2", "用 Python 写代 代码 v2"),
        ("ฉันกิน", "ฉัน นกิ กิน"),
        ("ກິນ", "ກິນ"),
        ("茶", "茶"),
    ],
)
def test_scripts_without_blanks_are_cut_into_pairs(text: str, segmented: str) -> None:
    assert segment_scripts(text) == segmented


@pytest.mark.parametrize(
    "text",
    ["", "plain English, v2.10", "한국어 문장입니다", "Привет мир", "مرحبا", "12 ฿", "。、・"],
)
def test_other_text_is_returned_as_it_is(text: str) -> None:
    assert segment_scripts(text) is text
    assert not is_unspaced(text)


@given(st.text())
def test_cutting_twice_changes_nothing_more(text: str) -> None:
    once = segment_scripts(text)
    assert segment_scripts(once) == once


@given(UNSPACED, UNSPACED, UNSPACED)
def test_a_phrase_of_two_letters_or_more_is_found_inside_a_sentence(
    before: str, phrase: str, after: str
) -> None:
    """The pairs of letters inside it are words of the sentence, whatever precedes or follows it."""
    asked = segment_scripts(phrase).split()
    told = segment_scripts(before + phrase + after).split()
    assert set(asked[1:-1]) <= set(told)


@given(st.text("中国人東京", min_size=2))
def test_a_run_of_n_letters_gives_n_minus_one_pairs(run: str) -> None:
    assert segment_scripts(run).split() == [run[i : i + 2] for i in range(len(run) - 1)]


def test_marks_stay_with_their_letter() -> None:
    assert segment_scripts("ที่นี่") == "ที่นี่"
    assert segment_scripts("ที่นี่ดี") == "ที่นี่ นี่ดี"


@given(st.lists(st.text("กが゙\u0e48\u0e38\u0301ｶﾞa", max_size=MOST_MARKS), max_size=4).map("ก".join))
def test_forms_are_unified_as_unicode_says(text: str) -> None:
    assert unify_forms(text) == unicodedata.normalize("NFKC", text)


def test_of_many_marks_in_a_row_each_thirty_are_put_in_order() -> None:
    marks = "\u0e48\u0e38" * 15
    assert unify_forms("ก" + 3 * marks) == "ก" + 3 * ("\u0e38" * 15 + "\u0e48" * 15)
