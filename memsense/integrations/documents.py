"""Metadata of a hit in the form that all adapters use."""

from typing import Any

from memsense.search.hits import Hit, SearchResult


def hit_metadata(hit: Hit, result: SearchResult) -> dict[str, Any]:
    """Return the hit without its text, as values that JSON can hold.

    `explain` has every term of the score, `table` the same as text; `trace_id` names the recorded
    search, or is None.
    """
    fields = hit.as_dict()
    at = fields["occurred_at"]
    return {
        **{name: fields[name] for name in _FIELDS},
        # A framework may write metadata as JSON, which has no type for a time.
        "occurred_at": at.isoformat() if at else None,
        "explain": fields["explain"],
        "table": hit.explain.table(),
        "profile": result.profile,
        "trace_id": str(result.trace_id) if result.trace_id else None,
    }


_FIELDS = (
    "chunk_id",
    "score",
    "score_kind",
    "session_id",
    "user_id",
    "agent_id",
    "granularity",
    "message_ids",
    "memory_kind",
    "tags",
    "content_cut",
)
