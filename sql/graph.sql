-- The graph route, a part of the recall query where its profile gives it weight: the chunks that
-- mention the question's entities, and entities mentioned beside them (docs/entities.md).
--
-- Parameters: question_keys, what the question may name, as entity keys; weight_graph;
-- graph_similarity, graph_edges, graph_hops, graph_decay, graph_boost.

-- name: graph_named
-- The entities that the question names as they are spelt.
graph_named AS MATERIALIZED (
    SELECT scope_id, entity_id, key
    FROM memsense.entities
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND key = ANY (%(question_keys)s::text[])
)

-- name: graph_spellings
-- What else it may name: each other key, and each with a letter left out.
graph_spellings AS MATERIALIZED (
    SELECT asked.key, spelling
    FROM unnest(%(question_keys)s::text[]) AS asked (key)
    CROSS JOIN LATERAL unnest(memsense.spellings(asked.key)) AS spelling
    WHERE asked.key NOT IN (SELECT key FROM graph_named)
)

-- name: graph_linked
-- With the entities whose spelling is so similar that a misspelt name means them.
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

-- name: graph_reached
-- What is mentioned beside them, over the strongest edges, a few hops far.
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

-- name: graph
-- The chunks by what they mention of all these.
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
            WHERE {takes_part}
            GROUP BY m.chunk_id
        ) AS mentioned
        ORDER BY score DESC, chunk_id
        LIMIT %(route_limit)s
    ) AS best
)
