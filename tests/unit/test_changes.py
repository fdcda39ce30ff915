"""Statements of changes, the tense of questions, and questions about the user."""

import pytest

from memsense.draft.supersession import COUNTER_SIGNS, compare
from memsense.search.question import analyse_question
from memsense.search.question.asker import ask_as_user, names_of
from memsense.search.question.tense import find_end, find_tense
from memsense.text.changes import read_statement


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("I no longer work there.", "no longer"),
        ("We've switched from MySQL to PostgreSQL.", "switched"),
        ("They have brought the report forward to April.", "brought the report forward"),
        ("They brought it all the way out of the far south forward.", ""),
        ("I have a dog called Bolt.", ""),
        ("My brother works in a vineyard now.", ""),
    ],
)
def test_words_that_end_something_are_found_as_they_stand(text: str, end: str) -> None:
    assert read_statement(text).kinds.get("end", "") == end


def test_a_statement_has_words_values_and_owners() -> None:
    statement = read_statement("My mother's birthday is on 19 October, I need ideas as well.")
    assert statement.words == {"mother", "birthday", "19", "october", "need", "idea", "well"}
    assert statement.values == {("19", "number"), ("october", "month")}
    assert statement.kinds["owner"] == "mother's"
    assert statement.kinds["addition"] == "as well"


def test_a_story_from_before_and_a_question_are_no_news() -> None:
    assert "story" in read_statement("When I lived in Oslo, the fjord froze over.").kinds
    assert read_statement("Should I move to Oslo?").is_question
    assert not read_statement("Should I move? I have decided, I will.").is_question


@pytest.mark.parametrize(
    ("older", "newer", "question", "proof", "signs"),
    [
        ("We lint with ruff.", "We dropped ruff.", "How do we lint?", "ended: “dropped” ruff", ""),
        (
            "The limit is at 300.", "The limit is at 400 now.", "What is the limit?",
            "again: 300 -> 400", "",
        ),
        ("I live in Bern.", "Is Basel nicer to live in?", "Where do I live?", "", "asks"),
        ("I live in Bern.", "I still live in Bern.", "Where do I live?", "", "unchanged"),
        ("I live in Bern.", "I might live in Basel.", "Where do I live?", "", "plan"),
        ("I live in Bern.", "Just for today I live in Basel.", "Where do I live?", "", "exception"),
        ("I have a cat.", "I also have a dog.", "Which pets do I have?", "", "addition"),
        ("I live in Bern.", "My sister lives in Basel.", "Where do I live?", "", "owner"),
        ("The web port is 80.", "The mail port is 25.", "What is the web port?", "", "foreign"),
    ],
)  # fmt: skip
def test_a_change_is_proven_by_its_words_and_ruled_out_by_counter_signs(
    older: str, newer: str, question: str, proof: str, signs: str
) -> None:
    statements = map(read_statement, (older, newer, question))
    comparison = compare(*statements, cosine=0.8)
    found = [sign for sign in COUNTER_SIGNS if getattr(comparison.evidence, sign)]
    assert (comparison.proof, found) == (proof, [signs] if signs else [])
    assert comparison.is_ruled_out == bool(signs)


@pytest.mark.parametrize(
    ("older", "newer", "question", "is_about_same"),
    [
        ("The web port is 80.", "The web port is 90 now.", "What is the web port?", True),
        ("The web port is 80.", "The port is 90 now.", "What is the web port?", True),
        ("The web port is 80.", "The limit is 90 now.", "What is the web port?", False),
        ("We lint with ruff.", "We dropped ruff.", "How do we lint?", True),
        ("I live in Bern.", "I moved to Basel.", "Where do I live?", True),
        ("Bern is lovely.", "Basel is louder.", "Where do I live?", False),
    ],
)
def test_a_newer_statement_is_about_the_same_by_its_words_or_by_what_it_ends(
    older: str, newer: str, question: str, *, is_about_same: bool
) -> None:
    comparison = compare(*map(read_statement, (older, newer, question)), cosine=0.8)
    assert comparison.is_about_same == is_about_same


@pytest.mark.parametrize(
    ("question", "tense"),
    [
        ("Where do I live?", "now"),
        ("What heats our home?", "now"),
        ("What’s my bank?", "now"),
        ("How many interviews have I secured?", "now"),
        ("Where did I live before Bern?", "early"),
        ("What was my first job?", "early"),
        ("Who used to be my dentist?", "early"),
        ("What did I start with?", "early"),
        ("What was my record until the race in Bern?", "early"),
        ("What did I do until five?", ""),
        ("When did I start at Acme?", ""),
        ("What did Ann buy for the party?", ""),
        ("Which tablet gave me the cough?", ""),
        ("Was trinke ich morgens?", ""),
        ("¿Dónde vivo?", ""),
    ],
)
def test_a_question_asks_for_now_for_early_or_for_neither(question: str, tense: str) -> None:
    assert find_tense(question) == tense


@pytest.mark.parametrize(
    ("question", "end"),
    [
        ("Where did I live before I came to Bern?", "I came to Bern?"),
        ("What was my record until the race in Bern?", "the race in Bern?"),
        ("Where did I live before?", ""),
        ("What did I do until five?", ""),
    ],
)
def test_a_question_may_say_what_ended_the_time_it_asks_about(question: str, end: str) -> None:
    assert find_end(question) == end


def test_a_question_with_a_date_has_no_tense() -> None:
    assert analyse_question("Where do I live in May 2024?").tense == ""
    assert analyse_question("Where do I live?").tense == "now"
    assert analyse_question("Where do I live?", language="german").tense == ""


@pytest.mark.parametrize(
    ("asked", "searched"),
    [
        ("Where does Ines live?", "Where do I live?"),
        ("What is Ines's job?", "What is my job?"),
        ("When is Ines' birthday?", "When is my birthday?"),
        ("Where does Ines Harkema live?", "Where do I live?"),
        ("Is she a vegetarian?", "am I a vegetarian?"),
        ("What has she been reading?", "What have I been reading?"),
        ("Who called her yesterday?", "Who called me yesterday?"),
        ("What's the name of the user's dog?", "What's the name of my dog?"),
        ("Where does Ines work, and what is her role?", "Where do I work, and what is my role?"),
        # Somebody else is meant, or may be.
        ("Where does Rosa live, and is she happy?", "Where does Rosa live, and is she happy?"),
        ("What does the doctor say she should eat?", "What does the doctor say she should eat?"),
        ("What did I tell her?", "What did I tell her?"),
        ("Where do I live?", "Where do I live?"),
    ],
)
def test_a_question_about_the_user_is_searched_for_as_the_user_asks(
    asked: str, searched: str
) -> None:
    assert ask_as_user(asked, ["ines", "harkema"]) == searched


@pytest.mark.parametrize(
    ("user_id", "names"),
    [
        ("ines", ("ines",)),
        ("Ines.Harkema@example.org", ("ines", "harkema")),
        ("conv-26", ()),
        ("user", ()),
        ("3f2a", ()),
        (None, ()),
    ],
)
def test_a_user_id_is_a_name_if_it_looks_like_one(
    user_id: str | None, names: tuple[str, ...]
) -> None:
    assert names_of(user_id) == names


def test_a_memory_with_named_speakers_keeps_its_pronouns() -> None:
    question = "Where does she live?"
    of_people = analyse_question(
        question, speakers=["Ann", "Bob"], asker="conv", is_asker_known=True
    )
    of_user = analyse_question(
        question, speakers=["user", "assistant"], asker="ada", is_asker_known=True
    )
    assert [of_people.search_text, of_user.search_text] == [question, "Where do I live?"]
    assert of_user.text == question
