"""Completion of an exchange whose user message and answer are added in two calls."""

from collections.abc import Sequence
from dataclasses import replace

from memsense.draft.chunking import dedup_window, format_ledger_key
from memsense.draft.drafting import Annotations, Drafter, hash_content
from memsense.draft.facets.model import FACETS, STATED
from memsense.embed import is_embeddable
from memsense.ingest import joined_text, pair_exchanges
from memsense.types import (
    Chunk,
    Completion,
    Conversation,
    ExchangeDraft,
    Message,
    SessionDraft,
)


def starts_with_answer(conversation: Conversation, draft: SessionDraft) -> bool:
    """Return whether a drafted conversation begins with an assistant's text that may answer."""
    if not draft.exchanges or draft.mode == "session":
        return False
    if any(chunk.user_text for chunk in draft.exchanges[0].chunks):
        return False
    # The draft has dropped invisible text. An answer to an invisible user message of the same call
    # must not complete an earlier question, so the messages themselves are checked, too.
    first = pair_exchanges(conversation)[0]
    return not first.user and is_embeddable(joined_text(first.assistant))


def complete_exchange(
    drafter: Drafter, conversation: Conversation, draft: SessionDraft, parts: Sequence[Chunk]
) -> SessionDraft:
    """Return the draft whose first exchange is merged into the stored one that awaits an answer."""
    stored = parts[0]
    # Several user messages of the first call were joined when they were stored. They come back as
    # one message, which has an id only if it was one from the beginning.
    question = Message(
        role="user",
        text="".join(part.own_user_text for part in parts),
        external_id=stored.message_ids[0] if len(stored.message_ids) == 1 else None,
        speaker=stored.user_speaker,
        at=stored.occurred_at,
        at_zone_known=stored.occurred_zone_known,
    )
    answer = pair_exchanges(conversation)[0].assistant
    merged = replace(conversation, messages=[question, *answer])
    annotated = replace(drafter, annotations=_join_annotations(drafter.annotations, stored))
    [exchange] = annotated.draft(merged, draft.user_id).exchanges
    answer_chunk = draft.exchanges[0].chunks[0]

    # All stored ids are kept, also where several messages had become one.
    answer_ids = [message.external_id for message in answer if message.external_id]
    message_ids = (*stored.message_ids, *answer_ids)
    # The exchange expires with its question or its answer, whichever is sooner.
    expiries = (stored.expires_at, answer_chunk.expires_at)
    expires_at = min(filter(None, expiries), default=None)

    # The hash of the question alone and of the answer alone go into the ledger: either call may be
    # repeated, and no chunk has its hash any longer.
    pieces = (
        (hash_content(conversation.session_id, [question]), question.at),
        (answer_chunk.content_hash, answer_chunk.occurred_at),
    )
    completed = ExchangeDraft(
        chunks=[
            replace(chunk, message_ids=message_ids, expires_at=expires_at)
            for chunk in exchange.chunks
        ],
        has_expiry=draft.exchanges[0].has_expiry or bool(stored.expires_at),
        lifetime=draft.exchanges[0].lifetime,
        redacted=draft.exchanges[0].redacted,
        messages={
            format_ledger_key(content_hash, dedup_window(at)): at.isoformat()
            for content_hash, at in pieces
            if at
        },
        completes=Completion(
            ordinal=stored.ordinal,
            chunk_ids=[part.chunk_id for part in parts],
            user_text=question.text,
            answer=answer_chunk,
        ),
    )
    return replace(draft, exchanges=[completed, *draft.exchanges[1:]])


def _join_annotations(later: Annotations, stored: Chunk) -> Annotations:
    """Return the annotations of both calls; the later call wins, tags and metadata are joined."""
    kind = later.memory_kind
    if kind is None and any(span["rule"] == STATED for span in stored.facet_spans):
        kind = "rule"
    # A kind without facet spans can't come from the rules, except for their "ephemeral". So the
    # first caller chose it, and it stays.
    if kind is None and not stored.facet_spans and stored.memory_kind != "ephemeral":
        kind = stored.memory_kind
    # Rules read both sides again, and find their facets anew. Only facets that the first caller
    # gave are taken over.
    rule_facets = {str(span["facet"]) for span in stored.facet_spans}
    caller_facets = {
        name: text for name in FACETS if name not in rule_facets and (text := getattr(stored, name))
    }
    return Annotations(
        agent_id=later.agent_id or stored.agent_id,
        project=later.project or stored.project,
        task_tag=later.task_tag or stored.task_tag,
        tags=list(dict.fromkeys((*stored.tags, *later.tags))),
        facets={**caller_facets, **later.facets},
        memory_kind=kind,
        confidence=min(later.confidence, stored.confidence),
        metadata={**stored.metadata, **later.metadata},
    )
