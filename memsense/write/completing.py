"""Makes one exchange of a user's message and its answer where they are added in two calls."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memsense.embed import is_embeddable
from memsense.ingest import joined_text, pair_exchanges
from memsense.types import (
    Awaiting,
    Chunk,
    ChunkDraft,
    Completion,
    Conversation,
    ExchangeDraft,
    Message,
    SessionDraft,
)
from memsense.write.chunking import dedup_window, exchange_key
from memsense.write.drafting import Annotations, Drafter, content_identity
from memsense.write.facets import FACETS


def brings_answer(conversation: Conversation, draft: SessionDraft) -> bool:
    """Whether the conversation, of which this is the draft, begins with what answers something: an
    assistant's text, and before it no message of a user's, not even an invisible one.
    """
    if not draft.exchanges or draft.mode == "session":
        return False
    if any(chunk.user_text for chunk in draft.exchanges[0].chunks):
        return False
    first = pair_exchanges(conversation)[0]
    return not first.user and is_embeddable(joined_text(first.assistant))


def complete(
    drafter: Drafter, conversation: Conversation, draft: SessionDraft, awaiting: Awaiting
) -> SessionDraft:
    """The draft of the conversation with its first exchange in one with the one that awaits it."""
    question = _as_message(awaiting.parts)
    answer = pair_exchanges(conversation)[0].assistant
    together = replace(conversation, messages=[question, *answer])
    annotated = replace(drafter, annotations=_join(drafter.annotations, awaiting.parts[0]))
    [exchange] = annotated.draft(together, draft.user_id).exchanges
    answered = draft.exchanges[0].chunks[0]
    pieces = (
        (content_identity(conversation.session_id, [question]), question.at),
        (answered.content_hash, answered.occurred_at),
    )
    completed = ExchangeDraft(
        chunks=[
            _first_to_expire(_with_ids(chunk, awaiting.parts, answer), awaiting.parts[0], answered)
            for chunk in exchange.chunks
        ],
        expiry_given=draft.exchanges[0].expiry_given or bool(awaiting.parts[0].expires_at),
        messages={
            exchange_key(content_hash, dedup_window(at)): at.isoformat()
            for content_hash, at in pieces
            if at
        },
        completes=Completion(
            ordinal=awaiting.parts[0].ordinal,
            chunk_ids=[part.chunk_id for part in awaiting.parts],
            user_text=question.text,
            answer=answered,
        ),
    )
    return replace(draft, exchanges=[completed, *draft.exchanges[1:]])


def _as_message(parts: Sequence[Chunk]) -> Message:
    """What the user said; several messages of one call have become one."""
    first = parts[0]
    return Message(
        role="user",
        text="".join(part.own_user_text for part in parts),
        external_id=first.message_ids[0] if len(first.message_ids) == 1 else None,
        speaker=first.user_speaker,
        at=first.occurred_at,
        at_zone_known=first.occurred_zone_known,
    )


def _with_ids(chunk: ChunkDraft, parts: Sequence[Chunk], answer: Sequence[Message]) -> ChunkDraft:
    """The chunk with every message's id, also where several had become one."""
    said = (message.external_id for message in answer if message.external_id)
    return replace(chunk, message_ids=(*parts[0].message_ids, *said))


def _first_to_expire(chunk: ChunkDraft, stored: Chunk, answer: ChunkDraft) -> ChunkDraft:
    """The chunk, expiring with the question or with the answer, whichever is sooner."""
    expiries = (stored.expires_at, answer.expires_at)
    return replace(chunk, expires_at=min(filter(None, expiries), default=None))


def _join(given: Annotations, stored: Chunk) -> Annotations:
    """What either call said of the exchange; the later call wins, tags and metadata are joined."""
    kind = given.memory_kind
    if kind is None and not stored.facet_spans and stored.memory_kind != "ephemeral":
        kind = stored.memory_kind
    return Annotations(
        agent_id=given.agent_id or stored.agent_id,
        task_tag=given.task_tag or stored.task_tag,
        tags=list(dict.fromkeys((*stored.tags, *given.tags))),
        facets={**_facets_without_rule(stored), **given.facets},
        memory_kind=kind,
        confidence=min(given.confidence, stored.confidence),
        metadata={**stored.metadata, **given.metadata},
    )


def _facets_without_rule(stored: Chunk) -> Mapping[str, str]:
    """The facets that no rule found: rules read both sides anew, what a caller gave stays."""
    by_rule = {str(span["facet"]) for span in stored.facet_spans}
    found = {name: getattr(stored, name) for name in FACETS if name not in by_rule}
    return {name: text for name, text in found.items() if text}
