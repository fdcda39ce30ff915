"""Types of the views of one user: signatures of the verbs without `user_id`.

DO NOT EDIT: `make generate` writes this file from the verbs that user_view.py has rules for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from psycopg import AsyncConnection, Connection

from memsense.client.transfer import ExportReport, Place
from memsense.client.user_view import OneUser
from memsense.draft.drafting import Annotations
from memsense.draft.ingest_run import IngestReport
from memsense.explain.replay import Comparison, Replay
from memsense.explain.why_not import Verdict
from memsense.graph.reading import Entity
from memsense.graph.resource import EntityView
from memsense.ingest import ReadOptions
from memsense.search.hits import SearchResult
from memsense.search.profiles import Profile
from memsense.search.prompt import Prompt
from memsense.store import traces as recorded
from memsense.store.erasing import Receipt
from memsense.store.life import Life
from memsense.store.projects import Project
from memsense.store.versions import Version
from memsense.types import (
    Added,
    Chunk,
    Event,
    Page,
    PossibleChange,
    ScopeStatistics,
    SessionSummary,
    SupersededFact,
)

class UserProjects(OneUser):
    def list(self) -> Sequence[Project]: ...
    def get(self, name: str) -> Project: ...

class UserTraces(OneUser):
    def replay(
        self,
        trace_id: UUID | str,
        *,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
        as_of_then: bool = False,
    ) -> Replay: ...
    def compare(
        self,
        count: int = 20,
        *,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> Comparison: ...
    def list(
        self,
        *,
        limit: int = 20,
        empty: bool = False,
        slower_than: float | None = None,
        cursor: str | None = None,
    ) -> Page[recorded.TraceSummary]: ...
    def statistics(self) -> recorded.TraceStatistics: ...
    def get(self, trace_id: UUID | str) -> recorded.Trace: ...

class UserEntities(OneUser):
    def list(
        self,
        *,
        kind: Literal[
            "speaker", "self", "name", "title", "identifier", "file", "host", "handle", "tag"
        ]
        | None = None,
        limit: int = 50,
    ) -> list[Entity]: ...
    def get(self, name: str, *, limit: int = 10) -> EntityView: ...

class UserMemory(OneUser):
    @cached_property
    def traces(self) -> UserTraces: ...
    @cached_property
    def entities(self) -> UserEntities: ...
    @cached_property
    def projects(self) -> UserProjects: ...
    def add(
        self,
        messages: str | Mapping[str, object] | Iterable[object],
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        project: str | None = None,
        mode: Literal["turn", "session", "hybrid"] = "turn",
        exchange_gap: timedelta | str | None = None,
        task_tag: str | None = None,
        tags: Sequence[str] = (),
        facets: Mapping[str, str] | None = None,
        memory_kind: Literal["stable", "preference", "episodic", "ephemeral", "rule"] | None = None,
        confidence: float = 1.0,
        metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | str | None = None,
        ttl: timedelta | str | None = None,
        redact: bool | None = None,
        embed: Literal["now", "later", "strict"] | None = None,
        key: str | None = None,
        timeout: float | None = None,
        connection: Connection[Any] | AsyncConnection[Any] | None = None,
    ) -> Added: ...
    def add_many(
        self,
        sessions: Iterable[Mapping[str, object]],
        *,
        redact: bool | None = None,
        embed: Literal["now", "later", "strict"] | None = None,
        key: str | None = None,
        timeout: float | None = None,
        connection: Connection[Any] | AsyncConnection[Any] | None = None,
    ) -> list[Added]: ...
    def ingest(
        self,
        *paths: str | Path,
        mode: Literal["turn", "session", "hybrid"] = "turn",
        map: str | Path | Mapping[str, str | Sequence[str]] | None = None,
        options: ReadOptions | None = None,
        annotations: Annotations | None = None,
        redact: bool | None = None,
        embed: Literal["now", "later", "strict"] | None = None,
        dry_run: bool = False,
        new_session: bool = False,
        on_start: Callable[[int], object] = ...,
        on_bytes: Callable[[int], object] = ...,
        on_session: Callable[[IngestReport], object] = ...,
    ) -> IngestReport: ...
    def search(
        self,
        query: str,
        *,
        top_k: int = 8,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        granularity: Literal["turn", "session"] | None = None,
        min_score: float | None = None,
        exclude: Sequence[int | str] = (),
        exclude_sessions: Sequence[str] = (),
        tags: Sequence[str] | None = None,
        kinds: Sequence[Literal["stable", "preference", "episodic", "ephemeral"]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        asked_at: datetime | str | None = None,
        timezone: str | None = None,
        as_of: datetime | str | None = None,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
        prompt_kind: Literal["question", "request"] | None = None,
        content_budget: int = 5000,
        trace: bool | None = None,
        timeout: float | None = None,
    ) -> SearchResult: ...
    def context(
        self,
        prompt: str,
        *,
        max_tokens: int = 1000,
        project: str | None = None,
        silence: float | None = None,
        rules: bool = True,
        card: bool = True,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        exclude: Sequence[int | str] = (),
        exclude_sessions: Sequence[str] = (),
        tags: Sequence[str] | None = None,
        kinds: Sequence[Literal["stable", "preference", "episodic", "ephemeral"]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        asked_at: datetime | str | None = None,
        timezone: str | None = None,
        as_of: datetime | str | None = None,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
        prompt_kind: Literal["question", "request"] | None = None,
        format: Literal["markdown", "xml"] = "markdown",
        tokenizer: Any | None = None,
        trace: bool | None = None,
        timeout: float | None = None,
    ) -> Prompt: ...
    def search_many(
        self,
        queries: Sequence[str],
        *,
        top_k: int = 8,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        granularity: Literal["turn", "session"] | None = None,
        min_score: float | None = None,
        exclude: Sequence[int | str] = (),
        exclude_sessions: Sequence[str] = (),
        tags: Sequence[str] | None = None,
        kinds: Sequence[Literal["stable", "preference", "episodic", "ephemeral"]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        asked_at: datetime | str | None = None,
        timezone: str | None = None,
        as_of: datetime | str | None = None,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
        prompt_kind: Literal["question", "request"] | None = None,
        content_budget: int = 5000,
        trace: bool | None = None,
        timeout: float | None = None,
    ) -> list[SearchResult]: ...
    def why_not(
        self,
        query: str,
        chunk_id: int,
        *,
        top_k: int = 8,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        granularity: Literal["turn", "session"] | None = None,
        min_score: float | None = None,
        exclude: Sequence[int | str] = (),
        exclude_sessions: Sequence[str] = (),
        tags: Sequence[str] | None = None,
        kinds: Sequence[Literal["stable", "preference", "episodic", "ephemeral"]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        asked_at: datetime | str | None = None,
        timezone: str | None = None,
        as_of: datetime | str | None = None,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
        prompt_kind: Literal["question", "request"] | None = None,
        timeout: float | None = None,
    ) -> Verdict: ...
    def export_to(self, path: Place, *, vectors: bool = False) -> ExportReport: ...
    def recent(
        self,
        *,
        limit: int = 10,
        agent_id: str | None = None,
        session_id: str | None = None,
        granularity: Literal["turn", "session"] = "turn",
        timeout: float | None = None,
    ) -> list[Chunk]: ...
    def sessions(
        self,
        *,
        agent_id: str | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        tags: Sequence[str] | None = None,
        kinds: Sequence[Literal["stable", "preference", "episodic", "ephemeral"]] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        timeout: float | None = None,
    ) -> Page[SessionSummary]: ...
    def left_off(
        self,
        *,
        project: str,
        max_tokens: int = 300,
        exclude_sessions: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Prompt: ...
    def matching_words(self, words: Sequence[str], lexemes: Sequence[str]) -> set[str]: ...
    def get(self, chunk_id: int, *, timeout: float | None = None) -> Chunk: ...
    def get_many(
        self, chunk_ids: Sequence[int], *, timeout: float | None = None
    ) -> dict[int, Chunk]: ...
    def changes(
        self,
        *,
        state: Literal["found", "confirmed", "rejected", "set"] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        timeout: float | None = None,
    ) -> Page[PossibleChange]: ...
    def decide_change(
        self,
        older: int,
        newer: int,
        decision: Literal["confirmed", "rejected", "set"],
        *,
        reason: str | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> None: ...
    def superseded_facts(
        self, chunk_ids: Sequence[int], *, timeout: float | None = None
    ) -> list[SupersededFact]: ...
    def stats(self, *, timeout: float | None = None) -> list[ScopeStatistics]: ...
    def life(self) -> Life: ...
    def forget(
        self,
        chunk_id: int,
        *,
        reason: str | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> list[int]: ...
    def archive(
        self,
        chunk_id: int,
        *,
        reason: str | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> list[int]: ...
    def erase(
        self,
        *,
        session_id: str | None = None,
        message_id: str | None = None,
        by: str | None = None,
        timeout: float | None = None,
        key: str | None = None,
    ) -> Receipt: ...
    def delete(
        self,
        chunk_id: int,
        *,
        by: str | None = None,
        timeout: float | None = None,
        key: str | None = None,
    ) -> Receipt: ...
    def update(
        self,
        chunk_id: int,
        *,
        content: str | Mapping[str, str] | None = None,
        facets: Mapping[str, str] | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        occurred_at: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        ttl: timedelta | str | None = None,
        if_version: str | None = None,
        reason: str | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Chunk: ...
    def versions(self, chunk_id: int, *, timeout: float | None = None) -> list[Version]: ...
    def restore(
        self,
        chunk_id: int,
        *,
        reason: str | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> list[int]: ...
    def promote(
        self, chunk_id: int, *, key: str | None = None, timeout: float | None = None
    ) -> float: ...
    def demote(
        self, chunk_id: int, *, key: str | None = None, timeout: float | None = None
    ) -> float: ...
    def feedback(
        self,
        chunk_id: int,
        *,
        helpful: bool,
        question: str | None = None,
        note: str | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> None: ...
    def history(self, chunk_id: int, *, timeout: float | None = None) -> list[Event]: ...
    def list(
        self,
        *,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        tags: Sequence[str] | None = None,
        kinds: Sequence[Literal["stable", "preference", "episodic", "ephemeral"]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        granularity: Literal["turn", "session"] = "turn",
        statuses: Sequence[Literal["active", "archived", "deleted"]] = ("active",),
        contains: str | None = None,
        order: Literal["newest", "oldest"] = "newest",
        limit: int = 50,
        cursor: str | None = None,
        timeout: float | None = None,
    ) -> Page[Chunk]: ...
