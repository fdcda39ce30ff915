"""The show phase: fetches the hits' texts and cuts them to a budget, around the question's words.

A text that fits is shown as it is. Otherwise an ellipsis marks each place with omitted text.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from memsense import telemetry
from memsense.db import Pool, run_read
from memsense.db.connection import Connection
from memsense.metadata_filters import compile_filter
from memsense.search.excerpt import ELLIPSIS, Excerpt, fit_text
from memsense.search.explanation import ExchangePart, Explanation, explain_later
from memsense.search.hits import BestExchange, Hit, Neighbor, SearchResult, Supersession
from memsense.search.rank.choose import Ranked
from memsense.search.request import SearchRequest
from memsense.search.search import Search
from memsense.store.reads import (
    FoundHit,
    WantedHit,
    count_other_types,
    fetch_hits,
    fetch_known_names,
)
from memsense.store.scopes import Namespace
from memsense.text.nearest import did_you_mean
from memsense.types import Note

MOST_NOTES = 20
"""Unknown names of one kind that are noted one by one; the others are counted."""

MOST_COMPARED = 1_000
"""Stored names among which a similar one is looked for: beyond that it would take too long."""

SUGGESTION_SECONDS = 0.05
"""Time after which no further name is compared."""

TYPE_NAMES = {
    "string": "a text",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}

LEAST_CUT = 200
"""Characters of the budget that must be left for an exchange to be shown in part."""


def fetch_results(connection: Connection, searches: Sequence[Search]) -> list[SearchResult]:
    """Return the hits of searches with the same filters; one statement fetches their texts."""
    started = time.perf_counter()
    lists = [[_make_wanted(search, item) for item in search.ranked] for search in searches]
    every = [item for wanted_hits in lists for item in wanted_hits]
    rows: list[FoundHit | None] = []
    if every:
        plan = searches[0].plan
        filters = plan.request.filters
        with telemetry.statement("fetch"):
            rows = fetch_hits(
                connection,
                plan.tenant_id,
                every,
                content_budget=plan.request.content_budget,
                filters=filters.names,
                parameters=filters.parameters(),
                as_of=plan.request.as_of,
            )
    fetch_ms = 1000 * (time.perf_counter() - started)
    results: list[SearchResult] = []
    remaining = iter(rows)
    for search, wanted_hits in zip(searches, lists, strict=True):
        started = time.perf_counter()
        hits = [
            _make_session_hit(search, item, row) if row.exchanges else _make_hit(search, item, row)
            for item, row in zip(search.ranked, islice(remaining, len(wanted_hits)), strict=True)
            if row is not None  # deleted since recall
        ]
        show_ms = 1000 * (time.perf_counter() - started)
        timings = {**search.timings, "fetch": fetch_ms + show_ms}
        results.append(
            SearchResult(
                hits=hits,
                notes=search.notes,
                question=search.describe_question(),
                analysis=search.question,
                profile=search.profile.name,
                timings_ms={**timings, "total": sum(timings.values())},
            )
        )
    return results


def fetch_result(connection: Connection, search: Search) -> SearchResult:
    """Return the hits of one search, with texts and neighbours."""
    return fetch_results(connection, [search])[0]


def _make_wanted(search: Search, item: Ranked) -> WantedHit:
    candidates, row = search.candidates, item.row
    best_rows = [best for best, _ in item.best]
    return WantedHit(
        scope_id=candidates.scope_ids.item(row),
        chunk_id=candidates.chunk_ids.item(row),
        session_id=candidates.session_ids[row],
        ordinal=candidates.ordinals.item(row),
        part=candidates.parts.item(row),
        granularity=item.shows,
        best_ids=[candidates.chunk_ids.item(best) for best in best_rows],
        # A session that no exchange brought in is shown around what stands for it.
        best_ordinals=[candidates.ordinals.item(best) for best in best_rows or [row]],
    )


def _make_hit(search: Search, item: Ranked, row: FoundHit) -> Hit:
    """Return the hit of an exchange, or of a session chunk whose exchanges are not stored."""
    chunk = row.chunk
    excerpt = fit_text(chunk.content, search.plan.request.content_budget, search.state.lexemes)

    def explain() -> Explanation:
        if chunk.part_count <= 1:
            return item.explanation
        part = ExchangePart(number=chunk.part + 1, of=chunk.part_count)
        return replace(item.explanation, part=part)

    return Hit(
        chunk=chunk,
        score=item.final_score,
        explain=explain_later(explain),
        content=excerpt.text,
        content_cut=excerpt.cut,
        neighbors=tuple(
            [Neighbor(relation=relation, chunk=one) for relation, one in row.neighbors]
        ),
        parts=row.parts,
        superseded_by=find_supersession(search, item.row, older=False),
        supersedes=find_supersession(search, item.row, older=True),
        newer_statement=find_supersession(search, item.row, older=False, plain=False),
        earlier_statement=find_supersession(search, item.row, older=True, plain=False),
    )


def find_supersession(
    search: Search, row: int, *, older: bool, plain: bool = True
) -> Supersession | None:
    """Return what superseded a candidate, or the `older` one that it supersedes; None if unknown.

    Args:
        search: The search.
        row: Row of the candidate.
        older: Whether to look for the one before.
        plain: Whether only what is plain enough to be said counts, or all that is worth reading.
    """
    current, candidates = search.ranking.terms.current, search.candidates
    if current is None:
        return None
    links = current.by_older if plain else current.pairs
    link = next((it for it in links.values() if (it.newer if older else it.older) == row), None)
    if link is None:
        return None
    other = link.older if older else link.newer
    return Supersession(
        chunk_id=candidates.chunk_ids.item(other),
        at=candidates.times[link.newer],
        zone_known=bool(candidates.zones_known[link.newer]),
        reason=link.reason,
    )


def _make_session_hit(search: Search, item: Ranked, row: FoundHit) -> Hit:
    """Build a session hit from its best exchanges and their neighbours."""
    scores = {search.candidates.chunk_ids.item(best): score for best, score in item.best}
    places = {chunk_id: place for place, chunk_id in enumerate(scores)}
    chunks = {one.chunk.chunk_id: one.chunk for one in row.exchanges}
    pieces: list[Piece] = []
    before = None
    for one in row.exchanges:
        # Every part of a long exchange begins with its opening: once is enough.
        is_next_part = one.chunk.ordinal == before
        text = (one.chunk.without_opening() if is_next_part else one.chunk).content
        pieces.append(Piece(one.number, text, places.get(one.chunk.chunk_id)))
        before = one.chunk.ordinal
    excerpt = fit_session(
        pieces, row.total, search.plan.request.content_budget, search.state.lexemes
    )
    numbers = set(excerpt.pieces)
    exchanges = [one.chunk for one in row.exchanges if one.number in numbers]
    message_ids = [name for chunk in exchanges for name in chunk.message_ids]
    # The chunk of the hit holds the shown text and nothing else, so that filters hold for every
    # character that comes back. It keeps the id and the place of the chunk that stands for it.
    shown_chunk = replace(
        row.chunk,
        granularity="session",
        user_text="",
        assistant_text="",
        session_text=excerpt.text,
        user_speaker=None,
        assistant_speaker=None,
        next_user_text=None,
        context="",
        memory_kind="episodic",
        agent_id=exchanges[0].agent_id,
        occurred_at=exchanges[0].occurred_at,
        occurred_zone_known=exchanges[0].occurred_zone_known,
        source=exchanges[0].source,
        project=exchanges[0].project,
        part_count=1,
        opening_length=0,
        message_ids=list(dict.fromkeys(message_ids)),
    )
    return Hit(
        chunk=shown_chunk,
        score=item.final_score,
        explain=explain_later(lambda: item.explanation),
        content=excerpt.text,
        content_cut=excerpt.cut,
        best=[
            BestExchange(chunk=chunks[chunk_id], score=score)
            for chunk_id, score in scores.items()
            if chunk_id in chunks
        ],
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """An exchange of a session by its number from 1; `best` is its place among the best, from 0."""

    number: int
    text: str
    best: int | None = None


def fit_session(pieces: Sequence[Piece], total: int, budget: int, words: Sequence[str]) -> Excerpt:
    """Return the exchanges of a session that fit, in its order; those around the best ones first.

    Exchanges that brought the session in may be shown in part. `total` is the number of all.
    """
    whole = "\n".join([piece.text for piece in pieces])
    if len(pieces) == total and len(whole) <= budget:
        return Excerpt(whole, False, [piece.number for piece in pieces])
    best = {piece.number: piece.best for piece in pieces if piece.best is not None}

    def distance(piece: Piece) -> tuple[int, int, int]:
        apart, rank = min(
            ((abs(piece.number - number), place) for number, place in best.items()),
            default=(0, piece.number),
        )
        return apart, rank, piece.number

    chosen: dict[int, str] = {}
    # Each piece may need an ellipsis and a line break on both sides: count them before.
    left = budget - 2 * len(ELLIPSIS) - 1
    for piece in sorted(pieces, key=distance):
        cost = len(piece.text) + 2 * len(ELLIPSIS) + 1
        if cost <= left:
            chosen[piece.number] = piece.text
            left -= cost
        elif not chosen or (piece.best is not None and left >= LEAST_CUT):
            room = max(left - 2 * len(ELLIPSIS) - 1, 1)
            chosen[piece.number] = fit_text(piece.text, room, words).text
            left -= len(chosen[piece.number]) + 2 * len(ELLIPSIS) + 1
        elif piece.best is None:
            # A piece further away is not shown without those between.
            break
    lines: list[str] = []
    before = 0
    for number, text in sorted(chosen.items()):
        lines += [ELLIPSIS] if number > before + 1 else []
        lines.append(text)
        before = number
    text = "\n".join([*lines, *([ELLIPSIS] if before < total else [])])
    if len(text) > budget:  # not even the marks of a single piece have room
        return Excerpt(ELLIPSIS[:budget], True, sorted(chosen))
    return Excerpt(text, True, sorted(chosen))


def note_other_types(pool: Pool, namespace: Namespace, request: SearchRequest) -> list[Note]:
    """Return notes on values in metadata whose type the filter of an empty answer rules out."""
    expected = compile_filter(request.filters.metadata or {}).expected
    if not expected:
        return []
    rows = run_read(pool, lambda it: count_other_types(it, namespace, request.user_id, expected))
    return [
        Note(
            "filters",
            f"{'.'.join(path)} is {TYPE_NAMES[kind]} in {count}"
            f" {'memory' if count == 1 else 'memories'}, and the filter asks for"
            f" {' or '.join(TYPE_NAMES[it] for it in types)}",
        )
        for path, kind, types, count in rows[:MOST_NOTES]
    ]


def note_unknown_names(pool: Pool, namespace: Namespace, request: SearchRequest) -> list[Note]:
    """Return notes on the users, sessions, agents and tags of an empty answer that are unknown.

    One statement asks for the known ones, if any is named; they are compared after its connection
    is free again. Sessions, agents and tags are looked for in the memory that was searched.
    """
    filters = request.filters
    named: dict[str, Sequence[str]] = {
        "user": [request.user_id] if request.user_id is not None else [],
        "session": filters.session_ids or (),
        "agent": [filters.agent_id] if filters.agent_id is not None else [],
        "tag": filters.tags or (),
    }
    kinds = [kind for kind, names in named.items() if names]
    if not kinds:
        return []
    stored = run_read(pool, lambda it: fetch_known_names(it, namespace, request.user_id, kinds))
    notes: list[Note] = []
    ends_at = time.monotonic() + SUGGESTION_SECONDS
    for kind in kinds:
        names = set(stored[kind])
        unknown = [name for name in dict.fromkeys(named[kind]) if name not in names]
        for name in unknown[:MOST_NOTES]:
            is_cheap = len(names) <= MOST_COMPARED and time.monotonic() < ends_at
            hint = did_you_mean(name, stored[kind]) if is_cheap else ""
            notes.append(Note.unknown(kind, name, hint))
        if len(unknown) > MOST_NOTES:
            more = f"{len(unknown) - MOST_NOTES} more {kind}s are not stored here"
            notes.append(Note(notes[-1].kind, more))
    return notes
