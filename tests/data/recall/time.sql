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
vec_next_user AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT previous_chunk_id AS chunk_id, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND previous_chunk_id IS NOT NULL
        ORDER BY distance, previous_chunk_id
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
facet_events AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(-distance) AS turn_scores
    FROM (
        SELECT chunk_id AS chunk_id, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_events
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
words AS (
    SELECT chunk_id, round(1e9 * (%(k1)s + 1) * sum(best)) / 1e9 AS score
    FROM (
        SELECT chunk_id, word, max(idf * tf / (tf + %(k1)s)) AS best
        FROM frequencies
        WHERE tf > 0
        GROUP BY chunk_id, word
    ) AS spelt
    GROUP BY chunk_id
)
-- ceiling: as in one_user.sql
matched AS MATERIALIZED (
    SELECT chunk_id, score FROM words
)
lexical AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(score) AS turn_scores
    FROM (
        SELECT chunk_id, score
        FROM matched
        ORDER BY score DESC, chunk_id
        LIMIT %(route_limit)s
    ) AS best
)
time_share AS MATERIALIZED (
    SELECT ceil(
        least(%(time_depth)s, greatest(%(time_least)s, sum(chunk_count) * %(time_part)s::float8)) / %(time_stretches)s
    )::integer AS share
    FROM statistics
    WHERE granularity = 'turn'
)
time_within AS MATERIALIZED (
    SELECT c.chunk_id, c.scope_id, c.occurred_at, asked.confidence
    FROM scope
    CROSS JOIN unnest(
        %(time_since)s::timestamptz[], %(time_until)s::timestamptz[],
        %(time_wall_since)s::timestamptz[], %(time_wall_until)s::timestamptz[], %(time_confidence)s::float8[]
    ) AS asked (since, until, wall_since, wall_until, confidence)
    CROSS JOIN LATERAL (
        SELECT c.chunk_id, c.scope_id, c.occurred_at
        FROM memsense.chunks AS c
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = scope.scope_id
          AND c.occurred_at >= least(asked.since, asked.wall_since)
          AND c.occurred_at < greatest(asked.until, asked.wall_until)
          AND CASE WHEN c.occurred_zone_known THEN c.occurred_at >= asked.since AND c.occurred_at < asked.until
                   ELSE c.occurred_at >= asked.wall_since AND c.occurred_at < asked.wall_until END
          AND c.granularity = 'turn'
          AND c.tsv IS NOT NULL
          AND true
        ORDER BY c.occurred_at DESC NULLS LAST, c.chunk_id DESC
        LIMIT (SELECT share FROM time_share)
    ) AS c
)
time_found AS MATERIALIZED (
    SELECT chunk_id, scope_id, occurred_at, max(confidence) AS confidence
    FROM (
        SELECT chunk_id, scope_id, occurred_at, confidence FROM time_within
        UNION ALL
        SELECT c.chunk_id, c.scope_id, c.occurred_at, asked.confidence
        FROM memsense.chunks AS c
        CROSS JOIN unnest(
            %(time_since)s::timestamptz[], %(time_until)s::timestamptz[],
            %(time_wall_since)s::timestamptz[], %(time_wall_until)s::timestamptz[], %(time_confidence)s::float8[]
        ) AS asked (since, until, wall_since, wall_until, confidence)
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND c.chunk_id = ANY (ARRAY(
              SELECT chunk_id FROM matched
              WHERE (SELECT count(*) FROM time_within) >= (SELECT share FROM time_share)))
          AND c.granularity = 'turn'
          AND c.occurred_at >= least(asked.since, asked.wall_since)
          AND c.occurred_at < greatest(asked.until, asked.wall_until)
          AND CASE WHEN c.occurred_zone_known THEN c.occurred_at >= asked.since AND c.occurred_at < asked.until
                   ELSE c.occurred_at >= asked.wall_since AND c.occurred_at < asked.wall_until END
        UNION ALL
        SELECT c.chunk_id, c.scope_id, c.occurred_at, 1
        FROM memsense.chunks AS c
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND c.chunk_id = ANY (%(time_chunk_ids)s::bigint[])
          AND c.tsv IS NOT NULL
          AND true
    ) AS found
    GROUP BY chunk_id, scope_id, occurred_at
)
time AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(score) AS turn_scores,
        NULL::bigint[] AS sessions,
        NULL::float8[] AS session_scores
    FROM (
        (SELECT
             chunk_id,
             max(confidence) * (1 + greatest(max(cosine), 0)
                 + coalesce(max(words) / nullif((SELECT max(score) FROM matched), 0), 0)) / 3 AS score
         FROM (
             SELECT chunk_id, confidence, NULL::float8 AS cosine, NULL::float8 AS words FROM time_found
             UNION ALL
             SELECT chunk_id, NULL, cosine, NULL FROM (
                 SELECT chunk_id, -(embedding <#> %(query_vector)s::halfvec) AS cosine
                 FROM memsense.embeddings_full
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = (SELECT scope_id FROM scope)
                   AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM time_found))
                   AND model_id = %(model_id)s
                   AND true
             ) AS embedded
             UNION ALL
             SELECT chunk_id, NULL, NULL, score FROM matched
         ) AS found
         WHERE NOT %(time_alone)s
         GROUP BY chunk_id
         HAVING max(confidence) > 0
         ORDER BY score DESC, chunk_id
         LIMIT %(route_limit)s)
        UNION ALL
        (SELECT chunk_id, confidence AS score
         FROM (
             SELECT
                 chunk_id, occurred_at, confidence,
                 row_number() OVER (PARTITION BY confidence ORDER BY occurred_at, chunk_id) AS place,
                 count(*) OVER (PARTITION BY confidence) AS places
             FROM time_found
             WHERE %(time_alone)s
         ) AS spread
         WHERE place * %(route_limit)s / places > (place - 1) * %(route_limit)s / places
         ORDER BY confidence DESC, occurred_at, chunk_id
         LIMIT %(route_limit)s)
    ) AS best
)
routes AS MATERIALIZED (
    SELECT 1 AS route, turns, turn_scores, %(weight_vec_full)s::float8 AS weight FROM vec_full
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, %(weight_vec_user)s::float8 AS weight FROM vec_user
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, %(weight_vec_assistant)s::float8 AS weight FROM vec_assistant
    UNION ALL
    SELECT 4 AS route, turns, turn_scores, %(weight_vec_next_user)s::float8 AS weight FROM vec_next_user
    UNION ALL
    SELECT 5 AS route, turns, turn_scores, %(weight_lexical)s::float8 AS weight FROM lexical
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, %(weight_facet_personal_info)s::float8 AS weight FROM facet_personal_info
    UNION ALL
    SELECT 7 AS route, turns, turn_scores, %(weight_facet_preferences)s::float8 AS weight FROM facet_preferences
    UNION ALL
    SELECT 8 AS route, turns, turn_scores, %(weight_facet_events)s::float8 AS weight FROM facet_events
    UNION ALL
    SELECT 10 AS route, turns, turn_scores, %(weight_time)s::float8 AS weight FROM time
)
ranked AS (
    SELECT unnest(chunk_ids) AS chunk_id, weight / (%(rrf_k)s + generate_subscripts(chunk_ids, 1)) AS share
    FROM (
        SELECT route, weight, turns AS chunk_ids, turn_scores AS scores FROM routes
    ) AS listed
)
-- fused: as in one_user.sql
hits AS (
    SELECT
        array_agg(route) FILTER (WHERE chunk_ids IS NOT NULL) AS hit_routes,
        array_agg(cardinality(chunk_ids)) FILTER (WHERE chunk_ids IS NOT NULL) AS hit_counts,
        string_agg(array_send(chunk_ids), '') AS hit_chunk_ids,
        string_agg(array_send(scores), '') AS hit_scores
    FROM (
        SELECT route, weight, turns AS chunk_ids, turn_scores AS scores FROM routes
    ) AS listed
)
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
        'ceiling', (SELECT jsonb_object_agg(granularity, ceiling) FROM ceiling),
        'nearest', CASE WHEN %(time_alone)s AND NOT EXISTS (SELECT FROM time_found) THEN (
            SELECT coalesce(jsonb_agg(jsonb_build_array(near.occurred_at, near.occurred_zone_known) ORDER BY near.occurred_at), '[]')
            FROM scope
            CROSS JOIN LATERAL (
                (SELECT c.occurred_at, c.occurred_zone_known
                 FROM memsense.chunks AS c
                 WHERE c.tenant_id = %(tenant_id)s
                   AND c.scope_id = scope.scope_id
                   AND c.occurred_at < %(time_first)s::timestamptz
                   AND c.granularity = 'turn'
                   AND c.tsv IS NOT NULL
                   AND true
                 ORDER BY c.occurred_at DESC NULLS LAST, c.chunk_id DESC
                 LIMIT 1)
                UNION ALL
                (SELECT c.occurred_at, c.occurred_zone_known
                 FROM memsense.chunks AS c
                 WHERE c.tenant_id = %(tenant_id)s
                   AND c.scope_id = scope.scope_id
                   AND c.occurred_at >= %(time_last)s::timestamptz
                   AND c.occurred_at < coalesce(%(time_now)s::timestamptz, 'infinity')
                   AND c.granularity = 'turn'
                   AND c.tsv IS NOT NULL
                   AND true
                 ORDER BY c.occurred_at NULLS FIRST, c.chunk_id
                 LIMIT 1)
            ) AS near) END
    ) AS state
)
-- answer: as in one_user.sql
