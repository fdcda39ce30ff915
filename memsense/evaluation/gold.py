"""Gold sets: questions, and the messages and sessions that hold the answer of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memsense.errors import EvaluationError


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldText:
    """Text of a gold message; `by_user` is False if an assistant said it."""

    text: str
    by_user: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQuestion:
    """Question with the messages and sessions that hold its answer.

    Attributes:
        question_id: Id of the question, unique in its gold set.
        user_id: The user whose memory is searched.
        question: The text.
        gold_messages: Ids of the messages that hold the answer.
        gold_sessions: Ids of their sessions.
        gold_texts: Their texts, by id; for the measure of prompts, which needs all of them.
        category: Category that results are reported by.
        split: Group that it is reported in besides "all"; empty for none.
        asked_at: The moment that "last week" counts from; None for now.
    """

    question_id: str
    user_id: str
    question: str
    gold_messages: frozenset[str]
    gold_sessions: frozenset[str]
    category: str
    split: str
    asked_at: datetime | None = None
    gold_texts: Mapping[str, GoldText] = field(default_factory=dict[str, GoldText])


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldSet:
    """Questions with usable evidence, and the number of those without, by split."""

    name: str
    questions: Sequence[GoldQuestion]
    skipped: dict[str, int]

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits besides "all", sorted by name."""
        names = {question.split for question in self.questions} | self.skipped.keys()
        return tuple(sorted(names - {"", "all"}))

    def only(self, split: str | None) -> "GoldSet":
        """Return the questions of one split, or all for None; raise EvaluationError."""
        if split is None:
            return self
        if split not in self.splits:
            names = ", ".join(self.splits) or "none"
            raise EvaluationError(f"{self.name} has no split {split!r}; there are {names}")
        return GoldSet(
            name=self.name,
            questions=[question for question in self.questions if question.split == split],
            skipped={split: self.skipped.get(split, 0)},
        )
