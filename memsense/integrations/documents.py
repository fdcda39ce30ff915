"""What every adapter tells of a hit: plain values, the arithmetic of its score among them."""

from typing import Any

from memsense.search.hits import Hit, SearchResult


def hit_metadata(hit: Hit, result: SearchResult) -> dict[str, Any]:
    """The hit without its text, ready for JSON: where it is from, its score, and how that came.

    `explain` has every term of the score, `table` the same to read; `trace_id` leads to the
    recorded search, where it was recorded.
    """
    told = hit.as_dict()
    at = told["occurred_at"]
    return {
        **{name: told[name] for name in _TOLD},
        "occurred_at": at.isoformat() if at else None,
        "explain": told["explain"],
        "table": hit.explain.table(),
        "profile": result.profile,
        "trace_id": str(result.trace_id) if result.trace_id else None,
    }


_TOLD = (
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
