"""Entity rules: entities they find and ignore, and keys of a question."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.graph.extraction.model import (
    LARGEST_MENTIONS,
    LONGEST_KEY,
    Occurrence,
    count_mentions,
    find_mentions,
)
from memsense.graph.extraction.naming import LARGEST_KEYS, entity_key, question_keys
from memsense.graph.extraction.rules import RuleExtractor

LONG_DAY = (
    'Yesterday Ada and I took the train from Porto to Lisbon. We read "The Book of Disquiet" on '
    "the way, and I pushed the fix for WAT-517 in src/river/gauges.py before v2.4.1 went out."
)


def names(text: str, speakers: Sequence[str] = ()) -> list[str]:
    return [found.name for found in RuleExtractor().extract(text, speakers)]


def kinds(text: str) -> dict[str, str]:
    return {found.name: found.kind for found in RuleExtractor().extract(text, ())}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met Ada in Lisbon.", ["Ada", "Lisbon"]),
        ("We flew to New York with Maria Silva.", ["New York", "Maria Silva"]),
        ("She studied at the University of Coimbra.", ["University of Coimbra"]),
        ("I love J.K. Rowling and the Golden Gate Bridge!", ["J.K. Rowling", "Golden Gate Bridge"]),
        ("Hey Caroline, how was the LGBTQ group?", ["Caroline", "LGBTQ"]),
        ("That is Ada's and James' house.", ["Ada", "James"]),
        ("He moved to Plagwitz; Plagwitz is lovely.", ["Plagwitz", "Plagwitz"]),
        ("On Monday in July I said OK.", []),
        ("Thanks! Wow. Great job! Sounds good, I'm in.", []),
        ("Bought bread. Went home. Slept well.", []),
        ("I use TikTok and my iPhone.", ["TikTok", "iPhone"]),
        ("THIS IS ALL SHOUTED AND NAMES NOBODY AT ALL", []),
        ("Der Mann hat heute im Garten die Blumen und den Baum mit Wasser begossen.", []),
        ("我昨天在里斯本见到了艾达。", []),
        ("", []),
    ],
)
def test_names_are_distinguished_from_other_capitalised_words(
    text: str, expected: list[str]
) -> None:
    assert names(text) == expected


def test_a_word_that_begins_a_sentence_is_a_name_only_with_more_evidence() -> None:
    assert names("Lisbon is warm.") == []
    assert names("Lisbon is warm. I like Lisbon.") == ["Lisbon", "Lisbon"]
    assert names("Ada called.", speakers=["Ada"]) == ["Ada"]
    assert names("Ada called.", speakers=["Ada Lovelace"]) == ["Ada"]
    assert names("Maria Silva called.") == ["Maria Silva"]


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ('We read "The Book of Disquiet" twice.', "The Book of Disquiet", "title"),
        ("Wir sahen „Paris, Texas“ im Kino.", "Paris, Texas", "title"),
        ("please look at WAT-517 now", "WAT-517", "identifier"),
        ("it broke in 2.4.1 again", "2.4.1", "identifier"),
        ("see #4711 for that", "#4711", "identifier"),
        ("the column measured_at is null", "measured_at", "identifier"),
        ("open src/river/gauges.py please", "gauges.py", "file"),
        ("read https://www.example.org/a?b=c today", "example.org", "host"),
        ("ask @river_ops about it", "@river_ops", "handle"),
        ("write to ops@example.org", "ops@example.org", "handle"),
        ("posted under #gardening", "#gardening", "tag"),
    ],
)
def test_titles_and_identifiers_are_found_by_their_shape(text: str, name: str, kind: str) -> None:
    assert kinds(text)[name] == kind


@pytest.mark.parametrize(
    "text",
    [
        'She said "thanks, I will be there soon." and left.',
        'He shouted "Hello!" twice.',
        "the meeting on 12.05.2026 at 10.30",
        "it costs 3.50 and weighs 1.5 kg",
        "and/or, either/or, 24/7",
        "mail me :) #1fan & co",
    ],
)
def test_quoted_speech_dates_and_numbers_are_no_entities(text: str) -> None:
    assert names(text) == []


def test_words_of_a_title_are_not_names_of_their_own() -> None:
    assert names('I loved "The Book of Disquiet" by Pessoa.') == ["Pessoa", "The Book of Disquiet"]


def test_code_in_fences_yields_identifiers_but_no_names() -> None:
    assert names("Try this:\n```sql\nSELECT river_id FROM Gauges\n```") == ["river_id"]


def test_spellings_of_one_key_are_one_entity_under_the_most_frequent() -> None:
    found = [Occurrence("name", "the Alchemist"), *[Occurrence("title", "The Alchemist")] * 2]
    (mention,) = count_mentions([*found, Occurrence("name", "x")])
    assert (mention.key, mention.name, mention.kind, mention.count) == (
        "alchemist",
        "The Alchemist",
        "name",
        3,
    )


def test_a_chunk_keeps_its_first_entities_only() -> None:
    found = [Occurrence("identifier", f"ABC-{n}") for n in range(100)]
    kept = count_mentions([Occurrence("name", "y" * (LONGEST_KEY + 1)), *found])
    assert [mention.name for mention in kept] == [f"ABC-{n}" for n in range(LARGEST_MENTIONS)]


def test_those_who_speak_are_mentioned_but_roles_are_not() -> None:
    sides = [("hello Ben", "Ada Byron, Ben"), ("hi there", "assistant"), ("", "Carl")]
    found = find_mentions(RuleExtractor(), sides, participants=["Ada Byron", "Ben"])
    assert [(item.key, item.kind, item.count) for item in found] == [
        ("ada byron", "speaker", 1),
        ("ben", "speaker", 2),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Alchemist", "alchemist"),
        ("Ada's", "ADA"),
        ("Ada\u2019s", "ada"),
        ("New   York", "new york"),
        ("Möbius & Tann", "MÖBIUS & TANN"),
        ("(Lisbon)", "Lisbon."),
    ],
)
def test_spellings_share_a_key(one: str, other: str) -> None:
    assert entity_key(one) == entity_key(other) != ""


def test_a_questions_keys_are_its_short_grams_without_function_words_at_the_ends() -> None:
    keys = question_keys("When did Ada visit the University of Coimbra?")
    assert {"ada", "visit", "university", "coimbra", "university of coimbra"} <= set(keys)
    assert not {"when", "did", "the", "of", "university of"} & set(keys)


def test_names_that_are_words_too_count_with_their_capital_only() -> None:
    assert "will" not in question_keys("where will it end")
    assert "will" in question_keys("Where does Will live?")


def test_titles_identifiers_and_possessives_of_a_question_are_keys() -> None:
    keys = question_keys('Who broke WAT-517 in gauges.py, and was it @ops\' or "The Alchemist"?')
    assert {"wat-517", "gauges.py", "@ops", "alchemist"} <= set(keys)


@given(st.text(max_size=400), st.lists(st.text(max_size=12), max_size=3))
def test_any_text_yields_keys_that_the_same_names_have_in_questions(
    text: str, speakers: list[str]
) -> None:
    found = RuleExtractor().extract(text, speakers)
    assert found == RuleExtractor().extract(text, speakers)
    for mention in count_mentions(found):
        assert mention.key == entity_key(mention.name)
        assert 2 <= len(mention.key) <= LONGEST_KEY
    assert len(question_keys(text)) <= LARGEST_KEYS


def test_entities_of_a_text_are_found_by_their_names_in_a_question() -> None:
    for found in RuleExtractor().extract(LONG_DAY, ["Ada"]):
        assert entity_key(found.name) in question_keys(f"What about {found.name}?"), found
