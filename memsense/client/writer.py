"""The part of `MemSense` that stores: calls that hand over messages, and logs that are read."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from memsense import store
from memsense.client.context import Opened
from memsense.db import database_errors, read, transaction
from memsense.db.connection import Connection
from memsense.errors import InvalidInputError
from memsense.types import Chunk, IngestMode, JsonValue, MemoryKind, SessionDraft, SessionWrite
from memsense.write.messages import clean_text, read_messages
from memsense.write.vectors import BatchVectors, texts_of

if TYPE_CHECKING:
    from memsense.ingest import ReadOptions
    from memsense.write.drafting import Annotations
    from memsense.write.ingest_run import IngestReport


class Writer(Opened):
    """Adds to memory."""

    def add(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        user_id: str,
        session_id: str,
        agent_id: str | None = None,
        mode: IngestMode = "hybrid",
        task_tag: str | None = None,
        tags: Sequence[str] = (),
        facets: Mapping[str, str] | None = None,
        memory_kind: MemoryKind | None = None,
        confidence: float = 1.0,
        metadata: Mapping[str, JsonValue] | None = None,
        conn: psycopg.Connection[Any] | None = None,
    ) -> list[Chunk]:
        """Store messages `{"role", "content", "id"?, "at"?, "name"?}` as exchanges, in order.

        All or nothing: one transaction, or a savepoint in the caller's `conn`. The same
        exchange within ten minutes of event time is stored once, and its first chunk returned.
        Facets (`personal_info`, `preferences`, `events`), tags and task_tag win over the rules'.
        """
        from memsense.write.drafting import Annotations, Drafter

        now = datetime.now(UTC)
        conversation = read_messages(messages, session_id=_name(session_id, "session_id"), now=now)
        annotations = Annotations(
            agent_id=agent_id,
            task_tag=task_tag,
            tags=tuple(tags),
            facets=_check_facets(facets or {}),
            memory_kind=memory_kind,
            confidence=_check_share(confidence, "confidence"),
            metadata=dict(metadata or {}),
        )
        drafter = Drafter(
            tagger=self.tagger,
            extractor=self.extractor,
            mode=mode,
            ledger=False,
            annotations=annotations,
        )
        draft = drafter.draft(conversation, _name(user_id, "user_id"))
        vectors = BatchVectors(self.embedder)
        vectors.prepare(texts_of([draft]))
        if conn is not None:
            self._begin(conn)
        with transaction(self._pool, conn) as connection:
            namespace = self._open_namespace(connection)
            write = self._write(connection, namespace, draft, vectors)
            return store.fetch_chunks(connection, namespace, write.chunk_ids)

    def _begin(self, connection: psycopg.Connection[Any]) -> None:
        """Begin the caller's transaction, unless it has begun or the connection is in autocommit.

        Any first statement does; else the savepoint would become a transaction and be committed.
        """
        with database_errors():
            store.find_tenant(connection, self._settings.tenant)

    def ingest(
        self,
        *paths: str | Path,
        user_id: str | None = None,
        mode: IngestMode = "hybrid",
        options: "ReadOptions | None" = None,
        annotations: "Annotations | None" = None,
        dry_run: bool = False,
        on_start: Callable[[int], object] = lambda _: None,
        on_bytes: Callable[[int], object] = lambda _: None,
        on_session: "Callable[[IngestReport], object]" = lambda _: None,
    ) -> "IngestReport":
        """Read logs of any known format (files, folders, globs, archives) into memory, once.

        What was ingested before is left alone, what grew is completed, what was edited is
        replaced; every session is a transaction of its own, so an interrupted run is resumed by
        running it again. `user_id` owns what is read, unless the log names a user of its own;
        without either it is "default". `dry_run` stores nothing. Raises IngestError.
        """
        from memsense.ingest import ReadOptions
        from memsense.write import ingest_run
        from memsense.write.drafting import Annotations, Drafter

        report = ingest_run.IngestReport(dry_run=dry_run)
        sources = ingest_run.find_sources([str(path) for path in paths], report)
        on_start(sum(source.size or 0 for source in sources))
        reading = options or ReadOptions()
        drafter = Drafter(
            tagger=self.tagger,
            extractor=self.extractor,
            mode=mode,
            ledger=True,
            user_speaker=reading.user_speaker,
            annotations=annotations or Annotations(),
        )
        job = ingest_run.IngestJob(
            drafter=drafter,
            options=reading,
            user_id=user_id,
            missing=self._missing,
            write=self._write_draft,
            vectors=lambda: BatchVectors(self.embedder),
            on_bytes=on_bytes,
            on_session=on_session,
        )
        run = ingest_run.plan_ingest if dry_run else ingest_run.run_ingest
        return run(sources, job, report)

    def _missing(self, draft: SessionDraft) -> SessionDraft:
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            return store.select_missing(connection, namespace, draft) if namespace else draft

    def _write_draft(self, draft: SessionDraft, vectors: BatchVectors) -> SessionWrite:
        with transaction(self._pool) as connection:
            return self._write(connection, self._open_namespace(connection), draft, vectors)

    def _write(
        self,
        connection: Connection,
        namespace: store.Namespace,
        draft: SessionDraft,
        vectors: BatchVectors,
    ) -> SessionWrite:
        scope = store.lock_scope(connection, namespace, draft.user_id)
        return store.write_session(connection, scope, draft, vectors)

    def _open_namespace(self, connection: Connection) -> store.Namespace:
        """The namespace for writing, made if new; only reads, which see it committed, keep it."""
        if self._namespace is not None:
            store.check_model(self._namespace, self.embedder.model, self.embedder.dimension)
            return self._namespace
        return store.open_namespace(
            connection,
            tenant=self._settings.tenant,
            name=self._settings.namespace,
            language=self._settings.language,
            model=self.embedder.model,
            dimension=self.embedder.dimension,
        )


def _name(value: str, what: str) -> str:
    if not value.strip():
        raise InvalidInputError(f"{what} is empty")
    return clean_text(value)


def _check_facets(facets: Mapping[str, str]) -> Mapping[str, str]:
    from memsense.write.facets import FACETS

    if unknown := facets.keys() - set(FACETS):
        raise InvalidInputError(f"no facet {', '.join(sorted(unknown))}; there are {FACETS}")
    return facets


def _check_share(value: float, what: str) -> float:
    if not 0 <= value <= 1:
        raise InvalidInputError(f"{what} must be between 0 and 1, not {value}")
    return value
