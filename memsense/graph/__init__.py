"""Entities, their mentions, and the recall route over them, which is off by default.

Everything about entities is in this folder, apart from a few places that know of it: `Route` in
`search/profiles.py` and `search/recall/optional.py` (the route), `client/context.py` (the
extractor, the follower of writes), `client/verbs.py` (the resource), `cli/entities.py` (the
commands), `doctor/exchanges.py` (a check) and two views. `sql/graph.sql` holds all its
statements, docs/how/entities.md its formulas and its measured worth.
"""
