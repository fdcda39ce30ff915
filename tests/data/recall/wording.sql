-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
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
          AND ((SELECT are_all FROM spared) OR (embeddings_full.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
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
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
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
          AND ((SELECT are_all FROM spared) OR (embeddings_assistant.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
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
          AND ((SELECT are_all FROM spared) OR (embeddings_user.previous_chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
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
          AND ((SELECT are_all FROM spared) OR (embeddings_personal_info.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
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
          AND ((SELECT are_all FROM spared) OR (embeddings_preferences.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
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
        + CASE WHEN (NOT (SELECT are_all FROM spared) AND (postings.chunk_id IN (SELECT chunk_id FROM bereft)) IS TRUE) THEN 0
               WHEN code <= memsense.count_codes() THEN (memsense.counts_context())[code]
               ELSE width_bucket(ts_rank('{1,1,1,1}', tsv, query)::float8, memsense.harmonic_cuts())
                  - width_bucket(ts_rank('{0,1,1,1}', tsv, query)::float8, memsense.harmonic_cuts()) END
        * context_weight / greatest(base + context_slope * context_length, 1e-9) AS tf
    FROM postings
    OFFSET 0
)
-- words: as in time.sql
identifiers AS MATERIALIZED (
    SELECT identifier, position, ('''' || replace(replace(identifier, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM unnest(%(identifiers)s::text[]) WITH ORDINALITY AS asked (identifier, position)
)
identifier_matches AS MATERIALIZED (
    SELECT c.chunk_id, c.granularity, i.position
    FROM memsense.chunks AS c
    JOIN identifiers AS i ON c.tsv @@ i.query
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = (SELECT scope_id FROM scope)
      AND memsense.scope_lexemes(c.scope_id, c.tsv)
          && ARRAY(SELECT scope.scope_id || ':' || identifiers.identifier FROM scope CROSS JOIN identifiers)
      AND granularity = 'turn'
)
identifier_weights AS MATERIALIZED (
    SELECT
        granularity, position,
        ln(1 + (chunk_count - coalesce(document_frequency, 0) + 0.5) / (coalesce(document_frequency, 0) + 0.5)) AS idf
    FROM statistics
    CROSS JOIN identifiers
    LEFT JOIN (
        SELECT granularity, position, count(*)::float8 AS document_frequency
        FROM identifier_matches
        GROUP BY granularity, position
    ) AS found USING (granularity, position)
    WHERE chunk_count > 0
)
identified AS MATERIALIZED (
    SELECT
        m.chunk_id, m.granularity, round(1e9 * sum(w.idf)) / 1e9 AS score,
        sum(w.idf) / (SELECT sum(idf) FROM identifier_weights AS a WHERE a.granularity = m.granularity) AS share,
        array_agg(m.position ORDER BY m.position) AS positions
    FROM identifier_matches AS m
    JOIN identifier_weights AS w USING (granularity, position)
    WHERE ((SELECT are_all FROM spared) OR (m.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
    GROUP BY m.chunk_id, m.granularity
)
ceiling AS (
    SELECT granularity, round(1e9 * ((%(k1)s + 1) * sum(idf) + (SELECT %(identifier_boost)s * sum(w.idf) FROM identifier_weights AS w WHERE w.granularity = spelt.granularity))) / 1e9 AS ceiling
    FROM (
        SELECT granularity, word, coalesce(max(idf) FILTER (WHERE document_frequency > 0), max(idf)) AS idf
        FROM terms
        WHERE share = 1
        GROUP BY granularity, word
    ) AS spelt
    GROUP BY granularity
)
matched AS MATERIALIZED (
    SELECT chunk_id, sum(score) AS score
    FROM (
        SELECT chunk_id, score FROM words
        UNION ALL
        SELECT chunk_id, %(identifier_boost)s * score FROM identified WHERE %(weight_lexical)s > 0
    ) AS scored
    GROUP BY chunk_id
)
-- lexical: as in time.sql
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
)
-- ranked: as in time.sql
-- fused: as in one_user.sql
-- hits: as in time.sql
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
        jsonb_object_agg(chunk_id, worded) FILTER (WHERE worded <> '{}') AS worded,
        jsonb_object_agg(chunk_id, jsonb_build_array(share, positions)) FILTER (WHERE share > 0) AS identified
    FROM memsense.chunks
    LEFT JOIN (SELECT chunk_id, share, positions FROM identified) AS named USING (chunk_id)
    CROSS JOIN LATERAL (
        SELECT array_agg(w.position) AS worded
        FROM unnest(%(wordings)s::text[]) WITH ORDINALITY AS w (pattern, position)
        WHERE concat_ws(E'\x1e', session_text, user_text, assistant_text) ~* w.pattern
    ) AS held
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope)
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
)
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
        'lapsed', (SELECT NOT are_all FROM spared),
        'speakers', (SELECT speakers FROM scope),
        'introduced', (
            SELECT jsonb_agg(name) FROM memsense.mentions WHERE tenant_id = %(tenant_id)s AND scope_id = (SELECT scope_id FROM scope) AND kind = 'self'),
        'indexed', (SELECT indexed FROM scope),
        'ceiling', (SELECT jsonb_object_agg(granularity, ceiling) FROM ceiling)
    ) AS state
)
-- answer: as in one_user.sql
