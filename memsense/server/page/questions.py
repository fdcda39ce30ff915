"""Page *Questions*: sets of questions with labelled hits, and what weights do to all of them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from memsense.client.aio import AsyncMemSense
from memsense.errors import MemSenseError
from memsense.evaluation.metrics import ndcg_at, recall_at, reciprocal_rank
from memsense.explain.replay import join_moves, list_hits
from memsense.inputs import shorten
from memsense.search.hits import SearchResult
from memsense.server.page.ask import SLIDERS, form_error_status, list_sliders
from memsense.server.page.bars import list_legend
from memsense.server.page.labels import (
    COLLECTION,
    DEFAULT_SET,
    LARGEST_SET,
    LabelledQuestion,
    fetch_questions,
    question_key,
)
from memsense.server.page.traces import ListReasons, TwoRankings, compare_rankings
from memsense.server.page.visitors import (
    AnyVisitor,
    ReadingVisitor,
    read_form,
    redirect_after_post,
)
from memsense.server.problems import ProblemError
from memsense.store.items import ListPaths, PutItem

router = APIRouter(prefix="/ui/questions", include_in_schema=False)

DEPTH = 10
"""Hits of each question that the figures look at."""

SEARCHES_AT_ONCE = 4


@router.get("")
async def list_sets(visitor: ReadingVisitor) -> Response:
    """Show the sets of questions."""
    memory = visitor.caller.whole()
    [paths] = await memory.items.run(COLLECTION, [ListPaths(depth=1, limit=LARGEST_SET)])
    names = [path[0] for path in paths]
    sets = [(name, await fetch_questions(memory, name)) for name in names]
    return visitor.page("questions.html", sets=sets)


@router.post("/label")
async def label(visitor: AnyVisitor) -> Response:
    """Store that a memory is right or wrong for a question, or remove the label."""
    form = await read_form(visitor, "write")
    memory = visitor.caller.whole()
    chunk_id, question = form.get("chunk", ""), form.get("q", "").strip()
    set_name = form.get("set", "").strip() or DEFAULT_SET
    if not chunk_id.isdecimal() or not question:
        raise ProblemError(422, "a label needs a question and the number of a memory")
    chunk = await memory.get(int(chunk_id))
    user_id = form.get("user") or None
    value = {
        "question": question,
        "user_id": user_id,
        "chunk_id": chunk.chunk_id,
        "right": form.get("label") == "right",
        "by": visitor.caller.name,
    }
    put = PutItem(
        path=[set_name, question_key(question, user_id)],
        key=chunk_id,
        value=None if form.get("label") == "none" else value,
        user_id=chunk.user_id,
        session_id=chunk.session_id,
    )
    await memory.items.run(COLLECTION, [put])
    return redirect_after_post(form.get("back") or "/ui/questions")


@router.post("/remove")
async def remove(visitor: AnyVisitor) -> Response:
    """Remove a question from its set, with its labels."""
    form = await read_form(visitor, "write")
    memory, path = visitor.caller.whole(), [form.get("set", ""), form.get("question", "")]
    if not all(path):
        raise ProblemError(422, "name the set and the question to remove")
    await memory.items.clear(COLLECTION, path)
    return redirect_after_post("/ui/questions")


# What weights do to all questions of a set -------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Means over the questions of a set that have a right memory; DEPTH hits count."""

    recall: float
    reciprocal_rank: float
    ndcg: float

    @classmethod
    def of(cls, entries: Sequence[tuple[LabelledQuestion, Sequence[int]]]) -> "Figures":
        """Return the figures of ranked memories, by question."""
        rated = [
            ([[str(chunk_id)] for chunk_id in ranked], entry.right)
            for entry, ranked in entries
            if entry.right
        ]
        count = len(rated) or 1
        return cls(
            recall=sum(recall_at(ranked, right, DEPTH) for ranked, right in rated) / count,
            reciprocal_rank=sum(reciprocal_rank(ranked, right) for ranked, right in rated) / count,
            ndcg=sum(ndcg_at(ranked, right, DEPTH) for ranked, right in rated) / count,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow:
    """A question under both sets of weights: the place of its first right memory in each."""

    entry: LabelledQuestion
    places: tuple[int | None, int | None]
    wrong: tuple[int, int]
    pair: TwoRankings


@router.get("/set")
async def show_set(
    visitor: ReadingVisitor, request: Request, name: str, base: str = "", other: str = ""
) -> Response:
    """Show a set's questions and, once weights are chosen, what they do to all of them."""
    memory = visitor.caller.whole()
    questions = await fetch_questions(memory, name)
    profile = await memory.profiles.get(base or None)
    overrides = _read_overrides(request, profile.constants())
    values: dict[str, Any] = {
        "set_name": name,
        "questions": questions,
        "base": base,
        "other": other,
        "profiles": await visitor.profile_names(),
        "sliders": list_sliders(profile.constants(), overrides),
        "overrides": overrides,
        "rows": (),
        "legend": (),
        "problem": None,
    }
    if not questions or not (other or overrides):
        return visitor.page("question_set.html", **values)
    try:
        before = await _search_all(memory, questions, base or None, {})
        after = await _search_all(memory, questions, other or base or None, overrides)
    except MemSenseError as error:
        values["problem"] = str(error)
        return visitor.page("question_set.html", form_error_status(error), **values)
    rows = await _compare(memory, questions, before, after, (base or profile.name, "Changed"))
    values |= {
        "rows": rows,
        "figures": [
            Figures.of([(entry, [hit.chunk_id for hit in result]) for entry, result in pairs])
            for pairs in (
                list(zip(questions, before, strict=True)),
                list(zip(questions, after, strict=True)),
            )
        ],
        "legend": list_legend(
            item.bar
            for row in rows
            for item in (*row.pair.old, *row.pair.new)
            if item.bar is not None
        ),
    }
    return visitor.page("question_set.html", **values)


def _read_overrides(request: Request, constants: Mapping[str, Any]) -> dict[str, float]:
    overrides: dict[str, float] = {}
    for name in SLIDERS:
        text = request.query_params.get(name)
        if text is None:
            continue
        try:
            value = float(text)
        except ValueError as error:
            raise ProblemError(422, f"{name} must be a number, not {shorten(text)}") from error
        if value != constants.get(name):
            overrides[name] = value
    return overrides


async def _search_all(
    memory: AsyncMemSense,
    questions: Sequence[LabelledQuestion],
    profile: str | None,
    overrides: Mapping[str, float],
) -> list[SearchResult]:
    """Return the result of each question; a few searches run at once."""
    gate = asyncio.Semaphore(SEARCHES_AT_ONCE)

    async def search(entry: LabelledQuestion) -> SearchResult:
        async with gate:
            return await memory.search(
                entry.question,
                user_id=entry.user_id,
                all_users=entry.user_id is None,
                top_k=DEPTH,
                profile=profile,
                overrides=overrides or None,
                trace=False,
            )

    return list(await asyncio.gather(*map(search, questions)))


async def _compare(
    memory: AsyncMemSense,
    questions: Sequence[LabelledQuestion],
    before: Sequence[SearchResult],
    after: Sequence[SearchResult],
    titles: tuple[str, str],
) -> list[QuestionRow]:
    chunk_ids = {hit.chunk_id for results in (before, after) for it in results for hit in it}
    chunks = await memory.get_many([*chunk_ids])
    rows: list[QuestionRow] = []
    for entry, old, new in zip(questions, before, after, strict=True):
        lists = (list_hits(old), list_hits(new))
        places = tuple(
            next((hit.rank for hit in hits if entry.labels.get(hit.chunk_id)), None)
            for hits in lists
        )
        moves = join_moves(*lists, reasons=ListReasons())
        wrong = tuple(sum(entry.labels.get(hit.chunk_id) is False for hit in it) for it in lists)
        rows.append(
            QuestionRow(
                entry=entry,
                places=(places[0], places[1]),
                wrong=(wrong[0], wrong[1]),
                pair=compare_rankings(titles, lists, moves, chunks, entry.labels),
            )
        )
    return rows
