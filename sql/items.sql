-- Items: values under a path and a key, as frameworks keep them with conversations. Every statement names
-- one tenant, one namespace and one collection, except for those that erase.

-- name: put_items
-- Writes each {place, path, key, value, words, user_id, session_id, ttl} of `items`, over an older one if
-- there is one; `words` are lexemes, `ttl` is in seconds. `delete_item_vectors` must follow, for the vectors of the older one.
INSERT INTO memsense.items
    (tenant_id, namespace_id, collection, path, key, value, words, user_id, session_id, ttl, expires_at)
SELECT
    %(tenant_id)s, %(namespace_id)s, %(collection)s, p.path, p.key, coalesce(p.value, 'null'),
    p.words::tsvector, p.user_id, p.session_id,
    make_interval(secs => p.ttl), now() + make_interval(secs => p.ttl)
FROM jsonb_to_recordset(%(items)s) AS p (
    place integer, path text[], key text, value jsonb, words text, user_id text, session_id text, ttl float8)
ORDER BY p.place
ON CONFLICT (tenant_id, namespace_id, collection, path, key) DO UPDATE SET
    value = EXCLUDED.value, words = EXCLUDED.words, user_id = EXCLUDED.user_id,
    session_id = EXCLUDED.session_id, ttl = EXCLUDED.ttl, expires_at = EXCLUDED.expires_at,
    updated_at = EXCLUDED.updated_at
RETURNING item_id, path, key;

-- name: delete_item_vectors
DELETE FROM memsense.item_vectors WHERE tenant_id = %(tenant_id)s AND item_id = ANY (%(item_ids)s::bigint[]);

-- name: insert_item_vector
INSERT INTO memsense.item_vectors (tenant_id, item_id, model_id, field, embedding)
VALUES (%(tenant_id)s, %(item_id)s, %(model_id)s, %(field)s, %(embedding)s);

-- name: delete_items
DELETE FROM memsense.items AS i
USING jsonb_to_recordset(%(items)s) AS w (path text[], key text)
WHERE i.tenant_id = %(tenant_id)s AND i.namespace_id = %(namespace_id)s AND i.collection = %(collection)s
  AND i.path = w.path AND i.key = w.key;

-- name: delete_items_at
-- All items at one path.
DELETE FROM memsense.items
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND collection = %(collection)s
  AND path = %(path)s::text[];

-- name: fetch_items
-- Those of the {place, path, key} of `items` that exist, each with its place.
SELECT w.place, i.item_id, i.path, i.key, i.value, i.created_at, i.updated_at, i.ttl IS NOT NULL AS expires
FROM jsonb_to_recordset(%(items)s) AS w (place integer, path text[], key text)
JOIN memsense.items AS i
  ON i.tenant_id = %(tenant_id)s AND i.namespace_id = %(namespace_id)s AND i.collection = %(collection)s
 AND i.path = w.path AND i.key = w.key
WHERE NOT %(omit_expired)s OR i.expires_at IS NULL OR i.expires_at > now();

-- name: search_items
-- The items below `prefix` that pass the filters: first those nearest to the question, then those that have
-- neither a vector nor a word of it, newest first.
--   vector, model_id    the question's vector and its model; null without a question
--   distance            cosine, inner_product or l2: the score is that similarity alone; null: the
--                       score fuses the ranks by cosine and by words, each 1 / (rrf_k + rank)
--   asked               the question's text
--   filters             {path, operator, operand} each, of the value; a missing value counts as null,
--                       and only values of the operand's type are greater or less
WITH kept AS (
    SELECT i.item_id, i.words, i.updated_at
    FROM memsense.items AS i
    WHERE i.tenant_id = %(tenant_id)s AND i.namespace_id = %(namespace_id)s AND i.collection = %(collection)s
      AND i.path >= %(prefix)s::text[] AND i.path < %(prefix)s::text[] || U&'\+10FFFF'::text
      AND i.path[1:cardinality(%(prefix)s::text[])] = %(prefix)s::text[]
      AND (NOT %(omit_expired)s OR i.expires_at IS NULL OR i.expires_at > now())
      AND NOT EXISTS (
          SELECT
          FROM jsonb_to_recordset(%(filters)s) AS f (path text[], operator text, operand jsonb)
          CROSS JOIN LATERAL (
              SELECT coalesce(i.value #> f.path, 'null') AS found, coalesce(f.operand, 'null') AS wanted) AS v
          WHERE NOT CASE f.operator
              WHEN '$eq' THEN v.found = v.wanted
              WHEN '$ne' THEN v.found <> v.wanted
              ELSE jsonb_typeof(v.found) = jsonb_typeof(v.wanted) AND CASE f.operator
                  WHEN '$gt' THEN v.found > v.wanted
                  WHEN '$gte' THEN v.found >= v.wanted
                  WHEN '$lt' THEN v.found < v.wanted
                  WHEN '$lte' THEN v.found <= v.wanted
              END
          END)
),
compared AS (
    SELECT v.item_id, v.field, coalesce(nullif(CASE coalesce(%(distance)s::text, 'cosine')
            WHEN 'l2' THEN -(v.embedding <-> %(vector)s::halfvec)
            WHEN 'inner_product' THEN -(v.embedding <#> %(vector)s::halfvec)
            ELSE 1 - (v.embedding <=> %(vector)s::halfvec)
        END, 'NaN'), 0) AS similarity
    FROM kept
    JOIN memsense.item_vectors AS v
      ON v.tenant_id = %(tenant_id)s AND v.item_id = kept.item_id AND v.model_id = %(model_id)s
),
by_vector AS (
    SELECT item_id, field, similarity, rank() OVER (ORDER BY similarity DESC) AS rank
    FROM (SELECT DISTINCT ON (item_id) * FROM compared ORDER BY item_id, similarity DESC, field) AS best
),
question AS (
    SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery AS query
    FROM unnest(%(asked)s::text[]) AS lexeme
    WHERE %(distance)s::text IS NULL
),
by_words AS (
    SELECT kept.item_id, ts_rank_cd(kept.words, question.query)::float8 AS score,
        rank() OVER (ORDER BY ts_rank_cd(kept.words, question.query) DESC) AS rank
    FROM kept
    JOIN question ON kept.words @@ question.query
),
scored AS (
    SELECT kept.item_id, kept.updated_at, v.field, v.similarity, v.rank AS vector_rank,
        w.score AS words_score, w.rank AS words_rank,
        CASE WHEN %(distance)s::text IS NOT NULL THEN v.similarity
             WHEN v.item_id IS NULL AND w.item_id IS NULL THEN NULL
             ELSE coalesce(1 / (%(rrf_k)s::float8 + v.rank), 0) + coalesce(1 / (%(rrf_k)s::float8 + w.rank), 0)
        END AS score
    FROM kept
    LEFT JOIN by_vector AS v USING (item_id)
    LEFT JOIN by_words AS w USING (item_id)
    ORDER BY score DESC NULLS LAST, kept.updated_at DESC, kept.item_id DESC
    LIMIT %(limit)s OFFSET %(offset)s
)
SELECT i.item_id, i.path, i.key, i.value, i.created_at, i.updated_at, i.ttl IS NOT NULL AS expires,
    s.score, s.field, s.similarity, s.vector_rank, s.words_score, s.words_rank
FROM scored AS s
JOIN memsense.items AS i ON i.tenant_id = %(tenant_id)s AND i.item_id = s.item_id
ORDER BY s.score DESC NULLS LAST, s.updated_at DESC, s.item_id DESC;

-- name: list_paths
-- The paths that hold any item, cut after `depth` labels, that match each {kind, path} of `matches`: a
-- prefix or a suffix in which * stands for any one label.
SELECT DISTINCT i.path[1:coalesce(%(depth)s::integer, cardinality(i.path))] AS path
FROM memsense.items AS i
WHERE i.tenant_id = %(tenant_id)s AND i.namespace_id = %(namespace_id)s AND i.collection = %(collection)s
  AND (NOT %(omit_expired)s OR i.expires_at IS NULL OR i.expires_at > now())
  AND NOT EXISTS (
      SELECT
      FROM jsonb_to_recordset(%(matches)s) AS m (kind text, path text[])
      WHERE cardinality(i.path) < cardinality(m.path)
         OR EXISTS (
             SELECT
             FROM unnest(m.path) WITH ORDINALITY AS s (label, place)
             WHERE s.label <> '*'
               AND s.label <> i.path[s.place + CASE m.kind
                   WHEN 'suffix' THEN cardinality(i.path) - cardinality(m.path) ELSE 0 END]))
ORDER BY path
LIMIT %(limit)s OFFSET %(offset)s;

-- name: refresh_items
-- Starts the time to live again of items that were read.
-- In UTC: Citus runs no UPDATE that calls a STABLE function with a column, as timestamptz + interval is.
UPDATE memsense.items
SET expires_at = (now() AT TIME ZONE 'UTC' + ttl) AT TIME ZONE 'UTC'
WHERE tenant_id = %(tenant_id)s AND item_id = ANY (%(item_ids)s::bigint[]) AND ttl IS NOT NULL;

-- name: sweep_items
DELETE FROM memsense.items
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND collection = %(collection)s
  AND expires_at <= now();

-- name: fetch_last_items
-- The latest items at one path, newest first.
SELECT item_id, path, key, value, created_at, updated_at, ttl IS NOT NULL AS expires
FROM memsense.items
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND collection = %(collection)s
  AND path = %(path)s::text[]
ORDER BY item_id DESC
LIMIT %(limit)s;

-- name: delete_items_of_user
DELETE FROM memsense.items
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND user_id = %(user_id)s;

-- name: delete_items_of_sessions
DELETE FROM memsense.items
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND user_id = %(user_id)s
  AND session_id = ANY (%(session_ids)s::text[]);

-- name: delete_items_of_chunks
-- The messages of a session's history that the chunks were made from.
DELETE FROM memsense.items AS i
USING memsense.chunks AS c
WHERE i.tenant_id = %(tenant_id)s AND i.namespace_id = %(namespace_id)s AND i.user_id = %(user_id)s
  AND c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s::bigint[])
  AND i.session_id = c.session_id AND i.key = ANY (c.message_ids);
