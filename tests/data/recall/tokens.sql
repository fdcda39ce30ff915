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
-- fused: as in one_user.sql
-- hits: as in one_user.sql
-- candidates: as in one_user.sql
-- vectors: as in one_user.sql
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
              SELECT chunk_id FROM fused ORDER BY rrf_score DESC, chunk_id LIMIT %(token_limit)s))
          AND model_id = %(model_id)s
        ORDER BY chunk_id
    ) AS stored
)
-- state: as in one_user.sql
answer AS (
SELECT
    state, chunk_ids, rrf_scores, hit_routes, hit_counts, hit_chunk_ids, hit_scores, payload_ids, scope_ids, granularities,
    session_ids, ordinals, parts, memory_scores, times, user_speakers, assistant_speakers, tags, worded, identified,
    embedded, embeddings, tokened, user_counts, token_counts, pieces, signs
FROM state
CROSS JOIN candidates
CROSS JOIN vectors
CROSS JOIN hits
CROSS JOIN tokens
)
