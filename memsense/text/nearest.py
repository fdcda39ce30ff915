"""The name that was probably meant, for errors about an unknown one."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

# Words of other libraries and of our other faces, and ours for the same, the likeliest first.
_SYNONYMS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("k", "n", "size", "count", "max_results", "num_results"), ("top_k", "limit")),
    "limit": ("top_k",),
    "top_k": ("limit",),
    **dict.fromkeys(("text", "q", "question", "message", "input"), ("query", "prompt", "messages")),
    "query": ("prompt", "question"),
    "prompt": ("query",),
    **dict.fromkeys(("filters", "filter", "where"), ("metadata",)),
    **dict.fromkeys(("threshold", "score_threshold", "min_relevance"), ("min_score",)),
    **dict.fromkeys(("run_id", "thread_id", "conversation_id"), ("session_id", "session_ids")),
    **dict.fromkeys(("session", "session_id"), ("session_id", "session_ids", "session")),
    "max_length": ("max_tokens",),
    "tokens": ("max_tokens",),
    "user_id": ("user",),
    "agent_id": ("agent",),
    "user": ("user_id",),
    "agent": ("agent_id",),
}

_ALIKE = 0.6
"""The least share of letters in common, as difflib counts them."""


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that means the same or is most like this one in any case, None if none is."""
    spellings = {_fold(item): item for item in names}
    for synonym in _SYNONYMS.get(_fold(name), ()):
        if synonym in spellings:
            return spellings[synonym]
    matches = get_close_matches(_fold(name), spellings, n=1, cutoff=_ALIKE)
    return spellings[matches[0]] if matches else None


def _fold(name: str) -> str:
    return name.casefold().lstrip("-").replace("-", "_")


def did_you_mean(unknown: str | Sequence[str], names: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the first unknown name that is like one, else nothing."""
    items = list(names)
    for name in [unknown] if isinstance(unknown, str) else unknown:
        if (nearest := nearest_name(name, items)) is not None:
            return f"; did you mean {nearest!r}?"
    return ""
