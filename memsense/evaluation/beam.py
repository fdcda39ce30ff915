"""Reads a file of BEAM (Tavakoli et al. 2025): long chats with an assistant, and questions.

One conversation a line; docs/evaluation.md says which fields are read.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from memsense.errors import EvaluationError
from memsense.evaluation.jsonl import (
    GoldConversation,
    GoldItem,
    GoldPart,
    GoldSession,
    GoldTurn,
    Name,
    read_conversations,
)
from memsense.types import Role

RETRIEVAL = (
    "information_extraction",
    "knowledge_update",
    "contradiction_resolution",
    "temporal_reasoning",
    "multi_session_reasoning",
)
"""The categories whose questions are answered by a few messages that can be found."""

TUNING = 10
"""Constants may be tuned on so many conversations, from the first; the others are for reporting."""


class BeamTurn(GoldPart):
    """One message."""

    id: Name
    role: Role
    text: str


class BeamSession(GoldPart):
    """Messages in their order, and when the session was."""

    id: Name
    turns: Sequence[BeamTurn]
    timestamp: datetime | None = None


class BeamQuestion(GoldPart):
    """A question; `gold_ok` is False where the named turns don't hold the answer."""

    id: Name
    text: Name
    category: str
    answerable: bool
    gold_ok: bool
    gold_turn_ids: frozenset[str]

    @property
    def gold(self) -> frozenset[str]:
        """The turns that hold the answer; none where the question can't be counted."""
        return self.gold_turn_ids if self.answerable and self.gold_ok else frozenset()


class BeamConversation(GoldPart):
    """One user's chats, and the questions that are asked of them."""

    conversation_id: Name
    sessions: Sequence[BeamSession]
    questions: Sequence[BeamQuestion]


def read_beam(path: Path, categories: Collection[str] = RETRIEVAL) -> list[GoldConversation]:
    """The conversations with their questions of these categories, split into the first ten and the
    others.

    Raises EvaluationError naming the line and the field that can't be used, or a category that
    the file has no question of.
    """
    found = read_conversations(path, _parse)
    known = {item.category for conversation in found for item in conversation.questions}
    if unknown := sorted(set(categories) - known):
        raise EvaluationError(
            f"{path} has no question of {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        )
    first, others = f"1-{TUNING}", f"{TUNING + 1}-{len(found)}"
    return [
        _keep(conversation, categories, first if place < TUNING else others)
        for place, conversation in enumerate(found)
    ]


def _keep(
    conversation: GoldConversation, categories: Collection[str], split: str
) -> GoldConversation:
    kept = [
        item.model_copy(update={"split": split})
        for item in conversation.questions
        if item.category in categories
    ]
    return conversation.model_copy(update={"questions": kept})


def _parse(line: str) -> GoldConversation:
    read = BeamConversation.model_validate_json(line)
    return GoldConversation(
        conversation_id=read.conversation_id,
        sessions=[_as_session(session) for session in read.sessions],
        questions=[
            GoldItem(id=item.id, question=item.text, gold=item.gold, category=item.category)
            for item in read.questions
        ],
    )


def _as_session(session: BeamSession) -> GoldSession:
    turns = [GoldTurn(id=turn.id, role=turn.role, content=turn.text) for turn in session.turns]
    return GoldSession(session_id=session.id, turns=turns, at=session.timestamp)
