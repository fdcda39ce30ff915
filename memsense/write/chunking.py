"""Cuts exchanges into chunks and says what each chunk knows of its neighbours; pure text work."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memsense.types import Chunk, ChunkDraft, render_exchange

LARGEST_CHUNK = 4000
"""Characters; longer exchanges become several chunks, and sessions are cut near this size."""

LONGEST_OPENING = 600
"""Characters of the user's side that stand in front of every later part of a long exchange."""

CONTEXT_BEFORE = 200
CONTEXT_AFTER = 200
"""Characters of each side of the previous and the next chunk that serve as context."""

DEDUP_SECONDS = 600
"""Equal content within this many seconds of event time counts once."""


def exchange_hash(*parts: object) -> str:
    """SHA-256 (hex) of what identifies an exchange, or a chunk, within its scope."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


def dedup_window(occurred_at: datetime) -> int:
    """The ten-minute stretch of event time that a moment falls into."""
    return int(occurred_at.timestamp() // DEDUP_SECONDS)


def exchange_key(content_hash: str, window: int) -> str:
    """An exchange, or a message, as the ledger knows what no chunk keeps the hash of."""
    return f"{content_hash}@{window}"


def split_text(text: str, limit: int = LARGEST_CHUNK) -> list[str]:
    """Pieces of at most `limit` characters that join to the text, cut at the best border."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > limit:
        cut = _best_cut(text, start, limit)
        pieces.append(text[start:cut])
        start = cut
    return [*pieces, text[start:]] if start < len(text) else pieces


def _best_cut(text: str, start: int, limit: int) -> int:
    for border in ("\n\n", "\n", ". ", " "):
        found = text.rfind(border, start + limit // 2, start + limit)
        if found >= 0:
            return found + len(border)
    return start + limit


def split_exchange(user_text: str, assistant_text: str) -> list[tuple[str, str]]:
    """The (user, assistant) texts of each chunk of one exchange, in order."""
    if len(user_text) + len(assistant_text) <= LARGEST_CHUNK:
        return [(user_text, assistant_text)]
    parts = [(piece, "") for piece in split_text(user_text)]
    answers = split_text(assistant_text)
    if parts and answers and len(parts[-1][0]) + len(answers[0]) <= LARGEST_CHUNK:
        parts[-1] = (parts[-1][0], answers.pop(0))
    return parts + [("", piece) for piece in answers]


def find_opening(user_text: str) -> str:
    """How the user began: what is repeated in front of later parts, ending in a line break.

    At most LONGEST_OPENING characters, cut at the best border; empty where the user said nothing.
    """
    if not user_text.strip():
        return ""
    return f"{split_text(user_text.strip(), LONGEST_OPENING - 1)[0].rstrip()}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What linking and session building need of a turn chunk, stored or not: what it says itself,
    without a repeated opening. `expires_at` only where no turn is stored to say so."""

    ordinal: int
    part: int
    user_text: str
    assistant_text: str
    user_speaker: str | None
    assistant_speaker: str | None
    agent_id: str | None
    occurred_at: datetime | None
    occurred_zone_known: bool
    message_ids: Sequence[str]
    source: str | None
    expires_at: datetime | None = None

    @classmethod
    def of(cls, draft: ChunkDraft | Chunk) -> "Turn":
        """The turn that a draft describes, or a stored chunk."""
        turn = cls(**{name: getattr(draft, name) for name in cls.__slots__})
        return replace(turn, user_text=draft.own_user_text)

    def render(self) -> str:
        """The text as a session chunk holds it."""
        return render_exchange(
            self.user_text, self.assistant_text, self.user_speaker, self.assistant_speaker
        )


@dataclass(frozen=True, slots=True)
class Link:
    """What a turn chunk knows of its neighbours."""

    next_user_text: str | None
    context: str


def link_turns(turns: Sequence[Turn]) -> list[Link]:
    """The link of each of these consecutive turns of one session."""
    neighbours = zip([None, *turns[:-1]], [*turns[1:], None], strict=True) if turns else ()
    return [link_turn(before, after) for before, after in neighbours]


def link_turn(before: Turn | None, after: Turn | None) -> Link:
    """What stands around a turn: the end of the one before, the beginning of the one after."""
    pieces: list[str] = []
    if before is not None:
        pieces += [before.user_text[-CONTEXT_BEFORE:], before.assistant_text[-CONTEXT_BEFORE:]]
    if after is not None:
        pieces += [after.user_text[:CONTEXT_AFTER], after.assistant_text[:CONTEXT_AFTER]]
    return Link(
        next_user_text=(after.user_text or None) if after is not None else None,
        context="\n".join(piece for piece in pieces if piece),
    )


def build_session_chunks(
    session_id: str, turns: Iterable[Turn], last: ChunkDraft | None = None
) -> list[ChunkDraft]:
    """Session chunks of about LARGEST_CHUNK characters over the turns, continuing `last` if given.

    Filling is greedy, so that adding turns one by one gives what adding all at once does. A chunk
    expires with the first of its turns; none holds both what expires and what never does.
    """
    chunks = list(_fill(session_id, turns, last))
    return [replace(chunk, content_hash=_session_hash(chunk)) for chunk in chunks]


def _session_hash(chunk: ChunkDraft) -> str:
    return exchange_hash("session", chunk.session_id, chunk.ordinal, chunk.part)


def _fill(session_id: str, turns: Iterable[Turn], last: ChunkDraft | None) -> Iterator[ChunkDraft]:
    current = last
    for turn in turns:
        text = turn.render()
        if current is not None and _has_room(current, turn, text):
            current = _extend(current, turn, text)
            continue
        if current is not None:
            yield current
        current = _begin(session_id, turn, text)
    if current is not None:
        yield current


def _has_room(chunk: ChunkDraft, turn: Turn, text: str) -> bool:
    fits = len(chunk.session_text) + len(text) < LARGEST_CHUNK
    return fits and (chunk.expires_at is None) == (turn.expires_at is None)


def _begin(session_id: str, turn: Turn, text: str) -> ChunkDraft:
    return ChunkDraft(
        granularity="session",
        session_id=session_id,
        ordinal=turn.ordinal,
        last_ordinal=turn.ordinal,
        part=turn.part,
        agent_id=turn.agent_id,
        session_text=text,
        memory_kind="episodic",
        occurred_at=turn.occurred_at,
        occurred_zone_known=turn.occurred_zone_known,
        message_ids=tuple(turn.message_ids),
        source=turn.source,
        content_hash="",
        expires_at=turn.expires_at,
    )


def _extend(chunk: ChunkDraft, turn: Turn, text: str) -> ChunkDraft:
    known = set(chunk.message_ids)
    return replace(
        chunk,
        last_ordinal=turn.ordinal,
        session_text=f"{chunk.session_text}\n{text}",
        message_ids=(*chunk.message_ids, *(key for key in turn.message_ids if key not in known)),
        occurred_at=chunk.occurred_at or turn.occurred_at,
        expires_at=min(filter(None, (chunk.expires_at, turn.expires_at)), default=None),
    )
