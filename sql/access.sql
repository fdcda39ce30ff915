-- Access keys of programs that use a server. A key names its tenant: every statement is limited to that
-- tenant.

-- name: insert_access_key
INSERT INTO memsense.access_keys (tenant_id, key_id, key_hash, name, scopes, user_id, namespace, created_by, expires_at)
VALUES (%(tenant_id)s, %(key_id)s, %(key_hash)s, %(name)s, %(scopes)s, %(user_id)s, %(namespace)s,
    %(created_by)s, %(expires_at)s);

-- name: find_access_key
-- The row to compare with the key that a request sends, the name of its tenant, and the server's time.
SELECT t.name AS tenant, k.key_id, k.key_hash, k.name, k.scopes, k.user_id, k.namespace, k.created_by,
    k.created_at, k.expires_at, k.revoked_at, k.last_used_at, statement_timestamp() AS read_at
FROM memsense.access_keys AS k
JOIN memsense.tenants AS t USING (tenant_id)
WHERE k.tenant_id = %(tenant_id)s AND t.tenant_id = %(tenant_id)s AND k.key_id = %(key_id)s
  AND t.suspended_at IS NULL;

-- name: list_access_keys
SELECT t.name AS tenant, k.key_id, k.key_hash, k.name, k.scopes, k.user_id, k.namespace, k.created_by,
    k.created_at, k.expires_at, k.revoked_at, k.last_used_at, statement_timestamp() AS read_at
FROM memsense.access_keys AS k
JOIN memsense.tenants AS t USING (tenant_id)
WHERE k.tenant_id = %(tenant_id)s AND t.tenant_id = %(tenant_id)s
ORDER BY k.created_at, k.key_id;

-- name: revoke_access_key
UPDATE memsense.access_keys
SET revoked_at = now()
WHERE tenant_id = %(tenant_id)s AND key_id = %(key_id)s AND revoked_at IS NULL;

-- name: note_use
-- At most once a minute, so that a use of the key writes nothing else.
UPDATE memsense.access_keys
SET last_used_at = now()
WHERE tenant_id = %(tenant_id)s AND key_id = %(key_id)s
  AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');

-- name: delete_keys_of_user
-- Together with the user's last memory in the tenant: there may be one in another namespace.
DELETE FROM memsense.access_keys
WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s AND NOT EXISTS (
    SELECT FROM memsense.namespaces AS n
    JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
    WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND s.user_id = %(user_id)s);
