"""Scopes: whose memory a call is about, that is tenant, namespace and user, by name and number."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from psycopg.types.json import Jsonb

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
from memsense.db.seals import sign_tenant
from memsense.db.session import TenantConnection
from memsense.draft.expiry import NO_TTL, TtlRules
from memsense.errors import ModelMismatchError, NotFoundError
from memsense.text.configurations import AUTO, read_language
from memsense.types import ENGLISH_MODEL, ChunkDraft, EmbeddingModel, JsonValue

LEXEMES_VERSION = 2
"""Version of index entries that are made in Python; PostgreSQL made those of version 1."""

MOST_INTRODUCED = 3
"""Number of names that a user may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace of the database.

    `model` is the one that it is searched with; `models` are all that it has vectors of, that one
    first. `settings` are the values set in the database, `profiles` the stored ones with their
    constants, both as of `settings_version`.
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
    def key(self) -> dict[str, Any]:
        """The namespace as values of a statement."""
        ids = {"tenant_id": self.tenant_id, "namespace_id": self.namespace_id}
        return {**ids, "namespace": self.name}

    @property
    def in_use(self) -> EmbeddingModel | None:
        """The model that it is searched with, None before anything was embedded."""
        return None if self.model_id is None else self.models[0]

    @property
    def second(self) -> EmbeddingModel | None:
        """The model for languages that the one in use doesn't know, None if there is none."""
        if self.in_use is None or self.in_use.knows("*"):
            return None
        return next((model for model in self.models[1:] if model.languages is not None), None)


class ModelToOpen(NamedTuple):
    """A model that a process opens by itself: its name, its dimension, and how to open it."""

    name: str
    dimension: int
    embedder: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Most exchanges of a user; beyond it a write archives the oldest, or is refused."""

    limit: int
    archives: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One user's memory: the key of every statement of a write, and what a write must know of it.

    `language` is the code of all its texts' language, or "auto": then `last_language`, that of the
    last exchange, is the one of texts that are too short to show theirs.
    `models` are those that a write makes vectors of, the one that searches use first. It is empty
    as long as the dimension of the vectors is unknown; then none are made. `ttl` has the rules by
    which new chunks expire. With `history`, a chunk is stored as it was before it changes. `quota`
    is None where users may have as many exchanges as they like.
    `now` is the server's time when the scope was locked: a client's clock may be wrong.
    """

    tenant_id: int
    scope_id: int
    language: str = AUTO
    last_language: str = "en"
    models: Sequence[EmbeddingModel] = ()
    followers: Sequence["Follower"] = ()
    ttl: TtlRules = NO_TTL
    history: bool = False
    quota: Quota | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def key(self) -> dict[str, Any]:
        """The scope as values of a statement."""
        return {"tenant_id": self.tenant_id, "scope_id": self.scope_id}

    @property
    def model_id(self) -> int | None:
        """The model that searches use."""
        return self.models[0].model_id if self.models else None


class Follower(Protocol):
    """Code that updates what it derives from active chunks, in the writer's transaction."""

    def chunks_written(
        self,
        connection: Connection,
        scope: Scope,
        drafts: Sequence[ChunkDraft],
        chunk_ids: Sequence[int],
    ) -> None:
        """React to drafts stored under these ids; what stood there before was withdrawn."""

    def chunks_withdrawn(
        self, connection: Connection, scope: Scope, chunk_ids: Sequence[int]
    ) -> None:
        """React to chunks that are about to be retired, rewritten or removed."""

    def chunks_restored(
        self, connection: Connection, scope: Scope, chunk_ids: Sequence[int]
    ) -> None:
        """React to retired chunks that are active again, as they were written."""


def find_tenant(connection: Connection, name: str) -> int | None:
    """Return the number of a tenant, None if there is none of that name."""
    return find_value(connection, "find_tenant", {"name": name})


def find_namespace(connection: Connection, tenant_id: int, name: str) -> Namespace | None:
    """Return the namespace of that name, None before anything was written or set in it."""
    row = find_one(connection, "find_namespace", {"tenant_id": tenant_id, "name": name})
    if row is None:
        return None
    namespace_id, language, model_id, model, dimension, version, models, settings, profiles = row
    return Namespace(
        tenant_id=tenant_id,
        namespace_id=namespace_id,
        name=name,
        language=_read_stored(language),
        model_id=model_id,
        model=model,
        dimension=dimension,
        models=[EmbeddingModel(**values) for values in models],
        settings_version=version,
        settings=settings,
        profiles=profiles,
    )


def fetch_namespace(connection: Connection, tenant_id: int, name: str) -> Namespace:
    """Return the namespace of that name; raise NotFoundError if there is none."""
    namespace = find_namespace(connection, tenant_id, name)
    if namespace is None:
        raise NotFoundError(f"there is no namespace {name!r}")
    return namespace


def list_namespaces(connection: Connection, tenant: str) -> list[str]:
    """Return the names of a tenant's namespaces."""
    tenant_id = find_tenant(connection, tenant)
    if tenant_id is None:
        return []
    return fetch_values(connection, "list_namespaces", {"tenant_id": tenant_id})


def claim_namespace(connection: Connection, *, tenant: str, name: str, language: str) -> Namespace:
    """Return the namespace, created without a model if new: settings may precede writes.

    Raises InvalidInputError as `open_namespace` does.
    """
    tenant_id = claim_tenant(connection, tenant)
    namespace = find_namespace(connection, tenant_id, name)
    return namespace or _make_namespace(connection, tenant_id, name, language, model_id=None)


def claim_tenant(connection: Connection, name: str) -> int:
    """Return the tenant's number, created if new; the rest of the transaction sees its rows."""
    # Looked up first: on a Citus cluster, a row of `tenants` can't be inserted, not even in vain,
    # while any node is down.
    tenant_id = name_tenant(connection, name)
    if tenant_id is None:
        execute(connection, "ensure_tenant", {"name": name})
        tenant_id = name_tenant(connection, name)
    assert tenant_id is not None
    return tenant_id


def claim_model(connection: Connection, name: str, dimension: int) -> int:
    """Return the number of an embedding model, stored if it is new."""
    key = {"name": name, "dimension": dimension}
    model_id: int | None = find_value(connection, "find_model", key)
    return model_id or fetch_value(connection, "claim_model", key)


def name_tenant(connection: Connection, name: str, seal_key: str | None = None) -> int | None:
    """Let the transaction see a tenant's rows; return its number, None if there is none.

    Where tenants are sealed, a caller's own connection needs the `seal_key`.
    """
    # By its name first: under row-level security not even its number can be read before.
    _announce_tenant(connection, name, None, seal_key)
    tenant_id = find_tenant(connection, name)
    if tenant_id is not None:
        _announce_tenant(connection, name, tenant_id, seal_key)
    return tenant_id


def _announce_tenant(
    connection: Connection, name: str, tenant_id: int | None, seal_key: str | None = None
) -> None:
    if seal_key is None and isinstance(connection, TenantConnection):
        seal_key = connection.session.seal_key
    values = {
        "tenant": name,
        "tenant_id": "" if tenant_id is None else str(tenant_id),
        "token": seal_key and sign_tenant(seal_key, name, tenant_id),
    }
    fetch_all(connection, "name_tenant", values, "session.sql")


def _make_namespace(
    connection: Connection, tenant_id: int, name: str, language: str, model_id: int | None
) -> Namespace:
    """Create the namespace, unless another transaction was quicker, and return it."""
    code = read_language(language)
    values = {"tenant_id": tenant_id, "name": name, "language": code, "model_id": model_id}
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
    second: ModelToOpen | None = None,
) -> Namespace:
    """Return the namespace, created with this language and model by its first write.

    A new namespace also gets the `second` model, for the languages that the first doesn't know. If
    the dimension is unknown (None), it has no model yet. Raises InvalidInputError for an unknown
    language.
    """
    tenant_id = claim_tenant(connection, tenant)
    namespace = find_namespace(connection, tenant_id, name)
    if dimension is None:
        namespace = namespace or _make_namespace(
            connection, tenant_id, name, language, model_id=None
        )
    elif namespace is None or namespace.model_id is None:
        # A namespace that has settings or projects already gets its model at its first write.
        model_id = claim_model(connection, model, dimension)
        namespace = _make_namespace(connection, tenant_id, name, language, model_id)
        if second is not None and namespace.model_id == model_id:
            second_id = claim_model(connection, second.name, second.dimension)
            added = EmbeddingModel(model_id=second_id, languages=("*",), **second._asdict())
            keep_both(connection, namespace, added, in_use={})
            namespace = fetch_namespace(connection, tenant_id, name)
    return namespace


def keep_both(
    connection: Connection,
    namespace: Namespace,
    added: EmbeddingModel,
    *,
    in_use: Mapping[str, JsonValue],
) -> None:
    """Let writes make vectors of a further model in addition to those of the one in use.

    Args:
        connection: A transaction.
        namespace: The namespace, which has a model in use.
        added: The further model.
        in_use: How a process opens the model in use; empty if the program brings it.
    """
    # What the English model has learnt of other languages is worth less than words.
    english = ["en"] if namespace.model == ENGLISH_MODEL else None
    added_languages = None if added.languages is None else list(added.languages)
    for model_id, embedder, languages in (
        (namespace.model_id, in_use, english),
        (added.model_id, added.embedder, added_languages),
    ):
        row = {"model_id": model_id, "embedder": Jsonb(dict(embedder)), "languages": languages}
        execute(connection, "keep_model", {**namespace.key, **row}, "models.sql")


def _read_stored(language: str) -> str:
    """Return a stored language; "auto" for a configuration that someone had made."""
    return language if len(language) == 2 else AUTO  # noqa: PLR2004 (a code)


def check_model(namespace: Namespace, model: str, dimension: int | None) -> None:
    """Raise ModelMismatchError unless the namespace's vectors are of this model.

    If the dimension is unknown (None), the name alone decides.
    """
    expected = (model, dimension or namespace.dimension)
    if namespace.model is not None and (namespace.model, namespace.dimension) != expected:
        raise ModelMismatchError(
            f"namespace {namespace.name!r} holds vectors of {namespace.model}"
            f" ({namespace.dimension} dimensions), the embedder is {model} ({dimension});"
            " use the same embedder, another namespace, or 'memsense model add' to switch to it"
        )


def lock_scope(
    connection: Connection,
    namespace: Namespace,
    user_id: str,
    *,
    followers: Sequence[Follower] = (),
) -> Scope:
    """Return the user's scope, created if new, locked until the transaction ends."""
    key = {**namespace.key, "user_id": user_id}
    # Every write takes this lock first, so that a memory's statistics and ordinals never race.
    scope_id = find_value(connection, "lock_scope", key)
    if scope_id is None:
        execute(connection, "ensure_scope", key)
        scope_id = fetch_value(connection, "lock_scope", key)
    return _locked_scope(connection, namespace, scope_id, followers)


def _locked_scope(
    connection: Connection, namespace: Namespace, scope_id: int, followers: Sequence[Follower]
) -> Scope:
    """Return the scope with the namespace's language, models and settings as they are now."""
    # Read again under the lock, for they change while a writer waits for it: re-indexing takes all
    # scopes' locks, and a new model is filled in under each scope's.
    key = {**namespace.key, "scope_id": scope_id}
    row = fetch_one(connection, "fetch_writing", key)
    language, last_language, model_id, now, other_ids, settings = row
    model_ids = [model.model_id for model in namespace.models]
    if (model_ids[0] if model_ids else None) != model_id or {model_id, *other_ids} - {None} != set(
        model_ids
    ):
        namespace = fetch_namespace(connection, namespace.tenant_id, namespace.name)
    return Scope(
        tenant_id=namespace.tenant_id,
        scope_id=scope_id,
        language=_read_stored(language),
        last_language=last_language or "en",
        models=namespace.models,
        followers=followers,
        ttl=TtlRules.read(settings.get("ttl")),
        history=settings.get("history") == "on",
        quota=Quota(limit=limit, archives=settings.get("on_quota") == "archive")
        if (limit := settings.get("user_quota"))
        else None,
        now=now,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownScope:
    """The facts of a user's memory that a search needs before it runs the recall query.

    Recall returns the same facts, so that an outdated copy is noticed. `introduced` are the names
    that the user has given herself, at most three, the most frequent first. `languages` are codes
    of the memory's texts, the most frequent first. Some of its index entries may be of an earlier
    `lexemes_version`. `has_lapsed` (something has expired and is not swept yet) is known from
    recall alone. Of all users together, `scope_id` is 0, and only languages and version are known.
    """

    scope_id: int
    speakers: tuple[str, ...]
    introduced: tuple[str, ...]
    indexed: bool
    has_sessions: bool
    languages: tuple[str, ...] = ()
    lexemes_version: int = LEXEMES_VERSION
    has_lapsed: bool = False


def find_scope(
    connection: Connection, tenant_id: int, namespace: str, user_id: str
) -> KnownScope | None:
    """Return what a search must know of a user's memory, None if there is none."""
    key = {"tenant_id": tenant_id, "namespace": namespace, "user_id": user_id}
    row = find_one(connection, "find_scope", key)
    return None if row is None else read_known(row)


def read_known(row: Sequence[Any]) -> KnownScope:
    """Return the memory of a row of find_scope, as it is or as it was at a moment."""
    scope_id, speakers, introduced, indexed, has_sessions, languages, lexemes_version = row
    return KnownScope(
        scope_id=scope_id,
        speakers=tuple(speakers),
        introduced=choose_introduced(introduced),
        indexed=indexed,
        has_sessions=has_sessions,
        languages=tuple(languages),
        lexemes_version=lexemes_version,
    )


def find_every_scope(connection: Connection, tenant_id: int, namespace: str) -> KnownScope:
    """Return what a search must know of the memories of all users together."""
    key = {"tenant_id": tenant_id, "namespace": namespace}
    languages, lexemes_version = fetch_one(connection, "find_every_scope", key)
    return KnownScope(
        scope_id=0,
        speakers=(),
        introduced=(),
        indexed=False,
        has_sessions=True,
        languages=tuple(languages),
        lexemes_version=lexemes_version or LEXEMES_VERSION,
        has_lapsed=True,
    )


def choose_default(scope_state: KnownScope | None) -> str:
    """Return the language of a text that is too short to show one, where a namespace says none."""
    return scope_state.languages[0] if scope_state and scope_state.languages else "en"


def choose_introduced(names: Sequence[str]) -> tuple[str, ...]:
    """Return the three names that a user gives herself most often, the most frequent first.

    Others are rather those of letters and stories that she writes.
    """
    counts = Counter(names)
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:MOST_INTRODUCED])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPlace:
    """The place of a chunk: its scope, user and session, and its position in the session."""

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
    """Lock a chunk's scope and return its place; NotFoundError outside this namespace."""
    key = {**namespace.key, "chunk_id": chunk_id}
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
