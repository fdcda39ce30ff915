"""Search requests: a question, whose memory to search, and which of it takes part.

The public methods check their arguments (`memsense.declaration`); a request holds checked values
and reaches recall, ranking and traces unchanged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic_core import to_jsonable_python

from memsense.db.queries import statement_names
from memsense.inputs import AsMapping, Check, about, clean_text, whole_number, wrong_value
from memsense.metadata_filters import compile_filter
from memsense.search.profiles import GivenProfile, Profile
from memsense.search.question import fold_blanks
from memsense.text.prompts import LONGEST_PROMPT, read_ends
from memsense.types import Granularity, MemoryKind, PromptKind

DEFAULT_TOP_K = 8
CONTEXT_HITS = 30
"""Hits of a context: more bring less than a point of the gold at 2,000 tokens."""

LARGEST_TOP_K = 1000
LONGEST_QUESTION = 8_000
"""Characters of a question after folding blanks; embedders read a few thousand at most."""

DEFAULT_CONTENT_BUDGET = 5_000
"""Characters of a hit's text. A part of an exchange has at most 1,000 and its speakers' names, a
session chunk about 4,000, so the default cuts neither."""
LARGEST_CONTENT_BUDGET = 1_000_000

QUOTED = "quoted"
"""Condition of `sql/filters.sql` that the question's own quotation marks set, not the caller."""

FILTER_NAMES = tuple(name for name in statement_names("filters.sql") if name != QUOTED)
"""Filters that a caller can set, in the order of `sql/filters.sql`: each has its condition there,
its field in `Filters`, and its parameter in the signatures of `search` and `why_not`, all of the
same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that a chunk must satisfy to be ranked at all, by every route alike.

        Filters(project="garden", since=datetime(2026, 1, 1, tzinfo=UTC))

    Values are checked already. None sets no filter; an exclusion that names nothing excludes
    nothing, while any other empty list lets nothing through. The fields are `FILTER_NAMES`, with
    the texts of the parameters of `search`.
    """

    session_ids: Sequence[str] | None = None
    project: str | None = None
    agent_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    tags: Sequence[str] | None = None
    kinds: Sequence[MemoryKind] | None = None
    metadata: Mapping[str, Any] | None = None
    exclude: Sequence[int | str] = ()
    exclude_sessions: Sequence[str] = ()

    @property
    def values(self) -> Mapping[str, Any]:
        """Return the filters that are set, by name."""
        values = {name: getattr(self, name) for name in FILTER_NAMES}
        return {
            name: value
            for name, value in values.items()
            if value is not None and (value or not name.startswith("exclude"))
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the filters that are set."""
        return tuple(self.values)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the conditions in `sql/filters.sql`."""
        from psycopg.types.json import Jsonb

        sent: dict[str, Any] = {}
        for name, value in self.values.items():
            if name == "exclude":  # two columns of two types: chunk ids and message ids
                sent["exclude_chunks"] = [item for item in value if isinstance(item, int)]
                sent["exclude_messages"] = [item for item in value if isinstance(item, str)]
            elif name == "metadata":  # what it contains, and what else is true of it
                conditions = compile_filter(value)
                sent["metadata"] = Jsonb(conditions.contained)
                sent["metadata_path"] = conditions.path
                sent["metadata_values"] = Jsonb(conditions.values)
            elif isinstance(value, Sequence) and not isinstance(value, str):
                sent[name] = list(value)  # pyright: ignore[reportUnknownArgumentType]
            else:
                sent[name] = value
        return sent

    def as_dict(self) -> dict[str, Any]:
        """Return the values as JSON has them, for a trace."""
        return to_jsonable_python(self.values)


NO_FILTERS = Filters()


def _require_text(text: object) -> str:
    if not isinstance(text, str):
        raise wrong_value("must be a text", text)
    if "\x00" in text:
        raise ValueError("holds a NUL character")
    return text


def _limit(text: str, longest: int) -> str:
    if len(text) > longest:
        raise ValueError(f"has {len(text):,} characters; at most {longest:,} are taken")
    return text


def _require_words(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty: ask something")
    return text


def _read_question(text: object) -> str:
    folded = fold_blanks(clean_text(_require_text(text)))
    return _limit(_require_words(folded), LONGEST_QUESTION)


def _check(read: Callable[[object], str], longest: int) -> Check:
    return Check(read, {"type": "string", "minLength": 1, "maxLength": longest, "pattern": r"\S"})


QuestionText = Annotated[str, _check(_read_question, LONGEST_QUESTION)]
"""Text of a question, with its blanks folded."""


def _read_prompt(text: object) -> str:
    # Limited before its middle is left out, which reads all of it.
    return _require_words(clean_text(read_ends(_limit(_require_text(text), LONGEST_PROMPT))))


PromptText = Annotated[str, _check(_read_prompt, LONGEST_PROMPT)]
"""Text of a prompt as its writer left it, without the middle of a very long one."""

ProfileChoice = Annotated[
    GivenProfile,
    about("A profile or the name of one, used as it is; default: the namespace's settings."),
]
Overrides = Annotated[
    Mapping[str, object],
    AsMapping,
    about(
        "Weights of routes (0 to 5) and constants of the profile to change for this call alone,"
        ' such as {"lexical": 1.5}.'
    ),
]
HitCount = Annotated[int, whole_number(1, LARGEST_TOP_K)]
ContentLength = Annotated[int, whole_number(1, LARGEST_CONTENT_BUDGET)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search as its caller asks for it, within one namespace, its arguments checked.

    Attributes:
        query: The question, its blanks folded.
        user_id: Whose memory is searched; None for everybody's.
        top_k: Maximum number of hits.
        granularity: "turn" or "session"; None for the profile's.
        min_score: Lowest score of a hit; None for no limit.
        content_budget: Characters of a hit's text that are shown at most.
        filters: Conditions that a chunk must satisfy to be ranked.
        asked_at: The moment that "last week" in the question counts from; None for now. Without a
            zone, it is in the asker's.
        timezone: The name of the asker's zone; None for that of the settings, else of `asked_at`.
        calendar: Settings of the calendar as a trace recorded them; None for the namespace's.
        as_of: The moment at which memory is searched as it stood; None for now.
        profile: A profile or its name; None for the namespace's settings.
        overrides: Constants of the profile that this search changes.
        prompt_kind: "question" or "request"; None if it is to be detected.
        request_share: Share of a request, 0 to 1, as a trace recorded it.
    """

    query: str
    user_id: str | None = None
    top_k: int = DEFAULT_TOP_K
    granularity: Granularity | None = None
    min_score: float | None = None
    content_budget: int = DEFAULT_CONTENT_BUDGET
    filters: Filters = NO_FILTERS
    asked_at: datetime | None = None
    timezone: str | None = None
    calendar: Mapping[str, str | int] | None = None
    as_of: datetime | None = None
    profile: str | Profile | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    prompt_kind: PromptKind | None = None
    request_share: float | None = None
