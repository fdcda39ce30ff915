scope AS MATERIALIZED (
    SELECT s.scope_id, s.speakers, s.indexed, s.languages, s.lexemes_version, n.namespace_id, n.model_id,
        n.settings_version
    FROM memsense.namespaces AS n
    JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
    WHERE n.tenant_id = %(tenant_id)s
      AND s.tenant_id = %(tenant_id)s
      AND n.name = %(namespace)s
      AND s.user_id = %(user_id)s
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
      AND scope_id = (SELECT scope_id FROM scope)
    GROUP BY granularity
)
question AS MATERIALIZED (
    SELECT lexeme, positions[1]::integer AS word, weights[1] = 'A' AS may_be_near
    FROM unnest(%(terms)s::tsvector)
)
lapsed AS MATERIALIZED (
    SELECT scope_id, chunk_id, session_id, granularity, ordinal, part, status
    FROM memsense.chunks
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND expires_at <= now()
)
hidden AS MATERIALIZED (
    SELECT chunk_id FROM lapsed
    UNION ALL
    SELECT h.chunk_id
    FROM lapsed AS x
    CROSS JOIN LATERAL (
        SELECT h.chunk_id
        FROM memsense.chunks AS h
        WHERE h.tenant_id = %(tenant_id)s
          AND h.scope_id = x.scope_id
          AND h.session_id = x.session_id
          AND h.granularity = 'session'
          AND (h.ordinal, h.part) <= (x.ordinal, x.part)
          AND h.last_ordinal >= x.ordinal
        OFFSET 0
    ) AS h
    WHERE x.granularity = 'turn' AND x.status = 'active'
)
bereft AS MATERIALIZED (
    SELECT b.chunk_id
    FROM lapsed AS x
    CROSS JOIN LATERAL (
        (SELECT c.chunk_id
         FROM memsense.chunks AS c
         WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = x.scope_id AND c.session_id = x.session_id
           AND c.granularity = 'turn' AND c.status = 'active' AND (c.ordinal, c.part) < (x.ordinal, x.part)
         ORDER BY c.ordinal DESC, c.part DESC LIMIT 1)
        UNION ALL
        (SELECT c.chunk_id
         FROM memsense.chunks AS c
         WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = x.scope_id AND c.session_id = x.session_id
           AND c.granularity = 'turn' AND c.status = 'active' AND (c.ordinal, c.part) > (x.ordinal, x.part)
         ORDER BY c.ordinal, c.part LIMIT 1)
    ) AS b
    WHERE x.granularity = 'turn' AND x.status = 'active'
)
spared AS MATERIALIZED (
    SELECT NOT EXISTS (SELECT FROM lapsed) AS are_all
)
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
          AND ((SELECT are_all FROM spared) OR (embeddings_events.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
known AS MATERIALIZED (
    SELECT granularity, lexeme, document_frequency::float8 AS document_frequency
    FROM memsense.lexemes
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope)
      AND granularity = ANY (%(granularities)s::text[])
      AND lexeme = ANY (ARRAY(SELECT lexeme FROM question))
    
)
unknown AS MATERIALIZED (
    SELECT
        word, lexeme, length(lexeme) AS size,
        left(lexeme, (length(lexeme) + 1) / 2) AS beginning,
        right(lexeme, length(lexeme) / 2) AS ending,
        ARRAY(
            SELECT unnest(ARRAY[
                left(lexeme, i) || '_' || substr(lexeme, i + 1),
                left(lexeme, i) || '_' || substr(lexeme, i + 2),
                left(lexeme, i) || substr(lexeme, i + 2)])
            FROM generate_series(0, length(lexeme)) AS i
            WHERE length(lexeme) >= %(near_letters)s) AS misspelt,
        ARRAY(
            SELECT unnest(
                CASE WHEN length(lexeme) >= %(near_letters)s
                     THEN ARRAY[overlay(lexeme PLACING reverse(substr(lexeme, i, 2)) FROM i)] END
                || CASE WHEN i BETWEEN %(part_letters)s AND length(lexeme) - %(rest_letters)s
                        THEN ARRAY[left(lexeme, i), right(lexeme, i)] END)
            FROM generate_series(1, length(lexeme) - 1) AS i) AS others
    FROM question
    WHERE may_be_near
      AND length(lexeme) <= 40
      AND word NOT IN (SELECT asked.word FROM question AS asked JOIN known USING (lexeme))
    ORDER BY word
    LIMIT %(near_words)s
)
nearby AS MATERIALIZED (
    SELECT DISTINCT ON (granularity, lexeme) granularity, lexeme, word, share, document_frequency
    FROM (
        SELECT
            granularity, judged.lexeme, word, share, document_frequency::float8 AS document_frequency,
            row_number() OVER (
                PARTITION BY word, granularity
                ORDER BY share DESC, document_frequency DESC, judged.lexeme) AS place
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
        
    ) AS placed
    WHERE place <= %(near_lexemes)s
    ORDER BY granularity, lexeme, share DESC, word
)
terms AS MATERIALIZED (
    SELECT
        statistics.granularity,
        asked.lexeme COLLATE "default" AS lexeme,
        asked.word,
        asked.share,
        asked.document_frequency,
        asked.share * ln(1 + (chunk_count - asked.document_frequency + 0.5) / (asked.document_frequency + 0.5)) AS idf,
        ('''' || replace(replace(asked.lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query,
        1 - %(b)s::float8 AS base,
        %(b)s / user_average AS user_slope,
        %(b)s / assistant_average AS assistant_slope,
        %(b)s / tag_average AS tag_slope,
        %(b)s / context_average AS context_slope,
        %(weight_assistant)s * coalesce(assistant_weight, 1) AS assistant_weight,
        %(weight_context)s * coalesce(assistant_weight, 1) AS context_weight
    FROM statistics
    CROSS JOIN LATERAL (
        SELECT q.lexeme, q.word, 1::float8 AS share, coalesce(known.document_frequency, 0) AS document_frequency
        FROM question AS q
        LEFT JOIN known ON known.lexeme = q.lexeme AND known.granularity = statistics.granularity
        UNION ALL
        SELECT lexeme, word, share, document_frequency FROM nearby WHERE nearby.granularity = statistics.granularity
    ) AS asked
    WHERE statistics.granularity = ANY (%(granularities)s::text[])
      AND statistics.chunk_count > 0
)
drivers AS MATERIALIZED (
    SELECT lexeme
    FROM (
        SELECT
            lexeme,
            sum(sum(document_frequency)) OVER by_rarity AS postings,
            row_number() OVER by_rarity AS position
        FROM terms
        WHERE document_frequency > 0
        GROUP BY lexeme
        WINDOW by_rarity AS (ORDER BY sum(document_frequency), lexeme)
    ) AS by_rarity
    WHERE postings <= %(postings_budget)s OR position = 1
)
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
      AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
    OFFSET 0
)
frequencies AS (
    SELECT
        chunk_id, granularity,
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
words AS (
    SELECT chunk_id, granularity, round(1e9 * (%(k1)s + 1) * sum(best)) / 1e9 AS score
    FROM (
        SELECT chunk_id, granularity, word, max(idf * tf / (tf + %(k1)s)) AS best
        FROM frequencies
        WHERE tf > 0
        GROUP BY chunk_id, granularity, word
    ) AS spelt
    GROUP BY chunk_id, granularity
)
ceiling AS (
    SELECT granularity, round(1e9 * ((%(k1)s + 1) * sum(idf) + 0)) / 1e9 AS ceiling
    FROM (
        SELECT granularity, word, coalesce(max(idf) FILTER (WHERE document_frequency > 0), max(idf)) AS idf
        FROM terms
        WHERE share = 1
        GROUP BY granularity, word
    ) AS spelt
    GROUP BY granularity
)
matched AS MATERIALIZED (
    SELECT chunk_id, granularity, score FROM words
)
lexical AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(score) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(score) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id, granularity, score
        FROM matched
        ORDER BY score DESC, chunk_id
        LIMIT %(route_limit)s
    ) AS best
)
routes AS MATERIALIZED (
    SELECT 1 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_full)s::float8 AS weight FROM vec_full
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_user)s::float8 AS weight FROM vec_user
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_assistant)s::float8 AS weight FROM vec_assistant
    UNION ALL
    SELECT 4 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_next_user)s::float8 AS weight FROM vec_next_user
    UNION ALL
    SELECT 5 AS route, turns, turn_scores, sessions, session_scores, %(weight_lexical)s::float8 AS weight FROM lexical
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_personal_info)s::float8 AS weight FROM facet_personal_info
    UNION ALL
    SELECT 7 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_preferences)s::float8 AS weight FROM facet_preferences
    UNION ALL
    SELECT 8 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_events)s::float8 AS weight FROM facet_events
)
ranked AS (
    SELECT unnest(chunk_ids) AS chunk_id, weight / (%(rrf_k)s + generate_subscripts(chunk_ids, 1)) AS share
    FROM (
        SELECT route, weight, turns AS chunk_ids, turn_scores AS scores FROM routes
        UNION ALL
        SELECT route, weight, sessions, session_scores FROM routes
    ) AS listed
)
fused AS MATERIALIZED (
    SELECT chunk_id, round(1e12 * sum(share)) / 1e12 AS rrf_score
    FROM ranked
    GROUP BY chunk_id
    ORDER BY rrf_score DESC, chunk_id
    LIMIT %(candidate_limit)s
)
hits AS (
    SELECT
        array_agg(route) FILTER (WHERE chunk_ids IS NOT NULL) AS hit_routes,
        array_agg(cardinality(chunk_ids)) FILTER (WHERE chunk_ids IS NOT NULL) AS hit_counts,
        string_agg(array_send(chunk_ids), '') AS hit_chunk_ids,
        string_agg(array_send(scores), '') AS hit_scores
    FROM (
        SELECT route, weight, turns AS chunk_ids, turn_scores AS scores FROM routes
        UNION ALL
        SELECT route, weight, sessions, session_scores FROM routes
    ) AS listed
)
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
      AND scope_id = (SELECT scope_id FROM scope)
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
)
vectors AS (
    SELECT array_agg(chunk_id) AS embedded, string_agg(halfvec_send(embedding), '') AS embeddings
    FROM memsense.embeddings_full
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope)
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
        'ceiling', (SELECT jsonb_object_agg(granularity, ceiling) FROM ceiling),
        'stale', EXISTS (
            SELECT FROM memsense.stale_sessions
            WHERE tenant_id = %(tenant_id)s AND scope_id = (SELECT scope_id FROM scope))
    ) AS state
)
answer AS (
SELECT
    state, chunk_ids, rrf_scores, hit_routes, hit_counts, hit_chunk_ids, hit_scores, payload_ids, scope_ids, granularities,
    session_ids, ordinals, parts, memory_scores, times, zones_known, user_speakers, assistant_speakers, tags, worded, identified,
    embedded, embeddings
FROM state
CROSS JOIN candidates
CROSS JOIN vectors
CROSS JOIN hits
)
