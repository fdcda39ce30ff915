"""One statement that asks every route at once, and what it finds."""
