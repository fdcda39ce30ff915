"""Places in a text: the type of a span, shared by all rules that analyse a question."""

Span = tuple[int, int]
BEFORE = 40
"""Characters before a word that are read to understand it."""
