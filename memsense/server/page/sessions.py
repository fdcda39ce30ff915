"""Who is signed in: a cookie names a session of this process, which holds the key."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe

COOKIE = "memsense_session"
LASTS_SECONDS = 12 * 3600
MOST_SESSIONS = 10_000


@dataclass(frozen=True, slots=True)
class PageSession:
    """A browser's session: the key that it signed in with, None before, and its token for forms."""

    key: str | None
    token: str
    until: float


class PageSessions:
    """Sessions by their cookie, of which only a hash is kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: dict[bytes, PageSession] = {}

    def start(self, key: str | None) -> tuple[str, PageSession]:
        """A new session and its cookie."""
        cookie = token_urlsafe(32)
        session = PageSession(key, token_urlsafe(32), self._clock() + LASTS_SECONDS)
        self._sessions[_hash(cookie)] = session
        if len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return cookie, session

    def find(self, cookie: str | None) -> PageSession | None:
        """The session of a cookie, None if there is none or it has lasted too long."""
        found = self._sessions.get(_hash(cookie)) if cookie else None
        return found if found is not None and self._clock() < found.until else None

    def end(self, cookie: str | None) -> None:
        """Forget a session."""
        if cookie:
            self._sessions.pop(_hash(cookie), None)


def _hash(cookie: str) -> bytes:
    return sha256(cookie.encode(errors="replace")).digest()


def is_token(session: PageSession, given: object) -> bool:
    """Whether a form came from a page of this session."""
    told = given if isinstance(given, str) else ""
    return compare_digest(session.token.encode(), told.encode(errors="replace"))
