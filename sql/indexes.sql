-- A large scope gets HNSW indexes of its own, one a route, over its rows alone.
-- {table}, {index}, {scope_id} and {dimension} are filled in by memsense/store/indexes.py, because
-- CREATE INDEX takes no parameters. scope_id is unique over all tenants, and recall names it as a
-- literal, which is how the planner knows that the partial index serves the query.

-- name: list_scopes
-- The scopes of a namespace with their count of active chunks, the largest first.
SELECT s.scope_id, s.user_id, s.indexed, coalesce(sum(t.chunk_count), 0)::bigint AS chunks
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
LEFT JOIN memsense.scope_statistics AS t ON t.tenant_id = s.tenant_id AND t.scope_id = s.scope_id
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
GROUP BY s.scope_id, s.user_id, s.indexed
ORDER BY chunks DESC, s.scope_id;

-- name: lock_indexing
-- One optimisation at a time in a database: two concurrent index builds would wait for each other.
SELECT pg_try_advisory_lock(hashtext('memsense indexing'));

-- name: unlock_indexing
SELECT pg_advisory_unlock(hashtext('memsense indexing'));

-- name: list_scope_indexes
-- The HNSW indexes of one scope, and whether each is complete.
SELECT c.relname::text, i.indisvalid AND i.indisready AS complete
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'memsense' AND c.relname LIKE 'embeddings\_%%\_scope\_' || %(scope_id)s::integer
ORDER BY c.relname;

-- name: list_scopes_with_indexes
-- The scopes of a namespace that have any HNSW index, complete or not.
SELECT DISTINCT s.scope_id
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
JOIN pg_class AS c ON c.relname LIKE 'embeddings\_%%\_scope\_' || s.scope_id
JOIN pg_namespace AS p ON p.oid = c.relnamespace AND p.nspname = 'memsense'
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
ORDER BY s.scope_id;

-- name: create_scope_index
-- ef_construction 200 takes three times as long to build as 64, once, and finds more at every search.
CREATE INDEX CONCURRENTLY {index} ON memsense.{table}
USING hnsw ((embedding::halfvec({dimension})) halfvec_ip_ops) WITH (m = 16, ef_construction = 200)
WHERE scope_id = {scope_id};

-- name: drop_scope_index
DROP INDEX CONCURRENTLY IF EXISTS memsense.{index};

-- name: set_indexed
UPDATE memsense.scopes
SET indexed = %(indexed)s
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND indexed <> %(indexed)s;

-- name: analyse_scope_table
ANALYZE memsense.{table};
