-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
rarest AS MATERIALIZED (
    SELECT question.lexeme, question.word, question.may_be_near
    FROM question
    JOIN (
        SELECT word
        FROM question
        LEFT JOIN (
            SELECT lexeme, sum(document_frequency) AS document_frequency
            FROM memsense.lexemes
            WHERE tenant_id = %(tenant_id)s
              AND scope_id = (SELECT scope_id FROM scope)
              AND granularity = ANY (%(granularities)s::text[])
              AND lexeme = ANY (ARRAY(SELECT lexeme FROM question))
            GROUP BY lexeme
        ) AS found USING (lexeme)
        GROUP BY word
        ORDER BY nullif(sum(document_frequency), 0) NULLS LAST, min(lexeme)
        LIMIT %(question_words)s
    ) AS chosen USING (word)
)
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
-- vec_full: as in one_user.sql
-- vec_user: as in one_user.sql
-- vec_assistant: as in one_user.sql
-- vec_next_user: as in one_user.sql
-- facet_personal_info: as in one_user.sql
-- facet_preferences: as in one_user.sql
-- facet_events: as in one_user.sql
known AS MATERIALIZED (
    SELECT granularity, lexeme, document_frequency::float8 AS document_frequency
    FROM memsense.lexemes
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope)
      AND granularity = ANY (%(granularities)s::text[])
      AND lexeme = ANY (ARRAY(SELECT lexeme FROM rarest))
    
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
    FROM rarest
    WHERE may_be_near
      AND length(lexeme) <= 40
      AND word NOT IN (SELECT asked.word FROM rarest AS asked JOIN known USING (lexeme))
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
          AND judged.lexeme <> ALL (ARRAY(SELECT lexeme FROM rarest))
        
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
        FROM rarest AS q
        LEFT JOIN known ON known.lexeme = q.lexeme AND known.granularity = statistics.granularity
        UNION ALL
        SELECT lexeme, word, share, document_frequency FROM nearby WHERE nearby.granularity = statistics.granularity
    ) AS asked
    WHERE statistics.granularity = ANY (%(granularities)s::text[])
      AND statistics.chunk_count > 0
)
-- drivers: as in one_user.sql
-- postings: as in one_user.sql
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- ceiling: as in one_user.sql
-- matched: as in one_user.sql
-- lexical: as in one_user.sql
-- routes: as in one_user.sql
-- ranked: as in one_user.sql
-- fused: as in one_user.sql
-- hits: as in one_user.sql
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
        'question', (SELECT jsonb_agg(DISTINCT lexeme ORDER BY lexeme) FROM (SELECT lexeme FROM rarest UNION ALL SELECT lexeme FROM nearby) AS asked),
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
        'left_out', (SELECT jsonb_agg(lexeme ORDER BY lexeme) FROM question WHERE lexeme NOT IN (SELECT lexeme FROM rarest)),
        'ceiling', (SELECT jsonb_object_agg(granularity, ceiling) FROM ceiling),
        'stale', EXISTS (
            SELECT FROM memsense.stale_sessions
            WHERE tenant_id = %(tenant_id)s AND scope_id = (SELECT scope_id FROM scope))
    ) AS state
)
-- answer: as in one_user.sql
