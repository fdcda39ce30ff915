"""What a caller asks for: a question, whose memory, and which of it takes part.

A request is checked when it is made, and reaches recall, ranking and traces unchanged.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from psycopg.types.json import Jsonb
from pydantic import BeforeValidator

from memsense.inputs import (
    AsList,
    AsMapping,
    ChunksAndMessages,
    FiniteNumber,
    Id,
    Ids,
    Input,
    LocalTime,
    Metadata,
    Name,
    Names,
    Time,
    clean_text,
    refused,
    whole_number,
)
from memsense.search.profiles import GivenProfile
from memsense.search.question import fold_blanks
from memsense.types import Granularity, MemoryKind

DEFAULT_TOP_K = 8
LARGEST_TOP_K = 1000
LONGEST_QUESTION = 8_000
"""Characters of a question, its blanks folded; an embedder reads a few thousand at most."""

DEFAULT_CONTENT_BUDGET = 5_000
"""Characters of a hit's text: a stored exchange, of 4,000 and its speakers' names, is never cut."""
LARGEST_CONTENT_BUDGET = 1_000_000


class Filters(Input):
    """What a chunk must satisfy to be ranked at all, by every route alike; None filters nothing.

    Each has its condition in `sql/filters.sql`. `since` is inclusive, `until` exclusive; `tags`
    asks for one in common, `metadata` for containment; `exclude` holds chunks (int), a session's
    with its exchanges, and messages (str).
    """

    session_ids: Ids | None = None
    project: Name | None = None
    agent_id: Id | None = None
    since: Time | None = None
    until: Time | None = None
    tags: Names | None = None
    kinds: Annotated[Sequence[MemoryKind], AsList] | None = None
    metadata: Metadata | None = None
    exclude: ChunksAndMessages | None = None

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


def _read_question(text: object) -> str:
    if not isinstance(text, str):
        raise refused("must be a text", text)
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

    Without a `granularity`, the profile's is returned where it is stored. What scores below
    `min_score` is no hit. `content_budget` is how many characters of a hit's text are shown at
    most. `asked_at` is the moment that "last week" in the question counts from; `as_of` the one at
    which memory is to be searched as it stood. `profile` is a name or a profile; without one, the
    settings decide. `overrides` changes some of its constants.
    """

    query: Annotated[str, BeforeValidator(_read_question)]
    user_id: Id | None = None
    top_k: Annotated[int, whole_number(1, LARGEST_TOP_K)] = DEFAULT_TOP_K
    granularity: Granularity | None = None
    min_score: FiniteNumber | None = None
    content_budget: Annotated[int, whole_number(1, LARGEST_CONTENT_BUDGET)] = DEFAULT_CONTENT_BUDGET
    filters: Filters = NO_FILTERS
    asked_at: LocalTime | None = None
    as_of: Time | None = None
    profile: GivenProfile | None = None
    overrides: Annotated[Mapping[str, Any], AsMapping] = {}

    @classmethod
    def of(cls, *, overrides: Mapping[str, Any] | None = None, **options: Any) -> Self:
        """The request of a search's keywords; those of filters stand among the others."""
        filters = {name: options.pop(name) for name in Filters.model_fields if name in options}
        if type(filters.get("exclude")) is tuple and not filters["exclude"]:
            del filters["exclude"]  # an empty list of any other filter lets nothing through
        if all(value is None for value in filters.values()):
            given = NO_FILTERS
        else:
            given = Filters(**filters)
            given = given if given.exclude else given.model_copy(update={"exclude": None})
        return cls(**options, filters=given, overrides={} if overrides is None else overrides)
