"""Facets of an exchange: personal information, preferences and events, found by rules."""
