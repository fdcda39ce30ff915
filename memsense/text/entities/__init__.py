"""Finds the entities that texts and questions name; pure, without a model or a database."""

from memsense.text.entities.model import EntityExtractor, Found, count_mentions, find_mentions
from memsense.text.entities.naming import entity_key, question_keys
from memsense.text.entities.rules import RuleExtractor

__all__ = [
    "EntityExtractor",
    "Found",
    "RuleExtractor",
    "count_mentions",
    "entity_key",
    "find_mentions",
    "question_keys",
]
