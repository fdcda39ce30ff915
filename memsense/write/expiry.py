"""When a chunk expires: as its caller says, else by a rule of its tags, else of its namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from memsense.errors import InvalidInputError
from memsense.inputs import NEVER, Ttl
from memsense.types import ExchangeDraft, SessionDraft

SETTING = "ttl"
"""The setting of a namespace that holds its rules."""

ALL = ""
"""The rule of a namespace stands where the others have their tag, which is never empty."""


@dataclass(frozen=True, slots=True)
class TtlRules:
    """How many seconds chunks are kept: by tag, and under `ALL` those without such a tag."""

    seconds: Mapping[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def read(cls, setting: object) -> Self:
        """The rules of a setting as it is stored, None where there is none."""
        found: Any = setting
        return cls(dict(found or {}))

    def expiry(self, tags: Sequence[str], now: datetime) -> datetime | None:
        """When what is stored now under these tags expires: by the shortest of their rules."""
        found = self.expiry_of_tags(tags, now)
        if found is None and ALL in self.seconds:
            return now + timedelta(seconds=self.seconds[ALL])
        return found

    def expiry_of_tags(self, tags: Sequence[str], now: datetime) -> datetime | None:
        """When what gets these tags now expires by their rules; None where they have none."""
        own = [self.seconds[tag] for tag in tags if tag in self.seconds and tag != ALL]
        return now + timedelta(seconds=min(own)) if own else None

    def date(self, draft: SessionDraft) -> SessionDraft:
        """The session, its chunks dated by the rules where nobody has said when they expire."""
        if not self.seconds:
            return draft
        now = datetime.now(UTC)
        return replace(draft, exchanges=[self._date(item, now) for item in draft.exchanges])

    def _date(self, exchange: ExchangeDraft, now: datetime) -> ExchangeDraft:
        if exchange.expiry_given:
            return exchange
        chunks = [
            replace(chunk, expires_at=self.expiry(chunk.tags, now)) for chunk in exchange.chunks
        ]
        return replace(exchange, chunks=chunks)


NO_TTL = TtlRules()


def has_expired(expires_at: datetime | None) -> bool:
    """Whether that moment has passed."""
    return expires_at is not None and expires_at <= datetime.now(UTC)


def check_expiry(expires_at: datetime | None, ttl: Ttl | None) -> None:
    """Raise InvalidInputError for both, and for a moment that has passed."""
    if expires_at is not None and ttl is not None:
        raise InvalidInputError("expires_at and ttl exclude each other: give one of them")
    if has_expired(expires_at):
        assert expires_at is not None
        told = expires_at.isoformat()
        raise InvalidInputError(f"expires_at must lie in the future: {told} has passed")


def choose_expiry(expires_at: datetime | None, ttl: Ttl | None) -> datetime | None:
    """When what is stored now expires, as its caller says; None where that is never."""
    if ttl is None or ttl == NEVER:
        return expires_at
    assert isinstance(ttl, timedelta)
    return datetime.now(UTC) + ttl
