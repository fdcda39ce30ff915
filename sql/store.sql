-- Writes and reads of the store. Every statement names one tenant.

-- name: find_tenant
SELECT tenant_id FROM memsense.tenants WHERE name = %(name)s;

-- name: find_tenant_state
SELECT tenant_id, suspended_at FROM memsense.tenants WHERE name = %(name)s;

-- name: ensure_tenant
INSERT INTO memsense.tenants (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING;

-- name: claim_model
SELECT memsense.claim_model(%(name)s, %(dimension)s);

-- name: find_model
SELECT model_id FROM memsense.models WHERE name = %(name)s AND dimension = %(dimension)s;

-- name: list_namespaces
SELECT name FROM memsense.namespaces WHERE tenant_id = %(tenant_id)s ORDER BY name;

-- name: ensure_namespace
-- A namespace with settings or projects gets its model at its first write.
INSERT INTO memsense.namespaces (tenant_id, name, language, model_id)
VALUES (%(tenant_id)s, %(name)s, %(language)s, %(model_id)s)
ON CONFLICT (tenant_id, name) DO UPDATE SET model_id = EXCLUDED.model_id
WHERE namespaces.model_id IS NULL AND EXCLUDED.model_id IS NOT NULL;

-- name: find_namespace
-- With its models, its settings and stored profiles, as of one moment.
SELECT
    n.namespace_id, n.language, n.model_id, m.name AS model, m.dimension, n.settings_version,
    (SELECT coalesce(jsonb_agg(jsonb_build_object(
         'model_id', x.model_id, 'name', x.name, 'dimension', x.dimension,
         'embedder', coalesce(k.embedder, '{}'), 'languages', k.languages) ORDER BY x.model_id <> n.model_id, x.model_id), '[]')
     FROM memsense.models AS x
     LEFT JOIN memsense.namespace_models AS k
       ON k.tenant_id = %(tenant_id)s AND k.namespace_id = n.namespace_id AND k.model_id = x.model_id
     WHERE x.model_id = n.model_id OR k.state = 'kept') AS models,
    (SELECT coalesce(jsonb_object_agg(s.name, s.value), '{}') FROM memsense.settings AS s
     WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = n.namespace_id) AS settings,
    (SELECT coalesce(jsonb_object_agg(p.name, p.constants), '{}') FROM memsense.profiles AS p
     WHERE p.tenant_id = %(tenant_id)s AND p.namespace_id = n.namespace_id) AS profiles
FROM memsense.namespaces AS n
LEFT JOIN memsense.models AS m USING (model_id)
WHERE n.tenant_id = %(tenant_id)s AND n.name = %(name)s;

-- name: ensure_scope
INSERT INTO memsense.scopes (tenant_id, namespace_id, user_id)
VALUES (%(tenant_id)s, %(namespace_id)s, %(user_id)s)
ON CONFLICT (tenant_id, namespace_id, user_id) DO NOTHING;

-- name: lock_scope
-- Every write of a scope takes this lock first, so its statistics and ordinals never race.
SELECT scope_id, speakers
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND user_id = %(user_id)s
FOR NO KEY UPDATE;

-- name: list_users
-- The users of a namespace, or the one who is named if there is such a user.
SELECT user_id
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
  AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s)
ORDER BY user_id;

-- name: fetch_language
SELECT language FROM memsense.namespaces WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s;

-- name: fetch_writing
-- The current state of the namespace and the memory that a write needs: the language, that of the memory's last
-- exchange, the model that searches use, the models that it has vectors of, the server's time, by which things
-- expire, and the settings of writes.
SELECT
    n.language,
    (SELECT c.language FROM memsense.chunks AS c
     WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
     ORDER BY c.chunk_id DESC LIMIT 1) AS last_language,
    n.model_id, now(),
    ARRAY(SELECT k.model_id FROM memsense.namespace_models AS k
          WHERE k.tenant_id = %(tenant_id)s AND k.namespace_id = n.namespace_id AND k.state = 'kept') AS kept,
    (SELECT coalesce(jsonb_object_agg(x.name, x.value), '{}') FROM memsense.settings AS x
     WHERE x.tenant_id = %(tenant_id)s AND x.namespace_id = n.namespace_id
       AND x.name IN ('ttl', 'history', 'user_quota', 'on_quota')) AS settings
FROM memsense.namespaces AS n
WHERE n.tenant_id = %(tenant_id)s AND n.namespace_id = %(namespace_id)s;

-- name: find_scope
SELECT
    s.scope_id, s.speakers,
    ARRAY(
        SELECT m.name
        FROM memsense.mentions AS m
        WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = s.scope_id AND m.kind = 'self') AS introduced,
    s.indexed,
    EXISTS (
        SELECT FROM memsense.scope_statistics AS x
        WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = s.scope_id
          AND x.granularity = 'session' AND x.chunk_count > 0) AS has_sessions,
    ARRAY(
        SELECT language
        FROM jsonb_each_text(s.languages) AS counted (language, chunks)
        ORDER BY chunks::integer DESC, language) AS languages,
    s.lexemes_version
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s AND s.user_id = %(user_id)s;

-- name: find_every_scope
-- The languages of all memories of a namespace, the most frequent first, and the lowest version of their index entries.
WITH scope AS (
    SELECT s.languages, s.lexemes_version
    FROM memsense.namespaces AS n
    JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
    WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
)
SELECT
    ARRAY(
        SELECT language
        FROM scope
        CROSS JOIN LATERAL jsonb_each_text(languages) AS counted (language, chunks)
        GROUP BY language
        ORDER BY sum(chunks::integer) DESC, language) AS languages,
    (SELECT min(lexemes_version) FROM scope) AS lexemes_version;

-- name: add_speakers
UPDATE memsense.scopes
SET speakers = ARRAY(SELECT DISTINCT speaker FROM unnest(speakers || %(speakers)s::text[]) AS speaker ORDER BY speaker)
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND NOT speakers @> %(speakers)s::text[];

-- name: fetch_ledger
SELECT message_key, content_hash, ordinal, content_key IS NULL AS lacks_key
FROM memsense.ingested_messages
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
  AND session_id = %(session_id)s AND format = %(format)s;

-- name: fetch_ledgers
SELECT session_id, message_key, content_hash, ordinal, content_key
FROM memsense.ingested_messages
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
  AND session_id = ANY (%(session_ids)s::text[]) AND format = %(format)s;

-- name: find_by_content
-- The sessions that have messages with a content key in one of some ranges, and how many of these ranges. A text that
-- was said often tells nothing: of each range the first sessions count.
SELECT m.session_id, count(*)
FROM unnest(%(lows)s::bytea[], %(highs)s::bytea[]) AS wanted (low, high)
CROSS JOIN LATERAL (
    SELECT DISTINCT few.session_id
    FROM (
        SELECT session_id
        FROM memsense.ingested_messages
        WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND format = %(format)s
          AND content_key BETWEEN wanted.low AND wanted.high
        ORDER BY content_key
        LIMIT 20
    ) AS few
) AS m
GROUP BY m.session_id
ORDER BY m.session_id;

-- name: find_aliases
SELECT session_id
FROM memsense.session_aliases
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND format = %(format)s AND alias = ANY (%(aliases)s::text[]);

-- name: record_alias
INSERT INTO memsense.session_aliases (tenant_id, scope_id, format, alias, session_id)
VALUES (%(tenant_id)s, %(scope_id)s, %(format)s, %(alias)s, %(session_id)s)
ON CONFLICT (tenant_id, scope_id, format, alias) DO NOTHING;

-- name: record_content_keys
-- Fills what the ledger had before it kept keys of contents.
UPDATE memsense.ingested_messages AS m
SET content_key = read.content_key
FROM unnest(%(message_keys)s::text[], %(content_keys)s::bytea[]) AS read (message_key, content_key)
WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.session_id = %(session_id)s
  AND m.format = %(format)s AND m.message_key = read.message_key;

-- name: record_messages
INSERT INTO memsense.ingested_messages (
    tenant_id, scope_id, session_id, format, message_key, content_hash, ordinal, content_key)
SELECT %(tenant_id)s, %(scope_id)s, %(session_id)s, %(format)s, message_key, content_hash, ordinal, content_key
FROM unnest(%(message_keys)s::text[], %(content_hashes)s::text[], %(ordinals)s::integer[], %(content_keys)s::bytea[])
    AS message (message_key, content_hash, ordinal, content_key)
ON CONFLICT (tenant_id, scope_id, session_id, format, message_key)
DO UPDATE SET content_hash = EXCLUDED.content_hash, ordinal = EXCLUDED.ordinal, content_key = EXCLUDED.content_key;

-- name: forget_messages
-- Deletes every message of some exchanges from the ledger, before those that remain are recorded.
DELETE FROM memsense.ingested_messages
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
  AND session_id = %(session_id)s AND format = %(format)s AND ordinal = ANY (%(ordinals)s::integer[]);

-- name: next_ordinals
-- The next free ordinal of sessions, counting inactive chunks and those that only the ledger knows.
SELECT named.session_id, 1 + greatest(
    -1,
    (SELECT max(last_ordinal) FROM memsense.chunks
     WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = named.session_id),
    (SELECT max(ordinal) FROM memsense.ingested_messages
     WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = named.session_id))
FROM unnest(%(session_ids)s::text[]) AS named (session_id);

-- name: fetch_last_turns
-- The last two active turns of sessions, in order, each behind the id of its session.
SELECT
    named.session_id, c.chunk_id, c.ordinal, c.part, substr(c.user_text, c.opening_length + 1) AS user_text,
    c.assistant_text, c.user_speaker, c.assistant_speaker, c.agent_id, c.occurred_at, c.occurred_zone_known,
    c.message_ids, c.source, c.next_user_text, c.context, c.project, c.language
FROM unnest(%(session_ids)s::text[]) AS named (session_id)
CROSS JOIN LATERAL (
    SELECT *
    FROM memsense.chunks
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = named.session_id
      AND granularity = 'turn' AND status = 'active'
    ORDER BY ordinal DESC, part DESC
    LIMIT 2
) AS c
ORDER BY c.ordinal, c.part;

-- name: find_repeats
-- The chunks of exchanges with the same content within ten minutes of event time, whose first part is not
-- forgotten, and whether each has expired. An exchange is recognised by the hash of its first part; one that
-- an answer has completed, by the messages that `add` got, each as the ledger has it: HASH@WINDOW, at a
-- time.
SELECT wanted.position, c.chunk_id, coalesce(c.expires_at <= now(), false) AS has_expired
FROM unnest(%(session_ids)s::text[], %(content_hashes)s::text[], %(occurred)s::timestamptz[], %(windows)s::bigint[])
    WITH ORDINALITY AS wanted (session_id, content_hash, occurred_at, dedup_window, position)
CROSS JOIN LATERAL (
    (SELECT session_id, ordinal
     FROM memsense.chunks
     WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
       AND content_hash = wanted.content_hash
       AND part = 0 AND status <> 'deleted'
       AND abs(extract(epoch FROM occurred_at - wanted.occurred_at)) < %(window_seconds)s
     ORDER BY chunk_id
     LIMIT 1)
    UNION ALL
    (SELECT m.session_id, m.ordinal
     FROM memsense.ingested_messages AS m
     WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s
       AND m.session_id = wanted.session_id AND m.format = ''
       AND m.message_key = ANY (ARRAY(
           SELECT wanted.content_hash || '@' || w
           FROM generate_series(wanted.dedup_window - 1, wanted.dedup_window + 1) AS w))
       AND CASE WHEN m.format = ''
                THEN abs(extract(epoch FROM m.content_hash::timestamptz - wanted.occurred_at)) < %(window_seconds)s
           END
       AND NOT EXISTS (
           SELECT FROM memsense.chunks AS c
           WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.session_id = m.session_id
             AND c.granularity = 'turn' AND c.ordinal = m.ordinal AND c.status = 'deleted')
     LIMIT 1)
    LIMIT 1
) AS first
JOIN memsense.chunks AS c
  ON c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.session_id = first.session_id
 AND c.granularity = 'turn' AND c.ordinal = first.ordinal
ORDER BY wanted.position, c.part;

-- name: set_aside
-- Moves expired content aside, so that the same text can be stored again.
UPDATE memsense.chunks
SET content_hash = content_hash || ':expired:' || chunk_id
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s);

-- name: find_awaiting
-- The last exchange of a session, of any status, unless it has expired.
SELECT
    c.chunk_id, n.name AS namespace, s.user_id, c.agent_id, c.session_id, c.granularity, c.ordinal, c.last_ordinal,
    c.part, c.user_text, c.assistant_text, c.session_text, c.user_speaker, c.assistant_speaker, c.next_user_text,
    c.context, c.task_tag, c.tags, c.memory_kind, c.personal_info, c.preferences, c.events, c.facet_spans,
    c.memory_score, c.confidence, c.status, c.occurred_at, c.occurred_zone_known, c.recorded_at, c.message_ids,
    c.source, c.metadata, c.part_count, c.opening_length, c.expires_at, c.project, c.language
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
WHERE c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s AND s.user_id = %(user_id)s
  AND c.session_id = %(session_id)s AND c.granularity = 'turn' AND c.ordinal = (
      SELECT max(l.ordinal)
      FROM memsense.chunks AS l
      WHERE l.tenant_id = %(tenant_id)s AND l.scope_id = c.scope_id
        AND l.session_id = %(session_id)s AND l.granularity = 'turn')
  AND (c.expires_at IS NULL OR c.expires_at > now())
ORDER BY c.part;

-- name: still_awaits
SELECT coalesce(bool_and(
        c.chunk_id = ANY (%(chunk_ids)s::bigint[]) AND c.status = 'active' AND c.assistant_text = ''), false)
    AND coalesce(
        string_agg(substr(c.user_text, c.opening_length + 1), '' ORDER BY c.part), '') = %(user_text)s
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.session_id = %(session_id)s
  AND c.granularity = 'turn' AND c.ordinal >= %(ordinal)s;

-- name: upsert_chunks
-- A chunk at a taken place (session, granularity, ordinal, part) replaces the old one and keeps its id. The
-- same content in the same window of time is left alone: the constraint decides, not a look-up. Identifiers
-- are lexemes without positions: they count towards no field, length or frequency.
INSERT INTO memsense.chunks (
    tenant_id, scope_id, granularity, session_id, agent_id, ordinal, last_ordinal, part,
    user_text, assistant_text, session_text, user_speaker, assistant_speaker, next_user_text, context,
    task_tag, tags, memory_kind, personal_info, preferences, events, facet_spans,
    confidence, occurred_at, occurred_zone_known, message_ids, source, metadata, content_hash, dedup_window,
    part_count, opening_length, expires_at, project, language, tsv, user_length, assistant_length, tag_length, context_length
)
SELECT
    %(tenant_id)s, %(scope_id)s, d.granularity, d.session_id, d.agent_id, d.ordinal, d.last_ordinal, d.part,
    d.user_text, d.assistant_text, d.session_text, d.user_speaker, d.assistant_speaker, d.next_user_text, d.context,
    d.task_tag, d.tags, d.memory_kind, d.personal_info, d.preferences, d.events, d.facet_spans,
    d.confidence, d.occurred_at, d.occurred_zone_known, d.message_ids, d.source, d.metadata, d.content_hash, d.dedup_window,
    d.part_count, d.opening_length, d.expires_at, d.project, d.language,
    setweight(field.a, 'A') || setweight(field.b, 'B') || setweight(field.c, 'C') || setweight(field.d, 'D')
    || array_to_tsvector(d.identifiers),
    (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.a)),
    (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.b)),
    (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.c)),
    (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.d))
FROM jsonb_to_recordset(%(drafts)s) AS d (
    position integer, granularity text, session_id text, agent_id text, ordinal integer, last_ordinal integer,
    part integer, user_text text, assistant_text text, session_text text, user_speaker text, assistant_speaker text,
    next_user_text text, context text, task_tag text, tags text[], memory_kind text, personal_info text,
    preferences text, events text, facet_spans jsonb, confidence double precision, occurred_at timestamptz,
    occurred_zone_known boolean, message_ids text[], source text, metadata jsonb, content_hash text,
    dedup_window bigint, part_count integer, opening_length integer, expires_at timestamptz, project text, language text,
    user_terms text, assistant_terms text, tag_terms text, context_terms text, identifiers text[]
)
CROSS JOIN LATERAL (
    SELECT
        d.user_terms::tsvector AS a,
        d.assistant_terms::tsvector AS b,
        d.tag_terms::tsvector AS c,
        d.context_terms::tsvector AS d
    OFFSET 0
) AS field
ORDER BY d.position
ON CONFLICT (tenant_id, scope_id, session_id, granularity, ordinal, part) DO UPDATE SET
    status = 'active', agent_id = EXCLUDED.agent_id, last_ordinal = EXCLUDED.last_ordinal,
    user_text = EXCLUDED.user_text, assistant_text = EXCLUDED.assistant_text, session_text = EXCLUDED.session_text,
    user_speaker = EXCLUDED.user_speaker, assistant_speaker = EXCLUDED.assistant_speaker,
    next_user_text = EXCLUDED.next_user_text, context = EXCLUDED.context,
    task_tag = EXCLUDED.task_tag, tags = EXCLUDED.tags, memory_kind = EXCLUDED.memory_kind,
    personal_info = EXCLUDED.personal_info, preferences = EXCLUDED.preferences, events = EXCLUDED.events,
    facet_spans = EXCLUDED.facet_spans, occurred_at = EXCLUDED.occurred_at,
    occurred_zone_known = EXCLUDED.occurred_zone_known, message_ids = EXCLUDED.message_ids,
    source = EXCLUDED.source, metadata = EXCLUDED.metadata,
    content_hash = EXCLUDED.content_hash, dedup_window = EXCLUDED.dedup_window,
    part_count = EXCLUDED.part_count, opening_length = EXCLUDED.opening_length, expires_at = EXCLUDED.expires_at,
    project = EXCLUDED.project, language = EXCLUDED.language,
    tsv = EXCLUDED.tsv, user_length = EXCLUDED.user_length, assistant_length = EXCLUDED.assistant_length,
    tag_length = EXCLUDED.tag_length, context_length = EXCLUDED.context_length, unknown_to = '{}'
RETURNING chunk_id, session_id, granularity, ordinal, part;

-- name: assign_projects
-- Sets the project of exchanges that have none. A session chunk may hold exchanges of several projects: it gets
-- one only if all of these have the same.
UPDATE memsense.chunks AS c
SET project = exchange.project
FROM unnest(%(ordinals)s::integer[], %(projects)s::text[]) AS exchange (ordinal, project)
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.session_id = %(session_id)s
  AND c.ordinal = exchange.ordinal AND c.project IS NULL AND exchange.project IS NOT NULL
  AND (c.granularity = 'turn' OR exchange.project = ALL (%(projects)s::text[]));

-- name: relink_turns
-- Sets what turns repeat of their neighbours (next-user text, context and its index entry), and keeps the
-- scope's sum of context lengths right.
WITH field AS (
    SELECT chunk_id, next_user_text, context, context_terms::tsvector AS d
    FROM unnest(%(chunk_ids)s::bigint[], %(next_user_texts)s::text[], %(contexts)s::text[], %(context_terms)s::text[])
        AS link (chunk_id, next_user_text, context, context_terms)
),
before AS (
    SELECT sum(context_length) AS context_length
    FROM memsense.chunks
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s::bigint[])
),
relinked AS (
    UPDATE memsense.chunks AS c
    SET next_user_text = field.next_user_text,
        context = field.context,
        tsv = ts_filter(c.tsv, '{a,b,c}') || setweight(field.d, 'D')
              || array_to_tsvector(ARRAY(SELECT lexeme FROM unnest(c.tsv) WHERE positions IS NULL)),
        context_length = (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.d))
    FROM field
    WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = field.chunk_id
    RETURNING c.context_length
)
UPDATE memsense.scope_statistics AS s
SET context_length = s.context_length + relinked.context_length - before.context_length
FROM (SELECT sum(context_length) AS context_length FROM relinked HAVING count(*) > 0) AS relinked, before
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s AND s.granularity = 'turn';

-- name: link_user_embeddings
-- Sets whose next-user vector the user vector of each chunk is.
UPDATE memsense.embeddings_user AS e
SET previous_chunk_id = link.previous_chunk_id
FROM unnest(%(chunk_ids)s::bigint[], %(previous_chunk_ids)s::bigint[]) AS link (chunk_id, previous_chunk_id)
WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s AND e.chunk_id = link.chunk_id
  AND e.previous_chunk_id IS DISTINCT FROM link.previous_chunk_id;

-- name: insert_embeddings
-- Vectors are stored as fresh if the memory's HNSW indexes leave fresh vectors out, until there are too many
-- of them. The model that searches use compares texts of its languages, any other one the rest.
INSERT INTO memsense.embeddings
    (tenant_id, scope_id, chunk_id, previous_chunk_id, route, granularity, model_id, embedding, beside, fresh)
SELECT
    %(tenant_id)s, %(scope_id)s, vector.chunk_id, previous_chunk_id, route, vector.granularity, %(model_id)s, embedding,
    coalesce(c.language = ANY (k.languages) OR '*' = ANY (k.languages), true) <> (n.model_id IS NOT DISTINCT FROM %(model_id)s),
    s.keeps_fresh AND (
        SELECT count(*) <= %(fresh_room)s
        FROM (
            SELECT FROM memsense.embeddings_full
            WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND model_id = %(model_id)s AND fresh
            LIMIT greatest(%(fresh_room)s + 1, 0)
        ) AS waiting)
FROM memsense.scopes AS s
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
LEFT JOIN memsense.namespace_models AS k
  ON k.tenant_id = s.tenant_id AND k.namespace_id = s.namespace_id AND k.model_id = n.model_id
CROSS JOIN unnest(%(chunk_ids)b::bigint[], %(previous_chunk_ids)b::bigint[], %(routes)b::text[], %(granularities)b::text[], %(embeddings)b::halfvec[])
    AS vector (chunk_id, previous_chunk_id, route, granularity, embedding)
LEFT JOIN memsense.chunks AS c
  ON c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id AND c.chunk_id = vector.chunk_id
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s
RETURNING fresh;

-- name: mark_beside
-- Does the same for vectors that are stored, after the languages of texts or models have changed.
UPDATE memsense.embeddings AS e
SET beside = NOT e.beside
FROM memsense.chunks AS c, memsense.scopes AS s, memsense.namespaces AS n
LEFT JOIN memsense.namespace_models AS k
  ON k.tenant_id = %(tenant_id)s AND k.namespace_id = n.namespace_id AND k.model_id = n.model_id
WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s
  AND c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = e.chunk_id
  AND s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s
  AND n.tenant_id = %(tenant_id)s AND n.namespace_id = s.namespace_id
  AND e.beside <> (coalesce(c.language = ANY (k.languages) OR '*' = ANY (k.languages), true) <> (n.model_id IS NOT DISTINCT FROM e.model_id));

-- name: mark_unknown
-- The model knows too little of these chunks: they lack no vector of it.
UPDATE memsense.chunks
SET unknown_to = unknown_to || %(model_id)s::integer
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)
  AND NOT %(model_id)s = ANY (unknown_to);

-- name: delete_embeddings
DELETE FROM memsense.embeddings
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s);

-- name: count_lexemes
-- Adds (sign 1) or subtracts (sign -1) the chunks' own lexemes, in lexeme order.
INSERT INTO memsense.lexemes (tenant_id, scope_id, granularity, lexeme, document_frequency)
SELECT %(tenant_id)s, %(scope_id)s, c.granularity, lexeme, %(sign)s * count(*)
FROM memsense.chunks AS c
CROSS JOIN LATERAL unnest(tsvector_to_array(ts_filter(c.tsv, '{a,b,c}'))) AS lexeme
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s)
GROUP BY c.granularity, lexeme
ORDER BY c.granularity, lexeme
ON CONFLICT (tenant_id, scope_id, granularity, lexeme)
DO UPDATE SET document_frequency = lexemes.document_frequency + EXCLUDED.document_frequency;

-- name: drop_unused_lexemes
-- Those of the chunks' own lexemes that no active chunk has any more.
DELETE FROM memsense.lexemes AS l
USING (
    SELECT DISTINCT c.granularity, lexeme
    FROM memsense.chunks AS c
    CROSS JOIN LATERAL unnest(tsvector_to_array(ts_filter(c.tsv, '{a,b,c}'))) AS lexeme
    WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s)
) AS own
WHERE l.tenant_id = %(tenant_id)s AND l.scope_id = %(scope_id)s
  AND l.granularity = own.granularity AND l.lexeme = own.lexeme AND reverse(l.lexeme) = reverse(own.lexeme)
  AND l.document_frequency <= 0;

-- name: count_chunks
INSERT INTO memsense.scope_statistics (
    tenant_id, scope_id, granularity, chunk_count, user_length, assistant_length, tag_length, context_length
)
SELECT
    %(tenant_id)s, %(scope_id)s, granularity, %(sign)s * count(*), %(sign)s * sum(user_length),
    %(sign)s * sum(assistant_length), %(sign)s * sum(tag_length), %(sign)s * sum(context_length)
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)
GROUP BY granularity
ON CONFLICT (tenant_id, scope_id, granularity) DO UPDATE SET
    chunk_count = scope_statistics.chunk_count + EXCLUDED.chunk_count,
    user_length = scope_statistics.user_length + EXCLUDED.user_length,
    assistant_length = scope_statistics.assistant_length + EXCLUDED.assistant_length,
    tag_length = scope_statistics.tag_length + EXCLUDED.tag_length,
    context_length = scope_statistics.context_length + EXCLUDED.context_length;

-- name: count_languages
-- As text, since Citus runs no UPDATE that makes JSON of columns.
UPDATE memsense.scopes AS s
SET languages = counted.languages::jsonb
FROM (
    SELECT coalesce('{' || string_agg('"' || language || '":' || chunks, ',') || '}', '{}') AS languages
    FROM (
        SELECT language, sum(chunks) AS chunks
        FROM (
            SELECT known.language, known.chunks::bigint AS chunks
            FROM memsense.scopes AS x
            CROSS JOIN LATERAL jsonb_each_text(x.languages) AS known (language, chunks)
            WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = %(scope_id)s
            UNION ALL
            SELECT c.language, %(sign)s * count(*)
            FROM memsense.chunks AS c
            WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s)
              AND c.language IS NOT NULL
            GROUP BY c.language
        ) AS every
        GROUP BY language
        HAVING sum(chunks) > 0
    ) AS summed
) AS counted
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s;

-- name: find_excess
-- Kinds of memories that a user has more of than the quota, exchanges first. The counts of chunks are kept by every
-- write; only a user who has more chunks has the exchanges counted, of which a long one has several parts.
SELECT granularity, memories
FROM (
    SELECT
        s.granularity,
        CASE WHEN s.granularity = 'session' THEN s.chunk_count ELSE (
            SELECT count(*) FROM memsense.chunks AS c
            WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.granularity = 'turn'
              AND c.status = 'active' AND c.part = 0) END AS memories
    FROM memsense.scope_statistics AS s
    WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s AND s.chunk_count > %(quota)s
) AS counted
WHERE memories > %(quota)s
ORDER BY granularity DESC;

-- name: select_oldest
-- The oldest active chunks of a kind, from the end of the index on occurred_at, that were not promoted.
SELECT chunk_id
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND granularity = %(granularity)s
  AND status = 'active' AND part = 0 AND memory_score <= 0.5 AND NOT chunk_id = ANY (%(spared)s::bigint[])
ORDER BY occurred_at NULLS FIRST, chunk_id
LIMIT %(limit)s;

-- name: insert_events
INSERT INTO memsense.events (tenant_id, scope_id, chunk_id, kind, detail, actor)
SELECT %(tenant_id)s, %(scope_id)s, chunk_id, %(kind)s, %(detail)s, %(actor)s
FROM unnest(%(chunk_ids)s::bigint[]) AS chunk_id;

-- name: fetch_turns
-- The active turns of a session, in order.
SELECT
    chunk_id, ordinal, part, substr(user_text, opening_length + 1) AS user_text, assistant_text, user_speaker,
    assistant_speaker, agent_id,
    occurred_at, occurred_zone_known, message_ids, source, next_user_text, context, project, language
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
  AND granularity = 'turn' AND status = 'active'
ORDER BY ordinal, part;

-- name: fetch_places
-- The chunks, of any status, at some ordinals of a session.
SELECT chunk_id, ordinal, part, status
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
  AND granularity = %(granularity)s AND ordinal = ANY (%(ordinals)s::integer[])
ORDER BY ordinal, part;

-- name: fetch_covered
-- The turns, of any status, that a session chunk covers, each with the session chunk that it was last
-- retired with.
SELECT
    c.chunk_id, c.status,
    (SELECT (e.detail ->> 'session_chunk')::bigint
     FROM memsense.events AS e
     WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s AND e.chunk_id = c.chunk_id
       AND e.kind IN ('archived', 'deleted')
     ORDER BY e.event_id DESC LIMIT 1) AS retired_with
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.session_id = %(session_id)s
  AND c.granularity = 'turn' AND c.ordinal BETWEEN %(ordinal)s AND %(last_ordinal)s
ORDER BY c.ordinal, c.part;

-- name: find_said_again
-- Those of some turns whose exchange is stored a second time: not forgotten, or the later one of two of
-- these turns.
SELECT c.chunk_id
FROM memsense.chunks AS c
JOIN memsense.chunks AS f
  ON f.tenant_id = %(tenant_id)s AND f.scope_id = %(scope_id)s AND f.session_id = c.session_id
 AND f.granularity = 'turn' AND f.ordinal = c.ordinal AND f.part = 0
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s)
  AND c.granularity = 'turn'
  AND EXISTS (
      SELECT FROM memsense.chunks AS x
      WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = %(scope_id)s
        AND x.content_hash = f.content_hash AND x.part = 0 AND x.chunk_id <> f.chunk_id
        AND (x.dedup_window = f.dedup_window
             OR abs(extract(epoch FROM x.occurred_at - f.occurred_at)) < %(window_seconds)s)
        AND (x.status <> 'deleted' OR x.chunk_id > f.chunk_id AND x.chunk_id = ANY (%(chunk_ids)s)));

-- name: fetch_session_chunks
SELECT
    chunk_id, ordinal, last_ordinal, part, session_text, message_ids, status, agent_id,
    occurred_at, occurred_zone_known, source, content_hash, expires_at, project, language
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
  AND granularity = 'session'
ORDER BY ordinal, part;

-- name: delete_chunks
DELETE FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s);

-- name: set_status
UPDATE memsense.chunks
SET status = %(status)s, tsv = NULL, user_length = 0, assistant_length = 0, tag_length = 0, context_length = 0
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s);

-- name: reactivate
-- Makes a chunk active again and rebuilds its index entry; the caller sets links and vectors next.
UPDATE memsense.chunks AS c
SET status = 'active', context = '', next_user_text = NULL, context_length = 0, language = %(language)s,
    tsv = setweight(field.a, 'A') || setweight(field.b, 'B') || setweight(field.c, 'C')
          || array_to_tsvector(%(identifiers)s::text[]),
    user_length = (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.a)),
    assistant_length = (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.b)),
    tag_length = (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.c))
FROM (
    SELECT
        %(user_terms)s::tsvector AS a,
        %(assistant_terms)s::tsvector AS b,
        %(tag_terms)s::tsvector AS c
    OFFSET 0
) AS field
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = %(chunk_id)s;

-- name: change_memory_score
UPDATE memsense.chunks
SET memory_score = least(greatest(memory_score + %(change)s, 0), 1)
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)
RETURNING chunk_id, memory_score;

-- name: lock_chunk
-- The place of a chunk, with its scope locked as every write locks it.
SELECT c.scope_id, s.user_id, c.session_id, c.granularity, c.ordinal, c.last_ordinal, c.status
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
WHERE c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s AND c.chunk_id = %(chunk_id)s
FOR NO KEY UPDATE OF s;

-- name: find_scope_of_chunk
SELECT c.scope_id
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
WHERE c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s AND c.chunk_id = %(chunk_id)s;

-- name: fetch_history
SELECT event_id, chunk_id, kind, detail, actor, recorded_at
FROM memsense.events
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = %(chunk_id)s
ORDER BY event_id;

-- name: fetch_statistics
SELECT
    n.name AS namespace, s.user_id, n.language, m.name AS model,
    coalesce(max(t.chunk_count) FILTER (WHERE t.granularity = 'turn'), 0) AS turns,
    coalesce(max(t.chunk_count) FILTER (WHERE t.granularity = 'session'), 0) AS session_chunks,
    (SELECT count(DISTINCT c.session_id) FROM memsense.chunks AS c
     WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id AND c.status = 'active') AS sessions,
    (SELECT count(*) FROM memsense.chunks AS c
     WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id AND c.status <> 'active'
       AND (c.granularity = 'turn' OR NOT EXISTS (
           SELECT FROM memsense.chunks AS t
           WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = s.scope_id
             AND t.session_id = c.session_id AND t.granularity = 'turn'))) AS inactive,
    (SELECT count(*) FROM memsense.chunks AS c
     WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id AND c.expires_at > now() AND c.status = 'active') AS expiring,
    (SELECT count(*) FROM memsense.chunks AS c
     WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id AND c.expires_at <= now()) AS expired,
    (SELECT min(c.occurred_at) FROM memsense.chunks AS c
     WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id) AS first_at,
    (SELECT max(c.occurred_at) FROM memsense.chunks AS c
     WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id) AS last_at
FROM memsense.scopes AS s
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
LEFT JOIN memsense.models AS m USING (model_id)
LEFT JOIN memsense.scope_statistics AS t USING (tenant_id, scope_id)
WHERE s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
  AND (%(after_user)s::text IS NULL OR s.user_id > %(after_user)s)
GROUP BY n.name, s.user_id, n.language, m.name, s.scope_id
ORDER BY s.user_id
LIMIT %(limit)s;

-- name: find_session_kinds
-- Whether each session holds turn chunks, and whether it holds session chunks, of any status.
SELECT
    named.session_id,
    EXISTS (
        SELECT FROM memsense.chunks
        WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = named.session_id
          AND granularity = 'turn') AS has_turns,
    EXISTS (
        SELECT FROM memsense.chunks
        WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = named.session_id
          AND granularity = 'session') AS has_session_chunks
FROM unnest(%(session_ids)s::text[]) AS named (session_id);

-- The names that filters of a search can use, of the requested kinds.
-- name: fetch_known_names
WITH chunks AS (
    SELECT c.session_id, c.agent_id, c.tags
    FROM memsense.chunks AS c
    JOIN memsense.scopes AS s USING (tenant_id, scope_id)
    JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
    WHERE c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
      AND n.name = %(namespace)s AND c.status = 'active'
      AND (c.expires_at IS NULL OR c.expires_at > now())
      AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
)
SELECT
    ARRAY(SELECT s.user_id FROM memsense.scopes AS s
          JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
          WHERE s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
            AND n.name = %(namespace)s AND 'user' = ANY (%(wanted)s::text[]) ORDER BY 1) AS users,
    ARRAY(SELECT DISTINCT session_id FROM chunks
          WHERE 'session' = ANY (%(wanted)s::text[]) ORDER BY 1) AS sessions,
    ARRAY(SELECT DISTINCT agent_id FROM chunks
          WHERE agent_id IS NOT NULL AND 'agent' = ANY (%(wanted)s::text[]) ORDER BY 1) AS agents,
    ARRAY(SELECT DISTINCT tag FROM chunks CROSS JOIN unnest(tags) AS tag
          WHERE 'tag' = ANY (%(wanted)s::text[]) ORDER BY 1) AS tags;

-- name: count_other_types
-- How many memories have a value of another type than the filter asks for; `expected` has {path, types} each.
SELECT a.path, jsonb_typeof(c.metadata #> a.path) AS type, a.types, count(*) AS memories
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
CROSS JOIN jsonb_to_recordset(%(expected)s) AS a (path text[], types text[])
WHERE c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s AND c.status = 'active'
  AND (c.expires_at IS NULL OR c.expires_at > now())
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
  AND jsonb_typeof(c.metadata #> a.path) <> ALL (a.types)
GROUP BY a.path, a.types, type
ORDER BY memories DESC, a.path, type;
