"""`memory.questions`: sets of questions, with the memories that are right or wrong for each."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Annotated, Any, Self

from memsense.actor import user_name
from memsense.client.context import Context, no_chunk
from memsense.client.items import ItemsResource
from memsense.client.searches import Searches
from memsense.db import run_read
from memsense.declaration import Facade, awaited, takes
from memsense.errors import InvalidInputError
from memsense.explain.replay import ListedHit, ListReasons, Move, join_moves, list_hits, plain
from memsense.inputs import Id, Name, about, printable_name, shorten
from memsense.metrics import ndcg_at, recall_at, reciprocal_rank
from memsense.parameters import Actor, MemoryId
from memsense.search.profiles import GivenProfile
from memsense.search.request import HitCount, Overrides, QuestionText, SearchRequest
from memsense.store.items import Item, PutItem, SearchItems
from memsense.store.reads import fetch_shown

COLLECTION = "memsense.labels"
DEFAULT_SET = "questions"
LONGEST_SET_NAME = 100
DEFAULT_DEPTH = 10

AT_ONCE = 32
"""Questions of one user that are asked in one round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """A set of questions, with the numbers of its questions and of their labels."""

    name: str
    questions: int
    labels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question to one user's memory, or to that of all, with labels of memories.

    Attributes:
        question: The question.
        user_id: Whose memory it is asked of; None for all users'.
        labels: Whether each labelled memory is right, by its chunk id.
    """

    question: str
    user_id: str | None
    labels: Mapping[int, bool]

    @property
    def right(self) -> frozenset[int]:
        """Return the ids of the right memories."""
        return frozenset(chunk_id for chunk_id, is_right in self.labels.items() if is_right)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        labels = [{"chunk_id": key, "right": is_right} for key, is_right in self.labels.items()]
        return {"question": self.question, "user_id": self.user_id, "labels": labels}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Means over the questions that have a right memory; 0 if there is none.

    Attributes:
        recall: Share of the right memories among the first hits.
        reciprocal_rank: 1 / rank of the first right memory.
        ndcg: Normalised discounted cumulative gain of the first hits.
    """

    recall: float
    reciprocal_rank: float
    ndcg: float

    @classmethod
    def of(cls, rankings: Sequence[tuple[LabelledQuestion, Sequence[ListedHit]]], k: int) -> Self:
        """Return the figures of ranked memories; the first `k` hits count."""
        rated = [
            ([[str(hit.chunk_id)] for hit in hits], {str(chunk_id) for chunk_id in entry.right})
            for entry, hits in rankings
            if entry.right
        ]
        count = len(rated) or 1
        return cls(
            recall=sum(recall_at(ranked, right, k) for ranked, right in rated) / count,
            reciprocal_rank=sum(reciprocal_rank(ranked, right) for ranked, right in rated) / count,
            ndcg=sum(ndcg_at(ranked, right, k) for ranked, right in rated) / count,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCompared:
    """A question of a set under both rankings.

    Attributes:
        entry: The question with its labels.
        before: Hits with the constants before the change.
        after: Hits with those after it.
        moves: Every memory of either list, with its ranks and the reason of its move.
    """

    entry: LabelledQuestion
    before: Sequence[ListedHit]
    after: Sequence[ListedHit]
    moves: Sequence[Move]

    @property
    def first_right(self) -> tuple[int | None, int | None]:
        """Return the rank of the first right memory, before and after; None if there is none."""
        ranks = [
            next((hit.rank for hit in hits if self.entry.labels.get(hit.chunk_id)), None)
            for hits in (self.before, self.after)
        ]
        return ranks[0], ranks[1]

    @property
    def wrong(self) -> tuple[int, int]:
        """Return the number of hits with the label "wrong", before and after."""
        counts = [
            sum(self.entry.labels.get(hit.chunk_id) is False for hit in hits)
            for hits in (self.before, self.after)
        ]
        return counts[0], counts[1]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            **self.entry.as_dict(),
            "first_right": list(self.first_right),
            "wrong": list(self.wrong),
            "before": [plain(hit) for hit in self.before],
            "after": [plain(hit) for hit in self.after],
            "moves": [plain(move) for move in self.moves],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SetComparison:
    """Answers to all questions of a set with two rankings.

    Attributes:
        before: Figures with the constants before the change.
        after: Figures with those after it.
        questions: The questions, each with both lists of hits.
    """

    before: Figures
    after: Figures
    questions: Sequence[QuestionCompared]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            "before": asdict(self.before),
            "after": asdict(self.after),
            "questions": [item.as_dict() for item in self.questions],
        }


_SetName = Annotated[
    Name, printable_name("set", LONGEST_SET_NAME), about("Name of the set of questions.")
]
_Question = Annotated[QuestionText, about("The question, as `search` takes it.")]
_Whose = Annotated[Id, about("Whose memory the question is asked of; default: all users'.")]
_Profile = Annotated[GivenProfile, about("A profile or its name; default: the one in force.")]


class QuestionsResource:
    """Store of labels, right or wrong, that memories have for questions, in named sets.

        memory.questions.label("Where does Ada live?", 42, right=True, user_id="ada")
        memory.questions.compare(overrides={"lexical": 1.5}).after.recall

    A label belongs to the user and the session of its memory, and is erased with them.
    """

    def __init__(self, context: Context, searches: Searches) -> None:
        self._context = context
        self._searches = searches
        self._items = ItemsResource(context)

    @takes
    def label(
        self,
        question: _Question,
        chunk_id: MemoryId,
        *,
        right: bool,
        user_id: _Whose | None = None,
        set_name: _SetName = DEFAULT_SET,
        by: Actor | None = None,
    ) -> None:
        """Label a memory as right or wrong for a question; a later label replaces it.

        Args:
            question: The question, as `search` takes it.
            chunk_id: The memory's chunk id, as searches and lists show it.
            right: True if the memory answers the question, False if not.
            user_id: Whose memory the question is asked of; default: all users'.
            set_name: Name of the set of questions.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Raises:
            NotFoundError: If the namespace has no such chunk.
            InvalidInputError: If the chunk is another user's.
        """
        context = self._context
        chunks = run_read(
            context.pool, lambda it: fetch_shown(it, context.require_namespace(it), [chunk_id])
        )
        if not chunks:
            raise no_chunk(chunk_id)
        [chunk] = chunks
        if user_id is not None and chunk.user_id != user_id:
            raise InvalidInputError(f"memory {chunk_id} is not of user {shorten(user_id)}")
        value = {"question": question, "user_id": user_id, "chunk_id": chunk_id, "right": right}
        put = PutItem(
            path=self._path(set_name, question, user_id),
            key=str(chunk_id),
            value={**value, "by": by or user_name()},
            user_id=chunk.user_id,
            session_id=chunk.session_id,
        )
        self._items.run(COLLECTION, [put])

    @takes
    def unlabel(
        self,
        question: _Question,
        chunk_id: MemoryId,
        *,
        user_id: _Whose | None = None,
        set_name: _SetName = DEFAULT_SET,
    ) -> None:
        """Remove the label that a memory has for a question, if it has one.

        Args:
            question: The question, as `search` takes it.
            chunk_id: The memory's chunk id, as searches and lists show it.
            user_id: Whose memory the question is asked of; default: all users'.
            set_name: Name of the set of questions.
        """
        path = self._path(set_name, question, user_id)
        self._items.run(COLLECTION, [PutItem(path=path, key=str(chunk_id), value=None)])

    @takes
    def labels(
        self,
        question: _Question,
        *,
        user_id: _Whose | None = None,
        set_name: _SetName = DEFAULT_SET,
    ) -> dict[int, bool]:
        """Return whether each labelled memory is right for a question, by its chunk id.

        Args:
            question: The question, as `search` takes it.
            user_id: Whose memory the question is asked of; default: all users'.
            set_name: Name of the set of questions.
        """
        items = self._items.tail(COLLECTION, self._path(set_name, question, user_id))
        return {item.value["chunk_id"]: item.value["right"] for item in items}

    @takes
    def list(self, set_name: _SetName = DEFAULT_SET) -> list[LabelledQuestion]:
        """Return the questions of a set with their labels, the earliest label first.

        Args:
            set_name: Name of the set of questions.
        """
        return _read_questions(self._fetch([set_name]))

    def sets(self) -> "Sequence[QuestionSet]":
        """Return the sets of questions by name."""
        by_name: dict[str, list[Item]] = {}
        for item in self._fetch([]):
            by_name.setdefault(item.path[0], []).append(item)
        return [
            QuestionSet(name=name, questions=len(_read_questions(items)), labels=len(items))
            for name, items in sorted(by_name.items())
        ]

    @takes
    def remove(
        self,
        question: _Question,
        *,
        user_id: _Whose | None = None,
        set_name: _SetName = DEFAULT_SET,
    ) -> int:
        """Remove a question from its set, and return how many labels it had.

        Args:
            question: The question, as `search` takes it.
            user_id: Whose memory the question is asked of; default: all users'.
            set_name: Name of the set of questions.
        """
        return self._items.clear(COLLECTION, self._path(set_name, question, user_id))

    @takes
    def compare(
        self,
        set_name: _SetName = DEFAULT_SET,
        *,
        before: _Profile | None = None,
        after: GivenProfile | None = None,
        overrides: Overrides | None = None,
        top_k: HitCount = (DEFAULT_DEPTH),
    ) -> SetComparison:
        """Ask all questions of a set with two rankings, and compare what they find.

            memory.questions.compare(overrides={"lexical": 1.5}).after.ndcg

        The searches are not recorded.

        Args:
            set_name: Name of the set of questions.
            before: A profile or its name; default: the one in force.
            after: A profile or its name to compare it with; default: `before`.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            top_k: Hits of each question that count, up to 1,000.

        Raises:
            NotFoundError: For an unknown profile.
        """
        questions = self.list(set_name)
        request = SearchRequest(query="", top_k=top_k, profile=before)
        old = self._ask(questions, request)
        changed = replace(request, profile=after or before, overrides=overrides or {})
        new = self._ask(questions, changed)
        compared = [
            QuestionCompared(
                entry=entry,
                before=one,
                after=other,
                moves=join_moves(one, other, reasons=ListReasons()),
            )
            for entry, one, other in zip(questions, old, new, strict=True)
        ]
        return SetComparison(
            before=Figures.of([(item.entry, item.before) for item in compared], top_k),
            after=Figures.of([(item.entry, item.after) for item in compared], top_k),
            questions=compared,
        )

    def _ask(
        self, questions: Sequence[LabelledQuestion], request: SearchRequest
    ) -> Sequence[Sequence[ListedHit]]:
        """Return the hits of each question, with the constants and the depth of the request."""
        places: dict[str | None, list[int]] = {}
        for place, entry in enumerate(questions):
            places.setdefault(entry.user_id, []).append(place)
        hits: dict[int, Sequence[ListedHit]] = {}
        for user_id, own in places.items():
            for start in range(0, len(own), AT_ONCE):
                batch = own[start : start + AT_ONCE]
                requests = [
                    replace(request, query=questions[place].question, user_id=user_id)
                    for place in batch
                ]
                results = self._searches.answer(requests, trace=False, counts=False)
                hits |= dict(zip(batch, map(list_hits, results), strict=True))
        return [hits[place] for place in range(len(questions))]

    def _fetch(self, path: Sequence[str]) -> Sequence[Item]:
        """Return the labels below a path, in the order in which they were first given."""
        [items] = self._items.run(COLLECTION, [SearchItems(prefix=path, limit=None)])
        return sorted(items, key=lambda it: it.item_id)

    def _path(self, set_name: str, question: str, user_id: str | None) -> Sequence[str]:
        """Return the path of a question's labels: the set, and a hash of the question.

        A question may be longer than a label of a path. It is hashed as it is stored.
        """
        text = f"{user_id or ''}\0{self._context.clean(question)}"
        return [set_name, sha256(text.encode()).hexdigest()[:32]]


class AsyncQuestionsResource(Facade):
    """QuestionsResource for asyncio, each method awaited."""

    label = awaited(QuestionsResource.label)
    unlabel = awaited(QuestionsResource.unlabel)
    labels = awaited(QuestionsResource.labels)
    list = awaited(QuestionsResource.list)
    sets = awaited(QuestionsResource.sets)
    remove = awaited(QuestionsResource.remove)
    compare = awaited(QuestionsResource.compare)


def _read_questions(items: Sequence[Item]) -> list[LabelledQuestion]:
    by_path: dict[Sequence[str], list[Mapping[str, Any]]] = {}
    for item in items:
        by_path.setdefault(tuple(item.path), []).append(item.value)
    return [
        LabelledQuestion(
            question=values[0]["question"],
            user_id=values[0]["user_id"],
            labels={value["chunk_id"]: value["right"] for value in values},
        )
        for values in by_path.values()
    ]
