"""Reader of BEAM (Tavakoli et al. 2025): long chats with an assistant, and questions about them.

A line of the file is one conversation; docs/reference/gold-format.md says which fields are read.
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
"""Categories whose questions are answered by a few messages that a search can find."""

TUNING = 10
"""Number of the first conversations for tuning; the others are for reporting alone."""


class BeamTurn(GoldPart):
    """Message of a session."""

    id: Name
    role: Role
    text: str


class BeamSession(GoldPart):
    """Messages in their order, and the time of the session."""

    id: Name
    turns: Sequence[BeamTurn]
    timestamp: datetime | None = None


# Some questions ask about something that was never said, and the gold of some is wrong: neither can
# be answered by a search. Of the 200 questions of the retrieval categories, 199 are usable.
class BeamQuestion(GoldPart):
    """Question; `gold_ok` is False if the named turns don't hold the answer."""

    id: Name
    text: Name
    category: str
    answerable: bool
    gold_ok: bool
    gold_turn_ids: frozenset[str]

    @property
    def gold(self) -> frozenset[str]:
        """Turns that hold the answer; empty if the question can't be counted."""
        return self.gold_turn_ids if self.answerable and self.gold_ok else frozenset()


class BeamConversation(GoldPart):
    """Chats of one user, and the questions about them."""

    conversation_id: Name
    sessions: Sequence[BeamSession]
    questions: Sequence[BeamQuestion]


def read_beam(path: Path, categories: Collection[str] = RETRIEVAL) -> list[GoldConversation]:
    """Read the conversations with their questions of some categories.

    Args:
        path: The file.
        categories: Categories of the questions to keep.

    Returns:
        The conversations; their questions are in the split of the first ten, or of the others.

    Raises:
        EvaluationError: If a line can't be used, names the line and the field; or if the file has
            no question of a category.
    """
    conversations = read_conversations(path, _parse)
    present = {item.category for conversation in conversations for item in conversation.questions}
    if unknown := sorted(set(categories) - present):
        raise EvaluationError(
            f"{path} has no question of {', '.join(unknown)};"
            f" there are {', '.join(sorted(present))}"
        )
    selection: list[GoldConversation] = []
    for place, conversation in enumerate(conversations):
        split = f"1-{TUNING}" if place < TUNING else f"{TUNING + 1}-{len(conversations)}"
        questions = [
            item.model_copy(update={"split": split})
            for item in conversation.questions
            if item.category in categories
        ]
        selection.append(conversation.model_copy(update={"questions": questions}))
    return selection


def _parse(line: str) -> GoldConversation:
    beam = BeamConversation.model_validate_json(line)
    return GoldConversation(
        conversation_id=beam.conversation_id,
        sessions=[
            GoldSession(
                session_id=session.id,
                turns=[
                    GoldTurn(id=turn.id, role=turn.role, content=turn.text)
                    for turn in session.turns
                ],
                at=session.timestamp,
            )
            for session in beam.sessions
        ],
        questions=[
            GoldItem(id=item.id, question=item.text, gold=item.gold, category=item.category)
            for item in beam.questions
        ],
    )
