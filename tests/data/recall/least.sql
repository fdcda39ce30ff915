-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
vec_full AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT chunk_id AS chunk_id, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_full
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND granularity = 'turn'
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
vec_user AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT chunk_id AS chunk_id, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND true
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
vec_assistant AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT chunk_id AS chunk_id, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_assistant
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND true
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
facet_personal_info AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT chunk_id AS chunk_id, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_personal_info
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND true
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
facet_preferences AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT chunk_id AS chunk_id, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_preferences
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND true
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
-- known: as in one_user.sql
-- unknown: as in one_user.sql
-- nearby: as in one_user.sql
-- terms: as in one_user.sql
-- drivers: as in one_user.sql
postings AS (
    SELECT
        t.granularity, t.word, t.idf, t.query, t.base, t.user_slope, t.assistant_slope, t.tag_slope, t.context_slope,
        t.assistant_weight, t.context_weight,
        c.chunk_id, c.tsv, c.user_length, c.assistant_length, c.tag_length, c.context_length,
        width_bucket(ts_rank(memsense.field_weights(), c.tsv, t.query)::float8, memsense.count_cuts()) AS code
    FROM terms AS t
    CROSS JOIN LATERAL (
        SELECT chunk_id, tsv, user_length, assistant_length, tag_length, context_length
        FROM memsense.chunks
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND memsense.scope_lexemes(scope_id, tsv)
              && ARRAY(SELECT scope.scope_id || ':' || t.lexeme FROM scope)
          AND memsense.scope_lexemes(scope_id, tsv)
              && ARRAY(SELECT scope.scope_id || ':' || drivers.lexeme FROM scope CROSS JOIN drivers
                       WHERE drivers.lexeme = t.lexeme OR t.lexeme NOT IN (SELECT lexeme FROM drivers))
          AND granularity = t.granularity
        OFFSET 0
    ) AS c
    WHERE t.document_frequency > 0
      AND %(weight_lexical)s > 0
      AND true
    OFFSET 0
)
frequencies AS (
    SELECT
        chunk_id,
        word,
        idf,
        CASE WHEN code <= memsense.count_codes() THEN (memsense.counts_user())[code]
             ELSE width_bucket(ts_rank('{0,0,0,1}', tsv, query)::float8, memsense.harmonic_cuts()) END
        * %(weight_user)s / greatest(base + user_slope * user_length, 1e-9)
        + CASE WHEN code <= memsense.count_codes() THEN (memsense.counts_assistant())[code]
               ELSE width_bucket(ts_rank('{0,0,1,1}', tsv, query)::float8, memsense.harmonic_cuts())
                  - width_bucket(ts_rank('{0,0,0,1}', tsv, query)::float8, memsense.harmonic_cuts()) END
        * assistant_weight / greatest(base + assistant_slope * assistant_length, 1e-9)
        + CASE WHEN code <= memsense.count_codes() THEN (memsense.counts_tags())[code]
               ELSE width_bucket(ts_rank('{0,1,1,1}', tsv, query)::float8, memsense.harmonic_cuts())
                  - width_bucket(ts_rank('{0,0,1,1}', tsv, query)::float8, memsense.harmonic_cuts()) END
        * %(weight_tag)s / greatest(base + tag_slope * tag_length, 1e-9)
        + CASE WHEN false THEN 0
               WHEN code <= memsense.count_codes() THEN (memsense.counts_context())[code]
               ELSE width_bucket(ts_rank('{1,1,1,1}', tsv, query)::float8, memsense.harmonic_cuts())
                  - width_bucket(ts_rank('{0,1,1,1}', tsv, query)::float8, memsense.harmonic_cuts()) END
        * context_weight / greatest(base + context_slope * context_length, 1e-9) AS tf
    FROM postings
    OFFSET 0
)
-- words: as in wording.sql
-- ceiling: as in one_user.sql
matched AS MATERIALIZED (
    SELECT chunk_id, score FROM words
)
-- lexical: as in wording.sql
routes AS MATERIALIZED (
    SELECT 1 AS route, turns, turn_scores, %(weight_vec_full)s::float8 AS weight FROM vec_full
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, %(weight_vec_user)s::float8 AS weight FROM vec_user
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, %(weight_vec_assistant)s::float8 AS weight FROM vec_assistant
    UNION ALL
    SELECT 5 AS route, turns, turn_scores, %(weight_lexical)s::float8 AS weight FROM lexical
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, %(weight_facet_personal_info)s::float8 AS weight FROM facet_personal_info
    UNION ALL
    SELECT 7 AS route, turns, turn_scores, %(weight_facet_preferences)s::float8 AS weight FROM facet_preferences
)
-- ranked: as in wording.sql
-- fused: as in one_user.sql
-- hits: as in wording.sql
-- candidates: as in one_user.sql
-- vectors: as in one_user.sql
state AS (
    SELECT jsonb_build_object(
        'scopes', (SELECT count(*) FROM scope),
        'recalled_at', statement_timestamp(),
        'model_id', (SELECT max(model_id) FROM scope),
        'settings_version', (SELECT max(settings_version) FROM scope),
        'counts', (SELECT jsonb_object_agg(granularity, chunk_count) FROM statistics),
        'languages', (SELECT languages FROM scope),
        'lexemes_version', (SELECT min(lexemes_version) FROM scope),
        'question', (SELECT jsonb_agg(DISTINCT lexeme ORDER BY lexeme) FROM (SELECT lexeme FROM question UNION ALL SELECT lexeme FROM nearby) AS asked),
        'matches', (SELECT count(*) FROM matched),
        'waiting', EXISTS (
            SELECT FROM memsense.jobs
            WHERE tenant_id = %(tenant_id)s AND scope_id = (SELECT scope_id FROM scope) AND kind = 'embed'
              AND coalesce(model_id = %(model_id)s, true)),
        'lapsed', EXISTS (
            SELECT FROM memsense.chunks WHERE tenant_id = %(tenant_id)s AND scope_id = (SELECT scope_id FROM scope) AND expires_at <= now()),
        'speakers', (SELECT speakers FROM scope),
        'introduced', (
            SELECT jsonb_agg(name) FROM memsense.mentions WHERE tenant_id = %(tenant_id)s AND scope_id = (SELECT scope_id FROM scope) AND kind = 'self'),
        'indexed', (SELECT indexed FROM scope),
        'ceiling', (SELECT jsonb_object_agg(granularity, ceiling) FROM ceiling)
    ) AS state
)
-- answer: as in one_user.sql
