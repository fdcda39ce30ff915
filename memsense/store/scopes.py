"""Whose memory a call means: tenant, namespace and user, by name and by number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from memsense.db.connection import Connection
from memsense.db.rows import (
    execute,
    fetch_all,
    fetch_one,
    fetch_value,
    fetch_values,
    find_one,
    find_value,
)
from memsense.errors import InvalidInputError, ModelMismatchError, NotFoundError
from memsense.types import ChunkDraft, EmbeddingModel
from memsense.write.expiry import NO_TTL, TtlRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace as the database knows it.

    `model` is what it is searched with; `models` are all that it has vectors of, that one first.
    `settings` are what is set in the database, `profiles` the stored ones with their constants,
    both as of `settings_version`.
    """

    tenant_id: int
    namespace_id: int
    name: str
    language: str
    model_id: int | None
    model: str | None
    dimension: int | None
    models: Sequence[EmbeddingModel]
    settings_version: int
    settings: Mapping[str, Any]
    profiles: Mapping[str, Mapping[str, Any]]

    @property
    def in_use(self) -> EmbeddingModel | None:
        """The model that it is searched with, None before anything was embedded."""
        return None if self.model_id is None else self.models[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One user's memory: what every statement of a write is limited to, and who follows it.

    `models` are those that a write makes vectors of, the one that searches use first. There are
    none while nobody could say the vectors' length: then there are no vectors either. `ttl` are the
    rules by which what is written expires; `history`: what changes is kept as it was.
    """

    tenant_id: int
    scope_id: int
    language: str
    models: Sequence[EmbeddingModel] = ()
    followers: Sequence["Follower"] = ()
    ttl: TtlRules = NO_TTL
    history: bool = False

    @property
    def model_id(self) -> int | None:
        """The model that searches use."""
        return self.models[0].model_id if self.models else None


class Follower(Protocol):
    """Keeps what it derives from active chunks in step with them, in the writer's transaction."""

    def chunks_written(
        self,
        connection: Connection,
        scope: Scope,
        drafts: Sequence[ChunkDraft],
        chunk_ids: Sequence[int],
    ) -> None:
        """The drafts were stored under these ids; what stood there before was withdrawn."""

    def chunks_withdrawn(
        self, connection: Connection, scope: Scope, chunk_ids: Sequence[int]
    ) -> None:
        """The chunks are about to be retired, rewritten or removed."""

    def chunks_restored(
        self, connection: Connection, scope: Scope, chunk_ids: Sequence[int]
    ) -> None:
        """Retired chunks are active again, as they were written."""


def find_tenant(connection: Connection, name: str) -> int | None:
    """The id of a tenant, None if there is none of that name."""
    return find_value(connection, "find_tenant", {"name": name})


def find_namespace(connection: Connection, tenant_id: int, name: str) -> Namespace | None:
    """The namespace of that name, None before anything was written or set in it."""
    row = find_one(connection, "find_namespace", {"tenant_id": tenant_id, "name": name})
    if row is None:
        return None
    namespace_id, language, model_id, model, dimension, version, models, settings, profiles = row
    return Namespace(
        tenant_id=tenant_id,
        namespace_id=namespace_id,
        name=name,
        language=language,
        model_id=model_id,
        model=model,
        dimension=dimension,
        models=[EmbeddingModel(**found) for found in models],
        settings_version=version,
        settings=settings,
        profiles=profiles,
    )


def fetch_namespace(connection: Connection, tenant_id: int, name: str) -> Namespace:
    """The namespace of that name, which is known to be there; raises NotFoundError if it is not."""
    found = find_namespace(connection, tenant_id, name)
    if found is None:
        raise NotFoundError(f"there is no namespace {name!r}")
    return found


def claim_namespace(connection: Connection, *, tenant: str, name: str, language: str) -> Namespace:
    """The namespace, created without a model if it is new, so that settings can precede writes.

    Raises InvalidInputError as `open_namespace` does.
    """
    tenant_id = claim_tenant(connection, tenant)
    found = find_namespace(connection, tenant_id, name)
    return found or _make_namespace(connection, tenant_id, name, language, model_id=None)


def claim_tenant(connection: Connection, name: str) -> int:
    """The tenant's number, made if new; the rest of the transaction sees its rows."""
    execute(connection, "ensure_tenant", {"name": name})
    tenant_id = name_tenant(connection, name)
    assert tenant_id is not None
    return tenant_id


def name_tenant(connection: Connection, name: str) -> int | None:
    """Let the rest of the transaction see the tenant's rows; its id, None if there is none."""
    _announce_tenant(connection, name, None)
    tenant_id = find_tenant(connection, name)
    if tenant_id is not None:
        _announce_tenant(connection, name, tenant_id)
    return tenant_id


def _announce_tenant(connection: Connection, name: str, tenant_id: int | None) -> None:
    values = {"tenant": name, "tenant_id": "" if tenant_id is None else str(tenant_id)}
    fetch_all(connection, "name_tenant", values, "session.sql")


def _make_namespace(
    connection: Connection, tenant_id: int, name: str, language: str, model_id: int | None
) -> Namespace:
    check_language(connection, language)
    values = {"tenant_id": tenant_id, "name": name, "language": language, "model_id": model_id}
    execute(connection, "ensure_namespace", values)
    return fetch_namespace(connection, tenant_id, name)


def open_namespace(
    connection: Connection,
    *,
    tenant: str,
    name: str,
    language: str,
    model: str,
    dimension: int | None,
) -> Namespace:
    """The namespace, created with this language and model at its first write.

    Without a dimension, which nobody can say now, a new one has no model yet. Raises
    InvalidInputError for a language that the server has no text-search configuration for.
    """
    tenant_id = claim_tenant(connection, tenant)
    found = find_namespace(connection, tenant_id, name)
    if dimension is None:
        found = found or _make_namespace(connection, tenant_id, name, language, model_id=None)
    elif found is None or found.model_id is None:
        key = {"name": model, "dimension": dimension}
        execute(connection, "ensure_model", key)
        model_id: int = fetch_value(connection, "find_model", key)
        found = _make_namespace(connection, tenant_id, name, language, model_id)
    return found


def check_language(connection: Connection, language: str) -> None:
    """Raise InvalidInputError unless the server has a text-search configuration of that name."""
    if find_one(connection, "find_language", {"language": language}) is None:
        names: list[str] = fetch_values(connection, "list_languages")
        raise InvalidInputError(
            f"the server has no text-search configuration {language!r};"
            f" there are {', '.join(names)}"
        )


def check_model(namespace: Namespace, model: str, dimension: int | None) -> None:
    """Raise ModelMismatchError unless the namespace's vectors are this model's.

    Of a model whose dimension nobody can say now, the name decides.
    """
    expected = (model, dimension or namespace.dimension)
    if namespace.model is not None and (namespace.model, namespace.dimension) != expected:
        raise ModelMismatchError(
            f"namespace {namespace.name!r} holds vectors of {namespace.model}"
            f" ({namespace.dimension} dimensions), the embedder is {model} ({dimension});"
            " use the same embedder, another namespace, or 'memsense model add' to go over to it"
        )


def lock_scope(
    connection: Connection,
    namespace: Namespace,
    user_id: str,
    *,
    followers: Sequence[Follower] = (),
) -> Scope:
    """The user's scope, made if new, locked for this transaction."""
    key = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "user_id": user_id,
    }
    scope_id = find_value(connection, "lock_scope", key)
    if scope_id is None:
        execute(connection, "ensure_scope", key)
        scope_id = fetch_value(connection, "lock_scope", key)
    return _locked_scope(connection, namespace, scope_id, followers)


def _locked_scope(
    connection: Connection, namespace: Namespace, scope_id: int, followers: Sequence[Follower]
) -> Scope:
    """The scope with its language and models as they are now, which change while a writer waits:
    re-indexing takes all scopes' locks, and a new model is filled in under each scope's.
    """
    key = {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}
    language, model_id, kept, ttl, history = fetch_one(connection, "fetch_writing", key)
    known = [model.model_id for model in namespace.models]
    if (known[0] if known else None) != model_id or {model_id, *kept} - {None} != set(known):
        namespace = fetch_namespace(connection, namespace.tenant_id, namespace.name)
    return Scope(
        tenant_id=namespace.tenant_id,
        scope_id=scope_id,
        language=language,
        models=namespace.models,
        followers=followers,
        ttl=TtlRules.read(ttl),
        history=history,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownScope:
    """What a search must know of a user's memory before it runs the recall query.

    Recall tells what has become of it, so that what is outdated is found out: `has_lapsed`, that
    something has expired and is not swept yet, is known by that alone.
    """

    scope_id: int
    speakers: tuple[str, ...]
    indexed: bool
    language: str
    has_sessions: bool
    has_lapsed: bool = False


def find_scope(
    connection: Connection, tenant_id: int, namespace: str, user_id: str
) -> KnownScope | None:
    """What is known of a user's memory, None if there is none."""
    key = {"tenant_id": tenant_id, "namespace": namespace, "user_id": user_id}
    row = find_one(connection, "find_scope", key)
    return None if row is None else read_known(row)


def read_known(row: Sequence[Any]) -> KnownScope:
    """The memory in a row of find_scope, as it is or as it stood."""
    scope_id, speakers, indexed, language, has_sessions = row
    return KnownScope(
        scope_id=scope_id,
        speakers=tuple(speakers),
        indexed=indexed,
        language=language,
        has_sessions=has_sessions,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPlace:
    """Where a chunk stands: its scope and whose that is, its session and place in it."""

    scope: Scope
    user_id: str
    chunk_id: int
    session_id: str
    granularity: str
    ordinal: int
    last_ordinal: int
    status: str


def find_chunk_scope(
    connection: Connection,
    namespace: Namespace,
    chunk_id: int,
    *,
    followers: Sequence[Follower] = (),
) -> ChunkPlace:
    """Lock the scope of a chunk and say where it stands; NotFoundError outside this namespace."""
    key = {"tenant_id": namespace.tenant_id, "namespace": namespace.name, "chunk_id": chunk_id}
    row = find_one(connection, "lock_chunk", key)
    if row is None:
        raise NotFoundError(f"no chunk {chunk_id} in namespace {namespace.name!r}")
    scope_id, user_id, session_id, granularity, ordinal, last_ordinal, status = row
    return ChunkPlace(
        scope=_locked_scope(connection, namespace, scope_id, followers),
        user_id=user_id,
        chunk_id=chunk_id,
        session_id=session_id,
        granularity=granularity,
        ordinal=ordinal,
        last_ordinal=last_ordinal,
        status=status,
    )
