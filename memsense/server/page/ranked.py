"""A ranked memory: one view of a hit or a candidate, which every page with a ranking shows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from markupsafe import Markup

from memsense.client.aio import AsyncMemSense, AsyncUserMemory
from memsense.explain.replay import ListedHit, Move
from memsense.search.hits import Hit, SearchResult, Supersession
from memsense.server.page.bars import Bar, Parts, draw_bars, explained_parts, named_parts
from memsense.server.page.markup import list_words, render_excerpt
from memsense.store.traces import TraceCandidate
from memsense.types import Chunk, SupersededFact

MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Text of one speaker, as safe HTML."""

    speaker: str
    html: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMemory:
    """A memory in a ranked list: whose, when, its text, and how it got its place.

    Attributes:
        chunk_id: The memory.
        chunk: The stored memory; None if it was erased since.
        sides: Its text, a side for each speaker, cut around the words that matched.
        is_cut: Whether its own page shows more text.
        marks: Words that matched, for the whole text.
        rank: Place among the hits; None for a candidate that is none.
        bar: Parts of the score; None in a list without scores.
        why: Largest parts in words, or why it is no hit.
        superseded_by: Memory that changed what this one says.
        supersedes: Memory whose fact this one changed.
        move: Its move between two lists.
        is_right: Whether a label says that it is right for the question; None without a label.
    """

    chunk_id: int
    chunk: Chunk | None
    sides: Sequence[Side]
    is_cut: bool = False
    marks: Sequence[str] = ()
    rank: int | None = None
    bar: Bar | None = None
    why: str = ""
    superseded_by: Supersession | None = None
    supersedes: Supersession | None = None
    move: Move | None = None
    is_right: bool | None = None

    @property
    def occurred_at(self) -> datetime | None:
        """Return when it was said."""
        return self.chunk.occurred_at if self.chunk else None


def show_text(chunk: Chunk | None, words: Collection[str] = ()) -> tuple[list[Side], bool]:
    """Return the sides of a memory cut around the words, and whether any is cut."""
    sides: list[Side] = []
    is_cut = False
    for speaker, text in list_sides(chunk) if chunk else ():
        html, is_side_cut = render_excerpt(text, words)
        sides.append(Side(speaker=speaker, html=html))
        is_cut = is_cut or is_side_cut
    return sides, is_cut


def list_sides(chunk: Chunk) -> list[tuple[str, str]]:
    """Return speaker and text of each side of a memory; a session has one side."""
    if chunk.session_text:
        return [("", chunk.session_text)]
    sides = (
        (chunk.user_speaker or "user", chunk.user_text),
        (chunk.assistant_speaker or "assistant", chunk.assistant_text),
    )
    return [(speaker, text) for speaker, text in sides if text.strip()]


def rank_hits(
    result: SearchResult, words: Collection[str], labels: Mapping[int, bool]
) -> list[RankedMemory]:
    """Return the hits of a search, with these words marked, and whether a label says right."""
    bars = draw_bars([(hit.score, explained_parts(hit.explain)) for hit in result])
    return [
        _rank_hit(hit, rank, bar, words, labels.get(hit.chunk_id))
        for rank, (hit, bar) in enumerate(zip(result, bars, strict=True), start=1)
    ]


def _rank_hit(
    hit: Hit, rank: int, bar: Bar, words: Collection[str], is_right: bool | None
) -> RankedMemory:
    marks = [word for word in list_words([hit.content]) if word in words]
    sides, is_cut = show_text(hit.chunk, marks)
    return RankedMemory(
        chunk_id=hit.chunk_id,
        chunk=hit.chunk,
        sides=sides,
        is_cut=is_cut,
        marks=marks,
        rank=rank,
        bar=bar,
        why=describe_parts(explained_parts(hit.explain)),
        superseded_by=hit.superseded_by,
        supersedes=hit.supersedes,
        is_right=is_right,
    )


def rank_candidates(
    candidates: Sequence[TraceCandidate], chunks: Mapping[int, Chunk]
) -> list[RankedMemory]:
    """Return the candidates of a recorded search, each with why it is a hit or not."""
    bars = draw_bars([(item.final_score, named_parts(item.parts())) for item in candidates])
    ranked: list[RankedMemory] = []
    for item, bar in zip(candidates, bars, strict=True):
        chunk = chunks.get(item.shown_chunk_id or item.chunk_id)
        sides, is_cut = show_text(chunk)
        reasons = describe_parts(named_parts(item.parts()))
        ranked.append(
            RankedMemory(
                chunk_id=item.shown_chunk_id or item.chunk_id,
                chunk=chunk,
                sides=sides,
                is_cut=is_cut,
                rank=item.hit_rank,
                bar=bar,
                why=reasons if item.hit_rank else describe_loss(item),
            )
        )
    return ranked


def rank_list(
    hits: Sequence[ListedHit],
    moves: Sequence[Move],
    chunks: Mapping[int, Chunk],
    labels: Mapping[int, bool],
    *,
    is_new: bool,
) -> list[RankedMemory]:
    """Return one of the two lists of a replay, each memory with its move.

    The old list says what each score is made of and why a memory left, the new one what changed.
    """
    bars = draw_bars([(hit.score, named_parts(hit.parts)) for hit in hits])
    by_id = {move.chunk_id: move for move in moves}
    return [
        RankedMemory(
            chunk_id=hit.chunk_id,
            chunk=chunks.get(hit.chunk_id),
            sides=show_text(chunks.get(hit.chunk_id))[0],
            rank=hit.rank,
            bar=bar,
            why=by_id[hit.chunk_id].why
            if is_new or by_id[hit.chunk_id].new_rank is None
            else describe_parts(named_parts(hit.parts)),
            superseded_by=hit.superseded_by,
            supersedes=hit.supersedes,
            move=by_id[hit.chunk_id],
            is_right=labels.get(hit.chunk_id),
        )
        for hit, bar in zip(hits, bars, strict=True)
    ]


def list_memories(chunks: Sequence[Chunk], words: Collection[str] = ()) -> list[RankedMemory]:
    """Return memories without a ranking, such as those of a list."""
    views: list[RankedMemory] = []
    for chunk in chunks:
        sides, is_cut = show_text(chunk, words)
        views.append(
            RankedMemory(
                chunk_id=chunk.chunk_id, chunk=chunk, sides=sides, is_cut=is_cut, marks=[*words]
            )
        )
    return views


async def mark_superseded(
    memories: Sequence[RankedMemory], memory: AsyncMemSense | AsyncUserMemory
) -> list[RankedMemory]:
    """Return the memories, each with the change that was noticed when one was written.

    What a search has said of a memory stays.
    """
    facts = await memory.superseded_facts([item.chunk_id for item in memories])
    newer = {it.older_id: _other(it.newer_id, it) for it in facts}
    older = {it.newer_id: _other(it.older_id, it) for it in facts}
    return [
        replace(
            item,
            superseded_by=item.superseded_by or newer.get(item.chunk_id),
            supersedes=item.supersedes or older.get(item.chunk_id),
        )
        for item in memories
    ]


def _other(chunk_id: int, fact: SupersededFact) -> Supersession:
    return Supersession(chunk_id=chunk_id, at=fact.superseded_at, reason=fact.reason)


def describe_parts(parts: Parts) -> str:
    """Return the largest parts of a score on one line."""
    largest = sorted(parts, key=lambda part: -abs(part[1]))[:MOST_REASONS]
    return ", ".join(f"{name} {value:+.2f}" for name, value, _ in largest if value)


def describe_loss(item: TraceCandidate) -> str:
    """Return why a recorded candidate is no hit."""
    other = f"memory {item.lost_to}" if item.lost_to else "another"
    reasons = {
        "session": f"its session is shown as {other}",
        "part": f"its exchange is shown as {other}",
        "duplicate": f"says the same as {other}",
        "limit": "its session has its share of the hits",
        "below_min_score": "below the lowest score",
        "mmr": "too much like the hits before it",
        "outranked": "outranked",
    }
    place = f"; place {item.score_rank} by score" if item.score_rank else ""
    return f"No hit: {reasons.get(item.dropped_by or '', item.dropped_by or 'not chosen')}{place}"
