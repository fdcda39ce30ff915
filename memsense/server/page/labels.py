"""Labels of hits, right or wrong for a question, in named sets of questions.

A label is an item of the collection `memsense.labels`. It belongs to the user and the session of
its memory, and is erased with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from memsense.client.aio import AsyncMemSense
from memsense.store.items import SearchItems

COLLECTION = "memsense.labels"
DEFAULT_SET = "questions"
LARGEST_SET = 1000
"""Labels of a set that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question of a user, or of all, with the memories that are right or wrong for it."""

    question: str
    user_id: str | None
    labels: dict[int, bool] = field(default_factory=dict[int, bool])

    @property
    def key(self) -> str:
        """Return the name of the question within its set."""
        return question_key(self.question, self.user_id)

    @property
    def right(self) -> frozenset[str]:
        """Return the ids of the right memories, as the measures take them."""
        return frozenset(str(chunk_id) for chunk_id, is_right in self.labels.items() if is_right)


def question_key(question: str, user_id: str | None) -> str:
    """Return the label of a question's path: texts may be longer than a path's labels."""
    return sha256(f"{user_id or ''}\0{question}".encode()).hexdigest()[:32]


async def fetch_labels(
    memory: AsyncMemSense, set_name: str, question: str, user_id: str | None
) -> dict[int, bool]:
    """Return the labels of one question: whether each memory is right."""
    path = [set_name, question_key(question, user_id)]
    items = await memory.items.tail(COLLECTION, path)
    return {item.value["chunk_id"]: item.value["right"] for item in items}


async def fetch_questions(memory: AsyncMemSense, set_name: str) -> list[LabelledQuestion]:
    """Return the questions of a set, the earliest label first."""
    search = SearchItems(prefix=[set_name], limit=LARGEST_SET)
    [items] = await memory.items.run(COLLECTION, [search])
    questions: dict[str, LabelledQuestion] = {}
    for item in sorted(items, key=lambda it: it.item_id):
        value: Mapping[str, Any] = item.value
        entry = LabelledQuestion(question=value["question"], user_id=value["user_id"])
        questions.setdefault(entry.key, entry).labels[value["chunk_id"]] = value["right"]
    return list(questions.values())
