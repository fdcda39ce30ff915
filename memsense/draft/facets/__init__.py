"""Facets of an exchange: personal information, preferences and events, found by rules."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memsense.draft.facets.model import FACETS, Facet, Facets, FacetSpan, FacetTagger

if TYPE_CHECKING:
    from memsense.draft.facets.rules import RULES, Rule
    from memsense.draft.facets.tagger import RuleTagger, join_spans

_HOMES = {"RULES": "rules", "Rule": "rules", "RuleTagger": "tagger", "join_spans": "tagger"}

__all__ = [
    "FACETS",
    "RULES",
    "Facet",
    "FacetSpan",
    "FacetTagger",
    "Facets",
    "Rule",
    "RuleTagger",
    "join_spans",
]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: only tagging needs the rules."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
