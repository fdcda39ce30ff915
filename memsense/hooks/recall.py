"""Recall before a prompt: the memories that answer it and that the session has not seen yet."""

from dataclasses import dataclass, field
from threading import Lock

from memsense.client.user_memory import UserMemory
from memsense.ingest.injected import strip_injected
from memsense.text.prompts import read_ends
from memsense.text.secrets import clean
from memsense.timezones import find_machine_zone

START_TOKENS = 300
"""Maximum tokens of the text that says where the last session in a project ended."""

_COMMAND_PREFIX = "/"


@dataclass(slots=True)
class _SessionContext:
    """Content of one session's context: chunks that it was given, its own turns or not, and the
    card of its user or not.
    """

    chunk_ids: set[int] = field(default_factory=set[int])
    has_own_turns: bool = True
    has_card: bool = False


class Recaller:
    """Recalls for any number of sessions; safe to share between threads."""

    def __init__(self) -> None:
        self._sessions: dict[str, _SessionContext] = {}
        self._lock = Lock()

    def reset(self, session_id: str) -> None:
        """Record that a session's context was cleared, so that anything may be given again."""
        with self._lock:
            self._sessions[session_id] = _SessionContext(has_own_turns=False)

    def start(
        self, memory: UserMemory, session_id: str, project: str, *, max_tokens: int
    ) -> tuple[str, set[int]]:
        """Return where the last session in the project ended, and the ids of its chunks."""
        text = memory.left_off(
            project=project,
            max_tokens=min(max_tokens, START_TOKENS),
            exclude_sessions=[session_id] if session_id else [],
        )
        return str(text), set(text.chunk_ids)

    def recall(
        self,
        memory: UserMemory,
        session_id: str,
        prompt: str,
        *,
        project: str | None,
        max_tokens: int,
    ) -> tuple[str, set[int]]:
        """Return the memories for a prompt, and the ids of their chunks.

        The text is in tags that the readers of logs remove, so that a recalled memory is never
        ingested a second time.
        """
        # Before it is cut, which could leave half a key: a recorded search holds the question.
        prompt = strip_injected(read_ends(prompt))[0].strip()
        question = clean(prompt, secrets=True)[0]
        if not question or question.startswith(_COMMAND_PREFIX):
            return "", set()
        with self._lock:
            session = self._sessions.setdefault(session_id, _SessionContext())
            seen = set(session.chunk_ids)
        # A session's own turns are in its context already, but they answer its prompts best: they
        # would fill the list.
        own_sessions = [session_id] if session.has_own_turns and session_id else []
        text = memory.context(
            question,
            project=project,
            max_tokens=max_tokens,
            exclude=sorted(seen),
            exclude_sessions=own_sessions,
            card=not session.has_card,
            timezone=find_machine_zone(),
        )
        # A line of the card is one sentence: the rest of its memory has not been seen.
        session.has_card |= any(line.chance is None for line in text.lines)
        return str(text), {line.chunk_id for line in text.lines if line.chance is not None}

    def mark_seen(self, session_id: str, chunk_ids: set[int]) -> None:
        """Record the chunks that reach a session."""
        with self._lock:
            self._sessions.setdefault(session_id, _SessionContext()).chunk_ids |= chunk_ids

    def unmark_seen(self, session_id: str, chunk_ids: set[int]) -> None:
        """Record that chunks have not reached a session after all."""
        with self._lock:
            self._sessions.setdefault(session_id, _SessionContext()).chunk_ids -= chunk_ids
