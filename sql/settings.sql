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
SELECT
    p.name, p.created_at,
    ARRAY(
        SELECT s.session_id
        FROM memsense.project_sessions AS s
        WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s AND s.project = p.name
        ORDER BY s.session_id
    ) AS session_ids
FROM memsense.projects AS p
WHERE p.tenant_id = %(tenant_id)s AND p.namespace_id = %(namespace_id)s
  AND (%(name)s::text IS NULL OR p.name = %(name)s)
ORDER BY p.name;

-- name: list_projects_of
-- The projects that hold sessions of one user, each with those sessions alone.
SELECT p.name, p.created_at, array_agg(s.session_id ORDER BY s.session_id) AS session_ids
FROM memsense.projects AS p
JOIN memsense.project_sessions AS s
  ON s.tenant_id = p.tenant_id AND s.namespace_id = p.namespace_id AND s.project = p.name
WHERE p.tenant_id = %(tenant_id)s AND p.namespace_id = %(namespace_id)s
  AND (%(name)s::text IS NULL OR p.name = %(name)s)
  AND EXISTS (
      SELECT
      FROM memsense.chunks AS c
      WHERE c.tenant_id = %(tenant_id)s AND c.session_id = s.session_id
        AND c.scope_id = (
            SELECT o.scope_id
            FROM memsense.scopes AS o
            WHERE o.tenant_id = %(tenant_id)s AND o.namespace_id = %(namespace_id)s AND o.user_id = %(user_id)s))
GROUP BY p.name, p.created_at
ORDER BY p.name;

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
