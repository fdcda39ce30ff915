-- The query of a view that `memsense demo` shows. Anyone can run the same in psql.

-- name: fetch_overview
-- The chunks of one namespace that have a facet, oldest first.
-- namespace: its name; limit: how many rows
SELECT chunk_id, session_id, memory_kind, personal_info, preferences, events
FROM memsense.chunk_overview
WHERE namespace = %(namespace)s
  AND granularity = 'turn'
  AND coalesce(personal_info, preferences, events) IS NOT NULL
ORDER BY occurred_at, chunk_id
LIMIT %(limit)s
