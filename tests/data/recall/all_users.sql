scope AS MATERIALIZED (
    SELECT s.scope_id, s.speakers, s.indexed, s.languages, s.lexemes_version, n.namespace_id, n.model_id,
        n.settings_version
    FROM memsense.namespaces AS n
    JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
    WHERE n.tenant_id = %(tenant_id)s
      AND s.tenant_id = %(tenant_id)s
      AND n.name = %(namespace)s
      AND true
)
statistics AS MATERIALIZED (
    SELECT
        granularity,
        sum(chunk_count)::float8 AS chunk_count,
        greatest(sum(user_length) / nullif(sum(chunk_count), 0), 1)::float8 AS user_average,
        greatest(sum(assistant_length) / nullif(sum(chunk_count), 0), 1)::float8 AS assistant_average,
        greatest(sum(tag_length) / nullif(sum(chunk_count), 0), 1)::float8 AS tag_average,
        greatest(sum(context_length) / nullif(sum(chunk_count), 0), 1)::float8 AS context_average,
        least(greatest(coalesce(sqrt(sum(user_length) / nullif(sum(assistant_length), 0)::float8), 1), 0.2), 1) AS assistant_weight
    FROM memsense.scope_statistics
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
    GROUP BY granularity
)
-- question: as in one_user.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
vec_full AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_full
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND ((SELECT are_all FROM spared) OR (embeddings_full.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
vec_user AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
vec_assistant AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_assistant
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND ((SELECT are_all FROM spared) OR (embeddings_assistant.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
vec_next_user AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT previous_chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND previous_chunk_id IS NOT NULL
          AND ((SELECT are_all FROM spared) OR (embeddings_user.previous_chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, previous_chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
facet_personal_info AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_personal_info
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND ((SELECT are_all FROM spared) OR (embeddings_personal_info.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
facet_preferences AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_preferences
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND ((SELECT are_all FROM spared) OR (embeddings_preferences.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
facet_events AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_events
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND ((SELECT are_all FROM spared) OR (embeddings_events.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
known AS MATERIALIZED (
    SELECT granularity, lexeme, sum(document_frequency)::float8 AS document_frequency
    FROM memsense.lexemes
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND granularity = ANY (%(granularities)s::text[])
      AND lexeme = ANY (ARRAY(SELECT lexeme FROM question))
    GROUP BY granularity, lexeme
)
-- unknown: as in one_user.sql
nearby AS MATERIALIZED (
    SELECT DISTINCT ON (granularity, lexeme) granularity, lexeme, word, share, document_frequency
    FROM (
        SELECT
            granularity, judged.lexeme, word, share, sum(document_frequency)::float8 AS document_frequency,
            row_number() OVER (
                PARTITION BY word, granularity
                ORDER BY share DESC, sum(document_frequency) DESC, judged.lexeme) AS place
        FROM unknown
        CROSS JOIN scope
        CROSS JOIN LATERAL (
            SELECT
                granularity, near.lexeme, document_frequency,
                CASE
                    WHEN starts_with(near.lexeme, unknown.lexeme)
                      OR right(near.lexeme, unknown.size) = unknown.lexeme
                      AND length(near.lexeme) >= unknown.size + %(rest_letters)s
                    THEN %(near_share)s::float8
                    WHEN near.lexeme = ANY (unknown.others) AND length(near.lexeme) = unknown.size THEN %(near_share)s
                    WHEN abs(length(near.lexeme) - unknown.size) <= 1 AND near.lexeme LIKE ANY (unknown.misspelt)
                    THEN %(near_share)s
                    WHEN near.lexeme = ANY (unknown.others) THEN %(part_share)s
                END AS share
            FROM (
                SELECT granularity, lexeme, document_frequency
                FROM memsense.lexemes
                WHERE tenant_id = %(tenant_id)s AND scope_id = scope.scope_id
                  AND granularity = ANY (%(granularities)s::text[])
                  AND lexeme >= unknown.beginning
                  AND lexeme < unknown.beginning || chr(1114111)
                UNION ALL
                SELECT granularity, lexeme, document_frequency
                FROM memsense.lexemes
                WHERE tenant_id = %(tenant_id)s AND scope_id = scope.scope_id
                  AND granularity = ANY (%(granularities)s::text[])
                  AND reverse(lexeme) >= reverse(unknown.ending)
                  AND reverse(lexeme) < reverse(unknown.ending) || chr(1114111)
                  AND NOT starts_with(lexeme, unknown.beginning)
                UNION ALL
                SELECT found.granularity, found.lexeme, found.document_frequency
                FROM unnest(unknown.others) AS other
                CROSS JOIN LATERAL (
                    SELECT granularity, lexeme, document_frequency
                    FROM memsense.lexemes
                    WHERE tenant_id = %(tenant_id)s AND scope_id = scope.scope_id
                      AND granularity = ANY (%(granularities)s::text[])
                      AND lexeme = other
                    OFFSET 0
                ) AS found
                WHERE NOT starts_with(other, unknown.beginning)
                  AND right(other, unknown.size / 2) <> unknown.ending
            ) AS near
            OFFSET 0
        ) AS judged
        WHERE share IS NOT NULL
          AND judged.lexeme <> ALL (ARRAY(SELECT lexeme FROM question))
        GROUP BY granularity, judged.lexeme, word, share
    ) AS placed
    WHERE place <= %(near_lexemes)s
    ORDER BY granularity, lexeme, share DESC, word
)
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
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
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
      AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
    OFFSET 0
)
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- ceiling: as in one_user.sql
-- matched: as in one_user.sql
-- lexical: as in one_user.sql
-- routes: as in one_user.sql
-- ranked: as in one_user.sql
-- fused: as in one_user.sql
-- hits: as in one_user.sql
candidates AS (
    SELECT
        (SELECT array_agg(chunk_id) FROM fused) AS chunk_ids,
        (SELECT array_agg(rrf_score) FROM fused) AS rrf_scores,
        array_agg(chunk_id) AS payload_ids,
        array_agg(scope_id) AS scope_ids,
        array_agg(granularity) AS granularities,
        array_agg(session_id) AS session_ids,
        array_agg(ordinal) AS ordinals,
        array_agg(part) AS parts,
        array_agg(memory_score) AS memory_scores,
        array_agg(occurred_at) AS times,
        array_agg(occurred_zone_known) AS zones_known,
        array_agg(user_speaker) AS user_speakers,
        array_agg(assistant_speaker) AS assistant_speakers,
        jsonb_object_agg(chunk_id, array_append(tags, task_tag)) FILTER (WHERE tags <> '{}' OR task_tag IS NOT NULL) AS tags,
        NULL::jsonb AS worded,
        NULL::jsonb AS identified
    FROM memsense.chunks
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
)
vectors AS (
    SELECT array_agg(chunk_id) AS embedded, string_agg(halfvec_send(embedding), '') AS embeddings
    FROM memsense.embeddings_full
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
      AND model_id = %(model_id)s
      AND route = 'full'
)
state AS (
    SELECT jsonb_build_object(
        'scopes', (SELECT count(*) FROM scope),
        'recalled_at', statement_timestamp(),
        'model_id', (SELECT max(model_id) FROM scope),
        'settings_version', (SELECT max(settings_version) FROM scope),
        'counts', (SELECT jsonb_object_agg(granularity, chunk_count) FROM statistics),
        'languages', (SELECT jsonb_object_agg(language, chunks)
         FROM (
             SELECT language, sum(chunks::integer) AS chunks
             FROM scope
             CROSS JOIN LATERAL jsonb_each_text(languages) AS counted (language, chunks)
             GROUP BY language
         ) AS counted),
        'lexemes_version', (SELECT min(lexemes_version) FROM scope),
        'question', (SELECT jsonb_agg(DISTINCT lexeme ORDER BY lexeme) FROM (SELECT lexeme FROM question UNION ALL SELECT lexeme FROM nearby) AS asked),
        'matches', (SELECT count(*) FROM matched),
        'waiting', EXISTS (
            SELECT FROM memsense.jobs
            WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) AND kind = 'embed'
              AND coalesce(model_id = %(model_id)s, true)),
        'lapsed', (SELECT NOT are_all FROM spared),
        'ceiling', (SELECT jsonb_object_agg(granularity, ceiling) FROM ceiling),
        'stale', EXISTS (
            SELECT FROM memsense.stale_sessions
            WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)))
    ) AS state
)
-- answer: as in one_user.sql
