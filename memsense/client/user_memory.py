"""Views of one user's memory, from which no id reaches another user's.

DO NOT EDIT: `make generate` writes this file from the verbs and resources; user_view.py has the
checks that it calls.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from memsense.client.user_view import (
    OneUser,
    UserProjectsView,
    UserTracesView,
    UserView,
    find_projects,
    without_others,
)
from memsense.declaration import knows_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime, timedelta
    from pathlib import Path
    from typing import Any, Literal
    from uuid import UUID

    from psycopg import AsyncConnection, Connection

    from memsense.client.transfer import ExportReport, Place
    from memsense.explain.replay import Comparison, Replay
    from memsense.explain.why_not import Verdict
    from memsense.graph.reading import Entity
    from memsense.graph.resource import Entities, EntityView
    from memsense.ingest import ReadOptions
    from memsense.search.hits import SearchResult
    from memsense.search.profiles import Profile
    from memsense.search.prompt import Prompt
    from memsense.store import traces as recorded
    from memsense.store.erasing import Receipt
    from memsense.store.projects import Project
    from memsense.store.versions import Version
    from memsense.types import (
        Added,
        Chunk,
        Event,
        Page,
        ScopeStatistics,
        SessionSummary,
        SupersededFact,
    )
    from memsense.write.drafting import Annotations
    from memsense.write.ingest_run import IngestReport


class UserProjects(UserProjectsView):
    """Projects that hold memories of one user, with those alone."""

    def list(self) -> "Sequence[Project]":
        """Return the projects by name."""
        return find_projects(self._context, self.user_id, None)

    def get(self, name: "str") -> "Project":
        """Return the project of that name.

        Args:
            name: Name of the project.

        Raises:
            NotFoundError: If it holds no memory of the user.
        """
        return find_projects(self._context, self.user_id, name)[0]


class UserTraces(UserTracesView):
    """One user's recorded searches: show and replay."""

    @knows_arguments
    def replay(
        self,
        trace_id: "UUID | str",
        *,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        as_of_then: "bool" = False,
    ) -> "Replay":
        """Run a recorded search again, as it was or with other constants.

            memory.traces.replay(result.trace_id, overrides={"lexical": 1.5}).moves

        Over an unchanged store and with nothing changed, the list is the recorded one exactly.

        Args:
            trace_id: Id of a recorded search, as its result has it.
            profile: A profile or its name to rank by; default: the recorded constants.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            as_of_then: Search memory as it stood when the trace was recorded, where the setting
                `history` has kept that.

        Raises:
            NotFoundError: If the namespace has no such trace.
        """
        return self._traces.replay(
            self._own(trace_id), profile=profile, overrides=overrides, as_of_then=as_of_then
        )

    @knows_arguments
    def compare(
        self,
        count: "int" = 20,
        *,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
    ) -> "Comparison":
        """Run the latest recorded searches again with other constants.

        Args:
            count: Number of recorded searches, the latest first.
            profile: A profile or its name to rank by; default: the recorded constants.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
        """
        return self._traces.compare(
            count, profile=profile, overrides=overrides, user_id=self.user_id
        )

    @knows_arguments
    def list(
        self,
        *,
        limit: "int" = 20,
        empty: "bool" = False,
        slower_than: "float | None" = None,
        cursor: "str | None" = None,
    ) -> "Page[recorded.TraceSummary]":
        """Return a page of the recorded searches, the latest first.

        Args:
            limit: Maximum number of items.
            empty: Only searches without hits.
            slower_than: Only searches that took more milliseconds than this.
            cursor: `next_cursor` of the page before; default: the first page.
        """
        return self._traces.list(
            limit=limit, empty=empty, slower_than=slower_than, cursor=cursor, user_id=self.user_id
        )

    @knows_arguments
    def statistics(self) -> "recorded.TraceStatistics":
        """Return how many searches are recorded, how many found nothing, and their times."""
        return self._traces.statistics(user_id=self.user_id)

    @knows_arguments
    def get(self, trace_id: "UUID | str") -> "recorded.Trace":
        """Return a recorded search with all of its candidates.

        Args:
            trace_id: Id of a recorded search, as its result has it.

        Raises:
            NotFoundError: If the namespace has no such trace.
        """
        return without_others(self._fetch(trace_id))


class UserEntities(OneUser):
    """People, places and things that one user's memory mentions."""

    def __init__(self, entities: "Entities", user_id: str) -> None:
        self._entities = entities
        self.user_id = user_id

    @knows_arguments
    def list(
        self,
        *,
        kind: "Literal['speaker', 'self', 'name', 'title', 'identifier', 'file', 'host', 'handle', 'tag'] | None" = None,
        limit: "int" = 50,
    ) -> "list[Entity]":
        """Return what a user's memory mentions most often; of all users, each one's own.

        Args:
            kind: Only entities of this kind, such as "name".
            limit: Maximum number of items.
        """
        return self._entities.list(kind=kind, limit=limit, user_id=self.user_id)

    @knows_arguments
    def get(self, name: "str", *, limit: "int" = 10) -> "EntityView":
        """Return an entity with its mentions and neighbours.

        With `all_users` it is that of the user who mentions it most.

        Args:
            name: Name of the entity, in any spelling.
            limit: Maximum number of mentions and of neighbours.

        Raises:
            NotFoundError: For an unknown name; lists similar ones.
        """
        return self._entities.get(name, limit=limit, user_id=self.user_id)


class UserMemory(UserView):
    """One user's memory: another user's memories are not there.

        ada = memory.for_user("ada")
        ada.add([{"role": "user", "content": "I moved to Lisbon."}], session_id="monday")
        hits = ada.search("Where do I live?")

    Its methods are those of `MemSense`, without `user_id` and `all_users`. A chunk or a trace of
    another user raises NotFoundError, as if it did not exist. The view is closed with the memory
    that it was made from.
    """

    @cached_property
    def traces(self) -> "UserTraces":
        """The user's recorded searches."""
        return UserTraces(self._memory.traces, self.user_id)

    @cached_property
    def entities(self) -> "UserEntities":
        """People, places and things that the user's memory mentions."""
        return UserEntities(self._memory.entities, self.user_id)

    @cached_property
    def projects(self) -> "UserProjects":
        """The namespace's projects, as far as they hold memories of the user."""
        return UserProjects(self._context, self.user_id)

    @knows_arguments
    def add(
        self,
        messages: "str | Mapping[str, object] | Iterable[object]",
        *,
        session_id: "str | None" = None,
        agent_id: "str | None" = None,
        project: "str | None" = None,
        mode: "Literal['turn', 'session', 'hybrid']" = "turn",
        task_tag: "str | None" = None,
        tags: "Sequence[str]" = (),
        facets: "Mapping[str, str] | None" = None,
        memory_kind: "Literal['stable', 'preference', 'episodic', 'ephemeral'] | None" = None,
        confidence: "float" = 1.0,
        metadata: "Mapping[str, Any] | None" = None,
        expires_at: "datetime | str | None" = None,
        ttl: "timedelta | str | None" = None,
        redact: "bool | None" = None,
        embed: "Literal['now', 'later', 'strict'] | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
        connection: "Connection[Any] | AsyncConnection[Any] | None" = None,
    ) -> "Added":
        """Store what was said: a sentence of the user's, or messages of one session, in order.

            memory.add("I like tea", user_id="ada")
            memory.add([{"role": "user", "content": "I moved to Lisbon."},
                        {"role": "assistant", "content": "How do you like it?"}],
                       user_id="ada", session_id="monday")

        Without a `session_id`, the session is the day on which the first message was said, in UTC,
        such as "2026-05-04"; so name the sessions of conversations that go on past midnight.

        All or nothing: one transaction. The same exchange within ten minutes of event time is
        stored once, and its first chunk is returned, unless that was forgotten. An answer to the
        question with which the call before ended completes that exchange.

        Args:
            messages: A text that the user said, or messages: dicts with `role` and `content`, and
                optionally `id`, `at` (time) and `name`; messages of OpenAI, Anthropic and LangChain
                are accepted too.
            session_id: The conversation that it belongs to: an id of your own; default: the day.
            agent_id: The agent that the conversation was with.
            project: The project that it is about, such as a repository's address or a folder;
                `search` can be limited to it.
            mode: What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for
                both.
            task_tag: Label of the task; it replaces the one that the rules find.
            tags: Labels to store with it; they replace those of the rules.
            facets: Texts of the facets `personal_info`, `preferences` and `events`; they replace
                those that the rules find.
            memory_kind: How lasting it is: "stable", "preference", "episodic" or "ephemeral";
                default: by rules.
            confidence: How certain it is, from 0 to 1.
            metadata: A JSON object of your own, returned with hits and usable as a filter.
            expires_at: When it expires: no search finds it afterwards, and a job deletes it.
            ttl: How long from now until it expires: a timedelta or a text such as "12h" or "30d";
                "never" overrides the namespace's rules.
            redact: Replace secrets, such as keys and passwords, by their kind before anything is
                stored; default: as MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is
                stored); default: the setting MEMSENSE_EMBED.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            connection: A psycopg connection of yours: the write then joins its transaction, in a
                savepoint, and is visible when you commit. `AsyncMemSense` takes an asynchronous one
                too.

        Returns:
            The stored chunks. `notes` say what else there is to know, such as vectors that a job
            will compute later; `deferred` counts those. `redacted` counts by kind what was not
            stored: secrets, and passages in `<private>`.

        Raises:
            InvalidInputError: If a message or an argument can't be used.
            ConflictError: If another write was done under the same `key`.
            EmbeddingError: If `embed` is "strict" and the embedder fails.
            QuotaExceededError: If the user would have more exchanges than the namespace allows.
        """
        return self._memory.add(
            messages,
            session_id=session_id,
            agent_id=agent_id,
            project=project,
            mode=mode,
            task_tag=task_tag,
            tags=tags,
            facets=facets,
            memory_kind=memory_kind,
            confidence=confidence,
            metadata=metadata,
            expires_at=expires_at,
            ttl=ttl,
            redact=redact,
            embed=embed,
            key=key,
            timeout=timeout,
            connection=connection,
            user_id=self.user_id,
        )

    @knows_arguments
    def add_many(
        self,
        sessions: "Iterable[Mapping[str, object]]",
        *,
        redact: "bool | None" = None,
        embed: "Literal['now', 'later', 'strict'] | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
        connection: "Connection[Any] | AsyncConnection[Any] | None" = None,
    ) -> "list[Added]":
        """Store several sessions in one transaction, embedded in one batch.

            memory.add_many([{"session_id": "mon", "messages": [...]},
                             {"session_id": "tue", "messages": [...], "tags": ["work"]}],
                            user_id="ada")

        Args:
            sessions: Dicts with `messages`, and any other argument of `add` that belongs to a
                session, such as `session_id`.
            redact: Replace secrets, such as keys and passwords, by their kind before anything is
                stored; default: as MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is
                stored); default: the setting MEMSENSE_EMBED.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            connection: A psycopg connection of yours, as in `add`.

        Returns:
            The result of each session, in order.

        Raises:
            InvalidInputError: If a session can't be used; names its number. Nothing is stored.
            QuotaExceededError: If a user would have more exchanges than the namespace allows.
                Nothing is stored.
        """
        return self._memory.add_many(
            self._own_sessions(sessions),
            redact=redact,
            embed=embed,
            key=key,
            timeout=timeout,
            connection=connection,
            user_id=self.user_id,
        )

    @knows_arguments
    def ingest(
        self,
        *paths: "str | Path",
        mode: "Literal['turn', 'session', 'hybrid']" = "turn",
        map: "str | Path | Mapping[str, str | Sequence[str]] | None" = None,
        options: "ReadOptions | None" = None,
        annotations: "Annotations | None" = None,
        redact: "bool | None" = None,
        embed: "Literal['now', 'later', 'strict'] | None" = None,
        dry_run: "bool" = False,
        on_start: "Callable[[int], object]" = lambda _: None,
        on_bytes: "Callable[[int], object]" = lambda _: None,
        on_session: "Callable[[IngestReport], object]" = lambda _: None,
    ) -> "IngestReport":
        """Read conversation logs of any known format into memory, each exchange once.

        What was ingested before is left alone, logs that grew are completed, and edited messages
        are replaced. Every session is a transaction, so an interrupted run is resumed by running
        it again. What can't be used, such as a message without an id, is left out and counted.

        Args:
            paths: Files, folders, globs and archives.
            mode: What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for
                both.
            map: Where the files keep what memory needs: columns or JSONPaths by field, or a
                format's file.
            options: How to read: format, time zone, speakers.
            annotations: What to store with everything that is read, such as tags or a ttl.
            redact: Replace secrets, such as keys and passwords, by their kind before anything is
                stored; default: as MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is
                stored); default: the setting MEMSENSE_EMBED.
            dry_run: Read and count, but store nothing.
            on_start: Called once with the number of bytes to read.
            on_bytes: Called with the number of bytes read since the last call.
            on_session: Called after each session with the report so far.

        Returns:
            What was stored, left out and refused, with reasons.

        Raises:
            IngestError: If nothing of the paths can be read.
        """
        return self._memory.ingest(
            *paths,
            mode=mode,
            map=map,
            options=options,
            annotations=annotations,
            redact=redact,
            embed=embed,
            dry_run=dry_run,
            on_start=on_start,
            on_bytes=on_bytes,
            on_session=on_session,
            user_id=self.user_id,
        )

    @knows_arguments
    def search(
        self,
        query: "str",
        *,
        top_k: "int" = 8,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Literal['turn', 'session'] | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        content_budget: "int" = 5000,
        trace: "bool | None" = None,
        timeout: "float | None" = None,
    ) -> "SearchResult":
        """Return the memories that best answer a question, best first.

            result = memory.search("Where does Ada live?", user_id="ada", top_k=4)

        Filters apply inside every route, before ranking: memories that don't pass them take no
        places among the hits.

        Args:
            query: The question in plain words, at most 8,000 characters.
            top_k: Maximum number of hits, up to 1,000.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; the answer may then be empty, and says so.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            content_budget: Maximum characters of a hit's text; longer texts are cut around what the
                question asks for.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            Hits whose scores add up from their explanations, and notes about the answer as a
            whole. Empty if nothing passes the filters and `min_score`.

        Raises:
            InvalidInputError: If an argument is out of range; names the argument.
            NotFoundError: For an unknown profile or project.
            RecallTimeoutError: If the setting `recall_timeout` is exceeded.
        """
        self._check_project(project)
        return without_others(
            self._memory.search(
                query,
                top_k=top_k,
                agent_id=agent_id,
                session_ids=session_ids,
                project=project,
                since=since,
                until=until,
                granularity=granularity,
                min_score=min_score,
                exclude=exclude,
                exclude_sessions=exclude_sessions,
                tags=tags,
                kinds=kinds,
                metadata=metadata,
                asked_at=asked_at,
                as_of=as_of,
                profile=profile,
                overrides=overrides,
                content_budget=content_budget,
                trace=trace,
                timeout=timeout,
                user_id=self.user_id,
            )
        )

    @knows_arguments
    def context(
        self,
        prompt: "str",
        *,
        max_tokens: "int" = 1000,
        project: "str | None" = None,
        silence: "float | None" = None,
        card: "bool" = True,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        format: "Literal['markdown', 'xml']" = "markdown",
        tokenizer: "Any | None" = None,
        trace: "bool | None" = None,
        timeout: "float | None" = None,
    ) -> "Prompt":
        """Return what a model should know of memory for a prompt, as a short text, or nothing.

            context = memory.context("Which walnuts can she eat?", user_id="ada")
            messages.append({"role": "user", "content": context})

        Lasting statements about the user come first, then the passages with the best chance to
        matter, in the order of time: what the user said, and of an answer the stretch that meets
        the prompt. If nothing known concerns the prompt, the text is empty; small talk is not even
        searched for. Readers of logs remove the whole text again.

        Args:
            prompt: The prompt, at most 8,000 characters.
            max_tokens: Maximum length of the text, in tokens.
            project: The project that the prompt belongs to: memories of others come only if the
                prompt surely asks for them, under the project's name.
            silence: Chance, from 0 to 1, that something known concerns the prompt below which
                nothing is returned; 0 returns what fits of any prompt. Default: the setting
                MEMSENSE_SILENCE, which is 0.5.
            card: Begin with who the user is and what they wish, if the budget is of 800 tokens or
                more.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            format: Layout of the text: "markdown" or "xml".
            tokenizer: Counter of tokens: a function of a text, or an object with `encode`; default:
                an estimate of memsense's own.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The text with `chunk_ids`, `lines` (what each quotation is from, and why it is there),
            `omitted` (why the other hits are not), `tokens` and `notes`.

        Raises:
            InvalidInputError: If an argument is out of range; names the argument.
            NotFoundError: For an unknown profile.
            RecallTimeoutError: If the setting `recall_timeout` is exceeded.
        """
        return self._memory.context(
            prompt,
            max_tokens=max_tokens,
            project=project,
            silence=silence,
            card=card,
            agent_id=agent_id,
            session_ids=session_ids,
            since=since,
            until=until,
            exclude=exclude,
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            format=format,
            tokenizer=tokenizer,
            trace=trace,
            timeout=timeout,
            user_id=self.user_id,
        )

    @knows_arguments
    def search_many(
        self,
        queries: "Sequence[str]",
        *,
        top_k: "int" = 8,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Literal['turn', 'session'] | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        content_budget: "int" = 5000,
        trace: "bool | None" = None,
        timeout: "float | None" = None,
    ) -> "list[SearchResult]":
        """Answer several questions about the same memory, with the options of `search`.

        All questions are recalled in one round trip to the server, and all texts are fetched in
        another.

        Args:
            queries: The questions, each as `search` takes it.
            top_k: Maximum number of hits, up to 1,000.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; the answer may then be empty, and says so.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            content_budget: Maximum characters of a hit's text; longer texts are cut around what the
                question asks for.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The result of each question, in order.
        """
        self._check_project(project)
        return [
            without_others(result)
            for result in self._memory.search_many(
                queries,
                top_k=top_k,
                agent_id=agent_id,
                session_ids=session_ids,
                project=project,
                since=since,
                until=until,
                granularity=granularity,
                min_score=min_score,
                exclude=exclude,
                exclude_sessions=exclude_sessions,
                tags=tags,
                kinds=kinds,
                metadata=metadata,
                asked_at=asked_at,
                as_of=as_of,
                profile=profile,
                overrides=overrides,
                content_budget=content_budget,
                trace=trace,
                timeout=timeout,
                user_id=self.user_id,
            )
        ]

    @knows_arguments
    def why_not(
        self,
        query: "str",
        chunk_id: "int",
        *,
        top_k: "int" = 8,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Literal['turn', 'session'] | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        timeout: "float | None" = None,
    ) -> "Verdict":
        """Explain why a search with these options does not return a memory, or as which hit.

        Args:
            query: The question in plain words, at most 8,000 characters.
            chunk_id: The memory's chunk id, as searches and lists show it.
            top_k: Maximum number of hits, up to 1,000.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; the answer may then be empty, and says so.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The first step of the search that lost the memory, in words and numbers.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        self._check_project(project)
        return self._memory.why_not(
            query,
            self._own(chunk_id),
            top_k=top_k,
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            granularity=granularity,
            min_score=min_score,
            exclude=exclude,
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            timeout=timeout,
            user_id=self.user_id,
        )

    @knows_arguments
    def export_to(self, path: "Place", *, vectors: "bool" = False) -> "ExportReport":
        """Write a user's memory, or everybody's, to a file.

        The file holds status, score, history and what logs brought, the namespace's settings and
        its stored profiles; a forgotten memory is in it without texts: docs/guides/export.md.

        Args:
            path: A path or an open file. The format is JSON lines, or Parquet if the name ends in
                .parquet (needs `memsense[parquet]`).
            vectors: Write the vectors too, so that an import need not embed the texts again.
        """
        return self._memory.export_to(path, vectors=vectors, user_id=self.user_id)

    @knows_arguments
    def recent(
        self,
        *,
        limit: "int" = 10,
        agent_id: "str | None" = None,
        session_id: "str | None" = None,
        granularity: "Literal['turn', 'session']" = "turn",
        timeout: "float | None" = None,
    ) -> "list[Chunk]":
        """Return a user's latest memories by event time, newest first.

        Args:
            limit: Maximum number of items.
            agent_id: Only memories of conversations with this agent.
            session_id: Only memories of this session.
            granularity: "turn" for exchanges, "session" for sessions.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._memory.recent(
            limit=limit,
            agent_id=agent_id,
            session_id=session_id,
            granularity=granularity,
            timeout=timeout,
            user_id=self.user_id,
        )

    @knows_arguments
    def sessions(
        self,
        *,
        agent_id: "str | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        limit: "int" = 50,
        cursor: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "Page[SessionSummary]":
        """Return a page of a user's sessions, the one with the latest exchange first.

        A session counts the exchanges that pass the filters, and is listed if there are any.

        Args:
            agent_id: Only memories of conversations with this agent.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        self._check_project(project)
        return self._memory.sessions(
            agent_id=agent_id,
            project=project,
            since=since,
            until=until,
            tags=tags,
            kinds=kinds,
            limit=limit,
            cursor=cursor,
            timeout=timeout,
            user_id=self.user_id,
        )

    @knows_arguments
    def left_off(
        self,
        *,
        project: "str",
        max_tokens: "int" = 300,
        exclude_sessions: "Sequence[str]" = (),
        timeout: "float | None" = None,
    ) -> "Prompt":
        """Return where the last session in a project ended, as a text for a prompt.

        The last exchange with what it left open, decisions, and the files that were named, all by
        rules; each line has its memory's id. Nothing is embedded or searched.

        Args:
            project: The project: a repository's address, a folder, or another name of one.
            max_tokens: Maximum length of the text, in tokens.
            exclude_sessions: Sessions to leave out, for example the one that goes on.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            A text in the tags that readers of logs remove again; empty if the user's memory has
            nothing about the project. It has `chunk_ids` and `tokens`.
        """
        return self._memory.left_off(
            project=project,
            max_tokens=max_tokens,
            exclude_sessions=exclude_sessions,
            timeout=timeout,
            user_id=self.user_id,
        )

    @knows_arguments
    def matching_words(self, words: "Sequence[str]", lexemes: "Sequence[str]") -> "set[str]":
        """Return the words that a text search for the lexemes matches, to highlight them.

        memory.matching_words(hit.content.split(), result.question["lexemes"])

        Args:
            words: Words of a text.
            lexemes: Lexemes, as `result.question["lexemes"]` has them.
        """
        return self._memory.matching_words(words, lexemes)

    @knows_arguments
    def get(self, chunk_id: "int", *, timeout: "float | None" = None) -> "Chunk":
        """Return one memory, whatever its status.

        One that was forgotten or has expired comes without texts, facets and tags.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return self._fetch(chunk_id)

    @knows_arguments
    def get_many(
        self, chunk_ids: "Sequence[int]", *, timeout: "float | None" = None
    ) -> "dict[int, Chunk]":
        """Return memories by id, whatever their status; ids that do not exist are left out.

        One that was forgotten or has expired comes without texts, facets and tags.

        Args:
            chunk_ids: Chunk ids, in any order.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._only_own(self._memory.get_many(chunk_ids, timeout=timeout))

    @knows_arguments
    def superseded_facts(
        self, chunk_ids: "Sequence[int]", *, timeout: "float | None" = None
    ) -> "list[SupersededFact]":
        """Return the changed facts among these memories: the older statement and the newer one.

            for fact in memory.superseded_facts([hit.chunk_id for hit in hits]):
                print(f"{fact.newer_id} replaced {fact.older_id}: {fact.reason}")

        The changes are those that memsense noticed when the newer memory was written; forgetting
        either memory undoes one.

        Args:
            chunk_ids: Chunk ids, in any order.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._memory.superseded_facts(chunk_ids, timeout=timeout, user_id=self.user_id)

    @knows_arguments
    def stats(self, *, timeout: "float | None" = None) -> "list[ScopeStatistics]":
        """Return what each user's memory in this namespace holds.

        Args:
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._memory.stats(timeout=timeout, user_id=self.user_id)

    @knows_arguments
    def forget(
        self,
        chunk_id: "int",
        *,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[int]":
        """Take a memory out of every search and out of its neighbours' context.

        `restore` undoes it. A session takes its exchanges along, a part of an exchange the other
        parts. What is said again later is stored again.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The ids of the chunks that changed.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return self._memory.forget(self._own(chunk_id), reason=reason, key=key, timeout=timeout)

    @knows_arguments
    def archive(
        self,
        chunk_id: "int",
        *,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[int]":
        """Take an outdated memory out of every search; the same as `forget`, with its own status.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The ids of the chunks that changed.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return self._memory.archive(self._own(chunk_id), reason=reason, key=key, timeout=timeout)

    @knows_arguments
    def erase(
        self,
        *,
        session_id: "str | None" = None,
        message_id: "str | None" = None,
        by: "str | None" = None,
        timeout: "float | None" = None,
        key: "str | None" = None,
    ) -> "Receipt":
        """Erase for good: a user's whole memory in this namespace, a session or a message.

            receipt = memory.erase(user_id="ada", by="data protection")

        Everything that holds the text or was made from it goes, recorded searches and history
        included, in one transaction that checks that nothing is left. What is said again later is
        stored again.

        Args:
            session_id: Erase this session only.
            message_id: Erase only the exchange that holds this message.
            by: Who does it, for the receipt or history; default: the operating system's user.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            key: Idempotency key: a call repeated under its key returns the receipt of the first, as
                long as the receipt is stored.

        Returns:
            The receipt, which the namespace keeps.

        Raises:
            NotFoundError: If there is nothing to erase.
            ConflictError: If the key belongs to another erasure.
        """
        return self._memory.erase(
            session_id=session_id,
            message_id=message_id,
            by=by,
            timeout=timeout,
            key=key,
            user_id=self.user_id,
        )

    @knows_arguments
    def delete(
        self,
        chunk_id: "int",
        *,
        by: "str | None" = None,
        timeout: "float | None" = None,
        key: "str | None" = None,
    ) -> "Receipt":
        """Erase one memory for good, as `erase` does.

        A session takes its exchanges along, a part of an exchange the other parts. Forgotten
        copies of them are erased, too.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            by: Who does it, for the receipt or history; default: the operating system's user.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            key: Idempotency key: a call repeated under its key returns the receipt of the first, as
                long as the receipt is stored.

        Returns:
            The receipt, which the namespace keeps.

        Raises:
            NotFoundError: If the namespace has no such chunk.
            ConflictError: If the key belongs to another erasure.
        """
        return self._memory.delete(
            self._own_or_deleted(chunk_id, key), by=by, timeout=timeout, key=key
        )

    @knows_arguments
    def update(
        self,
        chunk_id: "int",
        *,
        content: "str | Mapping[str, str] | None" = None,
        facets: "Mapping[str, str] | None" = None,
        tags: "Sequence[str] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        occurred_at: "datetime | str | None" = None,
        expires_at: "datetime | str | None" = None,
        ttl: "timedelta | str | None" = None,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "Chunk":
        """Change what an exchange says or what is known of it.

            memory.update(42, content={"assistant": "Noted: Porto since May."}, tags=["home"])

        What is passed replaces what was stored; the rest stays. Vectors, words, links and session
        chunks follow. Where the setting `history` is on, `versions` keeps the former text.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            content: New texts by side, {"user": ..., "assistant": ...}; a plain text where the
                exchange has one side only.
            facets: Texts of the facets `personal_info`, `preferences` and `events`; they replace
                those that the rules find.
            tags: Labels that replace the present ones.
            metadata: JSON object that replaces the present one.
            occurred_at: When it was said or happened; ISO 8601 texts are accepted.
            expires_at: When it expires: no search finds it afterwards, and a job deletes it.
            ttl: How long from now until it expires: a timedelta or a text such as "12h" or "30d";
                "never" overrides the namespace's rules.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The changed chunk.

        Raises:
            InvalidInputError: If nothing is to be changed, or a value can't be used.
            NotFoundError: If the namespace has no such chunk.
        """
        return self._memory.update(
            self._own(chunk_id),
            content=content,
            facets=facets,
            tags=tags,
            metadata=metadata,
            occurred_at=occurred_at,
            expires_at=expires_at,
            ttl=ttl,
            reason=reason,
            key=key,
            timeout=timeout,
        )

    @knows_arguments
    def versions(self, chunk_id: "int", *, timeout: "float | None" = None) -> "list[Version]":
        """Return what an exchange said before it was updated, or edited in its log, oldest first.

        Versions are kept while the setting `history` is on; a forgotten memory has none.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return self._memory.versions(self._own(chunk_id), timeout=timeout)

    @knows_arguments
    def restore(
        self,
        chunk_id: "int",
        *,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[int]":
        """Bring a forgotten or archived memory back; a session with the exchanges it took along.

        An exchange that was said again after it was forgotten stays away.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The ids of the chunks that changed.

        Raises:
            NotFoundError: If the namespace has no such chunk.
            QuotaExceededError: If the user would have more exchanges than the namespace allows.
        """
        return self._memory.restore(self._own(chunk_id), reason=reason, key=key, timeout=timeout)

    @knows_arguments
    def promote(
        self, chunk_id: "int", *, key: "str | None" = None, timeout: "float | None" = None
    ) -> "float":
        """Raise a memory's score by 0.15, at most to 1, and return the new score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._memory.promote(self._own(chunk_id), key=key, timeout=timeout)

    @knows_arguments
    def demote(
        self, chunk_id: "int", *, key: "str | None" = None, timeout: "float | None" = None
    ) -> "float":
        """Lower a memory's score by 0.15, at least to 0, and return the new score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._memory.demote(self._own(chunk_id), key=key, timeout=timeout)

    @knows_arguments
    def feedback(
        self,
        chunk_id: "int",
        *,
        helpful: "bool",
        question: "str | None" = None,
        note: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "None":
        """Record whether a hit helped. It goes into the memory's history and changes no score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            helpful: Whether the memory helped to answer.
            question: The question that it was returned for.
            note: What was good or wrong about it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._memory.feedback(
            self._own(chunk_id),
            helpful=helpful,
            question=question,
            note=note,
            key=key,
            timeout=timeout,
        )

    @knows_arguments
    def history(self, chunk_id: "int", *, timeout: "float | None" = None) -> "list[Event]":
        """Return everything that happened to a memory, oldest first.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return self._memory.history(self._own(chunk_id), timeout=timeout)

    @knows_arguments
    def list(
        self,
        *,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        granularity: "Literal['turn', 'session']" = "turn",
        statuses: "Sequence[Literal['active', 'archived', 'deleted']]" = ("active",),
        order: "Literal['newest', 'oldest']" = "newest",
        limit: "int" = 50,
        cursor: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "Page[Chunk]":
        """Return a page of a user's memories by event time.

            page = memory.list(user_id="ada")
            more = memory.list(user_id="ada", cursor=page.next_cursor)  # unless that is None

        What is added meanwhile neither repeats nor hides an item.

        Args:
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            granularity: "turn" for exchanges, "session" for sessions.
            statuses: Which to list: "active", "archived", "deleted" (forgotten, without texts).
            order: "newest" or "oldest" event time first.
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            InvalidInputError: For the cursor of another list or order.
        """
        self._check_project(project)
        return self._memory.list(
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            granularity=granularity,
            statuses=statuses,
            order=order,
            limit=limit,
            cursor=cursor,
            timeout=timeout,
            user_id=self.user_id,
        )
