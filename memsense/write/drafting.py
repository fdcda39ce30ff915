"""Turns conversations into the drafts that the store writes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple, cast

from pydantic import BeforeValidator, Field

from memsense.embed import is_embeddable
from memsense.ingest import joined_text, message_hash, message_key, pair_exchanges
from memsense.inputs import (
    Id,
    Input,
    Metadata,
    Name,
    Names,
    Share,
    Text,
    Time,
    Ttl,
    refused,
    shorten,
)
from memsense.types import (
    ChunkDraft,
    Conversation,
    Exchange,
    ExchangeDraft,
    IngestMode,
    JsonValue,
    MemoryKind,
    Message,
    SessionDraft,
)
from memsense.write.chunking import dedup_window, exchange_hash, find_opening, split_exchange
from memsense.write.expiry import check_expiry, choose_expiry
from memsense.write.facets import FACETS, Facets, FacetTagger


def _read_facets(value: object) -> object:
    if not isinstance(value, Mapping):
        raise refused("must be a mapping", value)
    given = dict(cast("Mapping[object, object]", value))
    if unknown := [key for key in given if key not in FACETS]:
        told = ", ".join(map(shorten, unknown))
        raise ValueError(f"has no facet {told}; there are {', '.join(FACETS)}")
    return given


class Annotations(Input):
    """What the caller says about what is added; it wins over what rules find.

    It expires at `expires_at`, or so long after it was stored as `ttl` says ("30d", a timedelta;
    "never" whatever the namespace's rules say). Making one raises InvalidInputError.
    """

    agent_id: Id | None = None
    task_tag: Name | None = None
    tags: Names = ()
    facets: Annotated[Mapping[str, Text], BeforeValidator(_read_facets)] = {}
    memory_kind: MemoryKind | None = None
    confidence: Share = 1.0
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    expires_at: Time | None = None
    ttl: Ttl | None = None

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        check_expiry(self.expires_at, self.ttl)


NO_ANNOTATIONS = Annotations()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """A conversation with what is worked out once for all of its exchanges."""

    conversation: Conversation
    keys: Mapping[int, str]
    speakers: Sequence[str]


class _Part(NamedTuple):
    """What becomes one chunk of an exchange: both sides, its number from 0, and how many there are.

    `opening` is what stands in front of the user's side.
    """

    user_text: str
    assistant_text: str
    number: int
    total: int
    opening: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """Cuts conversations into exchange drafts with facets.

    `ledger`: whether what is known already is decided by message keys (logs that are read again)
    or by content within ten minutes of event time (calls).
    """

    tagger: FacetTagger
    mode: IngestMode = "turn"
    ledger: bool
    user_speaker: str | None = None
    annotations: Annotations = NO_ANNOTATIONS

    def draft(self, conversation: Conversation, user_id: str) -> SessionDraft:
        """The session that a conversation adds to the user's memory."""
        exchanges = pair_exchanges(conversation, user_speaker=self.user_speaker)
        speakers = {message.speaker for message in conversation.messages if message.speaker}
        session = _Session(
            conversation=conversation,
            keys=_name_messages(conversation),
            speakers=sorted(speakers),
        )
        drafts = [self._draft_exchange(session, exchange) for exchange in exchanges]
        return SessionDraft(
            user_id=user_id,
            session_id=conversation.session_id,
            exchanges=[draft for draft in drafts if draft.chunks],
            mode=self.mode,
            format=conversation.format if self.ledger else "",
            speakers=session.speakers,
        )

    def _draft_exchange(self, session: _Session, exchange: Exchange) -> ExchangeDraft:
        conversation = session.conversation
        user_text, assistant_text = _side(exchange.user), _side(exchange.assistant)
        if not user_text and not assistant_text:
            return ExchangeDraft(chunks=())
        messages = [*exchange.user, *exchange.assistant]
        ledger = {session.keys[id(message)]: message_hash(message) for message in messages}
        identity = (
            exchange_hash(conversation.session_id, conversation.format, sorted(ledger.items()))
            if self.ledger
            else content_identity(conversation.session_id, messages)
        )
        pieces = split_exchange(user_text, assistant_text)
        opening = find_opening(user_text)
        chunks = [
            self._draft_chunk(
                session,
                exchange,
                _Part(*sides, number, len(pieces), opening if number else ""),
                identity,
            )
            for number, sides in enumerate(pieces)
        ]
        given = self.annotations
        return ExchangeDraft(
            chunks=chunks,
            messages=ledger if self.ledger else {},
            expiry_given=given.expires_at is not None or given.ttl is not None,
        )

    def _draft_chunk(
        self,
        session: _Session,
        exchange: Exchange,
        part: _Part,
        identity: str,
    ) -> ChunkDraft:
        conversation = session.conversation
        given = self.annotations
        facets = self._find_facets(part.user_text, part.assistant_text)
        messages = [*exchange.user, *exchange.assistant]
        first = next((message for message in messages if message.at), None)
        occurred_at = first.at if first else conversation.started_at
        return ChunkDraft(
            granularity="turn",
            session_id=conversation.session_id,
            ordinal=exchange.ordinal,
            last_ordinal=exchange.ordinal,
            part=part.number,
            part_count=part.total,
            opening_length=len(part.opening),
            agent_id=given.agent_id or conversation.agent_id,
            user_text=part.opening + part.user_text,
            assistant_text=part.assistant_text,
            user_speaker=_speaker(exchange.user),
            assistant_speaker=_speaker(exchange.assistant),
            task_tag=given.task_tag,
            tags=tuple(given.tags),
            memory_kind=given.memory_kind or facets.memory_kind,
            personal_info=given.facets.get("personal_info", facets.personal_info),
            preferences=given.facets.get("preferences", facets.preferences),
            events=given.facets.get("events", facets.events),
            facet_spans=_spans(facets, len(part.opening)),
            confidence=given.confidence,
            occurred_at=occurred_at,
            occurred_zone_known=first.at_zone_known if first else True,
            message_ids=tuple(message.external_id for message in messages if message.external_id),
            source=f"{conversation.format}:{conversation.source}",
            metadata={**_own_metadata(conversation), **given.metadata},
            content_hash=exchange_hash(identity, part.number) if part.number else identity,
            dedup_window=0 if self.ledger else dedup_window(occurred_at or datetime.now(UTC)),
            expires_at=choose_expiry(given.expires_at, given.ttl),
        )

    def _find_facets(self, user_text: str, assistant_text: str) -> Facets:
        return self.tagger.tag(user_text, assistant_text)


def _name_messages(conversation: Conversation) -> dict[int, str]:
    """Each message's key by its `id()`; a key that the log uses again is told apart by a count."""
    used: Counter[str] = Counter()
    keys: dict[int, str] = {}
    for index, message in enumerate(conversation.messages):
        key = message_key(conversation, index, message)
        keys[id(message)] = f"{key}#{used[key] + 1}" if used[key] else key
        used[key] += 1
    return keys


def _side(messages: Sequence[Message]) -> str:
    text = joined_text(messages)
    return text if is_embeddable(text) else ""


def _speaker(messages: Sequence[Message]) -> str | None:
    names = dict.fromkeys(message.speaker for message in messages if message.speaker)
    return ", ".join(names) or None


def content_identity(session_id: str, messages: Sequence[Message]) -> str:
    """The hash of what is said: what one exchange of a call is known by."""
    said = [
        (message.role, message.speaker, message.external_id, message.text) for message in messages
    ]
    return exchange_hash(session_id, said)


def _own_metadata(conversation: Conversation) -> Mapping[str, JsonValue]:
    return {name: value for name, value in conversation.metadata.items() if name != "user_id"}


def _spans(facets: Facets, before_user: int) -> list[Mapping[str, JsonValue]]:
    """Where the facets stand; so many characters stand before the user's side."""
    return [
        {
            "facet": s.facet,
            "rule": s.rule,
            "side": s.side,
            "start": s.start + (shift := before_user if s.side == "user" else 0),
            "end": s.end + shift,
        }
        for s in facets.spans
    ]
