"""Remembers what searches need to know of a scope, so that they need not ask each time."""

from collections import OrderedDict
from threading import Lock

from memsense.store import KnownScope


class KnownScopes:
    """A bounded, thread-safe memory of scopes by user; the least recently used one goes first."""

    def __init__(self, size: int = 10_000) -> None:
        self._size = size
        self._lock = Lock()
        self._known: OrderedDict[str, KnownScope] = OrderedDict()

    def get(self, user_id: str) -> KnownScope | None:
        """The scope as last seen, None if it was not seen."""
        with self._lock:
            if user_id in self._known:
                self._known.move_to_end(user_id)
            return self._known.get(user_id)

    def put(self, user_id: str, known: KnownScope) -> None:
        """Remember a scope as it is now."""
        with self._lock:
            self._known[user_id] = known
            self._known.move_to_end(user_id)
            if len(self._known) > self._size:
                self._known.popitem(last=False)

    def drop(self, user_id: str) -> None:
        """Forget a scope, whether or not it is remembered."""
        with self._lock:
            self._known.pop(user_id, None)
