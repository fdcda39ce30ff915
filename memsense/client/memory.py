"""MemSense: the one class that users of the Python API need."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import InstanceOf

from memsense import telemetry
from memsense.client.verbs import Memory
from memsense.config import Settings, load_settings
from memsense.declaration import takes
from memsense.draft.facets.model import FacetTagger
from memsense.graph.extraction.model import EntityExtractor
from memsense.inputs import AsList, Id, Name, with_attributes
from memsense.search.profiles import PROFILES, GivenProfile
from memsense.search.rank.reranker import Reranker

if TYPE_CHECKING:
    from memsense.client.access_keys import AccessKeysResource
    from memsense.client.context import BackgroundThread, Context
    from memsense.client.embedding_models import ModelsResource
    from memsense.client.erasing import ErasuresResource
    from memsense.client.histories import HistoriesResource
    from memsense.client.indexes import IndexesResource
    from memsense.client.items import ItemsResource
    from memsense.client.jobs import JobsResource
    from memsense.client.profiles import ProfilesResource
    from memsense.client.projects import ProjectsResource
    from memsense.client.questions import QuestionsResource
    from memsense.client.settings import SettingsResource
    from memsense.client.ttl import TtlResource
    from memsense.client.user_memory import UserMemory
    from memsense.embed.base import Embedder
    from memsense.store.jobs import JobCounts

_AnEmbedder = Annotated["Embedder", with_attributes("model", "dimension", "embed", "embed_query")]
_ATagger = Annotated[FacetTagger, with_attributes("name", "tag")]
_AnExtractor = Annotated[EntityExtractor, with_attributes("name", "extract")]
_AReranker = Annotated[Reranker, with_attributes("name", "rerank")]


class MemSense(Memory):
    """An agent's memory in PostgreSQL.

        with MemSense.open() as memory:
            memory.add([{"role": "user", "content": "I moved to Lisbon."}],
                       user_id="ada", session_id="monday")
            hits = memory.search("Where does Ada live?", user_id="ada")

    Safe to share between threads. Everything happens within one tenant and one namespace.
    Its resources are `settings`, `profiles`, `projects`, `traces`, `questions`,
    `entities`, `models`, `indexes`, `erasures`, `ttl`, `jobs`, `access_keys`, `histories` and
    `items`.
    """

    @classmethod
    @takes
    def open(
        cls,
        url: Name | None = None,
        *,
        profile: GivenProfile | None = None,
        embedder: _AnEmbedder | None = None,
        other_embedders: Annotated[Sequence[_AnEmbedder], AsList] = (),
        tenant: Id | None = None,
        namespace: Id | None = None,
        settings: InstanceOf[Settings] | None = None,
        tagger: _ATagger | None = None,
        extractor: _AnExtractor | None = None,
        reranker: _AReranker | None = None,
    ) -> Self:
        """Connect to a database, or start the embedded server.

        Args:
            url: Address of a database that `memsense init` has prepared; default:
                MEMSENSE_DATABASE_URL, else the embedded server.
            profile: A profile or the name of one; it overrides the namespace's settings.
            embedder: Turns texts into vectors; default: as the settings say.
            other_embedders: Embedders of the namespace's other models, where the database doesn't
                say how to open them: see `models`.
            tenant: Whose database rows; default: MEMSENSE_TENANT.
            namespace: Part of the tenant's memory; default: MEMSENSE_NAMESPACE.
            settings: Settings; default: read from the environment.
            tagger: Finds facets in what is added; default: by rules.
            extractor: Finds entities in what is added; default: by rules.
            reranker: Reads question and texts together after fusion; default: none.

        Raises:
            ConnectionFailedError: If the server can't be reached.
            ServerTooOldError: If the server is older than memsense supports, or lacks pgvector.
            SchemaError: If the schema is missing or of another version; names the command to run.
            NotFoundError: For an unknown `profile`.
            ConfigurationError: If a setting can't be used.
        """
        from memsense.client.context import Context
        from memsense.client.place import open_place
        from memsense.db import run_read

        chosen = settings or load_settings()
        chosen = chosen.model_copy(
            update={
                "database_url": chosen.database_url if url is None else url,
                "tenant": chosen.tenant if tenant is None else tenant,
                "namespace": chosen.namespace if namespace is None else namespace,
            }
        )
        context = Context(
            open_place(chosen),
            settings=chosen,
            profile=profile,
            embedder=embedder,
            other_embedders=other_embedders,
            tagger=tagger,
            extractor=extractor,
            reranker=reranker,
            make_worker=make_worker,
        )
        try:
            telemetry.watch_jobs(context, context.store_id, _count_jobs)
            # An unknown profile is an error now, not at the first search.
            if isinstance(profile, str) and profile not in PROFILES:
                place = context.look_up_namespace()
                run_read(context.pool, lambda it: context.find_profile(it, place, profile))
            if chosen.worker == "on":
                context.wake_worker()
        except BaseException:
            context.close()
            raise
        return cls(context)

    def close(self) -> None:
        """Write waiting traces and close; the embedded server stops after its last user."""
        self._context.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @takes
    def for_user(self, user_id: Id) -> "UserMemory":
        """Return a view of one user's memory, from which no id reaches another user's.

        Args:
            user_id: Whose memory: an id of your own.
        """
        from memsense.client.user_memory import UserMemory
        from memsense.client.user_view import Owner

        return UserMemory(Owner(user_id=user_id, whole=self, context=self._context))

    @property
    def embedder(self) -> "Embedder":
        """Embedder of the namespace's model, made at first use; it caches questions."""
        return self._context.embedder

    @property
    def pool_size(self) -> int:
        """Number of threads that can work at once: the connections of the pool."""
        return self._context.settings.pool_max_size

    # Resources -----------------------------------------------------------------------------------
    # Each is imported at first use: most processes need none, and a search starts sooner.

    @cached_property
    def settings(self) -> "SettingsResource":
        """Settings that the namespace's searches use; they take effect while searches run."""
        from memsense.client.settings import SettingsResource

        return SettingsResource(self._context)

    @cached_property
    def profiles(self) -> "ProfilesResource":
        """Profiles: named sets of the constants that rank."""
        from memsense.client.profiles import ProfilesResource

        return ProfilesResource(self._context)

    @cached_property
    def projects(self) -> "ProjectsResource":
        """Projects: named groups of sessions to search in."""
        from memsense.client.projects import ProjectsResource

        return ProjectsResource(self._context)

    @cached_property
    def questions(self) -> "QuestionsResource":
        """Sets of questions, with the memories that are right or wrong for each."""
        from memsense.client.questions import QuestionsResource

        return QuestionsResource(self._context, self._searches)

    @cached_property
    def erasures(self) -> "ErasuresResource":
        """Receipts of what was erased for good."""
        from memsense.client.erasing import ErasuresResource

        return ErasuresResource(self._context)

    @cached_property
    def models(self) -> "ModelsResource":
        """Embedding models: add another one, compare, switch to it and back."""
        from memsense.client.embedding_models import ModelsResource

        return ModelsResource(self._context)

    @cached_property
    def indexes(self) -> "IndexesResource":
        """Vector indexes of large memories, and the text index."""
        from memsense.client.indexes import IndexesResource

        return IndexesResource(self._context, self._writes)

    @cached_property
    def access_keys(self) -> "AccessKeysResource":
        """Access keys by which programs reach this tenant's memory over HTTP."""
        from memsense.client.access_keys import AccessKeysResource

        return AccessKeysResource(self._context)

    @cached_property
    def histories(self) -> "HistoriesResource":
        """Sessions of agent frameworks, stored literally and remembered too."""
        from memsense.client.histories import HistoriesResource

        return HistoriesResource(self._context)

    @cached_property
    def items(self) -> "ItemsResource":
        """Values under keys, which agent frameworks store in addition to conversations."""
        from memsense.client.items import ItemsResource

        return ItemsResource(self._context)

    @cached_property
    def ttl(self) -> "TtlResource":
        """Rules for how long memories are stored, and the sweep of expired ones."""
        from memsense.client.ttl import TtlResource

        return TtlResource(self._context)

    @cached_property
    def jobs(self) -> "JobsResource":
        """Jobs that writes left for later, and the worker that does them."""
        from memsense.client.jobs import JobsResource

        return JobsResource(self._context)


def make_worker(context: "Context") -> "BackgroundThread":
    """Return the worker of this process; imported here, as a search needs none."""
    from memsense.client.worker import BackgroundWorker

    return BackgroundWorker(context)


def _count_jobs(context: "Context") -> "JobCounts":
    from memsense.client.jobs import JobsResource

    return JobsResource(context).count()
