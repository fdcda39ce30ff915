"""The examination of a database in any state, as `memsense doctor` runs it."""

from collections.abc import Iterator

from memsense.client.models import open_named_embedder
from memsense.config import Settings
from memsense.db import (
    Pool,
    connect,
    database_errors,
    migrate,
    run_read,
    run_transaction,
)
from memsense.db.pooler import SEALED_POOLER, is_pooled
from memsense.db.queries import as_sql
from memsense.db.rows import Named, fetch_value, find_one
from memsense.db.security import Standing, as_searching, find_standing
from memsense.db.session import TenantConnection
from memsense.doctor import contents
from memsense.doctor.capacity import examine_capacity
from memsense.doctor.checks import describe_revision, examine_store
from memsense.doctor.findings import (
    FILE,
    Expected,
    Finding,
    Report,
    error,
    info,
    make_report,
    warning,
)
from memsense.doctor.plan import are_words_indexed, examine_plan
from memsense.doctor.server import (
    examine_pooler,
    examine_prepared,
    examine_security,
    examine_server,
)
from memsense.embed import Embedder, find_token_embedder
from memsense.errors import ConfigurationError
from memsense.search.profiles import ROUTES, Profile
from memsense.search.question import analyse_question
from memsense.search.recall.optional import ask_optional
from memsense.search.recall.run import RecallRequest, query_values, shape_of
from memsense.search.recall.statement import Indexed, recall_text
from memsense.search.settings import REMOVED, default_profile, tuned_profile
from memsense.store.scopes import Namespace, find_namespace, find_tenant
from memsense.text.lexemes import ask_lexemes


def check_up(
    url: str,
    *,
    settings: Settings,
    profile: Profile | None = None,
    embedder: Embedder | None = None,
    repair: bool = False,
    deep: bool = False,
    secrets: bool = False,
) -> Report:
    """Return the findings on the database at `url`; with `repair`, after repairing what can be.

    With `deep`, all exchanges are examined, and not the newest of each namespace alone. With
    `secrets`, what memories say is searched for them.

    Without a `profile` or an `embedder`, those of the settings are used. Raises
    ConnectionFailedError if no connection can be made.
    """
    own_embedder = embedder or open_named_embedder(settings)
    expected = Expected.of(settings, own_embedder, deep=deep, secrets=secrets)
    findings: list[Finding] = []
    with connect(url) as connection, database_errors():
        findings += examine_server(connection)
        findings += examine_prepared(connection)
        findings += examine_pooler(connection, prepares=settings.prepared_statements)
        state = migrate.read_state(connection)
        findings.append(describe_revision(state.current, state.head))
        if not state.is_current:
            return make_report(findings)
        standing = find_standing(connection)
        findings += examine_security(connection, standing)
        if standing.is_sealed and not settings.sealed_pooler and is_pooled(connection):
            findings.append(error(SEALED_POOLER, check="seal"))
        findings += examine_capacity(connection)
    if find_token_embedder(own_embedder) is None:
        text = f"{own_embedder.model} makes no token vectors: searches have no token scores"
        findings.append(info(text, check="tokens"))
    with Pool(
        url,
        min_size=1,
        max_size=1,
        timeout=settings.pool_timeout,
        tenant=settings.tenant,
        prepares=False,
    ) as pool:
        findings += _examine_contents(pool, standing, settings, profile, expected, repair=repair)
    return make_report(findings)


def _examine_contents(
    pool: Pool,
    standing: Standing,
    settings: Settings,
    profile: Profile | None,
    expected: Expected,
    *,
    repair: bool,
) -> Iterator[Finding]:
    """Examine what is stored, and how the server runs a search of it."""
    # Before anything is counted, so that the report shows what is left to do.
    if repair:
        yield from run_transaction(pool, lambda it: contents.repair(it, expected))

    def examine(connection: TenantConnection) -> list[Finding]:
        findings = [*examine_store(connection, expected)]
        try:
            # The profile in force in the namespace that the settings name, if there is one yet.
            ranking = profile
            tenant_id = find_tenant(connection, settings.tenant)
            if ranking is None and tenant_id is not None:
                namespace = find_namespace(connection, tenant_id, settings.namespace)
                if namespace is not None:
                    findings += _examine_settings(namespace)
                    ranking = tuned_profile(namespace, settings.profile)
            ranking = ranking or default_profile(None, settings.profile)
        except ConfigurationError as fault:
            no_profile = error(
                f"no search can be ranked: {fault}",
                "run 'memsense settings reset NAME', or unset MEMSENSE_PROFILE",
                check="settings",
            )
            return [*findings, no_profile]
        return [*findings, *_examine_recall(connection, ranking, standing)]

    yield from run_read(pool, examine)


def _examine_settings(namespace: Namespace) -> Iterator[Finding]:
    if ignored := sorted(REMOVED & namespace.settings.keys()):
        yield warning(
            f"settings of namespace {namespace.name!r} do nothing, because this version has no"
            f" such constants: {', '.join(ignored)}",
            f"run 'memsense settings reset {' '.join(ignored)}'",
            check="settings",
        )


def _examine_recall(
    connection: TenantConnection, profile: Profile, standing: Standing
) -> Iterator[Finding]:
    """Run the recall query over the largest memory, as searches run it, and examine its plan."""
    scope = find_one(connection, "find_largest_scope", file=FILE, of=Named)
    if scope is None:
        return
    # A stored text and its own vector serve as the question: every route then has work to do.
    request = RecallRequest(
        tenant_id=scope["tenant_id"],
        namespace=scope["namespace"],
        user_id=scope["user_id"],
        granularities=("turn", "session"),
        model_id=scope["model_id"],
        query_vector=scope["embedding"].to_numpy(),
        terms=ask_lexemes(scope["user_text"], "en", ()),
        profile=profile,
        top_k=10,
        indexed=Indexed(scope["scope_id"], scope["model_id"], scope["dimension"])
        if scope["indexed"]
        else None,
        optional=ask_optional(analyse_question(scope["user_text"]), profile),
    )
    shape = shape_of(request, lookups=standing.lookups)
    explain = as_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {recall_text(shape)}")
    # As whom searches run: under policies the plan may be another one.
    with as_searching(connection, scope["tenant_id"], standing):
        plan = fetch_value(connection, explain, query_values(request))
        indexed = are_words_indexed(connection) if standing.lookups else None
    yield from examine_plan(
        plan, ROUTES, are_words_indexed=indexed, has_vector_indexes=scope["indexed"]
    )
