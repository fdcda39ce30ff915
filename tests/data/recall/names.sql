-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
-- vec_full: as in wording.sql
-- vec_user: as in wording.sql
-- vec_assistant: as in wording.sql
-- vec_next_user: as in wording.sql
-- facet_personal_info: as in wording.sql
-- facet_preferences: as in wording.sql
-- facet_events: as in wording.sql
-- terms: as in one_user.sql
-- drivers: as in one_user.sql
-- postings: as in one_user.sql
-- frequencies: as in wording.sql
-- words: as in wording.sql
-- ceiling: as in one_user.sql
-- matched: as in least.sql
-- lexical: as in wording.sql
-- routes: as in wording.sql
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
        'question', (SELECT jsonb_agg(lexeme ORDER BY lexeme) FROM question),
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
        'names', (
            SELECT jsonb_object_agg(chunk_id, names)
            FROM (
                SELECT chunk_id, jsonb_path_query_array(entities, '$[*] ? (@.kind == "name" || @.kind == "self").name') AS names
                FROM memsense.chunk_entities
                WHERE tenant_id = %(tenant_id)s
                  AND scope_id = (SELECT scope_id FROM scope)
                  AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
            ) AS mentioned
            WHERE names <> '[]')
    ) AS state
)
-- answer: as in one_user.sql
