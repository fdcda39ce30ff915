-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
filtered AS MATERIALIZED (
    SELECT c.chunk_id
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = (SELECT scope_id FROM scope)
      AND c.tsv IS NOT NULL
      AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
      AND c.memory_kind = ANY (%(kinds)s::text[])
      AND (c.granularity = 'turn' OR NOT EXISTS (
          SELECT
          FROM (SELECT c.scope_id, c.session_id, c.ordinal, c.part, c.last_ordinal) AS x
          CROSS JOIN LATERAL (
              SELECT
              FROM memsense.chunks AS c
              WHERE c.tenant_id = %(tenant_id)s
                AND c.scope_id = x.scope_id
                AND c.session_id = x.session_id
                AND c.granularity = 'turn'
                AND c.status = 'active'
                AND (c.ordinal, c.part) >= (x.ordinal, x.part)
                AND c.ordinal <= x.last_ordinal
                AND (
                    c.memory_kind = ANY (%(kinds)s::text[])
                ) IS NOT TRUE
          ) AS failing))
)
-- few: as in filtered.sql
-- near: as in filtered.sql
-- vec_full: as in filtered.sql
-- vec_user: as in filtered.sql
-- vec_assistant: as in filtered.sql
-- vec_next_user: as in filtered.sql
-- facet_personal_info: as in filtered.sql
-- facet_preferences: as in filtered.sql
-- facet_events: as in filtered.sql
-- known: as in one_user.sql
-- unknown: as in one_user.sql
-- nearby: as in one_user.sql
-- terms: as in one_user.sql
-- drivers: as in one_user.sql
-- postings: as in filtered.sql
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- ceiling: as in one_user.sql
-- matched: as in one_user.sql
-- lexical: as in one_user.sql
graph_named AS MATERIALIZED (
    SELECT scope_id, entity_id, key
    FROM memsense.entities
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND key = ANY (%(question_keys)s::text[])
)
graph_spellings AS MATERIALIZED (
    SELECT asked.key, spelling
    FROM unnest(%(question_keys)s::text[]) AS asked (key)
    CROSS JOIN LATERAL unnest(memsense.spellings(asked.key)) AS spelling
    WHERE asked.key NOT IN (SELECT key FROM graph_named)
)
graph_linked AS MATERIALIZED (
    SELECT scope_id, entity_id FROM graph_named
    UNION
    SELECT near.scope_id, near.entity_id
    FROM (
        SELECT scope_id, entity_id, key
        FROM memsense.entities
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND memsense.scope_spellings(scope_id, key)
              && ARRAY(SELECT scope.scope_id || ':' || spelling FROM scope CROSS JOIN graph_spellings)
        OFFSET 0
    ) AS near
    CROSS JOIN LATERAL unnest(memsense.spellings(near.key)) AS shared
    JOIN graph_spellings AS asked ON asked.spelling = shared
    GROUP BY near.scope_id, near.entity_id, near.key, asked.key
    HAVING 2.0 * max(length(shared)) / (length(near.key) + length(asked.key)) > %(graph_similarity)s
)
graph_reached AS MATERIALIZED (
    WITH RECURSIVE reached AS (
        SELECT scope_id, entity_id, 0 AS hop FROM graph_linked
        UNION
        SELECT near.scope_id, near.entity_id, reached.hop + 1
        FROM reached
        CROSS JOIN LATERAL (
            SELECT scope_id, entity_id
            FROM (
                SELECT scope_id, entity_b AS entity_id, weight FROM memsense.edges
                WHERE tenant_id = %(tenant_id)s AND scope_id = reached.scope_id AND entity_a = reached.entity_id
                UNION ALL
                SELECT scope_id, entity_a, weight FROM memsense.edges
                WHERE tenant_id = %(tenant_id)s AND scope_id = reached.scope_id AND entity_b = reached.entity_id
            ) AS beside
            ORDER BY weight DESC, entity_id
            LIMIT %(graph_edges)s
        ) AS near
        WHERE reached.hop < %(graph_hops)s
    )
    SELECT scope_id, entity_id, min(hop) AS hop FROM reached GROUP BY scope_id, entity_id
)
graph AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(score) AS turn_scores,
        NULL::bigint[] AS sessions,
        NULL::float8[] AS session_scores
    FROM (
        SELECT
            chunk_id,
            least(mentions / max(mentions) OVER () * CASE WHEN is_linked THEN %(graph_boost)s ELSE 1 END, 1)::float8 AS score
        FROM (
            SELECT
                m.chunk_id,
                sum(m.mention_count * power(%(graph_decay)s::float8, r.hop)) AS mentions,
                bool_or(r.hop = 0) AS is_linked
            FROM graph_reached AS r
            JOIN memsense.mentions AS m
              ON m.tenant_id = %(tenant_id)s AND m.scope_id = r.scope_id AND m.entity_id = r.entity_id
            WHERE (m.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
            GROUP BY m.chunk_id
        ) AS mentioned
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
    UNION ALL
    SELECT 9 AS route, turns, turn_scores, sessions, session_scores, %(weight_graph)s::float8 AS weight FROM graph
)
-- ranked: as in one_user.sql
-- fused: as in one_user.sql
-- hits: as in one_user.sql
-- candidates: as in one_user.sql
-- vectors: as in one_user.sql
-- state: as in one_user.sql
-- answer: as in one_user.sql
