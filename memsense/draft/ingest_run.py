"""Bulk ingestion: logs are read, drafted, embedded and written, a transaction for each session."""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

from pydantic import BeforeValidator

from memsense.draft.alignment import LEAST_TEXT, text_of
from memsense.draft.continuing import Continuation, Log
from memsense.draft.drafting import Drafter, Paired
from memsense.draft.vectors import BatchVectors, list_chunks
from memsense.errors import DataRefusedError, IngestError, InvalidInputError, QuotaExceededError
from memsense.ingest import ReadOptions, ReadReport, Source, Tally, expand_paths, read_source
from memsense.ingest.pairing import place_in_log
from memsense.inputs import Checker, wrong_value
from memsense.text.folders import lies_in
from memsense.text.projects import project_of
from memsense.types import SessionDraft, SessionWrite

BATCH_CHUNKS = 256
"""Chunks embedded together: enough to sort by length, few enough to keep memory small."""

DEFAULT_USER = "default"

FAILURES_SHOWN = 3
"""Examples of each reason why logs could not be read or stored."""

FAILED_LISTED = 100
"""Failures that the report lists one by one, as plain values."""

LONGEST_SHOWN = 60
"""Characters of a session id that an error shows."""


@dataclass(slots=True)
class IngestReport:
    """Report of an ingest run, with counts of exchanges unless noted otherwise.

    Attributes:
        read: Counts of the reader: conversations, messages, skipped records, warnings.
        sources: Logs read.
        sessions: Conversations drafted.
        exchanges: Exchanges drafted; the sum of the next four.
        stored: New exchanges.
        replaced: Exchanges that replaced a stored one whose log was edited.
        repeated: Exchanges that were stored already.
        refused: Exchanges of sessions that could not be stored.
        deferred: Chunks stored without vectors, which a job will make.
        deferred_because: Why they were stored without vectors.
        redacted: Secrets and private passages that were not stored, counted by kind.
        users: Users whose memory was written to.
        continued: Logs that go on in a session that was stored under another name, or repeat it.
        failed: Logs and sessions that could not be read or stored, each with the reason.
        failures: The same by reason: how many, and the first of them.
        is_default_user: Whether the user "default" got logs because nothing named another.
        dry_run: Whether nothing was written.
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
    redacted: Counter[str] = field(default_factory=Counter[str])
    users: set[str] = field(default_factory=set[str])
    continued: list[Continuation] = field(default_factory=list[Continuation])
    failed: list[str] = field(default_factory=list[str])
    failures: dict[str, Tally] = field(default_factory=dict[str, Tally])
    is_default_user: bool = False
    dry_run: bool = False

    @property
    def usable(self) -> bool:
        """True if anything is stored now, by this run or before it."""
        return self.exchanges > self.refused

    def fail(self, place: str, reason: str) -> None:
        """Add a log or a session that can't be read or stored, once."""
        reason = reason.removeprefix(f"{place}: ")
        failure = f"{place}: {reason}"
        if failure not in self.failed:
            self.failed.append(failure)
            self.failures.setdefault(reason, Tally("file")).add(place, None)

    def describe_failures(self) -> str:
        """Return each reason once, with the number of logs and the first three of them."""
        if len(self.failed) <= FAILURES_SHOWN:
            return "; ".join(self.failed)
        reasons: list[str] = []
        for reason, tally in sorted(self.failures.items(), key=lambda item: -item[1].count):
            places = ", ".join(place for place, _ in tally.examples[:FAILURES_SHOWN])
            more = ", ..." if tally.count > FAILURES_SHOWN else ""
            reasons.append(f"{tally.count} of the logs: {reason} ({places}{more})")
        return "; ".join(reasons)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
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
            "redacted": dict(self.redacted),
            "users": sorted(self.users),
            "continued": [asdict(each) for each in self.continued[:FAILED_LISTED]],
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
            "failed": self.failed[:FAILED_LISTED],
            "failures": [
                {
                    "reason": reason,
                    "count": tally.count,
                    "examples": [place for place, _ in tally.examples[:FAILURES_SHOWN]],
                }
                for reason, tally in self.failures.items()
            ],
            "is_default_user": self.is_default_user,
            "first_at": _iso(self.read.earliest),
            "last_at": _iso(self.read.latest),
            "dry_run": self.dry_run,
        }


class NothingIngestedError(IngestError):
    """Nothing of the logs could be read or stored; `report` has what was counted until then."""

    def __init__(self, report: IngestReport) -> None:
        super().__init__(report.describe_failures())
        self.report = report


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestJob:
    """Everything that one ingest run needs besides its sources.

    `user_id` wins over a log's own user. `recognise` returns the parts of a log with only what is
    new, in the sessions that they continue, unless these are named; None recognises nothing.
    `select_missing` returns the part of a draft that is new
    or changed; `write` stores a session in one transaction. `on_bytes` gets the total of bytes
    read, `on_session` the report so far.
    """

    drafter: Drafter
    options: ReadOptions
    user_id: str | None
    recognise: Callable[[Log, Collection[str]], tuple[Sequence[Paired], Continuation | None]] | None
    select_missing: Callable[[SessionDraft], SessionDraft]
    write: Callable[[SessionDraft, BatchVectors], SessionWrite]
    make_vectors: Callable[[], BatchVectors]
    on_bytes: Callable[[int], object] = lambda _: None
    on_session: Callable[[IngestReport], object] = lambda _: None


def read_paths(paths: Iterable[object]) -> list[str]:
    """Return the paths as texts; raises InvalidInputError for a value that is no path."""
    return [_read_path(path) for path in paths]


def _check_path(value: object) -> str:
    if not isinstance(value, str | Path):
        raise wrong_value("must be a text or a Path", value)
    path = str(value)
    if not path.strip() or "\x00" in path:
        raise ValueError(f"{'holds a NUL character' if path.strip() else 'is empty'}")
    return path


_read_path = Checker(Annotated[str, BeforeValidator(_check_path)], "path")


def find_sources(paths: Iterable[str], report: IngestReport, options: ReadOptions) -> list[Source]:
    """Return the logs behind the paths; raises IngestError for a path that does not exist."""
    sources: list[Source] = []
    roots, uploads = options.roots, options.uploads
    for source in expand_paths(paths, report.read, roots=roots, uploads=uploads):
        # A member of an archive is named by the archive's path and its own.
        if source.kind != "stdin" and lies_in(source.path or source.label, options.exclude_folders):
            report.read.skip("log in an excluded folder", source.label, unit="file")
        else:
            sources.append(source)
    return sources


def run_ingest(sources: Sequence[Source], job: IngestJob, report: IngestReport) -> IngestReport:
    """Ingest the sources: while one batch is written, the next one is read and embedded.

    A source that can't be read, or a session that can't be stored, is listed in `report.failed`,
    and the others go on. Raises IngestError if nothing could be stored.
    """
    # A repository may have got another address since this process has last looked.
    project_of.cache_clear()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="memsense-write") as writer:
        pending: Future[None] | None = None
        for batch in _make_batches(_draft_sources(sources, job, report)):
            if not batch:
                # What comes next may repeat what this run has read: all of it must be stored.
                if pending is not None:
                    pending.result()
                continue
            vectors = job.make_vectors()
            # Only exchanges that are new or changed are embedded: reading a log again would
            # otherwise cost as much as the first time.
            missing = [job.select_missing(draft) for draft in batch]
            for draft in missing:
                report.redacted.update(draft.redacted)
            vectors.prepare(list_chunks(missing))
            # One batch at most is under way: a session may go on in the next batch, and its pieces
            # must be written in their order.
            if pending is not None:
                pending.result()
            # In this call's context: the actor of the history, and whether the call is cancelled.
            context = copy_context()
            pending = writer.submit(context.run, _write_batch, batch, vectors, job, report)
        if pending is not None:
            pending.result()
    if report.failed and not report.usable:
        raise NothingIngestedError(report)
    return report


def plan_ingest(sources: Sequence[Source], job: IngestJob, report: IngestReport) -> IngestReport:
    """Count what `run_ingest` would do, without writing; raise IngestError as it does."""
    for draft in _draft_sources(sources, job, report):
        if draft is None:
            continue
        selection = job.select_missing(draft)
        report.redacted.update(selection.redacted)
        missing = len(selection.exchanges)
        report.stored += missing
        report.repeated += len(draft.exchanges) - missing + draft.recognised
        job.on_session(report)
    if report.failed and not report.usable:
        raise NothingIngestedError(report)
    return report


def _draft_sources(
    sources: Sequence[Source], job: IngestJob, report: IngestReport
) -> Iterator[SessionDraft | None]:
    """Yield each conversation's draft; None where all before it is to be stored first."""
    bytes_done = 0
    unstored: set[bytes] = set()
    for source in sources:
        counted = _count_bytes(source, bytes_done, job.on_bytes)
        joined_logs: set[str] = set()
        try:
            for paired in _join_parts(_pair_conversations(counted, job, report)):
                parts: Sequence[Paired] = paired
                if job.recognise is not None:
                    log = Log.of(paired)
                    keys = {
                        text_of(key)
                        for key, size in zip(log.keys, log.sizes, strict=True)
                        if size >= LEAST_TEXT or not log.is_copy
                    }
                    keys |= set(log.keys)
                    if not unstored.isdisjoint(keys):
                        unstored.clear()
                        yield None
                    unstored |= keys
                    parts, continuation = job.recognise(log, joined_logs)
                    joined_logs.add(log.name)
                    if continuation is not None:
                        joined_logs.add(continuation.session_id)
                        report.continued.append(continuation)
                for part in parts:
                    draft = job.drafter.draft_paired(part)
                    report.sessions += 1
                    report.exchanges += len(draft.exchanges) + draft.recognised
                    report.users.add(draft.user_id)
                    yield draft
        except IngestError as error:
            report.fail(source.label, str(error))
        report.sources += 1
        bytes_done += source.size or 0
        # A reader may stop before the end of its file; the progress then jumps there.
        job.on_bytes(bytes_done)


def _pair_conversations(source: Source, job: IngestJob, report: IngestReport) -> Iterator[Paired]:
    for conversation in read_source(source, job.options, report.read):
        log_user = conversation.metadata.get("user_id")
        user_id = job.user_id or (str(log_user) if log_user else DEFAULT_USER)
        report.is_default_user |= job.user_id is None and not log_user
        try:
            yield job.drafter.pair(conversation, user_id)
        except InvalidInputError as error:
            place = _describe_place(conversation.source, conversation.session_id)
            report.fail(place, str(error))


def _join_parts(conversations: Iterable[Paired]) -> Iterator[list[Paired]]:
    """Yield the parts of each log together, those before an error too."""
    parts: list[Paired] = []
    try:
        for paired in conversations:
            if parts and _name_log(paired) != _name_log(parts[0]):
                yield parts
                parts = []
            parts.append(paired)
    except IngestError:
        if parts:
            yield parts
        raise
    if parts:
        yield parts


def _name_log(paired: Paired) -> tuple[str, str]:
    conversation = paired.conversation
    return paired.user_id, place_in_log(conversation.session_id)[0]


def _describe_place(source: str | None, session_id: str) -> str:
    if len(session_id) > LONGEST_SHOWN:
        session_id = f"{session_id[:LONGEST_SHOWN]}…"
    return f"{source or 'a log'}, session {session_id!r}"


def _make_batches(drafts: Iterable[SessionDraft | None]) -> Iterator[list[SessionDraft]]:
    """Yield lists of about BATCH_CHUNKS chunks, long sessions cut; an empty one for None."""
    batch: list[SessionDraft] = []
    size = 0
    for draft in drafts:
        if draft is None:
            if batch:
                yield batch
            yield []
            batch, size = [], 0
            continue
        # A session of session chunks alone is replaced as a whole, so it must not be cut.
        if draft.mode == "session":
            pieces = [draft]
        else:
            # A draft without exchanges is a piece, too: its speakers are stored.
            starts = range(0, max(len(draft.exchanges), 1), BATCH_CHUNKS)
            pieces = [
                replace(
                    draft,
                    exchanges=draft.exchanges[start : start + BATCH_CHUNKS],
                    recognised=0 if start else draft.recognised,
                )
                for start in starts
            ]
        for piece in pieces:
            batch.append(piece)
            size += sum(len(exchange.chunks) for exchange in piece.exchanges)
            if size >= BATCH_CHUNKS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _write_batch(
    batch: Sequence[SessionDraft], vectors: BatchVectors, job: IngestJob, report: IngestReport
) -> None:
    for draft in batch:
        try:
            result = job.write(draft, vectors)
        except (DataRefusedError, InvalidInputError, QuotaExceededError) as error:
            # What PostgreSQL can't keep, or a user may not have more of, is a fault of this session
            # alone, so the others go on.
            chunks = (chunk for exchange in draft.exchanges for chunk in exchange.chunks)
            source = next((chunk.source for chunk in chunks), None)
            report.fail(_describe_place(source, draft.session_id), str(error))
            report.refused += len(draft.exchanges)
            continue
        report.stored += result.added
        report.replaced += result.replaced
        report.repeated += result.repeated + draft.recognised
        if result.deferred:
            report.deferred += result.deferred
            report.deferred_because = vectors.deferred
        job.on_session(report)


def _count_bytes(source: Source, before: int, on_bytes: Callable[[int], object]) -> Source:
    """Return the source with a file that reports the bytes read, `before` included."""
    # A source of several files, such as a Slack export, has no file of its own to count.
    if source.members:
        return source

    @contextmanager
    def open_counted() -> Generator[BinaryIO]:
        with source.opener() as file:
            yield cast("BinaryIO", _CountingFile(file, before, on_bytes))

    return replace(source, opener=open_counted)


class _CountingFile:
    """Binary file that reports the number of bytes that the whole run has read."""

    def __init__(self, file: BinaryIO, before: int, on_bytes: Callable[[int], object]) -> None:
        self._file = file
        self._read = before
        self._on_bytes = on_bytes

    def read(self, size: int = -1) -> bytes:
        """Read from the file, and report the bytes."""
        data = self._file.read(size)
        self._read += len(data)
        self._on_bytes(self._read)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
