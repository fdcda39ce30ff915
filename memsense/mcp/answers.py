"""Answers of the tools as data: the user and namespace, and the arithmetic of each score."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from memsense.mcp.scope import Access
from memsense.types import Added, Chunk, ScopeStatistics

# A search's modules are imported with the first answer: a host gets the list of tools first.
if TYPE_CHECKING:
    from memsense.explain.why_not import Verdict
    from memsense.search.hits import Hit, SearchResult

DIGITS = 6
"""Decimals of scores and parts. As they are sent, the parts add up to the score exactly."""

LISTED_CHARACTERS = 600
"""Largest length of a memory's text in a list; `memsense://chunk/{id}` has all of it."""


class Answer(BaseModel):
    """Base of all answers: whose memory it was."""

    model_config = ConfigDict(frozen=True)

    user: str = Field(description="Whose memory it is.")
    namespace: str = Field(description="The namespace that was searched.")


def whose(access: Access) -> dict[str, str]:
    """Return the fields of `Answer`."""
    return {"user": access.scope.user_id, "namespace": access.namespace}


class Memory(BaseModel):
    """A stored memory."""

    chunk_id: int = Field(description="Id for why_not, forget, restore and feedback.")
    occurred_at: datetime | None = Field(default=None, description="When it was said.")
    expires_at: datetime | None = Field(default=None, description="When it expires.")
    session_id: str
    content: str
    content_cut: bool = Field(description="Whether a part of the text is left out.")

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        """Return a chunk as a list shows it."""
        from memsense.search.show import fit_text

        excerpt = fit_text(chunk.content, LISTED_CHARACTERS, ())
        return cls(
            chunk_id=chunk.chunk_id,
            occurred_at=chunk.occurred_at,
            expires_at=chunk.expires_at,
            session_id=chunk.session_id,
            content=excerpt.text,
            content_cut=excerpt.cut,
        )


class RecalledMemory(Memory):
    """A memory that answers a question, with the arithmetic of its score.

    Attributes that are not set are left out: some hosts give this to the model, which pays for
    every token.
    """

    score: float
    parts: dict[str, float] = Field(description="The terms that add up to the score.")
    how: dict[str, str] | None = Field(
        default=None, description="With `explain`: rank, raw score and weight of each part."
    )
    chosen: str | None = Field(
        default=None, description="With `explain`: the step of diversity (MMR) that chose it."
    )

    personal_info: str | None = Field(default=None, description="Facts about the user.")
    preferences: str | None = Field(default=None, description="The user's preferences.")
    events: str | None = Field(default=None, description="Events in the user's life.")
    metadata: dict[str, Any] | None = Field(default=None, description="The application's data.")
    source: str | None = Field(default=None, description="The log that it was ingested from.")

    @classmethod
    def of_hit(cls, hit: "Hit", ranks: dict[int, int], *, explain: bool) -> Self:
        """Return the answer for a hit; `ranks` has the rank of each hit by its chunk."""
        from memsense.search.explanation import arithmetic_parts, round_to_total, selection_line

        explanation = hit.explain
        parts = arithmetic_parts(explanation)
        contributions = [part.contribution for part in parts]
        # Rounding each part alone would leave a sum that differs from the score.
        rounded = round_to_total(contributions, explanation.final_score, digits=DIGITS)
        how = {part.name: part.describe().removeprefix(f"{part.name}: ") for part in parts}
        step = explanation.selection
        return cls(
            chunk_id=hit.chunk_id,
            occurred_at=hit.chunk.occurred_at,
            expires_at=hit.chunk.expires_at,
            session_id=hit.session_id,
            content=hit.content,
            content_cut=hit.content_cut,
            score=round(explanation.final_score, DIGITS),
            parts={part.name: value for part, value in zip(parts, rounded, strict=True)},
            how=how if explain else None,
            chosen=selection_line(step, ranks) if explain and step is not None else None,
            personal_info=hit.chunk.personal_info,
            preferences=hit.chunk.preferences,
            events=hit.chunk.events,
            metadata=dict(hit.chunk.metadata) or None,
            source=hit.chunk.source,
        )


class RecallAnswer(Answer):
    """The memories that answer a question, best first."""

    question: str
    profile: str = Field(description="The profile that ranked them.")
    memories: Sequence[RecalledMemory]
    notes: Sequence[str] = Field(description="Remarks on the answer, such as why it is empty.")
    trace_id: str | None = Field(
        default=None, description="Id of the recorded search, for memsense://trace/{id}."
    )

    @classmethod
    def of(
        cls,
        access: Access,
        question: str,
        result: "SearchResult",
        *,
        notes: Sequence[str],
        explain: bool,
    ) -> Self:
        """Return the answer for a search, with more notes."""
        ranks = {hit.explain.chunk_id: rank for rank, hit in enumerate(result, start=1)}
        return cls(
            **whose(access),
            question=question,
            profile=result.profile,
            memories=[RecalledMemory.of_hit(hit, ranks, explain=explain) for hit in result],
            notes=[*result.notes, *notes],
            trace_id=str(result.trace_id) if result.trace_id else None,
        )


class RememberAnswer(Answer):
    """The memories that were stored."""

    session_id: str
    chunk_ids: Sequence[int] = Field(description="The memories that were stored.")
    notes: Sequence[str]

    @classmethod
    def of(cls, access: Access, session_id: str, added: Added) -> Self:
        """Return the answer for an `add`."""
        return cls(
            **whose(access),
            session_id=session_id,
            chunk_ids=[chunk.chunk_id for chunk in added],
            notes=added.notes,
        )


class WhyNotAnswer(Answer):
    """Reason why a question does not return a memory, or its rank among the hits."""

    question: str
    chunk_id: int
    step: str = Field(description='The step of the search that decided; "hit" if it is returned.')
    text: str = Field(description="The reason.")
    numbers: dict[str, Any] = Field(description="The numbers that the step compared.")

    @classmethod
    def of(cls, access: Access, question: str, verdict: "Verdict") -> Self:
        """Return the answer for a `why_not`."""
        return cls(**whose(access), question=question, **verdict.as_dict())


class RecentAnswer(Answer):
    """The latest memories, newest first."""

    memories: Sequence[Memory]
    notes: Sequence[str]

    @classmethod
    def of(cls, access: Access, chunks: Sequence[Chunk], notes: Sequence[str]) -> Self:
        """Return the answer for a `recent`."""
        memories = [Memory.of(chunk) for chunk in chunks]
        return cls(**whose(access), memories=memories, notes=notes)


class ChangeAnswer(Answer):
    """The memories that were forgotten or restored."""

    chunk_id: int
    changed: Sequence[int] = Field(description="The memories that changed; may be none.")


class FeedbackAnswer(Answer):
    """The feedback that was recorded."""

    chunk_id: int
    helpful: bool


def describe_contents(access: Access, statistics: Sequence[ScopeStatistics]) -> str:
    """Return the size of a user's memory, for an answer without memories."""
    memory = f"the memory of {access.scope.user_id!r} in namespace {access.namespace!r}"
    if not statistics or not statistics[0].turns:
        return f"{memory} is empty"
    scope = statistics[0]
    days = [f"{at:%Y-%m-%d}" for at in (scope.first_at, scope.last_at) if at is not None]
    text = f"{memory} holds {scope.turns} exchanges of {scope.sessions} sessions"
    return f"{text}, from {' to '.join(days)}" if days else text
