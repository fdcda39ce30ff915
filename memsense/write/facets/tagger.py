"""Tags the facets of an exchange by the rules of `facets.rules`; no model, no I/O."""

import re
from collections.abc import Collection, Iterator, Sequence

from memsense.errors import ConfigurationError
from memsense.types import MemoryKind
from memsense.write.facets.model import FACETS, Facets, FacetSpan, Side, build_facets, kind_of
from memsense.write.facets.rules import (
    ASSISTANT_PHRASE,
    FIRST_PERSON,
    RULES,
    Anchor,
    Rule,
)
from memsense.write.facets.sentences import split_sentences

_QUESTION_MARKS = ("?", "\N{FULLWIDTH QUESTION MARK}")


class RuleTagger:
    """Finds facets by rules over the sentences of both sides.

    The rules are English, and read statements that a person makes about themselves. On the
    assistant's side, sentences that assistants say of themselves are passed over, so that
    "I can help" becomes no preference.

        tagger = RuleTagger(disabled=("relation",))
        facets = tagger.tag("I live in Leipzig.", "Nice!")
        assert facets.personal_info == "I live in Leipzig."

    Raises `ConfigurationError` when `disabled` names a rule that does not exist.
    """

    def __init__(self, *, disabled: Collection[str] = ()) -> None:
        unknown = set(disabled) - {rule.name for rule in RULES}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise ConfigurationError(f"no facet rule is named {names}; see memsense.facets.RULES")
        rules = [rule for rule in RULES if rule.name not in disabled]
        self._rules: dict[Side, list[Rule]] = {
            "user": rules,
            "assistant": [rule for rule in rules if not rule.user_only],
        }
        self._gates = {side: _compile_gates(some) for side, some in self._rules.items()}

    @property
    def name(self) -> str:
        """The tagger's name, as stored beside what it found."""
        return "rules"

    def tag(self, user_text: str, assistant_text: str) -> Facets:
        """Return the facets stated on either side of one exchange."""
        spans = (*self._tag_side(user_text, "user"), *self._tag_side(assistant_text, "assistant"))
        return build_facets(spans, _choose_kind(spans)) if spans else Facets()

    def _tag_side(self, text: str, side: Side) -> Iterator[FacetSpan]:
        plain = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        for start, end in split_sentences(plain):
            for rule in self._match_sentence(plain[start:end], side):
                yield FacetSpan(
                    facet=rule.facet,
                    rule=rule.name,
                    text=text[start:end],
                    start=start,
                    end=end,
                    side=side,
                )

    def _match_sentence(self, sentence: str, side: Side) -> Iterator[Rule]:
        speakers = [found.start() for found in FIRST_PERSON.finditer(sentence)]
        if side == "assistant" and (not speakers or ASSISTANT_PHRASE.search(sentence)):
            return
        open_gates = [
            anchor
            for anchor, gate in self._gates[side].items()
            if _find(gate, anchor, sentence, speakers)
        ]
        if not open_gates:
            return
        is_question = sentence.endswith(_QUESTION_MARKS)
        for rule in self._rules[side]:
            if (
                rule.anchor in open_gates
                and (rule.in_questions or not is_question)
                and _find(rule.pattern, rule.anchor, sentence, speakers)
            ):
                yield rule


def _compile_gates(rules: Sequence[Rule]) -> dict[Anchor, re.Pattern[str]]:
    """Return per anchor one pattern that matches wherever one of its rules does.

    Most sentences state nothing, and one pattern tells so faster than thirty.
    """
    patterns: dict[Anchor, list[str]] = {}
    for rule in rules:
        patterns.setdefault(rule.anchor, []).append(f"(?:{rule.pattern.pattern})")
    return {anchor: re.compile("|".join(some), re.IGNORECASE) for anchor, some in patterns.items()}


def _find(pattern: re.Pattern[str], anchor: Anchor, sentence: str, speakers: list[int]) -> bool:
    if anchor == "start":
        return pattern.match(sentence) is not None
    if anchor == "anywhere":
        return bool(speakers) and pattern.search(sentence) is not None
    return any(pattern.match(sentence, at) for at in speakers)


def _choose_kind(spans: tuple[FacetSpan, ...]) -> MemoryKind:
    """Return the kind of the facet that most sentences state; a tie goes in order of FACETS.

    Rules that only mention something in passing count when there is nothing else.
    """
    mentions = {rule.name for rule in RULES if rule.mention}
    firm = [span for span in spans if span.rule not in mentions] or spans
    sentences = {(span.facet, span.side, span.start) for span in firm}
    counts = [sum(facet == stated for stated, *_ in sentences) for facet in FACETS]
    return kind_of(FACETS[counts.index(max(counts))])
