"""An opened store: its pool, its namespace and its models, which all parts of `MemSense` share.

Here and in those parts, what only some processes need is imported where it is used, so that one
search starts quickly.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Self

from memsense import store
from memsense.client.models import open_named_embedder, open_reranker, open_tagger
from memsense.client.place import open_place
from memsense.config import Settings, load_settings
from memsense.db import read
from memsense.db.connection import Connection, Pool
from memsense.embed import CachedQueries, Embedder
from memsense.errors import NotFoundError
from memsense.explain.recorder import TraceRecorder
from memsense.search.known import KnownScopes
from memsense.search.profiles import PROFILES, Profile
from memsense.search.rank.reranker import Reranker
from memsense.search.settings import find_profile

if TYPE_CHECKING:
    from memsense.db.embedded import EmbeddedServer
    from memsense.text.entities import EntityExtractor
    from memsense.write.facets import FacetTagger


class Opened:
    """What `MemSense.open` opened; `MemSense` itself is its one subclass that users make."""

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
        """Use `MemSense.open`; this takes over an open pool and, if given, an embedded server."""
        self._pool = pool
        self._settings = settings
        self._profile = profile
        self._given_embedder = embedder
        self._given_tagger = tagger
        self._given_extractor = extractor
        self._given_reranker = reranker
        self._server = server
        self._known = KnownScopes()
        self._namespace: store.Namespace | None = None
        self._recorder = TraceRecorder(lambda: read(pool))

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        profile: str | Profile | None = None,
        embedder: Embedder | None = None,
        tenant: str | None = None,
        namespace: str | None = None,
        settings: Settings | None = None,
        tagger: "FacetTagger | None" = None,
        extractor: "EntityExtractor | None" = None,
        reranker: Reranker | None = None,
    ) -> Self:
        """Connect to `url`, else to MEMSENSE_DATABASE_URL, else to the embedded server.

        The embedded server is started and its database prepared on first use; a database of
        yours needs `memsense init` once. A `profile` given here is taken as it is, whatever the
        namespace's settings say. Raises ConnectionFailedError, ServerTooOldError, SchemaError,
        NotFoundError for an unknown `profile`, or ConfigurationError, each naming the remedy.
        """
        chosen = settings or load_settings()
        changes = {"database_url": url, "tenant": tenant, "namespace": namespace}
        chosen = chosen.model_copy(update={k: v for k, v in changes.items() if v is not None})
        pool, server = open_place(chosen)
        opened = cls(
            pool,
            settings=chosen,
            profile=profile,
            embedder=embedder,
            tagger=tagger,
            extractor=extractor,
            reranker=reranker,
            server=server,
        )
        try:
            opened._check_profile()
        except BaseException:
            opened.close()
            raise
        return opened

    def _check_profile(self) -> None:
        """Raise now, not at the first search, for a profile that nobody knows."""
        if isinstance(self._profile, str) and self._profile not in PROFILES:
            with read(self._pool) as connection:
                find_profile(self._find_namespace(connection), self._profile)

    def close(self) -> None:
        """Write waiting traces and close; the embedded server stops when nobody else uses it."""
        self._recorder.close()
        self._pool.close()
        if self._server is not None:
            self._server.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @cached_property
    def embedder(self) -> Embedder:
        """What turns texts into vectors, made at first use, with a cache of questions."""
        inner = self._given_embedder or open_named_embedder(self._settings)
        size = self._settings.query_cache_size
        return CachedQueries(inner, size) if size else inner

    @cached_property
    def tagger(self) -> "FacetTagger":
        """What finds facets in what is added, made at first use."""
        return self._given_tagger or open_tagger(self._settings)

    @cached_property
    def extractor(self) -> "EntityExtractor":
        """What finds entities in what is added, made at first use."""
        from memsense.text.entities import RuleExtractor

        return self._given_extractor or RuleExtractor()

    @cached_property
    def reranker(self) -> Reranker | None:
        """What reads question and texts together after fusion; None unless one was given or set."""
        return self._given_reranker or open_reranker(self._settings)

    def _find_namespace(self, connection: Connection) -> store.Namespace | None:
        """The namespace for reading, as it was last seen; None before it holds anything."""
        return self._namespace or self._reload_namespace(connection)

    def _reload_namespace(self, connection: Connection) -> store.Namespace | None:
        """The namespace with its settings as they are now; remembered once it has a model."""
        tenant_id = store.find_tenant(connection, self._settings.tenant)
        if tenant_id is None:
            return None
        found = store.find_namespace(connection, tenant_id, self._settings.namespace)
        if found is not None and found.model_id is not None:
            self._namespace = found
        return found

    def _require_namespace(self, connection: Connection) -> store.Namespace:
        namespace = self._find_namespace(connection)
        if namespace is None:
            raise NotFoundError(f"nothing is stored in namespace {self._settings.namespace!r} yet")
        return namespace

    def _claim_namespace(self, connection: Connection) -> store.Namespace:
        """The namespace for what is set before anything is written; made if new."""
        return self._namespace or store.claim_namespace(
            connection,
            tenant=self._settings.tenant,
            name=self._settings.namespace,
            language=self._settings.language,
        )


def no_chunk(chunk_id: int) -> NotFoundError:
    """What is raised for a chunk that the namespace doesn't have."""
    return NotFoundError(f"no chunk {chunk_id} in this namespace")
