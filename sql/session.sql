-- Settings that go ahead of a statement or a transaction, in the same round trip and only until its end: a
-- connection that a pooler lends to others keeps nothing of them.

-- name: announce
-- The role to run as, the tenant whose rows may be seen (policies compare them with memsense.tenant_id; a
-- tenant without a number yet is found by its name), and how to plan. Exact scans gain nothing from parallel
-- workers or just-in-time compilation at these sizes. Planning a recall costs more than running a stale
-- plan, so reads have generic plans. hnsw.* matters only to scopes with HNSW indexes. A stricter limit of
-- time, of the role or of the database, stays in force. Every name is qualified: the statement carries the
-- token, and pg_temp is searched for types before pg_catalog.
-- Parameters:
--   tenant, tenant_id   the tenant by name and by number, as texts; empty where there is none
--   role                what to run as; null for the user of the connection
--   token               what proves the tenant where tenants are sealed; null elsewhere
--   plan_cache_mode     how prepared statements are planned; null for the server's way
--   timeout             such as '30000ms'; null for none
--   search_path         with the schema of pgvector, if the database's lacks it; null to leave it
--   is_limited          whether the database sets transaction_timeout, which would end exports and index builds
SELECT
    pg_catalog.set_config('memsense.tenant', %(tenant)s::pg_catalog.text, true),
    pg_catalog.set_config('memsense.tenant_id', %(tenant_id)s::pg_catalog.text, true),
    pg_catalog.set_config('jit', 'off', true),
    pg_catalog.set_config('max_parallel_workers_per_gather', '0', true),
    pg_catalog.set_config('hnsw.iterative_scan', 'relaxed_order', true),
    CASE WHEN %(plan_cache_mode)s::pg_catalog.text IS NOT NULL
         THEN pg_catalog.set_config('plan_cache_mode', %(plan_cache_mode)s::pg_catalog.text, true) END,
    CASE WHEN %(timeout)s::pg_catalog.text IS NOT NULL
              AND (pg_catalog.current_setting('statement_timeout')::pg_catalog.interval
                       OPERATOR(pg_catalog.<) '1 ms'::pg_catalog.interval
                   OR pg_catalog.current_setting('statement_timeout')::pg_catalog.interval
                       OPERATOR(pg_catalog.>) %(timeout)s::pg_catalog.interval)
         THEN pg_catalog.set_config('statement_timeout', %(timeout)s::pg_catalog.text, true) END,
    CASE WHEN %(token)s::pg_catalog.text IS NOT NULL
         THEN pg_catalog.set_config('memsense.token', %(token)s::pg_catalog.text, true) END,
    CASE WHEN %(search_path)s::pg_catalog.text IS NOT NULL
         THEN pg_catalog.set_config('search_path', %(search_path)s::pg_catalog.text, true) END,
    CASE WHEN %(is_limited)s::pg_catalog.bool THEN pg_catalog.set_config('transaction_timeout', '0', true) END,
    CASE WHEN %(role)s::pg_catalog.text IS NOT NULL
         THEN pg_catalog.set_config('role', %(role)s::pg_catalog.text, true) END;

-- name: name_tenant
-- The same for the tenant alone, within a caller's transaction.
SELECT
    pg_catalog.set_config('memsense.tenant', %(tenant)s::pg_catalog.text, true),
    pg_catalog.set_config('memsense.tenant_id', %(tenant_id)s::pg_catalog.text, true),
    CASE WHEN %(token)s::pg_catalog.text IS NOT NULL
         THEN pg_catalog.set_config('memsense.token', %(token)s::pg_catalog.text, true) END;

-- name: clean_session
-- Removes what SQL of one tenant can leave in a session, before another tenant gets the connection. Sent as one
-- message of several statements: commands can't be replaced by objects of the session, and the last two
-- name nothing that its search path could change. The row says what can't be removed and only SQL other than
-- memsense's makes: statements prepared by SQL, a schema for temporary objects. And which statements the driver
-- has there. Not DISCARD ALL, after which every search is planned anew.
SET SESSION AUTHORIZATION DEFAULT;
RESET ROLE;
RESET ALL;
CLOSE ALL;
UNLISTEN *;
DISCARD TEMP;
DISCARD SEQUENCES;
SELECT pg_catalog.pg_advisory_unlock_all();
SELECT
    pg_catalog.count(*) FILTER (WHERE p.from_sql),
    pg_catalog.pg_my_temp_schema(),
    pg_catalog.array_agg(p.name)
FROM pg_catalog.pg_prepared_statements AS p;

-- name: find_standing
-- The role to run as: memsense_app, if it exists, has rights here and this user may take it. And whether it
-- reads the GIN indexes through the functions of lookups.sql: if these run as memsense_index, no index
-- serves it under the policies otherwise.
SELECT
    found.role,
    EXISTS (
        SELECT
        FROM pg_proc AS p
        JOIN pg_roles AS u ON u.rolname = coalesce(found.role, current_user::text)
        WHERE p.pronamespace = 'memsense'::regnamespace
          AND p.proname = 'find_postings'
          AND p.prosecdef
          AND NOT (u.rolsuper OR u.rolbypassrls)
          AND has_function_privilege(u.oid, p.oid, 'EXECUTE')
    ) AS lookups,
    EXISTS (
        SELECT FROM pg_policy AS p
        WHERE p.polrelid = 'memsense.chunks'::regclass AND pg_get_expr(p.polqual, p.polrelid) LIKE '%%find_token%%'
    ) AS is_sealed,
    current_user::text AS name,
    (SELECT concat_ws(', ', 'pg_catalog', quote_ident(n.nspname), 'pg_temp')
     FROM pg_extension AS e
     JOIN pg_namespace AS n ON n.oid = e.extnamespace
     WHERE e.extname = 'vector') AS search_path
FROM (SELECT (
    SELECT a.rolname::text
    FROM pg_roles AS a
    WHERE a.rolname = 'memsense_app'
      AND a.rolname <> current_user
      AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
      AND has_schema_privilege(a.oid, 'memsense', 'USAGE')
      AND pg_has_role(
          current_user, a.oid,
          CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
) AS role) AS found;

-- name: fetch_user
-- The user who runs statements here, and whether policies hold for that user.
SELECT u.rolname::text AS name, u.rolsuper OR u.rolbypassrls AS bypasses
FROM pg_roles AS u
WHERE u.rolname = current_user;

-- name: list_unguarded
-- The tables whose policies do not hold for the user who runs statements. The owner of a table is exempt
-- unless they are forced.
SELECT c.relname::text
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT (c.relrowsecurity
           AND (c.relforcerowsecurity
                OR NOT pg_has_role(coalesce(%(role)s::text, current_user::text), c.relowner, 'USAGE'))
           AND EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polname = 'one_tenant'))
ORDER BY c.relname;

-- name: list_leaky
-- If there are policies: the functions that keep a GIN index from serving under them.
SELECT p.proname::text
FROM pg_proc AS p
WHERE NOT p.proleakproof
  AND (p.oid = 'pg_catalog.arrayoverlap(anyarray,anyarray)'::regprocedure
       OR p.oid = 'pg_catalog.arraycontains(anyarray,anyarray)'::regprocedure
       OR p.pronamespace = 'memsense'::regnamespace AND p.proname LIKE 'scope\_%%')
  AND EXISTS (SELECT FROM pg_class AS c WHERE c.oid = 'memsense.chunks'::regclass AND c.relrowsecurity)
ORDER BY p.proname;
