-- scope: as in one_user.sql
-- statistics: as in one_user.sql
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
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND NOT beside
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
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND NOT beside
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
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND NOT beside
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
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND previous_chunk_id IS NOT NULL
          AND NOT beside
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
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND NOT beside
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
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND NOT beside
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
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_events.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_vec_full AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_full
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_full.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_vec_user AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_vec_assistant AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_assistant
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_assistant.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_vec_next_user AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT previous_chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(other_model_id)s
          AND previous_chunk_id IS NOT NULL
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_user.previous_chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, previous_chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_facet_personal_info AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_personal_info
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_personal_info.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_facet_preferences AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_preferences
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_preferences.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_facet_events AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_events
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_events.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
-- known: as in one_user.sql
-- unknown: as in one_user.sql
-- nearby: as in one_user.sql
-- terms: as in one_user.sql
-- drivers: as in one_user.sql
-- postings: as in one_user.sql
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- ceiling: as in one_user.sql
-- matched: as in one_user.sql
-- lexical: as in one_user.sql
routes AS MATERIALIZED (
    SELECT 1 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_full)s::float8 AS weight FROM vec_full
    UNION ALL
    SELECT 1 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_full)s::float8 AS weight FROM other_vec_full
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_user)s::float8 AS weight FROM vec_user
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_user)s::float8 AS weight FROM other_vec_user
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_assistant)s::float8 AS weight FROM vec_assistant
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_assistant)s::float8 AS weight FROM other_vec_assistant
    UNION ALL
    SELECT 4 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_next_user)s::float8 AS weight FROM vec_next_user
    UNION ALL
    SELECT 4 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_next_user)s::float8 AS weight FROM other_vec_next_user
    UNION ALL
    SELECT 5 AS route, turns, turn_scores, sessions, session_scores, %(weight_lexical)s::float8 AS weight FROM lexical
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_personal_info)s::float8 AS weight FROM facet_personal_info
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_personal_info)s::float8 AS weight FROM other_facet_personal_info
    UNION ALL
    SELECT 7 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_preferences)s::float8 AS weight FROM facet_preferences
    UNION ALL
    SELECT 7 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_preferences)s::float8 AS weight FROM other_facet_preferences
    UNION ALL
    SELECT 8 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_events)s::float8 AS weight FROM facet_events
    UNION ALL
    SELECT 8 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_events)s::float8 AS weight FROM other_facet_events
)
-- ranked: as in one_user.sql
-- fused: as in one_user.sql
-- hits: as in one_user.sql
-- candidates: as in one_user.sql
vectors AS (
    SELECT array_agg(chunk_id) AS embedded, string_agg(halfvec_send(embedding), '') AS embeddings
    FROM memsense.embeddings_full
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope)
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
      AND model_id = %(model_id)s
      AND route = 'full'
            AND NOT beside
)
other_vectors AS (
    SELECT array_agg(chunk_id) AS other_embedded, string_agg(halfvec_send(embedding), '') AS other_embeddings
    FROM memsense.embeddings_full
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope)
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
      AND model_id = %(other_model_id)s
      AND route = 'full'
            AND NOT beside
)
tokens AS (
    SELECT
        array_agg(chunk_id) AS tokened,
        array_agg(user_pieces::integer) AS user_counts,
        array_agg(length(pieces) / 2) AS token_counts,
        string_agg(pieces, '') AS pieces,
        string_agg(signs, '') AS signs
    FROM (
        SELECT chunk_id, user_pieces, pieces, signs
        FROM memsense.token_vectors
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND chunk_id = ANY (ARRAY(
              SELECT chunk_id FROM fused WHERE chunk_id = ANY ((SELECT embedded FROM vectors)::bigint[]) ORDER BY rrf_score DESC, chunk_id LIMIT %(token_limit)s))
          AND model_id = %(model_id)s
        ORDER BY chunk_id
    ) AS stored
)
-- state: as in one_user.sql
answer AS (
SELECT
    state, chunk_ids, rrf_scores, hit_routes, hit_counts, hit_chunk_ids, hit_scores, payload_ids, scope_ids, granularities,
    session_ids, ordinals, parts, memory_scores, times, zones_known, user_speakers, assistant_speakers, tags, worded, identified,
    embedded, embeddings, other_embedded, other_embeddings, tokened, user_counts, token_counts, pieces, signs
FROM state
CROSS JOIN candidates
CROSS JOIN vectors
CROSS JOIN other_vectors
CROSS JOIN hits
CROSS JOIN tokens
)
