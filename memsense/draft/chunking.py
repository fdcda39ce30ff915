"""Chunks of exchanges and sessions: cutting, linking to neighbours, identity; pure text work."""

import hashlib
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest

from memsense.types import Chunk, ChunkDraft, render_exchange

# The packaged model reads 256 tokens, about 1,000 characters of English: what a chunk says behind
# them is found by its words alone. Parts of 1,000 for 4,000 characters: docs/how/constants.md.
LARGEST_PART = 1000
"""Characters, with the opening; a longer exchange is stored in several parts."""

LONGEST_OPENING = 160
"""Characters of the user's side that are repeated in front of each later part of an exchange."""

LARGEST_SESSION_CHUNK = 4000
"""Characters near which a session chunk ends."""

# The end of one exchange and the beginning of the next form a weak field of the lexical route:
# worth 3 points of turn recall@10 on LoCoMo.
CONTEXT_BEFORE = 200
CONTEXT_AFTER = 200
"""Characters of each side of the previous and of the next chunk that serve as context."""

DEDUP_SECONDS = 600
"""Equal content within this many seconds of event time is stored once."""


def exchange_hash(*parts: object) -> str:
    """Return the SHA-256 (hex) of the parts that identify an exchange or a chunk in its scope."""
    # JSON keeps the parts apart: ("a", "bc") and ("ab", "c") are different exchanges.
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


def dedup_window(occurred_at: datetime) -> int:
    """Return the number of the ten-minute window of event time that holds this moment."""
    return int(occurred_at.timestamp() // DEDUP_SECONDS)


def format_ledger_key(content_hash: str, window: int) -> str:
    """Return the ledger's key of content whose hash no chunk has any longer."""
    return f"{content_hash}@{window}"


def split_text(text: str, limit: int = LARGEST_PART, first_limit: int | None = None) -> list[str]:
    """Cut a text into pieces of at most `limit` characters, which join to the text again.

    Each cut is at the best border in the second half of a piece: a blank line, a line break, the
    end of a sentence, a space. A code block or a table is not cut within its first two lines if
    there is a border before it.

    Args:
        text: The text.
        limit: Maximum length of a piece, in characters, at least 2.
        first_limit: Maximum length of the first piece, if another one.
    """
    pieces: list[str] = []
    start = 0
    room = first_limit or limit
    heads = _find_block_heads(text) if len(text) > room else []
    # A position moves through the text. Cutting the rest off each time would copy it for each
    # piece, which takes quadratic time for a message of megabytes.
    while len(text) - start > room:
        # The last piece keeps about a quarter of the limit: a vector of a few words is near to many
        # questions.
        low = start + room // 2
        cut = high = max(low + 1, min(start + room, len(text) - limit // 4))
        for border in ("\n\n", "\n", ". ", " "):
            at = text.rfind(border, low, high)
            if at >= 0:
                cut = at + len(border)
                break
        before = bisect_left(heads, (cut,)) - 1
        if before >= 0 and low < heads[before][0] < cut < heads[before][1]:
            cut = heads[before][0]
        pieces.append(text[start:cut])
        start, room = cut, limit
    return [*pieces, text[start:]] if start < len(text) else pieces


def _find_block_heads(text: str) -> list[tuple[int, int]]:
    """Return where the first two lines (language, columns) of each code block and table lie."""
    heads: list[tuple[int, int]] = []
    lines = text.splitlines(keepends=True)
    is_code = is_table = False
    at = 0
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        is_fence = line.lstrip().startswith("```")
        is_row = not is_code and line.lstrip().startswith("|")
        if (is_fence and not is_code) or (is_row and not is_table):
            heads.append((at, at + len(line) + len(following)))
        is_code, is_table = is_code != is_fence, is_row
        at += len(line)
    return heads


def split_exchange(user_text: str, assistant_text: str) -> list[tuple[str, str]]:
    """Return the (user, assistant) texts of each part; later ones leave room for the opening."""
    if len(user_text) + len(assistant_text) <= LARGEST_PART:
        return [(user_text, assistant_text)]
    later = LARGEST_PART - LONGEST_OPENING
    parts = [(piece, "") for piece in split_text(user_text, later, LARGEST_PART)]
    # A part is embedded as both sides together, so the end of the question and the beginning of the
    # answer share one if the answer has half of its room.
    limit = later if len(parts) > 1 else LARGEST_PART
    room = limit - len(parts[-1][0]) if parts else limit
    if parts and assistant_text and room >= limit // 2:
        answers = split_text(assistant_text, later, room)
        parts[-1] = (parts[-1][0], answers.pop(0))
    else:
        answers = split_text(assistant_text, later, None if parts else LARGEST_PART)
    return parts + [("", piece) for piece in answers]


def is_long(part: ChunkDraft) -> bool:
    """Return whether a part of an exchange is longer than new ones are."""
    return len(part.user_text) + len(part.assistant_text) > LARGEST_PART


def find_opening(user_text: str) -> str:
    """Return the beginning of the user's text, to the best border, for later parts to repeat."""
    if not user_text.strip():
        return ""
    return f"{split_text(user_text.strip(), LONGEST_OPENING - 1)[0].rstrip()}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The fields of a turn chunk, stored or not, that links and session chunks are made from.

    `user_text` is without a repeated opening. `expires_at` is set only where no turn is stored
    with the session chunks; a stored turn has its own.
    """

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
    project: str | None = None
    language: str | None = None

    @classmethod
    def of(cls, draft: ChunkDraft | Chunk) -> "Turn":
        """Make the turn of a draft or of a stored chunk."""
        turn = cls(**{name: getattr(draft, name) for name in cls.__slots__})
        return replace(turn, user_text=draft.own_user_text)

    def render(self) -> str:
        """Return the text as a session chunk holds it."""
        return render_exchange(
            self.user_text, self.assistant_text, self.user_speaker, self.assistant_speaker
        )


@dataclass(frozen=True, slots=True)
class Link:
    """The texts of its neighbours that a turn chunk holds."""

    next_user_text: str | None
    context: str


def link_turns(turns: Sequence[Turn]) -> list[Link]:
    """Return the link of each of these consecutive turns of one session."""
    neighbours = zip([None, *turns[:-1]], [*turns[1:], None], strict=True) if turns else ()
    return [link_turn(before, after) for before, after in neighbours]


def link_turn(before: Turn | None, after: Turn | None) -> Link:
    """Return the link of a turn between these two: the end of `before`, the start of `after`."""
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
    """Return session chunks over the turns; the first one continues `last`, the last stored one."""
    languages: Counter[str | None] = Counter()
    if last is not None:
        languages[last.language] = last.last_ordinal - last.ordinal + 1
    chunks: list[ChunkDraft] = []
    current = last
    before: Turn | None = None
    # Filling is greedy, so that turns added one by one give the chunks of turns added together.
    for turn in turns:
        text = turn.render()
        continued = f"\n{text}"
        # A part that goes on with the same side continues its sentence.
        if before is not None and before.ordinal == turn.ordinal:
            user, assistant = turn.user_speaker or "user", turn.assistant_speaker or "assistant"
            if turn.user_text and not before.assistant_text:
                continued = text.removeprefix(f"{user}: ")
            elif before.assistant_text and not turn.user_text:
                continued = text.removeprefix(f"{assistant}: ")
        before = turn
        # A chunk expires with the first of its turns. A turn that never expires must not go with
        # it, so no chunk holds both kinds; nor turns of two projects, which a filter tells apart.
        if (
            current is not None
            and len(current.session_text) + len(continued) <= LARGEST_SESSION_CHUNK
            and (current.expires_at is None) == (turn.expires_at is None)
            and current.project == turn.project
        ):
            ids = set(current.message_ids)
            languages[turn.language] += 1
            current = replace(
                current,
                language=languages.most_common(1)[0][0],
                last_ordinal=turn.ordinal,
                session_text=current.session_text + continued,
                message_ids=(
                    *current.message_ids,
                    *(key for key in turn.message_ids if key not in ids),
                ),
                occurred_at=current.occurred_at or turn.occurred_at,
                expires_at=min(filter(None, (current.expires_at, turn.expires_at)), default=None),
            )
            continue
        if current is not None:
            chunks.append(current)
        languages = Counter((turn.language,))
        current = ChunkDraft(
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
            project=turn.project,
            language=turn.language,
        )
    if current is not None:
        chunks.append(current)
    # A session chunk is identified by its place, not by its text, which grows with the session.
    return [
        replace(
            chunk,
            content_hash=exchange_hash("session", chunk.session_id, chunk.ordinal, chunk.part),
        )
        for chunk in chunks
    ]
