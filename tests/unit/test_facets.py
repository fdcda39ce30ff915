"""Sentences with their offsets, the facet rules, and the memory kind that follows from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.draft.facets.model import FACETS, MAX_FACET_TEXT, Facet, Facets, FacetTagger
from memsense.draft.facets.rules import RULES
from memsense.draft.facets.sentences import MAX_SENTENCE, split_sentences
from memsense.draft.facets.tagger import RuleTagger
from memsense.errors import ConfigurationError

# One example per rule; test_every_rule_has_an_example keeps the table complete.
EXAMPLES: dict[str, str] = {
    "name": "Hi, my name is Ines.",
    "identity": "I'm a nurse at heart.",
    "role": "It is hard for me as a single parent.",
    "age": "I'm 36 and tired.",
    "home": "I live in Leipzig.",
    "work": "I work as a data engineer.",
    "belonging": "My new boss is friendly.",
    "study": "I graduated with honours.",
    "health": "I'm allergic to walnuts.",
    "household": "We have two cats.",
    "member": "I'm part of a choir.",
    "relation": "That is for my little sister.",
    "like": "I really love miso soup.",
    "dislike": "I can't stand coriander.",
    "fond": "I'm a huge fan of trains.",
    "favourite": "My favourite colour is brown.",
    "prefer": "I'd rather swim.",
    "habit": "I usually get up at six.",
    "routine": "We air the flat twice a day.",
    "tool": "I use vim for everything.",
    "switch": "I switched to Helix.",
    "diet": "I don't eat meat.",
    "pastime": "I play the piano.",
    "instruction": "From now on, answer in Dutch.",
    "past": "I went to a concert.",
    "past_of_mine": "Our trip began badly.",
    "past_coordinated": "I was tired, and then went home.",
    "perfect": "I've finished the novel.",
    "dated": "We meet again on 7 May.",
    "plan": "I'm going to visit Kyoto.",
    "ongoing": "I'm still looking for a flat.",
    "elided": "Just booked the tickets.",
    "happened": "Something odd happened to me.",
}


def rules_of(user: str, assistant: str = "") -> set[str]:
    return {span.rule for span in RuleTagger().tag(user, assistant).spans}


def facets_of(text: str) -> set[Facet]:
    return {span.facet for span in RuleTagger().tag(text, "").spans}


def sentences_of(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def test_every_rule_has_an_example_and_a_name_of_its_own() -> None:
    assert [rule.name for rule in RULES] == list(EXAMPLES)
    assert {rule.facet for rule in RULES} == set(FACETS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_finds_its_example_and_stays_silent_when_disabled(name: str) -> None:
    assert name in rules_of(EXAMPLES[name])
    spans = RuleTagger(disabled=(name,)).tag(EXAMPLES[name], "").spans
    assert name not in {span.rule for span in spans}


def test_disabling_an_unknown_rule_is_an_error_that_names_it() -> None:
    with pytest.raises(ConfigurationError, match="likes"):
        RuleTagger(disabled=("like", "likes"))


@pytest.mark.parametrize(
    "text",
    [
        "What is the capital of France?",
        "How do I use vim?",
        "Do you love it?",
        "Thanks, I appreciate your help!",
        "I'd love to hear more about that.",
        "I won't give up!",
        "Your sister went home yesterday.",
        "I'm a bit lost here.",
        "I love your painting!",
        "I'll keep that in mind.",
        "```\nI live in a code block\n```",
        "河水今天很高。",
        "",
        "   \n\n",
    ],
)
def test_small_talk_questions_and_code_state_nothing(text: str) -> None:
    assert RuleTagger().tag(text, "") == Facets()


def test_a_question_still_mentions_a_relation_and_an_allergy() -> None:
    assert rules_of("What should I buy for my sister?") == {"relation"}
    assert rules_of("What can I eat if I'm allergic to nuts?") == {"health"}


@pytest.mark.parametrize(
    "text",
    [
        "I can help you plan your trip next week.",
        "I'm happy to help with that this weekend!",
        "As an AI, I don't have a favourite colour; my favourites are yours.",
        "I've updated the function and fixed the test.",
        "I added two tests yesterday.",
        "I'd recommend starting on Monday.",
        "I usually recommend Polars for this.",
        "I understand, my previous answer was wrong.",
        "Let me check what happened to us on 7 May.",
        "I love helping with plans.",
        "Water levels rose last week.",
    ],
)
def test_assistants_statements_about_themselves_are_no_facets(text: str) -> None:
    assert RuleTagger().tag("", text) == Facets()


def test_a_person_on_the_assistant_side_is_tagged_too() -> None:
    facets = RuleTagger().tag("", "Hey! I went camping with my kids last week. I love nature.")
    assert {span.side for span in facets.spans} == {"assistant"}
    assert {span.facet for span in facets.spans} == set(FACETS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I'm Ines and I live in Leipzig.", "stable"),
        ("I can't stand coriander.", "preference"),
        ("I went to Halle on 3 April.", "episodic"),
        ("I went to Halle with my sister.", "episodic"),
        ("My sister is nice.", "stable"),
        ("I live here. I love it. I went out. I met Lin.", "episodic"),
        ("I hate rain. I live in Leipzig.", "stable"),
        ("How high is the Elster?", "ephemeral"),
    ],
)
def test_memory_kind_is_that_of_the_most_stated_facet(text: str, kind: str) -> None:
    assert RuleTagger().tag(text, "").memory_kind == kind


def test_typographic_apostrophes_match_and_offsets_stay_those_of_the_text() -> None:
    text = "Well. I’m allergic to walnuts. Bye."
    (span,) = RuleTagger().tag(text, "").spans
    assert span.text == text[span.start : span.end] == text[6:30]


def test_facet_text_joins_distinct_sentences_and_stays_short() -> None:
    repeated = RuleTagger().tag("I love tea. I love tea. I hate rain.", "")
    assert repeated.preferences == "I love tea. I hate rain."
    assert len(repeated.spans) == 3
    long = RuleTagger().tag(" ".join(f"I love tea number {i}." for i in range(99)), "")
    assert long.preferences is not None
    assert len(long.preferences) <= MAX_FACET_TEXT
    assert long.preferences.startswith("I love tea number 0. I love tea number 1.")


def test_it_is_a_facet_tagger_called_rules() -> None:
    tagger: FacetTagger = RuleTagger()
    assert tagger.name == "rules"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Okonjo met J.K. Rowling. Then?", ["Dr. Okonjo met J.K. Rowling.", "Then?"]),
        ("So do I. Good.", ["So do I.", "Good."]),
        ("Use 2.4.1, e.g. today... or later. Fine", ["Use 2.4.1, e.g. today... or later.", "Fine"]),
        ("- first\n- second\n3. third", ["first", "second", "third"]),
        ('He said "Go!" Then left.', ['He said "Go!"', "Then left."]),
        ("河水今天很高。很好!", ["河水今天很高。", "很好!"]),
        ("Look:\n```py\nx = 1. Y\n```\nDone.", ["Look:", "Done."]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences


@given(st.text(alphabet="aI .!?\n-。`\"'1x’", max_size=400))
def test_sentences_are_ordered_disjoint_trimmed_and_bounded(text: str) -> None:
    end_before = 0
    for start, end in split_sentences(text):
        assert end_before <= start < end <= len(text)
        assert end - start <= MAX_SENTENCE
        assert text[start:end].strip() == text[start:end]
        end_before = end


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_span_quotes_its_side(user: str, assistant: str) -> None:
    facets = RuleTagger().tag(f"I love tea. {user}. I went home.", f"We ate cake. {assistant}")
    texts = {"user": f"I love tea. {user}. I went home.", "assistant": f"We ate cake. {assistant}"}
    assert facets.spans
    for span in facets.spans:
        assert span.text == texts[span.side][span.start : span.end]
