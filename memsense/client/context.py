"""An opened store: its pool, its namespace and its models, which every resource is given.

Here and in the resources, what only some processes need is imported where it is used, so that one
search starts quickly.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from memsense import store
from memsense.client.models import open_named_embedder, open_reranker, open_tagger
from memsense.config import Settings
from memsense.db import Pool, read, run_read
from memsense.db.connection import Connection
from memsense.embed import Embedder, cache_queries, check_embedder
from memsense.errors import NotFoundError
from memsense.explain.recorder import TraceRecorder
from memsense.search.known import KnownScopes
from memsense.search.profiles import Profile
from memsense.search.rank.reranker import Reranker
from memsense.search.settings import find_profile, tuned_profile
from memsense.types import SessionDraft

if TYPE_CHECKING:
    from memsense.db.embedded import EmbeddedServer
    from memsense.graph.extraction import EntityExtractor
    from memsense.write.facets import FacetTagger
    from memsense.write.vectors import BatchVectors


class Context:
    """What `MemSense.open` opened: one tenant and one namespace of a database."""

    def __init__(
        self,
        pool: Pool,
        *,
        settings: Settings,
        profile: str | Profile | None = None,
        embedder: Embedder | None = None,
        tagger: "FacetTagger | None" = None,
        extractor: "EntityExtractor | None" = None,
        reranker: Reranker | None = None,
        server: "EmbeddedServer | None" = None,
    ) -> None:
        """Takes over an open pool and, if given, an embedded server; models win over settings."""
        self.pool = pool
        self.settings = settings
        self.profile = profile
        self.known = KnownScopes()
        self.recorder = TraceRecorder(lambda: read(pool))
        self._given_embedder = embedder
        self._given_tagger = tagger
        self._given_extractor = extractor
        self._given_reranker = reranker
        self._server = server
        self._namespace: store.Namespace | None = None
        self._tuned: tuple[store.Namespace, Profile] | None = None

    def close(self) -> None:
        """Write waiting traces and close; the embedded server stops when nobody else uses it."""
        self.recorder.close()
        self.pool.close()
        if self._server is not None:
            self._server.release()

    @cached_property
    def embedder(self) -> Embedder:
        """What turns texts into vectors, made at first use, with a cache of questions."""
        inner = check_embedder(self._given_embedder or open_named_embedder(self.settings))
        size = self.settings.query_cache_size
        return cache_queries(inner, size) if size else inner

    def batch_vectors(self) -> "BatchVectors":
        """Vectors for one batch of writes; tokens too, if the settings want them."""
        from memsense.write.vectors import BatchVectors

        return BatchVectors(self.embedder, tokens=self.settings.token_vectors)

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
        tenant_id = store.find_tenant(connection, self.settings.tenant)
        if tenant_id is None:
            return None
        found = store.find_namespace(connection, tenant_id, self.settings.namespace)
        if found is not None and found.model_id is not None:
            self._namespace = found
        return found

    def require_namespace(self, connection: Connection) -> store.Namespace:
        """The namespace for reading; raises NotFoundError before it holds anything."""
        namespace = self.find_namespace(connection)
        if namespace is None:
            raise NotFoundError(f"nothing is stored in namespace {self.settings.namespace!r} yet")
        return namespace

    def claim_namespace(self, connection: Connection) -> store.Namespace:
        """The namespace for what is set before anything is written; made if new."""
        return self._namespace or store.claim_namespace(
            connection,
            tenant=self.settings.tenant,
            name=self.settings.namespace,
            language=self.settings.language,
        )

    def require_dimension(self) -> None:
        """Let the embedder say its dimension now, which it may have to ask a server for."""
        _ = self.embedder.dimension

    def open_namespace(self, connection: Connection) -> store.Namespace:
        """The namespace for writing, made if new; only reads, which see it committed, keep it."""
        if self._namespace is not None:
            store.check_model(self._namespace, self.embedder.model, self.embedder.dimension)
            return self._namespace
        return store.open_namespace(
            connection,
            tenant=self.settings.tenant,
            name=self.settings.namespace,
            language=self.settings.language,
            model=self.embedder.model,
            dimension=self.embedder.dimension,
        )

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
