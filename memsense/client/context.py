"""Open store of one tenant and namespace: connections, models and known state, for all resources.

Here and in the resources, imports that only some processes need stand where they are used: a
process that answers one search spends half its time on imports.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from memsense import telemetry
from memsense.client.embedders import Embedders
from memsense.client.metering import CallMeter, Meter, SearchMeter
from memsense.client.models import open_reranker, open_tagger
from memsense.config import Settings
from memsense.db import Pool, run_autocommit, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.db.groups import Groups
from memsense.db.turns import Turns
from memsense.embed import Embedder, Vectors
from memsense.errors import DatabaseError, EmbeddingError, NotFoundError
from memsense.explain.recorder import TraceRecorder
from memsense.search.plan import KnownScopes
from memsense.search.profiles import Profile
from memsense.search.rank.reranker import Reranker
from memsense.search.settings import (
    REDACT_KINDS,
    default_profile,
    find_profile,
    tuned_profile,
)
from memsense.store.access import KnownKeys
from memsense.store.scopes import (
    Follower,
    Namespace,
    check_model,
    claim_namespace,
    find_namespace,
    find_tenant,
    open_namespace,
)
from memsense.text.secrets import clean, read_kinds
from memsense.types import ENGLISH_MODEL, EmbeddingModel, EmbedWhen, SessionDraft

if TYPE_CHECKING:
    from memsense.client.place import Place
    from memsense.draft.facets.model import FacetTagger
    from memsense.draft.vectors import BatchVectors, EmbedderBackoff, VectorSpace
    from memsense.graph.extraction.model import EntityExtractor

T = TypeVar("T")

logger = logging.getLogger("memsense.context")


class BackgroundThread(Protocol):
    """Worker in a thread of this process; `memsense.client.worker` has the one there is."""

    def wake(self, *, at_once: bool = True) -> None:
        """Look for jobs now, or soon if not `at_once`."""
        ...

    def close(self) -> None:
        """Stop it."""
        ...


class Context:
    """Connections, models and known state of one tenant and one namespace of a database."""

    def __init__(
        self,
        place: "Place",
        *,
        settings: Settings,
        profile: str | Profile | None = None,
        embedder: Embedder | None = None,
        other_embedders: Sequence[Embedder] = (),
        tagger: "FacetTagger | None" = None,
        extractor: "EntityExtractor | None" = None,
        reranker: Reranker | None = None,
        make_worker: "Callable[[Context], BackgroundThread]",
        beside: "Context | None" = None,
    ) -> None:
        """Take over open connections.

        Models that are passed win over those that the settings name. `make_worker` makes the
        worker of this process, when the first job is left to it. `beside` is another context over
        the same connections, whose meters count for this one, too.
        """
        self._place = place
        self.pool = place.pool
        self.settings = settings
        self.profile = profile
        self.scope_states = KnownScopes()
        self.known_keys = KnownKeys()
        self._turns = Turns()
        self.groups = Groups[Any, Any]()
        self.recorder = TraceRecorder(lambda write: run_transaction(place.pool, write))
        self.embedders = Embedders(settings, embedder, other_embedders)
        self._given_tagger = tagger
        self._given_extractor = extractor
        self._given_reranker = reranker
        self._make_worker = make_worker
        self._own_meters: list[Meter[Any, Any]] = []
        if beside is not None:
            self.meter, self.search_meter = beside.meter, beside.search_meter
        else:
            self.search_meter = SearchMeter(place.pool, days=settings.statistics_days)
            self.meter = CallMeter(place.pool) if settings.metering else None
            self._own_meters = [it for it in (self.search_meter, self.meter) if it is not None]
        self._namespace: Namespace | None = None
        self._written_models: Sequence[EmbeddingModel] = ()
        self._tuned: tuple[Namespace, Profile] | None = None
        if place.server is not None:
            place.server.close_at_exit(self.close)

    def close(self) -> None:
        """Write waiting traces, counted searches and calls, and close.

        The embedded server stops after its last user.
        """
        telemetry.unwatch_jobs(self)
        if "background" in self.__dict__:
            self.background.close()
        self.recorder.close()
        for meter in self._own_meters:
            meter.close()
        self._place.close()

    def beside(self, tenant: str, namespace: str) -> "Context":
        """Return the context of another tenant or namespace over the same connections and models.

        It shares no cached state with this one but the known keys, and must be closed before it.
        """
        # The other context does not own the embedded server, by which "auto" decides: say "on".
        works = self.settings.worker == "auto" and self._place.server is not None
        changes = {"tenant": tenant, "namespace": namespace, **({"worker": "on"} if works else {})}
        other = Context(
            self._place.for_tenant(tenant),
            settings=self.settings.model_copy(update=changes),
            profile=self.profile,
            tagger=self._given_tagger,
            extractor=self._given_extractor,
            reranker=self._given_reranker,
            make_worker=self._make_worker,
            beside=self,
        )
        other.embedders = self.embedders.apart()
        other.known_keys = self.known_keys
        return other

    def redacts(self, *, logs: bool, choice: bool | None = None) -> frozenset[str]:
        """Return the kinds of secrets that are replaced in logs, or in calls.

        The call's choice comes first, then the process's setting, if it is set, then the
        namespace's, which also names the kinds.
        """
        if choice is False:
            return frozenset()
        place = self.look_up_namespace()
        stored: Mapping[str, Any] = place.settings if place else {}
        setting = self.settings.redact
        if "redact" not in self.settings.model_fields_set:
            setting = stored.get("redact", setting)
        if not (choice or setting == "all" or (logs and setting == "logs")):
            return frozenset()
        return read_kinds(stored.get(REDACT_KINDS, "all"))

    def clean(self, value: T) -> T:
        """Return a text or JSON value of a call as it may be stored."""
        return clean(value, secrets=self.redacts(logs=False))[0]

    @property
    def store_id(self) -> str:
        """Name of this memory in spans and metrics: tenant/namespace."""
        return f"{self.settings.tenant}/{self.settings.namespace}"

    @property
    def embedder(self) -> Embedder:
        """Embedder of the namespace's model, or the one that the store was opened with."""
        if self._namespace is None:
            return self.embedders.own
        return self.embedders.of(self.with_embedder(self._namespace))

    def with_embedder(self, namespace: Namespace) -> Namespace:
        """Return the namespace, reloaded if there is no embedder of its model.

        Another process may have switched searches to another model. Raises ModelMismatchError if
        there is no embedder of that one either.
        """
        if namespace.in_use is not None and self.embedders.find(namespace.in_use) is None:
            namespace = run_read(self.pool, self.reload_namespace) or namespace
            self.embedders.of(namespace)
        return namespace

    def find_second(self, namespace: Namespace) -> EmbeddingModel | None:
        """Return the namespace's second model, if this process can open its embedder."""
        second = namespace.second
        return second if second and self.embedders.find(second) else None

    def forget_user(self, user_id: str) -> None:
        """Drop what this process has cached of a user: speakers, keys, and embedded questions."""
        self.known_keys.drop_user(self.settings.tenant, user_id)
        self.scope_states.drop(user_id)
        self.embedders.forget()

    def batch_vectors(self, when: EmbedWhen | None = None) -> "BatchVectors":
        """Return the vectors of one batch of writes, with token vectors if the settings say so.

        `when` says when to compute them; default: the setting `embed`.
        """
        from memsense.draft.vectors import BatchVectors

        return BatchVectors(
            self.embedder,
            tokens=self.settings.token_vectors,
            when=when or self.settings.embed,
            backoff=self._backoff,
            find=self.embedders.find,
            # Without them each batch would find its vectors missing, and be written twice.
            models=self._namespace.models if self._namespace else self._written_models,
        )

    @cached_property
    def _backoff(self) -> "EmbedderBackoff":
        from memsense.draft.vectors import EmbedderBackoff

        return EmbedderBackoff()

    @cached_property
    def background(self) -> BackgroundThread:
        """Worker in a thread of this process, made when it is first woken."""
        return self._make_worker(self)

    def read(self, work: Callable[[Pool], T]) -> T:
        """Return what `work` reads from the replica's pool, or from the database's own."""
        return self._place.read(work)

    def run_write(
        self,
        work: Callable[[Connection], T],
        vectors: "BatchVectors",
        *,
        users: Collection[str] = (),
        if_possible: bool = False,
    ) -> T:
        """Run a write in one transaction, and return its result.

        `users` are those whose memories it locks; other writes of this process to these wait
        before they take a connection.

        The write must be idempotent by its content or key: it is repeated after a lost connection,
        and after embedding texts that it found to be missing. With `if_possible`, a failing
        embedder never stops it. The worker is woken for what is left to a job.
        """
        complete = vectors.retry_or_defer if if_possible else vectors.retry_until_embedded

        def write() -> T:
            with self._turns.of(users, self.settings.pool_timeout):
                return run_transaction(self.pool, work, is_idempotent=True)

        result = complete(write)
        self._written_models = vectors.models
        if vectors.deferred is not None or self.settings.auto_index:
            self.wake_worker()
        elif vectors.has_unindexed_vectors:
            self.wake_worker(at_once=False)
        return result

    def analyse_new_tables(self) -> None:
        """Let the planner know the size of tables that have just got their first rows.

        A failure is only logged: autovacuum does the same a little later.
        """
        from memsense.store.indexes import analyse_new_tables

        try:
            run_autocommit(self.pool, analyse_new_tables)
        except DatabaseError as error:
            logger.warning("new tables could not be analysed: %s", error)

    def wake_worker(self, *, at_once: bool = True) -> None:
        """Wake this process's worker, if it has one by the setting `worker`.

        With `at_once` false, the worker does the job when it next looks by itself.
        """
        mode = self.settings.worker
        if mode == "on" or (mode == "auto" and self._place.server is not None):
            self.background.wake(at_once=at_once)

    @cached_property
    def tagger(self) -> "FacetTagger":
        """Tagger that finds facets in new messages, made at first use."""
        from memsense.draft.facets.standing import StandingTagger

        return StandingTagger(self._given_tagger or open_tagger(self.settings), self._embed_english)

    def _embed_english(self, sentences: Sequence[str]) -> Vectors | None:
        """Return vectors of the built-in English model; None if the namespace has another one."""
        embedder = self.embedder
        try:
            return embedder.embed(sentences) if embedder.model == ENGLISH_MODEL else None
        except EmbeddingError:
            return None

    @cached_property
    def extractor(self) -> "EntityExtractor":
        """Extractor that finds entities in new messages, made at first use."""
        from memsense.graph.extraction.rules import RuleExtractor

        return self._given_extractor or RuleExtractor()

    def followers(self, *drafts: SessionDraft) -> Sequence[Follower]:
        """Return the steps that follow the write of drafts within its transaction."""
        from memsense.graph.upkeep import EntityUpkeep

        return (EntityUpkeep.of(drafts, self.extractor),)

    @cached_property
    def reranker(self) -> Reranker | None:
        """Reranker that reads question and texts together after fusion; None by default."""
        return self._given_reranker or open_reranker(self.settings)

    def find_namespace(self, connection: Connection) -> Namespace | None:
        """Return the namespace as last seen; None before it holds anything."""
        return self._namespace or self.reload_namespace(connection)

    def look_up_namespace(self) -> Namespace | None:
        """Return the namespace as last seen, with a connection of the pool only if needed."""
        return self._namespace or run_read(self.pool, self.reload_namespace)

    def read_stored(self, read: Callable[[Connection, Namespace], T], otherwise: T) -> T:
        """Return what `read` finds in the namespace; `otherwise` before anything is stored."""
        namespace = self.look_up_namespace()
        if namespace is None:
            return otherwise
        return run_read(self.pool, lambda it: read(it, namespace))

    def reload_namespace(self, connection: Connection) -> Namespace | None:
        """Return the namespace with its present settings; cache it once it has a model."""
        namespace = self.see_namespace(connection)
        if namespace is not None and namespace.model_id is not None:
            self._namespace = namespace
        return namespace

    def see_namespace(self, connection: Connection) -> Namespace | None:
        """Return the namespace as this connection sees it, even if it may still be rolled back."""
        tenant_id = self.pool.tenant_id or find_tenant(connection, self.settings.tenant)
        if tenant_id is None:
            return None
        return find_namespace(connection, tenant_id, self.settings.namespace)

    def require_namespace(self, connection: Connection) -> Namespace:
        """Return the namespace as last seen; raise NotFoundError before it holds anything."""
        namespace = self.find_namespace(connection)
        if namespace is None:
            raise NotFoundError(f"nothing is stored in namespace {self.settings.namespace!r} yet")
        return namespace

    def claim_namespace(self, connection: Connection, *, language: str | None = None) -> Namespace:
        """Return the namespace for settings made before any write; create it if it is new.

        Its language is that of the settings, else `language`, else the settings' default.
        """
        is_set = "language" in self.settings.model_fields_set
        return self._namespace or claim_namespace(
            connection,
            tenant=self.settings.tenant,
            name=self.settings.namespace,
            language=self.settings.language if is_set or language is None else language,
        )

    def open_namespace(self, connection: Connection, space: "VectorSpace") -> Namespace:
        """Return the namespace for writing; create it if it is new.

        `space` is the model and dimension of the vectors to be written. Asking an embedder for it
        may take a server, so callers ask before the transaction. If searches have switched to
        another model since, its vectors are computed too.
        """
        cached = self._namespace and self.with_embedder(self._namespace)
        if cached is not None:
            model = self.embedders.of(cached).model
            check_model(cached, model, space.dimension if model == space.model else None)
            return cached
        own = self.embedders.own
        # Not cached: this transaction may still be rolled back. Reads cache what is committed.
        namespace = open_namespace(
            connection,
            tenant=self.settings.tenant,
            name=self.settings.namespace,
            language=self.settings.language,
            model=own.model,
            dimension=space.dimension,
            second=self.embedders.second,
        )
        embedder = self.embedders.of(namespace)
        check_model(namespace, embedder.model, space.dimension if embedder is own else None)
        return namespace

    def find_profile(
        self, connection: Connection, namespace: Namespace | None, name: str
    ) -> Profile:
        """Return a shipped or stored profile, also one stored after the namespace was last seen.

        Raises NotFoundError for an unknown profile.
        """
        try:
            return find_profile(namespace, name)
        except NotFoundError:
            return find_profile(self.reload_namespace(connection), name)

    def tune(self, namespace: Namespace | None) -> Profile:
        """Return the profile of the namespace's settings, computed once per version of them.

        Before anything is stored, it is that of the process's settings.
        """
        if namespace is None:
            return default_profile(None, self.settings.profile)
        cached = self._tuned
        if cached is None or cached[0] is not namespace:
            cached = (namespace, tuned_profile(namespace, self.settings.profile))
            self._tuned = cached
        return cached[1]


class Resource:
    """Base of what works within one context."""

    def __init__(self, context: Context) -> None:
        self._context = context


def no_chunk(chunk_id: int) -> NotFoundError:
    """Return the error for a chunk that the namespace does not have."""
    return NotFoundError(f"no chunk {chunk_id} in this namespace")
