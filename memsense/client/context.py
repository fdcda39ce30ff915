"""An opened store: its pool, its namespace and its models, which every resource is given.

Here and in the resources, what only some processes need is imported where it is used, so that one
search starts quickly.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

from memsense import store, telemetry
from memsense.client.embedders import Embedders
from memsense.client.models import open_reranker, open_tagger
from memsense.config import Settings
from memsense.db import Pool, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.embed import Embedder
from memsense.errors import NotFoundError
from memsense.explain.recorder import TraceRecorder
from memsense.search.plan import KnownScopes
from memsense.search.profiles import Profile
from memsense.search.rank.reranker import Reranker
from memsense.search.settings import find_profile, tuned_profile
from memsense.types import EmbedWhen, SessionDraft

if TYPE_CHECKING:
    from memsense.db.embedded import EmbeddedServer
    from memsense.graph.extraction import EntityExtractor
    from memsense.write.facets import FacetTagger
    from memsense.write.vectors import BatchVectors, EmbedderBackoff, VectorSpace

T = TypeVar("T")


class BackgroundThread(Protocol):
    """Worker in a thread of this process; `memsense.client.worker` has the one there is."""

    def wake(self, *, at_once: bool = True) -> None:
        """Look for jobs now, or soon if not `at_once`."""
        ...

    def close(self) -> None:
        """Stop it."""
        ...


class Context:
    """What `MemSense.open` opened: one tenant and one namespace of a database."""

    def __init__(
        self,
        pool: Pool,
        *,
        settings: Settings,
        profile: str | Profile | None = None,
        embedder: Embedder | None = None,
        other_embedders: Sequence[Embedder] = (),
        tagger: "FacetTagger | None" = None,
        extractor: "EntityExtractor | None" = None,
        reranker: Reranker | None = None,
        server: "EmbeddedServer | None" = None,
        make_worker: "Callable[[Context], BackgroundThread]",
    ) -> None:
        """Take over an open pool and, if given, an embedded server.

        Models that are passed win over those that the settings name. `make_worker` makes the
        worker of this process, when the first job is left to it.
        """
        self.pool = pool
        self.settings = settings
        self.profile = profile
        self.known = KnownScopes()
        self.recorder = TraceRecorder(lambda write: run_transaction(pool, write))
        self.embedders = Embedders(settings, embedder, other_embedders)
        self._given_tagger = tagger
        self._given_extractor = extractor
        self._given_reranker = reranker
        self._server = server
        self._make_worker = make_worker
        self._namespace: store.Namespace | None = None
        self._tuned: tuple[store.Namespace, Profile] | None = None

    def close(self) -> None:
        """Write waiting traces and close; the embedded server stops when nobody else uses it."""
        telemetry.unwatch_jobs(self)
        if "background" in self.__dict__:
            self.background.close()
        self.recorder.close()
        self.pool.close()
        if self._server is not None:
            self._server.release()

    def for_tenant(self, tenant: str) -> "Context":
        """What another tenant's memory is given: the same connections and models, and nothing that
        this one has seen. It is closed before this one.
        """
        works = self.settings.worker == "auto" and self._server is not None
        changes = {"tenant": tenant, **({"worker": "on"} if works else {})}
        other = Context(
            self.pool.for_tenant(tenant),
            settings=self.settings.model_copy(update=changes),
            profile=self.profile,
            tagger=self._given_tagger,
            extractor=self._given_extractor,
            reranker=self._given_reranker,
            make_worker=self._make_worker,
        )
        other.embedders = self.embedders.apart()
        return other

    @property
    def store_id(self) -> str:
        """What spans and metrics call this memory."""
        return f"{self.settings.tenant}/{self.settings.namespace}"

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors: of the model that the namespace is searched with, as far
        as it is known, else what the store was opened with."""
        known = self._namespace
        return self.embedders.own if known is None else self.embedders.of(self.with_embedder(known))

    def with_embedder(self, namespace: store.Namespace) -> store.Namespace:
        """The namespace, as it is now if its model's embedder is not to be had: searches may have
        gone over to another model. Raises ModelMismatchError."""
        if namespace.in_use is not None and self.embedders.find(namespace.in_use) is None:
            namespace = run_read(self.pool, self.reload_namespace) or namespace
            self.embedders.of(namespace)
        return namespace

    def forget_user(self, user_id: str) -> None:
        """Let nothing of a user's stay in this process: who speaks, what was asked."""
        self.known.drop(user_id)
        self.embedders.forget()

    def batch_vectors(self, when: EmbedWhen | None = None) -> "BatchVectors":
        """Vectors for one batch of writes; tokens too, if the settings want them.

        `when` they are made is, if not given, the settings' to say.
        """
        from memsense.write.vectors import BatchVectors

        return BatchVectors(
            self.embedder,
            tokens=self.settings.token_vectors,
            when=when or self.settings.embed,
            backoff=self._backoff,
            find=self.embedders.find,
            models=self._namespace.models if self._namespace else (),
        )

    @cached_property
    def _backoff(self) -> "EmbedderBackoff":
        from memsense.write.vectors import EmbedderBackoff

        return EmbedderBackoff()

    @cached_property
    def background(self) -> BackgroundThread:
        """Worker in a thread of this process, made when it is first woken."""
        return self._make_worker(self)

    def run_write(
        self,
        work: Callable[[Connection], T],
        vectors: "BatchVectors",
        *,
        if_possible: bool = False,
    ) -> T:
        """One transaction that is known by its content or its key, and may be run again.

        What it comes upon is embedded outside of it; with `if_possible`, a failing embedder stops
        it in no case. A worker is woken for what is left to a job.
        """
        complete = vectors.retry_or_defer if if_possible else vectors.retry_until_embedded
        done = complete(lambda: run_transaction(self.pool, work, is_idempotent=True))
        if vectors.deferred is not None or self.settings.auto_index:
            self.wake_worker()
        elif vectors.has_unindexed_vectors:
            self.wake_worker(at_once=False)
        return done

    def wake_worker(self, *, at_once: bool = True) -> None:
        """Something is left for later; this process does it, if it is the one to. What need not be
        done `at_once` is done when it next looks."""
        chosen = self.settings.worker
        if chosen == "on" or (chosen == "auto" and self._server is not None):
            self.background.wake(at_once=at_once)

    @cached_property
    def tagger(self) -> "FacetTagger":
        """What finds facets in what is added, made at first use."""
        return self._given_tagger or open_tagger(self.settings)

    @cached_property
    def extractor(self) -> "EntityExtractor":
        """What finds entities in what is added, made at first use."""
        from memsense.graph.extraction import RuleExtractor

        return self._given_extractor or RuleExtractor()

    def followers(self, draft: SessionDraft | None = None) -> Sequence[store.Follower]:
        """What follows a write in its transaction, having read the draft that it will store."""
        from memsense.graph.upkeep import EntityUpkeep

        return (EntityUpkeep.of(draft, self.extractor) if draft else EntityUpkeep(),)

    @cached_property
    def reranker(self) -> Reranker | None:
        """What reads question and texts together after fusion; None unless one was given or set."""
        return self._given_reranker or open_reranker(self.settings)

    def find_namespace(self, connection: Connection) -> store.Namespace | None:
        """The namespace for reading, as it was last seen; None before it holds anything."""
        return self._namespace or self.reload_namespace(connection)

    def look_up_namespace(self) -> store.Namespace | None:
        """As `find_namespace`, without a connection where none is needed."""
        return self._namespace or run_read(self.pool, self.reload_namespace)

    def reload_namespace(self, connection: Connection) -> store.Namespace | None:
        """The namespace with its settings as they are now; remembered once it has a model."""
        found = self.see_namespace(connection)
        if found is not None and found.model_id is not None:
            self._namespace = found
        return found

    def see_namespace(self, connection: Connection) -> store.Namespace | None:
        """The namespace as this connection sees it, also one that it may yet roll back."""
        tenant_id = self.pool.tenant_id or store.find_tenant(connection, self.settings.tenant)
        if tenant_id is None:
            return None
        return store.find_namespace(connection, tenant_id, self.settings.namespace)

    def require_namespace(self, connection: Connection) -> store.Namespace:
        """The namespace for reading; raises NotFoundError before it holds anything."""
        namespace = self.find_namespace(connection)
        if namespace is None:
            raise NotFoundError(f"nothing is stored in namespace {self.settings.namespace!r} yet")
        return namespace

    def claim_namespace(
        self, connection: Connection, *, language: str | None = None
    ) -> store.Namespace:
        """The namespace for what is set before anything is written; made if new, in the language
        that the settings name, else in this one, else in their default."""
        named = "language" in self.settings.model_fields_set
        return self._namespace or store.claim_namespace(
            connection,
            tenant=self.settings.tenant,
            name=self.settings.namespace,
            language=self.settings.language if named or language is None else language,
        )

    def open_namespace(self, connection: Connection, space: "VectorSpace") -> store.Namespace:
        """The namespace for writing, made if new; only reads, which see it committed, keep it.

        `space` is that of the vectors to be written, asked for before the transaction: it may take
        a server. If searches have gone over to another model since, their vectors are made, too.
        """
        known = self._namespace and self.with_embedder(self._namespace)
        if known is not None:
            model = self.embedders.of(known).model
            store.check_model(known, model, space.dimension if model == space.model else None)
            return known
        own = self.embedders.own
        found = store.open_namespace(
            connection,
            tenant=self.settings.tenant,
            name=self.settings.namespace,
            language=self.settings.language,
            model=own.model,
            dimension=space.dimension,
        )
        embedder = self.embedders.of(found)
        store.check_model(found, embedder.model, space.dimension if embedder is own else None)
        return found

    def find_profile(
        self, connection: Connection, namespace: store.Namespace | None, name: str
    ) -> Profile:
        """The shipped or stored profile, which may be newer than what is known.

        Raises NotFoundError.
        """
        try:
            return find_profile(namespace, name)
        except NotFoundError:
            return find_profile(self.reload_namespace(connection), name)

    def tune(self, namespace: store.Namespace) -> Profile:
        """The profile of the namespace's settings, worked out once per version of them."""
        known = self._tuned
        if known is None or known[0] is not namespace:
            known = (namespace, tuned_profile(namespace, self.settings.profile))
            self._tuned = known
        return known[1]


def no_chunk(chunk_id: int) -> NotFoundError:
    """What is raised for a chunk that the namespace doesn't have."""
    return NotFoundError(f"no chunk {chunk_id} in this namespace")
