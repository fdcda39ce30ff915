"""What the tools answer, as data: whose memory it was, and the arithmetic of each score."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from memsense.mcp.scope import Access
from memsense.types import Added, Chunk, ScopeStatistics

if TYPE_CHECKING:  # what it takes to search is imported once something was found
    from memsense.explain.why_not import Verdict
    from memsense.search.hits import Hit, SearchResult

DIGITS = 6
"""Decimals of a score and of its parts, which add up to it exactly as they are sent."""

LISTED_CHARACTERS = 600
"""Of a memory's text in a list; `memsense://chunk/{id}` has all of it."""


class Answer(BaseModel):
    """What every answer tells: whose memory it is about."""

    model_config = ConfigDict(frozen=True)

    user: str = Field(description="whose memory it is")
    namespace: str = Field(description="the part of the tenant's memory that was looked at")


def whose(access: Access) -> dict[str, str]:
    """The fields of `Answer`."""
    return {"user": access.scope.user_id, "namespace": access.namespace}


class Memory(BaseModel):
    """A stored memory."""

    chunk_id: int = Field(description="for why_not, forget, restore and feedback")
    occurred_at: datetime | None = Field(default=None, description="when it was said")
    expires_at: datetime | None = Field(default=None, description="when it is kept no more")
    session_id: str
    content: str
    content_cut: bool = Field(description="whether a part of the text is left out here")

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        """The chunk as a list shows it."""
        from memsense.search.show import fit_text

        shown = fit_text(chunk.content, LISTED_CHARACTERS, ())
        return cls(
            chunk_id=chunk.chunk_id,
            occurred_at=chunk.occurred_at,
            expires_at=chunk.expires_at,
            session_id=chunk.session_id,
            content=shown.text,
            content_cut=shown.cut,
        )


class RecalledMemory(Memory):
    """A memory that answers a question, with the arithmetic of its score.

    Short by default: hosts give this to the model, some of them in place of the text.
    """

    score: float
    parts: dict[str, float] = Field(description="what adds up to the score")
    how: dict[str, str] | None = Field(
        default=None, description="with explain: rank, raw score and weight of each part"
    )
    chosen: str | None = Field(
        default=None, description="with explain: the step of diversity (MMR) that chose it"
    )

    @classmethod
    def of_hit(cls, hit: "Hit", ranks: dict[int, int], *, explain: bool) -> Self:
        """The hit; `ranks` gives the place of each by the chunk that stands for it."""
        from memsense.search.explanation import arithmetic_parts, round_to_total, selection_line

        told = hit.explain
        parts = arithmetic_parts(told)
        adds = [part.contribution for part in parts]
        rounded = round_to_total(adds, told.final_score, digits=DIGITS)
        how = {part.name: part.describe().removeprefix(f"{part.name}: ") for part in parts}
        step = told.selection
        return cls(
            chunk_id=hit.chunk_id,
            occurred_at=hit.chunk.occurred_at,
            expires_at=hit.chunk.expires_at,
            session_id=hit.session_id,
            content=hit.content,
            content_cut=hit.content_cut,
            score=round(told.final_score, DIGITS),
            parts={part.name: value for part, value in zip(parts, rounded, strict=True)},
            how=how if explain else None,
            chosen=selection_line(step, ranks) if explain and step is not None else None,
        )


class RecallAnswer(Answer):
    """The memories that answer a question, best first."""

    question: str
    profile: str = Field(description="the constants that ranked them")
    memories: Sequence[RecalledMemory]
    notes: Sequence[str] = Field(description="what is to be said of the answer, or why it is empty")
    trace_id: str | None = Field(
        default=None, description="of the recorded search, for memsense://trace/{id}"
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
        """The answer of a search, and what else is to be said of it."""
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
    """What was stored."""

    session_id: str
    chunk_ids: Sequence[int] = Field(description="the memories that hold it now")
    notes: Sequence[str]

    @classmethod
    def of(cls, access: Access, session_id: str, added: Added) -> Self:
        """The answer of an `add`."""
        return cls(
            **whose(access),
            session_id=session_id,
            chunk_ids=[chunk.chunk_id for chunk in added],
            notes=added.notes,
        )


class WhyNotAnswer(Answer):
    """Why a question does not return a memory, or as which hit it does."""

    question: str
    chunk_id: int
    step: str = Field(description="the step of the search that decided; hit: it is returned")
    text: str = Field(description="the reason, about the memory: 'it is ...'")
    numbers: dict[str, Any] = Field(description="the numbers that the step compared")

    @classmethod
    def of(cls, access: Access, question: str, verdict: "Verdict") -> Self:
        """The answer of a `why_not`."""
        return cls(**whose(access), question=question, **verdict.as_dict())


class RecentAnswer(Answer):
    """The latest memories, newest first."""

    memories: Sequence[Memory]
    notes: Sequence[str]

    @classmethod
    def of(cls, access: Access, chunks: Sequence[Chunk], notes: Sequence[str]) -> Self:
        """The answer of a `recent`."""
        found = [Memory.of(chunk) for chunk in chunks]
        return cls(**whose(access), memories=found, notes=notes)


class ChangeAnswer(Answer):
    """Which memories a change has reached."""

    chunk_id: int
    changed: Sequence[int] = Field(description="the memories that are different now; may be none")


class FeedbackAnswer(Answer):
    """What was recorded of a memory."""

    chunk_id: int
    helpful: bool


def tell_contents(access: Access, found: Sequence[ScopeStatistics]) -> str:
    """What the memory holds, to be said where nothing was found in it."""
    where = f"the memory of {access.scope.user_id!r} in namespace {access.namespace!r}"
    if not found or not found[0].turns:
        return f"{where} holds nothing yet"
    held = found[0]
    days = [f"{at:%Y-%m-%d}" for at in (held.first_at, held.last_at) if at is not None]
    told = f"{where} holds {held.turns} exchanges of {held.sessions} sessions"
    return f"{told}, from {' to '.join(days)}" if days else told
