-- Settings, stored profiles and projects of a namespace. Every statement names one tenant.

-- name: lock_namespace
-- Every change of settings takes this lock first, so that no change is lost; searches and writes go on.
SELECT settings_version
FROM memsense.namespaces
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
FOR NO KEY UPDATE;

-- name: fetch_settings
SELECT name, value, changed_by, changed_at
FROM memsense.settings
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
ORDER BY name;

-- name: upsert_setting
INSERT INTO memsense.settings (tenant_id, namespace_id, name, value, changed_by)
VALUES (%(tenant_id)s, %(namespace_id)s, %(name)s, %(value)s, %(changed_by)s)
ON CONFLICT (tenant_id, namespace_id, name)
DO UPDATE SET value = EXCLUDED.value, changed_by = EXCLUDED.changed_by, changed_at = EXCLUDED.changed_at;

-- name: delete_setting
DELETE FROM memsense.settings
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND name = %(name)s;

-- name: fetch_profiles
SELECT name, constants, created_by, created_at
FROM memsense.profiles
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
ORDER BY name;

-- name: insert_profile
INSERT INTO memsense.profiles (tenant_id, namespace_id, name, constants, created_by)
VALUES (%(tenant_id)s, %(namespace_id)s, %(name)s, %(value)s, %(changed_by)s);

-- name: delete_profile
DELETE FROM memsense.profiles
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND name = %(name)s;

-- name: raise_version
UPDATE memsense.namespaces
SET settings_version = settings_version + 1
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
RETURNING settings_version;

-- name: record_change
INSERT INTO memsense.settings_history (tenant_id, namespace_id, version, kind, name, before, after, changed_by)
VALUES (
    %(tenant_id)s, %(namespace_id)s, %(version)s, %(kind)s, %(name)s, %(before)s, %(after)s, %(changed_by)s
);

-- name: fetch_changes
SELECT version, kind, name, before, after, changed_by, changed_at
FROM memsense.settings_history
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
ORDER BY version DESC, kind, name
LIMIT %(limit)s;

-- name: list_projects
-- Projects by name, of all users or of one: pools of sessions, and those that exchanges are about. Each
-- counts what a search in it reaches; session_ids are those of the pool alone. A user's list has those that
-- the user's memory has sessions of.
WITH memory AS (
    SELECT
        c.scope_id, c.session_id, c.project,
        CASE WHEN bool_or(c.granularity = 'turn')
             THEN count(DISTINCT c.ordinal) FILTER (WHERE c.granularity = 'turn')
             ELSE max(c.last_ordinal) - min(c.ordinal) + 1
        END AS exchanges,
        max(c.occurred_at) AS last_at
    FROM memsense.scopes AS s
    JOIN memsense.chunks AS c ON c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id
    WHERE s.tenant_id = %(tenant_id)s AND c.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s
      AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
      AND c.status = 'active' AND (c.expires_at IS NULL OR c.expires_at > now())
    GROUP BY c.scope_id, c.session_id, c.project
),
pooled AS (
    SELECT p.name, p.created_at, s.session_id
    FROM memsense.projects AS p
    LEFT JOIN memsense.project_sessions AS s
      ON s.tenant_id = p.tenant_id AND s.namespace_id = p.namespace_id AND s.project = p.name
    WHERE p.tenant_id = %(tenant_id)s AND p.namespace_id = %(namespace_id)s
      AND (%(name)s::text IS NULL OR p.name = %(name)s)
      AND (%(user_id)s::text IS NULL OR s.session_id IN (SELECT session_id FROM memory))
),
pools AS (
    SELECT
        name, created_at,
        coalesce(array_agg(session_id ORDER BY session_id) FILTER (WHERE session_id IS NOT NULL), '{}') AS session_ids
    FROM pooled
    GROUP BY name, created_at
),
reached AS (
    SELECT m.project AS name, m.scope_id, m.session_id, m.exchanges, m.last_at
    FROM memory AS m
    WHERE m.project IS NOT NULL AND (%(name)s::text IS NULL OR m.project = %(name)s)
    UNION ALL
    SELECT p.name, m.scope_id, m.session_id, m.exchanges, m.last_at
    FROM pooled AS p
    JOIN memory AS m ON m.session_id = p.session_id AND m.project IS DISTINCT FROM p.name
),
counts AS (
    SELECT
        name, count(DISTINCT (scope_id, session_id)) AS sessions, sum(exchanges)::bigint AS exchanges,
        max(last_at) AS last_at
    FROM reached
    GROUP BY name
)
SELECT
    name, coalesce(p.session_ids, '{}') AS session_ids, p.created_at, coalesce(c.sessions, 0) AS sessions,
    coalesce(c.exchanges, 0) AS exchanges, c.last_at
FROM pools AS p
FULL JOIN counts AS c USING (name)
ORDER BY name;

-- name: insert_project
INSERT INTO memsense.projects (tenant_id, namespace_id, name)
VALUES (%(tenant_id)s, %(namespace_id)s, %(name)s)
ON CONFLICT (tenant_id, namespace_id, name) DO NOTHING
RETURNING name;

-- name: lock_project
SELECT name
FROM memsense.projects
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND name = %(name)s
FOR KEY SHARE;

-- name: delete_project
DELETE FROM memsense.projects
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND name = %(name)s
RETURNING name;

-- name: add_sessions
INSERT INTO memsense.project_sessions (tenant_id, namespace_id, project, session_id)
SELECT %(tenant_id)s, %(namespace_id)s, %(name)s, session_id
FROM unnest(%(session_ids)s::text[]) AS session_id
ON CONFLICT (tenant_id, namespace_id, project, session_id) DO NOTHING;

-- name: remove_sessions
DELETE FROM memsense.project_sessions
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
  AND project = %(name)s AND session_id = ANY (%(session_ids)s::text[]);
