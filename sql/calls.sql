-- Metering: sums of calls, written by the processes that count them and read by an operator. Each statement
-- names one tenant.
-- Parameters:
--   tenant_id   the tenant's number
--   since       first day of a report, or first day that a prune leaves
--   limit       maximum number of rows

-- name: find_memories
-- The numbers of users' memories, by the names of their namespaces.
SELECT n.name AS namespace, s.user_id, s.scope_id
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s
  AND n.name = ANY (%(namespaces)s::text[]) AND s.user_id = ANY (%(users)s::text[]);

-- name: add_calls
-- In the order of the key, so that two processes which write at once can't wait for each other.
INSERT INTO memsense.calls (tenant_id, scope_id, day, namespace, verb, calls, failures, milliseconds)
SELECT %(tenant_id)s, o.scope_id, o.day, o.namespace, o.verb, o.calls, o.failures, o.milliseconds
FROM unnest(
    %(scope_ids)s::integer[], %(days)s::date[], %(namespaces)s::text[], %(verbs)s::text[],
    %(calls)s::bigint[], %(failures)s::bigint[], %(milliseconds)s::double precision[]
) AS o (scope_id, day, namespace, verb, calls, failures, milliseconds)
ORDER BY o.scope_id, o.day, o.namespace, o.verb
ON CONFLICT (tenant_id, scope_id, day, namespace, verb) DO UPDATE SET
    calls = calls.calls + EXCLUDED.calls,
    failures = calls.failures + EXCLUDED.failures,
    milliseconds = calls.milliseconds + EXCLUDED.milliseconds;

-- name: move_calls_to_no_user
-- Adds the calls of a memory that is being erased to those of no user; the tenant's sums stay. The memory's own
-- rows are deleted next.
INSERT INTO memsense.calls (tenant_id, scope_id, day, namespace, verb, calls, failures, milliseconds)
SELECT o.tenant_id, 0, o.day, o.namespace, o.verb, o.calls, o.failures, o.milliseconds
FROM memsense.calls AS o
WHERE o.tenant_id = %(tenant_id)s AND o.scope_id = %(scope_id)s
ORDER BY o.day, o.namespace, o.verb
ON CONFLICT (tenant_id, scope_id, day, namespace, verb) DO UPDATE SET
    calls = calls.calls + EXCLUDED.calls,
    failures = calls.failures + EXCLUDED.failures,
    milliseconds = calls.milliseconds + EXCLUDED.milliseconds;

-- name: sum_calls
-- {name} is what to sum by, as a text.
SELECT {name} AS name, sum(calls)::bigint AS calls, sum(failures)::bigint AS failures, sum(milliseconds) AS milliseconds
FROM memsense.calls
WHERE tenant_id = %(tenant_id)s AND day >= %(since)s::date
GROUP BY 1
ORDER BY {order}
LIMIT %(limit)s;

-- name: measure_users
-- Every user with calls and stored bytes, the largest first; the same user of several namespaces once. The row
-- without a name has the calls of no user, and of users who were erased. {chunk_bytes} and the others are the
-- stored bytes of a row t.
SELECT
    s.user_id AS name,
    coalesce(sum(c.calls), 0)::bigint AS calls,
    coalesce(sum(c.failures), 0)::bigint AS failures,
    coalesce(sum(c.milliseconds), 0) AS milliseconds,
    coalesce(sum(h.exchanges), 0)::bigint AS exchanges,
    coalesce(sum(h.chunks), 0)::bigint AS chunks,
    (coalesce(sum(h.bytes), 0) + coalesce(sum(e.bytes), 0) + coalesce(sum(v.bytes), 0))::bigint AS bytes
FROM memsense.scopes AS s
LEFT JOIN (
    SELECT t.tenant_id, t.scope_id, sum(t.calls) AS calls, sum(t.failures) AS failures, sum(t.milliseconds) AS milliseconds
    FROM memsense.calls AS t
    WHERE t.tenant_id = %(tenant_id)s AND t.day >= %(since)s::date
    GROUP BY t.tenant_id, t.scope_id
) AS c ON c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id
LEFT JOIN (
    SELECT
        t.tenant_id, t.scope_id, count(*) AS chunks,
        count(*) FILTER (WHERE t.granularity = 'turn' AND t.part = 0 AND t.status = 'active') AS exchanges,
        sum({chunk_bytes}) AS bytes
    FROM memsense.chunks AS t
    WHERE t.tenant_id = %(tenant_id)s
    GROUP BY t.tenant_id, t.scope_id
) AS h ON h.tenant_id = s.tenant_id AND h.scope_id = s.scope_id
LEFT JOIN (
    SELECT t.tenant_id, t.scope_id, sum({embedding_bytes}) AS bytes
    FROM memsense.embeddings AS t
    WHERE t.tenant_id = %(tenant_id)s
    GROUP BY t.tenant_id, t.scope_id
) AS e ON e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id
LEFT JOIN (
    SELECT t.tenant_id, t.scope_id, sum({token_bytes}) AS bytes
    FROM memsense.token_vectors AS t
    WHERE t.tenant_id = %(tenant_id)s
    GROUP BY t.tenant_id, t.scope_id
) AS v ON v.tenant_id = s.tenant_id AND v.scope_id = s.scope_id
WHERE s.tenant_id = %(tenant_id)s
GROUP BY s.user_id
UNION ALL
SELECT
    NULL, sum(c.calls)::bigint, sum(c.failures)::bigint, sum(c.milliseconds), 0::bigint, 0::bigint, 0::bigint
FROM memsense.calls AS c
WHERE c.tenant_id = %(tenant_id)s AND c.day >= %(since)s::date
  AND NOT EXISTS (
      SELECT FROM memsense.scopes AS s
      WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = c.scope_id)
HAVING count(*) > 0
ORDER BY bytes DESC, calls DESC, name
LIMIT %(limit)s;

-- name: prune_calls
DELETE FROM memsense.calls WHERE tenant_id = %(tenant_id)s AND day < %(since)s::date;
