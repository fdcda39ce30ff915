-- HNSW indexes of large scopes, one for each route and model, over the scope's rows alone.
-- memsense/store/indexes.py fills in {table}, {index}, {scope_id}, {model_id} and {dimension}, because
-- CREATE INDEX takes no parameters. scope_id is unique over all tenants; recall has both ids as literals, so
-- that the planner knows that the partial index serves the query.
--
-- Adding a vector to such an index is most of the cost of a write. So a write leaves its vectors fresh: no
-- index has them, and recall compares them one by one until a job settles them. Either way every vector is
-- found, and only the row itself has to be right.

-- name: list_scopes
-- The scopes of a namespace with their number of active chunks, largest first.
SELECT s.scope_id, s.user_id, s.indexed, s.keeps_fresh, coalesce(sum(t.chunk_count), 0)::bigint AS chunks
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
LEFT JOIN memsense.scope_statistics AS t ON t.tenant_id = s.tenant_id AND t.scope_id = s.scope_id
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
GROUP BY s.scope_id, s.user_id, s.indexed, s.keeps_fresh
ORDER BY chunks DESC, s.scope_id;

-- name: lock_indexing
-- One optimisation at a time in a database: two concurrent index builds would wait for each other. The lock
-- lasts until its transaction ends, which does nothing else meanwhile.
SELECT pg_try_advisory_xact_lock(hashtext('memsense indexing'))
FROM set_config('idle_in_transaction_session_timeout', '0', true);

-- name: list_scope_indexes
-- The HNSW indexes of one scope, and whether each is complete.
SELECT c.relname::text, i.indisvalid AND i.indisready AS complete
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'memsense' AND c.relname LIKE 'embeddings\_%%\_scope\_' || %(scope_id)s::integer
ORDER BY c.relname;

-- name: list_scopes_with_indexes
-- The scopes of all namespaces that have any HNSW index, complete or not, by the indexes' names: on Citus, no
-- statement joins the catalogue with distributed tables.
SELECT DISTINCT substring(c.relname FROM '_scope_([0-9]+)$')::integer
FROM pg_class AS c
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind = 'i'
  AND c.relname ~ '^embeddings_.*_scope_[0-9]+$';

-- name: create_scope_index
-- ef_construction 200 takes three times as long to build as 64, once, and finds more at every search.
CREATE INDEX CONCURRENTLY {index} ON memsense.{table}
USING hnsw ((embedding::halfvec({dimension})) halfvec_ip_ops) WITH (m = 16, ef_construction = 200)
WHERE scope_id = {scope_id} AND model_id = {model_id} AND NOT fresh;

-- name: settle_vectors
-- Adds some fresh vectors of a memory, oldest first, to its HNSW indexes, if it has any. Waits for no other
-- transaction: a vector that is being changed is left for another time.
UPDATE memsense.embeddings AS e
SET fresh = false
FROM (
    SELECT chunk_id, model_id, route
    FROM memsense.embeddings
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND fresh
    ORDER BY chunk_id
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
) AS oldest
WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s AND e.fresh
  AND e.chunk_id = oldest.chunk_id AND e.model_id = oldest.model_id AND e.route = oldest.route;

-- name: count_fresh
SELECT count(*) FROM memsense.embeddings WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND fresh;

-- name: list_uneased
-- The complete HNSW indexes of one scope that writes still extend with the effort of a build.
SELECT c.relname::text
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'memsense' AND c.relname LIKE 'embeddings\_%%\_scope\_' || %(scope_id)s::integer
  AND i.indisvalid AND i.indisready
  AND NOT coalesce(c.reloptions, '{}') @> '{ef_construction=64}'
ORDER BY c.relname;

-- name: ease_scope_index
-- The index is built; from here on the setting is the effort of each write to find a vector's neighbours.
-- docs/beside/benchmarks.md has what that saves, and what it finds less.
ALTER INDEX memsense.{index} SET (ef_construction = 64);

-- name: wait_briefly
-- Waits for the index's lock only for a moment: behind a long transaction, all others would wait too. SET,
-- not set_config(), which does not reach the workers of Citus.
SET LOCAL lock_timeout = '1s';

-- name: drop_scope_index
DROP INDEX CONCURRENTLY IF EXISTS memsense.{index};

-- name: set_indexed
-- Set once all indexes of the scope leave fresh vectors out, so that a write may leave its vectors fresh.
UPDATE memsense.scopes
SET indexed = %(indexed)s, keeps_fresh = %(indexed)s
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
  AND (indexed, keeps_fresh) <> (%(indexed)s, %(indexed)s);

-- name: analyse_scope_table
ANALYZE memsense.{table};

-- name: list_never_analysed
-- The tables with rows that were never analysed, as far as the connecting user may do it. On Citus they lie on
-- the nodes, and none is listed.
SELECT c.relname::text
FROM pg_class AS c
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind = 'r' AND c.reltuples < 0
  AND pg_has_role(session_user, c.relowner, 'USAGE') AND pg_relation_size(c.oid) > 0
ORDER BY c.relname;

-- name: analyse_table
ANALYZE (SKIP_LOCKED) memsense.{table};
