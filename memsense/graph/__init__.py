"""Entities, their mentions, and the recall route over them, which is off by default.

Everything about entities is in this folder, apart from a few places that know of it: `Route` in
`search/profiles.py` and `search/recall/optional.py` (the route), `client/context.py` (the
extractor, the follower of writes), `client/verbs.py` (the resource), `cli/entities.py` (the
commands), `doctor/indexes.py` (its indexes) and two views. `sql/graph.sql` holds all its
statements, docs/how/entities.md its formulas and its measured worth.
"""

from collections.abc import Mapping
from types import MappingProxyType

GRAPH_INDEXES: Mapping[str, str] = MappingProxyType(
    {
        "entities_pkey": "entities",
        "entities_tenant_id_scope_id_key_key": "entities",
        "entities_scope_spellings": "entities",
        "mentions_pkey": "mentions",
        "mentions_chunk": "mentions",
        "mentions_self": "mentions",
        "edges_pkey": "edges",
        "edges_entity_b": "edges",
        "chunk_entities_pkey": "chunk_entities",
    }
)
"""Tables of the indexes that the route and the upkeep rely on."""
