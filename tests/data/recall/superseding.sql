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
-- routes: as in one_user.sql
-- ranked: as in one_user.sql
scored AS MATERIALIZED (
    SELECT chunk_id, round(1e12 * sum(share)) / 1e12 AS rrf_score
    FROM ranked
    GROUP BY chunk_id
)
found AS MATERIALIZED (
    SELECT chunk_id, rrf_score
    FROM scored
    ORDER BY rrf_score DESC, chunk_id
    LIMIT %(candidate_limit)s
)
superseding AS MATERIALIZED (
    SELECT l.older_id, l.chunk_id, l.strength, l.reason, l.state
    FROM memsense.supersessions AS l
    WHERE l.tenant_id = %(tenant_id)s
      AND l.scope_id = (SELECT scope_id FROM scope)
      AND (l.older_id = ANY (ARRAY(SELECT chunk_id FROM found)) OR l.chunk_id = ANY (ARRAY(SELECT chunk_id FROM found)))
      AND ((SELECT are_all FROM spared) OR (l.older_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
      AND ((SELECT are_all FROM spared) OR (l.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
)
fused AS MATERIALIZED (
    SELECT chunk_id, rrf_score FROM found
    UNION ALL
    (SELECT linked.chunk_id, coalesce(scored.rrf_score, 0)
     FROM (
         SELECT older_id AS chunk_id FROM superseding WHERE state <> 'rejected'
         UNION SELECT chunk_id FROM superseding WHERE state <> 'rejected'
     ) AS linked
     LEFT JOIN scored ON scored.chunk_id = linked.chunk_id
     WHERE linked.chunk_id NOT IN (SELECT chunk_id FROM found)
     ORDER BY scored.rrf_score DESC NULLS LAST, linked.chunk_id)
)
-- hits: as in one_user.sql
-- candidates: as in one_user.sql
-- vectors: as in one_user.sql
-- tokens: as in tokens.sql
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
            WHERE tenant_id = %(tenant_id)s AND scope_id = (SELECT scope_id FROM scope)),
        'superseding', (SELECT jsonb_agg(jsonb_build_array(older_id, chunk_id, strength, reason, state) ORDER BY chunk_id, older_id) FROM superseding)
    ) AS state
)
-- answer: as in tokens.sql
