-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
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
words AS (
    SELECT c.chunk_id, c.granularity, ts_rank_cd(own.tsv, asked.query)::float8 AS score
    FROM memsense.chunks AS c
    CROSS JOIN (SELECT %(query)s::tsquery AS query) AS asked
    CROSS JOIN LATERAL (SELECT ts_filter(c.tsv, '{a,b,c}') AS tsv) AS own
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = (SELECT scope_id FROM scope)
      AND memsense.scope_lexemes(c.scope_id, c.tsv)
          && ARRAY(SELECT scope.scope_id || ':' || question.lexeme FROM scope CROSS JOIN question)
      AND c.granularity = ANY (%(granularities)s::text[])
      AND own.tsv @@ asked.query
      AND %(weight_lexical)s > 0
      AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
)
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
        'question', (SELECT jsonb_agg(DISTINCT lexeme ORDER BY lexeme) FROM question),
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
        'stale', EXISTS (
            SELECT FROM memsense.stale_sessions
            WHERE tenant_id = %(tenant_id)s AND scope_id = (SELECT scope_id FROM scope))
    ) AS state
)
-- answer: as in one_user.sql
