"""Page *Questions*: sets of questions with labelled hits, and what weights do to all of them."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from memsense.client.questions import DEFAULT_DEPTH, DEFAULT_SET, QuestionCompared
from memsense.errors import MemSenseError
from memsense.server.page.ask import form_error_status, list_sliders, moved_sliders
from memsense.server.page.bars import list_legend
from memsense.server.page.traces import TwoRankings, compare_rankings
from memsense.server.page.visitors import AnyVisitor, ReadingVisitor, read_form, redirect_after_post
from memsense.server.problems import ProblemError

router = APIRouter(prefix="/ui/questions", include_in_schema=False)


@router.get("")
async def list_sets(visitor: ReadingVisitor) -> Response:
    """Show the sets of questions."""
    questions = visitor.caller.whole().questions
    sets = [(item.name, await questions.list(item.name)) for item in await questions.sets()]
    return visitor.page("questions.html", sets=sets)


@router.post("/label")
async def label(visitor: AnyVisitor) -> Response:
    """Store that a memory is right or wrong for a question, or remove the label."""
    form = await read_form(visitor, "write")
    questions = visitor.caller.whole().questions
    chunk_id, question = form.get("chunk", ""), form.get("q", "").strip()
    if not chunk_id.isdecimal() or not question:
        raise ProblemError(422, "a label needs a question and the number of a memory")
    place: dict[str, Any] = {
        "user_id": form.get("user") or None,
        "set_name": form.get("set", "").strip() or DEFAULT_SET,
    }
    if form.get("label") == "none":
        await questions.unlabel(question, int(chunk_id), **place)
    else:
        is_right, by = form.get("label") == "right", visitor.caller.name
        await questions.label(question, int(chunk_id), right=is_right, by=by, **place)
    return redirect_after_post(form.get("back") or "/ui/questions")


@router.post("/remove")
async def remove(visitor: AnyVisitor) -> Response:
    """Remove a question from its set, with its labels."""
    form = await read_form(visitor, "write")
    set_name, question = form.get("set", ""), form.get("q", "").strip()
    if not set_name or not question:
        raise ProblemError(422, "name the set and the question to remove")
    await visitor.caller.whole().questions.remove(
        question, user_id=form.get("user") or None, set_name=set_name
    )
    return redirect_after_post("/ui/questions")


# What weights do to all questions of a set -------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow:
    """A question under both sets of weights, with its memories to show."""

    compared: QuestionCompared
    pair: TwoRankings


@router.get("/set")
async def show_set(
    visitor: ReadingVisitor, request: Request, name: str, base: str = "", other: str = ""
) -> Response:
    """Show a set's questions and, once weights are chosen, what they do to all of them."""
    memory = visitor.caller.whole()
    questions = await memory.questions.list(name)
    # Sliders change the profile that is asked second.
    changed = await memory.profiles.get(other or base or None)
    overrides = moved_sliders(request.query_params, changed.constants())
    values: dict[str, Any] = {
        "set_name": name,
        "questions": questions,
        "depth": DEFAULT_DEPTH,
        "base": base,
        "other": other,
        "profiles": await visitor.profile_names(),
        "sliders": list_sliders(changed.constants(), overrides),
        "overrides": overrides,
        "rows": (),
        "legend": (),
        "problem": None,
    }
    # htmx asks for the sliders of another profile, and for no comparison.
    is_drawn = request.headers.get("hx-request") == "true"
    if is_drawn or not questions or not (other or overrides):
        return visitor.page("question_set.html", **values)
    try:
        result = await memory.questions.compare(
            name, before=base or None, after=other or None, overrides=overrides or None
        )
    except MemSenseError as error:
        values["problem"] = str(error)
        return visitor.page("question_set.html", form_error_status(error), **values)
    chunks = await memory.get_many([move.chunk_id for it in result.questions for move in it.moves])
    titles = (base or "In force", "Changed")
    rows = [
        QuestionRow(
            compared=it,
            pair=compare_rankings(titles, (it.before, it.after), it.moves, chunks, it.entry.labels),
        )
        for it in result.questions
    ]
    values |= {
        "rows": rows,
        "figures": (result.before, result.after),
        "legend": list_legend(
            item.bar
            for row in rows
            for item in (*row.pair.old, *row.pair.new)
            if item.bar is not None
        ),
    }
    return visitor.page("question_set.html", **values)
