"""Export and import: a memory as a file of lines, and back."""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import IO, Any, cast

from memsense.actor import user_name
from memsense.client.context import Resource
from memsense.client.parquet import ParquetExport, is_parquet, open_parquet, refuse_parquet
from memsense.db import run_read, run_transaction, transaction
from memsense.db.connection import Connection
from memsense.draft.exported import (
    ExportedChunk,
    ExportedUser,
    Header,
    Line,
    clean_chunk,
    format_line,
    read_lines,
)
from memsense.draft.ingest_run import read_paths
from memsense.draft.vectors import ChunkTexts
from memsense.errors import IngestError, InvalidInputError
from memsense.inputs import shorten
from memsense.search.settings import plan_import
from memsense.store.exporting import describe_export, export_chunks, list_users
from memsense.store.importing import ExportedSession, Imported, holds_memories, import_session
from memsense.store.quotas import keep_quota
from memsense.store.scopes import lock_scope
from memsense.store.settings import lock_settings, write_changes
from memsense.types import ExchangeDraft, SessionDraft

Place = str | Path | IO[Any]
"""A file by its path, or an open one."""


@dataclass(slots=True)
class ExportReport:
    """Counts of what an export holds."""

    users: int = 0
    chunks: int = 0


@dataclass(slots=True)
class ImportReport:
    """Result of an import, counted in exchanges (session chunks, where a session has no others).

    `skipped` counts session chunks of a session that holds something else by now. `settings_taken`
    are the settings and profiles that the namespace got, `settings_left` the file's other ones.
    `redacted` counts secrets by kind, if the setting `redact` is "all".
    """

    users: set[str] = field(default_factory=set[str])
    sessions: int = 0
    stored: int = 0
    repeated: int = 0
    skipped: int = 0
    settings_taken: Sequence[str] = ()
    settings_left: Sequence[str] = ()
    redacted: Counter[str] = field(default_factory=Counter[str])

    def add(self, session: ExportedSession, counts: Imported) -> None:
        """Count a session."""
        self.users.add(session.user_id)
        self.sessions += 1
        self.stored += counts.stored
        self.repeated += counts.repeated
        self.skipped += counts.skipped

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            "users": len(self.users),
            "sessions": self.sessions,
            "stored": self.stored,
            "repeated": self.repeated,
            "skipped": self.skipped,
            "settings_taken": list(self.settings_taken),
            "settings_left": list(self.settings_left),
            "redacted": dict(self.redacted),
        }


class _LinesExport:
    """Writer of an export as JSON lines; `ParquetExport` has the same methods."""

    def __init__(self, file: IO[Any]) -> None:
        self._file = file

    def begin(self, header: Mapping[str, Any]) -> None:
        """Write the header."""
        self._file.write(format_line(header))

    def begin_user(self, user_id: str, speakers: Sequence[str]) -> None:
        """Write the user of the next chunks."""
        self._file.write(format_line({"user": user_id, "speakers": list(speakers)}))

    def add(self, values: Mapping[str, Any]) -> None:
        """Write a chunk."""
        self._file.write(format_line(values))

    def end(self, chunks: int) -> None:
        """Write the number of chunks, by which a reader notices a file that was cut off."""
        self._file.write(format_line({"chunks": chunks}))


class Transfer(Resource):
    """Writer and reader of exports within one context."""

    def export_to(self, place: Place, user_id: str | None, *, vectors: bool) -> ExportReport:
        """Write the memory of one or of all users to a file; raise IngestError if that fails."""
        context, report = self._context, ExportReport()
        # One transaction, so that the file shows the memory at a single moment.
        with _open_export(place) as export, transaction(context.pool) as connection:
            namespace = context.require_namespace(connection)
            export.begin(describe_export(namespace, datetime.now(UTC), vectors=vectors))
            for user in list_users(connection, namespace, user_id):
                report.users += 1
                export.begin_user(user.user_id, user.speakers)
                for values in export_chunks(connection, namespace, user, vectors=vectors):
                    export.add(values)
                    report.chunks += 1
            export.end(report.chunks)
        return report

    def import_from(
        self, place: Place, on_session: Callable[[ImportReport], object], *, settings: bool | None
    ) -> ImportReport:
        """Store what a file holds: first its settings, then each session in its own transaction.

        With `settings` None, the settings are stored only if no user has a memory yet.
        """
        report = ImportReport()
        chosen = self._context.settings
        if isinstance(place, str | Path):
            refuse_parquet(Path(*read_paths([place])))
        with _open(place, "r") as file:
            lines = read_lines(file)
            header = next(lines)
            assert isinstance(header, Header)
            self._import_settings(header, report, settings)
            for session in _sessions(lines):
                # Otherwise an import is the export that it reads, to the byte.
                if "redact" in chosen.model_fields_set and chosen.redact == "all":
                    session = self._clean(session, report)  # noqa: PLW2901 (the same session)
                report.add(session, self._import(session, header))
                on_session(report)
        return report

    def _import_settings(self, header: Header, report: ImportReport, choice: bool | None) -> None:
        context = self._context

        def work(connection: Connection) -> None:
            claimed = context.claim_namespace(connection, language=header.language_of_texts)
            namespace = lock_settings(connection, claimed)
            changes, unchanged = plan_import(namespace, header.settings, header.profiles)
            # A memory in use has settings that someone chose: they are replaced only on request.
            is_import = not holds_memories(connection, namespace) if choice is None else choice
            names = [change.name for change in changes]
            if is_import and changes:
                write_changes(connection, namespace, changes, user_name())
            report.settings_taken = names if is_import else []
            report.settings_left = unchanged if is_import else [*names, *unchanged]

        run_transaction(context.pool, work)
        run_read(context.pool, context.reload_namespace)

    def _clean(self, session: ExportedSession, report: ImportReport) -> ExportedSession:
        """Return the session without secrets, and count them in the report."""
        chunks: list[ExportedChunk] = []
        for chunk in session.chunks:
            changes, counts = clean_chunk(chunk, self._context.tagger)
            history = [
                entry.model_copy(update={"detail": self._context.clean(entry.detail)})
                for entry in chunk.history
            ]
            update: dict[str, Any] = {**changes, "history": history}
            if changes:
                update["vectors"] = {}  # those of the text as it was
            chunks.append(chunk.model_copy(update=update))
            report.redacted.update(counts)
        return replace(session, chunks=chunks)

    def _import(self, session: ExportedSession, header: Header) -> Imported:
        context = self._context
        vectors = context.batch_vectors()
        space = vectors.space()
        if (header.model, header.dimension) == space:
            # The same model made the file's vectors, so nothing is embedded again.
            for chunk in session.chunks:
                texts = chunk.draft(chunk.ordinal).texts()
                stored = chunk.read_vectors(header.dimension or 0)
                vectors.add_vectors(
                    {texts[route]: stored[route] for route in stored if route in texts}
                )
        followers = context.followers(_as_draft(session))

        def work(connection: Connection) -> Imported:
            namespace = context.open_namespace(connection, space)
            scope = lock_scope(connection, namespace, session.user_id, followers=followers)
            imported = import_session(connection, scope, session, vectors)
            if imported.stored:
                user_id, session_id = session.user_id, session.session_id
                place = {"user_id": user_id, "session_id": session_id}
                keep_quota(connection, namespace, scope, [], vectors, **place)
            return imported

        # An exchange that is read for its tokens is read when it turns out to be new.
        if not vectors.has_tokens:
            active = (chunk for chunk in session.chunks if chunk.status == "active")
            vectors.prepare(ChunkTexts.of(chunk.draft(chunk.ordinal)) for chunk in active)
        return context.run_write(work, vectors, users={session.user_id})


def _as_draft(session: ExportedSession) -> SessionDraft:
    """Return the session as a draft, which is what followers of a write take."""
    drafts = [chunk.draft(chunk.ordinal) for chunk in session.chunks]
    return SessionDraft(
        user_id=session.user_id,
        session_id=session.session_id,
        exchanges=[ExchangeDraft(chunks=[draft]) for draft in drafts],
        speakers=session.speakers,
    )


def _sessions(lines: Iterator[Line]) -> Iterator[ExportedSession]:
    """Yield the chunks session by session; the line of a user comes before the user's chunks."""
    user: ExportedUser | None = None
    sessions = groupby(lines, lambda it: it.session_id if isinstance(it, ExportedChunk) else None)
    for session_id, group in sessions:
        if session_id is None:
            for line in group:
                user = line if isinstance(line, ExportedUser) else user
            continue
        if user is None:
            raise IngestError("the export holds a chunk before it says whose it is")
        yield ExportedSession(
            user_id=user.user,
            session_id=session_id,
            speakers=user.speakers,
            chunks=cast("list[ExportedChunk]", list(group)),
        )


@contextmanager
def _open_export(place: Place) -> Generator[_LinesExport | ParquetExport]:
    """Open an export in the format of the file's name: Parquet or JSON lines."""
    if is_parquet(place):
        with open_parquet(Path(*read_paths([place]))) as export:
            yield export
    else:
        with _open(place, "w") as file:
            yield _LinesExport(file)


@contextmanager
def _open(place: Place, mode: str) -> Generator[Any]:
    """Open a path, and close the file at the end; pass an open file through, and leave it open."""
    method = "write" if mode == "w" else "read"
    if not isinstance(place, str | Path):
        if not callable(getattr(place, method, None)):
            raise InvalidInputError(f"path must be a text, a Path or an open file to {method}")
        yield place
        return
    [path] = read_paths([place])
    try:
        file = Path(path).open(mode, encoding="utf-8")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise IngestError(f"{shorten(path)}: {error.strerror or error}") from error
    except ValueError as error:
        raise InvalidInputError(f"path is no valid name of a file: {error}") from error
    with file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise IngestError(f"{path}: no text in UTF-8") from error
