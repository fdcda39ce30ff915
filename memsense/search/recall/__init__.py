"""The recall phase: one statement that asks every route at once, and its result."""
