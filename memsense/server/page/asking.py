"""The page *Ask*: a question, its hits with their arithmetic, and why not others."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from memsense.errors import MemSenseError
from memsense.search.hits import SearchResult
from memsense.search.profiles import ROUTES
from memsense.server.page.bars import draw_bars, explained_parts
from memsense.server.page.marks import list_words, mark_words
from memsense.server.page.visiting import Reading, Visitor
from memsense.server.problems import status_of

router = APIRouter(prefix="/ui", include_in_schema=False)

DEFAULT_HITS = 8
ASKED_WRONGLY = frozenset({404, 422})
"""What the form itself tells, as any answer to it."""

SLIDERS: Mapping[str, float] = {
    **dict.fromkeys(ROUTES, 4.0),
    "coverage_weight": 2.0,
    "tokens_weight": 3.0,
    "memory_alpha": 1.0,
    "mmr_lambda": 1.0,
}
"""The constants that sliders move, and how far."""


@router.get("/")
async def ask(
    visitor: Reading,
    *,
    q: str = "",
    user: str = "",
    since: str = "",
    until: str = "",
    tag: str = "",
    session: str = "",
    profile: str = "",
    hits: str = str(DEFAULT_HITS),
    why: Annotated[str, Query(max_length=30)] = "",
) -> Response:
    """The form, and under it the answer."""
    asked = {
        "q": q, "user": user, "since": since, "until": until, "tag": tag, "session": session,
        "profile": profile, "hits": hits,
    }  # fmt: skip
    profiles, whose = await visitor.profile_names(), visitor.whose(user)
    shared: dict[str, Any] = {"asked": asked, "why": why, "profiles": profiles, "problem": None}
    if not q.strip():
        return visitor.page("ask.html", answer=None, verdict=None, **shared)
    try:
        options = _options(asked) | whose
        answer = await _answer(visitor, q, options)
        verdict = await _judge(visitor, q, options, why) if why else None
    except MemSenseError as error:
        shared["problem"] = str(error)
        status = status_of(error)
        shown = 200 if status in ASKED_WRONGLY else status
        return visitor.page("ask.html", shown, answer=None, verdict=None, **shared)
    return visitor.page("ask.html", answer=answer, verdict=verdict, **shared)


def _options(asked: Mapping[str, str]) -> dict[str, Any]:
    """The keywords of a search, of the fields that are filled."""
    hits = asked["hits"]
    return {
        "top_k": int(hits) if hits.isdecimal() else hits or DEFAULT_HITS,
        "since": asked["since"] or None,
        "until": asked["until"] or None,
        "tags": [asked["tag"]] if asked["tag"] else None,
        "session_ids": [asked["session"]] if asked["session"] else None,
        "profile": asked["profile"] or None,
    }


async def _answer(visitor: Visitor, question: str, options: dict[str, Any]) -> dict[str, Any]:
    memory = visitor.caller.memory
    result = await memory.search(question, trace=True, **options)
    words = list_words(hit.content for hit in result)
    lexemes = result.question.get("lexemes", ())
    marked = await memory.matching_words(words, lexemes) if words and lexemes else set[str]()
    bars = draw_bars([(hit.score, explained_parts(hit.explain)) for hit in result])
    hits = [
        {"hit": hit, "bar": bar, "pieces": mark_words(hit.content, marked)}
        for hit, bar in zip(result, bars, strict=True)
    ]
    return {"result": result, "hits": hits, "sliders": await _sliders(visitor, result)}


async def _sliders(visitor: Visitor, result: SearchResult) -> list[tuple[str, float, float]]:
    """Name, value and largest value of what can be moved; nothing where it is not recorded."""
    if result.trace_id is None:
        return []
    trace = await visitor.caller.memory.traces.get(result.trace_id)
    return slider_values(trace.profile)


def slider_values(profile: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Name, value and largest value of each constant that sliders move, as the profile has it."""
    constants = {**profile, **profile.get("weights", {})}
    return [
        (name, float(constants[name]), max(largest, float(constants[name])))
        for name, largest in SLIDERS.items()
        if isinstance(constants.get(name), int | float)
    ]


async def _judge(
    visitor: Visitor, question: str, options: dict[str, Any], why: str
) -> dict[str, Any]:
    chunk_id: Any = int(why) if why.isdecimal() else why
    verdict = await visitor.caller.memory.why_not(question, chunk_id, **options)
    return verdict.as_dict()
