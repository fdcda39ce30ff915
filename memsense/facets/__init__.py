"""Facets of an exchange: who the speaker is, what they prefer, what happened; by rules."""

from memsense.facets.model import FACETS, Facet, Facets, FacetSpan, FacetTagger
from memsense.facets.rules import RULES, Rule
from memsense.facets.tagger import RuleTagger

__all__ = ["FACETS", "RULES", "Facet", "FacetSpan", "FacetTagger", "Facets", "Rule", "RuleTagger"]
