"""The verbs of a memory: store, search, explain, list, change, erase, export.

A verb's signature and its `Args:` section declare its parameters for every face (Python, asyncio,
one user's view, HTTP, CLI, MCP): see `memsense.declaration`. `make generate` writes the texts of
shared parameters into the docstrings, and the types of the user's view into `user_memory.pyi`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import InstanceOf

from memsense.declaration import Timeout, parameters_of, takes
from memsense.ingest.options import MapInput
from memsense.ingest.pairing import EXCHANGE_GAP
from memsense.inputs import (
    AnyGap,
    AnyTime,
    AnyTokenizer,
    AnyWallTime,
    AsList,
    Checker,
    ChunkId,
    Id,
    Ids,
    Limit,
    Metadata,
    Name,
    Names,
    Note,
    Share,
    Switch,
    about,
    checked_time,
    open_connection,
    read_gap,
    require_user,
)
from memsense.parameters import (
    Actor,
    AgentFilter,
    AgentLabel,
    AllUsers,
    AsOf,
    Cursor,
    EraseKey,
    Exclusions,
    ExpiresAt,
    FacetTexts,
    KindFilter,
    MemoryId,
    MetadataFilter,
    MinScore,
    Mode,
    OnlyUserId,
    OwnerId,
    PageSize,
    ProjectFilter,
    ProjectLabel,
    Reason,
    Redact,
    SessionFilter,
    Since,
    TagFilter,
    TimeToLive,
    Until,
    UserId,
    WhenToEmbed,
    WriteKey,
)
from memsense.search.prompt import TextFormat
from memsense.search.request import (
    CONTEXT_HITS,
    DEFAULT_CONTENT_BUDGET,
    DEFAULT_TOP_K,
    ContentLength,
    Filters,
    HitCount,
    Overrides,
    ProfileChoice,
    PromptText,
    QuestionText,
    SearchRequest,
)
from memsense.timezones import ZoneName
from memsense.types import (
    Added,
    ChangeState,
    ChosenKind,
    Chunk,
    DayCount,
    EmbeddingModel,
    Event,
    Granularity,
    Page,
    PossibleChange,
    PromptKind,
    ScopeStatistics,
    SessionSummary,
    Status,
    SupersededFact,
)

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

    from memsense.client.changes import Changes
    from memsense.client.context import Context
    from memsense.client.erasing import Erasing
    from memsense.client.listing import Listing
    from memsense.client.searches import Searches
    from memsense.client.traces import TracesResource
    from memsense.client.transfer import ExportReport, ImportReport, Place, Transfer
    from memsense.client.updating import Updating
    from memsense.client.writing import Writes
    from memsense.draft.drafting import Annotations
    from memsense.draft.ingest_run import IngestReport
    from memsense.explain.why_not import Verdict
    from memsense.graph.resource import Entities
    from memsense.ingest import ReadOptions
    from memsense.search.hits import SearchResult
    from memsense.search.prompt import Prompt
    from memsense.store.erasing import Receipt
    from memsense.store.life import Life
    from memsense.store.statistics import Statistics
    from memsense.store.versions import Version

Joined = Annotated["Connection[Any] | AsyncConnection[Any]", open_connection]
"""A connection of the caller's, whose transaction a write joins. Only the asynchronous memory takes
an asynchronous one, which it lends to the thread that writes."""


def _blocking(connection: Joined | None) -> "Connection[Any] | None":
    return cast("Connection[Any] | None", connection)  # the check has refused any other


DEFAULT_PAGE = 50
"""Items of a page."""

# Parameters of searches and lists. A filter's name is that of its condition in sql/filters.sql.

Query = Annotated[QuestionText, about("The question in plain words, at most 8,000 characters.")]
TopK = Annotated[HitCount, about("Maximum number of hits, up to 1,000.")]
ExcludedSessions = Annotated[
    Ids, about("Sessions to leave out, for example the one that the prompt belongs to.")
]
KindOfPrompt = Annotated[
    PromptKind,
    about(
        'Kind of the prompt: a "question" that memories answer, or a "request" that they should'
        " shape, such as one for advice or code; default: detected."
    ),
]
HitGranularity = Annotated[
    Granularity,
    about(
        'Kind of hits: "turn" for exchanges, "session" for whole sessions; default: the profile\'s,'
        ' which is "turn" in all shipped profiles but `memsense`.'
    ),
]
AskedAt = Annotated[
    AnyWallTime, about('Moment that "last week" in the question counts from; default: now.')
]
Timezone = Annotated[
    ZoneName,
    about(
        "The asker's IANA time zone, such as Europe/Lisbon, whose days count; default: the setting"
        " `timezone`, else the zone of `asked_at`, else UTC."
    ),
]
ContentBudget = Annotated[
    ContentLength,
    about(
        "Maximum characters of a hit's text; longer texts are cut around what the question asks"
        " for."
    ),
]
Trace = Annotated[
    bool,
    about(
        "Record the search for `traces` and the views; default: a share of searches, by the"
        " setting `trace_sample`."
    ),
]
ListGranularity = Annotated[Granularity, about('"turn" for exchanges, "session" for sessions.')]


class Memory:
    """The memory of one tenant and namespace, with all of its verbs.

    `MemSense` is a memory that you open and close, with resources in addition to the verbs.
    """

    def __init__(self, context: "Context", *, model: EmbeddingModel | None = None) -> None:
        """Take over an open context. With a `model`, searches use its vectors instead of those of
        the namespace's model.
        """
        self._context = context
        self._model = model

    # Resources that a view of one user has too ---------------------------------------------------

    @cached_property
    def traces(self) -> "TracesResource":
        """Recorded searches: show, replay, prune."""
        from memsense.client.traces import TracesResource

        return TracesResource(self._context, self._searches, read_filters)

    @cached_property
    def entities(self) -> "Entities":
        """People, places and things that memories mention."""
        from memsense.graph.resource import Entities

        context = self._context
        return Entities(
            pool=context.pool,
            find_namespace=context.find_namespace,
            require_namespace=context.require_namespace,
            extractor=context.extractor,
        )

    @cached_property
    def _searches(self) -> "Searches":
        from memsense.client.searches import Searches

        return Searches(self._context, lambda: self._writes, model=self._model)

    @cached_property
    def _writes(self) -> "Writes":
        from memsense.client.writing import Writes

        return Writes(self._context)

    @cached_property
    def _changes(self) -> "Changes":
        from memsense.client.changes import Changes

        return Changes(self._context)

    @cached_property
    def _erasing(self) -> "Erasing":
        from memsense.client.erasing import Erasing

        return Erasing(self._context)

    @cached_property
    def _updating(self) -> "Updating":
        from memsense.client.updating import Updating

        return Updating(self._context)

    @cached_property
    def _transfer(self) -> "Transfer":
        from memsense.client.transfer import Transfer

        return Transfer(self._context)

    @cached_property
    def _listing(self) -> "Listing":
        from memsense.client.listing import Listing

        return Listing(self._context)

    # Storing -------------------------------------------------------------------------------------

    @takes
    def add(
        self,
        messages: str | Mapping[str, object] | Iterable[object],
        *,
        user_id: OwnerId,
        session_id: Id | None = None,
        agent_id: AgentLabel | None = None,
        project: ProjectLabel | None = None,
        mode: Mode = "turn",
        exchange_gap: AnyGap | None = None,
        task_tag: Name | None = None,
        tags: Names = (),
        facets: FacetTexts | None = None,
        memory_kind: ChosenKind | None = None,
        confidence: Share = 1.0,
        metadata: Metadata | None = None,
        expires_at: ExpiresAt | None = None,
        ttl: TimeToLive | None = None,
        redact: Redact | None = None,
        embed: WhenToEmbed | None = None,
        key: WriteKey | None = None,
        timeout: Timeout | None = None,
        connection: Joined | None = None,
    ) -> Added:
        """Store what was said: a sentence of the user's, or messages of one session, in order.

            memory.add("I like tea", user_id="ada")
            memory.add([{"role": "user", "content": "I moved to Lisbon."},
                        {"role": "assistant", "content": "How do you like it?"}],
                       user_id="ada", session_id="monday")

        Without a `session_id`, the session is the day of the first message, in UTC, such as
        "2026-05-04".

        One transaction. The same exchange within ten minutes of event time is stored once. An
        answer to the question with which the call before ended completes that exchange.

        Args:
            messages: A text that the user said, or messages: dicts with `role`, `content` and
                optionally `id`, `at` (time) and `name`, or those of OpenAI, Anthropic and
                LangChain.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own; default: the day.
            agent_id: The agent that the conversation was with.
            project: The project that it is about: a repository's address, a folder or another name.
            mode: What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for
                both.
            exchange_gap: Silence between two messages of one side that ends an exchange: a
                timedelta, a text such as "12h", or 0; default: 6h.
            task_tag: Label of the task; it replaces the one that the rules find.
            tags: Labels to store with it; they replace those of the rules.
            facets: Texts of the facets `personal_info`, `preferences` and `events`; they replace
                those that the rules find.
            memory_kind: How lasting it is: "stable", "preference", "episodic", "ephemeral", or
                "rule" for standing rules alone; default: by rules.
            confidence: How certain it is, from 0 to 1.
            metadata: A JSON object of your own, returned with hits and usable as a filter.
            expires_at: When it expires: no search finds it afterwards, and a job deletes it.
            ttl: Time until it expires: a timedelta or a text such as "12h"; "never" overrides the
                namespace's rules.
            redact: Replace secrets by their kind before anything is stored; default: as
                MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError); default:
                MEMSENSE_EMBED.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            connection: A psycopg connection of yours, whose transaction the write joins, in a
                savepoint. `AsyncMemSense` takes an asynchronous one too.

        Returns:
            The stored chunks. `notes` say what else there is to know; `deferred` counts vectors
            that a job will compute. `redacted` counts by kind what was not stored: secrets, and
            passages in `<private>`.

        Raises:
            InvalidInputError: If a message or an argument can't be used.
            ConflictError: If another write was done under the same `key`.
            EmbeddingError: If `embed` is "strict" and the embedder fails.
            QuotaExceededError: If the user would have more exchanges than the namespace allows.
        """
        from memsense.client.writing import read_session
        from memsense.draft.drafting import Annotations

        annotations = Annotations.of(
            agent_id=agent_id, project=project, task_tag=task_tag, tags=tags, facets=facets,
            memory_kind=memory_kind, confidence=confidence, metadata=metadata,
            expires_at=checked_time(expires_at), ttl=ttl,
        )  # fmt: skip
        session = read_session(
            self._context,
            messages,
            user_id=user_id,
            session_id=session_id,
            mode=mode,
            exchange_gap=EXCHANGE_GAP if exchange_gap is None else read_gap(exchange_gap),
            annotations=annotations,
            redact=redact,
        )
        [added] = self._writes.add([session], embed=embed, joined=_blocking(connection), key=key)
        return added

    @takes
    def add_many(
        self,
        sessions: Iterable[Mapping[str, object]],
        *,
        user_id: Id | None = None,
        redact: Redact | None = None,
        embed: WhenToEmbed | None = None,
        key: WriteKey | None = None,
        timeout: Timeout | None = None,
        connection: Joined | None = None,
    ) -> "list[Added]":
        """Store several sessions in one transaction, embedded in one batch.

            memory.add_many([{"session_id": "mon", "messages": [...]},
                             {"session_id": "tue", "messages": [...], "tags": ["work"]}],
                            user_id="ada")

        Args:
            sessions: Dicts with `messages`, and any other argument of `add` that belongs to a
                session, such as `session_id`.
            user_id: Owner of the sessions that name no `user_id` themselves.
            redact: Replace secrets by their kind before anything is stored; default: as
                MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError); default:
                MEMSENSE_EMBED.
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
        from memsense.client.writing import read_sessions

        batch = read_sessions(self._context, sessions, user_id, redact)
        if not batch:
            return []
        return self._writes.add(batch, embed=embed, joined=_blocking(connection), key=key)

    @takes
    def ingest(
        self,
        *paths: str | Path,
        user_id: Id | None = None,
        mode: Mode = "turn",
        map: MapInput | None = None,  # noqa: A002 (the command line's name for it)
        options: "ReadOptions | None" = None,
        annotations: "Annotations | None" = None,
        redact: Redact | None = None,
        embed: WhenToEmbed | None = None,
        dry_run: bool = False,
        new_session: bool = False,
        on_start: Callable[[int], object] = lambda _: None,
        on_bytes: Callable[[int], object] = lambda _: None,
        on_session: "Callable[[IngestReport], object]" = lambda _: None,
    ) -> "IngestReport":
        """Read conversation logs of any known format into memory, each exchange once.

        Logs that grew are completed, and edited messages are replaced. Run an interrupted run again
        to complete it. What can't be used is left out and counted.

        Args:
            paths: Files, folders, globs and archives.
            user_id: Owner of what the logs hold, unless a log names its own; default: "default".
            mode: What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for
                both.
            map: Column or JSONPath of each field, or a format's file.
            options: How to read: format, time zone, speakers.
            annotations: What to store with everything that is read, such as tags or a ttl.
            redact: Replace secrets by their kind before anything is stored; default: as
                MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError); default:
                MEMSENSE_EMBED.
            dry_run: Read and count, but store nothing.
            new_session: Store each log under its own name, even if it continues a stored session.
            on_start: Called once with the number of bytes to read.
            on_bytes: Called with the number of bytes read since the last call.
            on_session: Called after each session with the report so far.

        Returns:
            What was stored, left out and refused, with reasons.

        Raises:
            IngestError: If nothing of the paths can be read.
        """
        from memsense.draft import ingest_run
        from memsense.draft.drafting import Annotations, Drafter
        from memsense.ingest import ReadOptions

        reading = Checker(InstanceOf[ReadOptions] | None, "options")(options) or ReadOptions()
        excluded = (*reading.exclude_folders, *self._context.settings.exclude_folders)
        reading = reading.model_copy(
            update={"exclude_folders": excluded, "map": reading.map if map is None else map}
        )
        notes = Checker(InstanceOf[Annotations] | None, "annotations")(annotations) or Annotations()
        report = ingest_run.IngestReport(dry_run=dry_run)
        sources = ingest_run.find_sources(ingest_run.read_paths(paths), report, reading)
        on_start(sum(source.size or 0 for source in sources))
        drafter = Drafter(
            tagger=self._context.tagger,
            mode=mode,
            ledger=True,
            user_speaker=reading.user_speaker,
            exchange_gap=reading.exchange_gap,
            redacts=self._context.redacts(logs=True, choice=redact),
            annotations=notes,
        )
        job = ingest_run.IngestJob(
            drafter=drafter,
            options=reading,
            user_id=user_id,
            recognise=None if new_session else self._writes.recognise,
            select_missing=self._writes.select_missing,
            write=self._writes.write_draft,
            make_vectors=lambda: self._context.batch_vectors(embed),
            on_bytes=on_bytes,
            on_session=on_session,
        )
        if dry_run:
            return ingest_run.plan_ingest(sources, job, report)
        ingest_run.run_ingest(sources, job, report)
        self._context.analyse_new_tables()
        return report

    # Searching -----------------------------------------------------------------------------------

    @takes
    def search(
        self,
        query: Query,
        *,
        top_k: TopK = DEFAULT_TOP_K,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        agent_id: AgentFilter | None = None,
        session_ids: SessionFilter | None = None,
        project: ProjectFilter | None = None,
        since: Since | None = None,
        until: Until | None = None,
        granularity: HitGranularity | None = None,
        min_score: MinScore | None = None,
        exclude: Exclusions = (),
        exclude_sessions: ExcludedSessions = (),
        tags: TagFilter | None = None,
        kinds: KindFilter | None = None,
        metadata: MetadataFilter | None = None,
        asked_at: AskedAt | None = None,
        timezone: Timezone | None = None,
        as_of: AsOf | None = None,
        profile: ProfileChoice | None = None,
        overrides: Overrides | None = None,
        prompt_kind: KindOfPrompt | None = None,
        content_budget: ContentBudget = DEFAULT_CONTENT_BUDGET,
        trace: Trace | None = None,
        timeout: Timeout | None = None,
    ) -> "SearchResult":
        """Return the memories that best answer a question, best first.

            result = memory.search("Where does Ada live?", user_id="ada", top_k=4)

        Filters apply inside every route, before ranking: memories that don't pass them take no
        places among the hits.

        Args:
            query: The question in plain words, at most 8,000 characters.
            top_k: Maximum number of hits, up to 1,000.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; an empty answer has a note with the best score.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object, or satisfies its
                conditions, such as {"priority": {"gte": 3}}.
            asked_at: Moment that "last week" in the question counts from; default: now.
            timezone: The asker's IANA time zone, such as Europe/Lisbon, whose days count; default:
                the setting `timezone`, else the zone of `asked_at`, else UTC.
            as_of: Search memory as it stood at this moment, without what was erased or has expired
                since; needs the setting `history` to have been on.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            prompt_kind: Kind of the prompt: a "question" that memories answer, or a "request" that
                they should shape, such as one for advice or code; default: detected.
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
        require_user(user_id, all_users)
        request = SearchRequest(
            query=query, user_id=user_id, top_k=top_k, granularity=granularity, min_score=min_score,
            filters=Filters(
                agent_id=agent_id, session_ids=session_ids, project=project,
                since=checked_time(since), until=checked_time(until), tags=tags, kinds=kinds,
                metadata=metadata, exclude=exclude, exclude_sessions=exclude_sessions,
            ),
            asked_at=checked_time(asked_at), timezone=timezone, as_of=checked_time(as_of),
            profile=profile, overrides=overrides or {}, content_budget=content_budget,
            prompt_kind=prompt_kind,
        )  # fmt: skip
        [result] = self._searches.answer([request], trace=trace)
        return result

    @takes
    def context(
        self,
        prompt: PromptText,
        *,
        max_tokens: Limit = 1_000,
        top_k: TopK = CONTEXT_HITS,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        project: Name | None = None,
        silence: Share | None = None,
        on_purpose: Switch = False,
        rules: Switch = True,
        card: Switch = True,
        agent_id: AgentFilter | None = None,
        session_ids: SessionFilter | None = None,
        since: Since | None = None,
        until: Until | None = None,
        exclude: Exclusions = (),
        exclude_sessions: ExcludedSessions = (),
        tags: TagFilter | None = None,
        kinds: KindFilter | None = None,
        metadata: MetadataFilter | None = None,
        asked_at: AskedAt | None = None,
        timezone: Timezone | None = None,
        as_of: AsOf | None = None,
        profile: ProfileChoice | None = None,
        overrides: Overrides | None = None,
        prompt_kind: KindOfPrompt | None = None,
        format: TextFormat = "markdown",  # noqa: A002 (the word that one would guess)
        tokenizer: AnyTokenizer | None = None,
        trace: Trace | None = None,
        timeout: Timeout | None = None,
    ) -> "Prompt":
        """Return what a model should know of memory for a prompt, as a short text, or nothing.

            context = memory.context("Which walnuts can she eat?", user_id="ada")
            messages.append({"role": "user", "content": context})

        Standing rules and the user's name, health and diet come first, then the passages with the
        best chance to matter, in the order of time. If nothing known concerns the prompt, the text
        is empty.

        Args:
            prompt: The prompt, at most 4,000,000 characters. Of a long one only the sentences that
                ask are searched for.
            max_tokens: Maximum length of the text, in tokens.
            top_k: Maximum number of hits, up to 1,000.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            project: The project that the prompt belongs to: memories of others come only if the
                prompt surely asks for them.
            silence: Chance, from 0 to 1, that something known concerns the prompt below which
                nothing is returned; default: MEMSENSE_SILENCE, which is 0.5.
            on_purpose: Memory is asked on purpose, as by a model's tool: small talk is searched
                for.
            rules: Begin with the user's standing rules, also if nothing known concerns the prompt.
            card: Begin with the user's name, health and diet, if the budget is of 800 tokens or
                more.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object, or satisfies its
                conditions, such as {"priority": {"gte": 3}}.
            asked_at: Moment that "last week" in the question counts from; default: now.
            timezone: The asker's IANA time zone, such as Europe/Lisbon, whose days count; default:
                the setting `timezone`, else the zone of `asked_at`, else UTC.
            as_of: Search memory as it stood at this moment, without what was erased or has expired
                since; needs the setting `history` to have been on.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            prompt_kind: Kind of the prompt: a "question" that memories answer, or a "request" that
                they should shape, such as one for advice or code; default: detected.
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
        from memsense.client.assembly import assemble

        require_user(user_id, all_users)
        # The project is no filter here: memories of others come too, if the prompt asks for them.
        request = SearchRequest(
            # Cleaned before it is cut, which could leave half a key.
            query=self._context.clean(prompt) or "[private]",
            user_id=user_id,
            top_k=top_k,
            filters=Filters(
                agent_id=agent_id, session_ids=session_ids, since=checked_time(since),
                until=checked_time(until), tags=tags, kinds=kinds,
                metadata=metadata, exclude=exclude, exclude_sessions=exclude_sessions,
            ),
            asked_at=checked_time(asked_at), timezone=timezone, as_of=checked_time(as_of),
            profile=profile, overrides=overrides or {}, prompt_kind=prompt_kind,
        )  # fmt: skip
        return assemble(
            self._searches,
            self._listing,
            request,
            project=project,
            max_tokens=max_tokens,
            silence=self._context.settings.silence if silence is None else silence,
            on_purpose=on_purpose,
            rules=rules,
            card=card,
            format=format,
            tokenizer=tokenizer,
            trace=trace,
        )

    @takes
    def search_many(
        self,
        queries: Annotated[Sequence[QuestionText], AsList],
        *,
        top_k: TopK = DEFAULT_TOP_K,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        agent_id: AgentFilter | None = None,
        session_ids: SessionFilter | None = None,
        project: ProjectFilter | None = None,
        since: Since | None = None,
        until: Until | None = None,
        granularity: HitGranularity | None = None,
        min_score: MinScore | None = None,
        exclude: Exclusions = (),
        exclude_sessions: ExcludedSessions = (),
        tags: TagFilter | None = None,
        kinds: KindFilter | None = None,
        metadata: MetadataFilter | None = None,
        asked_at: AskedAt | None = None,
        timezone: Timezone | None = None,
        as_of: AsOf | None = None,
        profile: ProfileChoice | None = None,
        overrides: Overrides | None = None,
        prompt_kind: KindOfPrompt | None = None,
        content_budget: ContentBudget = DEFAULT_CONTENT_BUDGET,
        trace: Trace | None = None,
        timeout: Timeout | None = None,
    ) -> "list[SearchResult]":
        """Answer several questions about the same memory, with the options of `search`.

        All questions take two round trips to the server.

        Args:
            queries: The questions, each as `search` takes it.
            top_k: Maximum number of hits, up to 1,000.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; an empty answer has a note with the best score.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object, or satisfies its
                conditions, such as {"priority": {"gte": 3}}.
            asked_at: Moment that "last week" in the question counts from; default: now.
            timezone: The asker's IANA time zone, such as Europe/Lisbon, whose days count; default:
                the setting `timezone`, else the zone of `asked_at`, else UTC.
            as_of: Search memory as it stood at this moment, without what was erased or has expired
                since; needs the setting `history` to have been on.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            prompt_kind: Kind of the prompt: a "question" that memories answer, or a "request" that
                they should shape, such as one for advice or code; default: detected.
            content_budget: Maximum characters of a hit's text; longer texts are cut around what the
                question asks for.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The result of each question, in order.
        """
        require_user(user_id, all_users)
        request = SearchRequest(
            query="", user_id=user_id, top_k=top_k, granularity=granularity, min_score=min_score,
            filters=Filters(
                agent_id=agent_id, session_ids=session_ids, project=project,
                since=checked_time(since), until=checked_time(until), tags=tags, kinds=kinds,
                metadata=metadata, exclude=exclude, exclude_sessions=exclude_sessions,
            ),
            asked_at=checked_time(asked_at), timezone=timezone, as_of=checked_time(as_of),
            profile=profile, overrides=overrides or {}, content_budget=content_budget,
            prompt_kind=prompt_kind,
        )  # fmt: skip
        requests = [replace(request, query=query) for query in queries]
        return self._searches.answer(requests, trace=trace) if requests else []

    @takes
    def why_not(
        self,
        query: Query,
        chunk_id: MemoryId,
        *,
        top_k: TopK = DEFAULT_TOP_K,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        agent_id: AgentFilter | None = None,
        session_ids: SessionFilter | None = None,
        project: ProjectFilter | None = None,
        since: Since | None = None,
        until: Until | None = None,
        granularity: HitGranularity | None = None,
        min_score: MinScore | None = None,
        exclude: Exclusions = (),
        exclude_sessions: ExcludedSessions = (),
        tags: TagFilter | None = None,
        kinds: KindFilter | None = None,
        metadata: MetadataFilter | None = None,
        asked_at: AskedAt | None = None,
        timezone: Timezone | None = None,
        as_of: AsOf | None = None,
        profile: ProfileChoice | None = None,
        overrides: Overrides | None = None,
        prompt_kind: KindOfPrompt | None = None,
        timeout: Timeout | None = None,
    ) -> "Verdict":
        """Explain why a search with these options does not return a memory, or as which hit.

        Args:
            query: The question in plain words, at most 8,000 characters.
            chunk_id: The memory's chunk id, as searches and lists show it.
            top_k: Maximum number of hits, up to 1,000.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; an empty answer has a note with the best score.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object, or satisfies its
                conditions, such as {"priority": {"gte": 3}}.
            asked_at: Moment that "last week" in the question counts from; default: now.
            timezone: The asker's IANA time zone, such as Europe/Lisbon, whose days count; default:
                the setting `timezone`, else the zone of `asked_at`, else UTC.
            as_of: Search memory as it stood at this moment, without what was erased or has expired
                since; needs the setting `history` to have been on.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            prompt_kind: Kind of the prompt: a "question" that memories answer, or a "request" that
                they should shape, such as one for advice or code; default: detected.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The first step of the search that lost the memory, in words and numbers.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        require_user(user_id, all_users)
        request = SearchRequest(
            query=query, user_id=user_id, top_k=top_k, granularity=granularity, min_score=min_score,
            filters=Filters(
                agent_id=agent_id, session_ids=session_ids, project=project,
                since=checked_time(since), until=checked_time(until), tags=tags, kinds=kinds,
                metadata=metadata, exclude=exclude, exclude_sessions=exclude_sessions,
            ),
            asked_at=checked_time(asked_at), timezone=timezone, as_of=checked_time(as_of),
            profile=profile, overrides=overrides or {}, prompt_kind=prompt_kind,
        )  # fmt: skip
        return self._searches.explain_absence(request, chunk_id)

    # Exporting and importing ---------------------------------------------------------------------

    @takes
    def export_to(
        self,
        path: "Place",
        *,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        vectors: bool = False,
    ) -> "ExportReport":
        """Write a user's memory, or everybody's, to a file.

        The page 'The export format' says what it holds; a forgotten memory has no texts.

        Args:
            path: A path or an open file. The format is JSON lines, or Parquet if the name ends in
                .parquet (needs `memsense[parquet]`).
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            vectors: Write the vectors too, so that an import need not embed the texts again.
        """
        owner = require_user(user_id, all_users)
        return self._transfer.export_to(path, owner, vectors=vectors)

    @takes
    def import_from(
        self,
        path: "Place",
        *,
        settings: bool | None = None,
        on_session: "Callable[[ImportReport], object]" = lambda _: None,
    ) -> "ImportReport":
        """Store what `export_to` has written, here or elsewhere; a second run changes nothing.

        Run an interrupted import again to complete it. What was forgotten here is left alone.

        Args:
            path: A path or an open file.
            settings: Whether to take over the file's settings and profiles that are not set here;
                default: only while the namespace holds no memory.
            on_session: Called after each session with the report so far.

        Raises:
            IngestError: If the file can't be read.
            ConfigurationError: If the file has settings that this version doesn't know.
            QuotaExceededError: If a user would have more exchanges than the namespace allows; the
                sessions before stay.
        """
        report = self._transfer.import_from(path, on_session, settings=settings)
        self._context.analyse_new_tables()
        return report

    # Listing -------------------------------------------------------------------------------------

    @takes
    def recent(
        self,
        *,
        limit: PageSize = 10,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        agent_id: AgentFilter | None = None,
        session_id: Id | None = None,
        granularity: ListGranularity = "turn",
        timeout: Timeout | None = None,
    ) -> list[Chunk]:
        """Return a user's latest memories by event time, newest first.

        Args:
            limit: Maximum number of items.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_id: Only memories of this session.
            granularity: "turn" for exchanges, "session" for sessions.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        sessions = None if session_id is None else [session_id]
        return self._listing.chunks(
            require_user(user_id, all_users),
            Filters(agent_id=agent_id, session_ids=sessions),
            granularity=granularity,
            statuses=["active"],
            order="newest",
            limit=limit,
            cursor=None,
        )

    @takes
    def sessions(
        self,
        *,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        agent_id: AgentFilter | None = None,
        project: ProjectFilter | None = None,
        since: Since | None = None,
        until: Until | None = None,
        tags: TagFilter | None = None,
        kinds: KindFilter | None = None,
        limit: PageSize = DEFAULT_PAGE,
        cursor: Cursor | None = None,
        timeout: Timeout | None = None,
    ) -> Page[SessionSummary]:
        """Return a page of a user's sessions, the one with the latest exchange first.

        A session counts the exchanges that pass the filters, and is listed if there are any.

        Args:
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
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
        owner = require_user(user_id, all_users)
        filters = Filters(
            agent_id=agent_id, project=project, since=checked_time(since),
            until=checked_time(until), tags=tags, kinds=kinds,
        )  # fmt: skip
        return self._listing.sessions(owner, filters, limit=limit, cursor=cursor)

    @takes
    def left_off(
        self,
        *,
        user_id: Id,
        project: Name,
        max_tokens: Limit = 300,
        exclude_sessions: Ids = (),
        timeout: Timeout | None = None,
    ) -> "Prompt":
        """Return where the last session in a project ended, as a text for a prompt.

        The last exchange with what it left open, decisions, and the files that were named, by
        rules; each line has its memory's id.

        Args:
            user_id: Whose memory to read: an id of your own.
            project: The project: a repository's address, a folder, or another name of one.
            max_tokens: Maximum length of the text, in tokens.
            exclude_sessions: Sessions to leave out, for example the one that goes on.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The text with `chunk_ids` and `tokens`; empty if memory has nothing about the project.
        """
        from memsense.client.left_off import read_left_off

        return read_left_off(
            self._listing,
            user_id,
            project,
            max_tokens=max_tokens,
            exclude_sessions=exclude_sessions,
        )

    @takes
    def users(
        self, *, limit: PageSize = DEFAULT_PAGE, cursor: Cursor | None = None
    ) -> Page[ScopeStatistics]:
        """Return a page of the namespace's users by id, with what each memory holds.

        Args:
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
        """
        return self._listing.users(limit=limit, cursor=cursor)

    @takes
    def life(self, *, user_id: Id) -> "Life":
        """Return a user's sessions by week, and the facts of theirs that have changed.

        Args:
            user_id: The user.
        """
        return self._listing.life(user_id)

    @takes
    def growth(self, *, days: Limit = 30) -> "Sequence[DayCount]":
        """Return how many exchanges were stored on each day, the latest first.

        Days are those of UTC; forgotten and archived exchanges don't count.

        Args:
            days: How many days to look back.
        """
        return self._listing.growth(days)

    @takes
    def statistics(
        self,
        *,
        since: AnyTime | None = None,
        until: AnyTime | None = None,
        step: Limit | None = None,
    ) -> "Statistics":
        """Return how many searches there were, how long they took, and the slowest.

        They are those of the whole tenant, whether recorded or not, without texts and users. Other
        processes write theirs every ten seconds.

        Args:
            since: Start, ISO 8601; default: a day before the end.
            until: End, ISO 8601; default: now.
            step: Minutes of a period; default: a sixtieth of the time.

        Raises:
            InvalidInputError: If `since` is not before `until`, or there are over 2,000 periods.
        """
        return self._listing.searches(checked_time(since), checked_time(until), step)

    @takes
    def matching_words(self, words: Names, lexemes: Names) -> set[str]:
        """Return the words that a text search for the lexemes matches, to highlight them.

        memory.matching_words(hit.content.split(), result.question["lexemes"])

        Args:
            words: Words of a text.
            lexemes: Lexemes, as `result.question["lexemes"]` has them.
        """
        return self._listing.matching_words(words, lexemes)

    @takes
    def get(self, chunk_id: MemoryId, *, timeout: Timeout | None = None) -> Chunk:
        """Return one memory. Its status may be any.

        One that was forgotten or has expired comes without texts, facets and tags.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return self._listing.chunk(chunk_id)

    @takes
    def get_many(
        self, chunk_ids: Annotated[Sequence[ChunkId], AsList], *, timeout: Timeout | None = None
    ) -> dict[int, Chunk]:
        """Return memories by id, of any status; ids that do not exist are left out.

        One that was forgotten or has expired comes without texts, facets and tags.

        Args:
            chunk_ids: Chunk ids, in any order.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._listing.chunks_by_id(chunk_ids)

    @takes
    def superseded_facts(
        self,
        chunk_ids: Annotated[Sequence[ChunkId], AsList],
        *,
        user_id: OnlyUserId | None = None,
        timeout: Timeout | None = None,
    ) -> list[SupersededFact]:
        """Return the changed facts among these memories: the older statement and the newer one.

            for fact in memory.superseded_facts([hit.chunk_id for hit in hits]):
                print(f"{fact.newer_id} replaced {fact.older_id}: {fact.reason}")

        They were confirmed or named with `decide_change`; pairs that memsense only found are in
        `changes`.

        Args:
            chunk_ids: Chunk ids, in any order.
            user_id: Only this user's; default: all users'.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._listing.superseded_facts(chunk_ids, user_id)

    @takes
    def changes(
        self,
        *,
        user_id: OnlyUserId | None = None,
        state: ChangeState | None = None,
        limit: PageSize = DEFAULT_PAGE,
        cursor: Cursor | None = None,
        timeout: Timeout | None = None,
    ) -> Page[PossibleChange]:
        """Return a page of pairs of memories that may tell a fact and its change.

            for change in memory.changes(user_id="ada", state="found"):
                print(f"{change.older_text} -> {change.newer_text}")

        `decide_change` confirms or rejects a pair that memsense found.

        Args:
            user_id: Only this user's; default: all users'.
            state: Only pairs of this state: "found", "confirmed", "rejected" or "set".
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._listing.changes(user_id, state, limit=limit, cursor=cursor)

    @takes
    def decide_change(
        self,
        older: ChunkId,
        newer: ChunkId,
        decision: Literal["confirmed", "rejected", "set"],
        *,
        reason: Reason | None = None,
        key: WriteKey | None = None,
        timeout: Timeout | None = None,
    ) -> None:
        """Decide whether a newer memory replaces what an older one says.

            memory.decide_change(42, 57, "rejected", reason="it is the other API")

        No later run changes it. A rejected pair is never lifted or marked again; a confirmed one
        always is.

        Args:
            older: Chunk id of the older memory.
            newer: Chunk id of the newer memory, of the same user.
            decision: "confirmed" if the newer one replaces the older one, "rejected" if not, or
                "set" for a pair that memsense did not find.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If one of them is unknown, or they are not of one user.
        """
        self._changes.decide(older, newer, decision, reason, key)

    @takes
    def stats(
        self, *, user_id: OnlyUserId | None = None, timeout: Timeout | None = None
    ) -> list[ScopeStatistics]:
        """Return what each user's memory in this namespace holds.

        Args:
            user_id: Only this user's; default: all users'.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._listing.statistics(user_id)

    # Changing ------------------------------------------------------------------------------------

    @takes
    def forget(
        self,
        chunk_id: MemoryId,
        *,
        reason: Reason | None = None,
        key: WriteKey | None = None,
        timeout: Timeout | None = None,
    ) -> list[int]:
        """Take a memory out of every search and out of its neighbours' context.

        `restore` undoes it. A session takes its exchanges along, a part of an exchange the other
        parts. A text that is added again later is stored again.

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
        return self._changes.retire(chunk_id, "deleted", reason, key)

    @takes
    def archive(
        self,
        chunk_id: MemoryId,
        *,
        reason: Reason | None = None,
        key: WriteKey | None = None,
        timeout: Timeout | None = None,
    ) -> list[int]:
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
        return self._changes.retire(chunk_id, "archived", reason, key)

    @takes
    def erase(
        self,
        *,
        user_id: Id | None = None,
        session_id: Id | None = None,
        message_id: Id | None = None,
        by: Actor | None = None,
        timeout: Timeout | None = None,
        key: EraseKey | None = None,
    ) -> "Receipt":
        """Erase for good: a user's whole memory in this namespace, a session or a message.

            receipt = memory.erase(user_id="ada", by="data protection")

        Everything that holds the text or was made from it goes, recorded searches and history
        included, in one transaction that checks that nothing is left.

        Args:
            user_id: Whose memory; needed unless only one user has that session or message.
            session_id: Erase this session only.
            message_id: Erase only the exchange that holds this message.
            by: Who does it, for the receipt or history; default: the operating system's user.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            key: Idempotency key: a repeated call returns the stored receipt of the first.

        Returns:
            The receipt, which the namespace keeps.

        Raises:
            NotFoundError: If there is nothing to erase.
            ConflictError: If the key belongs to another erasure.
        """
        return self._erasing.erase(user_id, session_id, message_id, by, key)

    @takes
    def delete(
        self,
        chunk_id: MemoryId,
        *,
        by: Actor | None = None,
        timeout: Timeout | None = None,
        if_version: Name | None = None,
        key: EraseKey | None = None,
    ) -> "Receipt":
        """Erase one memory for good, as `erase` does.

        A session takes its exchanges along, a part of an exchange the other parts. Forgotten
        copies of them are erased, too.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            by: Who does it, for the receipt or history; default: the operating system's user.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            if_version: Only if the memory still has this `version`, which a read returned.
            key: Idempotency key: a repeated call returns the stored receipt of the first.

        Returns:
            The receipt, which the namespace keeps.

        Raises:
            NotFoundError: If the namespace has no such chunk.
            ConflictError: If the key belongs to another erasure.
            VersionConflictError: If the chunk has changed since `if_version`.
        """
        return self._erasing.delete(chunk_id, by, key, if_version)

    @takes
    def update(
        self,
        chunk_id: MemoryId,
        *,
        content: str | Mapping[str, str] | None = None,
        facets: FacetTexts | None = None,
        tags: Names | None = None,
        metadata: Metadata | None = None,
        occurred_at: AnyTime | None = None,
        expires_at: ExpiresAt | None = None,
        ttl: TimeToLive | None = None,
        if_version: Name | None = None,
        reason: Reason | None = None,
        key: WriteKey | None = None,
        timeout: Timeout | None = None,
    ) -> Chunk:
        """Change what an exchange says or what is known of it.

            memory.update(42, content={"assistant": "Noted: Porto since May."}, tags=["home"])

        What is passed replaces what was stored; the rest stays. Where the setting `history` is on,
        `versions` keeps the former text.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            content: New texts by side, {"user": ..., "assistant": ...}; a plain text where the
                chunk has one side.
            facets: Texts of the facets `personal_info`, `preferences` and `events`; they replace
                those that the rules find.
            tags: Labels that replace the present ones.
            metadata: JSON object that replaces the present one.
            occurred_at: When it was said or happened; ISO 8601 texts are accepted.
            expires_at: When it expires: no search finds it afterwards, and a job deletes it.
            ttl: Time until it expires: a timedelta or a text such as "12h"; "never" overrides the
                namespace's rules.
            if_version: Only if the memory still has this `version`, which a read returned.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The changed chunk; the last part of its exchange if that has fewer parts now.

        Raises:
            InvalidInputError: If nothing is to be changed, or a value can't be used.
            NotFoundError: If the namespace has no such chunk.
            VersionConflictError: If the chunk has changed since `if_version`.
        """
        from memsense.client.updating import read_update

        update = read_update(
            content=content, facets=facets, tags=tags, metadata=metadata,
            occurred_at=checked_time(occurred_at), expires_at=checked_time(expires_at), ttl=ttl,
            if_version=if_version,
        )  # fmt: skip
        return self._updating.update(chunk_id, update, reason, key)

    @takes
    def versions(self, chunk_id: MemoryId, *, timeout: Timeout | None = None) -> "list[Version]":
        """Return what an exchange said before it was updated, or edited in its log, oldest first.

        Versions are kept while the setting `history` is on, else for 30 days. A forgotten memory
        has none.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return self._updating.versions(chunk_id)

    @takes
    def restore(
        self,
        chunk_id: MemoryId,
        *,
        reason: Reason | None = None,
        key: WriteKey | None = None,
        timeout: Timeout | None = None,
    ) -> list[int]:
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
        return self._changes.restore(chunk_id, reason, key)

    @takes
    def promote(
        self, chunk_id: MemoryId, *, key: WriteKey | None = None, timeout: Timeout | None = None
    ) -> float:
        """Raise a memory's score by 0.15, at most to 1, and return the new score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._changes.move_score(chunk_id, 1, key)

    @takes
    def demote(
        self, chunk_id: MemoryId, *, key: WriteKey | None = None, timeout: Timeout | None = None
    ) -> float:
        """Lower a memory's score by 0.15, at least to 0, and return the new score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return self._changes.move_score(chunk_id, -1, key)

    @takes
    def feedback(
        self,
        chunk_id: MemoryId,
        *,
        helpful: bool,
        question: Note | None = None,
        note: Note | None = None,
        key: WriteKey | None = None,
        timeout: Timeout | None = None,
    ) -> None:
        """Record whether a hit helped. It goes into the memory's history and changes no score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            helpful: Whether the memory helped to answer.
            question: The question that it was returned for.
            note: What was good or wrong about it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        self._changes.record_feedback(
            chunk_id, helpful=helpful, question=question, note=note, key=key
        )

    @takes
    def history(self, chunk_id: MemoryId, *, timeout: Timeout | None = None) -> list[Event]:
        """Return everything that happened to a memory, oldest first.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return self._listing.history(chunk_id)

    # Last, because its name hides the builtin `list` from the annotations that follow it.
    @takes
    def list(
        self,
        *,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        agent_id: AgentFilter | None = None,
        session_ids: SessionFilter | None = None,
        project: ProjectFilter | None = None,
        since: Since | None = None,
        until: Until | None = None,
        tags: TagFilter | None = None,
        kinds: KindFilter | None = None,
        metadata: MetadataFilter | None = None,
        granularity: ListGranularity = "turn",
        statuses: Annotated[Sequence[Status], AsList] = ("active",),
        contains: Name | None = None,
        order: Literal["newest", "oldest"] = "newest",
        limit: PageSize = DEFAULT_PAGE,
        cursor: Cursor | None = None,
        timeout: Timeout | None = None,
    ) -> Page[Chunk]:
        """Return a page of a user's memories by event time.

            page = memory.list(user_id="ada")
            more = memory.list(user_id="ada", cursor=page.next_cursor)  # unless that is None

        What is added meanwhile neither repeats nor hides an item.

        Args:
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object, or satisfies its
                conditions, such as {"priority": {"gte": 3}}.
            granularity: "turn" for exchanges, "session" for sessions.
            statuses: Which to list: "active", "archived", "deleted" (forgotten, without texts).
            contains: Only memories whose text has these characters, in any case of letters.
            order: "newest" or "oldest" event time first.
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            InvalidInputError: For the cursor of another list or order.
        """
        filters = Filters(
            agent_id=agent_id, session_ids=session_ids, project=project,
            since=checked_time(since), until=checked_time(until), tags=tags, kinds=kinds,
            metadata=metadata,
        )  # fmt: skip
        return self._listing.chunks(
            require_user(user_id, all_users),
            filters,
            granularity=granularity,
            statuses=statuses,
            order=order,
            limit=limit,
            cursor=cursor,
            contains=contains,
        )


@cache
def _filter_checker(name: str) -> Checker:
    # Cached: `compare` reads the filters of many traces, and an adapter takes a millisecond.
    return Checker(parameters_of(Memory.search)[name].type, name)


def read_filters(values: Mapping[str, Any]) -> Filters:
    """Return the filters of a recorded search, read by the types of `search`'s parameters."""
    return Filters(**{name: _filter_checker(name)(value) for name, value in values.items()})
