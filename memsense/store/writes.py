"""The write path: new, grown or edited exchanges of sessions, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any, Protocol

from psycopg.types.json import Jsonb

from memsense.actor import current_actor
from memsense.db.connection import Connection
from memsense.db.rows import execute, execute_together, fetch_all
from memsense.draft.chunking import Link, Turn, build_session_chunks, is_long, link_turns
from memsense.draft.expiry import has_expired
from memsense.draft.vectors import BatchVectors
from memsense.store import rows
from memsense.store.jobs import enqueue_recutting, forget_jobs, schedule_sweep
from memsense.store.past import keep_past, keep_retired
from memsense.store.planning import Plan, name_exchange, plan_sessions, read_ledger
from memsense.store.scopes import Scope
from memsense.store.sessions import mark_session, unmark_session
from memsense.store.supersession import unlink_statements
from memsense.store.tokens import delete_tokens
from memsense.store.vectors import insert_embeddings
from memsense.store.versions import keep_versions
from memsense.text.configurations import choose_language
from memsense.text.identifiers import as_lexemes, index_identifiers
from memsense.text.language import READ
from memsense.text.lexemes import index_lexemes
from memsense.types import (
    ChunkDraft,
    ExchangeDraft,
    IngestMode,
    JsonValue,
    SessionDraft,
    SessionWrite,
)

Embed = BatchVectors
"""The vectors of texts and tokens of exchanges for one batch of writes.

It ends the transaction if something is yet to be embedded, so it is asked before anything is
written wherever the texts are known by then. None in a result means that a job makes the vector.
"""


def write_sessions(
    connection: Connection, scope: Scope, drafts: Sequence[SessionDraft], embed: Embed
) -> list[SessionWrite]:
    """Add what is new of sessions and replace what changed; the scope must be locked.

    With a `format`, which all drafts must have then, the ledger decides what is known already;
    without one, equal content within ten minutes of event time does. In mode `hybrid` the session
    is marked, and its session chunks are made later; in mode `session`, which stores nothing else,
    they are written at once. A session that holds turns, or session chunks with or without turns,
    goes on as it began.

    Several drafts of one session, and only these, must have different contents, and none of them
    may complete a stored exchange.
    """
    kinds = find_session_kinds(connection, scope, [draft.session_id for draft in drafts])
    drafts = [_adapt(scope, draft, *kinds[draft.session_id]) for draft in drafts]
    plans = plan_sessions(connection, scope, drafts)
    pairs = list(zip(drafts, plans, strict=True))
    replaced = [
        _replace(connection, scope, draft, plan, embed) if plan.replacing else []
        for draft, plan in pairs
    ]
    appended = _append(connection, scope, pairs, embed)
    for draft, plan in pairs:
        # What was stored before readers knew projects gets its project when its log is read again.
        projects = {ordinal: item.chunks[0].project for ordinal, item in plan.unchanged.items()}
        if any(projects.values()):
            values = {**scope.key, "session_id": draft.session_id}
            values |= {"ordinals": list(projects), "projects": list(projects.values())}
            execute(connection, "assign_projects", values)
        session = {**scope.key, "session_id": draft.session_id, "format": draft.format}
        if plan.unkeyed:
            keys, values = list(plan.unkeyed), list(plan.unkeyed.values())
            filled = {**session, "message_keys": keys, "content_keys": values}
            execute(connection, "record_content_keys", filled)
        if draft.alias:
            execute(connection, "record_alias", {**session, "alias": draft.alias})
    if speakers := sorted({speaker for draft in drafts for speaker in draft.speakers}):
        execute(connection, "add_speakers", {**scope.key, "speakers": speakers})
    return [
        SessionWrite(
            chunk_ids=[*plan.known_ids, *old_ids, *new_ids],
            added=len(plan.appended),
            replaced=len(plan.replacing),
            repeated=plan.repeated,
            expires=any(
                chunk.expires_at
                for exchange in (*plan.appended, *plan.replacing.values())
                for chunk in exchange.chunks
            ),
        )
        for plan, old_ids, new_ids in zip(plans, replaced, appended, strict=True)
    ]


def _adapt(
    scope: Scope, draft: SessionDraft, has_turns: bool, has_session_chunks: bool
) -> SessionDraft:
    """Return the draft with its expiry, in the mode that its session allows."""
    # So that no session chunk holds text that only some of its turns hold.
    mode: IngestMode = draft.mode
    if has_turns and (has_session_chunks or mode == "session"):
        mode = "hybrid"
    elif has_session_chunks and not has_turns:
        mode = "session"
    draft = replace(scope.ttl.apply(draft, scope.now), mode=mode)
    if draft.mode == "session" and not draft.format:
        draft = replace(draft, exchanges=[name_exchange(item) for item in draft.exchanges])
    return draft


def find_session_kinds(
    connection: Connection, scope: Scope, session_ids: Sequence[str]
) -> dict[str, tuple[bool, bool]]:
    """Return whether each session has turns, and whether it has session chunks, of any status."""
    values = {**scope.key, "session_ids": list(dict.fromkeys(session_ids))}
    rows_of_sessions = fetch_all(connection, "find_session_kinds", values)
    return {session_id: (turns, wholes) for session_id, turns, wholes in rows_of_sessions}


def _append(
    connection: Connection, scope: Scope, pairs: Sequence[tuple[SessionDraft, Plan]], embed: Embed
) -> list[list[int]]:
    """Put new exchanges behind the last ones of their sessions; return each draft's new chunks."""
    pairs_to_append = [pair for pair in pairs if pair[1].appended]
    if not pairs_to_append:
        return [[] for _ in pairs]
    # Inactive chunks count, and those that only the ledger knows: no place is used twice.
    ordinals = next_ordinals(connection, scope, [draft.session_id for draft, _ in pairs_to_append])
    placed: list[list[ExchangeDraft]] = []
    for draft, plan in pairs:
        first = ordinals.get(draft.session_id, 0)
        placed.append([_place(exchange, at) for at, exchange in enumerate(plan.appended, first)])
        ordinals[draft.session_id] = first + len(plan.appended)
    chunks = [chunk for exchanges in placed for item in exchanges for chunk in item.chunks]
    named = iter(name_languages(scope, chunks))
    turns = [
        list(islice(named, sum(len(item.chunks) for item in exchanges))) for exchanges in placed
    ]
    in_turns = [
        chunk
        for (draft, _), own in zip(pairs, turns, strict=True)
        if draft.mode != "session"
        for chunk in own
    ]
    turn_ids = iter(append_turns(connection, scope, in_turns, embed, event="added"))
    chunk_ids: list[list[int]] = []
    for (draft, _), own, exchanges in zip(pairs, turns, placed, strict=True):
        if draft.mode == "session":
            grown = _grow_session_chunks(connection, scope, draft.session_id, own, embed)
            chunk_ids.append(grown if own else [])
        else:
            chunk_ids.append(list(islice(turn_ids, len(own))))
        if draft.mode == "hybrid" and own:
            mark_session(connection, scope, draft.session_id)
        _record_messages(connection, scope, draft, exchanges)
    return chunk_ids


def next_ordinals(
    connection: Connection, scope: Scope, session_ids: Sequence[str]
) -> dict[str, int]:
    """Return the next free ordinal of each session."""
    values = {**scope.key, "session_ids": list(dict.fromkeys(session_ids))}
    return dict(fetch_all(connection, "next_ordinals", values))


def _place(exchange: ExchangeDraft, ordinal: int) -> ExchangeDraft:
    """Return the exchange at this place of the session."""
    chunks = [replace(chunk, ordinal=ordinal, last_ordinal=ordinal) for chunk in exchange.chunks]
    return replace(exchange, chunks=chunks)


def append_turns(
    connection: Connection,
    scope: Scope,
    turns: Sequence[ChunkDraft],
    embed: Embed,
    *,
    event: str | None = None,
) -> list[int]:
    """Store turns behind the last ones of their sessions, and link them; return their ids."""
    if not turns:
        return []
    places: dict[str, list[int]] = {}
    for place, turn in enumerate(turns):
        places.setdefault(turn.session_id, []).append(place)
    latest: dict[str, list[rows.StoredTurn]] = {session_id: [] for session_id in places}
    values = {**scope.key, "session_ids": list(places)}
    for session_id, *row in fetch_all(connection, "fetch_last_turns", values):
        latest[session_id] += rows.read_turns([tuple(row)])
    linked, relinked = list(turns), list[tuple[int, Link, str | None]]()
    for session_id, before in latest.items():
        new = [Turn.of(turns[place]) for place in places[session_id]]
        links = link_turns([*(item.turn for item in before), *new])
        for place, link in zip(places[session_id], links[len(before) :], strict=True):
            texts = {"next_user_text": link.next_user_text, "context": link.context}
            linked[place] = replace(turns[place], **texts)
        # The turn before the new ones now has a next-user text, and a context on both sides.
        for last, link in zip(before[-1:], links[len(before) - 1 :], strict=False):
            relinked.append((last.chunk_id, link, last.turn.language))
    chunk_ids = insert_chunks(connection, scope, linked, event=event)
    last_ids = {session_id: it[-1].chunk_id if it else None for session_id, it in latest.items()}
    previous: list[int | None] = []
    for turn, chunk_id in zip(turns, chunk_ids, strict=True):
        previous.append(last_ids[turn.session_id])
        last_ids[turn.session_id] = chunk_id
    insert_embeddings(connection, scope, linked, chunk_ids, embed, previous=previous)
    rows.relink(connection, scope, relinked)
    return chunk_ids


def insert_chunks(
    connection: Connection,
    scope: Scope,
    drafts: Sequence[ChunkDraft],
    *,
    event: str | None = None,
    detail: Mapping[str, JsonValue] | None = None,
) -> list[int]:
    """Store the drafts and count them in the statistics; return their ids in the drafts' order.

    An `event` becomes the next one of each chunk's history, with its `detail`.
    """
    drafts_as_json: list[dict[str, Any]] = []
    drafts = name_languages(scope, drafts)
    for position, draft in enumerate(drafts):
        fields = {name: getattr(draft, name) for name in ChunkDraft.__slots__}
        for name in ("occurred_at", "expires_at"):
            fields[name] = fields[name].isoformat() if fields[name] else None
        fields["tags"] = list(draft.tags)
        fields["message_ids"] = list(draft.message_ids)
        fields["facet_spans"] = [dict(span) for span in draft.facet_spans]
        fields["metadata"] = dict(draft.metadata)
        drafts_as_json.append(
            {"position": position, **fields, **index_terms(draft, draft.language or "")}
        )
    values = {**scope.key, "drafts": Jsonb(drafts_as_json)}
    keep_retired(connection, scope, drafts)
    # By place, since the statement returns the chunks in no order, and the id of a chunk that stood
    # at the place before.
    ids = {
        tuple(place): chunk_id
        for chunk_id, *place in fetch_all(connection, "upsert_chunks", values)
    }
    chunk_ids = [ids[it.session_id, it.granularity, it.ordinal, it.part] for it in drafts]
    counted = {**scope.key, "chunk_ids": chunk_ids, "sign": 1, **_event(event, detail)}
    names = ["count_lexemes", "count_chunks", "count_languages"]
    names += ["insert_events"] if event else []
    execute_together(connection, names, counted)
    if any(draft.expires_at for draft in drafts):
        schedule_sweep(connection, scope)
    # An import brings exchanges as they were cut where they come from.
    if any(is_long(draft) for draft in drafts):
        enqueue_recutting(connection, scope)
    for follower in scope.followers:
        follower.chunks_written(connection, scope, drafts, chunk_ids)
    return chunk_ids


class IndexedTexts(Protocol):
    """The texts of a chunk that the text index is made from."""

    @property
    def session_text(self) -> str: ...  # noqa: D102
    @property
    def user_text(self) -> str: ...  # noqa: D102
    @property
    def assistant_text(self) -> str: ...  # noqa: D102
    @property
    def task_tag(self) -> str | None: ...  # noqa: D102
    @property
    def tags(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def context(self) -> str: ...  # noqa: D102


def name_languages(scope: Scope, drafts: Sequence[ChunkDraft]) -> list[ChunkDraft]:
    """Return the drafts with the language of each exchange, which all of its parts have."""
    language = scope.last_language
    named: list[ChunkDraft] = []
    for _, group in groupby(drafts, key=lambda it: (it.session_id, it.granularity, it.ordinal)):
        parts = list(group)
        language = find_language(scope, parts[0], language)
        named += [replace(part, language=language) for part in parts]
    return named


def find_language(scope: Scope, first: ChunkDraft, default: str) -> str:
    """Return the language of an exchange by the beginnings of both sides of its first part.

    A text that is too short to show its language has the `default`.
    """
    user_text, assistant_text = first.user_text or first.session_text, first.assistant_text
    room = max(READ // 2, READ - len(assistant_text))
    text = f"{user_text[:room]}\n{assistant_text}"
    return choose_language(text, default, scope.language, first.language)


def index_terms(texts: IndexedTexts, language: str) -> dict[str, str | list[str]]:
    """Return the lexemes of each field of the text index, as literals of a tsvector."""
    own = (texts.session_text or texts.user_text, texts.assistant_text, *texts.tags)
    return {
        "identifiers": as_lexemes(index_identifiers("\n".join(own))),
        "user_terms": index_lexemes(texts.session_text or texts.user_text, language),
        "assistant_terms": index_lexemes(texts.assistant_text, language),
        "tag_terms": index_lexemes(" ".join((texts.task_tag or "", *texts.tags)), language),
        "context_terms": index_lexemes(texts.context, language),
    }


def count_statistics(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int], *, sign: int
) -> None:
    """Add chunks to the scope's statistics (sign 1), or subtract them (-1) before they change."""
    values = {**scope.key, "chunk_ids": list(chunk_ids), "sign": sign}
    names = ["count_lexemes", "count_chunks", "count_languages"]
    names += ["drop_unused_lexemes"] if sign < 0 else []
    execute_together(connection, names, values)


def _event(kind: str | None, detail: Mapping[str, JsonValue] | None = None) -> dict[str, Any]:
    """Return the parameters of an event that the current actor causes."""
    return {"kind": kind, "detail": Jsonb(dict(detail or {})), "actor": current_actor()}


def record_events(
    connection: Connection,
    scope: Scope,
    kind: str,
    chunk_ids: Sequence[int],
    detail: Mapping[str, JsonValue] | None = None,
) -> None:
    """Append one event per chunk to its history."""
    values = {**scope.key, "chunk_ids": list(chunk_ids), **_event(kind, detail)}
    execute(connection, "insert_events", values)


def _record_messages(
    connection: Connection, scope: Scope, draft: SessionDraft, exchanges: Sequence[ExchangeDraft]
) -> None:
    """Record the messages of the exchanges in the ledger of what was ingested."""
    messages = [
        (key, content_hash, exchange.chunks[0].ordinal, exchange.content_keys.get(key))
        for exchange in exchanges
        for key, content_hash in exchange.messages.items()
    ]
    if not messages:
        return
    values = {
        **scope.key,
        "session_id": draft.session_id,
        "format": draft.format,
        "message_keys": [key for key, *_ in messages],
        "content_hashes": [content_hash for _, content_hash, *_ in messages],
        "ordinals": [ordinal for _, _, ordinal, _ in messages],
        "content_keys": [content_key for *_, content_key in messages],
    }
    execute(connection, "record_messages", values)


def _grow_session_chunks(
    connection: Connection, scope: Scope, session_id: str, turns: Sequence[ChunkDraft], embed: Embed
) -> list[int]:
    """Continue the session's last session chunk with new turns; return the ids it wrote."""
    stored = rows.read_session_chunks(connection, scope, session_id)
    last = stored[-1] if stored and stored[-1].status == "active" else None
    # What has expired is not continued: its text would be stored again with the new one.
    if last is not None and has_expired(last.draft.expires_at, scope.now):
        last = None
    chunks = build_session_chunks(session_id, map(Turn.of, turns), last.draft if last else None)
    overwritten = [last.chunk_id] if last else []
    if last is not None and chunks[0] == last.draft:
        chunks, overwritten = chunks[1:], []
    return put_session_chunks(connection, scope, chunks, overwritten, embed)


def put_session_chunks(
    connection: Connection,
    scope: Scope,
    chunks: Sequence[ChunkDraft],
    overwritten: Sequence[int],
    embed: Embed,
) -> list[int]:
    """Store session chunks, over the `overwritten` ones where they have the same place."""
    withdraw(connection, scope, overwritten)
    if not chunks:
        return []
    chunk_ids = insert_chunks(connection, scope, chunks)
    insert_embeddings(connection, scope, chunks, chunk_ids, embed, previous=[None] * len(chunks))
    new = [chunk_id for chunk_id in chunk_ids if chunk_id not in set(overwritten)]
    record_events(connection, scope, "added", new)
    return chunk_ids


def withdraw(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Take chunks out of the statistics and delete their vectors, before they change or go."""
    if not chunk_ids:
        return
    # Both before anything is deleted: history stores the vectors too, and the statistics are
    # subtracted by the chunks' own words.
    keep_past(connection, scope, chunk_ids, vectors=True)
    count_statistics(connection, scope, chunk_ids, sign=-1)
    for follower in scope.followers:
        follower.chunks_withdrawn(connection, scope, chunk_ids)
    values = {**scope.key, "chunk_ids": list(chunk_ids)}
    execute(connection, "delete_embeddings", values)
    delete_tokens(connection, scope, chunk_ids)
    unlink_statements(connection, scope, chunk_ids)
    forget_jobs(connection, scope, chunk_ids)


def _replace(
    connection: Connection, scope: Scope, draft: SessionDraft, plan: Plan, embed: Embed
) -> list[int]:
    """Write changed exchanges over the stored ones; return the ids of the chunks written."""
    placed = [_place(exchange, ordinal) for ordinal, exchange in plan.replacing.items()]
    # The ledger first: it says which exchanges are left without a message.
    session = {**scope.key, "session_id": draft.session_id}
    renamed = {**session, "format": draft.format, "ordinals": list(plan.replacing)}
    execute(connection, "forget_messages", renamed)
    _record_messages(connection, scope, draft, placed)
    ledger = read_ledger(connection, scope, draft)
    emptied = plan.touched - {ordinal for _, ordinal, _ in ledger.values()}
    if draft.mode == "session":
        _rebuild_from_draft(connection, scope, draft, plan, embed)
        return []
    places = {**session, "granularity": "turn", "ordinals": [*plan.replacing, *emptied]}
    stored: list[tuple[int, int, int, str]] = fetch_all(connection, "fetch_places", places)
    # What the user has forgotten or archived is not brought back by the log.
    inactive = {ordinal for _, ordinal, _, status in stored if status != "active"}
    replaced = [chunk_id for chunk_id, ordinal, *_ in stored if ordinal not in inactive]
    keep_versions(connection, scope, replaced)
    chunks = [c for exchange in placed for c in exchange.chunks if c.ordinal not in inactive]
    chunk_ids = overwrite_turns(connection, scope, replaced, chunks, embed, event="replaced")
    relink_session(connection, scope, draft.session_id)
    if draft.mode == "hybrid":
        mark_session(connection, scope, draft.session_id)
    return chunk_ids


def overwrite_turns(
    connection: Connection,
    scope: Scope,
    stored: Sequence[int],
    turns: Sequence[ChunkDraft],
    embed: Embed,
    *,
    event: str,
    detail: Mapping[str, JsonValue] | None = None,
) -> list[int]:
    """Store turns over the active ones of the same exchanges; return their ids, in order.

    A turn at a taken place keeps the id; those that are left over are deleted. The caller relinks
    the session.
    """
    withdraw(connection, scope, stored)
    chunk_ids: list[int] = []
    if turns:
        chunk_ids = insert_chunks(connection, scope, turns, event=event, detail=detail)
        no_one = [None] * len(turns)  # relinking sets whose next-user vectors these are
        insert_embeddings(connection, scope, turns, chunk_ids, embed, previous=no_one)
    delete_chunks(connection, scope, set(stored) - set(chunk_ids))
    return chunk_ids


def delete_chunks(connection: Connection, scope: Scope, chunk_ids: set[int]) -> None:
    """Delete chunks that a replacement left over; their history stays."""
    if chunk_ids:
        record_events(connection, scope, "removed", sorted(chunk_ids))
        values = {**scope.key, "chunk_ids": sorted(chunk_ids)}
        execute(connection, "delete_chunks", values)


def _rebuild_from_draft(
    connection: Connection, scope: Scope, draft: SessionDraft, plan: Plan, embed: Embed
) -> None:
    """Make the session chunks of mode `session`, which stores no turns, anew from the log."""
    stored = rows.read_session_chunks(connection, scope, draft.session_id)
    inactive = {
        ordinal
        for item in stored
        if item.status != "active"
        for ordinal in range(item.draft.ordinal, item.draft.last_ordinal + 1)
    }
    turns = [
        Turn.of(chunk)
        for ordinal, exchange in sorted(
            {**plan.unchanged, **plan.replacing}.items(), key=lambda item: item[0]
        )
        if ordinal not in inactive
        for chunk in name_languages(scope, _place(exchange, ordinal).chunks)
    ]
    leftover = _rebuild(connection, scope, draft.session_id, turns, embed)
    delete_chunks(connection, scope, set(leftover))


def rebuild_session_chunks(
    connection: Connection, scope: Scope, session_id: str, embed: Embed
) -> None:
    """Make the session chunks anew from the session's active turns."""
    key = {**scope.key, "session_id": session_id}
    turns = [item.turn for item in rows.read_turns(fetch_all(connection, "fetch_turns", key))]
    leftover = _rebuild(connection, scope, session_id, turns, embed)
    if leftover:
        values = {**scope.key, "chunk_ids": leftover, "status": "deleted"}
        execute(connection, "set_status", values)
        record_events(connection, scope, "deleted", leftover, {"reason": "its turns are gone"})


def make_session(connection: Connection, scope: Scope, session_id: str, embed: Embed) -> bool:
    """Make the chunks of a marked session from its exchanges; return False if that is done already.

    The scope must be locked.
    """
    # The mark decides: of two processes that make the same session, one finds it gone.
    if not unmark_session(connection, scope, session_id):
        return False
    rebuild_session_chunks(connection, scope, session_id, embed)
    return True


def _rebuild(
    connection: Connection, scope: Scope, session_id: str, turns: Sequence[Turn], embed: Embed
) -> list[int]:
    """Bring the active session chunks in line with the turns; return those that are left over."""
    stored = rows.read_session_chunks(connection, scope, session_id)
    active = [item for item in stored if item.status == "active"]
    chunks = build_session_chunks(session_id, turns)
    same = {_extent(item.draft): item.chunk_id for item in active}
    changed = [chunk for chunk in chunks if _extent(chunk) not in same]
    # What has not changed keeps its id and its vectors.
    current = {same[_extent(chunk)] for chunk in chunks if _extent(chunk) in same}
    stale = [item.chunk_id for item in active if item.chunk_id not in current]
    written = put_session_chunks(connection, scope, changed, stale, embed)
    return [chunk_id for chunk_id in stale if chunk_id not in set(written)]


def _extent(chunk: ChunkDraft) -> tuple[int, int, int, str]:
    """Return what makes two session chunks the same."""
    return chunk.ordinal, chunk.part, chunk.last_ordinal, chunk.session_text


def refresh_session(connection: Connection, scope: Scope, session_id: str, embed: Embed) -> None:
    """Update a session's links and session chunks after its turns have changed."""
    relink_session(connection, scope, session_id)
    if all(find_session_kinds(connection, scope, [session_id])[session_id]):
        unmark_session(connection, scope, session_id)
        rebuild_session_chunks(connection, scope, session_id, embed)


def relink_session(connection: Connection, scope: Scope, session_id: str) -> None:
    """Update context, next-user text and next-user vectors of a session's turns."""
    key = {**scope.key, "session_id": session_id}
    turns = rows.read_turns(fetch_all(connection, "fetch_turns", key))
    links = link_turns([item.turn for item in turns])
    changed = [
        (item.chunk_id, link, item.turn.language)
        for item, link in zip(turns, links, strict=True)
        if link != item.link
    ]
    rows.relink(connection, scope, changed)
    chunk_ids = [item.chunk_id for item in turns]
    values = {
        **scope.key,
        "chunk_ids": chunk_ids,
        "previous_chunk_ids": [None, *chunk_ids[:-1]] if chunk_ids else [],
    }
    execute(connection, "link_user_embeddings", values)
