-- The models that a namespace has vectors of: the one that searches use, and any others. Every
-- statement names one tenant. {texts} are the parts of a chunk `c` that are embedded.

-- name: embedded_texts
LATERAL (
    VALUES
        ('full', coalesce(nullif(c.session_text, ''),
            concat_ws(E'\n', nullif(c.user_text, ''), nullif(c.assistant_text, '')))),
        ('user', substr(c.user_text, c.opening_length + 1)),
        ('assistant', c.assistant_text),
        ('personal_info', c.personal_info),
        ('preferences', c.preferences),
        ('events', c.events)
) AS w (route, text)

-- name: keep_model
-- From now on writes make vectors of the model.
INSERT INTO memsense.namespace_models (tenant_id, namespace_id, model_id, embedder, languages)
VALUES (%(tenant_id)s, %(namespace_id)s, %(model_id)s, %(embedder)s, %(languages)s)
ON CONFLICT (tenant_id, namespace_id, model_id) DO UPDATE SET
    state = 'kept',
    languages = coalesce(EXCLUDED.languages, namespace_models.languages),
    embedder = CASE WHEN EXCLUDED.embedder = '{}' THEN namespace_models.embedder ELSE EXCLUDED.embedder END;

-- name: use_model
-- Switches searches to the model; a new settings_version tells every process.
UPDATE memsense.namespaces
SET model_id = %(model_id)s, settings_version = settings_version + 1
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s;

-- name: leave_model
UPDATE memsense.namespace_models
SET left_at = %(now)s
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND model_id = %(model_id)s;

-- name: begin_dropping
UPDATE memsense.namespace_models
SET state = 'dropping'
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND model_id = %(model_id)s;

-- name: delete_jobs_of_model
DELETE FROM memsense.jobs
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND model_id = %(model_id)s;

-- name: end_dropping
DELETE FROM memsense.namespace_models
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND model_id = %(model_id)s
  AND state = 'dropping';

-- name: list_models
SELECT
    m.model_id, m.name, m.dimension, coalesce(k.embedder, '{}') AS embedder, k.languages, m.model_id = n.model_id AS in_use,
    coalesce(k.state = 'dropping', false) AS dropping, k.added_at, k.left_at
FROM memsense.namespaces AS n
CROSS JOIN memsense.models AS m
LEFT JOIN memsense.namespace_models AS k
  ON k.tenant_id = %(tenant_id)s AND k.namespace_id = n.namespace_id AND k.model_id = m.model_id
WHERE n.tenant_id = %(tenant_id)s AND n.namespace_id = %(namespace_id)s
  AND (m.model_id = n.model_id OR k.model_id IS NOT NULL)
ORDER BY m.model_id <> n.model_id, m.model_id;

-- name: count_vectors
SELECT count(*)
FROM memsense.embeddings AS e
JOIN memsense.scopes AS s ON s.tenant_id = %(tenant_id)s AND s.scope_id = e.scope_id
WHERE e.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s AND e.model_id = %(model_id)s;

-- name: count_lacking
-- How many texts of active chunks lack their vector of a model.
SELECT count(*)
FROM memsense.scopes AS s
JOIN memsense.chunks AS c ON c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id AND c.status = 'active'
CROSS JOIN {texts}
WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s AND w.text ~ '\S'
  AND NOT %(model_id)s = ANY (c.unknown_to)
  AND NOT EXISTS (
      SELECT FROM memsense.embeddings AS e
      WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id
        AND e.model_id = %(model_id)s AND e.route = w.route);

-- name: list_indexed_memories
SELECT scope_id
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND indexed;

-- name: count_unindexed
-- How many of some memories lack a complete HNSW index of a model's vectors. The catalogue alone is read: on
-- Citus, no statement joins it with distributed tables.
SELECT count(*)
FROM unnest(%(scope_ids)s::integer[]) AS s (scope_id)
WHERE EXISTS (
    SELECT
    FROM unnest(%(tables)s::text[]) AS t (name)
    WHERE NOT EXISTS (
        SELECT
        FROM pg_class AS i
        JOIN pg_index AS x ON x.indexrelid = i.oid
        WHERE i.relnamespace = 'memsense'::regnamespace AND x.indisvalid AND x.indisready
          -- what an earlier version built serves as well
          AND i.relname IN (
              t.name || '_settled_model_' || %(model_id)s::integer || '_scope_' || s.scope_id,
              t.name || '_model_' || %(model_id)s::integer || '_scope_' || s.scope_id)));

-- name: list_memories
SELECT scope_id
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
ORDER BY scope_id;

-- name: enqueue_memories
-- A job for each memory, which leads to the embedding of its texts with a model.
INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id, model_id)
SELECT tenant_id, namespace_id, %(kind)s, scope_id, %(model_id)s
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
ORDER BY scope_id
ON CONFLICT (tenant_id, namespace_id, scope_id, kind, chunk_id, model_id)
DO UPDATE SET run_at = EXCLUDED.run_at, attempts = 0, dead_at = NULL, last_error = NULL, errors = '[]';

-- name: list_lacking
-- The next active chunks of a memory that lack a vector of a model which knows their text, or their tokens if it
-- makes any; with `only_kept` none once the model is being dropped. A null limit is none.
SELECT c.chunk_id
FROM memsense.scopes AS s
JOIN memsense.chunks AS c ON c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id AND c.status = 'active'
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s AND c.chunk_id > %(after)s
  AND array_position(c.unknown_to, %(model_id)s) IS NULL
  AND (NOT %(only_kept)s OR EXISTS (
      SELECT FROM memsense.namespace_models AS k
      WHERE k.tenant_id = %(tenant_id)s AND k.namespace_id = s.namespace_id AND k.model_id = %(model_id)s
        AND k.state = 'kept'))
  AND (EXISTS (
          SELECT FROM {texts}
          WHERE w.text ~ '\S' AND NOT EXISTS (
              SELECT FROM memsense.embeddings AS e
              WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id
                AND e.model_id = %(model_id)s AND e.route = w.route))
       OR (%(tokens)s AND c.granularity = 'turn' AND NOT EXISTS (
          SELECT FROM memsense.token_vectors AS t
          WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = c.scope_id AND t.chunk_id = c.chunk_id
            AND t.model_id = %(model_id)s)))
ORDER BY c.chunk_id
LIMIT %(limit)s::bigint;

-- name: delete_vectors
-- A batch of a model's vectors of one memory.
DELETE FROM memsense.embeddings
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND model_id = %(model_id)s
  AND chunk_id IN (
      SELECT chunk_id FROM memsense.embeddings
      WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND model_id = %(model_id)s
      ORDER BY chunk_id
      LIMIT %(limit)s);

-- name: delete_model_tokens
DELETE FROM memsense.token_vectors
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND model_id = %(model_id)s
  AND chunk_id IN (
      SELECT chunk_id FROM memsense.token_vectors
      WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND model_id = %(model_id)s
      ORDER BY chunk_id
      LIMIT %(limit)s);
