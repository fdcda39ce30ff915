"""Result of a facet tagger: a short text for each facet, its spans, and a memory kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from memsense.types import MemoryKind

Facet = Literal["personal_info", "preferences", "events"]
Side = Literal["user", "assistant"]

FACETS: tuple[Facet, ...] = ("personal_info", "preferences", "events")
STANDING = "standing"
"""Rule of the spans of standing rules: how the user wants work or answers to be done."""

STATED = "stated"
"""Rule of a second span, of those that the caller stored as rules."""

MAX_FACET_TEXT = 300
"""Characters of a facet's text. It gets a vector of its own, so it must stay short."""

KIND_OF: Mapping[Facet, MemoryKind] = {
    "personal_info": "stable",
    "preferences": "preference",
    "events": "episodic",
}
"""Memory kind of an exchange that states mostly this facet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetSpan:
    """Sentence that states a facet, and the rule that found it.

    Attributes:
        facet: The facet that the sentence states.
        rule: Name of the rule, or of the model as `llm:MODEL`.
        text: The sentence, word for word: `text == side_text[start:end]`.
        start: Offset of its first character in the text of `side`.
        end: Offset behind its last character.
        side: "user" or "assistant".
    """

    facet: Facet
    rule: str
    text: str
    start: int
    end: int
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """Facets of one exchange.

    Attributes:
        personal_info: Who a speaker is, at most 300 characters; None if nothing states it.
        preferences: Their lasting likes, dislikes and habits, likewise.
        events: What happened to them or is planned, likewise.
        spans: The sentences that the three texts are made of, in the order of the exchange.
        memory_kind: The kind of the facet that most sentences state; else "ephemeral".
    """

    personal_info: str | None = None
    preferences: str | None = None
    events: str | None = None
    spans: tuple[FacetSpan, ...] = ()
    memory_kind: MemoryKind = "ephemeral"


class FacetTagger(Protocol):
    """Protocol of a facet tagger."""

    @property
    def name(self) -> str:
        """Name of the tagger, stored with the facets that it finds."""
        ...

    def tag(self, user_text: str, assistant_text: str) -> Facets:
        """Return the facets stated on either side of one exchange.

        Args:
            user_text: The user's side; may be empty.
            assistant_text: The assistant's side; may be empty.
        """
        ...


def build_facets(spans: tuple[FacetSpan, ...], memory_kind: MemoryKind) -> Facets:
    """Return `spans` with a text for each facet: its distinct sentences, in order, joined."""
    return Facets(
        personal_info=_join_texts(spans, "personal_info"),
        preferences=_join_texts(spans, "preferences"),
        events=_join_texts(spans, "events"),
        spans=spans,
        memory_kind=memory_kind,
    )


def _join_texts(spans: tuple[FacetSpan, ...], facet: Facet) -> str | None:
    texts = dict.fromkeys(span.text for span in spans if span.facet == facet)
    sentences: list[str] = []
    room = MAX_FACET_TEXT
    # A sentence that has no room is left out as a whole: half a sentence may state the opposite.
    for text in texts:
        if len(text) <= room:
            sentences.append(text)
            room -= len(text) + 1
    return " ".join(sentences) or None
