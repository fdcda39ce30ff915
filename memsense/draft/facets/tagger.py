"""Tagger of facets by the rules of `facets.rules`; no model, no I/O."""

import re
from collections.abc import Collection, Iterator, Sequence

from memsense.draft.facets.model import (
    FACETS,
    KIND_OF,
    STANDING,
    Facets,
    FacetSpan,
    Side,
    build_facets,
)
from memsense.draft.facets.rules import (
    ASSISTANT_PHRASE,
    FIRST_PERSON,
    RULES,
    Anchor,
    Rule,
)
from memsense.draft.facets.sentences import split_sentences
from memsense.errors import ConfigurationError
from memsense.text.language import READ, detect
from memsense.types import MemoryKind

_QUESTION_MARKS = ("?", "\N{FULLWIDTH QUESTION MARK}")


class RuleTagger:
    """Tagger that applies rules to the sentences of both sides.

    The rules are English, and apply to English texts alone. They match statements that a person
    makes about themselves. On the assistant's side, sentences that assistants say of themselves are
    skipped, so that "I can help" becomes no preference.

        tagger = RuleTagger(disabled=("relation",))
        facets = tagger.tag("I live in Leipzig.", "Nice!")
        assert facets.personal_info == "I live in Leipzig."

    Args:
        disabled: Names of rules to leave out; `memsense.draft.facets.rules.RULES` lists them.

    Raises:
        ConfigurationError: If `disabled` names a rule that does not exist.
    """

    def __init__(self, *, disabled: Collection[str] = ()) -> None:
        unknown = set(disabled) - {rule.name for rule in RULES}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise ConfigurationError(
                f"no facet rule is named {names}; see memsense.draft.facets.rules.RULES"
            )
        rules = [rule for rule in RULES if rule.name not in disabled]
        self._rules: dict[Side, list[Rule]] = {
            "user": rules,
            "assistant": [rule for rule in rules if not rule.user_only],
        }
        self._gates = {side: _compile_gates(some) for side, some in self._rules.items()}

    @property
    def name(self) -> str:
        """Name of the tagger, stored with the facets that it finds."""
        return "rules"

    def tag(self, user_text: str, assistant_text: str) -> Facets:
        """Return the facets stated on either side of one exchange.

        Args:
            user_text: The user's side; may be empty.
            assistant_text: The assistant's side; may be empty.
        """
        spans = (*self._tag_side(user_text, "user"), *self._tag_side(assistant_text, "assistant"))
        # Asked only where rules match: of most texts of another language none does.
        if spans and detect(f"{user_text[: READ // 2]}\n{assistant_text}", "en") != "en":
            return join_spans(())
        return join_spans(spans)

    def _tag_side(self, text: str, side: Side) -> Iterator[FacetSpan]:
        # Phones write the typographic apostrophe. The replacement has one character, too, so that
        # offsets stay those of the text.
        plain = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        for start, end in split_sentences(plain):
            sentence = plain[start:end]
            speakers = [word.start() for word in FIRST_PERSON.finditer(sentence)]
            if side == "assistant" and (not speakers or ASSISTANT_PHRASE.search(sentence)):
                continue
            # Most sentences state nothing, and one pattern for each anchor finds that out faster
            # than thirty rules.
            anchors = [
                anchor
                for anchor, gate in self._gates[side].items()
                if _matches(gate, anchor, sentence, speakers)
            ]
            if not anchors:
                continue
            is_question = sentence.endswith(_QUESTION_MARKS)
            for rule in self._rules[side]:
                if (
                    rule.anchor in anchors
                    and (rule.in_questions or not is_question)
                    and _matches(rule.pattern, rule.anchor, sentence, speakers)
                ):
                    yield FacetSpan(
                        facet=rule.facet,
                        rule=rule.name,
                        text=text[start:end],
                        start=start,
                        end=end,
                        side=side,
                    )


def join_spans(spans: Sequence[FacetSpan]) -> Facets:
    """Return the facets that these spans state, with the kind that most of them have."""
    return build_facets(tuple(spans), _choose_kind(tuple(spans))) if spans else Facets()


def _compile_gates(rules: Sequence[Rule]) -> dict[Anchor, re.Pattern[str]]:
    """Return for each anchor one pattern that matches wherever one of its rules does."""
    patterns: dict[Anchor, list[str]] = {}
    for rule in rules:
        patterns.setdefault(rule.anchor, []).append(f"(?:{rule.pattern.pattern})")
    return {anchor: re.compile("|".join(some), re.IGNORECASE) for anchor, some in patterns.items()}


def _matches(pattern: re.Pattern[str], anchor: Anchor, sentence: str, speakers: list[int]) -> bool:
    if anchor == "start":
        return pattern.match(sentence) is not None
    if anchor == "anywhere":
        return bool(speakers) and pattern.search(sentence) is not None
    return any(pattern.match(sentence, at) for at in speakers)


def _choose_kind(spans: tuple[FacetSpan, ...]) -> MemoryKind:
    """Return the kind of the facet that most sentences state; a tie goes in order of FACETS."""
    if any(span.rule == STANDING for span in spans):
        return "stable"
    # "my sister" in passing says less than any other match, and counts only if there is no other.
    mentions = {rule.name for rule in RULES if rule.mention}
    counted = [span for span in spans if span.rule not in mentions] or spans
    # A sentence that several rules of one facet match counts once.
    sentences = {(span.facet, span.side, span.start) for span in counted}
    counts = [sum(facet == stated for stated, *_ in sentences) for facet in FACETS]
    return KIND_OF[FACETS[counts.index(max(counts))]]
