import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.search.question import analyse_question, fold_blanks
from memsense.search.question.names import find_names

PLAIN_WORDS = st.sampled_from(
    [
        "what",
        "did",
        "she",
        "buy",
        "when",
        "the",
        "dog",
        "ran",
        "may",
        "march",
        "will",
        "mark",
        "version",
        "v2.10",
        "PROJ-2023",
        "to",
        "a",
        "Lisbon?",
        "report,",
        "user",
        "assistant's",
        "bus-stop",
        "art",
        "mayor",
        "marching",
        "decent",
    ]
)
BLANKS = st.sampled_from([" ", "  ", " \n"])
SPEAKERS = ["Caroline Smith", "Bob", "user", "A", "Will"]
ASKED_AT = datetime(2023, 6, 14, 12, tzinfo=UTC)


@given(st.lists(st.tuples(PLAIN_WORDS, BLANKS)))
def test_a_question_without_name_or_date_is_searched_for_as_it_is(
    parts: list[tuple[str, str]],
) -> None:
    text = "".join(word + blank for word, blank in parts)
    question = analyse_question(text, speakers=SPEAKERS, asked_at=ASKED_AT)
    assert question.search_text == text
    assert question.named_speakers == ()
    assert question.intervals == ()


@given(st.text())
def test_any_text_without_speakers_is_searched_for_as_it_is(text: str) -> None:
    question = analyse_question(text, asked_at=ASKED_AT)
    assert question.text == question.search_text == text


@given(st.text(), st.lists(st.text(max_size=10), max_size=4))
def test_any_text_and_speakers_can_be_analysed(text: str, speakers: list[str]) -> None:
    question = analyse_question(text, speakers=speakers, asked_at=ASKED_AT)
    assert set(question.named_speakers) <= set(speakers)
    if not question.named_speakers:
        assert question.search_text == text
    for found in question.intervals:
        assert text[slice(*found.span)] == found.text
        assert found.first <= found.last


@pytest.mark.parametrize(
    ("text", "search_text", "named"),
    [
        ("When did Caroline move to Oslo?", "When did move to Oslo?", ("Caroline Smith",)),
        ("when did caroline move to oslo?", "when did move to oslo?", ("Caroline Smith",)),
        ("Where is Caroline Smith's red bike?", "Where is red bike?", ("Caroline Smith",)),
        ("Where is Caroline\u2019s red bike?", "Where is red bike?", ("Caroline Smith",)),
        ("Caroline, which tea tastes best?", "which tea tastes best?", ("Caroline Smith",)),
        ("What tea was bought for Bob?", "What tea was bought for?", ("Bob",)),
        (
            "Did BOB and Caroline both like sailing?",
            "Did and both like sailing?",
            ("Bob", "Caroline Smith"),
        ),
        ("Which boat is (Bob's)?", "Which boat is ()?", ("Bob",)),
    ],
)
def test_names_are_taken_out_of_what_is_searched_for(
    text: str, search_text: str, named: tuple[str, ...]
) -> None:
    question = analyse_question(text, speakers=SPEAKERS)
    assert question.text == text
    assert (question.search_text, question.named_speakers) == (search_text, named)


@pytest.mark.parametrize(
    "text", ["Who is Caroline?", "What did Bob say?", "Caroline Smith", "Bob's"]
)
def test_a_question_that_is_nothing_but_a_name_keeps_it(text: str) -> None:
    question = analyse_question(text, speakers=SPEAKERS)
    assert question.search_text == text
    assert len(question.named_speakers) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Which bobsleigh did we rent?",
        "Who sang Sweet Carolines?",
        "What should the user or the assistant do?",
        "What is vitamin A good for?",
        "Which smith repaired the gate?",
        "Who will pay, and who would?",
        "Will the train stop?",
    ],
)
def test_other_words_are_not_names(text: str) -> None:
    question = analyse_question(text, speakers=SPEAKERS)
    assert question.search_text == text
    assert question.named_speakers == ()


@pytest.mark.parametrize("text", ["Where does Will work?", "Will's train, does it stop?"])
def test_a_name_that_is_also_a_word_counts_where_only_a_name_fits(text: str) -> None:
    assert analyse_question(text, speakers=SPEAKERS).named_speakers == ("Will",)


def test_a_first_name_that_two_speakers_share_names_both() -> None:
    question = analyse_question("What does Ann Lee or Ann cook?", speakers=["Ann Lee", "Ann Berg"])
    assert question.named_speakers == ("Ann Lee", "Ann Berg")
    assert question.search_text == "What does or cook?"


def test_a_title_is_not_a_first_name() -> None:
    question = analyse_question("What did dr and Jane prescribe?", speakers=["Dr. Jane Roe"])
    assert question.search_text == "What did dr and prescribe?"


def test_names_in_scripts_without_blanks_are_found_inside_the_sentence() -> None:
    question = analyse_question("李明什么时候去了东京?", speakers=["李明", "王芳"])
    assert question.named_speakers == ("李明",)
    assert question.search_text == "什么时候去了东京?"


def test_a_speaker_called_june_does_not_take_the_month_away() -> None:
    question = analyse_question("What did June paint in June 2023?", speakers=["June"])
    assert question.search_text == "What did paint in June 2023?"
    assert [found.text for found in question.intervals] == ["June 2023"]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('Who read "The Tin Drum" first?', ("The Tin Drum",)),
        ("Who read \u201cThe Tin Drum\u201d and 'Emma'?", ("The Tin Drum", "Emma")),
        ("Who read «Война и мир»?", ("Война и мир",)),
        ("「東京物語」は誰が見た?", ("東京物語",)),
        ("Whose dog's toys aren't in the dogs' box?", ()),
        ("Did 'Charlotte's Web' please them?", ("Charlotte's Web",)),
        ('An inch is 1" and a foot', ()),
        ('Nothing in " " here', ()),
    ],
)
def test_quoted_terms_are_found_without_their_marks(text: str, quoted: tuple[str, ...]) -> None:
    assert analyse_question(text).quoted == quoted


def test_a_name_within_a_quotation_stays() -> None:
    question = analyse_question('Did Bob read "Bob the Builder"?', speakers=["Bob"])
    assert question.search_text == 'Did read "Bob the Builder"?'


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=8))
def test_names_stay_where_they_overlap_a_protected_span(protected: list[tuple[int, int]]) -> None:
    spans = [(start, start + length) for start, length in protected]
    names = [(start, start + 3) for start in range(0, 40, 4)]
    outside = [
        (start, end) for start, end in names if not any(s < end and start < e for s, e in spans)
    ]
    assert list(find_names("Bob " * 10, ["Bob"], spans).spans) == outside


def test_a_name_in_a_quotation_stays_even_where_the_quotation_counts_no_more() -> None:
    text = "".join(f'"{n}" ' for n in range(20)) + '"Bob the Builder"'
    question = analyse_question(text, speakers=["Bob"])
    assert len(question.quoted) == 16
    assert question.search_text == text


def test_the_first_dates_of_a_question_count() -> None:
    dates = analyse_question("; ".join(f"{day} May 2023" for day in range(1, 29))).intervals
    assert [found.first.day for found in dates] == list(range(1, 17))


@given(st.text(st.sampled_from("ab. \n\t\u3000")))
def test_folding_leaves_the_words_and_one_blank_between_them(text: str) -> None:
    folded = fold_blanks(text)
    assert folded.split() == text.split()
    assert len(folded) == len(" ".join(text.split()))
    assert folded.count("\n") == len(re.findall(r"(?<=\S)[^\S\n]*\n\s*(?=\S)", text))
    assert fold_blanks(folded) == folded


@given(st.lists(PLAIN_WORDS).map(" ".join))
def test_folding_leaves_an_ordinary_question_as_it_is(text: str) -> None:
    assert fold_blanks(text) == text


def test_times_are_read_in_any_language() -> None:
    text = "Est-ce que le 7 mai 2023 va bien?"
    for language in ("english", "french"):
        (interval,) = analyse_question(text, language=language).intervals
        assert interval.text == "7 mai 2023"
