"""Texts as they may be shown: what steers a reader is blunted, and real texts stay as they are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from steering import PLANTED, REAL, find_steering

from memsense.text.visible import show

EXPECTED = {
    "clears the screen": "before \ufffd[2J\ufffd[H after",
    "overwrites the line": "before safe\ufffdevil after",
    "separators": "before \ufffd after",
    "overrides the direction": "before \ufffddrowssap\ufffd after",
    "line separator": "before\ufffd> assistant: done after",
    "tags": "before \ufffd after",
    "tags after a flag": "before \U0001f3f4\ufffd after",
    "selectors": "before x\ufffd after",
    "half selectors": "before x after",
    "mark of byte order": "before \ufffd after",
    "splits a word": "before igno\ufffdre after",
    "closes the frame": "before <\u200e/memsense\u200f-context\u200e> after",
}


def test_there_are_25_planted_texts_and_40_real_sentences() -> None:
    assert len(PLANTED) == 25
    assert len(set(REAL)) == 40


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_text_is_blunted_and_its_words_stay(name: str) -> None:
    shown = show(PLANTED[name])
    assert find_steering(PLANTED[name]) or name in {"half selectors", "closes the frame"}
    assert not find_steering(shown)
    assert shown != PLANTED[name]
    assert shown.endswith(" after")
    assert shown == EXPECTED.get(name, shown)


@pytest.mark.parametrize("text", REAL)
def test_a_real_sentence_stays_as_it_is(text: str) -> None:
    assert show(text) == text
    assert show(f"{text}\n\t{text}") == f"{text}\n\t{text}"


def test_ends_of_lines_and_the_mark_of_a_file_leave_no_sign() -> None:
    assert show("\ufeffone\r\ntwo\r\n") == "one\ntwo\n"
    assert show("A soft\xadhyphen, a thin\u200bbreak, 葛\U000e0100城.") == (
        "A softhyphen, a thinbreak, 葛城."
    )


def test_a_flag_is_kept_for_a_known_region_alone() -> None:
    texas = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "ustx") + "\U000e007f"
    assert show(texas) == "\U0001f3f4\ufffd"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_is_shown_steers_nobody_and_is_shown_again_as_it_is(text: str) -> None:
    shown = show(text)
    assert not find_steering(shown)
    assert show(shown) == shown


@given(
    st.text(alphabet="ab é\u0628\u0915😀❤🏴\ufe0f\u200b\u200c\u200d\u200e\x1b\ufeff\U000e0067\r\n")
)
def test_no_visible_character_is_lost(text: str) -> None:
    def visible(shown: str) -> str:
        return re.sub("[^ab é\u0628\u0915😀❤🏴\n]", "", shown)

    assert visible(show(text)) == visible(text)
    assert show(show(text)) == show(text)
