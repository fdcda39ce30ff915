"""Bulk ingestion: read, draft, embed and write as a pipeline, one transaction per session."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

from pydantic import BeforeValidator

from memsense.errors import DataRefusedError, IngestError, InvalidInputError
from memsense.ingest import ReadOptions, ReadReport, Source, expand_paths, read_source
from memsense.inputs import Gate, refused
from memsense.types import Conversation, SessionDraft, SessionWrite
from memsense.write.drafting import Drafter
from memsense.write.vectors import BatchVectors, TokenText, exchanges_of, texts_of

BATCH_CHUNKS = 256
"""Exchanges embedded together: enough to sort by length, little enough to keep memory small."""

DEFAULT_USER = "default"

LONGEST_SHOWN = 60
"""Characters of a session id in what is told of a failure."""


@dataclass(slots=True)
class IngestReport:
    """What an ingest run did. `read` counts what reading met; the rest counts exchanges.

    `failed` says which logs and sessions could not be read or stored, and why; `refused` are the
    latter's exchanges. `deferred` chunks were stored without their vectors, which a job will make,
    for the reason that `deferred_because` gives.
    """

    read: ReadReport = field(default_factory=ReadReport)
    sources: int = 0
    sessions: int = 0
    exchanges: int = 0
    stored: int = 0
    replaced: int = 0
    repeated: int = 0
    refused: int = 0
    deferred: int = 0
    deferred_because: str | None = None
    users: set[str] = field(default_factory=set[str])
    failed: list[str] = field(default_factory=list[str])
    dry_run: bool = False

    @property
    def usable(self) -> bool:
        """Whether anything was stored, or was there already."""
        return self.exchanges > self.refused

    def fail(self, reason: str) -> None:
        """Note what can't be read or stored, once."""
        if reason not in self.failed:
            self.failed.append(reason)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "sources": self.sources,
            "sessions": self.sessions,
            "exchanges": self.exchanges,
            "stored": self.stored,
            "replaced": self.replaced,
            "repeated": self.repeated,
            "refused": self.refused,
            "deferred": self.deferred,
            "deferred_because": self.deferred_because,
            "users": sorted(self.users),
            "conversations_read": self.read.conversations_read,
            "messages_read": self.read.messages_read,
            "messages_kept": self.read.messages_kept,
            "skipped": dict(self.read.skip_counts),
            "examples": {
                reason: [{"source": source, "line": line} for source, line in tally.examples]
                for reason, tally in self.read.skipped.items()
            },
            "replaced_characters": self.read.replaced_characters,
            "injected_blocks": self.read.injected_blocks,
            "reencoded_lines": self.read.reencoded_lines.count,
            "unusable_times": self.read.unusable_times,
            "detected": {
                label: {"format": name, "because": reason}
                for label, (name, reason) in self.read.detected.items()
            },
            "taken_as_user": dict(self.read.taken_as_user),
            "warnings": list(self.read.warnings),
            "nothing_because": None if self.usable else self.read.explain_nothing(),
            "failed": list(self.failed),
            "first_at": _iso(self.read.earliest),
            "last_at": _iso(self.read.latest),
            "dry_run": self.dry_run,
        }


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestJob:
    """One ingest run: what to read, whose memory it becomes, and what to tell while it runs.

    `missing` says which of a session's exchanges are new or changed, `said_before` what a session
    holds last, `write` stores a session in one transaction. `on_bytes` gets the total bytes read,
    `on_session` the report so far.
    """

    drafter: Drafter
    options: ReadOptions
    user_id: str | None
    missing: Callable[[SessionDraft], SessionDraft]
    said_before: Callable[[SessionDraft], str]
    write: Callable[[SessionDraft, BatchVectors], SessionWrite]
    vectors: Callable[[], BatchVectors]
    on_bytes: Callable[[int], object] = lambda _: None
    on_session: Callable[[IngestReport], object] = lambda _: None


def read_paths(paths: Iterable[object]) -> list[str]:
    """The paths as texts; raises InvalidInputError for what is none."""
    return [_read_path(path) for path in paths]


def _check_path(value: object) -> str:
    if not isinstance(value, str | Path):
        raise refused("must be a text or a Path", value)
    path = str(value)
    if not path.strip() or "\x00" in path:
        raise ValueError(f"{'holds a NUL character' if path.strip() else 'is empty'}")
    return path


_read_path = Gate(Annotated[str, BeforeValidator(_check_path)], "path")


def find_sources(paths: Iterable[str], report: IngestReport, options: ReadOptions) -> list[Source]:
    """The logs behind the paths; raises IngestError for a path that is not there."""
    return expand_paths(paths, report.read, roots=options.roots)


def run_ingest(sources: Sequence[Source], job: IngestJob, report: IngestReport) -> IngestReport:
    """Ingest the sources: while one batch is written, the next one is read and embedded.

    A source that can't be read, or a session that can't be stored, is listed in `report.failed`,
    and the others go on. Raises IngestError where nothing else is left.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="memsense-write") as writer:
        pending: Future[None] | None = None
        for batch in _batches(_drafts(sources, job, report)):
            vectors = job.vectors()
            wanted = [job.missing(draft) for draft in batch]
            is_asked = vectors.gives_tokens and vectors.deferred is None
            exchanges = _exchanges(batch, wanted, job) if is_asked else ()
            vectors.prepare(texts_of(wanted), exchanges)
            if pending is not None:
                pending.result()
            pending = writer.submit(_write_batch, batch, vectors, job, report)
        if pending is not None:
            pending.result()
    if report.failed and not report.usable:
        raise IngestError("; ".join(report.failed))
    return report


def plan_ingest(sources: Sequence[Source], job: IngestJob, report: IngestReport) -> IngestReport:
    """What `run_ingest` would do, without writing: `stored` counts what is new or changed."""
    for draft in _drafts(sources, job, report):
        missing = len(job.missing(draft).exchanges)
        report.stored += missing
        report.repeated += len(draft.exchanges) - missing
        job.on_session(report)
    if report.failed and not report.usable:
        raise IngestError("; ".join(report.failed))
    return report


def _drafts(
    sources: Sequence[Source], job: IngestJob, report: IngestReport
) -> Iterator[SessionDraft]:
    done = 0
    for source in sources:
        counted = _count_bytes(source, done, job.on_bytes)
        try:
            for conversation in read_source(counted, job.options, report.read):
                if draft := _draft(conversation, job, report):
                    yield draft
        except IngestError as error:
            report.fail(str(error))
        report.sources += 1
        done += source.size or 0
        job.on_bytes(done)


def _draft(conversation: Conversation, job: IngestJob, report: IngestReport) -> SessionDraft | None:
    """The conversation's draft; None, noted, if something in it can't be used."""
    own = conversation.metadata.get("user_id")
    user_id = job.user_id or (str(own) if own else DEFAULT_USER)
    try:
        draft = job.drafter.draft(conversation, user_id)
    except InvalidInputError as error:
        report.fail(_name_failure(conversation.source, conversation.session_id, error))
        return None
    report.sessions += 1
    report.exchanges += len(draft.exchanges)
    report.users.add(user_id)
    return draft


def _name_failure(source: str | None, session_id: str, error: Exception) -> str:
    shown = session_id if len(session_id) <= LONGEST_SHOWN else f"{session_id[:LONGEST_SHOWN]}…"
    return f"{source or 'a log'}, session {shown!r}: {error}"


def _batches(drafts: Iterable[SessionDraft]) -> Iterator[list[SessionDraft]]:
    batch: list[SessionDraft] = []
    size = 0
    for draft in drafts:
        for piece in _pieces(draft):
            batch.append(piece)
            size += sum(len(exchange.chunks) for exchange in piece.exchanges)
            if size >= BATCH_CHUNKS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _pieces(draft: SessionDraft) -> Iterator[SessionDraft]:
    """A long session in pieces that follow each other, each a transaction of its own."""
    if draft.mode == "session":
        yield draft  # replacing needs the whole conversation
        return
    for start in range(0, max(len(draft.exchanges), 1), BATCH_CHUNKS):
        yield replace(draft, exchanges=draft.exchanges[start : start + BATCH_CHUNKS])


def _exchanges(
    batch: Sequence[SessionDraft], wanted: Sequence[SessionDraft], job: IngestJob
) -> Iterator[TokenText]:
    """What will need tokens, as far as is known before the batch before this one is written."""
    last: dict[tuple[str, str], str] = {}
    for draft, missing in zip(batch, wanted, strict=True):
        if not missing.exchanges:
            continue
        session = draft.user_id, draft.session_id
        before = last[session] if session in last else job.said_before(draft)
        said = exchanges_of(draft, before)
        last[session] = said[-1].text if said else ""
        texts = set(texts_of([missing]))
        yield from (item for item in said if item.text in texts)


def _write_batch(
    batch: Sequence[SessionDraft], vectors: BatchVectors, job: IngestJob, report: IngestReport
) -> None:
    for draft in batch:
        try:
            done = job.write(draft, vectors)
        except (DataRefusedError, InvalidInputError) as error:
            report.fail(_name_failure(_source_of(draft), draft.session_id, error))
            report.refused += len(draft.exchanges)
            continue
        report.stored += done.added
        report.replaced += done.replaced
        report.repeated += done.repeated
        if done.deferred:
            report.deferred += done.deferred
            report.deferred_because = vectors.deferred
        job.on_session(report)


def _source_of(draft: SessionDraft) -> str | None:
    return next((c.source for exchange in draft.exchanges for c in exchange.chunks), None)


def _count_bytes(source: Source, before: int, on_bytes: Callable[[int], object]) -> Source:
    """The same source, telling how far it has been read."""
    if source.members:
        return source
    return replace(source, opener=lambda: _open_counted(source, before, on_bytes))


@contextmanager
def _open_counted(
    source: Source, before: int, on_bytes: Callable[[int], object]
) -> Generator[BinaryIO]:
    with source.opener() as file:
        yield cast("BinaryIO", _CountingFile(file, before, on_bytes))


class _CountingFile:
    """A binary file that tells how many bytes of the whole run have been read."""

    def __init__(self, file: BinaryIO, before: int, on_bytes: Callable[[int], object]) -> None:
        self._file = file
        self._read = before
        self._on_bytes = on_bytes

    def read(self, size: int = -1) -> bytes:
        """As the file's read, counted."""
        data = self._file.read(size)
        self._read += len(data)
        self._on_bytes(self._read)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
