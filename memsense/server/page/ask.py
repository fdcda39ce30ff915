"""Page *Ask*: a question, its hits with their arithmetic, and why another memory is no hit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response

from memsense.client.questions import DEFAULT_SET
from memsense.errors import MemSenseError, NotFoundError
from memsense.inputs import shorten
from memsense.search.hits import SearchResult
from memsense.search.profiles import LARGEST_VALUES, SCORE_WEIGHTS
from memsense.server.page.bars import list_legend
from memsense.server.page.markup import list_words
from memsense.server.page.pulse import Span, take_pulse
from memsense.server.page.ranked import RankedMemory, list_memories, rank_hits
from memsense.server.page.visitors import (
    HOME,
    AnyVisitor,
    ReadingVisitor,
    Visitor,
    read_form,
    redirect_after_post,
)
from memsense.server.problems import ProblemError, status_of

router = APIRouter(prefix="/ui", include_in_schema=False)

DEFAULT_TOP_K = 8
MISSED_MEMORIES = 5
"""Memories with the words of *Why not?* whose absence is explained."""

INPUT_ERRORS = frozenset({404, 422})
"""Statuses of errors in the form's own fields: the page shows them above the form, with 200."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "Same words": ("lexical", "coverage", "phrase", "quoted", "identifier", "words_alone"),
    "Similar meaning": (
        "vec_full", "vec_user", "vec_assistant", "vec_next_user", "similarity",
        "tokens", "tokens_around", "tokens_session", "reranker",
    ),
    "Time and facts": ("time", "date", "inside", "beside", "latest", "current", "facet_events"),
    "Who and where": ("tokens_speaker", "facet_personal_info", "facet_preferences", "graph"),
    "Order": ("memory_score", "turn_support", "other"),
}  # fmt: skip
"""Families of sliders, with the parts of a score that theirs weigh."""

PARTS_OF_WEIGHTS: Mapping[str, str] = {
    "memory_alpha": "memory_score",
    "turn_support_coefficient": "turn_support",
    "second_turn_weight": "turn_support",
    "session_chunk_weight": "turn_support",
    "inside_alone_weight": "inside",
    "tokens_whole_weight": "tokens_session",
    "rrf_weight": "other",
    "mmr_lambda": "other",
}
"""The parts that weights of another name weigh; "other" is every part of a route, or none."""

SLIDERS: Mapping[str, str] = {
    name: PARTS_OF_WEIGHTS.get(name, re.sub("_(weight|boost)$", "", name))
    for name in (*SCORE_WEIGHTS, "mmr_lambda")
}
"""The constants that have sliders, with the part of a score that each weighs."""

LARGEST_SLIDER = 4.0
NOTHING_CHANGED: Mapping[str, float] = {}

FIELDS = ("q", "user", "session", "since", "until", "tag", "hits", "profile", "kind", "set")
"""Fields of the form, as the address has them."""


def form_error_status(error: MemSenseError) -> int:
    """Return the status of a page that shows an error above its form."""
    status = status_of(error)
    return 200 if status in INPUT_ERRORS else status


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """A memory that is no hit of a question, or is one, with the reason."""

    memory: RankedMemory
    verdict: Mapping[str, Any]


@router.get("/")
async def ask(  # noqa: PLR0917 (fields of a form)
    visitor: ReadingVisitor,
    q: str = "",
    user: str = "",
    since: str = "",
    until: str = "",
    tag: str = "",
    session: str = "",
    profile: str = "",
    kind: str = "",
    hits: str = str(DEFAULT_TOP_K),
    why: Annotated[str, Query(max_length=200)] = "",
    trace: Annotated[str, Query(max_length=40)] = "",
    set_name: Annotated[str, Query(alias="set", max_length=100)] = DEFAULT_SET,
    span: Span = "day",
) -> Response:
    """Show the form, and below it the answer, or the pulse. Nothing is recorded."""
    fields = {
        "q": q, "user": user, "session": session, "since": since, "until": until, "tag": tag,
        "hits": hits, "profile": profile, "kind": kind, "set": set_name,
    }  # fmt: skip
    values: dict[str, Any] = {
        "fields": fields,
        "why": why,
        "trace": trace,
        "profiles": await visitor.profile_names(),
        "problem": None,
        "why_problem": None,
        "result": None,
        "memories": (),
        "legend": (),
        "absences": (),
        "sliders": (),
        "pulse": None,
    }
    whose = visitor.whose(user)
    if not q.strip():
        if visitor.caller.user_id is None and visitor.caller.bound is None:
            values["pulse"] = await take_pulse(visitor.caller.whole(), span)
        return visitor.page("ask.html", **values)
    arguments = search_arguments(fields) | whose
    try:
        result = await visitor.caller.memory.search(q, trace=False, **arguments)
    except MemSenseError as error:
        values["problem"] = str(error)
        return visitor.page("ask.html", form_error_status(error), **values)
    marks = await find_marks(visitor, result)
    labels: Mapping[int, bool] = {}
    if visitor.caller.user_id is None:
        whole = visitor.caller.whole()
        labels = await whole.questions.labels(
            q, user_id=user or None, set_name=set_name or DEFAULT_SET
        )
    memories = rank_hits(result, marks, labels)
    values |= {
        "result": result,
        "memories": memories,
        "here": f"{visitor.request.url.path}?{visitor.request.url.query}",
        "legend": list_legend(item.bar for item in memories if item.bar),
    }
    if why.strip():
        try:
            values["absences"] = await explain_absences(visitor, q, why, arguments, marks)
            if not values["absences"]:
                values["why_problem"] = f"no memory holds the words {why!r}"
        except MemSenseError as error:
            # A wrong number must not cost the answer.
            values["why_problem"] = str(error)
    if trace:
        try:
            recorded = await visitor.caller.memory.traces.get(UUID(trace))
        except (ValueError, NotFoundError):
            values["trace"] = ""
        else:
            values["sliders"] = list_sliders(recorded.profile)
    return visitor.page("ask.html", **values)


@router.post("/record")
async def record(visitor: AnyVisitor) -> Response:
    """Record a question's search, and show its answer with sliders that replay it."""
    form = await read_form(visitor, "read")
    fields = {name: form.get(name, "") for name in FIELDS}
    arguments = search_arguments(fields) | visitor.whose(fields["user"])
    result = await visitor.caller.memory.search(fields["q"], trace=True, **arguments)
    query = {name: value for name, value in fields.items() if value}
    address = urlencode({**query, "trace": str(result.trace_id or "")})
    return redirect_after_post(f"{HOME}?{address}#weights")


def search_arguments(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return a search's arguments from the fields of the form, but for the user."""
    # Numbers and times go on as they were typed: the search names the argument that is wrong.
    hits = fields["hits"]
    return {
        "top_k": int(hits) if hits.isdecimal() else hits or DEFAULT_TOP_K,
        "since": fields["since"] or None,
        "until": fields["until"] or None,
        "tags": [fields["tag"]] if fields["tag"] else None,
        "session_ids": [fields["session"]] if fields["session"] else None,
        "profile": fields["profile"] or None,
        "prompt_kind": fields["kind"] or None,
    }


async def find_marks(visitor: Visitor, result: SearchResult) -> set[str]:
    """Return the words in the hits that the text index matches with the question."""
    words = list_words(hit.content for hit in result)
    lexemes = result.question.get("lexemes", ())
    # PostgreSQL says which words match: only it knows the stemming of the text index.
    return (
        await visitor.caller.memory.matching_words(words, lexemes) if words and lexemes else set()
    )


async def explain_absences(
    visitor: Visitor, question: str, why: str, arguments: dict[str, Any], marks: set[str]
) -> Sequence[Absence]:
    """Return why memories are no hits: the one of a number, or those with some words."""
    memory = visitor.caller.memory
    number = why.strip().removeprefix("#")
    if number.isdecimal():
        chunk_ids = [int(number)]
    else:
        scope = {name: arguments[name] for name in ("user_id", "all_users") if name in arguments}
        matches = await memory.search(
            why, profile="lexical", top_k=MISSED_MEMORIES, trace=False, **scope
        )
        chunk_ids = [hit.chunk_id for hit in matches]
    verdicts = [await memory.why_not(question, chunk_id, **arguments) for chunk_id in chunk_ids]
    chunks = await memory.get_many(chunk_ids)
    views = {item.chunk_id: item for item in list_memories([*chunks.values()], marks)}
    return [
        Absence(memory=views[verdict.chunk_id], verdict=verdict.as_dict())
        for verdict in verdicts
        if verdict.chunk_id in views
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """A constant with its value, the recorded one and the largest; `part` names its colour."""

    name: str
    part: str
    value: float
    recorded: float
    largest: float

    @property
    def label(self) -> str:
        """The part that the slider weighs, or the constant's name if several weigh one part."""
        return self.part if [*SLIDERS.values()].count(self.part) == 1 else self.name

    @property
    def is_moved(self) -> bool:
        """Return whether the slider has another value than the recorded one."""
        return self.value != self.recorded

    @property
    def step(self) -> str:
        """The step between two values, so fine that the slider can stand at each of them."""
        is_round = all(float(f"{x:.2f}") == x for x in (self.value, self.recorded))
        return "0.01" if is_round else "any"


def list_sliders(
    profile: Mapping[str, Any], changed: Mapping[str, float] = NOTHING_CHANGED
) -> dict[str, list[Slider]]:
    """Return, by family, a slider for each constant of a recorded profile that has one."""
    constants = {**profile, **profile.get("weights", {})}
    families: dict[str, list[Slider]] = {}
    for family, parts in FAMILIES.items():
        families[family] = [
            Slider(
                name=name,
                part=part,
                value=float(changed.get(name, constants[name])),
                recorded=float(constants[name]),
                largest=max(
                    min(LARGEST_SLIDER, LARGEST_VALUES.get(name, LARGEST_SLIDER)),
                    float(constants[name]),
                ),
            )
            for name, part in SLIDERS.items()
            if part in parts and isinstance(constants.get(name), int | float)
        ]
    return families


def moved_sliders(fields: Mapping[str, str], constants: Mapping[str, Any]) -> dict[str, float]:
    """Return the sliders that stand elsewhere than where they were drawn.

    A form says in `was_NAME` where that was; without it, the constant's value counts.
    """
    constants = {**constants, **constants.get("weights", {})}
    moved: dict[str, float] = {}
    for name in SLIDERS:
        # Earlier versions have recorded profiles without constants of this one.
        if name not in fields or name not in constants:
            continue
        value, was = (
            _read_weight(name, text) for text in (fields[name], fields.get(f"was_{name}"))
        )
        if value is not None and value != (constants[name] if was is None else was):
            moved[name] = value
    return moved


def _read_weight(name: str, text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError as error:
        raise ProblemError(422, f"{name} must be a number, not {shorten(text)}") from error
