"""Names that users give themselves."""

import pytest

from memsense.graph.extraction.introductions import find_introductions
from memsense.graph.extraction.model import find_mentions
from memsense.graph.extraction.rules import RuleExtractor
from memsense.search.question import analyse_question


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Hi, I'm Ines. I'm German.", ["Ines"]),
        ("Quick intro: I\u2019m Nadia, I rent a studio in Lyon.", ["Nadia"]),
        ("Hello I am Peter and I need help with Rust.", ["Peter"]),
        ("I'm Ines Castro from Leipzig", ["Ines Castro"]),
        ("My name is João da Silva and I work nights.", ["João da Silva"]),
        ("my name's Grace", ["Grace"]),
        ("I'm Grace!", ["Grace"]),
        ("My full name is Zoë McDonald, but please call me Zo.", ["Zoë McDonald", "Zo"]),
        ("My name is Christian. I'm Christian, too.", ["Christian"]),
        # Beliefs, nations, roles, states, days and other people.
        ("I'm Catholic. I'm Vegan.", []),
        ("I'm CEO of a small firm. I'm Head of Marketing.", []),
        ("This is hard, I'm Done. I'm Sorry.", []),
        ("Call me Monday. My name is on the list.", []),
        ("My brother's name is Paul. I'm with Anna. I'm tired.", []),
        ("When I'm Bob's guest, I cook.", []),
    ],
)
def test_names_that_a_user_gives_herself(text: str, names: list[str]) -> None:
    assert list(find_introductions(text)) == names


def test_only_a_user_without_a_label_introduces_herself() -> None:
    def kinds(user: tuple[str, str | None], assistant: str) -> dict[str, str]:
        found = find_mentions(RuleExtractor(), [user, (assistant, None)], participants=[])
        return {mention.name: mention.kind for mention in found}

    assert kinds(("Hi, I'm Ines.", "user"), "And I'm Claude.") == {"Ines": "self", "Claude": "name"}
    assert kinds(("Hi, I'm Ines.", "Ada"), "") == {"Ada": "speaker", "Ines": "name"}


def test_a_question_about_an_introduced_name_is_asked_as_the_user_would() -> None:
    question = analyse_question(
        "Where does Ines live?",
        asker="u-4711",
        introduced=["Ines Castro"],
        is_asker_known=True,
    )
    assert question.search_text == "Where do I live?"
    unknown = analyse_question("Where does Ines live?", asker="u-4711", is_asker_known=True)
    assert unknown.search_text == "Where does Ines live?"
