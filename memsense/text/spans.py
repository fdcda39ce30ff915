"""Where something stands in a text."""

Span = tuple[int, int]
BEFORE = 40
"""How many characters before a word are looked at to understand it."""
