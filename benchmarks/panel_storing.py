"""Storing of the panel's sets: each session as one, each turn with its own time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.panel_asking import find_server, name_connections, name_namespace, processor_seconds
from benchmarks.panel_sets import Memory, PanelSet
from memsense import MemSense
from memsense.cli.progress import ingest_progress, question_progress
from memsense.evaluation.jsonl import GoldSession, GoldTurn
from memsense.ingest import ReadOptions

TURNS_AT_ONCE = 100
"""Turns from which sessions are embedded and stored together: some sessions have one turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Chunks of a set in the store, and the processor seconds that storing it took."""

    set: str
    memories: int
    chunks: int
    new_chunks: int
    processor_s: float


def store_set(url: str, panel_set: PanelSet, *, prefix: str, again: bool = False) -> Stored:
    """Store the sessions of a set that are not stored yet; with `again` erase its memories first.

    Each session is stored as one, each turn with its own time.
    """
    memories = panel_set.read()
    started = processor_seconds([])
    own_url, application = name_connections(url)
    with MemSense.open(own_url, namespace=name_namespace(prefix, panel_set)) as client:
        users = {memory.user_id for memory in memories}
        stored = {scope.user_id for scope in client.stats()}
        # A log is stored whole, whichever of its halves is named.
        stored = stored if panel_set.is_log else stored & users
        if again:
            for user_id in sorted(stored):
                client.erase(user_id=user_id)
        before = sum(scope.turns for scope in client.stats())
        if panel_set.is_log:
            with ingest_progress() as progress:
                client.ingest(
                    panel_set.path,
                    options=ReadOptions(format="locomo"),
                    on_start=progress.start,
                    on_bytes=progress.note_bytes,
                    on_session=progress.note_report,
                )
        else:
            sessions = [
                (memory.user_id, session)
                for memory in memories
                for session in _find_new_sessions(client, memory)
            ]
            with question_progress(panel_set.name, len(sessions), "sessions") as on_session:
                _add_sessions(client, sessions, on_session)
        # The server's processes began with this client, so that all their time is its own.
        processor_s = processor_seconds(find_server(url, application)) - started
        after = client.stats()
    own = [scope for scope in after if panel_set.is_log or scope.user_id in users]
    return Stored(
        set=panel_set.stored_as if panel_set.is_log else panel_set.name,
        memories=len(own),
        chunks=sum(scope.turns for scope in own),
        new_chunks=sum(scope.turns for scope in after) - before,
        processor_s=processor_s,
    )


def _find_new_sessions(client: MemSense, memory: Memory) -> list[GoldSession]:
    """Return the sessions with any text that are not stored yet."""
    assert memory.conversation is not None
    session_ids: set[str] = set()
    cursor: str | None = None
    while True:
        page = client.sessions(user_id=memory.user_id, limit=1000, cursor=cursor)
        session_ids |= {summary.session_id for summary in page}
        cursor = page.next_cursor
        if cursor is None:
            break
    return [
        session
        for session in memory.conversation.sessions
        if session.session_id not in session_ids
        and any(turn.content.strip() for turn in session.turns)
    ]


def _add_sessions(
    client: MemSense,
    sessions: Sequence[tuple[str, GoldSession]],
    on_session: Callable[[], object],
) -> None:
    batch: list[Mapping[str, object]] = []
    turns = 0
    for number, (user_id, session) in enumerate(sessions, 1):
        messages = [_make_message(turn, session) for turn in session.turns]
        batch.append({"user_id": user_id, "session_id": session.session_id, "messages": messages})
        turns += len(messages)
        if turns >= TURNS_AT_ONCE or number == len(sessions):
            client.add_many(batch, redact=False)
            for _ in batch:
                on_session()
            batch, turns = [], 0


def _make_message(turn: GoldTurn, session: GoldSession) -> dict[str, object]:
    at = turn.at or session.at
    message = {
        "id": turn.id,
        "role": turn.role,
        "content": turn.content,
        "name": turn.name,
        "at": at.isoformat() if at else None,
    }
    return {name: value for name, value in message.items() if value is not None}
