-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
tagged AS MATERIALIZED (
    SELECT chunk_id
    FROM memsense.find_tagged(ARRAY(SELECT scope_id FROM scope), %(tags)s::text[])
)
-- quoted: as in indexed_filtered.sql
quoting AS MATERIALIZED (
    SELECT chunk_id
    FROM memsense.find_chunks(ARRAY(SELECT scope_id FROM scope), ARRAY(SELECT lexeme FROM quoted))
)
filtered AS MATERIALIZED (
    SELECT c.chunk_id
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = (SELECT scope_id FROM scope)
      AND c.tsv IS NOT NULL
      AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
      AND c.chunk_id IN (SELECT chunk_id FROM tagged)
      AND CASE
          WHEN c.tsv @@ (SELECT string_agg(query::text, ' & ')::tsquery FROM quoted) IS NOT FALSE
          THEN concat_ws(E'\x1e', c.session_text, c.user_text, c.assistant_text) ~* ALL (%(quoted_patterns)s::text[])
      END
      AND c.chunk_id IN (SELECT chunk_id FROM quoting)
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
                    c.tags <> '{}'
                    AND memsense.scope_tags(c.scope_id, c.tags)
                        && ARRAY(SELECT scope_id || ':' || tag FROM scope CROSS JOIN unnest(%(tags)s::text[]) AS tag)
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
postings AS (
    SELECT
        t.granularity, t.word, t.idf, t.query, t.base, t.user_slope, t.assistant_slope, t.tag_slope, t.context_slope,
        t.assistant_weight, t.context_weight,
        c.chunk_id, c.tsv, c.user_length, c.assistant_length, c.tag_length, c.context_length, c.code
    FROM memsense.find_postings(
        ARRAY(SELECT scope_id FROM scope),
        ARRAY(SELECT lexeme FROM terms WHERE document_frequency > 0 ORDER BY lexeme, granularity),
        ARRAY(SELECT granularity FROM terms WHERE document_frequency > 0 ORDER BY lexeme, granularity),
        ARRAY(SELECT lexeme FROM drivers)) AS c
    JOIN terms AS t ON t.lexeme = c.lexeme AND t.granularity = c.granularity
    WHERE %(weight_lexical)s > 0
      AND (c.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
    OFFSET 0
)
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- identifiers: as in wording.sql
identifier_matches AS MATERIALIZED (
    SELECT c.chunk_id, c.granularity, i.position
    FROM identifiers AS i
    CROSS JOIN LATERAL memsense.find_chunks(ARRAY(SELECT scope_id FROM scope), ARRAY[i.identifier]) AS c
    WHERE true
)
-- identifier_weights: as in wording.sql
identified AS MATERIALIZED (
    SELECT
        m.chunk_id, m.granularity, round(1e9 * sum(w.idf)) / 1e9 AS score,
        sum(w.idf) / (SELECT sum(idf) FROM identifier_weights AS a WHERE a.granularity = m.granularity) AS share,
        array_agg(m.position ORDER BY m.position) AS positions
    FROM identifier_matches AS m
    JOIN identifier_weights AS w USING (granularity, position)
    WHERE (m.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
    GROUP BY m.chunk_id, m.granularity
)
-- ceiling: as in wording.sql
matched AS MATERIALIZED (
    SELECT chunk_id, granularity, sum(score) AS score
    FROM (
        SELECT chunk_id, granularity, score FROM words
        UNION ALL
        SELECT chunk_id, granularity, %(identifier_boost)s * score FROM identified WHERE %(weight_lexical)s > 0
    ) AS scored
    GROUP BY chunk_id, granularity
)
-- lexical: as in one_user.sql
-- graph_named: as in graph.sql
-- graph_spellings: as in graph.sql
graph_linked AS MATERIALIZED (
    SELECT scope_id, entity_id FROM graph_named
    UNION
    SELECT near.scope_id, near.entity_id
    FROM memsense.find_entities(ARRAY(SELECT scope_id FROM scope), ARRAY(SELECT spelling FROM graph_spellings)) AS near
    CROSS JOIN LATERAL unnest(memsense.spellings(near.key)) AS shared
    JOIN graph_spellings AS asked ON asked.spelling = shared
    GROUP BY near.scope_id, near.entity_id, near.key, asked.key
    HAVING 2.0 * max(length(shared)) / (length(near.key) + length(asked.key)) > %(graph_similarity)s
)
-- graph_reached: as in graph.sql
-- graph: as in graph.sql
-- routes: as in graph.sql
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
        array_agg(user_speaker) AS user_speakers,
        array_agg(assistant_speaker) AS assistant_speakers,
        jsonb_object_agg(chunk_id, array_append(tags, task_tag)) FILTER (WHERE tags <> '{}' OR task_tag IS NOT NULL) AS tags,
        NULL::jsonb AS worded,
        jsonb_object_agg(chunk_id, jsonb_build_array(share, positions)) FILTER (WHERE share > 0) AS identified
    FROM memsense.chunks
    LEFT JOIN (SELECT chunk_id, share, positions FROM identified) AS named USING (chunk_id)
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = (SELECT scope_id FROM scope)
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
)
-- vectors: as in one_user.sql
-- state: as in one_user.sql
-- answer: as in one_user.sql
