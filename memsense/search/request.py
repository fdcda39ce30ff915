"""What a caller asks for: a question, whose memory, and which of it takes part.

A request is checked when it is made, and reaches recall, ranking and traces unchanged.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from psycopg.types.json import Jsonb
from pydantic import AfterValidator, Field, InstanceOf

from memsense.inputs import Ids, Input, Texts, Time, clean_text
from memsense.search.profiles import Profile
from memsense.search.question.blanks import fold_blanks

DEFAULT_TOP_K = 8
LARGEST_TOP_K = 1000
LONGEST_QUESTION = 8_000
"""Characters of a question, its blanks folded; an embedder reads a few thousand at most."""

SearchGranularity = Literal["auto", "turn", "session"]


class Filters(Input):
    """What a chunk must satisfy to be ranked at all, by every route alike; None filters nothing.

    Each has its condition in `sql/filters.sql`. `since` is inclusive, `until` exclusive; `tags`
    asks for one in common, `metadata` for containment; `exclude` holds chunks (int), a session's
    with its exchanges, and messages (str).
    """

    session_ids: Texts | None = None
    project: str | None = None
    agent_id: str | None = None
    since: Time | None = None
    until: Time | None = None
    tags: Texts | None = None
    kinds: Texts | None = None
    metadata: Mapping[str, Any] | None = None
    exclude: Ids | None = None

    def used(self) -> tuple[str, ...]:
        """The names of the filters that are set."""
        return tuple(name for name in Filters.model_fields if getattr(self, name) is not None)

    @property
    def excluded_chunks(self) -> list[int]:
        """The chunks of `exclude`."""
        return [item for item in self.exclude or () if isinstance(item, int)]

    @property
    def excluded_messages(self) -> list[str]:
        """The messages of `exclude`."""
        return [item for item in self.exclude or () if isinstance(item, str)]

    def values(self) -> dict[str, Any]:
        """The parameters of the conditions."""
        return {
            "session_ids": list(self.session_ids or ()),
            "project": self.project,
            "agent_id": self.agent_id,
            "since": self.since,
            "until": self.until,
            "tags": list(self.tags or ()),
            "kinds": list(self.kinds or ()),
            "metadata": Jsonb(dict(self.metadata or {})),
            "exclude_chunks": self.excluded_chunks,
            "exclude_messages": self.excluded_messages,
        }


def _read_question(text: str) -> str:
    if "\x00" in text:
        raise ValueError("holds a NUL character")
    folded = fold_blanks(clean_text(text))
    if not folded:
        raise ValueError("is empty: ask something")
    if len(folded) > LONGEST_QUESTION:
        raise ValueError(f"has {len(folded):,} characters; at most {LONGEST_QUESTION:,} are taken")
    return folded


NO_FILTERS = Filters()


class SearchRequest(Input):
    """One search as its caller asks for it, its blanks folded, within the namespace searched.

    `asked_at` is the moment that "last week" in the question counts from. `profile` is a name or
    a profile; without one, the settings decide. `overrides` changes some of its constants.
    """

    query: Annotated[str, AfterValidator(_read_question)]
    user_id: str | None = None
    top_k: Annotated[int, Field(strict=True, ge=1, le=LARGEST_TOP_K)] = DEFAULT_TOP_K
    granularity: SearchGranularity = "auto"
    filters: Filters = NO_FILTERS
    asked_at: Time | None = None
    profile: str | InstanceOf[Profile] | None = None
    overrides: Mapping[str, Any] = {}

    @classmethod
    def of(cls, *, overrides: Mapping[str, Any] | None = None, **options: Any) -> Self:
        """The request of a search's keywords; those of filters stand among the others."""
        filters = {name: options.pop(name) for name in Filters.model_fields if name in options}
        filters["exclude"] = filters.get("exclude") or None
        return cls(**options, filters=Filters(**filters), overrides=overrides or {})
