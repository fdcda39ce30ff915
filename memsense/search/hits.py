"""What a search gives back: hits, and what is to be said about the answer as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload
from uuid import UUID

from memsense.search.explanation import Explanation
from memsense.types import Chunk

if TYPE_CHECKING:
    from memsense.search.prompt import Prompt, PromptFormat, PromptMessages, Tokenizer

DEFAULT_MAX_TOKENS = 2_000
"""The budget of `SearchResult.to_prompt`, where none is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbor:
    """A chunk beside a hit in its session; context only, it took no part in ranking."""

    relation: Literal["previous", "next"]
    chunk: Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class BestExchange:
    """An exchange that brought its session in, with the score that it had itself."""

    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory that a search found: an exchange, or a session.

    `content` is its text, each side under its speaker's name, within the search's content_budget;
    `content_cut` says whether anything of it is left out. A session's text is what was said around
    `best`, the exchanges that brought it in, best first; its `chunk` holds that text and the
    messages in it, under the id of its session chunk, or, where none is stored, of its best
    exchange.
    """

    chunk: Chunk
    score: float
    explain: Explanation
    content: str
    content_cut: bool = False
    neighbors: Sequence[Neighbor] = ()
    best: Sequence[BestExchange] = ()

    @property
    def chunk_id(self) -> int:
        """The id of the chunk, for `get`, `forget`, `promote` and the like."""
        return self.chunk.chunk_id

    @property
    def score_kind(self) -> str:
        """What `score` is: see `memsense.scores.SCORE_KINDS`."""
        return "final"

    @property
    def message_ids(self) -> Sequence[str]:
        """The ids of the log's messages that the chunk was made from, as far as it is shown."""
        return self.chunk.message_ids

    @property
    def session_id(self) -> str:
        """The session the chunk belongs to."""
        return self.chunk.session_id

    def as_dict(self) -> dict[str, Any]:
        """The hit as plain values, ready for JSON."""
        return {
            "chunk_id": self.chunk_id,
            "score": self.score,
            "score_kind": self.score_kind,
            "content": self.content,
            "content_cut": self.content_cut,
            "session_id": self.session_id,
            "user_id": self.chunk.user_id,
            "agent_id": self.chunk.agent_id,
            "granularity": self.chunk.granularity,
            "occurred_at": self.chunk.occurred_at,
            "message_ids": list(self.message_ids),
            "memory_kind": self.chunk.memory_kind,
            "tags": list(self.chunk.tags),
            "neighbors": [
                {
                    "relation": neighbor.relation,
                    "chunk_id": neighbor.chunk.chunk_id,
                    "content": neighbor.chunk.content,
                    "message_ids": list(neighbor.chunk.message_ids),
                }
                for neighbor in self.neighbors
            ],
            "best": [
                {
                    "chunk_id": item.chunk.chunk_id,
                    "score": item.score,
                    "content": item.chunk.content,
                    "message_ids": list(item.chunk.message_ids),
                }
                for item in self.best
            ],
            "explain": self.explain.as_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(Sequence[Hit]):
    """The hits, best first, with notes on how the question was answered.

    `timings_ms` holds the milliseconds of each phase: embed, recall, rerank, fetch, total.
    `trace_id` is set when the search is being recorded; should that fail, a note says so later.
    """

    hits: Sequence[Hit] = ()
    notes: Sequence[str] = ()
    question: Mapping[str, Any] = field(default_factory=dict[str, Any])
    profile: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict[str, float])
    trace_id: UUID | None = None

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def to_prompt(
        self,
        *,
        max_tokens: int = ...,
        format: Literal["markdown", "xml"] = ...,
        with_dates: bool = ...,
        tokenizer: "Tokenizer | None" = ...,
        exclude: Sequence[int | str] = ...,
    ) -> "Prompt": ...
    @overload
    def to_prompt(
        self,
        *,
        max_tokens: int = ...,
        format: Literal["messages"],
        with_dates: bool = ...,
        tokenizer: "Tokenizer | None" = ...,
        exclude: Sequence[int | str] = ...,
    ) -> "PromptMessages": ...
    def to_prompt(
        self,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        format: "PromptFormat" = "markdown",  # noqa: A002 (the word that one would guess)
        with_dates: bool = True,
        tokenizer: "Tokenizer | None" = None,
        exclude: Sequence[int | str] = (),
    ) -> "Prompt | PromptMessages":
        """The memories as text for a prompt: the best that fit, ordered by time.

            question = f"{result.to_prompt(max_tokens=800)}\\n\\n{question}"

        Whole exchanges, each once, with its date and chunk id; a session is told by its `best`.
        `exclude` leaves out what is in the prompt by now: chunks (int) or messages (str). The text,
        or the messages of `format="messages"`, has `chunk_ids`, `left_out` (what did not fit) and
        `tokens`; it is empty where nothing fits. `tokenizer` counts: a function of a text, or an
        object with `encode`; without one a token is three bytes, which is rather too many. Readers
        of logs take all of it out again, and nothing in a memory can leave its frame.
        """
        from memsense.search.prompt import write_prompt

        return write_prompt(
            self.hits,
            max_tokens=max_tokens,
            format=format,
            with_dates=with_dates,
            tokenizer=tokenizer,
            exclude=exclude,
        )

    def as_dict(self) -> dict[str, Any]:
        """The whole answer as plain values, ready for JSON."""
        return {
            "profile": self.profile,
            "question": dict(self.question),
            "notes": list(self.notes),
            "timings_ms": dict(self.timings_ms),
            "trace_id": str(self.trace_id) if self.trace_id else None,
            "hits": [hit.as_dict() for hit in self.hits],
        }
