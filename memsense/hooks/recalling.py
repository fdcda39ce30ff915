"""What a session is given before a prompt: the memories that fit, none of them twice."""

from dataclasses import dataclass, field, replace
from threading import Lock

from memsense.client.own import UserMemory
from memsense.ingest.injected import strip_injected

MEMORIES = 8
LONGEST_PROMPT = 4_000
"""Characters of a prompt that are looked for; what stands behind is pasted, most of the time."""

_ROUNDS = 3
_COMMAND = "/"


@dataclass(slots=True)
class _Session:
    """What one session has in its context: chunks given to it, and all that was said in it."""

    given: set[int] = field(default_factory=set[int])
    knows_itself: bool = True


class Recaller:
    """Recalls for any number of sessions; safe to share between threads."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._lock = Lock()

    def forget(self, session_id: str) -> None:
        """Note that a session's context was emptied: what was given or said may be told again."""
        with self._lock:
            self._sessions[session_id] = _Session(knows_itself=False)

    def recall(
        self, memory: UserMemory, session_id: str, prompt: str, *, max_tokens: int
    ) -> tuple[str, set[int]]:
        """The memories for a prompt, in tags that readers of logs take out, and their chunks."""
        question = strip_injected(prompt)[0].strip()[:LONGEST_PROMPT]
        if not question or question.startswith(_COMMAND):
            return "", set()
        with self._lock:
            session = self._sessions.setdefault(session_id, _Session())
            known = set(session.given)
        found = memory.search(question, top_k=MEMORIES, exclude=sorted(known))
        for _ in range(_ROUNDS if session.knows_itself else 0):
            own = {hit.chunk_id for hit in found if hit.chunk.session_id == session_id}
            if not own:
                break
            known |= own
            found = memory.search(question, top_k=MEMORIES, exclude=sorted(known))
        own = {session_id} if session.knows_itself else set[str]()
        others = [hit for hit in found if hit.chunk.session_id not in own]
        told = replace(found, hits=others).to_prompt(max_tokens=max_tokens)
        return str(told), set(told.chunk_ids)

    def note_given(self, session_id: str, chunk_ids: set[int]) -> None:
        """Note what has reached a session."""
        with self._lock:
            self._sessions.setdefault(session_id, _Session()).given |= chunk_ids
