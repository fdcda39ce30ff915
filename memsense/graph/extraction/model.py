"""What an entity extractor returns, and the mentions that a chunk keeps of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from memsense.graph.extraction.naming import entity_key
from memsense.graph.extraction.words import COMMON

EntityKind = Literal["speaker", "name", "title", "identifier", "file", "host", "handle", "tag"]

LARGEST_MENTIONS = 24
"""A chunk keeps its first so many entities: their pairs become edges, 276 at most."""

LONGEST_KEY = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An entity as one chunk mentions it: `key` is what all its spellings share."""

    key: str
    name: str
    kind: EntityKind
    count: int


class Found(NamedTuple):
    """One occurrence of an entity, spelt as the text spells it."""

    kind: EntityKind
    name: str


class EntityExtractor(Protocol):
    """Finds the entities of an exchange."""

    @property
    def name(self) -> str:
        """The extractor's name."""
        ...

    def extract(self, text: str, speakers: Sequence[str]) -> Sequence[Found]:
        """Every occurrence of an entity in the text, both sides of an exchange, in any order.

        `speakers` are the labels of those who take part in the conversation: names that the text
        may use without further evidence. They need not be returned for having spoken.
        """
        ...


def count_mentions(found: Iterable[Found]) -> tuple[Mention, ...]:
    """One mention an entity, in order of first occurrence, with its most frequent spelling.

    Occurrences of one key are one entity; the kind is that of the first. Keys longer than 80
    characters and entities after the 24th are left out.
    """
    spellings: dict[str, Counter[str]] = {}
    kinds: dict[str, EntityKind] = {}
    for kind, name in found:
        key = entity_key(name)
        if key and len(key) <= LONGEST_KEY:
            kinds.setdefault(key, kind)
            spellings.setdefault(key, Counter())[name] += 1
    kept = list(spellings.items())[:LARGEST_MENTIONS]
    return tuple(
        Mention(key=key, name=names.most_common(1)[0][0], kind=kinds[key], count=names.total())
        for key, names in kept
    )


def find_mentions(
    extractor: EntityExtractor,
    sides: Iterable[tuple[str, str | None]],
    participants: Sequence[str],
) -> tuple[Mention, ...]:
    """What an exchange mentions: who speaks, and what the extractor finds.

    `sides` are texts, each with its speakers' labels joined by ", "; labels of roles ("user")
    name nobody.
    """
    spoken = [(text, labels) for text, labels in sides if text]
    speakers = [
        Found("speaker", label)
        for _, labels in spoken
        for label in (labels or "").split(", ")
        if entity_key(label) not in COMMON
    ]
    found = extractor.extract("\n".join(text for text, _ in spoken), participants)
    return count_mentions([*speakers, *found])
