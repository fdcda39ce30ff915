"""Extraction of the entities that texts and questions name; pure, without a model or database."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memsense.graph.extraction.model import (
    EntityExtractor,
    EntityKind,
    Mention,
    Occurrence,
    count_mentions,
    find_mentions,
)

if TYPE_CHECKING:
    from memsense.graph.extraction.naming import entity_key, question_keys
    from memsense.graph.extraction.rules import RuleExtractor

_MODULES = {"entity_key": "naming", "question_keys": "naming", "RuleExtractor": "rules"}

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


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: a search needs neither rules nor word lists."""
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
