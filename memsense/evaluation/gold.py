"""What a gold set holds: questions, and the messages and sessions that answer each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memsense.errors import EvaluationError


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQuestion:
    """A question with the ids of the messages and sessions that hold its answer.

    `split` is the group it is reported in besides "all"; empty for none.
    """

    question_id: str
    user_id: str
    question: str
    gold_messages: frozenset[str]
    gold_sessions: frozenset[str]
    category: str
    split: str
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldSet:
    """Questions with usable evidence, and how many had none, by split."""

    name: str
    questions: Sequence[GoldQuestion]
    skipped: dict[str, int]

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits besides "all", in the order of their names."""
        found = {question.split for question in self.questions} | self.skipped.keys()
        return tuple(sorted(found - {"", "all"}))

    def only(self, split: str | None) -> "GoldSet":
        """The questions of one split, all for None; raises EvaluationError listing the splits."""
        if split is None:
            return self
        if split not in self.splits:
            listed = ", ".join(self.splits) or "none"
            raise EvaluationError(f"{self.name} has no split {split!r}; there are {listed}")
        return GoldSet(
            name=self.name,
            questions=[question for question in self.questions if question.split == split],
            skipped={split: self.skipped.get(split, 0)},
        )
