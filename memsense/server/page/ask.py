"""Page *Ask*: a question, its hits with their arithmetic, and why another memory is no hit."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query
from fastapi.responses import Response

from memsense.errors import MemSenseError
from memsense.search.profiles import ROUTES
from memsense.server.page.bars import draw_bars, explained_parts
from memsense.server.page.visitors import ReadingVisitor, Visitor
from memsense.server.problems import status_of

router = APIRouter(prefix="/ui", include_in_schema=False)

DEFAULT_TOP_K = 8
INPUT_ERRORS = frozenset({404, 422})
"""Statuses of errors in the form's own fields: the page shows them above the form, with 200."""

SLIDERS: Mapping[str, float] = {
    **dict.fromkeys(ROUTES, 4.0),
    "coverage_weight": 2.0,
    "tokens_weight": 3.0,
    "memory_alpha": 1.0,
    "mmr_lambda": 1.0,
}
"""The constants that have sliders, with the largest value of each."""

LONGEST_WORD = 100
"""Characters of a word that is marked; longer ones are no words of a question."""

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


@router.get("/")
async def ask(
    visitor: ReadingVisitor,
    *,
    q: str = "",
    user: str = "",
    since: str = "",
    until: str = "",
    tag: str = "",
    session: str = "",
    profile: str = "",
    hits: str = str(DEFAULT_TOP_K),
    why: Annotated[str, Query(max_length=30)] = "",
) -> Response:
    """Show the form, and below it the answer."""
    fields = {
        "q": q, "user": user, "since": since, "until": until, "tag": tag, "session": session,
        "profile": profile, "hits": hits,
    }  # fmt: skip
    profiles, whose = await visitor.profile_names(), visitor.whose(user)
    shared: dict[str, Any] = {"asked": fields, "why": why, "profiles": profiles, "problem": None}
    if not q.strip():
        return visitor.page("ask.html", answer=None, verdict=None, **shared)
    # Numbers and times go on as they were typed: the search names the argument that is wrong.
    arguments: dict[str, Any] = {
        "top_k": int(hits) if hits.isdecimal() else hits or DEFAULT_TOP_K,
        "since": since or None,
        "until": until or None,
        "tags": [tag] if tag else None,
        "session_ids": [session] if session else None,
        "profile": profile or None,
        **whose,
    }
    try:
        answer = await _search(visitor, q, arguments)
        verdict = None
        if why:
            chunk_id: Any = int(why) if why.isdecimal() else why
            verdict = (await visitor.caller.memory.why_not(q, chunk_id, **arguments)).as_dict()
    except MemSenseError as error:
        shared["problem"] = str(error)
        status = status_of(error)
        page_status = 200 if status in INPUT_ERRORS else status
        return visitor.page("ask.html", page_status, answer=None, verdict=None, **shared)
    return visitor.page("ask.html", answer=answer, verdict=verdict, **shared)


async def _search(visitor: Visitor, question: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the template for a question's answer."""
    memory = visitor.caller.memory
    # Recorded, because sliders replay the recorded search.
    result = await memory.search(question, trace=True, **arguments)
    words = list_words(hit.content for hit in result)
    lexemes = result.question.get("lexemes", ())
    # PostgreSQL says which words match: only it knows the stemming of the text index.
    matching = await memory.matching_words(words, lexemes) if words and lexemes else set[str]()
    bars = draw_bars([(hit.score, explained_parts(hit.explain)) for hit in result])
    hits = [
        {"hit": hit, "bar": bar, "pieces": mark_words(hit.content, matching)}
        for hit, bar in zip(result, bars, strict=True)
    ]
    sliders: list[tuple[str, float, float]] = []
    if result.trace_id is not None:
        sliders = slider_values((await memory.traces.get(result.trace_id)).profile)
    return {"result": result, "hits": hits, "sliders": sliders}


def slider_values(profile: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Return name, value and largest value of each constant that has a slider."""
    constants = {**profile, **profile.get("weights", {})}
    return [
        (name, float(constants[name]), max(largest, float(constants[name])))
        for name, largest in SLIDERS.items()
        if isinstance(constants.get(name), int | float)
    ]


# Marks -------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """A span of a text, marked or not."""

    text: str
    is_marked: bool


def list_words(texts: Iterable[str]) -> list[str]:
    """Return the distinct words of some texts."""
    words = (match[0] for text in texts for match in _WORD.finditer(text))
    return list(dict.fromkeys(word for word in words if len(word) <= LONGEST_WORD))


def mark_words(text: str, words: Collection[str]) -> Sequence[Piece]:
    """Split a text into pieces, with the given words marked; joined, they are the text."""
    pieces: list[Piece] = []
    end = 0
    for match in _WORD.finditer(text):
        if match[0] in words:
            pieces += [Piece(text[end : match.start()], False), Piece(match[0], True)]
            end = match.end()
    return [piece for piece in (*pieces, Piece(text[end:], False)) if piece.text]
