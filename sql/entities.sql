-- Entities: what keeps them in step with the chunks, and what reads them. Every statement names one
-- tenant; writes hold the scope's lock.

-- name: add_mentions
-- Makes mentions, entities and edges of what was found in chunks that become active.
WITH found AS (
    SELECT c.chunk_id, e.key, e.name, e.kind, e.count
    FROM memsense.chunks AS c
    CROSS JOIN LATERAL jsonb_to_recordset(c.entities) AS e (key text, name text, kind text, count integer)
    WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s)
      AND c.granularity = 'turn'
),
named AS (
    INSERT INTO memsense.entities (tenant_id, scope_id, key, mention_count)
    SELECT %(tenant_id)s, %(scope_id)s, key, sum(count) FROM found GROUP BY key ORDER BY key
    ON CONFLICT (tenant_id, scope_id, key)
    DO UPDATE SET mention_count = entities.mention_count + EXCLUDED.mention_count
    RETURNING entity_id, key
),
mentioned AS (
    INSERT INTO memsense.mentions (tenant_id, scope_id, entity_id, chunk_id, name, kind, mention_count)
    SELECT %(tenant_id)s, %(scope_id)s, named.entity_id, found.chunk_id, found.name, found.kind, found.count
    FROM found
    JOIN named USING (key)
    RETURNING entity_id, chunk_id
)
INSERT INTO memsense.edges (tenant_id, scope_id, entity_a, entity_b, weight)
SELECT %(tenant_id)s, %(scope_id)s, one.entity_id, other.entity_id, count(*)
FROM mentioned AS one
JOIN mentioned AS other ON other.chunk_id = one.chunk_id AND other.entity_id > one.entity_id
GROUP BY one.entity_id, other.entity_id
ORDER BY one.entity_id, other.entity_id
ON CONFLICT (tenant_id, scope_id, entity_a, entity_b)
DO UPDATE SET weight = edges.weight + EXCLUDED.weight;

-- name: remove_mentions
-- Takes the mentions of chunks away, and what of entities and edges nothing else holds.
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

-- name: clear_mentions
DELETE FROM memsense.mentions WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: clear_edges
DELETE FROM memsense.edges WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: clear_entities
DELETE FROM memsense.entities WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: list_users
SELECT s.user_id
FROM memsense.scopes AS s
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
WHERE s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
ORDER BY s.user_id;

-- name: fetch_unread_turns
-- Turn chunks of any status behind a chunk id, in order, as an extractor reads them.
SELECT c.chunk_id, c.status, c.user_text, c.assistant_text, c.user_speaker, c.assistant_speaker
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.granularity = 'turn'
  AND c.chunk_id > %(after)s
ORDER BY c.chunk_id
LIMIT %(limit)s;

-- name: fetch_speakers
SELECT speakers FROM memsense.scopes WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: set_entities
UPDATE memsense.chunks AS c
SET entities = given.entities
FROM unnest(%(chunk_ids)s::bigint[], %(entities)s::jsonb[]) AS given (chunk_id, entities)
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = given.chunk_id
  AND c.entities <> given.entities;

-- name: list_entities
-- The most mentioned entities, each under its most frequent spelling and kind.
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
) AS named
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND e.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
  AND (%(keys)s::text[] IS NULL OR e.key = ANY (%(keys)s))
  AND (%(kind)s::text IS NULL OR named.kind = %(kind)s)
ORDER BY e.mention_count DESC, e.key, s.user_id
LIMIT %(limit)s;

-- name: find_similar
-- The entities whose keys are most like a name, the most similar first. Similarity: twice the letters
-- that both share in order, by the letters of both, where at most one of each is not shared.
SELECT near.key, max(2.0 * length(shared) / (length(near.key) + length(%(key)s))) AS similarity
FROM (
    SELECT DISTINCT e.key
    FROM memsense.namespaces AS n
    JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
    JOIN memsense.entities AS e ON e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id
    WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND e.tenant_id = %(tenant_id)s
      AND n.name = %(namespace)s
      AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
      AND memsense.scope_spellings(e.scope_id, e.key) && memsense.scope_spellings(s.scope_id, %(key)s)
) AS near
CROSS JOIN LATERAL unnest(memsense.spellings(near.key)) AS shared
WHERE shared = ANY (memsense.spellings(%(key)s))
GROUP BY near.key
HAVING max(2.0 * length(shared) / (length(near.key) + length(%(key)s))) > %(least)s
ORDER BY similarity DESC, near.key
LIMIT %(limit)s;

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
) AS named
ORDER BY near.weight DESC, near.entity_id;

-- name: list_edges_among
SELECT entity_a, entity_b, weight
FROM memsense.edges
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
  AND entity_a = ANY (%(entity_ids)s::bigint[]) AND entity_b = ANY (%(entity_ids)s::bigint[])
ORDER BY entity_a, entity_b;

-- name: list_mentions
-- The chunks that mention an entity, those that do so most often first.
SELECT m.chunk_id, m.name, m.mention_count AS mentions
FROM memsense.mentions AS m
WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.entity_id = %(entity_id)s
ORDER BY m.mention_count DESC, m.chunk_id
LIMIT %(limit)s;
