-- Lists of what is stored, by pages: each page begins behind the last item of the one before.

-- name: listed_scope
WITH scope AS (
    SELECT s.scope_id, s.user_id, n.namespace_id, n.name AS namespace
    FROM memsense.scopes AS s
    JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
    WHERE s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
      AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
)

-- name: list_chunks
{scope},
{steps}
SELECT
    {columns}
FROM scope AS s
JOIN memsense.chunks AS c ON c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id
WHERE {whose} AND c.granularity = %(granularity)s AND c.status = ANY (%(statuses)s::text[])
  AND {behind}
  AND {is_shown}
  AND {passes}
  -- A forgotten chunk is listed without its text, which must not be found out word by word either.
  AND (%(contains)s::text IS NULL OR c.status <> 'deleted' AND strpos(
      lower(substr(c.user_text, c.opening_length + 1) || E'\n' || c.assistant_text || E'\n' || c.session_text),
      lower(%(contains)s::text)) > 0)
  AND {holds}
ORDER BY {order}
LIMIT %(limit)s

-- Exchanges in which the user states a standing rule; the index chunks_rules has this condition.
-- name: rules
c.facet_spans @> '[{"rule": "standing"}]'::jsonb

-- name: named
c.chunk_id = ANY (%(chunk_ids)s::bigint[])

-- name: everybody
true

-- Tells the planner that one user's chunks lie in an index by event time.
-- name: one_user
c.scope_id = (SELECT scope_id FROM scope)

-- The four conditions of being behind the last item, by order and by whether its time is known.
-- name: newest_dated
(c.occurred_at, c.chunk_id) < (%(at)s::timestamptz, %(chunk_id)s::bigint)

-- name: newest_undated
c.occurred_at IS NULL AND c.chunk_id < %(chunk_id)s::bigint

-- name: oldest_dated
(c.occurred_at, c.chunk_id) > (%(at)s::timestamptz, %(chunk_id)s::bigint)

-- name: oldest_undated
c.occurred_at IS NULL AND c.chunk_id > %(chunk_id)s::bigint

-- name: list_sessions
-- Sessions with their active chunks; only for those of the page it is read how they begin. If only session
-- chunks are stored, these know how many exchanges they hold.
{scope},
{steps},
sessions AS (
    SELECT
        s.scope_id, s.user_id, c.session_id,
        CASE WHEN bool_or(c.granularity = 'turn')
             THEN count(DISTINCT c.ordinal) FILTER (WHERE c.granularity = 'turn')
             ELSE max(c.last_ordinal) - min(c.ordinal) + 1
        END AS exchanges,
        min(c.occurred_at) AS first_at, max(c.occurred_at) AS last_at,
        max(c.agent_id) AS agent_id
    FROM scope AS s
    JOIN memsense.chunks AS c ON c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id
    WHERE c.status = 'active' AND {is_shown} AND {passes}
    GROUP BY s.scope_id, s.user_id, c.session_id
),
page AS (
    SELECT * FROM sessions
    WHERE coalesce(last_at, '-infinity') < %(at)s::timestamptz
       OR (coalesce(last_at, '-infinity') = %(at)s::timestamptz
           AND (user_id, session_id) > (%(after_user)s::text, %(after_session)s::text))
    ORDER BY coalesce(last_at, '-infinity') DESC, user_id, session_id
    LIMIT %(limit)s
)
SELECT
    p.user_id, p.session_id, p.agent_id, p.exchanges, p.first_at, p.last_at,
    coalesce((
        SELECT left(coalesce(
            nullif(substr(c.user_text, c.opening_length + 1), ''), nullif(c.assistant_text, ''), c.session_text), 200)
        FROM memsense.chunks AS c
        WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = p.scope_id AND c.session_id = p.session_id
          AND c.status = 'active' AND {is_shown}
        ORDER BY c.ordinal, c.part, c.granularity DESC
        LIMIT 1), '') AS opening
FROM page AS p
ORDER BY coalesce(p.last_at, '-infinity') DESC, p.user_id, p.session_id

-- name: count_by_week
-- A user's sessions and exchanges in each week (UTC, from Monday) that has any, earliest first.
SELECT
    date_trunc('week', c.occurred_at AT TIME ZONE 'UTC')::date AS week,
    count(DISTINCT c.session_id) AS sessions, count(*) AS exchanges
FROM memsense.chunks AS c
JOIN memsense.scopes AS s ON s.tenant_id = %(tenant_id)s AND s.scope_id = c.scope_id
WHERE c.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s AND s.user_id = %(user_id)s
  AND c.granularity = 'turn' AND c.part = 0 AND c.status = 'active' AND c.occurred_at IS NOT NULL
  AND (c.expires_at IS NULL OR c.expires_at > now())
GROUP BY 1
ORDER BY 1;

-- name: count_by_day
-- How many exchanges were stored on each day (UTC) that has any, latest first.
SELECT (c.recorded_at AT TIME ZONE 'UTC')::date AS day, count(*) AS exchanges
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
WHERE c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s AND c.granularity = 'turn' AND c.part = 0 AND c.status = 'active'
  AND c.recorded_at > %(since)s
GROUP BY 1
ORDER BY 1 DESC;
