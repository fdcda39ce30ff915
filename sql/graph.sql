-- Entities and the graph route (docs/how/entities.md): statements that keep entities up to date with the chunks,
-- read them, and the route's parts of the recall statement. Every statement names one tenant; writes hold
-- the scope's lock. Only memsense/graph reads this file.

-- name: keep_found
-- What an extractor found in turn chunks, stored as long as the chunks.
INSERT INTO memsense.chunk_entities (tenant_id, scope_id, chunk_id, entities)
SELECT %(tenant_id)s, %(scope_id)s, given.chunk_id, given.entities
FROM unnest(%(chunk_ids)s::bigint[], %(entities)s::jsonb[]) AS given (chunk_id, entities)
ON CONFLICT (tenant_id, scope_id, chunk_id) DO UPDATE SET entities = EXCLUDED.entities;

-- Three statements make entities, mentions and edges of what was found in chunks that become active. One with
-- three writing CTEs would need every node of a Citus cluster, which sends the rows of each to all of them.

-- name: count_entities
INSERT INTO memsense.entities (tenant_id, scope_id, key, mention_count)
SELECT k.tenant_id, %(scope_id)s, e.key, sum(e.count)
FROM memsense.chunk_entities AS k
CROSS JOIN LATERAL jsonb_to_recordset(k.entities) AS e (key text, count integer)
WHERE k.tenant_id = %(tenant_id)s AND k.scope_id = %(scope_id)s AND k.chunk_id = ANY (%(chunk_ids)s::bigint[])
GROUP BY k.tenant_id, e.key
ORDER BY e.key
ON CONFLICT (tenant_id, scope_id, key)
DO UPDATE SET mention_count = entities.mention_count + EXCLUDED.mention_count;

-- name: insert_mentions
INSERT INTO memsense.mentions (tenant_id, scope_id, entity_id, chunk_id, name, kind, mention_count)
SELECT k.tenant_id, k.scope_id, n.entity_id, k.chunk_id, e.name, e.kind, e.count
FROM memsense.chunk_entities AS k
CROSS JOIN LATERAL jsonb_to_recordset(k.entities) AS e (key text, name text, kind text, count integer)
JOIN memsense.entities AS n
  ON n.tenant_id = k.tenant_id AND n.tenant_id = %(tenant_id)s AND n.scope_id = %(scope_id)s AND n.key = e.key
WHERE k.tenant_id = %(tenant_id)s AND k.scope_id = %(scope_id)s AND k.chunk_id = ANY (%(chunk_ids)s::bigint[]);

-- name: count_edges
INSERT INTO memsense.edges (tenant_id, scope_id, entity_a, entity_b, weight)
SELECT one.tenant_id, %(scope_id)s, one.entity_id, other.entity_id, count(*)
FROM memsense.mentions AS one
JOIN memsense.mentions AS other
  ON other.tenant_id = one.tenant_id AND other.tenant_id = %(tenant_id)s AND other.scope_id = %(scope_id)s
 AND other.chunk_id = one.chunk_id AND other.entity_id > one.entity_id
WHERE one.tenant_id = %(tenant_id)s AND one.scope_id = %(scope_id)s AND one.chunk_id = ANY (%(chunk_ids)s::bigint[])
GROUP BY one.tenant_id, one.entity_id, other.entity_id
ORDER BY one.entity_id, other.entity_id
ON CONFLICT (tenant_id, scope_id, entity_a, entity_b)
DO UPDATE SET weight = edges.weight + EXCLUDED.weight;

-- name: remove_mentions
-- Deletes the mentions of chunks, and the entities and edges that nothing else mentions.
WITH removed AS (
    DELETE FROM memsense.mentions
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)
    RETURNING entity_id, chunk_id, mention_count
),
parted AS (
    SELECT one.entity_id AS entity_a, other.entity_id AS entity_b, count(*) AS weight
    FROM removed AS one
    JOIN removed AS other ON other.chunk_id = one.chunk_id AND other.entity_id > one.entity_id
    GROUP BY one.entity_id, other.entity_id
),
loosened AS (
    UPDATE memsense.edges AS e
    SET weight = e.weight - parted.weight
    FROM parted
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s
      AND e.entity_a = parted.entity_a AND e.entity_b = parted.entity_b AND e.weight > parted.weight
),
cut AS (
    DELETE FROM memsense.edges AS e
    USING parted
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s
      AND e.entity_a = parted.entity_a AND e.entity_b = parted.entity_b AND e.weight <= parted.weight
),
lost AS (
    SELECT entity_id, sum(mention_count) AS mention_count FROM removed GROUP BY entity_id
),
lessened AS (
    UPDATE memsense.entities AS e
    SET mention_count = e.mention_count - lost.mention_count
    FROM lost
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s
      AND e.entity_id = lost.entity_id AND e.mention_count > lost.mention_count
)
DELETE FROM memsense.entities AS e
USING lost
WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s
  AND e.entity_id = lost.entity_id AND e.mention_count <= lost.mention_count;

-- name: list_read
-- The active chunks of a memory whose entities are known.
SELECT c.chunk_id
FROM memsense.chunks AS c
JOIN memsense.chunk_entities AS k ON k.tenant_id = %(tenant_id)s AND k.scope_id = c.scope_id AND k.chunk_id = c.chunk_id
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.status = 'active';

-- name: clear_mentions
DELETE FROM memsense.mentions WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: clear_edges
DELETE FROM memsense.edges WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: clear_entities
DELETE FROM memsense.entities WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: fetch_unread_turns
-- Turn chunks of any status behind a chunk id, in order, as an extractor reads them.
SELECT c.chunk_id, c.status, substr(c.user_text, c.opening_length + 1) AS user_text, c.assistant_text, c.user_speaker, c.assistant_speaker
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.granularity = 'turn'
  AND c.chunk_id > %(after)s
ORDER BY c.chunk_id
LIMIT %(limit)s;

-- name: fetch_speakers
SELECT speakers FROM memsense.scopes WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: list_entities
-- The most mentioned entities, each with its most frequent spelling and kind.
SELECT
    e.scope_id, e.entity_id, s.user_id, e.key, named.name, named.kind, e.mention_count AS mentions, named.chunks
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
JOIN memsense.entities AS e ON e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id
CROSS JOIN LATERAL (
    SELECT
        mode() WITHIN GROUP (ORDER BY m.name) AS name,
        mode() WITHIN GROUP (ORDER BY m.kind) AS kind,
        count(*) AS chunks
    FROM memsense.mentions AS m
    WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = e.scope_id AND m.entity_id = e.entity_id
      AND NOT EXISTS (
          SELECT FROM memsense.chunks AS x
          WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = m.scope_id AND x.chunk_id = m.chunk_id
            AND x.expires_at <= now())
) AS named
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND e.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
  AND (%(keys)s::text[] IS NULL OR e.key = ANY (%(keys)s))
  AND (%(kind)s::text IS NULL OR named.kind = %(kind)s)
  AND named.chunks > 0
ORDER BY e.mention_count DESC, e.key, s.user_id
LIMIT %(limit)s;

-- name: find_similar
-- The entities whose keys are most similar to a name, best first. Similarity: twice the letters that both
-- have in order, divided by the letters of both, if at most one letter of each is not shared.
SELECT near.key, max(2.0 * length(shared) / (length(near.key) + length(%(key)s))) AS similarity
FROM (
    SELECT DISTINCT e.key
    FROM memsense.namespaces AS n
    JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
    {entities}
    WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s
      AND n.name = %(namespace)s
      AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
      AND EXISTS (
          SELECT
          FROM memsense.mentions AS m
          JOIN memsense.chunks AS x
            ON x.tenant_id = %(tenant_id)s AND x.scope_id = m.scope_id AND x.chunk_id = m.chunk_id
          WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = e.scope_id AND m.entity_id = e.entity_id
            AND (x.expires_at IS NULL OR x.expires_at > now()))
) AS near
CROSS JOIN LATERAL unnest(memsense.spellings(near.key)) AS shared
WHERE shared = ANY (memsense.spellings(%(key)s))
GROUP BY near.key
HAVING max(2.0 * length(shared) / (length(near.key) + length(%(key)s))) > %(least)s
ORDER BY similarity DESC, near.key
LIMIT %(limit)s;

-- name: similar_entities
JOIN memsense.entities AS e
  ON e.tenant_id = %(tenant_id)s AND e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id
 AND memsense.scope_spellings(e.scope_id, e.key) && memsense.scope_spellings(s.scope_id, %(key)s)

-- name: similar_entities_looked_up
-- The same, for servers whose policies leave the index to a function (lookups.sql).
CROSS JOIN LATERAL memsense.find_entities(
    ARRAY[s.scope_id],
    CASE WHEN memsense.scope_spellings(s.scope_id, %(key)s) IS NOT NULL THEN memsense.spellings(%(key)s) END) AS e

-- name: list_neighbours
-- The entities mentioned together with one, by the number of chunks that mention both.
SELECT near.entity_id, e.key, named.name, named.kind, near.weight
FROM (
    SELECT entity_b AS entity_id, scope_id, weight FROM memsense.edges
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND entity_a = %(entity_id)s
    UNION ALL
    SELECT entity_a, scope_id, weight FROM memsense.edges
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND entity_b = %(entity_id)s
    ORDER BY weight DESC, entity_id
    LIMIT %(limit)s
) AS near
JOIN memsense.entities AS e
  ON e.tenant_id = %(tenant_id)s AND e.scope_id = near.scope_id AND e.entity_id = near.entity_id
CROSS JOIN LATERAL (
    SELECT
        mode() WITHIN GROUP (ORDER BY m.name) AS name,
        mode() WITHIN GROUP (ORDER BY m.kind) AS kind
    FROM memsense.mentions AS m
    WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = near.scope_id AND m.entity_id = near.entity_id
      AND NOT EXISTS (
          SELECT FROM memsense.chunks AS x
          WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = m.scope_id AND x.chunk_id = m.chunk_id
            AND x.expires_at <= now())
) AS named
WHERE named.name IS NOT NULL
ORDER BY near.weight DESC, near.entity_id;

-- name: list_edges_among
SELECT entity_a, entity_b, weight
FROM memsense.edges
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
  AND entity_a = ANY (%(entity_ids)s::bigint[]) AND entity_b = ANY (%(entity_ids)s::bigint[])
ORDER BY entity_a, entity_b;

-- name: list_mentions
-- The chunks that mention an entity, those with most mentions first.
SELECT m.chunk_id, m.name, m.mention_count AS mentions
FROM memsense.mentions AS m
WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.entity_id = %(entity_id)s
  AND NOT EXISTS (
      SELECT FROM memsense.chunks AS x
      WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = m.scope_id AND x.chunk_id = m.chunk_id
        AND x.expires_at <= now())
ORDER BY m.mention_count DESC, m.chunk_id
LIMIT %(limit)s;

-- The route, a part of the recall statement if its profile has a weight for it: the chunks that mention the
-- question's entities, and entities mentioned with them.
--
-- Parameters: question_keys, what the question may name, as entity keys; weight_graph;
-- graph_similarity, graph_edges, graph_hops, graph_decay, graph_boost.

-- name: graph_named
-- The entities whose exact spelling is in the question.
graph_named AS MATERIALIZED (
    SELECT scope_id, entity_id, key
    FROM memsense.entities
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND key = ANY (%(question_keys)s::text[])
)

-- name: graph_spellings
-- Other possible names: each remaining key, and each key with one letter left out.
graph_spellings AS MATERIALIZED (
    SELECT asked.key, spelling
    FROM unnest(%(question_keys)s::text[]) AS asked (key)
    CROSS JOIN LATERAL unnest(memsense.spellings(asked.key)) AS spelling
    WHERE asked.key NOT IN (SELECT key FROM graph_named)
)

-- name: graph_linked
-- Together with the entities whose spelling is so similar that a misspelt name means them.
graph_linked AS MATERIALIZED (
    SELECT scope_id, entity_id FROM graph_named
    UNION
    SELECT near.scope_id, near.entity_id
    FROM {near} AS near
    CROSS JOIN LATERAL unnest(memsense.spellings(near.key)) AS shared
    JOIN graph_spellings AS asked ON asked.spelling = shared
    GROUP BY near.scope_id, near.entity_id, near.key, asked.key
    HAVING 2.0 * max(length(shared)) / (length(near.key) + length(asked.key)) > %(graph_similarity)s
)

-- name: graph_near
(
    SELECT scope_id, entity_id, key
    FROM memsense.entities
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND memsense.scope_spellings(scope_id, key)
          && ARRAY(SELECT scope.scope_id || ':' || spelling FROM scope CROSS JOIN graph_spellings)
    OFFSET 0
)

-- name: graph_near_looked_up
memsense.find_entities(ARRAY(SELECT scope_id FROM scope), ARRAY(SELECT spelling FROM graph_spellings))

-- name: graph_reached
-- The entities mentioned with them, over the strongest edges, a few hops away.
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
-- The chunks, ranked by their mentions of all these entities.
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
