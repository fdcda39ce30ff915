-- Conditions that a chunk must satisfy to take part in a search: one a filter, under the filter's
-- name. Recall joins those in use with AND over all chunks; why-not asks each of one chunk, and
-- gives the text behind `because:` as the reason.
--
-- A filter is a condition here, a field of `Filters`, and a parameter of the same name in the
-- signatures of `search` and `why_not`; CONTRIBUTING.md lists the places. Lists arrive as arrays;
-- `exclude` arrives in two parameters, exclude_chunks and exclude_messages, `metadata` in three.
--
-- c is the chunk; the CTE scope holds the memories searched, with their language and namespace; the
-- CTE quoted the words inside the question's quotation marks.

-- name: session_ids
-- because: its session is not one of those asked for
c.session_id = ANY (%(session_ids)s::text[])

-- name: project
-- because: neither it nor its session is in the project asked for
-- A project is the repository or folder that the exchange was about, or a pool of sessions of that name.
(c.project = %(project)s
 OR c.session_id = ANY (ARRAY(
    SELECT p.session_id
    FROM memsense.project_sessions AS p
    WHERE p.tenant_id = %(tenant_id)s
      AND p.namespace_id = (SELECT namespace_id FROM scope LIMIT 1)
      AND p.project = %(project)s)))

-- name: agent_id
-- because: it is not of the agent asked for
c.agent_id = %(agent_id)s

-- name: since
-- because: it happened before the time asked for
c.occurred_at >= %(since)s

-- name: until
-- because: it happened after the time asked for
c.occurred_at < %(until)s

-- name: tags
-- because: it has none of the tags asked for
c.tags <> '{}'
AND memsense.scope_tags(c.scope_id, c.tags)
    && ARRAY(SELECT scope_id || ':' || tag FROM scope CROSS JOIN unnest(%(tags)s::text[]) AS tag)

-- name: kinds
-- because: it is not of the kinds asked for
c.memory_kind = ANY (%(kinds)s::text[])

-- name: metadata
-- because: its metadata is not as asked for
-- `metadata` is what it contains, `metadata_path` the conditions with operators, null if there are none.
(c.metadata @> %(metadata)s::jsonb
 AND CASE WHEN %(metadata_path)s::jsonpath IS NULL THEN true
     ELSE jsonb_path_exists(c.metadata, %(metadata_path)s::jsonpath, %(metadata_values)s::jsonb, true) END)

-- name: exclude
-- because: it is among what the search excludes, or part of it
-- An excluded session takes its exchanges along, an excluded part of an exchange the other parts.
c.chunk_id <> ALL (%(exclude_chunks)s::bigint[])
AND NOT EXISTS (
    SELECT FROM memsense.chunks AS x
    WHERE x.tenant_id = %(tenant_id)s
      AND x.scope_id = c.scope_id
      AND x.chunk_id = ANY (%(exclude_chunks)s::bigint[])
      AND x.session_id = c.session_id
      AND CASE x.granularity
          WHEN 'session' THEN (c.ordinal, c.part) >= (x.ordinal, x.part) AND c.ordinal <= x.last_ordinal
          ELSE c.granularity = 'turn' AND c.ordinal = x.ordinal
      END)
AND NOT c.message_ids && %(exclude_messages)s::text[]

-- name: exclude_sessions
-- because: its session is among those that the search excludes
c.session_id <> ALL (%(exclude_sessions)s::text[])

-- name: quoted
-- because: it does not hold all that the question quotes
-- The words are looked at before the text, which lies out of line.
CASE
    WHEN c.tsv @@ (SELECT string_agg(query::text, ' & ')::tsquery FROM quoted) IS NOT FALSE
    THEN concat_ws(E'\x1e', c.session_text, c.user_text, c.assistant_text) ~* ALL (%(quoted_patterns)s::text[])
END
