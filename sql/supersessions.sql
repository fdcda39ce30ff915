-- Statements that supersede earlier ones: memsense/store/supersession.py. Every statement names one tenant.

-- name: find_related
-- The exchanges whose user says some of the rarest words that the user says in these, with what a judgement
-- needs of both. `shared` is 1 for a word that nothing else has, less for one that many have, summed over
-- the words of both. Rows are looked up in subqueries of their own (OFFSET 0): until autovacuum has analysed a new
-- store, the planner takes a memory for a single row, and would join all of its exchanges with one another.
-- With `in_order`, an exchange is compared as if those behind it had not been stored: `others_after` of them are
-- not counted, `holders_after` of a word neither, and none is found.
WITH counted AS MATERIALIZED (
    SELECT coalesce(sum(chunk_count), 0)::float8 AS chunk_count
    FROM memsense.scope_statistics
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND granularity = 'turn'
),
written AS MATERIALIZED (
    SELECT
        chunk_id, tsv, occurred_at,
        CASE WHEN %(in_order)s THEN row_number() OVER (ORDER BY chunk_id DESC) - 1 ELSE 0 END AS others_after
    FROM memsense.chunks
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s::bigint[])
      AND granularity = 'turn' AND status = 'active'
),
said AS MATERIALIZED (
    SELECT chunk_id, lexeme, others_after, holders_after
    FROM (
        SELECT
            written.chunk_id, written.occurred_at, written.others_after, word.lexeme, 'A' = ANY (word.weights) AS is_said,
            CASE WHEN %(in_order)s THEN row_number() OVER (PARTITION BY word.lexeme ORDER BY written.chunk_id DESC) - 1
                 ELSE 0 END AS holders_after
        FROM written
        CROSS JOIN LATERAL unnest(ts_filter(written.tsv, ARRAY['a', 'b', 'c']::"char"[])) AS word (lexeme, positions, weights)
    ) AS word
    WHERE is_said AND occurred_at IS NOT NULL
),
words AS MATERIALIZED (
    SELECT chunk_id, lexeme, rarity, ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''':A')::tsquery AS query
    FROM (
        SELECT
            said.chunk_id, said.lexeme,
            ln((l.chunk_count + 1) / l.document_frequency) / ln(l.chunk_count + 1) AS rarity,
            row_number() OVER (PARTITION BY said.chunk_id ORDER BY l.document_frequency, said.lexeme) AS place
        FROM said
        CROSS JOIN counted
        CROSS JOIN LATERAL (
            SELECT
                counted.chunk_count - said.others_after AS chunk_count,
                document_frequency - said.holders_after AS document_frequency
            FROM memsense.lexemes
            -- The second comparison makes both indexes exact: without it, on a table that was never analysed, the
            -- planner may read the whole vocabulary in the index by reversed words, once for each word.
            WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND granularity = 'turn' AND lexeme = said.lexeme
              AND reverse(lexeme) = reverse(said.lexeme)
            OFFSET 0
        ) AS l
        WHERE l.document_frequency BETWEEN 2
              AND least(%(most_holders)s, greatest(%(least_holders)s, %(most_share)s * l.chunk_count))
    ) AS by_rarity
    WHERE place <= %(most_words)s
),
pairs AS (
    SELECT
        words.chunk_id, held.chunk_id AS other_id, sum(words.rarity) AS shared,
        row_number() OVER (PARTITION BY words.chunk_id ORDER BY sum(words.rarity) DESC, held.chunk_id) AS place
    FROM words
    CROSS JOIN LATERAL (
        {holders}
    ) AS held
    WHERE NOT (%(in_order)s AND held.chunk_id > words.chunk_id AND held.chunk_id = ANY (%(chunk_ids)s::bigint[]))
    GROUP BY words.chunk_id, held.chunk_id
)
SELECT
    pairs.chunk_id, pairs.other_id,
    -(a.embedding <#> b.embedding) AS cosine,
    a.own_user_text, b.own_user_text, a.occurred_at, b.occurred_at,
    a.session_id = b.session_id, (a.ordinal, a.part) < (b.ordinal, b.part), a.ordinal = b.ordinal
FROM pairs
CROSS JOIN LATERAL ({exchange}) AS a
CROSS JOIN LATERAL ({other_exchange}) AS b
WHERE pairs.place <= %(most_related)s
ORDER BY pairs.chunk_id, pairs.other_id;

-- name: exchange
SELECT
    c.session_id, c.ordinal, c.part, c.occurred_at, e.embedding,
    substr(c.user_text, c.opening_length + 1) AS own_user_text
FROM memsense.chunks AS c
JOIN memsense.embeddings AS e
    ON e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s AND e.chunk_id = c.chunk_id
    AND e.model_id = %(model_id)s AND e.route = 'user'
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = pairs.{chunk_id}
OFFSET 0

-- name: holders
SELECT c.chunk_id
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
  AND memsense.scope_lexemes(c.scope_id, c.tsv) @> ARRAY[%(scope_id)s::integer || ':' || words.lexeme]
  AND c.granularity = 'turn' AND c.status = 'active' AND c.occurred_at IS NOT NULL
  AND c.chunk_id <> words.chunk_id AND c.tsv @@ words.query
OFFSET 0

-- name: holders_looked_up
-- The same where policies leave the text index to a function (lookups.sql).
SELECT c.chunk_id
FROM memsense.find_chunks(ARRAY[%(scope_id)s::integer], ARRAY[words.lexeme]) AS found
JOIN memsense.chunks AS c ON c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = found.chunk_id
WHERE c.granularity = 'turn' AND c.status = 'active' AND c.occurred_at IS NOT NULL
  AND c.chunk_id <> words.chunk_id AND c.tsv @@ words.query
OFFSET 0

-- name: list_linkable
-- The exchanges of a memory that may supersede each other, and whether each is known to supersede something.
SELECT c.chunk_id, EXISTS (
    SELECT FROM memsense.supersessions AS l
    WHERE l.tenant_id = %(tenant_id)s AND l.scope_id = %(scope_id)s AND l.chunk_id = c.chunk_id
)
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
  AND c.granularity = 'turn' AND c.status = 'active' AND c.occurred_at IS NOT NULL
ORDER BY c.chunk_id;

-- name: insert_supersessions
-- A pair that somebody has decided stays as it is.
INSERT INTO memsense.supersessions (tenant_id, scope_id, chunk_id, older_id, reason, strength, evidence)
SELECT %(tenant_id)s, %(scope_id)s, chunk_id, older_id, reason, strength, evidence
FROM unnest(
    %(chunk_ids)s::bigint[], %(older_ids)s::bigint[], %(reasons)s::text[], %(strengths)s::float8[], %(evidence)s::jsonb[]
) AS found (chunk_id, older_id, reason, strength, evidence)
ON CONFLICT DO NOTHING
RETURNING chunk_id;

-- name: delete_found
-- The pairs of these exchanges that nobody has decided.
DELETE FROM memsense.supersessions
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND state = 'found'
  AND (chunk_id = ANY (%(chunk_ids)s::bigint[]) OR older_id = ANY (%(chunk_ids)s::bigint[]));

-- name: decide_pair
-- Store a decision about two exchanges. Until now the pair may have been unknown.
INSERT INTO memsense.supersessions
    (tenant_id, scope_id, chunk_id, older_id, reason, strength, state, decided_by, decided_at)
VALUES (
    %(tenant_id)s, %(scope_id)s, %(newer_id)s, %(older_id)s, coalesce(%(reason)s, ''), 0, %(state)s, %(actor)s,
    now()
)
ON CONFLICT (tenant_id, scope_id, chunk_id, older_id) DO UPDATE SET
    state = excluded.state, decided_by = excluded.decided_by, decided_at = excluded.decided_at,
    reason = coalesce(%(reason)s, supersessions.reason);

-- name: list_changes
-- A page of pairs, the newest first, without those that hold what has expired or was forgotten.
WITH scope AS MATERIALIZED (
    SELECT s.scope_id
    FROM memsense.scopes AS s
    WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s
      AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
),
{steps}
SELECT
    s.user_id, l.older_id, l.chunk_id AS newer_id, older.user_text AS older_text, newer.user_text AS newer_text,
    older.occurred_at AS said_at, newer.occurred_at AS superseded_at, l.state, l.strength, l.reason, l.evidence,
    l.found_at, l.decided_by, l.decided_at
FROM memsense.supersessions AS l
JOIN memsense.scopes AS s ON s.tenant_id = %(tenant_id)s AND s.scope_id = l.scope_id
JOIN memsense.chunks AS older
    ON older.tenant_id = %(tenant_id)s AND older.scope_id = l.scope_id AND older.chunk_id = l.older_id
JOIN memsense.chunks AS newer
    ON newer.tenant_id = %(tenant_id)s AND newer.scope_id = l.scope_id AND newer.chunk_id = l.chunk_id
WHERE l.tenant_id = %(tenant_id)s
  AND l.scope_id IN (SELECT scope_id FROM scope)
  AND (%(state)s::text IS NULL OR l.state = %(state)s)
  AND older.status = 'active' AND newer.status = 'active'
  AND (%(before_newer)s::bigint IS NULL OR (l.chunk_id, l.older_id) < (%(before_newer)s, %(before_older)s))
  AND {is_newer_shown}
  AND {is_older_shown}
ORDER BY l.chunk_id DESC, l.older_id DESC
LIMIT %(limit)s;

-- name: list_supersessions
-- The links in which these exchanges stand, on either side, without those that hold what has expired.
WITH scope AS MATERIALIZED (
    SELECT DISTINCT c.scope_id
    FROM memsense.chunks AS c
    JOIN memsense.scopes AS s ON s.tenant_id = %(tenant_id)s AND s.scope_id = c.scope_id
    WHERE c.tenant_id = %(tenant_id)s AND c.chunk_id = ANY (%(chunk_ids)s::bigint[])
      AND s.namespace_id = %(namespace_id)s AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
),
{steps}
SELECT l.older_id, l.chunk_id AS newer_id, l.reason, l.strength, c.occurred_at AS superseded_at, l.found_at
FROM memsense.supersessions AS l
JOIN memsense.chunks AS c ON c.tenant_id = %(tenant_id)s AND c.scope_id = l.scope_id AND c.chunk_id = l.chunk_id
WHERE l.tenant_id = %(tenant_id)s
  AND l.scope_id IN (SELECT scope_id FROM scope)
  AND (l.chunk_id = ANY (%(chunk_ids)s::bigint[]) OR l.older_id = ANY (%(chunk_ids)s::bigint[]))
  AND l.state IN ('confirmed', 'set')
  AND {is_newer_shown}
  AND {is_older_shown}
ORDER BY l.chunk_id, l.older_id;
