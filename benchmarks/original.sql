-- The original's layout and query, rebuilt from their description to compare with: one wide table of
-- dimensionless vectors, every route a ranking of all of a user's rows, AND text search computed per row.

-- name: create_tables
CREATE SCHEMA original;
CREATE TABLE original.chunks (
    chunk_id bigint PRIMARY KEY,
    tenant text NOT NULL,
    scope text NOT NULL,
    user_id text,
    agent_id text,
    session_id text,
    task_tag text,
    content text NOT NULL,
    occurred_at timestamptz
);
CREATE TABLE original.vectors (
    chunk_id bigint PRIMARY KEY REFERENCES original.chunks,
    whole vector,
    user_side vector,
    assistant_side vector,
    next_user vector,
    personal_info vector,
    preferences vector,
    events vector
);

-- name: copy_chunks
INSERT INTO original.chunks
SELECT
    c.chunk_id, 'bench', 'bench', s.user_id, c.agent_id, c.session_id, c.task_tag,
    concat_ws(E'\n', nullif(c.user_text, ''), nullif(c.assistant_text, '')), c.occurred_at
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
ORDER BY c.chunk_id;

-- name: copy_vectors
INSERT INTO original.vectors
SELECT
    whole.chunk_id, whole.embedding::vector, own.embedding::vector, answer.embedding::vector,
    following.embedding::vector, personal_info.embedding::vector, preferences.embedding::vector,
    events.embedding::vector
FROM memsense.embeddings_full AS whole
LEFT JOIN memsense.embeddings_user AS own USING (chunk_id)
LEFT JOIN memsense.embeddings_assistant AS answer USING (chunk_id)
LEFT JOIN memsense.embeddings_user AS following ON following.previous_chunk_id = whole.chunk_id
LEFT JOIN memsense.embeddings_personal_info AS personal_info ON personal_info.chunk_id = whole.chunk_id
LEFT JOIN memsense.embeddings_preferences AS preferences ON preferences.chunk_id = whole.chunk_id
LEFT JOIN memsense.embeddings_events AS events ON events.chunk_id = whole.chunk_id
ORDER BY whole.chunk_id;

-- name: create_indexes
CREATE INDEX ON original.chunks (tenant, scope, user_id);
CREATE INDEX ON original.chunks USING gin (to_tsvector('simple', content));
ANALYZE original.chunks;
ANALYZE original.vectors;

-- name: search
WITH visible AS (
    SELECT c.*, v.whole, v.user_side, v.assistant_side, v.next_user, v.personal_info, v.preferences, v.events
    FROM original.chunks AS c
    JOIN original.vectors AS v USING (chunk_id)
    WHERE c.tenant = %(tenant)s
      AND c.scope = %(scope)s
      AND (%(session_id)s::text IS NULL OR c.session_id = %(session_id)s)
      AND (%(agent_id)s::text IS NULL OR c.agent_id = %(agent_id)s)
      AND (%(user_id)s::text IS NULL OR c.user_id = %(user_id)s)
),
whole AS (
    SELECT chunk_id, row_number() OVER (ORDER BY 1 - (whole <=> %(vector)s::vector) DESC) AS rn
    FROM visible WHERE whole IS NOT NULL LIMIT 80
),
user_side AS (
    SELECT chunk_id, row_number() OVER (ORDER BY 1 - (user_side <=> %(vector)s::vector) DESC) AS rn
    FROM visible WHERE user_side IS NOT NULL LIMIT 80
),
assistant_side AS (
    SELECT chunk_id, row_number() OVER (ORDER BY 1 - (assistant_side <=> %(vector)s::vector) DESC) AS rn
    FROM visible WHERE assistant_side IS NOT NULL LIMIT 80
),
next_user AS (
    SELECT chunk_id, row_number() OVER (ORDER BY 1 - (next_user <=> %(vector)s::vector) DESC) AS rn
    FROM visible WHERE next_user IS NOT NULL LIMIT 80
),
personal_info AS (
    SELECT chunk_id, row_number() OVER (ORDER BY 1 - (personal_info <=> %(vector)s::vector) DESC) AS rn
    FROM visible WHERE personal_info IS NOT NULL LIMIT 80
),
preferences AS (
    SELECT chunk_id, row_number() OVER (ORDER BY 1 - (preferences <=> %(vector)s::vector) DESC) AS rn
    FROM visible WHERE preferences IS NOT NULL LIMIT 80
),
events AS (
    SELECT chunk_id, row_number() OVER (ORDER BY 1 - (events <=> %(vector)s::vector) DESC) AS rn
    FROM visible WHERE events IS NOT NULL LIMIT 80
),
lexical AS (
    SELECT chunk_id, row_number() OVER (ORDER BY ts_rank_cd(document, question) DESC) AS rn
    FROM (
        SELECT chunk_id, to_tsvector('english', coalesce(task_tag, '') || ' ' || content) AS document
        FROM visible
    ) AS documents
    CROSS JOIN websearch_to_tsquery('english', %(question)s) AS question
    WHERE document @@ question
    LIMIT 80
),
merged AS (
    SELECT chunk_id, rn FROM whole
    UNION ALL SELECT chunk_id, rn FROM user_side
    UNION ALL SELECT chunk_id, rn FROM assistant_side
    UNION ALL SELECT chunk_id, rn FROM next_user
    UNION ALL SELECT chunk_id, rn FROM personal_info
    UNION ALL SELECT chunk_id, rn FROM preferences
    UNION ALL SELECT chunk_id, rn FROM events
    UNION ALL SELECT chunk_id, rn FROM lexical
),
fused AS (
    SELECT chunk_id, sum(1.0 / (15 + rn)) AS score
    FROM merged
    GROUP BY chunk_id
)
SELECT visible.chunk_id, visible.session_id, visible.task_tag, visible.content, visible.occurred_at, fused.score
FROM fused
JOIN visible USING (chunk_id)
ORDER BY fused.score DESC
LIMIT 32;

-- name: insert_chunk
INSERT INTO original.chunks (chunk_id, tenant, scope, user_id, session_id, content)
VALUES (%(chunk_id)s, 'bench', 'bench', %(user_id)s, %(session_id)s, %(content)s);

-- name: insert_vectors
INSERT INTO original.vectors (chunk_id, whole, user_side, assistant_side)
VALUES (%(chunk_id)s, %(vector)s::vector, %(vector)s::vector, %(vector)s::vector);

-- name: backfill
UPDATE original.vectors SET next_user = %(vector)s::vector WHERE chunk_id = %(chunk_id)s;

-- name: measure_size
SELECT sum(pg_total_relation_size(oid))::bigint
FROM pg_class
WHERE relnamespace = 'original'::regnamespace AND relkind = 'r';
