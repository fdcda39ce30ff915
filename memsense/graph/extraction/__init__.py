"""Extraction of the entities that texts and questions name; pure, without a model or database."""

from memsense.graph.extraction.model import (
    EntityExtractor,
    EntityKind,
    Mention,
    Occurrence,
    count_mentions,
    find_mentions,
)
from memsense.graph.extraction.naming import entity_key, question_keys
from memsense.graph.extraction.rules import RuleExtractor

__all__ = [
    "EntityExtractor",
    "EntityKind",
    "Mention",
    "Occurrence",
    "RuleExtractor",
    "count_mentions",
    "entity_key",
    "find_mentions",
    "question_keys",
]
