"""What a facet tagger returns: short texts per facet, the spans they came from, a memory kind."""

from dataclasses import dataclass
from typing import Literal, Protocol

from memsense.types import MemoryKind

Facet = Literal["personal_info", "preferences", "events"]
Side = Literal["user", "assistant"]

FACETS: tuple[Facet, ...] = ("personal_info", "preferences", "events")
MAX_FACET_TEXT = 300
"""A facet's text is at most this many characters long."""

_KINDS: dict[Facet, MemoryKind] = {
    "personal_info": "stable",
    "preferences": "preference",
    "events": "episodic",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetSpan:
    """One sentence that states a facet, and the rule that found it.

    `start` and `end` are character offsets into the text of `side`:
    `text == side_text[start:end]`.
    """

    facet: Facet
    rule: str
    text: str
    start: int
    end: int
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The facets of one exchange: a short text each (None where nothing states it)."""

    personal_info: str | None = None
    preferences: str | None = None
    events: str | None = None
    spans: tuple[FacetSpan, ...] = ()
    memory_kind: MemoryKind = "ephemeral"


class FacetTagger(Protocol):
    """Finds the facets of an exchange."""

    @property
    def name(self) -> str:
        """The tagger's name, as stored beside what it found."""
        ...

    def tag(self, user_text: str, assistant_text: str) -> Facets:
        """Return the facets stated on either side of one exchange."""
        ...


def build_facets(spans: tuple[FacetSpan, ...], memory_kind: MemoryKind) -> Facets:
    """Return `spans` with the text per facet: their distinct sentences, in order, joined."""
    return Facets(
        personal_info=_join_texts(spans, "personal_info"),
        preferences=_join_texts(spans, "preferences"),
        events=_join_texts(spans, "events"),
        spans=spans,
        memory_kind=memory_kind,
    )


def kind_of(facet: Facet) -> MemoryKind:
    """Return the memory kind of an exchange that states `facet` above all."""
    return _KINDS[facet]


def _join_texts(spans: tuple[FacetSpan, ...], facet: Facet) -> str | None:
    texts = dict.fromkeys(span.text for span in spans if span.facet == facet)
    kept: list[str] = []
    room = MAX_FACET_TEXT
    for text in texts:
        if len(text) <= room:
            kept.append(text)
            room -= len(text) + 1
    return " ".join(kept) or None
