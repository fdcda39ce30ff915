"""Drafts of conversations: sessions, exchanges and chunks as the store writes them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import Field

from memsense.draft.alignment import content_key
from memsense.draft.chunking import dedup_window, exchange_hash
from memsense.draft.expiry import check_expiry, read_lifetime
from memsense.draft.facets.model import FACETS, FacetTagger
from memsense.draft.facets.standing import StandingTagger
from memsense.draft.parts import cut_exchange
from memsense.embed import is_embeddable
from memsense.ingest import joined_text, message_hash, message_key, pair_exchanges
from memsense.ingest.pairing import EXCHANGE_GAP
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
    mapping_of,
)
from memsense.text.secrets import KINDS, PRIVATE, clean
from memsense.types import (
    ChosenKind,
    ChunkDraft,
    Conversation,
    Exchange,
    ExchangeDraft,
    IngestMode,
    JsonValue,
    Message,
    SessionDraft,
)


class Annotations(Input):
    """Annotations of what is added, by its caller; they win over the facets that rules find.

    Args:
        agent_id: The agent that the exchanges belong to, at most 500 characters.
        project: The project that the exchanges are about; it wins over that of a log.
        task_tag: The task that the exchanges belong to; a field of the lexical route.
        tags: Labels to filter by.
        facets: Texts of `personal_info`, `preferences` and `events`; they replace the rules' texts.
        memory_kind: "stable", "preference", "episodic" or "ephemeral"; by default by the facets.
            With "rule", all of the user's own sentences are standing rules.
        confidence: From 0 to 1; stored and shown, never ranked by.
        metadata: JSON values to filter by.
        expires_at: When the chunks expire. Excludes `ttl`.
        ttl: How long after storing they expire: "30d", a timedelta, or "never", which also
            overrides the namespace's rules.

    Raises:
        InvalidInputError: If a value is out of range, names the argument.
    """

    agent_id: Id | None = None
    project: Name | None = None
    task_tag: Name | None = None
    tags: Names = ()
    facets: Annotated[Mapping[str, Text], mapping_of(*FACETS, noun="facet ")] = {}
    memory_kind: ChosenKind | None = None
    confidence: Share = 1.0
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    expires_at: Time | None = None
    ttl: Ttl | None = None

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        check_expiry(self.expires_at, self.ttl)

    @classmethod
    def of(
        cls,
        *,
        agent_id: str | None,
        project: str | None,
        task_tag: str | None,
        tags: Sequence[str],
        facets: Mapping[str, str] | None,
        memory_kind: ChosenKind | None,
        confidence: float,
        metadata: Mapping[str, Any] | None,
        expires_at: datetime | None,
        ttl: timedelta | str | None,
    ) -> Self:
        """Return the annotations of arguments that `Memory.add` has checked."""
        check_expiry(expires_at, ttl)
        # Without a second check: metadata of a megabyte is copied once, not twice.
        return cls.model_construct(
            agent_id=agent_id, project=project, task_tag=task_tag, tags=tags, facets=facets or {},
            memory_kind=memory_kind, confidence=confidence, metadata=metadata or {},
            expires_at=expires_at, ttl=ttl,
        )  # fmt: skip


NO_ANNOTATIONS = Annotations()
_ANNOTATED_TEXTS = ("task_tag", "tags", "facets", "metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A conversation cut into exchanges as it may be stored, before drafts are made of them.

    All mappings are by the `id()` of a message; `hashes` has those of messages stored already.
    """

    conversation: Conversation
    user_id: str
    exchanges: Sequence[Exchange]
    keys: Mapping[int, str]
    content_keys: Mapping[int, bytes]
    redacted: Mapping[int, Counter[str]]
    hashes: Mapping[int, str] = field(default_factory=dict[int, str])
    recognised: int = 0
    alias: str = ""

    @property
    def messages(self) -> list[Message]:
        """The messages of the exchanges, in the conversation's order."""
        paired = {id(m) for each in self.exchanges for m in (*each.user, *each.assistant)}
        return [message for message in self.conversation.messages if id(message) in paired]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """A conversation with the values that are computed once for all of its exchanges."""

    paired: Paired
    speakers: Sequence[str]
    metadata: Mapping[str, JsonValue]
    annotations: Annotations


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """Maker of exchange drafts with facets from conversations.

    Args:
        tagger: Finds the facets of each chunk.
        mode: "turn", "session" or "hybrid", which stores both kinds of chunks.
        ledger: True for logs, which are read again: message keys decide whether an exchange is
            stored already. False for calls: equal content within ten minutes of event time is one.
        user_speaker: The speaker whose messages are the user's side in a log of several people.
        exchange_gap: Silence between two messages of one side that ends an exchange; 0 for none.
        redacts: Kinds of secrets that are replaced by their kind. Passages in `<private>` are
            always left out.
        annotations: Annotations for all exchanges.
    """

    tagger: FacetTagger
    mode: IngestMode = "turn"
    ledger: bool
    user_speaker: str | None = None
    exchange_gap: timedelta = EXCHANGE_GAP
    redacts: Collection[str] = ()
    annotations: Annotations = NO_ANNOTATIONS

    def draft(self, conversation: Conversation, user_id: str) -> SessionDraft:
        """Return the session draft of a conversation, for this user's memory."""
        return self.draft_paired(self.pair(conversation, user_id))

    def pair(self, conversation: Conversation, user_id: str) -> Paired:
        """Return the conversation's exchanges, with the keys of its messages."""
        # Before anything else is made of them: hashes and keys of messages are those of the texts
        # without secrets, too. A short password could be guessed from the hash of its sentence.
        conversation, redacted, content_keys = self._clean(conversation)
        return Paired(
            conversation=conversation,
            user_id=user_id,
            exchanges=pair_exchanges(
                conversation, user_speaker=self.user_speaker, exchange_gap=self.exchange_gap
            ),
            keys=_number_repeated_keys(conversation),
            content_keys=content_keys,
            redacted=redacted,
        )

    def draft_paired(self, paired: Paired) -> SessionDraft:
        """Return the session draft of exchanges."""
        conversation, exchanges = paired.conversation, paired.exchanges
        annotations, of_annotations = self._clean_annotations()
        speakers = {message.speaker for message in conversation.messages if message.speaker}
        session = _Session(
            paired=paired,
            speakers=sorted(speakers),
            # Readers report a log's own user there; it names the memory, and is not stored again.
            metadata={
                name: value for name, value in conversation.metadata.items() if name != "user_id"
            },
            annotations=annotations,
        )
        drafts = [self._draft_exchange(session, exchange) for exchange in exchanges]
        left_out: Counter[str] = Counter()
        for draft in drafts:
            if not draft.chunks:
                left_out.update(draft.redacted)
        if of_annotations and drafts:
            counts = Counter(drafts[0].redacted) + of_annotations
            drafts[0] = replace(drafts[0], redacted=counts)
        return SessionDraft(
            user_id=paired.user_id,
            session_id=conversation.session_id,
            recognised=paired.recognised,
            alias=paired.alias,
            exchanges=[draft for draft in drafts if draft.chunks],
            left_out=left_out,
            mode=self.mode,
            format=conversation.format if self.ledger else "",
            speakers=session.speakers,
        )

    def _clean(
        self, conversation: Conversation
    ) -> tuple[Conversation, dict[int, Counter[str]], dict[int, bytes]]:
        """Return the conversation as it may be stored; counts and keys by a message's `id()`."""
        messages: list[Message] = []
        redacted: dict[int, Counter[str]] = {}
        content_keys: dict[int, bytes] = {}
        for message in conversation.messages:
            # Which secrets are stored is a setting; the key must be the same under each. So a log's
            # message is read for every kind first, and again only if it has one that is stored.
            kinds = KINDS if self.ledger else self.redacts
            text, counts = every, _ = clean(message.text, secrets=kinds)
            if counts.keys() - {PRIVATE, *self.redacts}:
                text, counts = clean(message.text, secrets=self.redacts)
            stored = replace(message, text=text) if counts else message
            messages.append(stored)
            if counts:
                redacted[id(stored)] = counts
            if self.ledger:
                key = content_key(message.role, every, message.speaker, message.at)
                content_keys[id(stored)] = key
        metadata, of_metadata = clean(conversation.metadata, secrets=self.redacts)
        if not redacted and not of_metadata:
            return conversation, redacted, content_keys
        return replace(conversation, messages=messages, metadata=metadata), redacted, content_keys

    def _clean_annotations(self) -> tuple[Annotations, Counter[str]]:
        values = {name: getattr(self.annotations, name) for name in _ANNOTATED_TEXTS}
        cleaned, counts = clean(values, secrets=self.redacts)
        return (self.annotations.model_copy(update=cleaned) if counts else self.annotations), counts

    def _draft_exchange(self, session: _Session, exchange: Exchange) -> ExchangeDraft:
        """Return the draft of one exchange; without chunks if it has nothing to embed."""
        paired, options = session.paired, session.annotations
        conversation = paired.conversation
        user_text, assistant_text = _join_visible(exchange.user), _join_visible(exchange.assistant)
        messages = [*exchange.user, *exchange.assistant]
        redacted: Counter[str] = Counter()
        for message in messages:
            redacted.update(paired.redacted.get(id(message), ()))
        if not user_text and not assistant_text:
            return ExchangeDraft(chunks=(), redacted=redacted)

        ledger = {
            paired.keys[id(message)]: paired.hashes.get(id(message)) or message_hash(message)
            for message in messages
        }
        # An edited message of a log must change the hash but keep its key, so the ledger is
        # hashed. A call has no keys that come again; there the content alone counts.
        identity = (
            exchange_hash(conversation.session_id, conversation.format, sorted(ledger.items()))
            if self.ledger
            else hash_content(conversation.session_id, messages)
        )

        first = next((message for message in messages if message.at), None)
        occurred_at = first.at if first else conversation.started_at
        message_ids = tuple(message.external_id for message in messages if message.external_id)
        metadata = {**session.metadata, **options.metadata}
        window = 0 if self.ledger else dedup_window(occurred_at or datetime.now(UTC))
        # A session may move to another folder: an exchange is about that of its own messages.
        projects = (message.project for message in messages if message.project)
        project = options.project or next(projects, conversation.project)

        chosen: dict[str, Any] = dict(options.facets)
        tagger = self.tagger
        if options.memory_kind == "rule":
            tagger = StandingTagger(tagger, is_stated=True)
        elif options.memory_kind:
            chosen["memory_kind"] = options.memory_kind
        whole = ChunkDraft(
            granularity="turn",
            session_id=conversation.session_id,
            ordinal=exchange.ordinal,
            last_ordinal=exchange.ordinal,
            agent_id=options.agent_id or conversation.agent_id,
            user_text=user_text,
            assistant_text=assistant_text,
            user_speaker=_join_speakers(exchange.user),
            assistant_speaker=_join_speakers(exchange.assistant),
            task_tag=options.task_tag,
            tags=tuple(options.tags),
            confidence=options.confidence,
            occurred_at=occurred_at,
            occurred_zone_known=first.at_zone_known if first else True,
            message_ids=message_ids,
            source=f"{conversation.format}:{conversation.source}",
            metadata=metadata,
            content_hash=identity,
            dedup_window=window,
            expires_at=options.expires_at,
            project=project,
        )
        return ExchangeDraft(
            chunks=cut_exchange(whole, tagger, chosen),
            messages=ledger if self.ledger else {},
            content_keys={
                paired.keys[id(message)]: paired.content_keys[id(message)]
                for message in messages
                if self.ledger
            },
            has_expiry=options.expires_at is not None or options.ttl is not None,
            lifetime=read_lifetime(options.ttl),
            redacted=redacted,
            follows_gap=exchange.follows_gap,
        )


def _number_repeated_keys(conversation: Conversation) -> dict[int, str]:
    """Return each message's ledger key, by its `id()`; repeated ones are "m1", "m1#2", "m1#3"."""
    counts: Counter[str] = Counter()
    keys: dict[int, str] = {}
    # Computed once for the conversation: searching the messages again for each exchange would
    # take quadratic time.
    for index, message in enumerate(conversation.messages):
        key = message_key(conversation, index, message)
        keys[id(message)] = f"{key}#{counts[key] + 1}" if counts[key] else key
        counts[key] += 1
    return keys


def _join_visible(messages: Sequence[Message]) -> str:
    text = joined_text(messages)
    return text if is_embeddable(text) else ""


def _join_speakers(messages: Sequence[Message]) -> str | None:
    names = dict.fromkeys(message.speaker for message in messages if message.speaker)
    return ", ".join(names) or None


def hash_content(session_id: str, messages: Sequence[Message]) -> str:
    """Return the hash of the messages' content, which identifies an exchange that a call added."""
    contents = [
        (message.role, message.speaker, message.external_id, message.text) for message in messages
    ]
    return exchange_hash(session_id, contents)
