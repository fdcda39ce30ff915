"""Table of the facet rules: patterns over one English sentence, each with a name and an example.

Precision goes before recall: a wrong facet would rank and be shown as a fact about a person.
tests/quality measures both on labelled sentences.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

from memsense.draft.facets.model import Facet
from memsense.text.words import read_sections

Anchor = Literal["speaker", "anywhere", "start"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Pattern by which a sentence states a facet.

    Attributes:
        name: Name by which the rule can be disabled.
        facet: The facet that a matching sentence states.
        pattern: The pattern; upper and lower case are alike.
        note: An example of a match.
        anchor: Where the pattern is tried: at each first-person word ("speaker"), anywhere in a
            sentence that has one ("anywhere"), or at the start of any sentence, with or without
            a first person ("start").
        in_questions: Whether a question may match.
        mention: Whether a match is only a mention ("my sister"); any other rule then wins when
            the memory kind is chosen.
        user_only: Whether the rule is not applied to the assistant's side.
    """

    name: str
    facet: Facet
    pattern: re.Pattern[str]
    note: str
    anchor: Anchor = "speaker"
    in_questions: bool = False
    mention: bool = False
    user_only: bool = False


_PART = re.compile(r"\{([A-Z_]+)\}")


def _read_rules() -> tuple[tuple[Rule, ...], re.Pattern[str]]:
    """Return the rules of `memsense/data/words/facets.txt`, and the phrases of assistants."""
    sections = dict(read_sections("facets"))
    parts: dict[str, str] = {}

    def insert_parts(pattern: str) -> str:
        return _PART.sub(lambda match: parts[match[1]], pattern)

    for line in sections.pop("parts").split("\n"):
        name, _, pattern = line.partition(": ")
        parts[name] = insert_parts(pattern)
    rules: list[Rule] = []
    for name, lines in sections.items():
        fields: dict[str, Any] = dict(line.split(": ", 1) for line in lines.split("\n"))
        fields |= dict.fromkeys(fields.pop("flags", "").split(), True)
        pattern = re.compile(insert_parts(fields.pop("pattern")), re.IGNORECASE)
        rules.append(Rule(name=name, pattern=pattern, **fields))
    return tuple(rules), re.compile(parts["ASSISTANT_PHRASE"], re.IGNORECASE)


RULES, ASSISTANT_PHRASE = _read_rules()
"""All rules, in the order in which they are tried on a sentence; and phrases of assistants about
themselves: a sentence with one states no facet on their side."""

FIRST_PERSON = re.compile(
    r"[Ii]\b(?<!\w.)|(?:[Ww][Ee]|[Mm][YyEe]|[Uu][Ss])\b(?<!\w..)|[Oo][Uu][Rr]\b(?<!\w...)"
)
"""First-person words, at which rules with the anchor "speaker" are tried."""
