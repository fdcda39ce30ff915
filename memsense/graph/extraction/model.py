"""Result of an entity extractor, and the mentions that a chunk keeps of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple, Protocol

from memsense.graph.extraction.naming import entity_key
from memsense.text.words import COMMON

EntityKind = Literal[
    "speaker", "self", "name", "title", "identifier", "file", "host", "handle", "tag"
]

# Edges grow with the square of it.
LARGEST_MENTIONS = 24
"""Entities that a chunk keeps, its first ones. Their pairs become edges, at most 276."""

LONGEST_KEY = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Entity as one chunk mentions it; all its spellings share the `key`."""

    key: str
    name: str
    kind: EntityKind
    count: int


class Occurrence(NamedTuple):
    """Occurrence of an entity in a text.

    Attributes:
        kind: Kind of the entity.
        name: The name as the text spells it.
    """

    kind: EntityKind
    name: str


class EntityExtractor(Protocol):
    """Protocol of an entity extractor."""

    @property
    def name(self) -> str:
        """Name of the extractor."""
        ...

    def extract(self, text: str, speakers: Sequence[str]) -> Sequence[Occurrence]:
        """Return every occurrence of an entity in the text, in any order.

        Args:
            text: Both sides of an exchange.
            speakers: Labels of the speakers of the conversation, which are names without further
                evidence. They need not be returned for having spoken.
        """
        ...


def count_mentions(occurrences: Iterable[Occurrence]) -> tuple[Mention, ...]:
    """Return a mention for each entity, in order of first occurrence.

    Occurrences of one key are one entity, with the kind of the first and the most frequent
    spelling. Keys longer than 80 characters and entities after the 24th are left out.
    """
    spellings: dict[str, Counter[str]] = {}
    kinds: dict[str, EntityKind] = {}
    for kind, name in occurrences:
        key = entity_key(name)
        if key and len(key) <= LONGEST_KEY:
            kinds.setdefault(key, kind)
            spellings.setdefault(key, Counter())[name] += 1
    return tuple(
        Mention(key=key, name=names.most_common(1)[0][0], kind=kinds[key], count=names.total())
        for key, names in islice(spellings.items(), LARGEST_MENTIONS)
    )


def find_mentions(
    extractor: EntityExtractor,
    sides: Sequence[tuple[str, str | None]],
    participants: Sequence[str],
) -> tuple[Mention, ...]:
    """Return an exchange's mentions: speakers, entities, and names that users give themselves."""
    # Imported here: a search needs no rules.
    from memsense.graph.extraction.introductions import find_introductions

    texts = [(text, labels) for text, labels in sides if text]
    # Logs without names have the labels "user" and "assistant": common words, and no names.
    speakers = [
        Occurrence("speaker", label)
        for _, labels in texts
        for label in (labels or "").split(", ")
        if entity_key(label) not in COMMON
    ]
    introduced = [
        Occurrence("self", name)
        for text, labels in sides[:1]
        if entity_key(labels or "user") in COMMON
        for name in find_introductions(text)
    ]
    entities = extractor.extract("\n".join(text for text, _ in texts), participants)
    # Speakers first: the 24 that a chunk keeps are counted from the beginning. The first occurrence
    # decides an entity's kind.
    return count_mentions([*speakers, *introduced, *entities])
