"""Expiry of chunks: set by the caller, else by a rule of a tag, else by the namespace's rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from memsense.errors import InvalidInputError
from memsense.inputs import Ttl
from memsense.types import ExchangeDraft, SessionDraft

SETTING = "ttl"
"""Name of the namespace setting that holds the rules."""

ALL = ""
"""Key of the namespace's own rule. Other keys are tags, and a tag is never empty."""


@dataclass(frozen=True, slots=True)
class TtlRules:
    """Lifetimes in seconds: by tag, and under `ALL` for chunks without such a tag."""

    seconds: Mapping[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def read(cls, setting: object) -> Self:
        """Make the rules from the stored setting, or from None if there is none."""
        rules: Any = setting
        return cls(dict(rules or {}))

    def compute_expiry(self, tags: Sequence[str], now: datetime) -> datetime | None:
        """Return when a chunk stored now with these tags expires; None for never."""
        expires_at = self.compute_tag_expiry(tags, now)
        # A tag's rule wins over the namespace's, also where it is the longer one.
        if expires_at is None and ALL in self.seconds:
            return now + timedelta(seconds=self.seconds[ALL])
        return expires_at

    def compute_tag_expiry(self, tags: Sequence[str], now: datetime) -> datetime | None:
        """Return the expiry by the shortest rule of these tags; None if no tag has a rule."""
        lifetimes = [self.seconds[tag] for tag in tags if tag in self.seconds and tag != ALL]
        return now + timedelta(seconds=min(lifetimes)) if lifetimes else None

    def apply(self, draft: SessionDraft, now: datetime) -> SessionDraft:
        """Return the session with expiries, by the rules or the caller's lifetime, which wins."""

        def date(exchange: ExchangeDraft) -> ExchangeDraft:
            chunks = exchange.chunks
            if exchange.lifetime is not None:
                end = now + exchange.lifetime
                chunks = [replace(it, expires_at=min(it.expires_at or end, end)) for it in chunks]
            # A caller's "never" leaves `expires_at` empty, so the flag is asked instead.
            elif self.seconds and not exchange.has_expiry:
                chunks = [
                    replace(it, expires_at=self.compute_expiry(it.tags, now)) for it in chunks
                ]
            return replace(exchange, chunks=chunks)

        return replace(draft, exchanges=[date(exchange) for exchange in draft.exchanges])


NO_TTL = TtlRules()


def has_expired(expires_at: datetime | None, now: datetime) -> bool:
    """Return whether the expiry has passed; False for None, which never expires."""
    return expires_at is not None and expires_at <= now


def check_expiry(expires_at: datetime | None, ttl: Ttl | None) -> None:
    """Raise InvalidInputError if both are given, or if `expires_at` has passed."""
    if expires_at is not None and ttl is not None:
        raise InvalidInputError("expires_at and ttl exclude each other: pass only one of them")
    if expires_at is not None and has_expired(expires_at, datetime.now(UTC)):
        raise InvalidInputError(
            f"expires_at must lie in the future: {expires_at.isoformat()} has passed"
        )


def read_lifetime(ttl: Ttl | None) -> timedelta | None:
    """Return how long a caller lets a chunk live; None for never, or if the caller doesn't say."""
    return ttl if isinstance(ttl, timedelta) else None
