"""Makes hits of what was ranked and what was fetched: which text of it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memsense.search.explanation import ExchangePart
from memsense.search.hits import BestExchange, Hit, Neighbor
from memsense.search.rank.choose import Ranked
from memsense.search.recall.candidates import Candidates
from memsense.search.shown import Piece, fit_session, fit_text
from memsense.store import FoundExchange, FoundHit
from memsense.types import Chunk


@dataclass(frozen=True, slots=True)
class HitMaker:
    """Makes the hits of one search; `words` are the question's lexemes."""

    candidates: Candidates
    content_budget: int
    words: Sequence[str]

    def make(self, item: Ranked, found: FoundHit) -> Hit:
        """The hit of a ranked candidate: an exchange, or its session."""
        if found.exchanges:
            return self._make_session(item, found)
        shown = fit_text(found.chunk.content, self.content_budget, self.words)
        neighbors = [Neighbor(relation=relation, chunk=one) for relation, one in found.neighbors]
        explanation, part = item.explanation, _name_part(found.chunk)
        return Hit(
            chunk=found.chunk,
            score=item.final_score,
            explain=replace(explanation, part=part) if part else explanation,
            content=shown.text,
            content_cut=shown.cut,
            neighbors=tuple(neighbors),
        )

    def _make_session(self, item: Ranked, found: FoundHit) -> Hit:
        scores = {self.candidates.chunk_ids.item(row): score for row, score in item.best}
        places = {chunk_id: place for place, chunk_id in enumerate(scores)}
        chunks = {one.chunk.chunk_id: one.chunk for one in found.exchanges}
        pieces = [
            Piece(one.number, text, places.get(one.chunk.chunk_id))
            for one, text in zip(found.exchanges, _texts(found.exchanges), strict=True)
        ]
        shown = fit_session(pieces, found.total, self.content_budget, self.words)
        held = [one for one in found.exchanges if one.number in set(shown.pieces)]
        return Hit(
            chunk=_hold_only(found.chunk, held, shown.text),
            score=item.final_score,
            explain=item.explanation,
            content=shown.text,
            content_cut=shown.cut,
            best=[
                BestExchange(chunk=chunks[chunk_id], score=score)
                for chunk_id, score in scores.items()
                if chunk_id in chunks
            ],
        )


def _texts(exchanges: Sequence[FoundExchange]) -> list[str]:
    """What each says; of the parts of one exchange, the first alone with how the user began."""
    ordinals = [None, *(one.chunk.ordinal for one in exchanges)]
    return [
        (one.chunk.without_opening() if one.chunk.ordinal == before else one.chunk).content
        for before, one in zip(ordinals, exchanges, strict=False)
    ]


def _name_part(chunk: Chunk) -> ExchangePart | None:
    """Which part of its exchange a hit is; None for a whole exchange."""
    if chunk.part_count == 1:
        return None
    return ExchangePart(number=chunk.part + 1, of=chunk.part_count)


def _hold_only(chunk: Chunk, held: Sequence[FoundExchange], text: str) -> Chunk:
    """The session as a chunk that was made of these exchanges alone; it keeps its id and place."""
    first = held[0].chunk
    messages = [name for one in held for name in one.chunk.message_ids]
    return replace(
        chunk,
        granularity="session",
        user_text="",
        assistant_text="",
        session_text=text,
        user_speaker=None,
        assistant_speaker=None,
        next_user_text=None,
        context="",
        memory_kind="episodic",
        agent_id=first.agent_id,
        occurred_at=first.occurred_at,
        occurred_zone_known=first.occurred_zone_known,
        source=first.source,
        part_count=1,
        opening_length=0,
        message_ids=list(dict.fromkeys(messages)),
    )
